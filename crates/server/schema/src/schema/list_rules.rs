//! The rules about `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type`.

use serde_json::{Map, Value};

use super::structural::{flag, text};
use crate::{field_error::FieldError, paths::child};

type Fields = Map<String, Value>;

/// What is wrong with the list and map types of one place.
pub(super) fn check(fields: &Fields, path: &str, errors: &mut Vec<FieldError>) {
    let (kind, list_type, map_type) =
        (text(fields, "type"), text(fields, "x-kubernetes-list-type"), text(fields, "x-kubernetes-map-type"));
    if !map_type.is_empty() {
        of_type("object", "x-kubernetes-map-type", kind, path, errors);
        if !["atomic", "granular"].contains(&map_type) {
            let at = child(path, "x-kubernetes-map-type");
            errors.push(FieldError::not_supported(at, &Value::from(map_type), &["atomic", "granular"]));
        }
    }
    let items = fields.get("items").and_then(Value::as_object);
    if !list_type.is_empty() {
        of_type("array", "x-kubernetes-list-type", kind, path, errors);
        if kind == "array" && list_type == "set" {
            set_items(items, path, errors);
        }
        if !["atomic", "set", "map"].contains(&list_type) {
            let at = child(path, "x-kubernetes-list-type");
            errors.push(FieldError::not_supported(at, &Value::from(list_type), &["atomic", "set", "map"]));
        }
    }
    let keys = fields.get("x-kubernetes-list-map-keys").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !keys.is_empty() && list_type != "map" {
        let (at, why) =
            (child(path, "x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty");
        errors.push(match list_type {
            "" => FieldError::required(at, why),
            other => FieldError::invalid_text(at, other, why),
        });
    }
    if list_type == "map" {
        map_items(items, keys, path, errors);
    }
    if let Some(items) = items.filter(|_| list_type == "map" || list_type == "set") {
        keys_are_there(items, keys, list_type, path, errors);
    }
}

fn of_type(wanted: &str, word: &str, kind: &str, path: &str, errors: &mut Vec<FieldError>) {
    let why = format!("must be {wanted} if {word} is specified");
    if kind.is_empty() {
        errors.push(FieldError::required(child(path, "type"), why));
    } else if kind != wanted {
        errors.push(FieldError::invalid_text(child(path, "type"), kind, why));
    }
}

fn set_items(items: Option<&Fields>, path: &str, errors: &mut Vec<FieldError>) {
    let Some(items) = items else { return };
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = items.get("x-kubernetes-list-type").cloned().unwrap_or(Value::Null);
    match text(items, "type") {
        "array" if !list_type.is_null() && list_type != "atomic" => {
            errors.push(FieldError::invalid(format!("{path}.items.x-kubernetes-list-type"), &list_type, why));
        }
        // The value in the message is that of the list type: so it is in Kubernetes.
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
            errors.push(FieldError::invalid(format!("{path}.items.x-kubernetes-map-type"), &list_type, why));
        }
        _ => {}
    }
}

fn map_items(items: Option<&Fields>, keys: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let keys_at = child(path, "x-kubernetes-list-map-keys");
    if keys.is_empty() {
        errors.push(FieldError::required(&keys_at, "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(items) = items else {
        let why = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(child(path, "items"), why));
        return;
    };
    let kind = text(items, "type");
    if kind != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid_text(format!("{path}.items.type"), kind, why));
        return;
    }
    let listed = Value::from(keys.to_vec());
    for (i, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        match items.get("properties").and_then(|p| p.get(name)) {
            Some(property) => {
                if matches!(property.get("type").and_then(Value::as_str), Some("array" | "object")) {
                    let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    errors.push(FieldError::invalid_text(format!("{path}.items.properties[{name}].type"), kind, why));
                }
            }
            None => errors.push(FieldError::invalid(&keys_at, &listed, "entries must all be names of item properties")),
        }
        if keys[..i].contains(key) {
            errors.push(FieldError::invalid(&keys_at, &listed, "must not contain duplicate entries"));
        }
    }
}

/// Keys of a map list must always have a value, and items of maps and sets are never null.
fn keys_are_there(items: &Fields, keys: &[Value], list_type: &str, path: &str, errors: &mut Vec<FieldError>) {
    if flag(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(format!("{path}.items.nullable"), why));
    }
    if list_type != "map" {
        return;
    }
    let required = items.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for key in keys {
        let name = key.as_str().unwrap_or_default();
        let Some(property) = items.get("properties").and_then(|p| p.get(name)).and_then(Value::as_object) else {
            continue;
        };
        let at = |word: &str| format!("{path}.items.properties[{name}].{word}");
        if !required.contains(key) && property.get("default").is_none_or(Value::is_null) {
            let why =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(at("default"), why));
        }
        if flag(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(at("nullable"), why));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reported(schema: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        check(schema.as_object().unwrap(), "s", &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn accepted_lists() {
        for schema in [
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}}),
            json!({"type": "object", "x-kubernetes-map-type": "atomic"}),
        ] {
            assert_eq!(reported(&schema), Vec::<String>::new(), "{schema}");
        }
    }

    #[test]
    fn refused_lists() {
        let item =
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "object", "default": {}}}});
        let table = [
            (
                json!({"type": "string", "x-kubernetes-list-type": "atomic"}),
                "s.type: Invalid value: \"string\": must be array if x-kubernetes-list-type is specified",
            ),
            (
                json!({"x-kubernetes-map-type": "atomic"}),
                "s.type: Required value: must be object if x-kubernetes-map-type is specified",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "bag"}),
                "s.x-kubernetes-list-type: Unsupported value: \"bag\": supported values: \"atomic\", \"set\", \"map\"",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}),
                "s.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-map-keys": ["a"]}),
                "s.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "map", "items": item}),
                "s.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["x"], "items": item}),
                "s.x-kubernetes-list-map-keys: Invalid value: [\"x\"]: entries must all be names of item properties",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "items": item}),
                "s.items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"], "items": item}),
                "s.items.properties[b].type: Invalid value: \"object\": must be a scalar type if parent array's x-kubernetes-list-type is map",
            ),
        ];
        for (schema, message) in table {
            assert_eq!(reported(&schema), [message], "{schema}");
        }
    }
}
