//! `MirrorTarget`: the far end of a mirror tunnel, in the words of the fabric.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    collector::GreKind,
    text::{Interface, Ip, VrfName},
};
use crate::condition::Conditions;

/// A tunnel: its ends and what it carries.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "MirrorTarget",
    plural = "mirrortargets",
    status = "MirrorTargetStatus",
    derive = "PartialEq",
    doc = "The far end of a mirror tunnel, written manually or generated from a Collector.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Destination", type_ = "string", json_path = ".spec.destinationIP"),
    printcolumn(name = "VRF", type_ = "string", json_path = ".spec.destinationVrf"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.activeNodes"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct MirrorTargetSpec {
    /// What the tunnel carries.
    #[serde(rename = "type")]
    pub kind: GreKind,
    /// The address of the far end.
    #[serde(rename = "destinationIP")]
    pub destination_ip: Ip,
    /// The key of the tunnel, when the far end wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<u32>,
    /// The VRF that the tunnel runs in.
    pub destination_vrf: VrfName,
    /// The loopback of that VRF whose address is the near end.
    pub source_loopback: Interface,
}

/// Where the tunnel is up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirrorTargetStatus {
    /// How many selectors send copies here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub active_selectors: Option<i32>,
    /// On how many nodes the tunnel is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub active_nodes: Option<i32>,
    /// Whether the tunnel is set up.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
