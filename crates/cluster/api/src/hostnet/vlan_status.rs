//! `VlanStatus`: one cluster network on one node.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    definition::Declared,
    effects::{Effect, FieldEffect, field},
    hostnet::HostCondition,
};

/// A report has no desired state.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.harvesterhci.io",
    version = "v1beta1",
    kind = "VlanStatus",
    plural = "vlanstatuses",
    shortname = "vs",
    shortname = "vss",
    category = "netloom",
    doc = "Reports how one node is connected to one cluster network. The controller keeps one for each node that a VlanConfig matches.",
    no_spec,
    status = "VlanStatusStatus",
    printcolumn(name = "ClusterNetwork", type_ = "string", json_path = ".status.clusterNetwork"),
    printcolumn(name = "VlanConfig", type_ = "string", json_path = ".status.vlanConfig"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.node"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"ready\")].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
pub struct VlanStatusSpec {}

/// How the node is connected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VlanStatusStatus {
    /// The cluster network.
    #[serde(default)]
    pub cluster_network: String,
    /// The `VlanConfig` that connects the node.
    #[serde(default)]
    pub vlan_config: String,
    /// The `LinkMonitor` that lists the devices; called like the cluster network.
    #[serde(default)]
    pub link_monitor: String,
    /// The node.
    #[serde(default)]
    pub node: String,
    /// The generation of the `VlanConfig` that the conditions speak of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Kept for objects of older releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub local_areas: Vec<LocalArea>,
    /// `ready` is true when bond and bridge are as the `VlanConfig` wants them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<HostCondition>,
}

/// A network behind a VLAN, in objects of older releases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalArea {
    /// The VLAN.
    #[serde(default, rename = "vlanID")]
    pub vlan_id: u16,
    /// Its network.
    #[serde(default)]
    pub cidr: String,
}

impl Declared for VlanStatus {
    const STATUS_SUBRESOURCE: bool = false;
    const EDITABLE: bool = false;
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const CONTROLLER: &[Effect] = &[Effect::Status("controller: from the node's report")];
const LEGACY: &[Effect] = &[Effect::Reserved("legacy and unused; kept so that objects of older releases keep it")];

const EFFECTS: &[FieldEffect] = &[
    field("status", CONTROLLER),
    field(
        "status.clusterNetwork",
        &[
            Effect::Status("controller: from the node's report"),
            Effect::Admission("a HostNetworkConfig needs one such object of its cluster network"),
        ],
    ),
    field("status.vlanConfig", CONTROLLER),
    field("status.linkMonitor", CONTROLLER),
    field("status.node", CONTROLLER),
    field("status.observedGeneration", &[Effect::Status("controller: from the VlanConfig")]),
    field("status.localAreas", LEGACY),
    field("status.localAreas.**", LEGACY),
    field(
        "status.conditions",
        &[
            Effect::Status("controller: from the node's report"),
            Effect::Admission("a HostNetworkConfig is refused while one of its cluster network is not ready"),
        ],
    ),
    field("status.conditions.**", CONTROLLER),
];
