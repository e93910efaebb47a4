//! Merging policies into the node's own desired state, where no controller does so.
//!
//! The function that merges is the controller's; what it gives is written to the node's network state like
//! the controller would, so that one can take over from the other. A mark beside it says that the node merges, for
//! as long as it does: a controller that runs as well leaves the desired state alone then.

use std::sync::Arc;

use netloom_api::rollout::annotation;
use netloom_compile::{
    Finding, NodeState, NodeTarget, ObjectKey, Provenance,
    nodestate::{NodeFacts, PolicySet, desired_for},
};
use serde_json::{Value, json};

use crate::{Mode, POLICY, STATE, Settings, desired_state::is_merged_by_node, objects::Objects};

/// What policies come to on this node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Merged {
    /// What to write, as a JSON merge patch; none when that stands there.
    pub(crate) patch: Option<Value>,
    /// What was left out because somebody with precedence wants something else.
    pub(crate) conflicts: Vec<String>,
}

/// Merges the policies that select the node; nothing as long as the node itself is not known.
pub(crate) fn merge(settings: &Settings, objects: &Objects, state: &Arc<NodeState>) -> Merged {
    let (snapshot, node) = (objects.snapshot(), settings.node.as_str());
    let Some(known) = snapshot.nodes.get(&ObjectKey::global(node)) else { return Merged::default() };
    let policies = PolicySet::live(snapshot);
    let host = snapshot.configs.get(&ObjectKey::global(node)).and_then(|config| config.spec.host.as_ref());
    let desired = Arc::new(desired_for(NodeFacts { node: known, state, host }, &policies));
    let (broken, missed) = unusable(&policies, state);
    let conflicts = desired.conflicts.iter().map(ToString::to_string).chain(broken).collect();
    let node_target = NodeTarget { node, object: &state.meta.key, desired: &desired, host: None };
    let raw = objects.raw(STATE, &state.meta.key);
    let by_controller = raw.is_some_and(|raw| is_by_controller(raw));
    let unmarked = settings.resident && !raw.is_some_and(|raw| is_merged_by_node(raw));
    if missed || !desired.held.is_empty() {
        return Merged { patch: unmarked.then(|| mark(state, &json!(annotation::MERGED_BY_NODE))), conflicts };
    }
    if node_target.is_content_of(state) && !by_controller && !unmarked {
        return Merged { patch: None, conflicts };
    }
    let mut patch = node_target.patch(snapshot, "");
    // No revision stands behind this.
    patch["metadata"]["annotations"][annotation::REVISION] = Value::Null;
    patch["metadata"]["annotations"][annotation::DIGEST] = Value::Null;
    if unmarked {
        patch["metadata"]["annotations"][annotation::MERGED_BY] = json!(annotation::MERGED_BY_NODE);
    }
    Merged { patch: Some(patch), conflicts }
}

/// Takes the mark of an agent that merged policies away, once one that does not is in its place.
pub(crate) fn unmarked(settings: &Settings, state: &NodeState, raw: &Value) -> Option<Value> {
    let wrong = settings.resident && settings.mode == Mode::Centralized && is_merged_by_node(raw);
    wrong.then(|| mark(state, &Value::Null))
}

fn mark(state: &NodeState, by: &Value) -> Value {
    let annotations = json!({annotation::MERGED_BY: by});
    json!({"metadata": {"annotations": annotations, "resourceVersion": state.meta.resource_version}})
}

/// What to say of policies that cannot be used, and whether one of them has a part in what stands there. There are no
/// earlier versions of policies here to go on with, so what it gave stays, and nothing is merged until it is fixed: a
/// slip of somebody's pen must not take links away from all nodes at once.
fn unusable(policies: &PolicySet, state: &NodeState) -> (Vec<String>, bool) {
    let record = state.provenance.as_deref().and_then(|text| Provenance::decode(text).ok()).unwrap_or_default();
    let mut missed = false;
    let mut say = |(key, why): (&ObjectKey, &Finding)| {
        let has_part = record.shares.contains_key(key);
        missed |= has_part;
        let then = if has_part { "; what it gave stays, and no policy is merged until it is fixed" } else { "" };
        format!("{} {key} cannot be used: {why}{then}", POLICY.kind)
    };
    let reported = policies.unusable().map(&mut say).collect();
    (reported, missed)
}

/// Whether a controller wrote the desired state that stands there.
fn is_by_controller(state: &Value) -> bool {
    let annotations = state.pointer("/metadata/annotations");
    let has = |key: &str| annotations.is_some_and(|all| all.get(key).is_some());
    has(annotation::REVISION) || has(annotation::DIGEST)
}
