//! Reads values out of objects by path, without making a text on the way.
//!
//! Rules look at thousands of objects in one review; a JSON pointer would allocate for every step.

use serde_json::Value;

/// The value at a path such as `spec.nodeName`.
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, key| value.get(key))
}

/// The text at a path.
pub fn text<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    at(object, path)?.as_str()
}

/// The name of the object; empty when it has none.
pub fn name(object: &Value) -> &str {
    text(object, "metadata.name").unwrap_or_default()
}

/// The value of a label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    at(object, "metadata.labels")?.get(key)?.as_str()
}

/// Whether the object is being deleted.
pub fn is_terminating(object: &Value) -> bool {
    at(object, "metadata.deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// The text at a path as the keys of an index: one, or none.
pub fn keys(object: &Value, path: &str) -> Vec<String> {
    text(object, path).map(str::to_owned).into_iter().collect()
}
