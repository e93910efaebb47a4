//! What the server does to an object before it judges it: the fields that are not the client's to
//! say.

use serde_json::{Map, Value, json};

use super::metadata;
use crate::{catalogue::Resource, crds, status_error::Outcome};

/// Which part of an object a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status, where that is written apart.
    Main,
    /// Only the status.
    Status,
    /// Only what holds a namespace back.
    Finalize,
}

impl Part {
    /// The subresource, as ownership of fields and admission name it; empty for the object itself.
    pub(crate) fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Finalize => "finalize",
        }
    }
}

/// Readies a new object.
pub(crate) fn create(resource: &Resource, object: &mut Value) {
    metadata::set(object, "resourceVersion", None);
    let Some(row) = resource.builtin else {
        metadata::set(object, "generation", Some(json!(1)));
        if resource.status {
            remove(object, "status");
        }
        return;
    };
    if row.habits.generation {
        metadata::set(object, "generation", Some(json!(1)));
    }
    (row.prepare)(object, None);
    if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        crds::fresh_status(object);
    }
}

/// Readies a changed object.
pub(crate) fn update(
    resource: &Resource,
    part: Part,
    new: &mut Value,
    old: &Value,
    namespace: Option<&str>,
) -> Outcome<()> {
    metadata::settle_namespace(new, namespace)?;
    metadata::set(new, "generation", metadata::value(old, "generation").cloned());
    match (part, resource.builtin) {
        (Part::Main, None) => {
            if resource.status {
                take(new, old, "status");
            }
            count(resource, new, old);
        }
        (Part::Main, Some(row)) => {
            if resource.status {
                take(new, old, "status");
            }
            if resource.is("", "namespaces") {
                take_below(new, old, "spec", "finalizers");
            }
            (row.prepare)(new, Some(old));
            if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
                crds::keep_stored_versions(new);
            }
            count(resource, new, old);
        }
        (Part::Status, None) => only_status(new, old),
        (Part::Status, Some(_)) => keep_all_but(new, old, &["metadata", "status"]),
        (Part::Finalize, _) => finalize(new, old),
    }
    metadata::carry_over(new, old);
    Ok(())
}

/// Of a custom object's status write only the status and the ownership of fields are taken.
fn only_status(new: &mut Value, old: &Value) {
    let fields = metadata::value(new, "managedFields").cloned();
    let status = new.get("status").cloned();
    *new = old.clone();
    metadata::set(new, "managedFields", fields);
    match (status, new.as_object_mut()) {
        (Some(status), Some(map)) => _ = map.insert("status".into(), status),
        (None, Some(map)) => _ = map.remove("status"),
        (_, None) => {}
    }
}

/// Takes everything from what is stored but these fields.
fn keep_all_but(new: &mut Value, old: &Value, kept: &[&str]) {
    let mut map = old.as_object().cloned().unwrap_or_default();
    for key in kept {
        match new.get(key) {
            Some(value) => _ = map.insert((*key).into(), value.clone()),
            None => _ = map.remove(*key),
        }
    }
    *new = Value::Object(map);
}

/// Of a write that finalizes a namespace only the list of finalizers is taken.
fn finalize(new: &mut Value, old: &Value) {
    let finalizers = new.pointer("/spec/finalizers").cloned();
    let status = new.get("status").cloned();
    keep_all_but(new, old, &["metadata"]);
    if let Some(map) = new.as_object_mut() {
        let spec = map.entry("spec").or_insert_with(|| json!({}));
        match (finalizers, spec.as_object_mut()) {
            (Some(list), Some(spec)) => _ = spec.insert("finalizers".into(), list),
            (None, Some(spec)) => _ = spec.remove("finalizers"),
            (_, None) => {}
        }
        if let Some(status) = status {
            map.insert("status".into(), status);
        }
    }
}

