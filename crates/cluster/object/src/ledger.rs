//! The newest version of each object.
//!
//! Watch events and the answers to our own writes come by different ways, so an older version of an object may arrive
//! after a newer one. Versions of objects grow, and an older one never replaces a newer; that an object went is
//! remembered, so that an older version does not bring it back.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    key::{ObjectKey, ObjectRef},
    kind::GroupKind,
    version::Version,
};

/// What is kept of objects, each by the newest version that was heard of.
#[derive(Debug, Clone)]
pub struct Ledger<T> {
    entries: BTreeMap<ObjectRef, Entry<T>>,
    listed: BTreeSet<GroupKind<'static>>,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    version: Version,
    /// None once it went.
    kept: Option<T>,
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), listed: BTreeSet::new() }
    }
}

impl<T> Ledger<T> {
    /// What is kept of an object that is there.
    pub fn get(&self, kind: GroupKind<'static>, key: &ObjectKey) -> Option<&T> {
        self.entries.get(&ObjectRef { kind, key: key.clone() })?.kept.as_ref()
    }

    /// What is kept of every object of a kind that is there, in the order of namespace and name.
    pub fn of_kind(&self, kind: GroupKind<'static>) -> impl Iterator<Item = (&ObjectKey, &T)> {
        let first = ObjectRef { kind, key: ObjectKey::default() };
        let of_kind = self.entries.range(first..).take_while(move |(known, _)| known.kind == kind);
        of_kind.filter_map(|(known, entry)| Some((&known.key, entry.kept.as_ref()?)))
    }

    /// Whether an object was ever heard of.
    pub fn knows(&self, reference: &ObjectRef) -> bool {
        self.entries.contains_key(reference)
    }

    /// Whether a version of an object is newer than what is known.
    pub fn is_news(&self, reference: &ObjectRef, version: Version) -> bool {
        self.entries.get(reference).is_none_or(|known| version.is_newer_than(known.version))
    }

    /// Takes note of an object that is there.
    pub fn put(&mut self, reference: ObjectRef, version: Version, kept: T) {
        self.entries.insert(reference, Entry { version, kept: Some(kept) });
    }

    /// Takes note that an object went; says whether that is news. The version of an object that goes is that of its
    /// going, or the last that it had.
    pub fn gone(&mut self, reference: ObjectRef, version: Version) -> bool {
        let known = self.entries.get(&reference).map(|known| known.version);
        let counts = known.is_none_or(|known| version == known || version.is_newer_than(known));
        if counts {
            self.entries.insert(reference, Entry { version, kept: None });
        }
        counts
    }

    /// Takes note of a list of all objects of a kind. A list is newer than every event before it, so what it does not
    /// have is gone: that is returned, for the caller to forget too.
    pub fn listed(&mut self, kind: GroupKind<'static>, objects: &BTreeSet<ObjectRef>) -> Vec<ObjectRef> {
        self.listed.insert(kind);
        let missing = |known: &&ObjectRef| known.kind == kind && !objects.contains(*known);
        let missing: Vec<ObjectRef> = self.entries.keys().filter(missing).cloned().collect();
        for reference in &missing {
            self.entries.remove(reference);
        }
        missing
    }

    /// Whether the objects of a kind were listed.
    pub fn is_listed(&self, kind: GroupKind<'static>) -> bool {
        self.listed.contains(&kind)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const THING: GroupKind<'static> = GroupKind::new("g.io", "Thing");

    fn version(number: u64) -> Version {
        Version::of(&json!({"metadata": {"resourceVersion": number.to_string()}}))
    }

    fn thing(name: &str) -> ObjectRef {
        ObjectRef { kind: THING, key: ObjectKey::global(name) }
    }

    #[test]
    fn older_versions_are_no_news_and_bring_nothing_back() {
        let mut ledger = Ledger::default();
        ledger.put(thing("a"), version(5), "five");
        assert!(!ledger.is_news(&thing("a"), version(5)) && ledger.is_news(&thing("a"), version(6)));
        assert!(!ledger.gone(thing("a"), version(4)));
        assert_eq!(ledger.get(THING, &thing("a").key), Some(&"five"));
        assert!(ledger.gone(thing("a"), version(5)), "some say the last version that it had");
        assert_eq!(ledger.get(THING, &thing("a").key), None);
        assert!(!ledger.is_news(&thing("a"), version(5)) && ledger.knows(&thing("a")));
        assert!(ledger.is_news(&thing("a"), Version::default()), "what cannot be known is news");
    }

    #[test]
    fn what_a_list_does_not_have_is_gone() {
        let mut ledger = Ledger::default();
        ledger.put(thing("a"), version(1), ());
        ledger.put(thing("b"), version(2), ());
        assert!(!ledger.is_listed(THING));
        assert_eq!(ledger.listed(THING, &BTreeSet::from([thing("b")])), [thing("a")]);
        assert!(ledger.is_listed(THING) && !ledger.knows(&thing("a")) && ledger.knows(&thing("b")));
    }
}
