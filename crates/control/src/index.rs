//! Everything that is watched, as it was last seen.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::{
    admission::GroupKind,
    fabric, foreign,
    hostnet::{self, HostNetworkConfigStatus, names},
    rollout::annotation,
};
use netloom_compile::{NodeState, ObjectKey, Put, Snapshot};
use netloom_object::{Change, Ledger, ObjectRef, Version};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::signs::Signs;

pub(crate) const NODE: GroupKind<'static> = foreign::NODE;
pub(crate) const POLICY: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetConfPolicy");
pub(crate) const STATE: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetworkState");
pub(crate) const CONFIG: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NodeNetworkConfig");
pub(crate) const REVISION: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NetworkConfigRevision");
pub(crate) const PART: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NetworkConfigRevisionPart");
pub(crate) const STATUS: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NodeNetworkStatus");
pub(crate) const ROLLOUT: GroupKind<'static> = GroupKind::new("netloom.dev", "RolloutPolicy");
pub(crate) const CLUSTER_NETWORK: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "ClusterNetwork");
pub(crate) const UPLINK: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "VlanConfig");
pub(crate) const HOST_NETWORK: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "HostNetworkConfig");
pub(crate) const VLAN_STATUS: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "VlanStatus");
pub(crate) const MONITOR: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "LinkMonitor");
pub(crate) const ATTACHMENT: GroupKind<'static> = foreign::ATTACHMENT;
pub(crate) const LEASE: GroupKind<'static> = foreign::LEASE;

/// Everything that is watched.
#[derive(Debug, Clone, Default)]
pub struct Index {
    snapshot: Snapshot,
    marks: Ledger<Mark>,
    signs: Signs,
    changes: u64,
    changed_at: Option<Timestamp>,
}

/// What is kept of an object beside what a snapshot reads.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Mark {
    pub(crate) uid: String,
    /// The version as the server writes it.
    pub(crate) resource_version: String,
    pub(crate) generation: Option<i64>,
    /// Types of conditions that are `True`; of nodes only.
    pub(crate) conditions: BTreeSet<String>,
    /// The digest that the wish was written with; of network states only.
    pub(crate) digest: Option<String>,
    /// The status that we write; of the kinds in [`TOLD`] only.
    pub(crate) status: Option<Value>,
    /// The same of host networks, which have an entry for each of hundreds of nodes: read once, when it comes.
    pub(crate) hosted: Option<Arc<HostNetworkConfigStatus>>,
    /// Annotations that we write; of the kinds of host networks and of nodes only.
    pub(crate) notes: BTreeMap<&'static str, String>,
    /// What holds it when it is deleted; of uplinks and host networks only.
    pub(crate) finalizers: Vec<String>,
    /// What it asks for; of rollout policies only, and looked at where one cannot be read whole.
    pub(crate) spec: Option<Value>,
}

