//! Everything that the controller knows, at one moment.
//!
//! Objects are read into their types once, when they arrive, and shared: a copy of a snapshot costs a
//! few reference counts, and two snapshots that differ in one object share all the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::{
    GroupKind,
    fabric::GROUP,
    hostnet,
    pipeline::{
        NetworkConfigRevision, NetworkConfigRevisionPart, NodeNetworkConfig, NodeNetworkStatus,
        network_config_revision_part::NetworkConfigRevisionPartSpec,
    },
    rollout::RolloutPolicy,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    frozen::Frozen,
    hostnet::{Attachment, ClusterNetwork, HostNetworkConfig, LinkMonitor, VlanConfig, VlanStatus},
    key::{Meta, ObjectKey},
    objects::{Node, NodeState, Policy, metadata},
};

/// All objects that decisions are made from.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The nodes of the cluster.
    pub nodes: Shelf<Node>,
    /// Policies for the network state of nodes.
    pub policies: Shelf<Policy>,
    /// The network states of nodes.
    pub states: Shelf<NodeState>,
    /// What nodes were told by the controller, and what they say about it.
    pub configs: Shelf<NodeNetworkConfig>,
    /// Frozen configurations.
    pub revisions: Shelf<NetworkConfigRevision>,
    /// What they share.
    pub parts: Shelf<NetworkConfigRevisionPart>,
    /// How changes reach nodes.
    pub rollouts: Shelf<RolloutPolicy>,
    /// What nodes are able to do.
    pub statuses: Shelf<NodeNetworkStatus>,
    /// Networks of layer 2 that nodes share.
    pub cluster_networks: Shelf<ClusterNetwork>,
    /// Uplinks of nodes into them.
    pub uplinks: Shelf<VlanConfig>,
    /// Interfaces of nodes in their VLANs.
    pub host_networks: Shelf<HostNetworkConfig>,
    /// VLANs that pods and machines need.
    pub attachments: Shelf<Attachment>,
    /// How nodes are connected, as it was told.
    pub vlan_statuses: Shelf<VlanStatus>,
    /// Which links nodes list.
    pub monitors: Shelf<LinkMonitor>,
}

/// What came of an object that was put into a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is new, or not what was there before.
    Changed,
    /// It says what was there before.
    Same,
    /// It cannot be read; it is kept as such.
    Unreadable,
    /// Nothing here reads objects of its kind, or it has no name.
    Foreign,
}

impl Snapshot {
    /// Puts an object in, in the place of one with its names.
    pub fn put(&mut self, object: &Value) -> Put {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        if text("/metadata/name").is_empty() {
            return Put::Foreign;
        }
        match self.shelf(GroupKind::new(group, text("/kind"))) {
            Some(place) => place.put(object),
            None => Put::Foreign,
        }
    }

    /// Takes an object out; says whether it was there.
    pub fn remove(&mut self, kind: GroupKind<'_>, key: &ObjectKey) -> bool {
        self.shelf(kind).is_some_and(|place| place.remove(key))
    }

    /// Exchanges all objects of a kind, as after a fresh list.
    pub fn replace(&mut self, kind: GroupKind<'_>, objects: &[Arc<Value>]) {
        let Some(place) = self.shelf(kind) else { return };
        let listed: BTreeSet<ObjectKey> = objects.iter().map(|object| metadata(object).key).collect();
        for key in place.keys() {
            if !listed.contains(&key) {
                place.remove(&key);
            }
        }
        for object in objects {
            place.put(object);
        }
    }

    /// What a revision freezes, as far as its parts are there.
    pub fn frozen<'a>(&'a self, revision: &'a NetworkConfigRevision) -> Frozen<'a> {
        Frozen::of(revision, |name| self.part(name))
    }

    /// The content of a part.
    pub(crate) fn part(&self, name: &str) -> Option<&NetworkConfigRevisionPartSpec> {
        self.parts.get(&ObjectKey::global(name)).map(|part| &part.spec)
    }

    fn shelf(&mut self, kind: GroupKind<'_>) -> Option<&mut dyn AnyShelf> {
        let found: &mut dyn AnyShelf = match (kind.group, kind.kind) {
            ("", "Node") => &mut self.nodes,
            ("nmstate.io", "NodeNetConfPolicy") => &mut self.policies,
            ("nmstate.io", "NodeNetworkState") => &mut self.states,
            (GROUP, "NodeNetworkConfig") => &mut self.configs,
            (GROUP, "NetworkConfigRevision") => &mut self.revisions,
            (GROUP, "NetworkConfigRevisionPart") => &mut self.parts,
            (GROUP, "NodeNetworkStatus") => &mut self.statuses,
            ("netloom.dev", "RolloutPolicy") => &mut self.rollouts,
            (hostnet::GROUP, "ClusterNetwork") => &mut self.cluster_networks,
            (hostnet::GROUP, "VlanConfig") => &mut self.uplinks,
            (hostnet::GROUP, "HostNetworkConfig") => &mut self.host_networks,
            (hostnet::GROUP, "VlanStatus") => &mut self.vlan_statuses,
            (hostnet::GROUP, "LinkMonitor") => &mut self.monitors,
            ("k8s.cni.cncf.io", "NetworkAttachmentDefinition") => &mut self.attachments,
            _ => return None,
        };
        Some(found)
    }
}

impl<'a> FromIterator<&'a Value> for Snapshot {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(objects: I) -> Self {
        let mut snapshot = Self::default();
        for object in objects {
            snapshot.put(object);
        }
        snapshot
    }
}

/// A kind that a snapshot keeps.
pub(crate) trait Kept: Sized {
    /// Reads an object; the error says why it cannot be read.
    fn read(object: &Value) -> Result<Self, String>;

