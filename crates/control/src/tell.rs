//! Telling a node what it shall have.
//!
//! Two objects say it: `NodeNetworkConfig` names the revision and is what the node answers on,
//! `NodeNetworkState` holds the wish. The first is written first, so that a node counts as changing before
//! anything can change on it. What a crash leaves between the two is completed by the next turn.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::{fabric::GROUP, rollout::annotation};
use netloom_compile::{NodeWish, ObjectKey, Wishes};
use netloom_rollout::Assignment;
use serde_json::{Value, json};

use crate::{
    controller::Work,
    index::{CONFIG, Index, NODE, STATE},
    picture,
    request::{Action, ObjectRef},
};

/// Asks for both objects of a node to say what a revision says.
pub(crate) fn assign(now: Timestamp, index: &Index, wishes: &Wishes, assignment: &Assignment, work: &mut Work) {
    let Some(wish) = wishes.get(&assignment.node) else { return };
    let digest = &wish.desired.digest;
    let target = ObjectRef { kind: CONFIG, key: ObjectKey::global(wish.node) };
    let mut chain = vec![(target, Action::Apply { object: config(now, index, assignment, digest) })];
    chain.extend(state(index, wish, &assignment.revision, digest));
    work.0.push(chain);
}

/// Completes what was told to nodes and is only half written, but for those in `told`.
pub(crate) fn finish(index: &Index, wishes: &BTreeMap<String, Arc<Wishes>>, told: &BTreeSet<&str>, work: &mut Work) {
    for (key, config) in index.snapshot().configs.iter().filter(|(key, _)| !told.contains(key.name.as_str())) {
        let revision = index.snapshot().revisions.get(&ObjectKey::global(config.spec.revision.as_str()));
        let failed = revision.and_then(|revision| revision.status.as_ref()).is_some_and(|status| status.is_invalid);
        // What failed is left, not completed.
        if revision.is_none() || failed {
            continue;
        }
        let Some(wish) = wishes.get(&config.spec.revision).and_then(|wishes| wishes.get(&key.name)) else { continue };
        if !picture::is_paired(index, config, wish) {
            work.0.extend(state(index, wish, &config.spec.revision, &config.spec.digest).map(|request| vec![request]));
        }
    }
}

fn config(now: Timestamp, index: &Index, assignment: &Assignment, digest: &str) -> Value {
    let key = ObjectKey::global(assignment.node.as_str());
    let mut metadata = json!({
        "name": assignment.node,
        "annotations": {
            annotation::ASSIGNED_AT: now.to_string(),
            annotation::ASSIGNED_FOR: assignment.cause.word(),
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
        "spec": {"revision": assignment.revision, "digest": digest},
    })
}

/// The request for the network state; none where what stands there by hand cannot be read.
fn state(index: &Index, wish: NodeWish<'_>, revision: &str, digest: &str) -> Option<(ObjectRef, Action)> {
    if !wish.desired.held.is_empty() {
        return None;
    }
    let mut patch = wish.patch(index.snapshot(), revision);
    patch["metadata"]["annotations"][annotation::DIGEST] = json!(digest);
    Some((ObjectRef { kind: STATE, key: wish.object.clone() }, Action::Patch { patch }))
}