/// Kinds whose status is compared with what is to be told.
const TOLD: [GroupKind<'static>; 4] = [POLICY, ROLLOUT, CLUSTER_NETWORK, MONITOR];
/// Annotations that are compared with what is to be told, with the kinds that have them.
const NOTED: [(GroupKind<'static>, &str); 7] = [
    (UPLINK, names::MATCHED_NODES),
    (HOST_NETWORK, names::MATCHED_NODES),
    (NODE, names::TUNNEL_INTERFACE),
    (CLUSTER_NETWORK, names::UPLINK_MTU),
    (CLUSTER_NETWORK, names::MTU_SOURCE),
    (CLUSTER_NETWORK, names::VLAN_IDS),
    (CLUSTER_NETWORK, names::VLAN_IDS_HASH),
];

impl Index {
    /// Every kind that must be followed.
    pub const KINDS: &'static [GroupKind<'static>] = &[
        NODE,
        POLICY,
        STATE,
        CONFIG,
        REVISION,
        PART,
        STATUS,
        ROLLOUT,
        CLUSTER_NETWORK,
        UPLINK,
        HOST_NETWORK,
        VLAN_STATUS,
        MONITOR,
        ATTACHMENT,
        LEASE,
    ];

    /// Those among them that a cluster may do without: where one is not served there is no object of it.
    pub const OPTIONAL: &'static [GroupKind<'static>] =
        &[CLUSTER_NETWORK, UPLINK, HOST_NETWORK, VLAN_STATUS, MONITOR, ATTACHMENT];

    /// Takes note of a change.
    pub fn take(&mut self, now: Timestamp, change: Change) {
        let changed = match change {
            Change::Put(object) => self.put(&object) | self.signs.renewed(now, &object),
            Change::Gone(object) => self.gone(&object) | self.signs.gone(&object),
            Change::Listed { kind: LEASE, objects } => self.replace(LEASE, &[]) | self.signs.listed(now, &objects),
            Change::Listed { kind, objects } => self.replace(kind, &objects),
        };
        if changed {
            self.changes += 1;
            self.changed_at = Some(now);
        }
    }

    /// Whether every kind was listed.
    pub fn is_whole(&self) -> bool {
        Self::KINDS.iter().all(|kind| self.marks.is_listed(*kind))
    }

    /// The objects.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The signs of life of agents.
    pub(crate) fn signs(&self) -> &Signs {
        &self.signs
    }

    /// How many changes there were, and when the last one was.
    pub(crate) fn changes(&self) -> (u64, Option<Timestamp>) {
        (self.changes, self.changed_at)
    }

    pub(crate) fn mark(&self, kind: GroupKind<'static>, key: &ObjectKey) -> Option<&Mark> {
        self.marks.get(kind, key)
    }

    fn put(&mut self, object: &Value) -> bool {
        let Some(reference) = reference(object).filter(|reference| reference.kind != LEASE) else { return false };
        let version = Version::of(object);
        if !self.marks.is_news(&reference, version) {
            return false;
        }
        let mark = Mark::read(reference.kind, object);
        let known = self.marks.get(reference.kind, &reference.key);
        let elsewhere = known.is_none_or(|known| known.beside() != mark.beside());
        let state = self.snapshot.states.get(&reference.key).cloned().filter(|_| reference.kind == STATE);
        let put = self.snapshot.put(object);
        let now = self.snapshot.states.get(&reference.key);
        let idle = state.zip(now).is_some_and(|(before, now)| says_the_same(&before, now));
        self.marks.put(reference, version, mark);
        match put {
            Put::Changed if idle => elsewhere,
            Put::Changed | Put::Unreadable => true,
            Put::Same => elsewhere,
            Put::Foreign => false,
        }
    }

    fn gone(&mut self, object: &Value) -> bool {
        let Some(reference) = reference(object).filter(|reference| reference.kind != LEASE) else { return false };
        self.marks.gone(reference.clone(), Version::of(object)) && self.snapshot.remove(reference.kind, &reference.key)
    }

    fn replace(&mut self, kind: GroupKind<'static>, objects: &[Arc<Value>]) -> bool {
        let Some(kind) = Self::KINDS.iter().copied().find(|known| *known == kind) else { return false };
        let mut changed = !self.marks.is_listed(kind);
        let listed = objects.iter().filter_map(|object| reference(object)).collect();
        for missing in self.marks.listed(kind, &listed) {
            changed |= self.snapshot.remove(kind, &missing.key);
        }
        for object in objects {
            changed |= self.put(object);
        }
        changed
    }
}

impl Mark {
    fn read(kind: GroupKind<'static>, object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let annotation = |name: &str| {
            let annotations = object.pointer("/metadata/annotations")?;
            annotations.get(name)?.as_str().map(str::to_owned)
        };
        Self {
            uid: text("/metadata/uid"),
            resource_version: text("/metadata/resourceVersion"),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64),
            conditions: if kind == NODE { conditions(object) } else { BTreeSet::new() },
            digest: (kind == STATE).then(|| annotation(annotation::DIGEST)).flatten(),
            status: TOLD.contains(&kind).then(|| object.get("status").cloned()).flatten(),
            hosted: (kind == HOST_NETWORK).then(|| hosted(object)).flatten(),
            notes: NOTED
                .iter()
                .filter(|(noted, _)| *noted == kind)
                .filter_map(|(_, name)| Some((*name, annotation(name)?)))
                .collect(),
            finalizers: if matches!(kind, UPLINK | HOST_NETWORK) { finalizers(object) } else { Vec::new() },
            spec: (kind == ROLLOUT).then(|| object.get("spec").cloned()).flatten(),
        }
    }

    /// The status as its type has it; what cannot be read was never told.
    pub(crate) fn status_as<T: DeserializeOwned + Default>(&self) -> T {
        self.status.as_ref().and_then(|status| T::deserialize(status).ok()).unwrap_or_default()
    }

    /// What matters and is not in a snapshot.
    fn beside(&self) -> impl PartialEq + '_ {
        (&self.uid, &self.conditions, &self.digest, &self.status, &self.hosted, &self.notes, &self.finalizers)
    }
}

/// The status of a host network; what cannot be read was never told.
fn hosted(object: &Value) -> Option<Arc<HostNetworkConfigStatus>> {
    HostNetworkConfigStatus::deserialize(object.get("status")?).ok().map(Arc::new)
}

