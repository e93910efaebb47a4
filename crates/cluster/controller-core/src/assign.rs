//! Telling a node what it shall have.
//!
//! Two objects say it: `NodeNetworkConfig` names the revision, holds what host networks want, and is what the node
//! answers on; `NodeNetworkState` holds what policies want. The first is written first, so that a node counts as changing
//! before anything can change on it, and names the second by the digest of what that says: where policies want nothing
//! new, the second is not written at all. What a crash leaves between the two is completed by the next turn.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::{
    fabric::GROUP,
    rollout::{Drift, annotation},
};
use netloom_compile::{NodeTarget, NodeTargets, ObjectKey};
use netloom_object::{Action, LateField, ObjectRef};
use netloom_rollout::{Assignment, Decision, Terms};
use serde_json::{Map, Value, json};

use crate::{
    index::Index,
    kinds::{CONFIG, NODE},
    policies::STATE,
    rollout_view,
    work::Work,
};

/// Asks for both objects of a node to say what a revision says.
pub(crate) fn assign(
    now: Timestamp,
    index: &Index,
    node_targets: &NodeTargets,
    assignment: &Assignment,
    terms: Terms,
    work: &mut Work,
) {
    let Some(node_target) = node_targets.get(&assignment.node) else { return };
    let target = ObjectRef { kind: CONFIG, key: ObjectKey::global(node_target.node) };
    let mut object = config(now, index, assignment, node_target);
    let fabric = node_target.fabric_config().map(|fabric| json!(fabric));
    if let (Some(spec), Some(Value::Object(fabric))) = (object["spec"].as_object_mut(), fabric) {
        spec.extend(fabric);
    }
    if assignment.attempt > 0 {
        object["spec"]["attempt"] = json!(assignment.attempt);
    }
    for (key, value) in annotations(terms) {
        if let Some(value) = value {
            object["metadata"]["annotations"][key] = json!(value);
        }
    }
    let mut chain = vec![(target, Action::Apply { object, late: host(node_target) })];
    chain.extend(state(index, node_target, &assignment.revision));
    work.0.push(chain);
}

/// What host networks want of a node, shared with what was compiled until it is sent.
fn host(node_target: NodeTarget<'_>) -> Option<LateField> {
    let part = node_target.host.filter(|part| part.config.is_some())?.clone();
    Some(LateField::new("host", move || json!(part.config)))
}

/// Completes what was assigned to nodes and is only half written, but for those that are assigned something now. Where
/// the revision means something else on the node by now, as after its labels changed or when somebody deleted what was
/// written there manually, the node is assigned that again: today's desired state under yesterday's digest would be a
/// pair that nobody ever decided on. One that had answered waits for others that are at work, and for nothing else: as
/// long as it has no pair, its leases are not renewed.
pub(crate) fn finish(
    now: Timestamp,
    index: &Index,
    node_targets: &BTreeMap<String, Arc<NodeTargets>>,
    decision: &Decision,
    work: &mut Work,
) {
    let assigned: BTreeSet<&str> = decision.assignments.iter().map(|assignment| assignment.node.as_str()).collect();
    let mut at_work: BTreeSet<&str> =
        decision.at_work.iter().map(String::as_str).chain(assigned.iter().copied()).collect();
    for (key, config) in index.snapshot().configs.iter().filter(|(key, _)| !assigned.contains(key.name.as_str())) {
        let revision = index.snapshot().revisions.get(&ObjectKey::global(config.spec.revision.as_str()));
        let failed = revision.and_then(|revision| revision.status.as_ref()).is_some_and(|status| status.is_invalid);
        // What failed is left, not completed.
        if revision.is_none() || failed {
            continue;
        }
        let Some(node_targets) = node_targets.get(&config.spec.revision) else { continue };
        let Some(node_target) = node_targets.get(&key.name) else { continue };
        if rollout_view::is_paired(index, config, node_target)
            || rollout_view::is_merged_elsewhere(index, config, node_target)
        {
            continue;
        }
        let (node, revision) = (key.name.clone(), config.spec.revision.clone());
        if node_target.digest() == config.spec.digest && node_target.state_digest() == config.spec.state_digest {
            work.0.extend(state(index, node_target, &revision).map(|request| vec![request]));
        } else if !rollout_view::has_answered(config) || at_work.iter().all(|other| *other == key.name) {
            at_work.insert(&key.name);
            let terms = decision.terms.get(&node).copied().unwrap_or_default();
            let (cause, attempt) = (rollout_view::cause(config), config.spec.attempt);
            let gates = rollout_view::gates_before(config).unwrap_or_default();
            let assignment = Assignment { node, revision, cause, attempt, gates };
            assign(now, index, node_targets, &assignment, terms, work);
        }
    }
}

