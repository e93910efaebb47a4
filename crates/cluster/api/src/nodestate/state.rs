//! `NodeNetworkState`: the desired state of one node and what the node reports.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Conditions,
    definition::{Declared, NodeField, Owner},
    effects::{Effect, FieldEffect, field},
    nodestate::StateDocument,
};

/// What one node's network shall look like, and whether it is managed at all.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "nmstate.io",
    version = "v1",
    kind = "NodeNetworkState",
    plural = "nodenetworkstates",
    namespaced,
    shortname = "net-state",
    shortname = "net-states",
    category = "netloom",
    label("nmstate.io", ""),
    doc = "The network of one node: its desired state and what the node reports. The node creates the object for itself when there is none.",
    status = "NodeNetworkStateStatus",
    selectable = ".spec.nodeName",
    printcolumn(name = "Node", type_ = "string", json_path = ".spec.nodeName"),
    printcolumn(name = "Managed", type_ = "boolean", json_path = ".spec.managed"),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Degraded\")].reason",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetworkStateSpec {
    /// Whether the node keeps to the desired state and reports. When false, the node neither changes
    /// anything nor writes its status; policies may still fill in the desired state.
    pub managed: bool,
    /// The node that this object is for. The node looks for this field, not for the object's name,
    /// although both are the same in objects that nodes create.
    #[schemars(length(min = 1, max = 253))]
    pub node_name: String,
    /// The desired state, as an nmstate document. What it does not mention stays as it is. Absent or empty:
    /// nothing is set, the node only reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_state: Option<StateDocument>,
}

/// What the node reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetworkStateStatus {
    /// The network as the node sees it now, as an nmstate document with the numbers that only a
    /// running node has, such as `ifIndex`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_state: Option<StateDocument>,
    /// The generation of the object that the rest of the status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// `Managed`, `Available`, `Progressing`, `Degraded`; `OtherManager` while another program manages
    /// a link of the desired state; for a second object of one node, `Conflict`; while its node is not in the
    /// cluster, `Orphaned`.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// Present while the node will try again after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<NextTry>,
    /// The last desired state that was reached and verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied: Option<LastApplied>,
    /// Present while a change is applied and not yet confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
}

/// The next try after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextTry {
    /// How often the present desired state has failed.
    pub count: u32,
    /// When it is tried again.
    pub next_time: Time,
}

/// A desired state that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastApplied {
    /// The generation of the object that held it.
    #[schemars(range(min = 0))]
    pub generation: i64,
    /// When it was confirmed.
    pub time: Time,
    /// How long the change took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u32>,
}

/// A change that is undone unless it is confirmed in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// The name of the node's journal entry.
    pub id: String,
    /// When the node undoes the change by itself.
    pub deadline: Time,
}

impl Declared for NodeNetworkState {
    const OWNER: Owner = Owner::Node(NodeField { path: "spec.nodeName", named: true });
    const EDITABLE: bool = true;
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const AGENT: &[Effect] = &[Effect::Status("the node's agent")];

const EFFECTS: &[FieldEffect] = &[
    field("spec", &[Effect::FrontEnd("node state: the desired state of one node")]),
    field("spec.managed", &[Effect::FrontEnd("node state: false stops enforcing and reporting")]),
    field(
        "spec.nodeName",
        &[
            Effect::Admission(
                "an agent writes only objects of its own node, before and after; a warning when it is not the object's name or when another object names the same node",
            ),
            Effect::FrontEnd("node state: the node whose desired state policies write"),
            Effect::FrontEnd("node state: the node whose agent keeps to the object"),
        ],
    ),
    field(
        "spec.desiredState",
        &[
            Effect::Admission("must be a document that the node's parser takes"),
            Effect::FrontEnd("node state: policies are merged into it; what was written manually stays and wins"),
            Effect::FrontEnd("node state: brought about by the node's agent, and kept"),
        ],
    ),
    field("status", AGENT),
    field(
        "status.currentState",
        &[Effect::Status("the node's agent"), Effect::FrontEnd("node state: the links that policies match")],
    ),
    field("status.observedGeneration", AGENT),
    field("status.conditions", AGENT),
    field("status.conditions.**", AGENT),
    field("status.retry", AGENT),
    field("status.retry.**", AGENT),
    field("status.lastApplied", AGENT),
    field("status.lastApplied.**", AGENT),
    field("status.checkpoint", AGENT),
    field("status.checkpoint.**", AGENT),
];
