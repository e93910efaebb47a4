//! Objects inside of objects: their `apiVersion`, `kind` and `metadata`.

use serde_json::{Map, Value};

use crate::{Schema, field_error::FieldError, metadata, names, paths::child};

/// Checks all embedded objects; with `is_object` the value itself counts as one.
pub(crate) fn check(schema: &Schema, value: &Value, path: &str, is_object: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, value, path, is_object, &mut errors);
    errors
}

fn node(schema: &Schema, value: &Value, path: &str, is_object: bool, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if is_object || schema.is_embedded() {
                object(fields, path, errors);
            }
            if !schema.has_embedded {
                return;
            }
            for (name, value) in fields {
                if let Some(property) = schema.properties().get(name) {
                    node(property, value, &child(path, name), false, errors);
                } else if let Some(additional) = schema.additional_schema() {
                    node(additional, value, &format!("{path}[{name}]"), false, errors);
                }
            }
        }
        Value::Array(items) => {
            let Some(below) = schema.items() else { return };
            for (i, item) in items.iter().enumerate() {
                node(below, item, &format!("{path}[{i}]"), false, errors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn object(fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let at = child(path, name);
        match fields.get(name) {
            None => errors.push(FieldError::required(at, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid_text(at, text, "must not be empty"));
            }
            Some(Value::String(text)) if name == "kind" => {
                let wrong = names::dns_1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                    errors.push(FieldError::invalid_text(at, text, why));
                }
            }
            Some(Value::String(text)) => {
                if text.matches('/').count() > 1 {
                    errors.push(FieldError::invalid_text(at, text, format!("unexpected GroupVersion string: {text}")));
                }
            }
            Some(other) => errors.push(FieldError::invalid(at, other, "must be a string")),
        }
    }
    if let Some(found) = fields.get("metadata") {
        let at = child(path, "metadata");
        match metadata::type_error(found) {
            Some(why) => errors.push(FieldError::invalid(at, found, why)),
            None => errors.extend(metadata::check_embedded(found, &at)),
        }
    }
}
