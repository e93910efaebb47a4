//! Which places an object has.

use super::lists;
use super::types::{Fields, List, Part, Relation, Type};
use crate::fields::{Element, Path, Set};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The set of every leaf and every item of an object: what a manager owns that applies it.
///
/// Objects with declared fields are not members themselves unless they are empty; keys of maps and items of lists
/// are. Items that occur more than once in a list are one member with nothing below.
pub(crate) fn field_set(ty: Type<'_>, value: &Value) -> Set {
    let mut walk = Walk { path: Vec::new(), set: Set::new() };
    walk.node(ty, value);
    walk.set
}

struct Walk {
    path: Path,
    set: Set,
}

impl Walk {
    fn node(&mut self, ty: Type<'_>, value: &Value) {
        let atom = ty.atom();
        match atom.part(value) {
            Part::Map(fields) => match value {
                _ if fields.atomic => self.set.insert(&self.path),
                Value::Object(map) => self.map(fields, map),
                _ => {}
            },
            Part::List(list) => match (list.relation, value) {
                (Relation::Atomic, _) => self.set.insert(&self.path),
                (Relation::Set | Relation::Keyed(_), Value::Array(items)) => self.list(list, items),
                (Relation::Set | Relation::Keyed(_), _) => {}
            },
            Part::Scalar(_) | Part::Nothing => self.set.insert(&self.path),
        }
    }

    fn map(&mut self, fields: &Fields<'_>, map: &Map<String, Value>) {
        for (name, value) in map {
            self.path.push(Element::field(name));
            self.node(fields.of(name).unwrap_or(Type::deduced()), value);
            let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
            if empty || fields.field(name).is_none() {
                self.set.insert(&self.path);
            }
            self.path.pop();
        }
    }

    fn list(&mut self, list: &List<'_>, items: &[Value]) {
        let elements: Vec<(Element, &Value)> =
            items.iter().filter_map(|item| Some((lists::element(list, item).ok()?, item))).collect();
        let mut count: BTreeMap<&Element, usize> = BTreeMap::new();
        for (element, _) in &elements {
            *count.entry(element).or_default() += 1;
        }
        for (element, item) in &elements {
            self.path.push(element.clone());
            if count.get(element) == Some(&1) {
                self.node(list.item, item);
            }
            self.set.insert(&self.path);
            self.path.pop();
        }
    }
}
