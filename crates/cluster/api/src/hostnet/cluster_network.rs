//! `ClusterNetwork`: a layer-2 domain by name.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    definition::Declared,
    effects::{Effect, FieldEffect, field},
    hostnet::HostCondition,
};

/// A cluster network has a name and no other desired state.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.harvesterhci.io",
    version = "v1beta1",
    kind = "ClusterNetwork",
    plural = "clusternetworks",
    shortname = "cn",
    shortname = "cns",
    category = "netloom",
    doc = "A layer-2 domain that nodes share. VlanConfigs connect nodes to it; HostNetworkConfigs give nodes addresses in its VLANs. The name has at most 12 characters, because devices are named after it.",
    no_spec,
    status = "ClusterNetworkStatus",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"ready\")].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
pub struct ClusterNetworkSpec {}

/// Whether the cluster network can be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterNetworkStatus {
    /// `ready` is true as soon as a node is connected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<HostCondition>,
}

impl Declared for ClusterNetwork {
    const STATUS_SUBRESOURCE: bool = false;
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const READY: &[Effect] = &[
    Effect::Status("controller: from the reports of connected nodes"),
    Effect::Admission("a HostNetworkConfig is taken only when it is ready"),
];

const EFFECTS: &[FieldEffect] =
    &[field("status", READY), field("status.conditions", READY), field("status.conditions.**", READY)];
