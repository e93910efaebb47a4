//! Lists that merge item by item.

use super::keys::{MergeKeys, Strategy};
use super::{DIRECTIVE, Object, bad_directive, merge_object, no_merge_key, order};
use crate::error::PatchError;
use netloom_schema::go_text;
use serde_json::Value;
use std::mem::discriminant;

/// Merges a patch into a stored list, by the strategy of the field.
pub(super) fn merge_list(stored: Vec<Value>, patch: Vec<Value>, keys: &MergeKeys) -> Result<Vec<Value>, PatchError> {
    match keys.strategy() {
        Strategy::Plain | Strategy::Replace => Ok(patch),
        Strategy::MergeScalars | Strategy::MergeBy(_) => {
            if stored.is_empty() && patch.is_empty() {
                return Ok(stored);
            }
            if items_are_objects(&stored, &patch)? {
                merge_objects(stored, patch, keys)
            } else {
                Ok(merge_scalars(&stored, &patch))
            }
        }
    }
}

/// The stored list without the items of a deletion list, whatever the strategy of the field.
pub(super) fn delete_from_list(
    stored: Vec<Value>,
    gone: Vec<Value>,
    keys: &MergeKeys,
) -> Result<Vec<Value>, PatchError> {
    if stored.is_empty() && gone.is_empty() {
        return Ok(stored);
    }
    if items_are_objects(&stored, &gone)? {
        merge_objects(stored, gone, keys)
    } else {
        Ok(stored.into_iter().filter(|item| !gone.contains(item)).collect())
    }
}

/// Whether the items are objects; all items of both lists must be of one kind, and that kind not a list.
pub(super) fn items_are_objects(stored: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut items = stored.iter().chain(patch);
    let Some(first) = items.next() else {
        return Err(PatchError::Contradictory("no elements in any of the given slices".to_owned()));
    };
    if first.is_array() {
        return Err(PatchError::Unprocessable("lists of lists are not supported".to_owned()));
    }
    let integer = |value: &Value| value.is_i64() || value.is_u64();
    let alike = |other: &Value| discriminant(first) == discriminant(other) && integer(first) == integer(other);
    if first.is_null() || !items.all(alike) {
        let shown = Value::Array(vec![Value::Array(stored.to_vec()), Value::Array(patch.to_vec())]);
        return Err(PatchError::Contradictory(format!(
            "list element types are not identical: {}",
            go_text::plain(&shown)
        )));
    }
    Ok(first.is_object())
}

fn merge_scalars(stored: &[Value], patch: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for item in stored.iter().chain(patch) {
        if !merged.contains(item) {
            merged.push(item.clone());
        }
    }
    let (patched, server_only) = merged.into_iter().partition(|item| patch.contains(item));
    order::arrange(patched, server_only, patch, stored, None)
}

fn merge_objects(stored: Vec<Value>, patch: Vec<Value>, keys: &MergeKeys) -> Result<Vec<Value>, PatchError> {
    let Some(key) = keys.merge_key() else {
        return Err(PatchError::Contradictory("cannot merge lists without merge key".to_owned()));
    };
    let (original, patch) = apply_directives(stored, patch, key)?;
    let mut merged: Vec<Object> = original.clone();
    for change in &patch {
        let value = change.get(key).ok_or_else(|| no_merge_key(change, key))?;
        match merged.iter().position(|item| item.get(key) == Some(value)) {
            Some(place) => {
                let item = std::mem::take(&mut merged[place]);
                merged[place] = merge_object(item, change.clone(), keys)?;
            }
            None => merged.push(change.clone()),
        }
    }
    let as_values = |items: Vec<Object>| items.into_iter().map(Value::Object).collect::<Vec<Value>>();
    let (patch, original) = (as_values(patch), as_values(original));
    let mut patched = Vec::new();
    let mut server_only = Vec::new();
    for item in merged {
        let value = item.get(key).ok_or_else(|| no_merge_key(&item, key))?;
        let named = patch.iter().any(|change| change.get(key) == Some(value));
        if named { &mut patched } else { &mut server_only }.push(Value::Object(item));
    }
    Ok(order::arrange(patched, server_only, &patch, &original, Some(key)))
}

/// Carries out the `$patch` items: `delete` removes the stored items of that key, `replace` makes the rest of the
/// patch the whole list. Returns the stored list and the rest of the patch.
fn apply_directives(
    stored: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Object>, Vec<Object>), PatchError> {
    let mut stored = objects(stored);
    let mut rest = Vec::new();
    let mut replace = false;
    for item in objects(patch) {
        let Some(directive) = item.get(DIRECTIVE) else {
            rest.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = item.get(key).ok_or_else(|| no_merge_key(&item, key))?;
                stored.retain(|candidate| candidate.get(key) != Some(value));
            }
            Some("replace") => replace = true,
            Some("merge") => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Contradictory(text.to_owned()));
            }
            _ => return Err(bad_directive(directive, &item)),
        }
    }
    Ok(if replace { (rest, Vec::new()) } else { (stored, rest) })
}

/// The items as objects; the caller has made sure that they are.
fn objects(items: Vec<Value>) -> Vec<Object> {
    items
        .into_iter()
        .filter_map(|item| match item {
            Value::Object(map) => Some(map),
            _ => None,
        })
        .collect()
}
