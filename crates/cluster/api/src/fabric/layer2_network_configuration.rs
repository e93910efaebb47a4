//! `Layer2NetworkConfiguration`: one VXLAN segment, in the words of the fabric.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    selector::LabelSelector,
    text::{Interface, InterfaceAddress, Mac, VrfName},
};
use crate::condition::Conditions;

/// A segment: its ids, its gateway and the nodes that have it.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "Layer2NetworkConfiguration",
    plural = "layer2networkconfigurations",
    shortname = "layer2",
    status = "Layer2NetworkConfigurationStatus",
    derive = "PartialEq",
    doc = "One VXLAN segment of the fabric, written manually or generated from a Layer2Attachment.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "VLAN", type_ = "integer", json_path = ".spec.id"),
    printcolumn(name = "Gateway", type_ = "string", json_path = ".spec.anycastGateways"),
    printcolumn(name = "VRF", type_ = "string", json_path = ".spec.vrf"),
    printcolumn(name = "VNI", type_ = "integer", json_path = ".spec.vni", priority = "10"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct Layer2NetworkConfigurationSpec {
    /// The VLAN of the segment on the nodes.
    #[schemars(range(min = 1, max = 4094))]
    pub id: u16,
    /// The MTU of bridge, VXLAN and VLAN.
    #[schemars(range(min = 1000, max = 9000))]
    pub mtu: u16,
    /// The VXLAN network identifier of the segment.
    #[schemars(range(min = 1, max = 16_777_215))]
    pub vni: u32,
    /// The name of the bridge on the nodes, which begins with `l2.`; `l2.` and the VLAN by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_name: Option<Interface>,
    /// The hardware address of the gateway, the same on every node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anycast_mac: Option<Mac>,
    /// The addresses of the gateway with the length of their network; none means that the nodes do
    /// not route the segment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub anycast_gateways: Vec<InterfaceAddress>,
    /// The VRF of the gateway; that of the cluster by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<VrfName>,
    /// Whether nodes answer ARP and neighbour discovery on behalf of remote stations; by default when
    /// there is a gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neigh_suppression: Option<bool>,
    /// Whether learned neighbours are announced as host routes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advertise_neighbors: bool,
    /// Whether nodes get a macvlan interface of their own in the segment.
    #[serde(default, rename = "createMacVLANInterface", skip_serializing_if = "std::ops::Not::not")]
    pub create_macvlan_interface: bool,
    /// Whether segmentation offloads are switched off on the VLAN.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_segmentation: bool,
    /// The nodes that have the segment; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
}

/// What came of it on the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layer2NetworkConfigurationStatus {
    /// `Ready`: whether every node that it is for has it.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
