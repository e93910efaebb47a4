//! Sets hold a value once, and map lists a key once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::{ListType, Schema, field_error::FieldError, go_text, paths::child};

/// Finds what is there twice in sets and map lists anywhere in an object.
pub fn check_lists(schema: &Schema, object: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Value::Object(fields) = object {
        below_fields(schema, fields, path, &mut errors);
    }
    errors
}

fn below_fields(schema: &Schema, fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    for (name, value) in fields {
        if let Some(property) = schema.properties().get(name) {
            node(property, value, &child(path, name), errors);
        } else if let Some(additional) = schema.additional_schema() {
            node(additional, value, &format!("{path}[{name}]"), errors);
        }
    }
}

fn node(schema: &Schema, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !schema.has_list_rules {
        return;
    }
    match value {
        Value::Object(fields) => below_fields(schema, fields, path, errors),
        Value::Array(items) => {
            match schema.list_type() {
                ListType::Atomic => {}
                ListType::Set => {
                    for i in repeated(items) {
                        errors.push(FieldError::duplicate(format!("{path}[{i}]"), &items[i]));
                    }
                }
                ListType::Map(keys) => map_list(items, keys, path, errors),
            }
            if let Some(below) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    node(below, item, &format!("{path}[{i}]"), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn map_list(items: &[Value], keys: &[String], path: &str, errors: &mut Vec<FieldError>) {
    if let Some((i, item)) = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null()) {
        let why = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(format!("{path}[{i}]"), item, why));
        return;
    }
    let found: Vec<Value> = items
        .iter()
        .map(|item| keys.iter().filter_map(|key| item.get(key).map(|value| (key.clone(), value.clone()))).collect())
        .map(Value::Object)
        .collect();
    for i in repeated(&found) {
        errors.push(FieldError::duplicate(format!("{path}[{i}]"), &found[i]));
    }
}

/// The index of the second of equal items, once for each group of them.
fn repeated(items: &[Value]) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(items.len());
    let mut repeats = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let times = seen.entry(go_text::json(item)).or_insert(0);
        *times += 1;
        if *times == 2 {
            repeats.push(i);
        }
    }
    repeats
}
