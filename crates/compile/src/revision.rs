//! What a revision freezes, and how it is named.

use std::sync::Arc;

use netloom_api::{
    fabric::{
        NetworkConfigRevision,
        network_config_revision::{NetworkConfigRevisionSpec, NodePolicyRevision},
    },
    rollout::annotation,
};
use serde_json::{Value, json};

use crate::{digest, snapshot::Snapshot};

/// How many digits of the hash are the name.
const NAME_DIGITS: usize = 10;

/// A configuration of all nodes under the name of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The name of the object.
    pub name: String,
    /// What is frozen.
    pub spec: NetworkConfigRevisionSpec,
}

impl Revision {
    /// The revision that freezes these policies. Equal policies give an equal name, whenever and
    /// wherever it is made.
    pub(crate) fn of(node_policies: Vec<NodePolicyRevision>) -> Self {
        let mut spec = NetworkConfigRevisionSpec {
            layer2: Vec::new(),
            vrf: Vec::new(),
            bgp: Vec::new(),
            mirror_targets: Vec::new(),
            mirror_selectors: Vec::new(),
            node_policies,
            revision: String::new(),
        };
        spec.revision = content_hash(&spec);
        Self { name: spec.revision[..NAME_DIGITS].to_owned(), spec }
    }

    /// The object to create.
    pub fn object(&self) -> Value {
        json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1",
            "kind": "NetworkConfigRevision",
            "metadata": {"name": self.name},
            "spec": self.spec,
        })
    }
}

/// The hash of everything in a revision but the hash itself.
fn content_hash(spec: &NetworkConfigRevisionSpec) -> String {
    let mut content = json!(spec);
    if let Some(fields) = content.as_object_mut() {
        fields.remove("revision");
    }
    digest::of_text(&content.to_string())
}

/// The newest revision that no node has refused: by its place in the order of wishes, then by age.
pub fn newest_sound(snapshot: &Snapshot) -> Option<&NetworkConfigRevision> {
    let sound =
        |revision: &&Arc<NetworkConfigRevision>| !revision.status.as_ref().is_some_and(|status| status.is_invalid);
    let order = |revision: &&Arc<NetworkConfigRevision>| {
        let metadata = &revision.metadata;
        let sequence = metadata.annotations.as_ref().and_then(|all| all.get(annotation::SEQUENCE));
        let sequence = sequence.and_then(|text| text.parse::<u64>().ok());
        (sequence, metadata.creation_timestamp.clone(), metadata.name.clone())
    };
    snapshot.revisions.iter().map(|(_, revision)| revision).filter(sound).max_by_key(order).map(Arc::as_ref)
}

#[cfg(test)]
mod tests {
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
    fn the_newest_sound_revision_is_that_of_the_last_wish() {
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
        let object = Revision::of(Vec::new()).object();
        assert!(object["spec"]["revision"].as_str().unwrap().starts_with(object["metadata"]["name"].as_str().unwrap()));
    }
}
