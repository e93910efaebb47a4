//! Default values, and nulls where no null may be.

use serde_json::{Map, Value};

use crate::Schema;

/// Fills in the defaults of a schema.
///
/// A null in a field that takes none is replaced by the field's default or, without one, taken out; in
/// a list it stays, because the position of the others would change, and validation will refuse it.
/// A null in a field that takes nulls stays.
pub fn apply_defaults(schema: &Schema, object: &mut Value) {
    drop_nulls(schema, object);
    fill(schema, object);
}

/// Fills in the defaults of a schema and leaves other nulls as they are, for validation to refuse.
pub fn fill_defaults(schema: &Schema, object: &mut Value) {
    fill(schema, object);
}

fn is_refused_null(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable()
}

fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(below) = schema.property(name) else { return true };
            if is_refused_null(value, below) && below.default_value().is_none() {
                return false;
            }
            drop_nulls(below, value);
            true
        }),
        Value::Array(items) => {
            if let Some(below) = schema.items() {
                for item in items {
                    drop_nulls(below, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill(schema: &Schema, value: &mut Value) {
    if !schema.has_defaults {
        return;
    }
    match value {
        Value::Object(fields) => fill_fields(schema, fields),
        Value::Array(items) => {
            let Some(below) = schema.items() else { return };
            for item in items {
                replace_null(below, item);
                fill(below, item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_fields(schema: &Schema, fields: &mut Map<String, Value>) {
    for (name, property) in schema.properties() {
        let Some(default) = property.default_value() else { continue };
        if fields.get(name).is_none_or(|value| is_refused_null(value, property)) {
            fields.insert(name.clone(), default.clone());
        }
    }
    for (name, value) in fields.iter_mut() {
        if let Some(property) = schema.properties().get(name) {
            fill(property, value);
        } else if let Some(additional) = schema.additional_schema() {
            replace_null(additional, value);
            fill(additional, value);
        }
    }
}

fn replace_null(schema: &Schema, value: &mut Value) {
    if is_refused_null(value, schema)
        && let Some(default) = schema.default_value()
    {
        *value = default.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nulls_can_stay() {
        let schema = Schema::lenient(&json!({"type": "object", "properties": {
            "size": {"type": "integer", "default": 1}, "plain": {"type": "string"}}}));
        let mut object = json!({"size": null, "plain": null});
        fill_defaults(&schema, &mut object);
        assert_eq!(object, json!({"size": 1, "plain": null}));
    }

    #[test]
    fn defaults_and_nulls() {
        let schema = Schema::lenient(&json!({"type": "object", "properties": {
            "size": {"type": "integer", "default": 1},
            "maybe": {"type": "integer", "nullable": true, "default": 2},
            "plain": {"type": "string"},
            "inner": {"type": "object", "default": {}, "properties": {"a": {"type": "string", "default": "x"}}},
            "absent": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer", "default": 3}}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        }}));
        let table = [
            (json!({}), json!({"size": 1, "maybe": 2, "inner": {"a": "x"}})),
            (
                json!({"size": null, "maybe": null, "plain": null, "inner": {"a": null}}),
                json!({"size": 1, "maybe": null, "inner": {"a": "x"}}),
            ),
            (
                json!({"size": 5, "maybe": 6, "inner": {}, "list": [{}, null, {"b": 4}], "map": {"k": null, "l": "v"}}),
                json!({"size": 5, "maybe": 6, "inner": {"a": "x"}, "list": [{"b": 3}, null, {"b": 4}], "map": {"l": "v"}}),
            ),
        ];
        for (mut object, expected) in table {
            apply_defaults(&schema, &mut object);
            assert_eq!(object, expected);
            let again = object.clone();
            apply_defaults(&schema, &mut object);
            assert_eq!(object, again, "a second time changes nothing");
        }
    }
}
