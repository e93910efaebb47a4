//! `VRFRouteConfiguration`: what is imported from and exported into one VRF, in the words of the
//! fabric. Several objects may speak of one VRF; they are merged in the order of `seq`.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    selector::LabelSelector,
    text::{Cidr, Community, Interface, RouteTarget, VrfName},
};
use crate::condition::Conditions;

/// A contribution to the routes of one VRF.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "VRFRouteConfiguration",
    plural = "vrfrouteconfigurations",
    shortname = "vrfrc",
    status = "VrfRouteConfigurationStatus",
    derive = "PartialEq",
    doc = "Routes of one VRF, written manually or generated from intents.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "VRF", type_ = "string", json_path = ".spec.vrf"),
    printcolumn(name = "VNI", type_ = "integer", json_path = ".spec.vni"),
    printcolumn(name = "Seq", type_ = "integer", json_path = ".spec.seq", priority = "1"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct VrfRouteConfigurationSpec {
    /// The VRF.
    pub vrf: VrfName,
    /// The VXLAN network identifier of the VRF; counts only together with `routeTarget`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_215))]
    pub vni: Option<u32>,
    /// The BGP route target of the VRF; counts only together with `vni`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route_target: Option<RouteTarget>,
    /// Routes that the cluster's VRF takes from this one.
    #[schemars(length(max = 4096), extend("x-kubernetes-list-type" = "atomic"))]
    pub import: Vec<PrefixItem>,
    /// Routes that this VRF takes from the cluster's and announces to the fabric.
    #[schemars(length(max = 4096), extend("x-kubernetes-list-type" = "atomic"))]
    pub export: Vec<PrefixItem>,
    /// Networks that are announced as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "set"))]
    pub aggregate: Vec<Cidr>,
    /// Sources whose traffic is routed in this VRF.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "set"))]
    pub sbr_prefixes: Vec<Cidr>,
    /// The place of this object among those of its VRF: lower comes first.
    #[schemars(range(min = 1, max = 65_534))]
    pub seq: u16,
    /// One BGP community on exported routes. Use `communities`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub community: Option<Community>,
    /// BGP communities that are added to exported routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub communities: Vec<Community>,
    /// The nodes that this concerns; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// Loopback interfaces in the VRF, made on nodes where a mirror uses them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub loopbacks: Vec<Loopback>,
}

/// Prefixes that are let through or held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrefixItem {
    /// The network.
    pub cidr: Cidr,
    /// The shortest prefix inside the network that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 128))]
    pub ge: Option<u8>,
    /// The longest prefix inside the network that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 128))]
    pub le: Option<u8>,
    /// The place in the list; by default that of the item itself, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4_294_967_295_u32))]
    pub seq: Option<u32>,
    /// What happens to such a route.
    pub action: PrefixAction,
}

/// What happens to a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PrefixAction {
    /// It passes.
    Permit,
    /// It does not.
    Deny,
}

/// A loopback interface with an address for each node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loopback {
    /// The name of the interface.
    pub name: Interface,
    /// The network out of which each node gets an address.
    pub subnet: Cidr,
}

/// What came of it on the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VrfRouteConfigurationStatus {
    /// `Ready`: whether every node that it is for has it.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
