//! `Layer2Attachment`: a `Network` brought to nodes as a layer 2 segment.
//!
//! Without `interfaceRef` the segment is a VXLAN of the fabric; with it, a VLAN on an interface that
//! the node already has.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    routes::ExtraRoutes,
    selector::LabelSelector,
    text::{Cidr, Community, Interface, Mac, ObjectName, Span},
};
use crate::condition::Conditions;

/// Which network is attached where, and how.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "Layer2Attachment",
    plural = "layer2attachments",
    shortname = "l2a",
    status = "Layer2AttachmentStatus",
    derive = "PartialEq",
    doc = "Brings a Network to nodes as a layer 2 segment, over the fabric or on an existing interface.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.networkRef"),
    printcolumn(name = "Interface", type_ = "string", json_path = ".spec.interfaceName"),
    printcolumn(name = "On", type_ = "string", json_path = ".spec.interfaceRef"),
    printcolumn(name = "MTU", type_ = "integer", json_path = ".spec.mtu", priority = "1"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct Layer2AttachmentSpec {
    /// The `Network` that is attached.
    pub network_ref: ObjectName,
    /// The Destinations that are reachable through the attachment. Without it the segment is not
    /// routed by us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<LabelSelector>,
    /// The nodes that get the segment; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// The name of the interface on the nodes. Over the fabric it is a suffix, so that `xyz` becomes
    /// `l2.xyz`; on an existing interface it is the whole name, `vlan.<id>` by default. It cannot
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_name: Option<Interface>,
    /// An interface that the nodes already have (a bond, a card, an SR-IOV physical function). The
    /// VLAN is set up on it, and no VXLAN is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_ref: Option<Interface>,
    /// The largest packet of the segment, in bytes.
    #[serde(default = "usual_mtu")]
    #[schemars(range(min = 1000, max = 9000))]
    pub mtu: u16,
    /// Leaves the anycast gateway out. `disableNeighborSuppression` must then be `true` too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_anycast: bool,
    /// Lets ARP and neighbour discovery pass through the VXLAN instead of answering on the node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_neighbor_suppression: bool,
    /// The hardware address of the anycast gateway; without it one is derived that is the same on
    /// all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anycast_mac: Option<Mac>,
    /// BGP sessions with workloads in the segment; not for SR-IOV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bgp: Option<AttachmentBgp>,
    /// SR-IOV; a plain `true` or `false` is taken for `{enabled: …}`. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "sriov_or_bool")]
    pub sriov: Option<Sriov>,
    /// Addresses of the nodes themselves in the segment.
    #[serde(default, rename = "nodeIPs", skip_serializing_if = "Option::is_none")]
    pub node_ips: Option<NodeIps>,
    /// Prefixes beyond those of the picked Destinations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub routes: Vec<ExtraRoutes>,
    /// BGP communities on the routes that are exported from this attachment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub communities: Vec<Community>,
}

/// BGP sessions between the nodes and workloads of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentBgp {
    /// Whether the nodes listen for sessions from the segment.
    #[serde(default)]
    pub enabled: bool,
    /// Whether the network of the segment is announced to the workloads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advertise_transfer_network: bool,
    /// How long a session lasts without a word from the other side; 90 seconds by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_time: Option<Span>,
    /// How often a word is sent; 30 seconds by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive_time: Option<Span>,
    /// How many prefixes a workload may announce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub maximum_prefixes: Option<u32>,
    /// The autonomous system of the workloads; when empty the cluster chooses one.
    #[serde(default, rename = "workloadAS", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 10), regex(pattern = r"^[0-9]*$"))]
    pub workload_as: String,
}

/// Whether SR-IOV is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sriov {
    /// Whether workloads reach the segment through SR-IOV virtual functions.
    #[serde(default)]
    pub enabled: bool,
}

/// How nodes get addresses of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeIps {
    /// Whether every node gets an address.
    #[serde(default)]
    pub enabled: bool,
    /// How many addresses at the end of the network are kept for pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_048_576))]
    pub reserved_for_pods: Option<u32>,
    /// Parts of the network in which no node gets an address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub reserved_ranges: Vec<Cidr>,
}

/// What the controller set up for an attachment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layer2AttachmentStatus {
    /// The VLAN that SR-IOV devices must use.
    #[serde(default, rename = "sriovVlanID", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub sriov_vlan_id: Option<u16>,
    /// The anycast gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anycast: Option<AnycastStatus>,
    /// The Destinations that the selector picks now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub matched_destinations: Vec<String>,
    /// Whether the attachment is in place.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}

/// The anycast gateway of a segment: the same on every node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnycastStatus {
    /// Its hardware address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Its IPv6 address with prefix length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Its IPv4 address with prefix length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gatewayv4: Option<String>,
}

impl Layer2AttachmentSpec {
    /// Whether workloads use SR-IOV.
    pub fn uses_sriov(&self) -> bool {
        self.sriov.as_ref().is_some_and(|sriov| sriov.enabled)
    }

    /// Whether the segment is a VXLAN of the fabric rather than a VLAN on an existing interface.
    pub fn over_fabric(&self) -> bool {
        self.interface_ref.is_none()
    }

    /// Whether nodes get addresses.
    pub fn gives_node_ips(&self) -> bool {
        self.node_ips.as_ref().is_some_and(|ips| ips.enabled)
    }

    /// Whether the nodes listen for BGP sessions.
    pub fn listens_for_bgp(&self) -> bool {
        self.bgp.as_ref().is_some_and(|bgp| bgp.enabled)
    }
}

fn usual_mtu() -> u16 {
    1500
}

fn sriov_or_bool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sriov>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Bare(bool),
        Whole(Sriov),
    }
    Ok(Option::<Either>::deserialize(deserializer)?.map(|either| match either {
        Either::Bare(enabled) => Sriov { enabled },
        Either::Whole(sriov) => sriov,
    }))
}
