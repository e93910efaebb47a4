//! Which fields a writer has, and what an apply does to an object.
//!
//! Lists of conditions are maps by type, all other lists are one value. That is how the kinds declare
//! them, as far as anybody applies lists here.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The way to a value: names of fields, and types of conditions in the list of them.
pub(crate) type Path = Vec<String>;

/// The list whose items have names.
const NAMED: &str = "conditions";

/// The way to everything that an object says.
pub(crate) fn leaves(value: &Value) -> BTreeSet<Path> {
    let mut found = BTreeSet::new();
    collect(value, &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, path: &mut Path, found: &mut BTreeSet<Path>) {
    let named = path.last().is_some_and(|last| last == NAMED);
    let parts: Vec<(String, Option<&Value>)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), Some(value))).collect(),
        Value::Array(items) if named => items.iter().map(|item| (kind_of(item), None)).collect(),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    if parts.is_empty() && !named {
        found.insert(path.clone());
    }
    for (name, part) in parts {
        path.push(name);
        match part {
            Some(part) => collect(part, path, found),
            None => {
                found.insert(path.clone());
            }
        }
        path.pop();
    }
}

fn kind_of(condition: &Value) -> String {
    condition["type"].as_str().unwrap_or_default().to_owned()
}

/// Takes one value out, with the objects that it leaves empty.
pub(crate) fn remove(object: &mut Value, path: &[String]) {
    let Some((name, rest)) = path.split_first() else { return };
    match object {
        Value::Object(fields) => {
            if let Some(field) = fields.get_mut(name)
                && !rest.is_empty()
            {
                remove(field, rest);
                let hollow =
                    field.as_object().is_some_and(Map::is_empty) || field.as_array().is_some_and(Vec::is_empty);
                if hollow {
                    fields.remove(name);
                }
            } else {
                fields.remove(name);
            }
        }
        Value::Array(items) => items.retain(|item| kind_of(item) != *name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Lays an applied configuration over an object.
pub(crate) fn lay_over(into: &mut Value, applied: &Value, named: bool) {
    match (into, applied) {
        (Value::Object(into), Value::Object(applied)) => {
            for (name, value) in applied {
                lay_over(into.entry(name).or_insert(Value::Null), value, name == NAMED);
            }
        }
        (Value::Array(into), Value::Array(applied)) if named => {
            for condition in applied {
                match into.iter_mut().find(|known| kind_of(known) == kind_of(condition)) {
                    Some(known) => known.clone_from(condition),
                    None => into.push(condition.clone()),
                }
            }
        }
        (into, applied) => into.clone_from(applied),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_a_map_and_other_lists_are_one_value() {
        let object = json!({"status": {"conditions": [{"type": "A"}, {"type": "B"}], "links": [1, 2]}});
        let ways: Vec<String> = leaves(&object).into_iter().map(|path| path.join("/")).collect();
        assert_eq!(ways, ["status/conditions/A", "status/conditions/B", "status/links"]);
        let mut into = object.clone();
        lay_over(&mut into, &json!({"status": {"conditions": [{"type": "B", "status": "True"}]}}), false);
        remove(&mut into, &["status".to_owned(), "conditions".to_owned(), "A".to_owned()]);
        remove(&mut into, &["status".to_owned(), "links".to_owned()]);
        assert_eq!(into, json!({"status": {"conditions": [{"type": "B", "status": "True"}]}}));
    }
}
