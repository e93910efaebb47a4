//! `Inbound`: addresses of a `Network` under which services are reached from outside.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    routes::Addresses,
    selector::LabelSelector,
    text::{Community, ObjectName},
};
use crate::condition::Conditions;

/// Which addresses are offered, where they are reachable from, and how they are announced.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "Inbound",
    plural = "inbounds",
    shortname = "inb",
    status = "InboundStatus",
    derive = "PartialEq",
    doc = "Addresses of a Network for services, announced to VRFs or to the local network.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.networkRef"),
    printcolumn(name = "Count", type_ = "integer", json_path = ".spec.count"),
    printcolumn(name = "Pool", type_ = "string", json_path = ".status.poolName"),
    printcolumn(name = "Advertisement", type_ = "string", json_path = ".spec.advertisement.type"),
    printcolumn(name = "IPv4", type_ = "string", json_path = ".status.addresses.ipv4", priority = "1"),
    printcolumn(name = "IPv6", type_ = "string", json_path = ".status.addresses.ipv6", priority = "1"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct InboundSpec {
    /// The `Network` whose addresses are used.
    pub network_ref: ObjectName,
    /// The Destinations into whose VRFs the addresses are exported as host routes. Without it no VRF
    /// is touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<LabelSelector>,
    /// The nodes that take part; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// How many addresses of each family to take out of the network. Excludes `addresses`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub count: Option<u32>,
    /// The addresses themselves. Excludes `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Addresses>,
    /// The name of the load balancer's address pool; that of this object by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub pool_name: Option<String>,
    /// The class of a load balancer that the tenant runs in place of the cluster's. Only for the fabric
    /// flavour `legacy-frr`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub tenant_load_balancer_class: Option<String>,
    /// Leaves address pool and advertisement out, because workloads announce the addresses themselves
    /// through a `BGPNeighbor`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_load_balancer: bool,
    /// How the load balancer announces the addresses.
    #[serde(default)]
    pub advertisement: Advertisement,
    /// Exports the single addresses only, and not the network that they come from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_aggregation: bool,
    /// BGP communities on the routes that are exported into VRFs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub communities: Vec<Community>,
}

/// How addresses are announced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Advertisement {
    /// The protocol.
    #[serde(default, rename = "type")]
    pub kind: AdvertisementKind,
}

/// The protocol of an announcement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AdvertisementKind {
    /// BGP sessions of the load balancer.
    #[default]
    Bgp,
    /// ARP and neighbour discovery of one node at a time.
    L2,
}

/// What the controller set up for an inbound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboundStatus {
    /// The addresses in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Addresses>,
    /// The name of the address pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_name: Option<String>,
    /// Whether the inbound is in place.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
