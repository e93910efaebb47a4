//! The part of an object that the server owns or guards: `metadata`.
//!
//! Pure functions over JSON. Each tolerates any shape; objects reach the store only after they were
//! validated.

use serde_json::{Map, Value, json};

use super::clock::{self, Source};
use crate::status_error::{Outcome, Status};

/// What creation wipes: nobody but the server says these.
const SYSTEM: [&str; 5] = ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// A text in `metadata`; empty when it is not there.
pub(crate) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// A value in `metadata`, null counting as absent.
pub(crate) fn value<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get("metadata").and_then(|metadata| metadata.get(key)).filter(|value| !value.is_null())
}

/// `metadata`, made when it is not there.
pub(crate) fn entry(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let map = object.as_object_mut().expect("made an object above");
    let metadata = map.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata.as_object_mut().expect("made an object above")
}

/// Sets a field of `metadata`; none removes it.
pub(crate) fn set(object: &mut Value, key: &str, value: Option<Value>) {
    let metadata = entry(object);
    match value {
        Some(value) => metadata.insert(key.into(), value),
        None => metadata.remove(key),
    };
}

/// The finalizers.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    let list = value(object, "finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Sets the finalizers; none left removes the field.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    set(object, "finalizers", (!finalizers.is_empty()).then(|| json!(finalizers)));
}

/// Whether the object was asked to go and still is there.
pub(crate) fn is_terminating(object: &Value) -> bool {
    value(object, "deletionTimestamp").is_some()
}

/// The number of the object's generation; 0 when it has none.
pub(crate) fn generation(object: &Value) -> i64 {
    value(object, "generation").and_then(Value::as_i64).unwrap_or_default()
}

/// Takes away what only the server says.
pub(crate) fn wipe(object: &mut Value) {
    let metadata = entry(object);
    for key in SYSTEM {
        metadata.remove(key);
    }
}

/// Gives a new object its identity.
pub(crate) fn fill(object: &mut Value, source: &dyn Source) {
    let metadata = entry(object);
    metadata.insert("creationTimestamp".into(), json!(clock::seconds(source.now())));
    metadata.insert("uid".into(), json!(clock::uid(source)));
}

/// Makes sure that the object is in the namespace of the path; `None` for resources without.
pub(crate) fn settle_namespace(object: &mut Value, expected: Option<&str>) -> Outcome<()> {
    let own = text(object, "namespace").to_owned();
    match expected {
        None => {
            set(object, "namespace", None);
            Ok(())
        }
        Some(expected) if own.is_empty() || own == expected => {
            set(object, "namespace", Some(json!(expected)));
            Ok(())
        }
        Some(_) => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}

/// Makes sure that the object has the name of the path.
pub(crate) fn check_name(object: &Value, expected: &str) -> Outcome<()> {
    let own = text(object, "name");
    if own.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({expected} based on URL) was undeterminable: name must be provided"
        )));
    }
    if own != expected {
        return Err(Status::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({expected})"
        )));
    }
    Ok(())
}

/// Drops owner references that are there twice; says which uids it met again.
pub(crate) fn dedup_owners(object: &mut Value) -> Option<String> {
    let list = entry(object).get_mut("ownerReferences")?.as_array_mut()?;
    let mut seen: Vec<Value> = Vec::with_capacity(list.len());
    let mut twice = Vec::new();
    for reference in list.drain(..) {
        if seen.contains(&reference) {
            twice.push(reference.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned());
        } else {
            seen.push(reference);
        }
    }
    *list = seen;
    (!twice.is_empty()).then(|| twice.join(", "))
}

/// What an update may not do to metadata, and what it may leave out.
pub(crate) fn carry_over(new: &mut Value, old: &Value) {
    let keep = |key: &str| value(old, key).cloned();
    if text(new, "uid").is_empty() {
        set(new, "uid", keep("uid"));
    }
    if let Some(created) = keep("creationTimestamp") {
        set(new, "creationTimestamp", Some(created));
    }
    if let Some(deleted) = keep("deletionTimestamp") {
        set(new, "deletionTimestamp", Some(deleted));
    }
    if value(new, "deletionGracePeriodSeconds").is_none() {
        set(new, "deletionGracePeriodSeconds", keep("deletionGracePeriodSeconds"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_of_the_path_wins_or_is_refused() {
        let mut object = json!({"metadata": {"name": "a"}});
        settle_namespace(&mut object, Some("x")).unwrap();
        assert_eq!(text(&object, "namespace"), "x");
        assert!(settle_namespace(&mut object, Some("y")).is_err());
        settle_namespace(&mut object, None).unwrap();
        assert_eq!(value(&object, "namespace"), None);
    }

    #[test]
    fn owners_are_kept_once() {
        let mut object = json!({"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "b"}, {"uid": "a"}]}});
        assert_eq!(dedup_owners(&mut object).as_deref(), Some("a"));
        assert_eq!(value(&object, "ownerReferences"), Some(&json!([{"uid": "a"}, {"uid": "b"}])));
        assert_eq!(dedup_owners(&mut object), None);
    }

    #[test]
    fn an_update_changes_neither_identity_nor_birth() {
        let old = json!({"metadata": {"name": "a", "uid": "u", "creationTimestamp": "t"}});
        let mut new = json!({"metadata": {"name": "a", "creationTimestamp": "other"}});
        carry_over(&mut new, &old);
        assert_eq!(new, old);
    }
}