/// Tells nodes on which terms they keep to what they were assigned, where that has changed, but for those in
/// `assigned`.
pub(crate) fn terms(index: &Index, terms: &BTreeMap<String, Terms>, assigned: &BTreeSet<&str>, work: &mut Work) {
    for (key, config) in index.snapshot().configs.iter().filter(|(key, _)| !assigned.contains(key.name.as_str())) {
        let wanted = annotations(terms.get(&key.name).copied().unwrap_or_default());
        let reported = config.metadata.annotations.as_ref();
        let differs = |(key, value): &(&str, Option<Cow<'_, str>>)| {
            reported.and_then(|all| all.get(*key)).map(String::as_str) != value.as_deref()
        };
        let changes: Map<String, Value> =
            wanted.into_iter().filter(differs).map(|(key, value)| (key.to_owned(), json!(value))).collect();
        if !changes.is_empty() {
            let version = index.mark(CONFIG, key).map(|mark| mark.resource_version.clone());
            let patch = json!({"metadata": {"annotations": changes, "resourceVersion": version}});
            work.single(ObjectRef { kind: CONFIG, key: key.clone() }, Action::Patch { patch });
        }
    }
}

/// Terms as they are written on a node's object; what is as usual is not specified.
fn annotations(terms: Terms) -> [(&'static str, Option<Cow<'static, str>>); 3] {
    let drift = match terms.drift {
        Drift::Repair => None,
        Drift::Report => Some("Report".into()),
    };
    let timing = (!terms.timing.is_empty()).then(|| terms.timing.to_string().into());
    let may_be_cut_off = terms.may_be_cut_off.then_some("true".into());
    [(annotation::DRIFT, drift), (annotation::MAY_BE_CUT_OFF, may_be_cut_off), (annotation::PROBE_TIMING, timing)]
}

fn config(now: Timestamp, index: &Index, assignment: &Assignment, node_target: NodeTarget<'_>) -> Value {
    let key = ObjectKey::global(assignment.node.as_str());
    let mut metadata = json!({
        "name": assignment.node,
        "annotations": {
            annotation::ASSIGNED_AT: now.to_string(),
            annotation::ASSIGNED_FOR: assignment.cause.word(),
            annotation::GATES_BEFORE: assignment.gates.iter().map(String::as_str).collect::<Vec<_>>().join(","),
        },
    });
    if let Some(node) = index.mark(NODE, &key) {
        metadata["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Node", "name": assignment.node, "uid": node.uid}]);
    }
    if let Some(known) = index.mark(CONFIG, &key) {
        metadata["resourceVersion"] = json!(known.resource_version);
    }
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "kind": "NodeNetworkConfig",
        "metadata": metadata,
        "spec": {
            "revision": assignment.revision, "digest": node_target.digest(), "stateDigest": node_target.state_digest(),
        },
    })
}

/// The request for the network state; none where it is not ours to write, or says this under an earlier revision.
fn state(index: &Index, node_target: NodeTarget<'_>, revision: &str) -> Option<(ObjectRef, Action)> {
    if rollout_view::stays(index, node_target) || rollout_view::has_state(index, node_target) {
        return None;
    }
    let mut patch = node_target.patch(index.snapshot(), revision);
    patch["metadata"]["annotations"][annotation::DIGEST] = json!(node_target.state_digest());
    Some((ObjectRef { kind: STATE, key: node_target.object.clone() }, Action::Patch { patch }))
}
