//! What rules fill in before an object is validated, as a patch and as the object itself.

use serde_json::{Value, json};

use crate::{Review, registry};

/// The patch, and the object with it; none when nothing is missing.
pub(super) fn completed(review: &Review<'_>) -> Option<(Value, Value)> {
    let object = review.object.filter(|_| review.subresource.is_none())?;
    let rules = registry::find(review.kind)?;
    let mut filled = object.clone();
    (rules.complete)(review, &mut filled);
    let operations = difference(object, &filled);
    (!operations.is_empty()).then(|| (operations.into(), filled))
}

/// The operations that make `after` of `before`.
///
/// Most rules touch only `metadata`, so parts that are equal are passed over as a whole: looking for
/// differences inside a large `spec` would take longer than all rules together.
fn difference(before: &Value, after: &Value) -> Vec<Value> {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else { return Vec::new() };
    let removed = old.keys().filter(|key| !new.contains_key(*key));
    let mut operations: Vec<Value> = removed.map(|key| json!({"op": "remove", "path": pointer(key)})).collect();
    for (key, value) in new {
        match old.get(key) {
            Some(same) if same == value => {}
            Some(known) => operations.extend(inside(key, known, value)),
            None => operations.push(json!({"op": "add", "path": pointer(key), "value": value})),
        }
    }
    operations
}

/// The operations for one part, with the paths of the whole.
fn inside(key: &str, before: &Value, after: &Value) -> Vec<Value> {
    let patch = serde_json::to_value(json_patch::diff(before, after)).unwrap_or_default();
    let operations = patch.as_array().cloned().unwrap_or_default();
    let moved = |mut operation: Value| {
        let within = operation.get("path").and_then(Value::as_str).unwrap_or_default();
        operation["path"] = format!("{}{within}", pointer(key)).into();
        operation
    };
    operations.into_iter().map(moved).collect()
}

fn pointer(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_a_patch() {
        let before =
            json!({"kind": "X", "gone": 1, "metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"big": [1, 2]}});
        let after = json!({
            "kind": "X", "new/er": true, "spec": {"big": [1, 2]},
            "metadata": {"name": "a", "labels": {"x": "2", "a/b": "3"}, "annotations": {"y": "z"}},
        });
        let operations = Value::from(difference(&before, &after));
        let patch: json_patch::Patch = serde_json::from_value(operations.clone()).unwrap();
        let mut patched = before.clone();
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(patched, after);
        assert!(!operations.to_string().contains("spec"), "{operations}");
        assert_eq!(difference(&before, &before), [Value::Null; 0]);
    }
}
