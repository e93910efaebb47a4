//! Strategic merge patch, for built-in kinds.
//!
//! A merge patch that knows which lists merge item by item. Beside plain fields a patch can carry directives: `$patch`
//! (`replace` or `delete`) in an object or in an item of a merging list, `$retainKeys`, `$setElementOrder/<list>` and
//! `$deleteFromPrimitiveList/<list>`. Which lists merge, and by which field, comes with [`MergeKeys`].

mod keys;
mod lists;
mod order;

use crate::error::PatchError;
pub use keys::{MergeKeys, Strategy};
use netloom_schema::go_text;
use serde_json::{Map, Value};

pub(crate) const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

type Object = Map<String, Value>;

/// Applies a strategic merge patch and returns the patched object.
///
/// # Errors
/// [`PatchError::Malformed`] for directives of the wrong form, [`PatchError::Unprocessable`] for lists of lists,
/// [`PatchError::Contradictory`] when the patch does not fit the lists of the kind.
pub fn strategic(object: &Value, patch: &Value, keys: &MergeKeys) -> Result<Value, PatchError> {
    let Value::Object(changes) = patch else {
        return Err(PatchError::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            crate::merge::json_kind(patch)
        )));
    };
    let fields = object.as_object().cloned().unwrap_or_default();
    merge_object(fields, changes.clone(), keys).map(Value::Object)
}

/// Merges a patch into an object, after its directives.
fn merge_object(mut fields: Object, mut patch: Object, keys: &MergeKeys) -> Result<Object, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Object::new()),
            _ => Err(bad_directive(directive, &patch)),
        };
    }
    retain_keys(&mut fields, &mut patch)?;
    order::set_element_order(&mut fields, &mut patch, keys)?;
    for (name, change) in patch {
        let delete_list = name.strip_prefix(DELETE_FROM).map(|rest| list_name(rest, DELETE_FROM)).transpose()?;
        match delete_list {
            Some(list) => delete_items(&mut fields, list, change, keys)?,
            None => merge_field(&mut fields, name, change, keys)?,
        }
    }
    Ok(fields)
}

fn merge_field(fields: &mut Object, name: String, change: Value, keys: &MergeKeys) -> Result<(), PatchError> {
    if change.is_null() {
        fields.remove(&name);
        return Ok(());
    }
    let below = keys.below(&name);
    let merged = match (fields.remove(&name), change) {
        (Some(Value::Object(stored)), Value::Object(patch)) => {
            if below.strategy() == &Strategy::Replace {
                Some(Value::Object(patch))
            } else {
                Some(Value::Object(merge_object(stored, patch, below)?))
            }
        }
        (Some(Value::Array(stored)), Value::Array(patch)) => {
            Some(Value::Array(lists::merge_list(stored, patch, below)?))
        }
        (Some(stored), patch) if same_scalar_kind(&stored, &patch) => Some(patch),
        (_, patch) => without_directives(without_nulls(patch)),
    };
    if let Some(value) = merged {
        fields.insert(name, value);
    }
    Ok(())
}

fn same_scalar_kind(left: &Value, right: &Value) -> bool {
    matches!(
        (left, right),
        (Value::Bool(_), Value::Bool(_)) | (Value::Number(_), Value::Number(_)) | (Value::String(_), Value::String(_))
    )
}

fn delete_items(fields: &mut Object, list: String, items: Value, keys: &MergeKeys) -> Result<(), PatchError> {
    if items.is_null() {
        fields.remove(&list);
        return Ok(());
    }
    if let (Some(Value::Array(stored)), Value::Array(gone)) = (fields.get(&list), items) {
        let rest = lists::delete_from_list(stored.clone(), gone, keys.below(&list))?;
        fields.insert(list, Value::Array(rest));
    }
    Ok(())
}

/// `$retainKeys` names every field that may stay; a patch that sets another one contradicts itself.
fn retain_keys(fields: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    let Some(listed) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let Value::Array(listed) = listed else { return Err(malformed()) };
    let listed = |name: &str| listed.iter().any(|key| key.as_str() == Some(name));
    let stray = patch.iter().any(|(name, change)| {
        !change.is_null() && !name.starts_with(DELETE_FROM) && !name.starts_with(SET_ORDER) && !listed(name)
    });
    if stray {
        return Err(malformed());
    }
    fields.retain(|name, _| listed(name));
    Ok(())
}

/// The list a directive is about: what follows the slash after its name.
fn list_name(rest: &str, directive: &str) -> Result<String, PatchError> {
    rest.strip_prefix('/').map(str::to_owned).ok_or_else(|| {
        let what = if directive == DELETE_FROM { "primitive" } else { "setElementOrder" };
        PatchError::Malformed(format!("invalid patch format of {what} list"))
    })
}

/// A value that is new takes no directives along: whatever carries `$patch` is dropped.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter_map(|(name, inner)| Some((name, without_directives(inner)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, inner)| !inner.is_null());
            Value::Object(kept.map(|(name, inner)| (name, without_nulls(inner))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

fn bad_directive(directive: &Value, object: &Object) -> PatchError {
    PatchError::Contradictory(format!(
        "unknown patch type: {} in map: {}",
        go_text::plain(directive),
        go_text::plain(&Value::Object(object.clone()))
    ))
}

fn no_merge_key(object: &Object, key: &str) -> PatchError {
    PatchError::Contradictory(format!(
        "map: {} does not contain declared merge key: {key}",
        go_text::plain(&Value::Object(object.clone()))
    ))
}
