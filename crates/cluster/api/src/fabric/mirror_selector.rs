//! `MirrorSelector`: which traffic of a segment or VRF is copied, in the words of the fabric.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{text::ObjectName, traffic_mirror::TrafficMatch};
use crate::condition::Conditions;

/// What is copied, and where to.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "MirrorSelector",
    plural = "mirrorselectors",
    status = "MirrorSelectorStatus",
    derive = "PartialEq",
    doc = "Copies traffic of a segment or VRF, written manually or generated from a TrafficMirror.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Source Kind", type_ = "string", json_path = ".spec.mirrorSource.kind"),
    printcolumn(name = "Source", type_ = "string", json_path = ".spec.mirrorSource.name"),
    printcolumn(name = "Target", type_ = "string", json_path = ".spec.mirrorTarget.name"),
    printcolumn(name = "Direction", type_ = "string", json_path = ".spec.direction"),
    printcolumn(name = "Applied", type_ = "string", json_path = r#".status.conditions[?(@.type=="Applied")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct MirrorSelectorSpec {
    /// What is copied; without it everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_match: Option<TrafficMatch>,
    /// The `MirrorTarget` that gets the copies.
    pub mirror_target: MirrorTargetRef,
    /// The segment or VRF whose traffic is copied.
    pub mirror_source: MirrorSourceRef,
    /// Which way the traffic goes, as the workload sees it.
    pub direction: AclDirection,
}

/// A `MirrorTarget` by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirrorTargetRef {
    /// The API group: that of this kind, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_group: Option<OwnGroup>,
    /// The kind.
    pub kind: TargetKind,
    /// The name.
    pub name: ObjectName,
}

/// A segment or a VRF by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirrorSourceRef {
    /// The API group: that of this kind, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_group: Option<OwnGroup>,
    /// The kind.
    pub kind: AclSourceKind,
    /// The name.
    pub name: ObjectName,
}

/// The group that references can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OwnGroup {
    /// That of the fabric's kinds.
    #[serde(rename = "network.t-caas.telekom.com")]
    Fabric,
}

/// The kind that a target can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TargetKind {
    /// The only one.
    MirrorTarget,
}

/// The kinds that a source can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AclSourceKind {
    /// A segment.
    Layer2NetworkConfiguration,
    /// A VRF.
    VRFRouteConfiguration,
}

impl AclSourceKind {
    /// The name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Layer2NetworkConfiguration => "Layer2NetworkConfiguration",
            Self::VRFRouteConfiguration => "VRFRouteConfiguration",
        }
    }
}

/// Which way traffic goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AclDirection {
    /// To the workload.
    Ingress,
    /// From the workload.
    Egress,
}

/// What came of a selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirrorSelectorStatus {
    /// Whether target and source were found, and whether copies are made.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
