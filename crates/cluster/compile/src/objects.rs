//! Objects as far as decisions read them.
//!
//! A cluster has thousands of nodes, and each reports hundreds of links: what nothing looks at is
//! dropped when an object is read.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netloom_api::{
    foreign,
    nodestate::{NodeNetworkState, NodeNetworkStateStatus},
    rollout::annotation::{MERGED_BY, MERGED_BY_NODE},
};
use netloom_object::GroupKind;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    key::Meta,
    node_target::{PROVENANCE, REVISION},
    snapshot::{Readable, plain},
    state::{Inventory, Manual},
};

/// What an object says of itself, as far as it can be read.
pub(crate) fn metadata(object: &Value) -> Meta {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let read = object.get("metadata").and_then(|metadata| ObjectMeta::deserialize(metadata).ok());
    let mut meta = read.map(Meta::of).unwrap_or_default();
    // The names count even where the rest cannot be read.
    text("/metadata/name").clone_into(&mut meta.key.name);
    text("/metadata/namespace").clone_into(&mut meta.key.namespace);
    meta
}

/// A node of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// What it says of itself.
    pub meta: Meta,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// Whether it reports to be ready.
    pub ready: bool,
    /// Whether it has not reported for a while.
    pub lost: bool,
}

/// Something that keeps away from a node what does not tolerate it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value; empty when there is none.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl Node {
    /// The name of the node.
    pub fn name(&self) -> &str {
        &self.meta.key.name
    }
}

impl Readable for Node {
    const KIND: GroupKind<'static> = foreign::NODE;
    const VERSION: &'static str = "v1";

    fn read(object: &Value) -> Result<Self, String> {
        let read: k8s_openapi::api::core::v1::Node = plain(object)?;
        let labels = read.metadata.labels.clone().unwrap_or_default();
        let mut taints: Vec<Taint> = read
            .spec
            .and_then(|spec| spec.taints)
            .unwrap_or_default()
            .into_iter()
            .map(|taint| Taint { key: taint.key, value: taint.value.unwrap_or_default(), effect: taint.effect })
            .collect();
        taints.sort();
        let conditions = read.status.and_then(|status| status.conditions).unwrap_or_default();
        let ready = |is: &str| conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == is);
        let (ready, lost) = (ready("True"), ready("Unknown"));
        Ok(Self { meta: Meta::of(read.metadata), labels, taints, ready, lost })
    }

    /// Nodes send signs of life all the time; their versions do not count.
    fn same(&self, other: &Self) -> bool {
        let Self { meta, labels, taints, ready, lost } = self;
        (&meta.created, meta.deleted, labels, taints, ready, lost)
            == (&other.meta.created, other.meta.deleted, &other.labels, &other.taints, &other.ready, &other.lost)
    }
}

/// The network state of one node: the desired state, and what the node reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    /// What it says of itself.
    pub meta: Meta,
    /// The node that it is for.
    pub node_name: String,
    /// Whether the node keeps to the desired state and reports.
    pub managed: bool,
    /// The desired state as it stands, whoever wrote it.
    pub desired: Option<Value>,
    /// The revision that the desired state came with.
    pub revision: Option<String>,
    /// The record of what came from policies, as it stands.
    pub provenance: Option<String>,
    /// Whether the node merges policies into the desired state itself.
    pub merges_itself: bool,
    /// What somebody wrote manually, and what policies had before.
    pub manual: Arc<Manual>,
    /// The links that the node reports.
    pub inventory: Arc<Inventory>,
    /// The rest of the report; the document itself is only in [`NodeState::inventory`].
    pub status: NodeNetworkStateStatus,
}

impl Readable for NodeState {
    const KIND: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetworkState");
    const VERSION: &'static str = "v1";

    fn read(object: &Value) -> Result<Self, String> {
        let read: NodeNetworkState = plain(object)?;
        let annotation = |key: &str| read.metadata.annotations.as_ref()?.get(key).cloned();
        let (revision, provenance) = (annotation(REVISION), annotation(PROVENANCE));
        let merges_itself = annotation(MERGED_BY).is_some_and(|by| by == MERGED_BY_NODE);
        let mut status = read.status.unwrap_or_default();
        let current = status.current_state.take();
        let inventory = current.map(|document| Inventory::read(&document.0)).unwrap_or_default();
        let desired = read.spec.desired_state.map(|document| document.0);
        let manual = Manual::split(desired.as_ref(), provenance.as_deref(), &inventory);
        Ok(Self {
            node_name: read.spec.node_name,
            managed: read.spec.managed,
            desired,
            revision,
            provenance,
            merges_itself,
            manual: Arc::new(manual),
            inventory: Arc::new(inventory),
            status,
            meta: Meta::of(read.metadata),
        })
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}
