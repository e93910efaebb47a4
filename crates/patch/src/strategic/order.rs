//! The order of merged lists, and `$setElementOrder`.
//!
//! Items of the patch keep the order the patch gives them, items only the server has keep theirs, and the two are
//! woven together by the order of the stored list as far as that says anything.

use super::keys::MergeKeys;
use super::{DIRECTIVE, Object, SET_ORDER, list_name, lists, no_merge_key, without_directives};
use crate::error::PatchError;
use netloom_schema::go_text;
use serde_json::Value;

/// Weaves the items of the patch and those of the server alone into one list.
pub(super) fn arrange(
    mut patched: Vec<Value>,
    mut server_only: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: Option<&str>,
) -> Vec<Value> {
    let place =
        |order: &[Value], item: &Value| order.iter().position(|other| identity(other, key) == identity(item, key));
    patched.sort_by_key(|item| place(patch_order, item));
    server_only.sort_by_key(|item| place(server_order, item));
    let mut woven = Vec::with_capacity(patched.len() + server_only.len());
    let mut server_only = server_only.into_iter().peekable();
    for item in patched {
        let before = place(server_order, &item);
        while let Some(other) = server_only.peek() {
            match (place(server_order, other), before) {
                (Some(left), Some(right)) if left < right => woven.extend(server_only.next()),
                _ => break,
            }
        }
        woven.push(item);
    }
    woven.extend(server_only);
    woven
}

/// What tells items apart: the merge key's value for objects, the item itself for scalars.
fn identity<'a>(item: &'a Value, key: Option<&str>) -> Option<&'a Value> {
    match key {
        Some(key) => item.get(key),
        None => Some(item),
    }
}

/// Carries out every `$setElementOrder` of a patch: merges the list it is about and puts the result in that order.
/// The list is then taken out of the patch.
pub(super) fn set_element_order(fields: &mut Object, patch: &mut Object, keys: &MergeKeys) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let wanted = items_of(patch.remove(&directive))?.unwrap_or_default();
        let name = list_name(&directive[SET_ORDER.len()..], SET_ORDER)?;
        let below = keys.below(&name);
        let stored = items_of(fields.get(&name).cloned())?;
        let change = items_of(patch.remove(&name))?;
        check_order(change.as_deref().unwrap_or_default(), &wanted, below.merge_key())?;
        let merged = match (stored.clone(), change.clone()) {
            (None, None) => continue,
            (Some(stored), None) => stored,
            (None, Some(change)) => change.into_iter().filter_map(without_directives).collect(),
            (Some(stored), Some(change)) => lists::merge_list(stored, change, below)?,
        };
        let stored = stored.unwrap_or_default();
        lists::items_are_objects(&stored, &change.unwrap_or_default())?;
        let ordered = in_order(merged, &wanted, &stored, below.merge_key())?;
        fields.insert(name, Value::Array(ordered));
    }
    Ok(())
}

fn items_of(value: Option<Value>) -> Result<Option<Vec<Value>>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => {
            Err(PatchError::Contradictory(format!("expected a []interface {{}}, but received a {}", go_type(&other))))
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn in_order(
    merged: Vec<Value>,
    wanted: &[Value],
    stored: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    let mut patched = Vec::new();
    let mut server_only = Vec::new();
    for item in merged {
        let value = keyed(&item, key)?;
        let named = wanted.iter().any(|other| identity(other, key) == Some(value));
        if named { &mut patched } else { &mut server_only }.push(item);
    }
    if let Some(key) = key {
        let nameless = |item: &&Value| item.get(key).is_none();
        if let Some(item) = wanted.iter().chain(stored).find(nameless) {
            return Err(no_merge_key(&item.as_object().cloned().unwrap_or_default(), key));
        }
    }
    Ok(arrange(patched, server_only, wanted, stored, key))
}

/// The items of the patch must come in the wanted order, and each must be in it; deletions do not count.
fn check_order(change: &[Value], wanted: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if change.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let mut left = wanted.iter();
    for item in change.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let value = keyed(item, key)?;
        let mut found = false;
        for candidate in left.by_ref() {
            if keyed(candidate, key)? == value {
                found = true;
                break;
            }
        }
        if !found {
            return Err(PatchError::Contradictory(format!(
                "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
                go_text::plain(&Value::Array(change.to_vec())),
                go_text::plain(&Value::Array(wanted.to_vec()))
            )));
        }
    }
    Ok(())
}

/// What tells an item apart, which every item of a merging list must have.
fn keyed<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    let Some(key) = key else { return Ok(item) };
    match item {
        Value::Object(map) => map.get(key).ok_or_else(|| no_merge_key(map, key)),
        other => Err(PatchError::Contradictory(format!(
            "expected a map[string]interface {{}}, but received a {}",
            go_type(other)
        ))),
    }
}
