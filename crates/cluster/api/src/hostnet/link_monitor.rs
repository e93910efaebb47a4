//! `LinkMonitor`: which links of which nodes are listed.

use std::collections::BTreeMap;

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    definition::Declared,
    effects::{Effect, FieldEffect, field},
};

/// Which links are listed.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.harvesterhci.io",
    version = "v1beta1",
    kind = "LinkMonitor",
    plural = "linkmonitors",
    shortname = "lm",
    shortname = "lms",
    category = "netloom",
    doc = "Lists links of nodes by type and name. The controller makes one called nic for physical interfaces and one for each cluster network.",
    status = "LinkMonitorStatus",
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.targetLinkRule.typeRule"),
    printcolumn(name = "Name-Rule", type_ = "string", json_path = ".spec.targetLinkRule.nameRule"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
pub struct LinkMonitorSpec {
    /// Labels that a node must have; none: every node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub node_selector: BTreeMap<String, String>,
    /// Which links of these nodes are listed; the loopback never is.
    #[serde(default)]
    pub target_link_rule: TargetLinkRule,
}

/// Both rules must match; an empty one matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetLinkRule {
    /// A regular expression for the type, such as `device` for physical interfaces. It may match
    /// anywhere in the type unless it is anchored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub type_rule: String,
    /// A regular expression for the name. It may match anywhere in the name unless it is anchored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub name_rule: String,
}

/// The links that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkMonitorStatus {
    /// The links of each node, as far as there is room.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub link_status: BTreeMap<String, Vec<LinkStatus>>,
    /// How many nodes are not listed because there is no room: those whose names come last. A selector for fewer nodes, or
    /// a rule for fewer links, makes room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub unlisted_nodes: Option<u32>,
}

/// One link of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkStatus {
    /// The name.
    pub name: String,
    /// The kernel's number.
    #[serde(default)]
    pub index: u32,
    /// The type; `device` for a physical interface.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// The hardware address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// Whether it takes packets for others.
    #[serde(default)]
    pub promiscuous: bool,
    /// Whether it works.
    #[serde(default)]
    pub state: LinkState,
    /// The kernel's number of the bond, bridge or VRF that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_index: Option<u32>,
}

/// Whether a link works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// It works.
    Up,
    /// It does not.
    Down,
    /// The driver does not tell.
    #[default]
    Unknown,
}

impl Declared for LinkMonitor {
    const STATUS_SUBRESOURCE: bool = false;
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const REGEX: &[Effect] = &[
    Effect::Admission("must be a regular expression"),
    Effect::FrontEnd("host networks: selects the links that are listed"),
];
const REPORT: &[Effect] = &[Effect::Status("controller: from the nodes' reports")];

const EFFECTS: &[FieldEffect] = &[
    field("spec", &[Effect::FrontEnd("host networks: selects the links that are listed")]),
    field(
        "spec.nodeSelector",
        &[
            Effect::Admission("keys and values must be those of labels"),
            Effect::FrontEnd("host networks: selects the nodes whose links are listed"),
        ],
    ),
    field("spec.targetLinkRule", &[Effect::FrontEnd("host networks: selects the links that are listed")]),
    field("spec.targetLinkRule.typeRule", REGEX),
    field("spec.targetLinkRule.nameRule", REGEX),
    field("status", REPORT),
    field("status.linkStatus", REPORT),
    field("status.linkStatus.**", REPORT),
    field("status.unlistedNodes", REPORT),
];
