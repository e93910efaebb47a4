//! `TrafficMirror`: which traffic of an attachment is copied to a `Collector`.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Cidr, ObjectName};
use crate::condition::Conditions;

/// What is mirrored, and where to.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "TrafficMirror",
    plural = "trafficmirrors",
    shortname = "tmir",
    status = "TrafficMirrorStatus",
    derive = "PartialEq",
    doc = "Copies selected traffic of an attachment to a Collector.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Source Kind", type_ = "string", json_path = ".spec.source.kind"),
    printcolumn(name = "Source", type_ = "string", json_path = ".spec.source.name"),
    printcolumn(name = "Collector", type_ = "string", json_path = ".spec.collector"),
    printcolumn(name = "Direction", type_ = "string", json_path = ".spec.direction"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.activeNodes"),
    printcolumn(name = "Applied", type_ = "string", json_path = r#".status.conditions[?(@.type=="Applied")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct TrafficMirrorSpec {
    /// The attachment whose traffic is copied.
    pub source: MirrorSource,
    /// The `Collector` that gets the copies.
    pub collector: ObjectName,
    /// Which way the traffic goes, as the workload sees it.
    pub direction: Direction,
    /// What is copied; without it everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_match: Option<TrafficMatch>,
}

/// An attachment by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorSource {
    /// The kind of the attachment.
    pub kind: SourceKind,
    /// The name of the attachment.
    pub name: ObjectName,
}

/// Kinds whose traffic can be mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SourceKind {
    /// A segment.
    Layer2Attachment,
    /// Addresses of services.
    Inbound,
    /// Addresses of egress gateways.
    Outbound,
}

impl SourceKind {
    /// The name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Layer2Attachment => "Layer2Attachment",
            Self::Inbound => "Inbound",
            Self::Outbound => "Outbound",
        }
    }
}

/// Which way traffic goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the workload.
    Ingress,
    /// From the workload.
    Egress,
    /// Both ways.
    Both,
}

/// What a packet must look like; everything that is specified must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrafficMatch {
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src_prefix: Option<Cidr>,
    /// Where it goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_prefix: Option<Cidr>,
    /// The port that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub src_port: Option<u16>,
    /// The port that it goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub dst_port: Option<u16>,
    /// The protocol above IP: `tcp`, `udp`, `sctp`, `icmp` or `icmpv6`, kept in lower case. A port
    /// without a protocol means the first three.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), regex(pattern = r"^[A-Za-z0-9-]+$"))]
    pub protocol: Option<String>,
}

/// What the controller set up for a mirror.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrafficMirrorStatus {
    /// On how many nodes traffic is copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub active_nodes: Option<i32>,
    /// Whether source and collector were found, and whether copies are made.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
