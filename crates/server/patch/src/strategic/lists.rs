//! Lists that merge item by item.

use super::keys::{MergeKeys, Strategy};
use super::order::{self, Places};
use super::{DIRECTIVE, Object, bad_directive, merge_object, no_merge_key};
use crate::error::PatchError;
use crate::fields::ByValue;
use netloom_schema::go_text;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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
                return merge_objects(stored, patch, keys);
            }
            if keys.merge_key().is_some() {
                stored.iter().chain(&patch).take(1).try_for_each(order::object)?;
            }
            Ok(merge_scalars(&stored, &patch))
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
        return merge_objects(stored, gone, keys);
    }
    let gone = Places::of(&gone, None);
    Ok(stored.into_iter().filter(|item| gone.find(item).is_none()).collect())
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
    let mut seen = BTreeSet::new();
    let merged = stored.iter().chain(patch).filter(|item| seen.insert(ByValue(item))).cloned();
    let named = Places::of(patch, None);
    let (patched, server_only) = merged.partition(|item| named.find(item).is_some());
    order::arrange(patched, server_only, patch, stored, None)
}

fn merge_objects(stored: Vec<Value>, patch: Vec<Value>, keys: &MergeKeys) -> Result<Vec<Value>, PatchError> {
    let Some(key) = keys.merge_key() else {
        return Err(PatchError::Contradictory("cannot merge lists without merge key".to_owned()));
    };
    let (original, patch) = apply_directives(stored, patch, key)?;
    let merged = merge_items(&original, &patch, key, keys)?;
    let as_values = |items: Vec<Object>| items.into_iter().map(Value::Object).collect::<Vec<Value>>();
    let (patch, original) = (as_values(patch), as_values(original));
    let named = Places::of(&patch, Some(key));
    let mut patched = Vec::new();
    let mut server_only = Vec::new();
    for item in merged {
        if !item.contains_key(key) {
            return Err(no_merge_key(&item, key));
        }
        let item = Value::Object(item);
        if named.find(&item).is_some() { &mut patched } else { &mut server_only }.push(item);
    }
    Ok(order::arrange(patched, server_only, &patch, &original, Some(key)))
}

/// The stored items with the patch merged into those it names and the others added.
fn merge_items(original: &[Object], patch: &[Object], key: &str, keys: &MergeKeys) -> Result<Vec<Object>, PatchError> {
    let mut merged = original.to_vec();
    let mut places: BTreeMap<ByValue<'_>, usize> = BTreeMap::new();
    for (place, item) in original.iter().enumerate() {
        if let Some(value) = item.get(key) {
            places.entry(ByValue(value)).or_insert(place);
        }
    }
    for change in patch {
        let value = change.get(key).ok_or_else(|| no_merge_key(change, key))?;
        if let Some(place) = places.get(&ByValue(value)) {
            let item = std::mem::take(&mut merged[*place]);
            merged[*place] = merge_object(item, change.clone(), keys)?;
        } else {
            places.insert(ByValue(value), merged.len());
            merged.push(change.clone());
        }
    }
    Ok(merged)
}

/// Carries out the `$patch` items: `delete` removes the stored items of that key, `replace` makes the rest of the
/// patch the whole list. Returns the stored list and the rest of the patch.
fn apply_directives(
    stored: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Object>, Vec<Object>), PatchError> {
    let mut gone: Vec<Value> = Vec::new();
    let mut rest = Vec::new();
    let mut replace = false;
    for item in objects(patch) {
        let Some(directive) = item.get(DIRECTIVE) else {
            rest.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => gone.push(item.get(key).ok_or_else(|| no_merge_key(&item, key))?.clone()),
            Some("replace") => replace = true,
            Some("merge") => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Contradictory(text.to_owned()));
            }
            _ => return Err(bad_directive(directive, &item)),
        }
    }
    if replace {
        return Ok((rest, Vec::new()));
    }
    let gone: BTreeSet<ByValue<'_>> = gone.iter().map(ByValue).collect();
    let stays = |item: &Object| item.get(key).is_none_or(|value| !gone.contains(&ByValue(value)));
    Ok((objects(stored).into_iter().filter(stays).collect(), rest))
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
