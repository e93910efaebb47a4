//! `BGPPeering`: sessions with workloads, in the words of the fabric.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    selector::LabelSelector,
    text::{Ip, ObjectName, Span},
    vrf_route_configuration::PrefixItem,
};
use crate::condition::Conditions;

/// With whom the nodes speak BGP, and what is exchanged.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "BGPPeering",
    plural = "bgppeerings",
    status = "BgpPeeringStatus",
    derive = "PartialEq",
    doc = "BGP sessions with workloads, written manually or generated from intents.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "VLAN", type_ = "string", json_path = ".spec.peeringVlan.name"),
    printcolumn(name = "Loopbacks", type_ = "string", json_path = ".spec.loopbackPeer.ips", priority = "1"),
    printcolumn(name = "Remote AS", type_ = "integer", json_path = ".spec.remoteASN"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct BgpPeeringSpec {
    /// Sessions from anywhere in a segment. Excludes `loopbackPeer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peering_vlan: Option<PeeringVlan>,
    /// Sessions with addresses of the node's own loopback. Excludes `peeringVlan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loopback_peer: Option<LoopbackPeer>,
    /// The autonomous system of the workloads.
    #[serde(rename = "remoteASN")]
    #[schemars(range(min = 1, max = 4_294_967_294_u32))]
    pub remote_asn: u32,
    /// Whether dead sessions are found by BFD.
    #[serde(rename = "enableBFD")]
    pub enable_bfd: bool,
    /// How many prefixes a workload may announce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub maximum_prefixes: Option<u32>,
    /// How long a session lasts without a word from the other side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_time: Option<Span>,
    /// How often a word is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive_time: Option<Span>,
    /// What is taken from the workloads.
    #[schemars(length(max = 4096), extend("x-kubernetes-list-type" = "atomic"))]
    pub import: Vec<PrefixItem>,
    /// What is announced to the workloads.
    #[schemars(length(max = 4096), extend("x-kubernetes-list-type" = "atomic"))]
    pub export: Vec<PrefixItem>,
    /// The nodes that this concerns; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
}

/// A segment in which workloads may open sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeeringVlan {
    /// The name of the `Layer2NetworkConfiguration`.
    pub name: ObjectName,
}

/// Sessions over loopback addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopbackPeer {
    /// The addresses of the other side.
    #[schemars(length(min = 1, max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub ips: Vec<Ip>,
}

/// What came of it on the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BgpPeeringStatus {
    /// `Ready`: whether every node that it is for has it.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
