//! What a revision freezes, and how it is named.

use std::sync::Arc;

use netloom_api::fabric::{
    NetworkConfigRevision,
    network_config_revision::{NetworkConfigRevisionSpec, NodePolicyRevision},
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

/// The newest revision that no node has refused.
pub fn newest_sound(snapshot: &Snapshot) -> Option<&NetworkConfigRevision> {
    let sound =
        |revision: &&Arc<NetworkConfigRevision>| !revision.status.as_ref().is_some_and(|status| status.is_invalid);
    let age = |revision: &&Arc<NetworkConfigRevision>| {
        (revision.metadata.creation_timestamp.clone(), revision.metadata.name.clone())
    };
    snapshot.revisions.iter().map(|(_, revision)| revision).filter(sound).max_by_key(age).map(Arc::as_ref)
}