fn finalizers(object: &Value) -> Vec<String> {
    let all = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Whether two versions of a network state come to the same for every decision. Nodes report often, and
/// mostly nothing new.
fn says_the_same(a: &NodeState, b: &NodeState) -> bool {
    let wish =
        |state: &NodeState| (state.meta.created.clone(), state.meta.deleted, state.meta.generation, state.managed);
    wish(a) == wish(b)
        && (&a.node_name, &a.desired, &a.revision, &a.provenance, a.merges_itself)
            == (&b.node_name, &b.desired, &b.revision, &b.provenance, b.merges_itself)
        && (&a.hand, &a.inventory, &a.status.conditions) == (&b.hand, &b.inventory, &b.status.conditions)
}

fn reference(object: &Value) -> Option<ObjectRef> {
    ObjectRef::among(Index::KINDS.iter().copied(), object)
}

fn conditions(node: &Value) -> BTreeSet<String> {
    let all = node.pointer("/status/conditions").and_then(Value::as_array);
    let holds = |condition: &&Value| condition.get("status").and_then(Value::as_str) == Some("True");
    let kind = |condition: &Value| condition.get("type")?.as_str().map(str::to_owned);
    all.into_iter().flatten().filter(holds).filter_map(kind).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(version: u64, zone: &str, ready: &str) -> Arc<Value> {
        Arc::new(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": version.to_string(), "labels": {"zone": zone}},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
    }

    fn zone(index: &Index) -> Option<String> {
        index.snapshot().nodes.get(&ObjectKey::global("a")).map(|node| node.labels["zone"].clone())
    }

    #[test]
    fn an_older_version_never_replaces_a_newer_one() {
        let now = Timestamp::UNIX_EPOCH;
        let mut index = Index::default();
        index.take(now, Change::Put(node(7, "x", "True")));
        index.take(now, Change::Put(node(5, "y", "True")));
        index.take(now, Change::Gone(node(6, "x", "True")));
        assert_eq!(zone(&index).as_deref(), Some("x"));
        index.take(now, Change::Gone(node(8, "x", "True")));
        index.take(now, Change::Put(node(7, "x", "True")));
        assert_eq!(zone(&index), None, "what went does not come back");
        index.take(now, Change::Put(node(9, "z", "True")));
        assert_eq!(zone(&index).as_deref(), Some("z"), "unless it is made anew");
    }

    #[test]
    fn signs_of_life_are_no_changes_and_conditions_are() {
        let now = Timestamp::UNIX_EPOCH;
        let mut index = Index::default();
        index.take(now, Change::Put(node(1, "x", "True")));
        let before = index.changes();
        index.take(now, Change::Put(node(2, "x", "True")));
        assert_eq!(index.changes(), before);
        index.take(now, Change::Put(node(3, "x", "False")));
        assert_ne!(index.changes(), before);
    }

    #[test]
    fn a_report_with_nothing_new_is_no_change() {
        let state = |version: u64, applied: i64, link: &str| {
            Arc::new(json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
                "metadata": {"namespace": "n", "name": "a", "uid": "u", "resourceVersion": version.to_string()},
                "spec": {"managed": true, "nodeName": "a"},
                "status": {
                    "lastApplied": {"generation": applied, "time": "2030-01-01T00:00:00Z"},
                    "currentState": {"interfaces": [{"name": link, "type": "ethernet", "state": "up"}]},
                },
            }))
        };
        let now = Timestamp::UNIX_EPOCH;
        let mut index = Index::default();
        index.take(now, Change::Put(state(1, 1, "eth0")));
        let before = index.changes();
        index.take(now, Change::Put(state(2, 2, "eth0")));
        assert_eq!(index.changes(), before);
        let kept = index.snapshot().states.get(&ObjectKey::new("n", "a")).unwrap();
        assert_eq!(kept.meta.resource_version, "2", "writes are tied to the version that is there");
        index.take(now, Change::Put(state(3, 2, "eth1")));
        assert_ne!(index.changes(), before);
    }

    #[test]
    fn an_index_is_whole_when_every_kind_was_listed() {
        let mut index = Index::default();
        for kind in Index::KINDS {
            assert!(!index.is_whole());
            index.take(Timestamp::UNIX_EPOCH, Change::Listed { kind: *kind, objects: Vec::new() });
        }
        assert!(index.is_whole());
        index.take(Timestamp::UNIX_EPOCH, Change::Put(node(1, "x", "True")));
        index.take(Timestamp::UNIX_EPOCH, Change::Listed { kind: NODE, objects: Vec::new() });
        assert_eq!(zone(&index), None);
    }
}
