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

use crate::{digest, hostnet::Networks, snapshot::Snapshot};

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
    /// The revision that freezes these policies and networks. Equal ones give an equal name, whenever and
    /// wherever it is made.
    pub(crate) fn of(node_policies: Vec<NodePolicyRevision>, networks: &Networks) -> Self {
        let (vlan_configs, host_network_configs, attachments) = networks.freeze();
        let mut spec = NetworkConfigRevisionSpec {
            layer2: Vec::new(),
            vrf: Vec::new(),
            bgp: Vec::new(),
            mirror_targets: Vec::new(),
            mirror_selectors: Vec::new(),
            node_policies,
            vlan_configs,
            host_network_configs,
            attachments,
            revision: String::new(),
        };
        spec.revision = content_hash(&spec);
        Self { name: spec.revision[..NAME_DIGITS].to_owned(), spec }
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        let NetworkConfigRevisionSpec {
            layer2,
            vrf,
            bgp,
            mirror_targets,
            mirror_selectors,
            node_policies,
            vlan_configs,
            host_network_configs,
            attachments,
            revision: _,
        } = &self.spec;
        let fabric = layer2.is_empty() && vrf.is_empty() && bgp.is_empty();
        let mirrors = mirror_targets.is_empty() && mirror_selectors.is_empty();
        let networks = vlan_configs.is_empty() && host_network_configs.is_empty() && attachments.is_empty();
        fabric && mirrors && networks && node_policies.is_empty()
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
    newest_of(snapshot, |revision| !revision.status.as_ref().is_some_and(|status| status.is_invalid))
}

/// The revision that was wished for last.
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
        let nothing = Networks::default();
        assert_eq!(Revision::of(Vec::new(), &nothing), Revision::of(Vec::new(), &nothing));
        assert!(Revision::of(Vec::new(), &nothing).is_empty());
        let object = Revision::of(Vec::new(), &nothing).object();
        assert!(object["spec"]["revision"].as_str().unwrap().starts_with(object["metadata"]["name"].as_str().unwrap()));
    }
}
