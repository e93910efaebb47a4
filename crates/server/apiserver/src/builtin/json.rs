//! Short ways into JSON objects, for code that knows the fields it wants.

use serde_json::{Map, Value};

/// The value at a path of keys.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key)).filter(|value| !value.is_null())
}

/// The text at a path, or nothing.
pub(super) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The text at a path, or a word for its absence.
pub(super) fn text_or(value: &Value, path: &[&str], absent: &str) -> String {
    match text(value, path) {
        "" => absent.to_owned(),
        text => text.to_owned(),
    }
}

/// The number at a path, or zero.
pub(super) fn number(value: &Value, path: &[&str]) -> i64 {
    at(value, path).and_then(Value::as_i64).unwrap_or_default()
}

/// The switch at a path, off when absent.
pub(super) fn truth(value: &Value, path: &[&str]) -> bool {
    at(value, path).and_then(Value::as_bool).unwrap_or_default()
}

/// The items of the list at a path.
pub(super) fn items<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The items of the list at a path, to be changed.
pub(super) fn items_mut<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut [Value] {
    let found = path.iter().try_fold(value, |value, key| value.get_mut(*key));
    found.and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

/// The entries of the map at a path, as texts.
pub(super) fn entries<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = at(value, path).and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// How many entries the map at a path has.
pub(super) fn size(value: &Value, path: &[&str]) -> usize {
    at(value, path).and_then(Value::as_object).map_or(0, Map::len)
}

/// The object at a key, made when absent. Nothing when something else is there.
pub(super) fn object<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    let slot = value.as_object_mut()?.entry(key).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut()
}

/// Sets a key that is absent, null, or the empty text.
pub(super) fn set_default(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    let unset = map.get(key).is_none_or(|found| found.is_null() || found.as_str() == Some(""));
    if unset {
        map.insert(key.to_owned(), value.into());
    }
}

/// Sets a number that is absent or zero.
pub(super) fn set_default_number(map: &mut Map<String, Value>, key: &str, value: i64) {
    if map.get(key).is_none_or(|found| found.is_null() || found.as_i64() == Some(0)) {
        map.insert(key.to_owned(), value.into());
    }
}
