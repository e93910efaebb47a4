//! How a refused patch shows what became of the object.
//!
//! The real server patches text: parts that a patch leaves alone keep the order of the fields of
//! their types, all others are sorted. Of the types only metadata is known here, so the rest is
//! sorted in any case.

use serde_json::{Map, Value, json};

const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

const MANAGER: [&str; 7] = ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

const OWNER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];

/// The object as text, with metadata as its type orders it.
pub(crate) fn with_untouched_metadata(object: &Value) -> String {
    let Some(map) = object.as_object() else { return object.to_string() };
    written(map, &[], |key, value| match (key, value) {
        ("metadata", Value::Object(metadata)) => written(metadata, &METADATA, entries),
        (_, other) => other.to_string(),
    })
}

fn entries(key: &str, value: &Value) -> String {
    let order: &[&str] = match key {
        "managedFields" => &MANAGER,
        "ownerReferences" => &OWNER,
        _ => return value.to_string(),
    };
    let Some(list) = value.as_array() else { return value.to_string() };
    let items = list.iter().map(|item| match item {
        Value::Object(map) => written(map, order, |_, value| value.to_string()),
        other => other.to_string(),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// The fields of a type in its order, then all others by name.
fn written(map: &Map<String, Value>, order: &[&str], text: impl Fn(&str, &Value) -> String) -> String {
    let mut fields: Vec<(&String, &Value)> = map.iter().collect();
    fields.sort_by_key(|(key, _)| (order.iter().position(|name| name == key).unwrap_or(order.len()), *key));
    let fields = fields.into_iter().map(|(key, value)| format!("{}:{}", json!(key), text(key, value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_in_the_order_of_its_type() {
        let object = json!({"kind": "K", "data": {"b": 1, "a": 2}, "metadata": {"uid": "u", "name": "n", "labels": {"z": "1", "a": "2"},
            "managedFields": [{"apiVersion": "v1", "manager": "m", "fieldsV1": {"f:data": {}}, "operation": "Update"}]}});
        assert_eq!(
            with_untouched_metadata(&object),
            r#"{"data":{"a":2,"b":1},"kind":"K","metadata":{"name":"n","uid":"u","labels":{"a":"2","z":"1"},"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsV1":{"f:data":{}}}]}}"#
        );
        assert_eq!(with_untouched_metadata(&json!([1])), "[1]");
    }
}
