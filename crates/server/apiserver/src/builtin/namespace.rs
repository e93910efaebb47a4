//! `Namespace`: its own name as a label, a finalizer of the server, a phase.

use jiff::Timestamp;
use netloom_schema::FieldError;
use serde_json::{Value, json};

use super::{
    columns::{made, name},
    json::{items, object, set_default, text},
};

/// The label that every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The finalizer that holds a namespace until its content is gone.
const FINALIZER: &str = "kubernetes";

pub(super) fn default(namespace: &mut Value) {
    label_with_name(namespace);
    if let Some(status) = object(namespace, "status") {
        set_default(status, "phase", "Active");
    }
}

pub(super) fn prepare(namespace: &mut Value, old: Option<&Value>) {
    // A generated name is not known yet when defaults are set.
    label_with_name(namespace);
    let (finalizers, status) = if let Some(old) = old {
        (old["spec"].get("finalizers").cloned(), old.get("status").cloned())
    } else {
        let mut all = items(namespace, &["spec", "finalizers"]).to_vec();
        if !all.iter().any(|finalizer| finalizer == FINALIZER) {
            all.push(json!(FINALIZER));
        }
        (Some(json!(all)), Some(json!({ "phase": "Active" })))
    };
    if let Some(spec) = object(namespace, "spec") {
        match finalizers {
            Some(finalizers) => spec.insert("finalizers".to_owned(), finalizers),
            None => spec.remove("finalizers"),
        };
    }
    if let Some(status) = status {
        namespace["status"] = status;
    }
}

pub(super) fn validate(namespace: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    let finalizers = items(namespace, &["spec", "finalizers"]).iter().filter_map(Value::as_str);
    let mut errors = Vec::new();
    for finalizer in finalizers {
        let path = "spec.finalizers";
        errors.extend(
            netloom_schema::names::qualified(finalizer)
                .into_iter()
                .map(|why| FieldError::invalid(path, &json!(finalizer), why)),
        );
        if !finalizer.contains('/') && finalizer != FINALIZER {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(path, &json!(finalizer), why));
        }
    }
    errors
}

pub(super) fn cells(namespace: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(namespace), text(namespace, &["status", "phase"]).into(), made(namespace, now)]
}

fn label_with_name(namespace: &mut Value) {
    let name = text(namespace, &["metadata", "name"]).to_owned();
    if name.is_empty() {
        return;
    }
    let labels = namespace.get_mut("metadata").and_then(|metadata| object(metadata, "labels"));
    if let Some(labels) = labels {
        labels.insert(NAME_LABEL.to_owned(), name.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_namespace_is_active_and_held() {
        let mut namespace = json!({"metadata": {"name": "a"}, "status": {"phase": "Terminating"}});
        default(&mut namespace);
        prepare(&mut namespace, None);
        let expected = json!({
            "metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        assert_eq!(namespace, expected);
        assert!(validate(&namespace, None).is_empty());
    }

    #[test]
    fn an_update_changes_neither_finalizers_nor_status() {
        let old = json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["x.io/y"]}, "status": {"phase": "Active"}});
        let mut new = json!({"metadata": {"name": "a"}, "spec": {"finalizers": []}});
        prepare(&mut new, Some(&old));
        assert_eq!(new["spec"], old["spec"]);
        assert_eq!(new["status"], old["status"]);
    }

    #[test]
    fn finalizers_are_known_or_qualified() {
        let bad = json!({"spec": {"finalizers": ["own"]}});
        assert_eq!(validate(&bad, None).len(), 1);
    }
}
