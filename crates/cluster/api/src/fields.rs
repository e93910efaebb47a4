//! The fields of a schema, one after the other, with the path that people write.
//!
//! `spec.ips` is a field, `spec.ports[].name` one inside each item of a list, and
//! `status.nodeStatus{}.mode` one inside each value of a map. The fields that every object has
//! (`apiVersion`, `kind`, `metadata`) are left out.

use serde_json::{Map, Value};

/// One field of a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Where it is, such as `spec.uplink.nics`.
    pub path: String,
    /// Whether its parent must have it.
    pub required: bool,
    /// What the schema says of it.
    pub schema: Value,
}

/// All fields of a root schema, parents before children, in the order of their names.
pub fn of(root: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    properties(root, "", &mut fields);
    fields
}

fn properties(schema: &Value, prefix: &str, fields: &mut Vec<Field>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        if prefix.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            continue;
        }
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let required = requires(schema, name);
        fields.push(Field { path: path.clone(), required, schema: own_words(property) });
        below(property, &path, fields);
    }
}

fn below(schema: &Value, path: &str, fields: &mut Vec<Field>) {
    properties(schema, path, fields);
    if let Some(items) = schema.get("items") {
        below(items, &format!("{path}[]"), fields);
    }
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        below(values, &format!("{path}{{}}"), fields);
    }
}

fn requires(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == name))
}

/// The schema without the fields below it: those are entries of their own.
fn own_words(schema: &Value) -> Value {
    let keep = |(key, _): &(&String, &Value)| key.as_str() != "properties" && key.as_str() != "required";
    let Some(map) = schema.as_object() else { return schema.clone() };
    map.iter()
        .filter(keep)
        .map(|(key, value)| {
            let inner = key == "items" || key == "additionalProperties";
            (key.clone(), if inner { own_words(value) } else { value.clone() })
        })
        .collect::<Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_into_lists_and_maps() {
        let schema = json!({"properties": {
            "metadata": {"type": "object"},
            "spec": {"type": "object", "required": ["list"], "properties": {
                "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"on": {"type": "boolean"}}}},
                "plain": {"type": "array", "items": {"type": "string"}},
            }},
        }});
        let found: Vec<_> = of(&schema).into_iter().map(|field| (field.path, field.required)).collect();
        let wanted = [
            ("spec", false),
            ("spec.list", true),
            ("spec.list[].name", false),
            ("spec.map", false),
            ("spec.map{}.on", false),
            ("spec.plain", false),
        ];
        assert_eq!(found, wanted.map(|(path, required)| (path.to_owned(), required)));
    }
}
