//! `Collector`: where mirrored traffic goes; stated once and referred to by name.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Ip, ObjectName};
use crate::condition::Conditions;

/// The far end of a mirror tunnel, and the VRF that the tunnel runs in.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "Collector",
    plural = "collectors",
    status = "CollectorStatus",
    derive = "PartialEq",
    doc = "The far end of mirror tunnels and the VRF that they run in.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Address", type_ = "string", json_path = ".spec.address"),
    printcolumn(name = "Protocol", type_ = "string", json_path = ".spec.protocol"),
    printcolumn(name = "VRF", type_ = "string", json_path = ".spec.mirrorVRF.name"),
    printcolumn(name = "Interface", type_ = "string", json_path = ".status.greInterface", priority = "1"),
    printcolumn(name = "References", type_ = "integer", json_path = ".status.referenceCount", priority = "1"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.activeNodes"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct CollectorSpec {
    /// The address of the collector.
    pub address: Ip,
    /// What the tunnel carries.
    pub protocol: GreKind,
    /// The key of the tunnel, when the collector wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<u32>,
    /// The VRF that the tunnel runs in; it must have a loopback for the near end of the tunnel.
    #[serde(rename = "mirrorVRF")]
    pub mirror_vrf: MirrorVrf,
}

/// What a GRE tunnel carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GreKind {
    /// Packets.
    L3gre,
    /// Whole frames.
    L2gre,
}

/// A `VRF` by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorVrf {
    /// The name of the `VRF` object.
    pub name: ObjectName,
}

/// What the controller set up for a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectorStatus {
    /// The name of the tunnel's interface on the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gre_interface: Option<String>,
    /// How many mirrors refer to this collector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub reference_count: Option<i32>,
    /// On how many nodes the tunnel is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub active_nodes: Option<i32>,
    /// Whether the collector is usable.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