    /// Whether both say the same; false when that is not worth finding out.
    fn same(&self, other: &Self) -> bool;
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Shelf<T>(Arc<BTreeMap<ObjectKey, Slot<T>>>);

impl<T> Clone for Shelf<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

#[derive(Debug)]
enum Slot<T> {
    Readable(Arc<T>),
    Unreadable(Arc<Unreadable>),
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Readable(object) => Self::Readable(object.clone()),
            Self::Unreadable(object) => Self::Unreadable(object.clone()),
        }
    }
}

/// An object that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// What it says of itself.
    pub meta: Meta,
    /// Why it cannot be read.
    pub why: String,
}

impl<T> Shelf<T> {
    /// The object of that key, when it can be read.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        match self.0.get(key)? {
            Slot::Readable(object) => Some(object),
            Slot::Unreadable(_) => None,
        }
    }

    /// Every object that can be read, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<T>)> {
        self.0.iter().filter_map(|(key, slot)| match slot {
            Slot::Readable(object) => Some((key, object)),
            Slot::Unreadable(_) => None,
        })
    }

    /// Every object that cannot be read, in the order of the keys.
    pub fn unreadable(&self) -> impl Iterator<Item = &Arc<Unreadable>> {
        self.0.values().filter_map(|slot| match slot {
            Slot::Readable(_) => None,
            Slot::Unreadable(object) => Some(object),
        })
    }

    /// How many objects there are, readable or not.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether nothing was put in or taken out between the two.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A shelf with its type erased.
trait AnyShelf {
    fn put(&mut self, object: &Value) -> Put;
    fn remove(&mut self, key: &ObjectKey) -> bool;
    fn keys(&self) -> Vec<ObjectKey>;
}

impl<T: Kept> AnyShelf for Shelf<T> {
    fn put(&mut self, object: &Value) -> Put {
        let meta = metadata(object);
        let (slot, put) = match T::read(object) {
            Ok(read) => {
                if self.get(&meta.key).is_some_and(|known| known.same(&read)) {
                    return Put::Same;
                }
                (Slot::Readable(Arc::new(read)), Put::Changed)
            }
            Err(why) => (Slot::Unreadable(Arc::new(Unreadable { meta: meta.clone(), why })), Put::Unreadable),
        };
        Arc::make_mut(&mut self.0).insert(meta.key, slot);
        put
    }

    fn remove(&mut self, key: &ObjectKey) -> bool {
        self.0.contains_key(key) && Arc::make_mut(&mut self.0).remove(key).is_some()
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.0.keys().cloned().collect()
    }
}

/// Kinds that are read as their type says, without who manages which field, and how two of them are
/// compared: by all they hold, or, where their type cannot be compared, by the server's version.
macro_rules! kept {
    ($by:ident: $($kind:ty),*) => {$(
        impl Kept for $kind {
            fn read(object: &Value) -> Result<Self, String> {
                let mut read: Self = plain(object)?;
                read.metadata.managed_fields = None;
                Ok(read)
            }

            fn same(&self, other: &Self) -> bool {
                kept!(@$by self, other)
            }
        }
    )*};
    (@content $one:expr, $other:expr) => {
        $one == $other
    };
    (@version $one:expr, $other:expr) => {{
        let version = &$one.metadata.resource_version;
        version.is_some() && *version == $other.metadata.resource_version
    }};
}
kept!(content: NodeNetworkConfig, NetworkConfigRevision);
kept!(version: RolloutPolicy, NodeNetworkStatus, NetworkConfigRevisionPart);

/// Reads an object in its type.
pub(crate) fn plain<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    T::deserialize(object).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, zone: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"zone": zone}}})
    }

    #[test]
    fn an_object_that_says_the_same_changes_nothing() {
        let mut snapshot = Snapshot::default();
        assert_eq!(snapshot.put(&node("a", "x")), Put::Changed);
        let before = snapshot.clone();
        assert_eq!(snapshot.put(&node("a", "x")), Put::Same);
        assert!(snapshot.nodes.is_same_as(&before.nodes));
        assert_eq!(snapshot.put(&node("a", "y")), Put::Changed);
        assert!(!snapshot.nodes.is_same_as(&before.nodes));
        assert!(snapshot.policies.is_same_as(&before.policies));
        assert_eq!(before.nodes.get(&ObjectKey::global("a")).unwrap().labels["zone"], "x");
    }

    #[test]
    fn what_cannot_be_read_is_kept_as_such_and_what_is_not_ours_is_not() {
        let mut snapshot = Snapshot::default();
        let bad = json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy",
            "metadata": {"namespace": "n", "name": "p", "generation": 3}, "spec": {"matchRules": 5},
        });
        assert_eq!(snapshot.put(&bad), Put::Unreadable);
        let kept = snapshot.policies.unreadable().next().unwrap();
        assert_eq!((&kept.meta.key, kept.meta.generation), (&ObjectKey::new("n", "p"), Some(3)));
        assert!(snapshot.policies.get(&ObjectKey::new("n", "p")).is_none());
        assert_eq!(snapshot.put(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})), Put::Foreign);
        assert_eq!(snapshot.put(&json!(null)), Put::Foreign);
    }

    #[test]
    fn a_fresh_list_takes_out_what_is_not_in_it() {
        let mut snapshot: Snapshot = [node("a", "x"), node("b", "x")].iter().collect();
        snapshot.replace(GroupKind::new("", "Node"), &[Arc::new(node("b", "y")), Arc::new(node("c", "x"))]);
        let names: Vec<&str> = snapshot.nodes.iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
        assert!(snapshot.remove(GroupKind::new("", "Node"), &ObjectKey::global("b")));
        assert!(!snapshot.remove(GroupKind::new("", "Node"), &ObjectKey::global("b")));
    }
}
