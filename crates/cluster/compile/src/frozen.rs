//! What a revision freezes, read through its parts.
//!
//! What stands in the revision itself goes before what a part has under the same name, and a later part before an earlier
//! one: that is how a change of one object costs no new part. Whoever needs all of it asks [`Frozen::is_whole`] first:
//! parts and revisions come by different watches.

use std::collections::BTreeMap;

use netloom_api::pipeline::{
    NetworkConfigRevision, network_config_revision::FrozenObject,
    network_config_revision_part::NetworkConfigRevisionPartSpec,
};
use netloom_object::{GroupKind, ObjectKey};

/// Everything that a revision froze, in the order of names.
#[derive(Debug, Clone, Default)]
pub struct Frozen<'a> {
    objects: BTreeMap<[&'a str; 4], &'a FrozenObject>,
    /// Parts that are named and not there.
    pub missing: Vec<&'a str>,
}

impl<'a> Frozen<'a> {
    /// Reads a revision; `part` finds a part by its name.
    pub fn of(
        revision: &'a NetworkConfigRevision,
        mut part: impl FnMut(&str) -> Option<&'a NetworkConfigRevisionPartSpec>,
    ) -> Self {
        let mut frozen = Self::default();
        for name in &revision.spec.parts {
            match part(name) {
                Some(part) => frozen.objects.extend(part.objects.iter().map(|object| (object.key(), object))),
                None => frozen.missing.push(name),
            }
        }
        frozen.objects.extend(revision.spec.objects.iter().map(|object| (object.key(), object)));
        frozen
    }

    /// Whether nothing of it is missing.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }

    /// The objects of a kind, in the order of namespace and name.
    pub fn of_kind(&self, kind: GroupKind<'static>) -> impl Iterator<Item = &'a FrozenObject> {
        let kind = [kind.group, kind.kind];
        let from = [kind[0], kind[1], "", ""];
        self.objects.range(from..).take_while(move |(key, _)| key[..2] == kind).map(|(_, object)| *object)
    }

    /// An object as it was frozen.
    pub fn get(&self, kind: GroupKind<'_>, key: &ObjectKey) -> Option<&'a FrozenObject> {
        self.objects.get(&[kind.group, kind.kind, &key.namespace, &key.name]).copied()
    }
}
