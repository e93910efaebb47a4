//! `VRF`: the identity of a backbone VRF, stated once and referred to by name.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Cidr, Interface, RouteTarget, VrfName};
use crate::condition::Conditions;

/// What a backbone VRF is called and how it is found in the overlay.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "VRF",
    plural = "vrfs",
    status = "VrfStatus",
    derive = "PartialEq",
    doc = "A backbone VRF: its name, its overlay parameters and its loopback interfaces.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "VRF", type_ = "string", json_path = ".spec.vrf"),
    printcolumn(name = "VNI", type_ = "integer", json_path = ".spec.vni"),
    printcolumn(name = "Route Target", type_ = "string", json_path = ".spec.routeTarget"),
    printcolumn(name = "References", type_ = "integer", json_path = ".status.referenceCount", priority = "1"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct VrfSpec {
    /// The name of the VRF in the backbone and on the nodes. It cannot change.
    pub vrf: VrfName,
    /// The VXLAN network identifier of the VRF; without it the operator configuration must have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_215))]
    pub vni: Option<u32>,
    /// The BGP route target of the VRF, such as `64500:10100`; without it the operator configuration
    /// must have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route_target: Option<RouteTarget>,
    /// Loopback interfaces in the VRF that have an address of their own on each node, as the source
    /// of mirror tunnels needs one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub loopbacks: Vec<VrfLoopback>,
}

/// A loopback interface of a VRF; its addresses come from `poolRef` or from `subnet`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VrfLoopback {
    /// The name of the interface on the nodes, such as `lo.mir`.
    pub name: Interface,
    /// The Cluster API address pool from which each node claims an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_ref: Option<PoolRef>,
    /// The network out of which each node gets an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<Cidr>,
}

/// An address pool of Cluster API's IPAM contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolRef {
    /// The API group of the pool, such as `ipam.cluster.x-k8s.io`.
    #[schemars(length(min = 1, max = 253))]
    pub api_group: String,
    /// The kind of the pool, such as `InClusterIPPool`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// The name of the pool.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What the controller found out about a VRF.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VrfStatus {
    /// How many Destinations and Collectors refer to this VRF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub reference_count: Option<i32>,
    /// Whether the VRF is usable.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
