//! VRFs of a node: routes, filters, sessions, mirrors and tunnels.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::EntryOrigin;
use crate::fabric::{
    mirror_selector::AclDirection,
    text::{Cidr, Community, InterfaceAddress, Ip, RouteTarget, Span},
    traffic_mirror::TrafficMatch,
};

/// What a VRF holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Vrf {
    /// Loopback interfaces by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub loopbacks: BTreeMap<String, LoopbackAddresses>,
    /// BGP sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub bgp_peers: Vec<BgpPeer>,
    /// What is taken from other VRFs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub vrf_imports: Vec<VrfImport>,
    /// Static routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub static_routes: Vec<StaticRoute>,
    /// Routes by what a packet looks like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub policy_routes: Vec<PolicyRoute>,
    /// Traffic that is copied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub mirror_acls: Vec<MirrorAcl>,
    /// Which connected and static routes BGP announces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redistribute: Option<Redistribute>,
    /// Mirror tunnels by interface name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gres: BTreeMap<String, Gre>,
    /// Who asked for the VRF. Earlier versions left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// A VRF that the fabric knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FabricVrf {
    /// What it holds.
    #[serde(flatten)]
    pub vrf: Vrf,
    /// The VXLAN network identifier.
    #[schemars(range(min = 1, max = 16_777_215))]
    pub vni: u32,
    /// Route targets whose routes are taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub evpn_import_route_targets: Vec<RouteTarget>,
    /// Route targets that announced routes carry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub evpn_export_route_targets: Vec<RouteTarget>,
    /// Which routes are announced to the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evpn_export_filter: Option<Filter>,
}

/// Addresses of a loopback interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopbackAddresses {
    /// The addresses.
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "set"))]
    pub ip_addresses: Vec<InterfaceAddress>,
}

/// Which routes pass, and what is changed on them; the first item that fits decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Filter {
    /// The items, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub items: Vec<FilterItem>,
    /// What happens to a route that no item fits.
    pub default_action: Action,
}

/// One item of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilterItem {
    /// Which routes it fits; all of them when it says nothing.
    #[serde(default)]
    pub matcher: Matcher,
    /// What happens to them.
    pub action: Action,
    /// Who asked for the item. Earlier versions left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// Which routes an item fits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Matcher {
    /// By prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<PrefixMatcher>,
    /// By BGP community.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bgp_community: Option<CommunityMatcher>,
}

/// Prefixes inside a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrefixMatcher {
    /// The network.
    pub prefix: Cidr,
    /// The shortest prefix that fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 128))]
    pub ge: Option<u8>,
    /// The longest prefix that fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 128))]
    pub le: Option<u8>,
}

/// Routes with a BGP community.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommunityMatcher {
    /// The community.
    pub community: Community,
    /// Whether the route may carry no other one.
    #[serde(default)]
    pub exact_match: bool,
}

/// What happens to a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// Whether it passes.
    #[serde(rename = "type")]
    pub kind: ActionKind,
    /// What is changed on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modify_route: Option<ModifyRoute>,
}

/// Whether a route passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActionKind {
    /// It passes.
    Accept,
    /// It does not.
    Reject,
    /// The next item that fits decides.
    Next,
}

/// What is changed on a route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModifyRoute {
    /// Communities that it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub add_communities: Vec<Community>,
    /// Whether it keeps those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additive_communities: Option<bool>,
    /// Communities that it loses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub remove_communities: Vec<Community>,
    /// Whether it loses all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove_all_communities: Option<bool>,
}

/// A BGP session: with `address`, or with anybody in `listenRange`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BgpPeer {
    /// The address of the other side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Ip>,
    /// The network from which sessions are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_range: Option<Cidr>,
    /// The autonomous system of the other side.
    #[schemars(range(min = 1))]
    pub remote_asn: u32,
    /// IPv4 routes, when they are exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<AddressFamily>,
    /// IPv6 routes, when they are exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<AddressFamily>,
    /// How dead sessions are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd_profile: Option<BfdProfile>,
    /// How many hops away the other side may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub multihop: Option<u8>,
    /// How long a session lasts without a word; 90 seconds by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_time: Option<Span>,
    /// How often a word is sent; 30 seconds by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive_time: Option<Span>,
    /// The password of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 80))]
    pub password: Option<String>,
    /// Who asked for the session. Earlier versions left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// What is exchanged of one address family.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressFamily {
    /// What is announced to the other side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export_filter: Option<Filter>,
    /// What is taken from the other side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import_filter: Option<Filter>,
    /// How many prefixes are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_prefixes: Option<u32>,
}

/// How dead neighbours are found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BfdProfile {
    /// The time between two packets, in milliseconds.
    #[schemars(range(min = 50, max = 60_000))]
    pub min_interval: u32,
}

/// Routes that are taken from another VRF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VrfImport {
    /// The other VRF.
    #[schemars(length(min = 1, max = 15))]
    pub from_vrf: String,
    /// Which routes.
    pub filter: Filter,
    /// Who asked for it first. Earlier versions left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// A static route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticRoute {
    /// Where it leads.
    pub prefix: Cidr,
    /// The way; without it packets are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<RouteNextHop>,
    /// How a dead next hop is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd_profile: Option<BfdProfile>,
    /// Who asked for the route. Earlier versions left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// The way of a route: an address, another VRF, or an address in another VRF.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteNextHop {
    /// The address of the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Ip>,
    /// The VRF in which the way goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 15))]
    pub vrf: Option<String>,
}

/// A route for packets that look a certain way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRoute {
    /// Which packets.
    pub traffic_match: TrafficMatch,
    /// Their way.
    pub next_hop: RouteNextHop,
    /// Who asked for the route. Earlier versions left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EntryOrigin>,
}

/// Traffic that is copied into a tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirrorAcl {
    /// Which packets; all of them when it says nothing.
    #[serde(default)]
    pub traffic_match: TrafficMatch,
    /// The interface of the tunnel.
    #[schemars(length(min = 1, max = 15))]
    pub mirror_destination: String,
    /// Which way the packets go, as the workload sees it.
    pub direction: AclDirection,
}

/// Which routes BGP announces that it did not learn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redistribute {
    /// Which networks of interfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected: Option<Filter>,
    /// Which static routes.
    #[serde(default, rename = "static", skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Filter>,
}

/// A mirror tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gre {
    /// The address of the near end.
    pub source_address: Ip,
    /// The loopback interface that has it.
    #[schemars(length(min = 1, max = 15))]
    pub source_interface: String,
    /// The address of the far end.
    pub destination_address: Ip,
    /// What the tunnel carries.
    #[serde(default)]
    pub layer: GreLayer,
    /// The key of the tunnel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encapsulation_key: Option<u32>,
}

/// What a tunnel carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GreLayer {
    /// Whole frames.
    Layer2,
    /// Packets.
    #[default]
    Layer3,
}
