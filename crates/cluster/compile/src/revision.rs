//! What a revision freezes, and how it is named.

use std::sync::Arc;

use netloom_api::{pipeline::NetworkConfigRevision, rollout::annotation};

use crate::{
    layout::{self, Layout, Weighed},
    snapshot::Snapshot,
};

/// How many digits of the hash are the name.
const NAME_DIGITS: usize = 10;

/// A configuration of all nodes under the name of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The name of the object.
    pub name: String,
    hash: String,
    pieces: Vec<Weighed>,
}

impl Revision {
    /// The revision that freezes these objects. Equal ones give an equal name, whenever and wherever it is made.
    pub(crate) fn of(mut pieces: Vec<Weighed>) -> Self {
        layout::sort(&mut pieces);
        let hash = layout::content_hash(&pieces);
        Self { name: hash[..NAME_DIGITS].to_owned(), hash, pieces }
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The objects that hold it, over the parts that a snapshot has.
    pub fn lay_out(&self, snapshot: &Snapshot) -> Layout {
        layout::lay_out(&self.pieces, &self.hash, snapshot)
    }
}

/// The newest revision that no node has refused and that can be read whole: by its place in the order of revisions,
/// then by age.
pub fn newest_sound(snapshot: &Snapshot) -> Option<&NetworkConfigRevision> {
    let refused = |revision: &NetworkConfigRevision| revision.status.as_ref().is_some_and(|status| status.is_invalid);
    newest_of(snapshot, |revision| !refused(revision) && snapshot.frozen(revision).is_whole())
}

/// The revision that was desired last.
pub(crate) fn newest(snapshot: &Snapshot) -> Option<&NetworkConfigRevision> {
    newest_of(snapshot, |_| true)
}

fn newest_of(snapshot: &Snapshot, wanted: impl Fn(&NetworkConfigRevision) -> bool) -> Option<&NetworkConfigRevision> {
    let order = |revision: &&Arc<NetworkConfigRevision>| {
        let metadata = &revision.metadata;
        let sequence = metadata.annotations.as_ref().and_then(|all| all.get(annotation::SEQUENCE));
        let sequence = sequence.and_then(|text| text.parse::<u64>().ok());
        (sequence, metadata.creation_timestamp.clone(), metadata.name.clone())
    };
    snapshot
        .revisions
        .iter()
        .map(|(_, revision)| revision)
        .filter(|revision| wanted(revision))
        .max_by_key(order)
        .map(Arc::as_ref)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn revision(name: &str, day: u8, sequence: Option<u8>, invalid: bool) -> Value {
        let annotations = sequence.map(|number| json!({annotation::SEQUENCE: number.to_string()}));
        json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NetworkConfigRevision",
            "metadata": {"name": name, "creationTimestamp": format!("2026-01-0{day}T00:00:00Z"), "annotations": annotations},
            "spec": {"revision": "a".repeat(64)}, "status": {"isInvalid": invalid},
        })
    }

    #[test]
    fn the_newest_sound_revision_is_that_of_the_last_desired_state() {
        let table = [
            (vec![], None),
            (vec![revision("a", 1, None, false), revision("b", 2, None, false)], Some("b")),
            (vec![revision("a", 1, None, false), revision("b", 2, None, true)], Some("a")),
            (vec![revision("a", 1, Some(3), false), revision("b", 2, Some(2), false)], Some("a")),
        ];
        for (revisions, wanted) in table {
            let snapshot: Snapshot = revisions.iter().collect();
            let found = newest_sound(&snapshot).and_then(|revision| revision.metadata.name.as_deref());
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn equal_policies_have_an_equal_name() {
        assert_eq!(Revision::of(Vec::new()), Revision::of(Vec::new()));
        let revision = Revision::of(Vec::new());
        assert!(revision.is_empty());
        assert!(revision.lay_out(&Snapshot::default()).spec.revision.starts_with(&revision.name));
    }
}