/// Counts the generation up when anything but metadata and a status written apart differs.
fn count(resource: &Resource, new: &mut Value, old: &Value) {
    let apart = resource.status || resource.builtin.is_some();
    if !resource.generation() || content(new, apart) == content(old, apart) {
        return;
    }
    let next = metadata::generation(old) + 1;
    metadata::set(new, "generation", Some(json!(next)));
}

fn content(object: &Value, apart: bool) -> Map<String, Value> {
    let mut map = object.as_object().cloned().unwrap_or_default();
    map.remove("metadata");
    if apart {
        map.remove("status");
    }
    map
}

/// Keeps the old ownership of fields when only its times would change.
pub(crate) fn keep_times(new: &mut Value, old: &Value) {
    let before = metadata::value(old, "managedFields");
    if metadata::value(new, "managedFields") == before {
        return;
    }
    let timeless = |object: &Value| {
        let mut list = metadata::value(object, "managedFields").cloned().unwrap_or_default();
        for entry in list.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        list
    };
    if timeless(new) != timeless(old) {
        return;
    }
    let fields = before.cloned();
    let mut same = new.clone();
    metadata::set(&mut same, "managedFields", fields);
    metadata::set(&mut same, "resourceVersion", metadata::value(old, "resourceVersion").cloned());
    if same == *old {
        *new = same;
    }
}

/// Whether a change takes away the last thing that held back a removal.
pub(crate) fn is_finished(resource: &Resource, new: &Value, old: &Value) -> bool {
    let grace = metadata::value(old, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or_default();
    let held = resource.is("", "namespaces")
        && new.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    metadata::is_terminating(old) && grace == 0 && metadata::finalizers(new).is_empty() && !held
}

fn take(new: &mut Value, old: &Value, key: &str) {
    match (old.get(key).cloned(), new.as_object_mut()) {
        (Some(value), Some(map)) => _ = map.insert(key.into(), value),
        (None, Some(map)) => _ = map.remove(key),
        (_, None) => {}
    }
}

fn take_below(new: &mut Value, old: &Value, parent: &str, key: &str) {
    let value = old.get(parent).and_then(|parent| parent.get(key)).cloned();
    let Some(map) = new.as_object_mut() else { return };
    let slot = map.entry(parent).or_insert_with(|| json!({}));
    if !slot.is_object() {
        *slot = json!({});
    }
    match (value, slot.as_object_mut()) {
        (Some(value), Some(slot)) => _ = slot.insert(key.into(), value),
        (None, Some(slot)) => _ = slot.remove(key),
        (_, None) => {}
    }
}

fn remove(object: &mut Value, key: &str) {
    if let Some(map) = object.as_object_mut() {
        map.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_write_takes_only_the_status() {
        let old = json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"n": 1}, "status": {"p": 1}});
        let mut new = json!({"metadata": {"name": "a", "labels": {"x": "2"}, "managedFields": [1]}, "spec": {"n": 2},
            "status": {"p": 2}});
        only_status(&mut new, &old);
        assert_eq!(
            new,
            json!({"metadata": {"name": "a", "labels": {"x": "1"}, "managedFields": [1]}, "spec": {"n": 1},
                "status": {"p": 2}})
        );
        let mut absent = json!({"metadata": {"name": "a"}});
        only_status(&mut absent, &old);
        assert_eq!(absent.get("status"), None);
    }

    #[test]
    fn times_alone_are_no_change() {
        let old = json!({"metadata": {"name": "a", "managedFields": [{"manager": "m", "time": "1"}]}, "spec": 1});
        let mut same = json!({"metadata": {"name": "a", "managedFields": [{"manager": "m", "time": "2"}]}, "spec": 1});
        keep_times(&mut same, &old);
        assert_eq!(same, old);
        let mut other = json!({"metadata": {"name": "a", "managedFields": [{"manager": "m", "time": "2"}]}, "spec": 2});
        keep_times(&mut other, &old);
        assert_eq!(other["metadata"]["managedFields"][0]["time"], "2");
    }
}
