//! `NodeNetConfPolicy`: interfaces of selected nodes, and what they shall look like.

use k8s_openapi::api::core::v1::{Affinity, Toleration};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Conditions,
    definition::Declared,
    effects::{Effect, FieldEffect, field},
    nodestate::StateDocument,
};

/// Which nodes and interfaces the policy is for, and what it wants there.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "nmstate.io",
    version = "v1",
    kind = "NodeNetConfPolicy",
    plural = "nodenetconfpolicies",
    namespaced,
    shortname = "net-conf",
    shortname = "net-confs",
    category = "netloom",
    label("nmstate.io", ""),
    doc = "The desired state of matching interfaces on many nodes. The desired states of all policies that apply to a node are merged into the desired state of its NodeNetworkState. Of two that contradict each other the older one wins, then the first name.",
    status = "NodeNetConfPolicyStatus",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.matchedNodes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!(has(self.autoconfig) && has(self.desiredState))",
    "message": "autoconfig and desiredState exclude each other",
}]))]
pub struct NodeNetConfPolicySpec {
    /// Selects nodes: `nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution` as for pods.
    /// Absent: every node. Preferences and affinity to pods mean nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// A node with a `NoSchedule` or `NoExecute` taint is left out unless one of these tolerates it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub tolerations: Vec<Toleration>,
    /// The interfaces that the policy is for: those that at least one rule matches.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_rules: Vec<InterfaceMatchRule>,
    /// Lets the node derive the desired state itself. Excludes `desiredState`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoconfig: Option<AutoConfig>,
    /// The desired state, as an nmstate document. An interface without a name, or called `*`, stands for every
    /// matched interface. Excludes `autoconfig`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_state: Option<StateDocument>,
}

/// Interfaces for which everything that is given here holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InterfaceMatchRule {
    /// The name; `*` stands for any number of characters and `?` for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub name: Option<String>,
    /// The type as an nmstate document names it, such as `ethernet` or `bond`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub kind: Option<String>,
    /// The id of a VLAN interface.
    #[serde(default, rename = "vlanID", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan_id: Option<u16>,
    /// What the neighbour on the wire announces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lldp: Option<LldpMatch>,
}

/// Announcements of a neighbour by the Link Layer Discovery Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LldpMatch {
    /// VLAN ids that the neighbour announces on this wire; all of them must be there.
    #[serde(default, rename = "vlanIDList", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4094), inner(range(min = 1, max = 4094)), extend("x-kubernetes-list-type" = "set"))]
    pub vlan_id_list: Vec<u16>,
}

/// What the node finds out by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoConfig {
    /// Bonds matched Ethernet interfaces that are up, have no address and lead to the same neighbour.
    #[serde(default)]
    pub auto_bonding: bool,
    /// Makes a VLAN interface for each VLAN id that the neighbour announces.
    #[serde(default)]
    pub auto_vlan: bool,
}

/// How far the policy has got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetConfPolicyStatus {
    /// The generation of the object that the rest of the status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// `Ready`, and `PolicyConflict` when an older policy, or somebody manually, wants something else for
    /// the same thing.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// How many nodes the policy selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched_nodes: Option<u32>,
}

impl Declared for NodeNetConfPolicy {
    const READ_BY_AGENTS: bool = true;
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const CONTROLLER: &[Effect] = &[Effect::Status("the controller")];
const AS_FOR_PODS: &[Effect] =
    &[Effect::Admission("must be valid as for pods"), Effect::FrontEnd("node state: selects nodes")];
const IGNORED: &[Effect] = &[
    Effect::Admission("a warning that it means nothing here"),
    Effect::Reserved("part of the type that Kubernetes defines; placing pods has no counterpart for nodes"),
];
const MATCH: &[Effect] =
    &[Effect::Admission("must be able to match an interface"), Effect::FrontEnd("node state: selects interfaces")];

const EFFECTS: &[FieldEffect] = &[
    field("spec", &[Effect::FrontEnd("node state: merged into the desired state of matching nodes")]),
    field("spec.affinity", AS_FOR_PODS),
    field("spec.affinity.nodeAffinity", AS_FOR_PODS),
    field("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", AS_FOR_PODS),
    field("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.**", AS_FOR_PODS),
    field("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", IGNORED),
    field("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.**", IGNORED),
    field("spec.affinity.podAffinity", IGNORED),
    field("spec.affinity.podAffinity.**", IGNORED),
    field("spec.affinity.podAntiAffinity", IGNORED),
    field("spec.affinity.podAntiAffinity.**", IGNORED),
    field("spec.tolerations", AS_FOR_PODS),
    field("spec.tolerations.**", AS_FOR_PODS),
    field("spec.matchRules", &[Effect::Admission("at least one"), Effect::FrontEnd("node state: selects interfaces")]),
    field("spec.matchRules[].name", MATCH),
    field("spec.matchRules[].type", MATCH),
    field("spec.matchRules[].vlanID", MATCH),
    field("spec.matchRules[].lldp", &[Effect::FrontEnd("node state: selects interfaces")]),
    field("spec.matchRules[].lldp.vlanIDList", MATCH),
    field(
        "spec.autoconfig",
        &[
            Effect::Admission("excludes desiredState; a warning when it switches nothing on"),
            Effect::FrontEnd("node state: the desired state follows from what neighbours announce"),
        ],
    ),
    field("spec.autoconfig.autoBonding", &[Effect::FrontEnd("node state: bonds interfaces with the same neighbour")]),
    field("spec.autoconfig.autoVlan", &[Effect::FrontEnd("node state: a VLAN interface for each announced id")]),
    field(
        "spec.desiredState",
        &[
            Effect::Admission(
                "must be a document that the node's parser takes, templates included; excludes autoconfig",
            ),
            Effect::FrontEnd("node state: merged into the desired state"),
        ],
    ),
    field("status", CONTROLLER),
    field("status.observedGeneration", CONTROLLER),
    field("status.conditions", CONTROLLER),
    field("status.conditions.**", CONTROLLER),
    field("status.matchedNodes", CONTROLLER),
];
