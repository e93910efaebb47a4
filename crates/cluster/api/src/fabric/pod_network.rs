//! `PodNetwork`: a `Network` that pods get further addresses from.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    routes::ExtraRoutes,
    selector::LabelSelector,
    text::{Community, ObjectName},
};
use crate::condition::Conditions;

/// Which network pods get, where they get it, and what they reach through it.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "PodNetwork",
    plural = "podnetworks",
    shortname = "podnet",
    status = "PodNetworkStatus",
    derive = "PartialEq",
    doc = "A further network for pods, taken from a Network.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.networkRef"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodNetworkSpec {
    /// The `Network` whose addresses pods get; all of it belongs to them.
    pub network_ref: ObjectName,
    /// The Destinations that pods reach through the network. Without it no VRF is touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<LabelSelector>,
    /// The nodes whose pods get the network; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// Prefixes beyond those of the picked Destinations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub routes: Vec<ExtraRoutes>,
    /// BGP communities on the routes that are exported into VRFs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub communities: Vec<Community>,
}

/// What the controller set up for a pod network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodNetworkStatus {
    /// Whether the pod network is in place.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
