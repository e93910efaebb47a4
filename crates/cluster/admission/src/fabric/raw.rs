//! Reading single fields of objects that are kept as JSON.
//!
//! Rules read the object that is written in its type; of the others they need a field or two, and a
//! view holds thousands of them.

use serde::Deserialize;
use serde_json::Value;

pub(crate) use netloom_api::dig::{is_terminating, label, name};
use netloom_api::fabric::selector::LabelSelector;

/// The field at the end of `path`.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

/// The text at the end of `path`.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(object, path)?.as_str()
}

/// The whole number at the end of `path`.
pub(crate) fn number(object: &Value, path: &[&str]) -> Option<u64> {
    at(object, path)?.as_u64()
}

/// Whether the field at the end of `path` is `true`.
pub(crate) fn flag(object: &Value, path: &[&str]) -> bool {
    at(object, path).and_then(Value::as_bool).unwrap_or(false)
}

/// The texts of the list at the end of `path`.
pub(crate) fn texts<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a str> {
    at(object, path).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The items of the list at the end of `path`.
pub(crate) fn items<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a Value> {
    at(object, path).and_then(Value::as_array).into_iter().flatten()
}

/// The kind of an object.
pub(crate) fn kind(object: &Value) -> &str {
    text(object, &["kind"]).unwrap_or_default()
}

/// The selector of an object's spec under `key`; one that cannot be read counts as none.
pub(crate) fn selector(object: &Value, key: &str) -> Option<LabelSelector> {
    at(object, &["spec", key]).and_then(|value| LabelSelector::deserialize(value).ok())
}

/// Kind and name, as messages show an object.
pub(crate) fn shown(object: &Value) -> String {
    format!("{} {:?}", kind(object), name(object))
}
