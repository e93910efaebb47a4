//! An object without some of its places.

use super::lists;
use super::types::{Fields, List, Part, Relation, Type};
use crate::fields::{Element, Set};
use serde_json::{Map, Value};

/// The object without the places of the set; what loses its last content becomes null.
pub(crate) fn remove(ty: Type<'_>, value: &Value, places: &Set) -> Value {
    let atom = ty.atom();
    match atom.part(value) {
        Part::Map(fields) => match value {
            Value::Object(map) if !fields.atomic => from_map(fields, map, places),
            _ => Value::Null,
        },
        Part::List(list) => match (list.relation, value) {
            (Relation::Set | Relation::Keyed(_), Value::Array(items)) => from_list(list, items, places),
            (Relation::Atomic | Relation::Set | Relation::Keyed(_), _) => Value::Null,
        },
        Part::Scalar(_) | Part::Nothing => value.clone(),
    }
}

fn from_map(fields: &Fields<'_>, map: &Map<String, Value>, places: &Set) -> Value {
    let mut kept = Map::new();
    for (name, value) in map {
        let element = Element::field(name);
        if places.has_member(&element) {
            continue;
        }
        let rest = match places.below(&element) {
            Some(below) => remove(fields.of(name).unwrap_or(Type::deduced()), value, below),
            None => value.clone(),
        };
        kept.insert(name.clone(), rest);
    }
    if kept.is_empty() { Value::Null } else { Value::Object(kept) }
}

fn from_list(list: &List<'_>, items: &[Value], places: &Set) -> Value {
    let mut kept = Vec::new();
    for item in items {
        let Ok(element) = lists::element(list, item) else {
            kept.push(item.clone());
            continue;
        };
        if places.has_member(&element) {
            continue;
        }
        kept.push(match places.below(&element) {
            Some(below) => remove(list.item, item, below),
            None => item.clone(),
        });
    }
    if kept.is_empty() { Value::Null } else { Value::Array(kept) }
}

/// The set with every declared field on the way to a member as a member too.
///
/// Ownership does not record the objects that declared fields are in. Before fields are removed they have to count,
/// or an object would stay behind empty when its last field goes.
pub(crate) fn with_named_fields(ty: Option<Type<'_>>, set: &Set) -> Set {
    let atom = ty.map(Type::atom);
    let fields = atom.as_ref().and_then(|atom| atom.map.as_ref());
    let mut named = Set::new();
    for member in set.members() {
        named.insert_member(member.clone());
    }
    for (element, child) in set.children() {
        let below = match element {
            Element::Field(name) => {
                if fields.is_some_and(|fields| fields.field(name).is_some()) {
                    named.insert_member(element.clone());
                }
                fields.and_then(|fields| fields.of(name))
            }
            Element::Key(_) => atom.as_ref().and_then(|atom| atom.list.as_ref()).map(|list| list.item),
            Element::Value(_) | Element::Index(_) => None,
        };
        named.insert_child(element.clone(), &with_named_fields(below, child));
    }
    named
}
