//! Which element an item of a list has.

use super::types::{List, Relation};
use crate::fields::Element;
use netloom_schema::go_text;
use serde_json::Value;

/// The element of one item, or why it has none.
///
/// A key field that is absent and has no default is left out of the element: the item is then another one than the
/// item that has it. An item without any key field cannot be distinguished and has no element.
pub(super) fn element(list: &List<'_>, item: &Value) -> Result<Element, String> {
    match list.relation {
        Relation::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        Relation::Set => value_element(item),
        Relation::Keyed(keys) => keyed_element(list, keys, item),
    }
}

fn value_element(item: &Value) -> Result<Element, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(Element::Value(item.clone())),
    }
}

fn keyed_element(list: &List<'_>, keys: &[String], item: &Value) -> Result<Element, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err("associative list with keys may not have non-map elements".to_owned());
        }
    };
    let defaults = list.item.atom().map;
    let found: Vec<(String, Value)> = keys
        .iter()
        .filter_map(|key| {
            let value = fields.get(key).or_else(|| defaults.as_ref()?.default(key))?;
            Some((key.clone(), value.clone()))
        })
        .collect();
    if found.is_empty() && !keys.is_empty() {
        let names: Vec<String> = keys.iter().map(|key| go_text::quote(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            names.join(" ")
        ));
    }
    Ok(Element::key(found))
}
