//! `NodeNetworkConfig`: what one node shall have, compiled from everything else.
//!
//! The fabric part (`layer2s`, `clusterVRF`, `fabricVRFs`, `localVRFs`) is rendered into kernel links
//! and FRR; `host` holds links, addresses and routes of the node itself.

pub mod fabric;
pub mod host;
pub mod routing;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    host::{EntryOrigin, HostConfig},
    routing::{FabricVrf, MirrorAcl, Vrf},
};
use crate::fabric::text::{Cidr, Interface, InterfaceAddress, Ip, Mac};

/// The whole network of one node.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "NodeNetworkConfig",
    plural = "nodenetworkconfigs",
    shortname = "nnc",
    status = "NodeNetworkConfigStatus",
    derive = "PartialEq",
    doc = "What one node shall have, compiled by the controller. Named after the node.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Revision", type_ = "string", json_path = ".spec.revision", priority = "1"),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.configStatus"),
    printcolumn(name = "Applied", type_ = "string", json_path = ".status.lastAppliedRevision", priority = "1"),
    printcolumn(name = "Updated", type_ = "date", json_path = ".status.lastUpdate"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.errorMessage", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetworkConfigSpec {
    /// The revision that this was compiled from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub revision: String,
    /// A digest of everything that the revision says for this node, here and in its
    /// `NodeNetworkState`. It changes whenever the node has to report again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub digest: String,
    /// A digest of what policies want of this node, which its `NodeNetworkState` carries too. Only together do the two
    /// objects say what the node shall have, and they are written one after the other. Empty as long as that cannot be
    /// known, because of what somebody wrote there manually.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub state_digest: String,
    /// How often the revision was tried before and failed. A node that is assigned the same revision after another
    /// failure tries it again at once.
    #[serde(default, skip_serializing_if = "super::network_config_revision::is_zero")]
    pub attempt: u32,
    /// Segments by VLAN, written as a decimal number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layer2s: BTreeMap<String, Layer2>,
    /// Routes of the cluster's own VRF.
    #[serde(default, rename = "clusterVRF", skip_serializing_if = "Option::is_none")]
    pub cluster_vrf: Option<Vrf>,
    /// VRFs that the fabric knows, by name.
    #[serde(default, rename = "fabricVRFs", skip_serializing_if = "BTreeMap::is_empty")]
    pub fabric_vrfs: BTreeMap<String, FabricVrf>,
    /// VRFs that exist on this node only, by name.
    #[serde(default, rename = "localVRFs", skip_serializing_if = "BTreeMap::is_empty")]
    pub local_vrfs: BTreeMap<String, Vrf>,
    /// Links, addresses and routes of the node itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostConfig>,
}

impl NodeNetworkConfigSpec {
    /// Whether the network state with this digest is the other half of what the node shall have.
    pub fn belongs_to(&self, state_digest: &str) -> bool {
        !state_digest.is_empty() && state_digest == self.state_digest
    }
}

/// A segment of the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layer2 {
    /// The VXLAN network identifier.
    #[schemars(range(min = 1, max = 16_777_215))]
    pub vni: u32,
    /// The VLAN.
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: u16,
    /// The name of the bridge on the node; `l2.` and the VLAN by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_name: Option<Interface>,
    /// The route target; when empty the routing daemon derives it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 21))]
    pub route_target: String,
    /// The MTU.
    #[schemars(range(min = 1000, max = 9000))]
    pub mtu: u16,
    /// The gateway, when the node routes the segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irb: Option<Irb>,
    /// Whether the node answers ARP and neighbour discovery for remote stations; by default when
    /// there is a gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neigh_suppression: Option<bool>,
    /// Traffic of the segment that is copied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub mirror_acls: Vec<MirrorAcl>,
    /// Whether segmentation offloads are switched off on the VLAN.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_segmentation: bool,
    /// The node's own interface in the segment, `vlan.` and the VLAN; none when the node has no part in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_interface: Option<NodeInterface>,
    /// Who asked for the segment. Earlier versions left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// The interface by which the node itself is a station of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeInterface {
    /// Its addresses; none for an interface that others use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub ip_addresses: Vec<InterfaceAddress>,
    /// Networks that the node reaches through the segment, in its main routing table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub routes: Vec<NodeRoute>,
    /// Who asked for the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// A network that the node reaches through a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRoute {
    /// The network.
    pub destination: Cidr,
    /// The gateway of the segment.
    pub gateway: Ip,
    /// Who asked for the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// The gateway of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Irb {
    /// The VRF that it routes in; when empty that of the cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 15))]
    pub vrf: String,
    /// Its hardware address, the same on every node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<Mac>,
    /// Its addresses.
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "set"))]
    pub ip_addresses: Vec<InterfaceAddress>,
}

/// How far a node has got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetworkConfigStatus {
    /// What the agent is doing.
    #[serde(default)]
    pub config_status: ConfigStatus,
    /// When `configStatus` last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update: Option<Time>,
    /// The revision that was applied last, or tried last while `invalid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// The revision that the node has in place, as far as it knows: that of `lastAppliedRevision`, or while the node is at
    /// work or could not have that one, the revision before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_revision: Option<String>,
    /// The generation that `configStatus` speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Why it is `invalid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The autonomous system of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_number: Option<u32>,
    /// What came of `spec.host.dhcp`: one entry for each link that asks for an address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["link"]))]
    pub leases: Vec<HostLease>,
    /// What somebody changed of `spec.host` and that is left so: one entry for each link. Where drift is repaired, none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["link"]))]
    pub drift: Vec<HostDrift>,
}

/// A link that is not as it was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostDrift {
    /// The link.
    pub link: Interface,
    /// What is not as it was set, for people.
    #[schemars(length(max = 1024))]
    pub message: String,
}

/// What a link that asks for an address was lent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostLease {
    /// The link.
    pub link: Interface,
    /// The address that it has; none while it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<InterfaceAddress>,
    /// The server that lent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Ip>,
    /// When the lease began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acquired: Option<Time>,
    /// When the node asks this server for more time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_at: Option<Time>,
    /// When the node asks any server for more time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebind_at: Option<Time>,
    /// When the address is given up; none for a lease without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// The name servers that the server named (option 6). They are reported, not used: those of a node are its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub name_servers: Vec<Ip>,
    /// The domain that the server named (option 15). It is reported, not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub domain: Option<String>,
    /// What is wrong, also while the address is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<LeaseProblem>,
}

/// The reason of a lease on a link that is down.
pub const LINK_DOWN: &str = "LinkDown";
/// The reason of a lease that no packet can be sent for.
pub const NO_SOCKET: &str = "NoSocket";
/// The reason of a lease that nobody can look after.
pub const NO_THREAD: &str = "NoThread";

/// What is wrong with a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseProblem {
    /// A stable word, such as `DHCPNoOffer`, `DHCPNak`, `DHCPExpired` or `AddressConflict`.
    #[schemars(length(min = 1, max = 64))]
    pub reason: String,
    /// A sentence for users.
    #[schemars(length(max = 1024))]
    pub message: String,
}

/// What an agent does with its configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConfigStatus {
    /// It has not looked yet.
    #[default]
    #[serde(rename = "")]
    Unseen,
    /// It is applying it.
    Provisioning,
    /// It is in place.
    Provisioned,
    /// It was refused or undone.
    Invalid,
}
