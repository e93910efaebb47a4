//! Everything that the controller knows, at one moment.
//!
//! Objects are read into their types once, when they arrive, and shared: a copy of a snapshot costs a
//! few reference counts, and two snapshots that differ in one object share all the others.

use std::{
    any::Any,
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use netloom_api::{
    GroupKind,
    fabric::GROUP,
    pipeline::{
        NetworkConfigRevision, NetworkConfigRevisionPart, NodeNetworkConfig, NodeNetworkStatus,
        network_config_revision_part::NetworkConfigRevisionPartSpec,
    },
    rollout::RolloutPolicy,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    earlier::{List, with_objects},
    front_end::{BUILT_IN, FrontEnd},
    frozen::Frozen,
    key::{Meta, ObjectKey, ObjectRef},
    objects::{Node, NodeState, metadata},
};

/// All objects that decisions are made from.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The nodes of the cluster.
    pub nodes: Shelf<Node>,
    /// The network states of nodes.
    pub states: Shelf<NodeState>,
    /// What nodes were assigned by the controller, and what they say about it.
    pub configs: Shelf<NodeNetworkConfig>,
    /// Frozen configurations.
    pub revisions: Shelf<NetworkConfigRevision>,
    /// What they share.
    pub parts: Shelf<NetworkConfigRevisionPart>,
    /// How changes reach nodes.
    pub rollouts: Shelf<RolloutPolicy>,
    /// What nodes are able to do.
    pub statuses: Shelf<NodeNetworkStatus>,
    /// The lists in which revisions of the first version hold objects.
    earlier: Vec<List>,
    /// The kinds of front ends.
    kinds: BTreeMap<GroupKind<'static>, Box<dyn AnyShelf>>,
}

impl Default for Snapshot {
    /// One that keeps the kinds of the front ends of this program.
    fn default() -> Self {
        Self::of(BUILT_IN)
    }
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
    /// One that keeps the kinds of these front ends.
    pub fn of(front_ends: &[&dyn FrontEnd]) -> Self {
        let kinds = || front_ends.iter().flat_map(|front_end| front_end.kinds());
        Self {
            earlier: kinds().filter_map(|kind| Some((kind.earlier?, kind.kind))).collect(),
            nodes: Shelf::default(),
            states: Shelf::default(),
            configs: Shelf::default(),
            revisions: Shelf::default(),
            parts: Shelf::default(),
            rollouts: Shelf::default(),
            statuses: Shelf::default(),
            kinds: kinds().map(|kind| (kind.kind, (kind.shelf)())).collect(),
        }
    }

    /// The objects of a kind of a front end; none where nobody has put that front end in.
    fn all<T: Readable>(&self) -> Option<&Shelf<T>> {
        let objects: &dyn Any = self.kinds.get(&T::KIND)?.as_ref();
        objects.downcast_ref()
    }

    /// The object of that key, when it can be read.
    pub fn get<T: Readable>(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.all()?.get(key)
    }

    /// Every object of a kind that can be read, in the order of the keys.
    pub fn iter<T: Readable>(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<T>)> {
        self.all().into_iter().flat_map(Shelf::iter)
    }

    /// Every object of a kind that cannot be read, in the order of the keys.
    pub fn unreadable<T: Readable>(&self) -> impl Iterator<Item = &Arc<Unreadable>> {
        self.all::<T>().into_iter().flat_map(Shelf::unreadable)
    }

    /// Whether there is no object of a kind, readable or not.
    pub fn has_none<T: Readable>(&self) -> bool {
        self.all::<T>().is_none_or(Shelf::is_empty)
    }

    /// Puts an object in, in the place of one with its names.
    pub fn put(&mut self, object: &Value) -> Put {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        if text("/metadata/name").is_empty() {
            return Put::Foreign;
        }
        self.put_of(GroupKind::new(group, text("/kind")), object)
    }

    fn put_of(&mut self, kind: GroupKind<'_>, object: &Value) -> Put {
        let is_frozen = kind.group == GROUP && kind.kind.starts_with("NetworkConfigRevision");
        let object = if is_frozen { with_objects(object, &self.earlier) } else { Cow::Borrowed(object) };
        self.shelf(kind).map_or(Put::Foreign, |place| place.put(&object))
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
            self.put_of(kind, object);
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
            ("nmstate.io", "NodeNetworkState") => &mut self.states,
            (GROUP, "NodeNetworkConfig") => &mut self.configs,
            (GROUP, "NetworkConfigRevision") => &mut self.revisions,
            (GROUP, "NetworkConfigRevisionPart") => &mut self.parts,
            (GROUP, "NodeNetworkStatus") => &mut self.statuses,
            ("netloom.dev", "RolloutPolicy") => &mut self.rollouts,
            _ => self.kinds.iter_mut().find(|(known, _)| **known == kind)?.1.as_mut(),
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
pub trait Readable: Sized + fmt::Debug + Send + Sync + 'static {
    /// Its names.
    const KIND: GroupKind<'static>;
    /// The version that its objects are written in.
    const VERSION: &'static str;

    /// Reads an object; the error says why it cannot be read.
    fn read(object: &Value) -> Result<Self, String>;

    /// Whether both say the same; false when that is not worth finding out.
    fn same(&self, other: &Self) -> bool;

    /// The object of that key.
    fn object(key: &ObjectKey) -> ObjectRef {
        ObjectRef { kind: Self::KIND, key: key.clone() }
    }
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
pub(crate) trait AnyShelf: Any + fmt::Debug + Send + Sync {
    fn copy(&self) -> Box<dyn AnyShelf>;
    fn put(&mut self, object: &Value) -> Put;
    fn remove(&mut self, key: &ObjectKey) -> bool;
    fn keys(&self) -> Vec<ObjectKey>;
}

impl Clone for Box<dyn AnyShelf> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

impl<T: Readable> AnyShelf for Shelf<T> {
    fn copy(&self) -> Box<dyn AnyShelf> {
        Box::new(self.clone())
    }

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
    ($by:ident: $($group:expr, $kind:ident),*) => {$(
        impl Readable for $kind {
            const KIND: GroupKind<'static> = GroupKind::new($group, stringify!($kind));
            const VERSION: &'static str = "v1alpha1";

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
kept!(content: GROUP, NodeNetworkConfig, GROUP, NetworkConfigRevision);
kept!(version: "netloom.dev", RolloutPolicy, GROUP, NodeNetworkStatus, GROUP, NetworkConfigRevisionPart);

/// Reads an object in its type.
pub fn plain<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    T::deserialize(object).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::nodestate::Policy;

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
        assert!(snapshot.states.is_same_as(&before.states));
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
        let kept = snapshot.unreadable::<Policy>().next().unwrap();
        assert_eq!((&kept.meta.key, kept.meta.generation), (&ObjectKey::new("n", "p"), Some(3)));
        assert!(snapshot.get::<Policy>(&ObjectKey::new("n", "p")).is_none());
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
