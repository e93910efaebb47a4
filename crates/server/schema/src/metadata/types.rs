//! The fields of `metadata` and their types.

use serde_json::Value;

/// What a field of metadata holds, in Go's words where messages need them.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Whole,
    Flag,
    Time,
    TextMap,
    TextList,
    List(&'static str, &'static [(&'static str, Kind)]),
    /// An object that nobody looks into.
    Raw,
}

const FIELDS: &[(&str, Kind)] = &[
    ("name", Kind::Text),
    ("generateName", Kind::Text),
    ("namespace", Kind::Text),
    ("selfLink", Kind::Text),
    ("uid", Kind::Text),
    ("resourceVersion", Kind::Text),
    ("generation", Kind::Whole),
    ("creationTimestamp", Kind::Time),
    ("deletionTimestamp", Kind::Time),
    ("deletionGracePeriodSeconds", Kind::Whole),
    ("labels", Kind::TextMap),
    ("annotations", Kind::TextMap),
    ("ownerReferences", Kind::List("v1.OwnerReference", OWNER)),
    ("finalizers", Kind::TextList),
    ("managedFields", Kind::List("v1.ManagedFieldsEntry", MANAGED)),
];

const OWNER: &[(&str, Kind)] = &[
    ("apiVersion", Kind::Text),
    ("kind", Kind::Text),
    ("name", Kind::Text),
    ("uid", Kind::Text),
    ("controller", Kind::Flag),
    ("blockOwnerDeletion", Kind::Flag),
];

const MANAGED: &[(&str, Kind)] = &[
    ("manager", Kind::Text),
    ("operation", Kind::Text),
    ("apiVersion", Kind::Text),
    ("time", Kind::Time),
    ("fieldsType", Kind::Text),
    ("fieldsV1", Kind::Raw),
    ("subresource", Kind::Text),
];

/// Why the value is not metadata, if it is not; fields that are unknown do not count.
pub fn type_error(metadata: &Value) -> Option<String> {
    match metadata {
        Value::Null => None,
        Value::Object(_) => fields_error(metadata, "ObjectMeta", FIELDS),
        other => Some(format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", go_name(other))),
    }
}

fn fields_error(value: &Value, path: &str, known: &[(&str, Kind)]) -> Option<String> {
    known.iter().find_map(|(name, kind)| {
        let value = value.get(*name).filter(|v| !v.is_null())?;
        field_error(value, &format!("{path}.{name}"), *kind)
    })
}

fn field_error(value: &Value, path: &str, kind: Kind) -> Option<String> {
    let wrong = |value: &Value, wanted: &str| {
        Some(format!("json: cannot unmarshal {} into Go struct field {path} of type {wanted}", go_name(value)))
    };
    match (kind, value) {
        (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Bool(_)) | (Kind::Raw, _) => None,
        (Kind::Whole, Value::Number(number)) if number.is_i64() => None,
        (Kind::Time, Value::String(text)) => time_error(text),
        (Kind::TextMap, Value::Object(fields)) => {
            fields.values().find(|v| !v.is_string() && !v.is_null()).and_then(|other| wrong(other, "string"))
        }
        (Kind::TextList, Value::Array(items)) => {
            items.iter().find(|v| !v.is_string() && !v.is_null()).and_then(|other| wrong(other, "string"))
        }
        (Kind::List(name, known), Value::Array(items)) => items.iter().find_map(|item| match item {
            Value::Object(_) => fields_error(item, path, known),
            Value::Null => None,
            other => wrong(other, name),
        }),
        (Kind::Text | Kind::Time, other) => wrong(other, "string"),
        (Kind::Flag, other) => wrong(other, "bool"),
        (Kind::Whole, other) => wrong(other, "int64"),
        (Kind::TextMap, other) => wrong(other, "map[string]string"),
        (Kind::TextList, other) => wrong(other, "[]string"),
        (Kind::List(name, _), other) => wrong(other, &format!("[]{name}")),
    }
}

fn time_error(text: &str) -> Option<String> {
    if text.is_empty() || text.parse::<jiff::Timestamp>().is_ok() {
        return None;
    }
    let quoted = crate::go_text::quote(text);
    Some(format!("parsing time {quoted} as \"2006-01-02T15:04:05Z07:00\": cannot parse {quoted} as \"2006\""))
}

/// What Go's JSON reader calls a value.
fn go_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Takes unknown fields out and names them.
pub(super) fn prune(metadata: &mut Value, path: &str, unknown: &mut Vec<String>) {
    prune_fields(metadata, path, FIELDS, unknown);
}

fn prune_fields(value: &mut Value, path: &str, known: &[(&str, Kind)], unknown: &mut Vec<String>) {
    let Value::Object(fields) = value else { return };
    fields.retain(|name, _| {
        let keep = known.iter().any(|(known, _)| known == name);
        if !keep {
            unknown.push(format!("{path}.{name}"));
        }
        keep
    });
    for (name, kind) in known {
        if let (Kind::List(_, known), Some(Value::Array(items))) = (kind, fields.get_mut(*name)) {
            for (i, item) in items.iter_mut().enumerate() {
                prune_fields(item, &format!("{path}.{name}[{i}]"), known, unknown);
            }
        }
    }
}

/// Takes out what says nothing, as a round through the server's own type does.
pub(super) fn tidy(metadata: &mut Value) {
    let Value::Object(fields) = metadata else { return };
    fields.retain(|name, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        Value::Number(number) => name == "deletionGracePeriodSeconds" || number.as_i64() != Some(0),
        Value::Bool(_) => true,
    });
    for name in ["labels", "annotations"] {
        let entries = fields.get_mut(name).and_then(Value::as_object_mut);
        for value in entries.into_iter().flat_map(|e| e.values_mut()).filter(|v| v.is_null()) {
            *value = Value::from("");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_types_are_named_as_go_names_them() {
        let table = [
            (json!({"name": "a", "labels": {"a": "b"}, "creationTimestamp": null, "unknown": 1}), None),
            (json!("x"), Some("json: cannot unmarshal string into Go value of type v1.ObjectMeta")),
            (
                json!({"name": 1}),
                Some("json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
            ),
            (
                json!({"labels": []}),
                Some("json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string"),
            ),
            (
                json!({"labels": {"a": 1}}),
                Some("json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
            ),
            (
                json!({"generation": 1.5}),
                Some("json: cannot unmarshal number into Go struct field ObjectMeta.generation of type int64"),
            ),
            (
                json!({"ownerReferences": [{"controller": "yes"}]}),
                Some(
                    "json: cannot unmarshal string into Go struct field ObjectMeta.ownerReferences.controller of type bool",
                ),
            ),
        ];
        for (metadata, expected) in table {
            assert_eq!(type_error(&metadata).as_deref(), expected, "{metadata}");
        }
    }

    #[test]
    fn what_says_nothing_goes() {
        let mut metadata =
            json!({"name": "a", "labels": {}, "finalizers": [], "creationTimestamp": null, "annotations": {"a": null}});
        tidy(&mut metadata);
        assert_eq!(metadata, json!({"name": "a", "annotations": {"a": ""}}));
    }
}
