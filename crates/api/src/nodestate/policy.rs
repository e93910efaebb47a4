//! `NodeNetConfPolicy`: interfaces of selected nodes, and what they shall look like.

use k8s_openapi::api::core::v1::{Affinity, Toleration};
use kube_derive::CustomResource;
use netloom_types::VlanId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    admission::{Findings, Write},
    condition::Conditions,
    definition::Declared,
    effects::{Effect, FieldEffect, field},
    nodestate::{StateDocument, selection},
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
    doc = "A wish for the matching interfaces of many nodes. The wishes of all policies that apply to a node are merged into the desired state of its NodeNetworkState. Of two that contradict each other the older one wins, then the first name.",
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
    /// Lets the node find out the wish by itself. Excludes `desiredState`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoconfig: Option<AutoConfig>,
    /// The wish, as an nmstate document. An interface without a name, or called `*`, stands for every
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
    /// `Ready`, and `PolicyConflict` when an older policy, or somebody by hand, wants something else for
    /// the same thing.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// How many nodes the policy selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched_nodes: Option<u32>,
}

impl Declared for NodeNetConfPolicy {
    const EFFECTS: &'static [FieldEffect] = EFFECTS;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        let spec = &new.spec;
        if let Some(affinity) = &spec.affinity {
            selection::affinity(affinity, findings);
        }
        selection::tolerations(&spec.tolerations, findings);
        if spec.match_rules.is_empty() {
            findings.required("spec.matchRules", "at least one rule must say which interfaces the policy is for");
        }
        for (i, rule) in spec.match_rules.iter().enumerate() {
            match_rule(&format!("spec.matchRules[{i}]"), rule, findings);
        }
        wish(spec, findings);
    }
}

fn wish(spec: &NodeNetConfPolicySpec, findings: &mut Findings) {
    match (&spec.autoconfig, &spec.desired_state) {
        (Some(_), Some(_)) => {
            findings.forbidden("spec.autoconfig", "excludes spec.desiredState: a policy has one of them");
        }
        (Some(auto), None) if !auto.auto_bonding && !auto.auto_vlan => {
            findings.warn("spec.autoconfig switches nothing on, so the policy changes nothing");
        }
        (None, None) => {
            findings.warn("neither spec.autoconfig nor spec.desiredState is given, so the policy changes nothing");
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    if let Some(document) = &spec.desired_state {
        document.check_with_templates("spec.desiredState", findings);
    }
}

/// The types that our nodes report. The set is open: a node may have links of other kinds.
const TYPES: &[&str] = &[
    "bond",
    "dummy",
    "ethernet",
    "gre",
    "gretap",
    "hsr",
    "infiniband",
    "ip-tunnel",
    "ipvlan",
    "linux-bridge",
    "loopback",
    "mac-vlan",
    "mac-vtap",
    "macsec",
    "tun",
    "unknown",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
    "xfrm",
];

fn match_rule(path: &str, rule: &InterfaceMatchRule, findings: &mut Findings) {
    if let Some(name) = &rule.name {
        check_glob(&format!("{path}.name"), name, findings);
    }
    if let Some(kind) = &rule.kind
        && !TYPES.contains(&kind.as_str())
    {
        findings
            .warn(format!("{path}.type: no node of ours reports the type {kind:?}; known are {}", TYPES.join(", ")));
    }
    if let Some(id) = rule.vlan_id {
        check_vlan(&format!("{path}.vlanID"), id, findings);
    }
    for (i, id) in rule.lldp.iter().flat_map(|lldp| &lldp.vlan_id_list).enumerate() {
        check_vlan(&format!("{path}.lldp.vlanIDList[{i}]"), *id, findings);
    }
    if let (Some(kind), Some(_)) = (&rule.kind, rule.vlan_id)
        && kind != "vlan"
    {
        findings.invalid(
            format!("{path}.type"),
            kind.as_str(),
            "only an interface of type vlan has the vlanID that the rule asks for",
        );
    }
    let lldp_empty = rule.lldp.as_ref().is_none_or(|lldp| lldp.vlan_id_list.is_empty());
    if rule.name.is_none() && rule.kind.is_none() && rule.vlan_id.is_none() && lldp_empty {
        findings.warn(format!("{path} asks for nothing, so it matches every interface"));
    }
}

fn check_vlan(path: &str, id: u16, findings: &mut Findings) {
    if VlanId::try_from(id).is_err() {
        findings.invalid(path, id, "must be from 1 to 4094");
    }
}

/// A pattern that can match a link's name: without its stars it has at most 15 bytes that a name may have.
fn check_glob(path: &str, glob: &str, findings: &mut Findings) {
    let fixed = glob.bytes().filter(|&byte| byte != b'*').count();
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
    if glob.is_empty() {
        findings.invalid(path, glob, "must not be empty; leave it out to match every name");
    } else if !glob.chars().all(allowed) {
        findings.invalid(path, glob, "the name of a link has no space, slash or colon");
    } else if fixed > 15 {
        findings.invalid(path, glob, "the name of a link has at most 15 bytes, so this matches none");
    }
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
            Effect::FrontEnd("node state: what neighbours announce makes the wish"),
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
