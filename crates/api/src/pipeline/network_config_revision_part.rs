//! `NetworkConfigRevisionPart`: a share of what revisions freeze, under its hash.
//!
//! A server stores objects up to a size, and one revision may freeze more than fits into one. What does not fit stands in
//! parts; a part belongs to every revision that names it.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network_config_revision::{
    AttachmentRevision, HostNetworkConfigRevision, NodePolicyRevision, VlanConfigRevision,
};

/// Frozen objects that revisions share. It cannot change.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "NetworkConfigRevisionPart",
    plural = "networkconfigrevisionparts",
    shortname = "ncrp",
    derive = "PartialEq",
    doc = "Frozen objects that revisions share. Named after the SHA-256 of its content.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct NetworkConfigRevisionPartSpec {
    /// Policies for the network state of nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub node_policies: Vec<NodePolicyRevision>,
    /// Uplinks into cluster networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub vlan_configs: Vec<VlanConfigRevision>,
    /// VLAN interfaces of nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub host_network_configs: Vec<HostNetworkConfigRevision>,
    /// VLANs that pods and machines need on uplinks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub attachments: Vec<AttachmentRevision>,
}
