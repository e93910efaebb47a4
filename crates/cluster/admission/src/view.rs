//! What is stored now, for rules that look at other objects.
//!
//! Rules ask by name or through an index, so that the cost of a review follows what the rule needs
//! and not how much is stored. [`Objects`] keeps every index current, and the objects in the form of
//! `packed`: there may be a hundred thousand of them, of which a review reads a few.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use netloom_api::{GroupKind, dig};
use serde_json::Value;

use super::{
    keys::{Key, Keys},
    packed::Kept,
};
use crate::{Index, foreign, registry};

/// The stored objects, read-only.
pub trait View: Send + Sync {
    /// One object; `namespace` is none for kinds without namespaces.
    fn get(&self, kind: GroupKind<'_>, namespace: Option<&str>, name: &str) -> Option<Arc<Value>>;

    /// All objects of a kind, in the order of namespace and name.
    fn list(&self, kind: GroupKind<'_>) -> Vec<Arc<Value>>;

    /// The objects that an index of the kind has under `key`, in the order of namespace and name.
    fn lookup(&self, kind: GroupKind<'_>, index: &str, key: &str) -> Vec<Arc<Value>>;

    /// How many objects [`View::lookup`] would find.
    fn count(&self, kind: GroupKind<'_>, index: &str, key: &str) -> usize {
        self.lookup(kind, index, key).len()
    }
}

/// Objects in memory, with the indexes of their kinds.
#[derive(Debug, Default)]
pub struct Objects {
    shelves: Vec<Shelf>,
}

/// The objects of one kind.
#[derive(Debug)]
struct Shelf {
    group: String,
    kind: String,
    objects: BTreeMap<Key, Kept>,
    indexes: Vec<(Index, HashMap<Box<str>, Keys>)>,
}

impl Objects {
    /// Puts an object in, in the place of one with its names; says whether it has a kind and a name.
    pub fn put(&mut self, object: impl Into<Arc<Value>>) -> bool {
        let object = object.into();
        let text = |path: &str| dig::text(&object, path);
        let (Some(kind), Some(name)) = (text("kind"), text("metadata.name")) else { return false };
        let group = text("apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
        let key = key(text("metadata.namespace"), name);
        let at = self.position(group, kind).unwrap_or_else(|| {
            self.shelves.push(Shelf::new(group, kind));
            self.shelves.len() - 1
        });
        self.shelves[at].put(key, &object);
        true
    }

    /// Takes an object out.
    pub fn remove(&mut self, kind: GroupKind<'_>, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        let at = self.position(kind.group, kind.kind)?;
        self.shelves[at].remove(&key(namespace, name))
    }

    /// Exchanges all objects of a kind, as after a fresh list.
    pub fn replace(&mut self, kind: GroupKind<'_>, objects: Vec<Arc<Value>>) {
        if let Some(at) = self.position(kind.group, kind.kind) {
            self.shelves[at] = Shelf::new(kind.group, kind.kind);
        }
        for object in objects {
            self.put(object);
        }
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.shelves.iter().map(|shelf| shelf.objects.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn position(&self, group: &str, kind: &str) -> Option<usize> {
        self.shelves.iter().position(|shelf| shelf.group == group && shelf.kind == kind)
    }

    fn shelf(&self, kind: GroupKind<'_>) -> Option<&Shelf> {
        self.position(kind.group, kind.kind).map(|at| &self.shelves[at])
    }

    /// The keys that an index has under a value.
    fn found(&self, kind: GroupKind<'_>, index: &str, key: &str) -> Option<&Keys> {
        let index = self.shelf(kind)?.indexes.iter().find(|(known, _)| known.name == index);
        debug_assert!(index.is_some(), "a rule asks for an index that {} does not have", kind.kind);
        index?.1.get(key)
    }
}

impl<T: Into<Arc<Value>>> FromIterator<T> for Objects {
    fn from_iter<I: IntoIterator<Item = T>>(objects: I) -> Self {
        let mut all = Self::default();
        for object in objects {
            all.put(object);
        }
        all
    }
}

impl View for Objects {
    fn get(&self, kind: GroupKind<'_>, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        self.shelf(kind)?.objects.get(&*key(namespace, name)).map(Kept::open)
    }

    fn list(&self, kind: GroupKind<'_>) -> Vec<Arc<Value>> {
        self.shelf(kind).map(|shelf| shelf.objects.values().map(Kept::open).collect()).unwrap_or_default()
    }

    fn lookup(&self, kind: GroupKind<'_>, index: &str, key: &str) -> Vec<Arc<Value>> {
        let Some((own, found)) = self.shelf(kind).zip(self.found(kind, index, key)) else { return Vec::new() };
        found.iter().filter_map(|key| own.objects.get(key)).map(Kept::open).collect()
    }

    fn count(&self, kind: GroupKind<'_>, index: &str, key: &str) -> usize {
        self.found(kind, index, key).map_or(0, Keys::len)
    }
}

impl Shelf {
    fn new(group: &str, kind: &str) -> Self {
        let own = registry::find(GroupKind::new(group, kind)).map(|rules| rules.indexes);
        let indexes = own.unwrap_or_else(|| foreign::indexes(GroupKind::new(group, kind)));
        Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
            objects: BTreeMap::new(),
            indexes: indexes.iter().map(|index| (*index, HashMap::new())).collect(),
        }
    }

    fn put(&mut self, key: Key, object: &Arc<Value>) {
        self.remove(&key);
        for (index, found) in &mut self.indexes {
            for value in (index.keys)(object) {
                let place = found.entry(value.into());
                place.and_modify(|others| others.insert(key.clone())).or_insert_with(|| Keys::One(key.clone()));
            }
        }
        let kept = Kept::of(GroupKind::new(&self.group, &self.kind), object);
        self.objects.insert(key, kept);
    }

    fn remove(&mut self, key: &str) -> Option<Arc<Value>> {
        let object = self.objects.remove(key)?.open();
        for (index, found) in &mut self.indexes {
            for value in (index.keys)(&object) {
                if found.get_mut(value.as_str()).is_some_and(|keys| keys.remove(key)) {
                    found.remove(value.as_str());
                }
            }
        }
        Some(object)
    }
}

fn key(namespace: Option<&str>, name: &str) -> Key {
    format!("{}\0{name}", namespace.unwrap_or_default()).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STATE: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetworkState");

    fn state(namespace: &str, name: &str, node: &str) -> Value {
        json!({
            "apiVersion": "nmstate.io/v1",
            "kind": "NodeNetworkState",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"nodeName": node},
        })
    }

    fn names(found: &[Arc<Value>]) -> Vec<&str> {
        found.iter().map(|object| dig::name(object)).collect()
    }

    #[test]
    fn indexes_follow_every_change() {
        let mut objects: Objects =
            [state("b", "x", "n1"), state("a", "y", "n1"), state("a", "z", "n2")].into_iter().collect();
        assert_eq!(names(&objects.lookup(STATE, "nodeName", "n1")), ["y", "x"], "in the order of namespace and name");
        assert!(objects.put(state("b", "x", "n2")));
        assert_eq!(names(&objects.lookup(STATE, "nodeName", "n1")), ["y"]);
        assert_eq!(objects.count(STATE, "nodeName", "n2"), 2);
        assert!(objects.remove(STATE, Some("a"), "y").is_some());
        assert!(objects.remove(STATE, Some("a"), "y").is_none());
        assert_eq!(objects.lookup(STATE, "nodeName", "n1"), []);
        assert_eq!((objects.len(), names(&objects.list(STATE))), (2, vec!["z", "x"]));
        assert!(objects.get(STATE, Some("a"), "z").is_some());
        assert!(objects.get(STATE, None, "z").is_none());
    }

    #[test]
    fn what_has_no_name_or_kind_is_not_an_object() {
        let mut objects = Objects::default();
        for junk in [json!(null), json!({"kind": "Node"}), json!({"kind": 5, "metadata": {"name": "x"}})] {
            assert!(!objects.put(junk));
        }
        assert!(objects.is_empty());
    }
}
