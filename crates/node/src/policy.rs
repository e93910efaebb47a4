//! Merging policies into the node's own desired state, where no controller does so.
//!
//! The function that merges is the controller's; what it gives is written to the node's network state like
//! the controller would, so that one can take over from the other.

use std::sync::Arc;

use netloom_api::rollout::annotation;
use netloom_compile::{
    NodeState, NodeWish, ObjectKey,
    nodestate::{NodeFacts, PolicySet, desired_for},
};
use serde_json::Value;

use crate::{STATE, objects::Objects};

/// What policies come to on this node.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// What to write, as a JSON merge patch; none when that stands there.
    pub(crate) patch: Option<Value>,
    /// What was left out because somebody with precedence wants something else.
    pub(crate) conflicts: Vec<String>,
}

/// Merges the policies that select the node; nothing as long as the node itself is not known.
pub(crate) fn merge(objects: &Objects, node: &str, state: &Arc<NodeState>) -> Merged {
    let snapshot = objects.snapshot();
    let Some(known) = snapshot.nodes.get(&ObjectKey::global(node)) else { return Merged::default() };
    let desired = Arc::new(desired_for(NodeFacts { node: known, state }, &PolicySet::live(snapshot)));
    let conflicts = desired.conflicts.iter().map(ToString::to_string).collect();
    let wish = NodeWish { node, object: &state.meta.key, desired: &desired, host: None };
    let marked = objects.raw(STATE, &state.meta.key).is_some_and(|raw| is_marked(raw));
    if !desired.held.is_empty() || (wish.is_content_of(state) && !marked) {
        return Merged { patch: None, conflicts };
    }
    let mut patch = wish.patch(snapshot, "");
    // No revision stands behind this.
    patch["metadata"]["annotations"][annotation::REVISION] = Value::Null;
    patch["metadata"]["annotations"][annotation::DIGEST] = Value::Null;
    Merged { patch: Some(patch), conflicts }
}

/// Whether a controller wrote the wish that stands there.
fn is_marked(state: &Value) -> bool {
    let annotations = state.pointer("/metadata/annotations");
    let has = |key: &str| annotations.is_some_and(|all| all.get(key).is_some());
    has(annotation::REVISION) || has(annotation::DIGEST)
}
