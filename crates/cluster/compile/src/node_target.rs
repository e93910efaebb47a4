//! What each node shall have under one revision, and how that is written.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::pipeline::{
    NodeNetworkConfig,
    node_network_config::{fabric::FabricConfig, host::HostConfig},
};
use serde_json::{Value, json};

use crate::{
    contribution::HostPart, digest, key::ObjectKey, objects::NodeState, placement::Placement, resolution::Desired,
    snapshot::Snapshot,
};

pub use netloom_api::rollout::annotation::REVISION;

/// The annotation of a network state that records what came from policies.
pub const PROVENANCE: &str = "netloom.dev/provenance";

/// What all nodes shall have under one set of policies. Nodes that nothing tells apart share it.
#[derive(Debug, Clone)]
pub struct NodeTargets {
    pub(crate) placement: Arc<Placement>,
    /// By place.
    pub(crate) desired: Vec<Arc<Desired>>,
    /// What nodes get for their configuration, by node; only where there is something to say.
    pub(crate) hosts: BTreeMap<String, Arc<HostPart>>,
}

impl NodeTargets {
    /// What a node shall have; none for a node without a network state.
    pub fn get(&self, node: &str) -> Option<NodeTarget<'_>> {
        let (node, placed_node) = self.placement.nodes.get_key_value(node)?;
        let host = self.hosts.get(node);
        Some(NodeTarget { node, object: &placed_node.object, desired: &self.desired[placed_node.place], host })
    }

    /// What every node shall have, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = NodeTarget<'_>> {
        self.placement.nodes.iter().map(|(node, placed_node)| NodeTarget {
            node,
            object: &placed_node.object,
            desired: &self.desired[placed_node.place],
            host: self.hosts.get(node),
        })
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.placement.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.placement.nodes.is_empty()
    }

    /// How many different answers there are.
    pub fn distinct(&self) -> usize {
        let all: BTreeSet<*const Desired> = self.desired.iter().map(Arc::as_ptr).collect();
        all.len()
    }
}

/// What one node shall have.
#[derive(Debug, Clone, Copy)]
pub struct NodeTarget<'a> {
    /// The node.
    pub node: &'a str,
    /// Its network state.
    pub object: &'a ObjectKey,
    /// What is wanted, and why.
    pub desired: &'a Arc<Desired>,
    /// What it gets for its configuration.
    pub host: Option<&'a Arc<HostPart>>,
}

impl<'a> NodeTarget<'a> {
    /// What the node's configuration shall say of the host itself.
    pub fn host_config(&self) -> Option<&'a HostConfig> {
        self.host.and_then(|part| part.config.as_ref())
    }

    /// The segments and VRFs that the node's configuration shall have.
    pub fn fabric_config(&self) -> Option<&'a FabricConfig> {
        self.host.map(|part| &part.fabric).filter(|fabric| !fabric.is_empty())
    }

    /// Whether the node's configuration says of the host itself and of the fabric what is wanted.
    pub fn is_config_of(&self, config: &NodeNetworkConfig) -> bool {
        let given = config.spec.fabric();
        let fabric = self.fabric_config().map_or(given.is_empty(), |fabric| fabric.view() == given);
        fabric && config.spec.host.as_ref() == self.host_config()
    }

    /// A short name for all that is wanted of the node; it changes whenever any of it does.
    pub fn digest(&self) -> String {
        match self.host.filter(|part| !part.digest.is_empty()) {
            Some(part) => digest::short(&json!([self.desired.digest, part.digest])),
            None => self.desired.digest.clone(),
        }
    }

    /// A short name for the part of it that the network state has.
    pub fn state_digest(&self) -> &'a str {
        &self.desired.digest
    }

    /// Whether the node's network state says all this already, under that revision. What was written
    /// manually and cannot be read is left as it is, so there is nothing to write then.
    pub fn is_written(&self, snapshot: &Snapshot, revision: &str) -> bool {
        let Some(state) = snapshot.states.get(self.object) else { return true };
        !self.desired.held.is_empty() || (self.is_content_of(state) && state.revision.as_deref() == Some(revision))
    }

    /// Whether the node's network state has this desired state, under whatever revision.
    pub fn is_content_of(&self, state: &NodeState) -> bool {
        state.desired == self.desired.document && state.provenance == self.desired.provenance.encode()
    }

    /// What to write, as a JSON merge patch of the network state. It is tied to the version that the desired
    /// state was made from: what somebody writes manually in the meantime must not be lost.
    pub fn patch(&self, snapshot: &Snapshot, revision: &str) -> Value {
        let state = snapshot.states.get(self.object);
        let mut metadata = json!({
            "annotations": {REVISION: revision, PROVENANCE: self.desired.provenance.encode()},
        });
        if let Some(state) = state.filter(|state| !state.meta.resource_version.is_empty()) {
            metadata["resourceVersion"] = json!(state.meta.resource_version);
        }
        // A merge patch leaves alone what it does not name, and a desired state must go as a whole; so what is
        // there and not wanted is named as nothing.
        let before = state.and_then(|state| state.desired.as_ref());
        json!({"metadata": metadata, "spec": {"desiredState": replacement(before, self.desired.document.as_ref())}})
    }

    /// The network state as it shall be.
    pub fn object(&self, snapshot: &Snapshot, revision: &str) -> Value {
        let managed = snapshot.states.get(self.object).is_some_and(|state| state.managed);
        let mut object = json!({
            "apiVersion": "nmstate.io/v1",
            "kind": "NodeNetworkState",
            "metadata": {
                "namespace": self.object.namespace,
                "name": self.object.name,
                "annotations": {REVISION: revision},
            },
            "spec": {"managed": managed, "nodeName": self.node},
        });
        if let Some(provenance) = self.desired.provenance.encode() {
            object["metadata"]["annotations"][PROVENANCE] = json!(provenance);
        }
        if let Some(document) = &self.desired.document {
            object["spec"]["desiredState"] = document.clone();
        }
        object
    }
}

/// A merge patch that turns one document into another.
fn replacement(before: Option<&Value>, after: Option<&Value>) -> Value {
    match (before, after) {
        (_, None) => Value::Null,
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
            let kept = after.iter().map(|(key, value)| (key.clone(), replacement(before.get(key), Some(value))));
            gone.chain(kept).collect()
        }
        (_, Some(after)) => after.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_takes_away_what_is_not_wanted_any_more() {
        let before =
            json!({"routes": {"config": [1], "running": [2]}, "interfaces": [1], "hostname": {"running": "a"}});
        let after = json!({"routes": {"config": [3]}, "interfaces": [1]});
        let wanted = json!({"routes": {"config": [3], "running": null}, "interfaces": [1], "hostname": null});
        assert_eq!(replacement(Some(&before), Some(&after)), wanted);
        assert_eq!(replacement(Some(&before), None), Value::Null);
        assert_eq!(replacement(None, Some(&after)), after);
    }
}
