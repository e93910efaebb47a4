//! `NetworkConfigRevision`: everything that shall be on the nodes, frozen under its hash.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use kube_derive::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    condition::Conditions,
    fabric::{
        bgp_peering::BgpPeeringSpec, layer2_network_configuration::Layer2NetworkConfigurationSpec,
        mirror_selector::MirrorSelectorSpec, mirror_target::MirrorTargetSpec, text::ObjectName,
        vrf_route_configuration::VrfRouteConfigurationSpec,
    },
    rollout::annotation,
};

/// The low-level objects as they were when the revision was made. It cannot change.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "NetworkConfigRevision",
    plural = "networkconfigrevisions",
    shortname = "ncr",
    status = "NetworkConfigRevisionStatus",
    derive = "PartialEq",
    doc = "A frozen configuration of all nodes. Named after the first ten digits of its hash.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Invalid", type_ = "boolean", json_path = ".status.isInvalid"),
    printcolumn(name = "Queued", type_ = "integer", json_path = ".status.queued"),
    printcolumn(name = "Ongoing", type_ = "integer", json_path = ".status.ongoing"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.ready"),
    printcolumn(name = "Total", type_ = "integer", json_path = ".status.total"),
    printcolumn(name = "Failed Node", type_ = "string", json_path = ".status.failedNode", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = earlier_lists)]
pub struct NetworkConfigRevisionSpec {
    /// Segments, in the order of their VLAN.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub layer2: Vec<Layer2Revision>,
    /// Routes, in the order of VRF and `seq`.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub vrf: Vec<VrfRevision>,
    /// Sessions, in the order of their names.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub bgp: Vec<BgpRevision>,
    /// Mirror tunnels, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub mirror_targets: Vec<MirrorTargetRevision>,
    /// Mirrored traffic, in the order of names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub mirror_selectors: Vec<MirrorSelectorRevision>,
    /// What objects of other front ends want, in the order of group, kind, namespace and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub objects: Vec<FrozenObject>,
    /// `NetworkConfigRevisionPart` objects with the rest of what is frozen, where all of it is more than one object holds.
    /// What stands above goes before what a part has under the same name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"), inner(regex(pattern = r"^[0-9a-f]{64}$")))]
    pub parts: Vec<String>,
    /// The SHA-256 of everything that is frozen, in hexadecimal, in however many parts it is kept.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub revision: String,
}

/// A segment under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layer2Revision {
    /// The name of the object.
    pub name: ObjectName,
    /// The `spec` of the object.
    #[serde(flatten)]
    pub spec: Layer2NetworkConfigurationSpec,
}

/// Routes under their name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VrfRevision {
    /// The name of the object.
    pub name: ObjectName,
    /// The `spec` of the object.
    #[serde(flatten)]
    pub spec: VrfRouteConfigurationSpec,
}

/// Sessions under their name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BgpRevision {
    /// The name of the object.
    pub name: ObjectName,
    /// The `spec` of the object.
    #[serde(flatten)]
    pub spec: BgpPeeringSpec,
}

/// A mirror tunnel under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorTargetRevision {
    /// The name of the object.
    pub name: ObjectName,
    /// The `spec` of the object.
    #[serde(flatten)]
    pub spec: MirrorTargetSpec,
}

/// Mirrored traffic under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorSelectorRevision {
    /// The name of the object.
    pub name: ObjectName,
    /// The `spec` of the object.
    #[serde(flatten)]
    pub spec: MirrorSelectorSpec,
}

/// What an object wants, as far as nodes depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrozenObject {
    /// The group of its kind.
    #[schemars(length(max = 253))]
    pub group: String,
    /// The name of its kind.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Its namespace, when it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Its name.
    pub name: ObjectName,
    /// When it was made: of two that contradict each other the older one wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
    /// What was chosen for it once and later revisions keep, such as the name of its interface.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, String>,
    /// The `spec` of the object.
    pub spec: FrozenSpec,
}

impl FrozenObject {
    /// Group and kind, namespace and name.
    pub fn key(&self) -> [&str; 4] {
        [&self.group, &self.kind, &self.namespace, &self.name.0]
    }
}

/// The lists in which the first version held objects, one for each kind. They stay in the schema, so that a server does not
/// drop what stored objects have in them; nothing writes them.
const EARLIER_LISTS: [&str; 4] = ["nodePolicies", "vlanConfigs", "hostNetworkConfigs", "attachments"];

pub(super) fn earlier_lists(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for name in EARLIER_LISTS {
        let list = json_schema!({
            "description": "Objects in revisions of earlier versions; `objects` has them now.",
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "x-kubernetes-list-type": "atomic",
        });
        properties.insert(name.to_owned(), list.into());
    }
}

/// The `spec` of an object, kept as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrozenSpec(pub Value);

impl JsonSchema for FrozenSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FrozenSpec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
    }
}

/// How far a revision has got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkConfigRevisionStatus {
    /// Whether a node refused it: it is not rolled out any further, and taken back where it is.
    #[serde(default)]
    pub is_invalid: bool,
    /// How many nodes have it in place. Counted while nodes shall have the revision, or after it failed.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub ready: i32,
    /// How many nodes were assigned it and are busy with it.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub ongoing: i32,
    /// How many nodes wait for it.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub queued: i32,
    /// How many nodes there are.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub total: i32,
    /// The node that refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_node: Option<String>,
    /// What that node reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_message: Option<String>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Time>,
    /// How often it was tried and failed. The delay before the next attempt doubles with each.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// When it is tried again, on one node first; absent where only a person or a change on the node brings that about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<MicroTime>,
    /// A digest of the links and of the reachability of the node that failed, as far as they bear on the failure. When
    /// they are others, the revision is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub failed_under: Option<String>,
    /// The nodes that shall have it and cannot take it now, the first hundred by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["node"]))]
    pub passed_over: Vec<PassedOver>,
    /// `Ready`: whether every node has it.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<RevisionPhase>,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When every node that could take it last had it. Nodes return to such a revision when a newer
    /// one fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven_at: Option<MicroTime>,
    /// Since when the first nodes are well, while they are watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["policy"]))]
    pub canaries: Vec<CanaryWatch>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A node that a rollout passes over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassedOver {
    /// The node.
    #[schemars(length(max = 253))]
    pub node: String,
    /// Why.
    #[schemars(length(max = 1024))]
    pub reason: String,
}

impl NetworkConfigRevision {
    /// Its place in the order of revisions: the highest is the desired one.
    pub fn sequence(&self) -> u64 {
        let annotations = self.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(annotation::SEQUENCE)?.parse().ok()).unwrap_or_default()
    }
}

/// Where a revision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RevisionPhase {
    /// It is the next, and no node has been assigned it.
    Pending,
    /// Nodes get it.
    Rolling,
    /// Every node that can take it has it.
    Active,
    /// It failed: no node is assigned it until it is tried again.
    Failed,
    /// Another took its place before every node had it.
    Superseded,
    /// Every node had it once; nodes can return to it.
    Kept,
}

/// The first nodes of one policy, which have the revision and are watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryWatch {
    /// The `RolloutPolicy` of the nodes; empty for the defaults that hold without one.
    #[schemars(length(max = 253))]
    pub policy: String,
    /// Since when all of them are well.
    pub healthy_since: MicroTime,
}
