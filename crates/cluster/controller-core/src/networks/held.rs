//! Objects that nodes have something of, and that go only when nodes have released it.
//!
//! That an object be held is asked for before a node is assigned anything, together with which nodes it is for. What
//! holds it is a finalizer of its kind; those of others are left alone.

use netloom_compile::hostnet::NetworkReport;
use netloom_object::Action;
use serde_json::{Value, json};

use super::matched;
use crate::index::Mark;

/// What the object shall say of itself, where it does not.
pub(super) fn metadata(mark: &Mark, finalizer: &str, report: &NetworkReport) -> Option<Value> {
    let (held, annotations) = (is_held(mark, finalizer), matched::annotations(mark, report));
    if held && annotations.is_none() {
        return None;
    }
    let mut metadata = json!({"resourceVersion": mark.resource_version});
    if !held {
        let all: Vec<&str> = mark.finalizers.iter().map(String::as_str).chain([finalizer]).collect();
        metadata["finalizers"] = json!(all);
    }
    if let Some(annotations) = annotations {
        metadata["annotations"] = annotations.into();
    }
    Some(json!({"metadata": metadata}))
}

pub(super) fn is_held(mark: &Mark, finalizer: &str) -> bool {
    mark.finalizers.iter().any(|held| held == finalizer)
}

/// Lets an object go, as far as it is held by us.
pub(super) fn let_go(mark: &Mark, finalizer: &str) -> Action {
    let others: Vec<&String> = mark.finalizers.iter().filter(|held| *held != finalizer).collect();
    Action::Patch { patch: json!({"metadata": {"finalizers": others, "resourceVersion": mark.resource_version}}) }
}
