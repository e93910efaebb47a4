//! Fields that no schema knows are taken out, and their paths reported.
//!
//! Metadata is left alone here: its fields are known to every kind and [`crate::metadata`] looks after
//! them.

use serde_json::{Map, Value};

use crate::{Additional, Schema, metadata, paths::push_index};

/// Takes unknown fields out of a whole object, in `metadata` of it and of embedded objects too.
/// Returns their paths as messages print them, in order: `spec.x[0].y`.
pub fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut walk = Walk { path: String::new(), unknown: Vec::new() };
    metadata::prune(schema, object, &mut walk.unknown);
    walk.node(object, Some(schema), true);
    walk.unknown.sort();
    walk.unknown
}

/// Takes unknown fields out of a value that is not a whole object, such as a default. Says whether
/// there were any.
pub(crate) fn prune_part(schema: &Schema, value: &mut Value) -> bool {
    let mut walk = Walk { path: String::new(), unknown: Vec::new() };
    walk.node(value, Some(schema), schema.is_embedded());
    !walk.unknown.is_empty()
}

fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

struct Walk {
    path: String,
    unknown: Vec<String>,
}

impl Walk {
    fn node(&mut self, value: &mut Value, schema: Option<&Schema>, is_object: bool) {
        if schema.is_some_and(Schema::preserves_unknown) {
            self.keep_unknown(value, schema, is_object);
            return;
        }
        match value {
            Value::Object(fields) => self.fields(fields, schema, is_object),
            Value::Array(items) => {
                let below = schema.and_then(Schema::items);
                self.items(items, |walk, item| walk.node(item, below, below.is_some_and(Schema::is_embedded)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, schema: Option<&Schema>, is_object: bool) {
        let mut dropped = Vec::new();
        for (name, value) in fields.iter_mut() {
            if is_object && is_meta(name) {
                continue;
            }
            match schema.and_then(|s| part(s, name)) {
                Some(below) => self.below(name, |walk| walk.node(value, below, below.is_some_and(Schema::is_embedded))),
                None => dropped.push(name.clone()),
            }
        }
        for name in dropped {
            let length = self.path.len();
            self.push(&name);
            self.unknown.push(self.path.clone());
            self.path.truncate(length);
            fields.remove(&name);
        }
    }

    /// Unknown fields stay, but what is below known ones is pruned again.
    fn keep_unknown(&mut self, value: &mut Value, schema: Option<&Schema>, is_object: bool) {
        let Some(schema) = schema else { return };
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut().filter(|(name, _)| !(is_object && is_meta(name))) {
                    if let Some(below) = part(schema, name) {
                        self.below(name, |walk| walk.node(value, below, below.is_some_and(Schema::is_embedded)));
                    }
                }
            }
            Value::Array(items) => {
                let below = schema.items();
                self.items(items, |walk, item| {
                    walk.keep_unknown(item, below, below.is_some_and(Schema::is_embedded));
                });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn items(&mut self, items: &mut [Value], mut visit: impl FnMut(&mut Self, &mut Value)) {
        for (i, item) in items.iter_mut().enumerate() {
            let length = self.path.len();
            push_index(&mut self.path, i);
            visit(self, item);
            self.path.truncate(length);
        }
    }

    fn below(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.push(name);
        visit(self);
        self.path.truncate(length);
    }

    fn push(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }
}

/// The schema of a field: `None` for an unknown field, `Some(None)` for one of which nothing is known.
#[expect(clippy::option_option, reason = "unknown fields and fields without a schema are different things")]
fn part<'a>(schema: &'a Schema, name: &str) -> Option<Option<&'a Schema>> {
    if let Some(property) = schema.properties().get(name) {
        return Some(Some(property));
    }
    match schema.additional()? {
        Additional::Schema(additional) => Some(Some(additional)),
        Additional::Any(_) => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::lenient(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                    "strict": {"type": "object", "properties": {"a": {"type": "string"}}}}},
                "object": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
            }},
        }}))
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let mut object = json!({
            "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "nonsense": 1}, "extra": 1,
            "spec": {
                "x": 1,
                "list": [{"a": "1", "b": 2}],
                "map": {"k": {"a": "1", "b": 2}},
                "free": {"any": {"thing": 1}, "strict": {"a": "1", "b": 2}},
                "object": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "p", "bad": true}, "spec": {"q": 1}, "z": 1},
            },
        });
        let unknown = prune(&schema(), &mut object);
        assert_eq!(
            unknown,
            [
                "extra",
                "metadata.nonsense",
                "spec.free.strict.b",
                "spec.list[0].b",
                "spec.map.k.b",
                "spec.object.metadata.bad",
                "spec.object.spec.q",
                "spec.object.z",
                "spec.x",
            ]
        );
        assert_eq!(
            object,
            json!({
                "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"},
                "spec": {
                    "list": [{"a": "1"}], "map": {"k": {"a": "1"}},
                    "free": {"any": {"thing": 1}, "strict": {"a": "1"}},
                    "object": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "p"}, "spec": {}},
                },
            })
        );
        assert_eq!(prune(&schema(), &mut object), Vec::<String>::new());
    }
}
