//! The order of merged lists, and `$setElementOrder`.
//!
//! Items of the patch keep the order the patch gives them, items only the server has keep theirs, and the two are
//! woven together by the order of the stored list as far as that says anything.

use super::keys::MergeKeys;
use super::{DIRECTIVE, Object, SET_ORDER, list_name, lists, no_merge_key, without_directives};
use crate::error::PatchError;
use crate::fields::ByValue;
use netloom_schema::go_text;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Where each item is in a list, distinguished by a key or by value.
pub(super) struct Places<'a> {
    places: BTreeMap<ByValue<'a>, usize>,
    key: Option<&'a str>,
}

impl<'a> Places<'a> {
    pub(super) fn of(items: &'a [Value], key: Option<&'a str>) -> Self {
        let mut places = BTreeMap::new();
        for (place, item) in items.iter().enumerate() {
            if let Some(value) = identity(item, key) {
                places.entry(ByValue(value)).or_insert(place);
            }
        }
        Self { places, key }
    }

    pub(super) fn find(&self, item: &Value) -> Option<usize> {
        self.places.get(&ByValue(identity(item, self.key)?)).copied()
    }
}

/// What tells items apart: the merge key's value for objects, the item itself for scalars.
fn identity<'a>(item: &'a Value, key: Option<&str>) -> Option<&'a Value> {
    match key {
        Some(key) => item.get(key),
        None => Some(item),
    }
}

/// Weaves the items of the patch and those of the server alone into one list.
pub(super) fn arrange(
    patched: Vec<Value>,
    server_only: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: Option<&str>,
) -> Vec<Value> {
    let server = Places::of(server_order, key);
    let patched = sorted(patched, &Places::of(patch_order, key));
    let mut server_only = sorted(server_only, &server).into_iter().peekable();
    let mut woven = Vec::with_capacity(patched.len() + server_only.len());
    for item in patched {
        let before = server.find(&item);
        while let Some(other) = server_only.peek() {
            match (server.find(other), before) {
                (Some(left), Some(right)) if left < right => woven.extend(server_only.next()),
                _ => break,
            }
        }
        woven.push(item);
    }
    woven.extend(server_only);
    woven
}

/// The items in an order; one that the order does not know goes before everything sorted so far, so that a list
/// without any order comes out backwards. That is what the API does with short lists, and clients see it.
fn sorted(items: Vec<Value>, order: &Places<'_>) -> Vec<Value> {
    let mut known: Vec<(usize, Value)> = Vec::with_capacity(items.len());
    let mut sorted: VecDeque<Value> = VecDeque::new();
    let all_known = items.iter().all(|item| order.find(item).is_some());
    if all_known {
        known.extend(items.into_iter().map(|item| (order.find(&item).unwrap_or_default(), item)));
        known.sort_by_key(|(place, _)| *place);
        return known.into_iter().map(|(_, item)| item).collect();
    }
    for item in items {
        let place = order.find(&item);
        let stands = |other: &Value| matches!((place, order.find(other)), (Some(mine), Some(theirs)) if mine >= theirs);
        let position = sorted.iter().rposition(stands).map_or(0, |position| position + 1);
        sorted.insert(position, item);
    }
    sorted.into()
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
        let (stored, change) = (stored.unwrap_or_default(), change.unwrap_or_default());
        lists::items_are_objects(&stored, &change)?;
        let stored = match below.merge_key() {
            Some(key) => in_place(stored, &change, key),
            None => stored,
        };
        let ordered = in_order(merged, &wanted, &stored, below.merge_key())?;
        fields.insert(name, Value::Array(ordered));
    }
    Ok(())
}

/// The stored list as the order of server items is read from it, once the patch was merged.
///
/// The API deletes and adds in the stored list itself: an added item takes the place that a deleted one left free at
/// the end, and counts as known to the server there. Patches that replace one item by another depend on it.
fn in_place(mut stored: Vec<Value>, change: &[Value], key: &str) -> Vec<Value> {
    let directive = |item: &Value| item.get(DIRECTIVE).and_then(Value::as_str).map(str::to_owned);
    if change.iter().any(|item| directive(item).as_deref() == Some("replace")) {
        return stored;
    }
    let whole = stored.len();
    let last = stored.last().cloned();
    let gone = change.iter().filter(|item| directive(item).as_deref() == Some("delete"));
    let gone: BTreeSet<ByValue<'_>> = gone.filter_map(|item| item.get(key)).map(ByValue).collect();
    stored.retain(|item| item.get(key).is_none_or(|value| !gone.contains(&ByValue(value))));
    let known = Places::of(&stored, Some(key));
    let added = change.iter().filter(|item| directive(item).is_none() && known.find(item).is_none());
    let added: Vec<Value> = added.take(whole - stored.len()).cloned().collect();
    stored.extend(added);
    // A place that stays free still shows what was last moved out of it.
    if stored.len() < whole {
        stored.extend(last);
    }
    stored
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
    let named = Places::of(wanted, key);
    let mut patched = Vec::new();
    let mut server_only = Vec::new();
    for item in merged {
        keyed(&item, key)?;
        if named.find(&item).is_some() { &mut patched } else { &mut server_only }.push(item);
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
    for item in change {
        if key.is_some() {
            object(item)?;
        }
    }
    let deleted = |item: &&Value| key.is_some() && item.get(DIRECTIVE).is_some_and(|what| what == "delete");
    for item in change.iter().filter(|item| !deleted(item)) {
        let directive = item.get(DIRECTIVE).is_some();
        if directive && left.len() > 0 {
            continue;
        }
        let mut found = false;
        for candidate in left.by_ref() {
            if same_item(item, candidate, key)? {
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

fn same_item(left: &Value, right: &Value, key: Option<&str>) -> Result<bool, PatchError> {
    if key.is_some() {
        object(left)?;
        object(right)?;
    }
    Ok(keyed(left, key)? == keyed(right, key)?)
}

/// Items of a list that merges by a key must be objects.
pub(super) fn object(item: &Value) -> Result<(), PatchError> {
    if item.is_object() {
        return Ok(());
    }
    Err(PatchError::Contradictory(format!("expected a map[string]interface {{}}, but received a {}", go_type(item))))
}

/// What tells an item apart, which every item of a merging list must have.
fn keyed<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    let Some(key) = key else { return Ok(item) };
    match item {
        Value::Object(map) => map.get(key).ok_or_else(|| no_merge_key(map, key)),
        other => object(other).map(|()| other),
    }
}
