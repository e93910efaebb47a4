//! What a revision freezes, read through its parts.
//!
//! What stands in the revision itself goes before what a part has under the same name, and a later part before an earlier
//! one: that is how a change of one object costs no new part. Whoever needs all of it asks [`Frozen::is_whole`] first:
//! parts and revisions come by different watches.

use std::collections::BTreeMap;

use netloom_api::pipeline::{
    NetworkConfigRevision,
    network_config_revision::{AttachmentRevision, HostNetworkConfigRevision, NodePolicyRevision, VlanConfigRevision},
    network_config_revision_part::NetworkConfigRevisionPartSpec,
};

/// Everything that a revision froze, in the order of names.
#[derive(Debug, Clone, Default)]
pub struct Frozen<'a> {
    /// Policies for the network state of nodes.
    pub node_policies: Vec<&'a NodePolicyRevision>,
    /// Uplinks into cluster networks.
    pub vlan_configs: Vec<&'a VlanConfigRevision>,
    /// VLAN interfaces of nodes.
    pub host_network_configs: Vec<&'a HostNetworkConfigRevision>,
    /// VLANs that pods and machines need.
    pub attachments: Vec<&'a AttachmentRevision>,
    /// Parts that are named and not there.
    pub missing: Vec<&'a str>,
}

impl<'a> Frozen<'a> {
    /// Reads a revision; `part` finds a part by its name.
    pub fn of(
        revision: &'a NetworkConfigRevision,
        mut part: impl FnMut(&str) -> Option<&'a NetworkConfigRevisionPartSpec>,
    ) -> Self {
        let spec = &revision.spec;
        let (mut there, mut missing) = (Vec::new(), Vec::new());
        for name in &spec.parts {
            match part(name) {
                Some(part) => there.push(part),
                None => missing.push(name.as_str()),
            }
        }
        macro_rules! merged {
            ($list:ident, $key:expr) => {{
                let parts = there.iter().flat_map(|part| &part.$list);
                let all: BTreeMap<_, _> = parts.chain(&spec.$list).map(|object| ($key(object), object)).collect();
                all.into_values().collect()
            }};
        }
        Self {
            node_policies: merged!(node_policies, |one: &'a NodePolicyRevision| (&one.namespace, &one.name)),
            vlan_configs: merged!(vlan_configs, |one: &'a VlanConfigRevision| &one.name),
            host_network_configs: merged!(host_network_configs, |one: &'a HostNetworkConfigRevision| &one.name),
            attachments: merged!(attachments, |one: &'a AttachmentRevision| (&one.namespace, &one.name)),
            missing,
        }
    }

    /// Whether nothing of it is missing.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }

    /// A policy as it was frozen.
    pub fn policy(&self, namespace: &str, name: &str) -> Option<&'a NodePolicyRevision> {
        self.node_policies.iter().copied().find(|one| one.namespace == namespace && one.name.0 == name)
    }
}
