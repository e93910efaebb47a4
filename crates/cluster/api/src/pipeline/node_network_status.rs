//! `NodeNetworkStatus`: what a node has, as its agent reports it. Nobody asks for anything here.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Conditions,
    fabric::text::{InterfaceAddress, Ip},
};

/// Empty: everything is reported in `status`.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "NodeNetworkStatus",
    plural = "nodenetworkstatuses",
    shortname = "nnst",
    status = "NodeNetworkStatusStatus",
    derive = "PartialEq",
    doc = "The interfaces, addresses and routes of a node, reported by its agent. Named after the node.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Updated", type_ = "date", json_path = ".status.lastUpdated"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct NodeNetworkStatusSpec {}

/// What a node has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetworkStatusStatus {
    /// The interfaces of the host, by name; those of pods are left out.
    // One list with one writer: field by field, the server would keep more about who wrote it than it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub interfaces: Vec<NodeInterface>,
    /// The routes of the host; those to single pods and link-local ones are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub routes: Vec<NodeRoute>,
    /// Present while a libvirt answers on the node, so that it can have virtual machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libvirt: Option<NodeLibvirt>,
    /// The BGP sessions of the node's routing daemons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub sessions: Vec<NodeSession>,
    /// The VNIs that its routing daemons know a device of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub vnis: Vec<NodeVni>,
    /// When the agent reported this. It reports what has changed, and nothing while nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// `Ready` when everything is listed; `LibvirtAvailable` on a node for virtual machines, when its libvirt answers.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}

/// The libvirt of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeLibvirt {
    /// Where others reach it to bring a machine here; absent where none may come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub migrate_in: Option<String>,
    /// Where the memory of such a machine goes; absent: libvirt decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub migrate_data: Option<String>,
}

/// An interface of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeInterface {
    /// Its name.
    #[schemars(length(min = 1, max = 15))]
    pub name: String,
    /// The kernel's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The bond, bridge or VRF that it is a port of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 15))]
    pub controller: Option<String>,
    /// Whether it takes packets for others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promiscuous: bool,
    /// Its hardware address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Its MTU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether it can carry packets: `up`, `down`, or another word of the kernel.
    #[schemars(length(min = 1, max = 32))]
    pub state: String,
    /// What it is, such as `bond` or `vlan`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The interfaces that a bond is made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub members: Vec<String>,
    /// The interface that a VLAN stands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The id of a VLAN.
    #[serde(default, rename = "vlanID", skip_serializing_if = "Option::is_none")]
    pub vlan_id: Option<u16>,
    /// `netloom` when an agent made it; absent for what somebody else did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub made_by: Option<String>,
    /// Its addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub addresses: Vec<InterfaceAddress>,
}

/// A route of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRoute {
    /// Where it leads.
    pub destination: InterfaceAddress,
    /// The gateway, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Ip>,
    /// The interface that packets leave by.
    pub interface: String,
    /// The routing table, such as `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
}

/// A BGP session of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSession {
    /// The VRF; `default` where there is none.
    pub vrf: String,
    /// The neighbour: an address, or the name of an interface.
    pub peer: String,
    /// Its autonomous system, once one is known.
    #[serde(default, rename = "remoteASN", skip_serializing_if = "Option::is_none")]
    pub remote_asn: Option<u32>,
    /// How far it is.
    pub state: SessionState,
    /// Since when it is established, or not; absent if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// How often it was established since the routing daemon started.
    #[serde(default)]
    pub established: u32,
    /// What is exchanged, by family. Numbers are those of `lastUpdated`: one that changes is no reason to report again, but the
    /// first prefix and the loss of the last one are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub prefixes: Vec<SessionPrefixes>,
    /// Whether the neighbour answers BFD; absent where it is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<BfdState>,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SessionState {
    /// Routes are exchanged.
    Established,
    /// It is being built up, or waited for.
    Down,
    /// It is off by configuration.
    Shutdown,
    /// It is off because the neighbour sent more prefixes than it may.
    PrefixLimit,
}

/// Whether a neighbour answers BFD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BfdState {
    /// It does.
    Up,
    /// It does not.
    Down,
}

/// What is exchanged for one family of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPrefixes {
    /// The family, such as `ipv4Unicast` or `l2VpnEvpn`.
    pub family: String,
    /// Taken from the neighbour, after filters.
    pub received: u32,
    /// Sent to it.
    pub sent: u32,
}

/// A VNI of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeVni {
    /// The VNI.
    pub vni: u32,
    /// What it is for.
    #[serde(rename = "type")]
    pub kind: VniType,
    /// The VRF that it belongs to; `default` where there is none.
    pub vrf: String,
    /// Its VXLAN interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Whether it carries packets.
    pub up: bool,
    /// Of a segment, how many other ends it had when this was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remotes: Option<u32>,
}

/// What a VNI is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VniType {
    /// A segment.
    L2,
    /// The routes of a VRF.
    L3,
}
