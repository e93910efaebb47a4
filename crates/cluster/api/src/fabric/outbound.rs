//! `Outbound`: addresses of a `Network` behind which pods reach the outside.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    routes::Addresses,
    selector::LabelSelector,
    text::{Cidr, Community, ObjectName},
};
use crate::condition::Conditions;

/// Which addresses egress gateways translate to, and what is reached through them.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "Outbound",
    plural = "outbounds",
    shortname = "outb",
    status = "OutboundStatus",
    derive = "PartialEq",
    doc = "Egress gateways that translate pods to addresses of a Network.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.networkRef"),
    printcolumn(name = "Count", type_ = "integer", json_path = ".spec.count"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "IPv4", type_ = "string", json_path = ".status.addresses.ipv4", priority = "1"),
    printcolumn(name = "IPv6", type_ = "string", json_path = ".status.addresses.ipv6", priority = "1"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct OutboundSpec {
    /// The `Network` whose addresses are used.
    pub network_ref: ObjectName,
    /// The Destinations into whose VRFs the addresses are exported as host routes; at least one must
    /// match. Without it no VRF is touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<LabelSelector>,
    /// The nodes that take part; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// How many egress gateways run.
    #[serde(default = "one_replica")]
    #[schemars(range(min = 1, max = 1024))]
    pub replicas: u32,
    /// How many addresses of each family to take out of the network: more than `replicas`, so that a
    /// gateway can be replaced. Excludes `addresses`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub count: Option<u32>,
    /// The addresses themselves. Excludes `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Addresses>,
    /// What pods reach through the gateways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "set"))]
    pub egress_destinations: Vec<Cidr>,
    /// Exports the single addresses only, and not the network that they come from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_aggregation: bool,
    /// BGP communities on the routes that are exported into VRFs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub communities: Vec<Community>,
}

/// What the controller set up for an outbound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutboundStatus {
    /// The addresses in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Addresses>,
    /// Whether the outbound is in place.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}

fn one_replica() -> u32 {
    1
}
