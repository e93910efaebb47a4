//! JSON merge patch (RFC 7386).
//!
//! A null in the patch deletes the field, an object merges, everything else replaces. Nulls inside a list are kept,
//! nulls inside an object that is new are dropped: a merge patch cannot store a null in a field.

use crate::error::PatchError;
use serde_json::{Map, Value};

/// Applies a merge patch and returns the patched object.
///
/// # Errors
/// The patch must be a JSON object, since the result has to stay one.
pub fn merge_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Object(changes) = patch else {
        return Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_kind(patch)
        )));
    };
    let mut fields = object.as_object().cloned().unwrap_or_default();
    merge_into(&mut fields, changes);
    Ok(Value::Object(fields))
}

fn merge_into(fields: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (name, change) in changes {
        match (fields.get_mut(name), change) {
            (_, Value::Null) => {
                fields.remove(name);
            }
            (Some(Value::Object(inner)), Value::Object(inner_changes)) => merge_into(inner, inner_changes),
            // A list that takes the place of another list or scalar is stored as it was sent; whatever replaces a
            // missing value, or an object, loses its nulls first.
            (Some(Value::Object(_)), replacement @ Value::Array(_)) => {
                fields.insert(name.clone(), replacement.clone());
            }
            (_, replacement) => {
                fields.insert(name.clone(), without_nulls(replacement));
            }
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(_, inner)| !inner.is_null())
                .map(|(name, inner)| (name.clone(), without_nulls(inner)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        scalar => scalar.clone(),
    }
}

/// The name Go's decoder has for a JSON value of this kind.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_of_the_rfc_holds_for_objects() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ];
        for (object, patch, wanted) in cases {
            assert_eq!(merge_patch(&object, &patch), Ok(wanted), "{object} with {patch}");
        }
    }

    #[test]
    fn nulls_survive_in_lists_only() {
        let patched = merge_patch(&json!({}), &json!({"a": [1, null, {"b": null, "c": 2}]}));
        assert_eq!(patched, Ok(json!({"a": [1, null, {"c": 2}]})));
    }

    #[test]
    fn a_patch_must_be_an_object() {
        let refused = merge_patch(&json!({}), &json!([1])).expect_err("a list is no merge patch");
        assert_eq!(refused.code(), 400);
        assert_eq!(
            refused.answer(),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
    }
}
