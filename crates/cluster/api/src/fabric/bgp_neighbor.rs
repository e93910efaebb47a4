//! `BGPNeighbor`: a session through which workloads announce addresses of `Inbound`s themselves.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{ObjectName, Span};
use crate::condition::Conditions;

/// What workloads may announce, and the parameters of their session.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "BGPNeighbor",
    plural = "bgpneighbors",
    shortname = "bgpn",
    status = "BgpNeighborStatus",
    derive = "PartialEq",
    doc = "A BGP neighbour through which workloads announce addresses of Inbounds.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Inbounds", type_ = "string", json_path = ".spec.allowedInbounds[*].name"),
    printcolumn(name = "AS", type_ = "string", json_path = ".status.asNumber"),
    printcolumn(name = "Workload AS", type_ = "integer", json_path = ".status.workloadASNumber"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct BgpNeighborSpec {
    /// The Inbounds whose addresses may be announced. Each must have `disableLoadBalancer` set.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub allowed_inbounds: Vec<InboundRef>,
    /// Whether the network between node and workload is announced to the workload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advertise_transfer_network: bool,
    /// How long a session lasts without a word from the other side; 90 seconds by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_time: Option<Span>,
    /// How often a word is sent; 30 seconds by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive_time: Option<Span>,
    /// How many prefixes the workload may announce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub maximum_prefixes: Option<u32>,
    /// The autonomous system of the workload; when empty the cluster chooses one.
    #[serde(default, rename = "workloadAS", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 10), regex(pattern = r"^[0-9]*$"))]
    pub workload_as: String,
}

/// An `Inbound` by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboundRef {
    /// The name of the `Inbound`.
    pub name: ObjectName,
}

/// What the controller set up for a neighbour.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BgpNeighborStatus {
    /// The autonomous system of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_number: Option<String>,
    /// The addresses of the sessions.
    #[serde(default, rename = "neighborIPs", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub neighbor_ips: Vec<String>,
    /// The autonomous system that the workload peers with.
    #[serde(default, rename = "neighborASNumber", skip_serializing_if = "Option::is_none")]
    pub neighbor_as_number: Option<u32>,
    /// The autonomous system of the workload.
    #[serde(default, rename = "workloadASNumber", skip_serializing_if = "Option::is_none")]
    pub workload_as_number: Option<u32>,
    /// The hold time in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_time: Option<Span>,
    /// The keepalive time in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive_time: Option<Span>,
    /// The limit of prefixes in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum_prefixes: Option<u32>,
    /// Whether the neighbour is in place.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
