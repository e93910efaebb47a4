//! What is stored now, for rules that look at other objects.
//!
//! Rules ask by name or through an index, so that the cost of a review follows what the rule needs
//! and not how much is stored. [`Objects`] keeps everything in memory and every index current.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde_json::Value;

use crate::{definition::Index, foreign, registry};

/// A kind by its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The kind.
    pub kind: &'a str,
}

impl<'a> GroupKind<'a> {
    /// The kind of that group and name.
    pub const fn new(group: &'a str, kind: &'a str) -> Self {
        Self { group, kind }
    }
}

/// The stored objects, read-only.
pub trait View: Send + Sync {
    /// One object; `namespace` is none for kinds without namespaces.
    fn get(&self, kind: GroupKind<'_>, namespace: Option<&str>, name: &str) -> Option<Arc<Value>>;

    /// All objects of a kind, in the order of namespace and name.
    fn list(&self, kind: GroupKind<'_>) -> Vec<Arc<Value>>;

    /// The objects that an index of the kind has under `key`, in the order of namespace and name.
    fn lookup(&self, kind: GroupKind<'_>, index: &str, key: &str) -> Vec<Arc<Value>>;
}

/// Objects in memory, with the indexes of their kinds.
#[derive(Debug, Default)]
pub struct Objects {
    shelves: Vec<Shelf>,
}

/// Namespace and name; the order of lists.
type Key = (String, String);

/// The objects of one kind.
#[derive(Debug)]
struct Shelf {
    group: String,
    kind: String,
    objects: BTreeMap<Key, Arc<Value>>,
    indexes: Vec<(Index, HashMap<String, BTreeSet<Key>>)>,
}

impl Objects {
    /// Puts an object in, in the place of one with its names; says whether it has a kind and a name.
    pub fn put(&mut self, object: impl Into<Arc<Value>>) -> bool {
        let object = object.into();
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (Some(kind), Some(name)) = (text("/kind"), text("/metadata/name")) else { return false };
        let group = text("/apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
        let key = (text("/metadata/namespace").unwrap_or_default().to_owned(), name.to_owned());
        let at = self.position(group, kind).unwrap_or_else(|| {
            self.shelves.push(Shelf::new(group, kind));
            self.shelves.len() - 1
        });
        self.shelves[at].put(key, object.clone());
        true
    }

    /// Takes an object out.
    pub fn remove(&mut self, kind: GroupKind<'_>, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        let at = self.position(kind.group, kind.kind)?;
        self.shelves[at].remove(&key(namespace, name))
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
        self.shelf(kind)?.objects.get(&key(namespace, name)).cloned()
    }

    fn list(&self, kind: GroupKind<'_>) -> Vec<Arc<Value>> {
        self.shelf(kind).map(|shelf| shelf.objects.values().cloned().collect()).unwrap_or_default()
    }

    fn lookup(&self, kind: GroupKind<'_>, index: &str, key: &str) -> Vec<Arc<Value>> {
        let Some(stored) = self.shelf(kind) else { return Vec::new() };
        let index = stored.indexes.iter().find(|(known, _)| known.name == index);
        debug_assert!(index.is_some(), "a rule asks for an index that {} does not have", kind.kind);
        let keys = index.and_then(|(_, keys)| keys.get(key));
        keys.into_iter().flatten().filter_map(|key| stored.objects.get(key).cloned()).collect()
    }
}

impl Shelf {
    fn new(group: &str, kind: &str) -> Self {
        let own = registry::find(group, kind).map(|kind| kind.indexes);
        let indexes = own.unwrap_or_else(|| foreign::indexes(GroupKind::new(group, kind)));
        Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
            objects: BTreeMap::new(),
            indexes: indexes.iter().map(|index| (*index, HashMap::new())).collect(),
        }
    }

    fn put(&mut self, key: Key, object: Arc<Value>) {
        self.remove(&key);
        for (index, keys) in &mut self.indexes {
            for value in (index.keys)(&object) {
                keys.entry(value).or_default().insert(key.clone());
            }
        }
        self.objects.insert(key, object);
    }

    fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let object = self.objects.remove(key)?;
        for (index, keys) in &mut self.indexes {
            for value in (index.keys)(&object) {
                if let Some(found) = keys.get_mut(&value) {
                    found.remove(key);
                    if found.is_empty() {
                        keys.remove(&value);
                    }
                }
            }
        }
        Some(object)
    }
}

fn key(namespace: Option<&str>, name: &str) -> Key {
    (namespace.unwrap_or_default().to_owned(), name.to_owned())
}
