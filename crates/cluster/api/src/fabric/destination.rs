//! `Destination`: what is reachable, and by which way; attachments pick it by label.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Cidr, ObjectName};
use crate::condition::Conditions;

/// Prefixes, and either the VRF or the next hop through which they are reached.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "Destination",
    plural = "destinations",
    shortname = "dest",
    status = "DestinationStatus",
    derive = "PartialEq",
    doc = "A routing target: prefixes that are reachable through a VRF or a next hop.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "VRF", type_ = "string", json_path = ".spec.vrfRef"),
    printcolumn(name = "Next Hop", type_ = "string", json_path = ".spec.nextHop.ipv4"),
    printcolumn(name = "Next Hop v6", type_ = "string", json_path = ".spec.nextHop.ipv6", priority = "1"),
    printcolumn(name = "Prefixes", type_ = "string", json_path = ".spec.prefixes", priority = "1"),
    printcolumn(name = "References", type_ = "integer", json_path = ".status.referenceCount"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct DestinationSpec {
    /// The `VRF` object through which the prefixes are reached: they are imported from it. Excludes
    /// `nextHop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf_ref: Option<ObjectName>,
    /// The networks that are reachable; every attachment that picks this destination inherits them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "set"))]
    pub prefixes: Vec<Cidr>,
    /// The gateway to the prefixes for attachments on an existing interface: each prefix becomes a
    /// static route. Excludes `vrfRef`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<NextHop>,
}

/// A gateway, with one address for each family that it serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextHop {
    /// The gateway of the IPv4 prefixes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "ipv4"))]
    pub ipv4: Option<String>,
    /// The gateway of the IPv6 prefixes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "ipv6"))]
    pub ipv6: Option<String>,
}

/// What the controller found out about a destination.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DestinationStatus {
    /// How many attachments and connections pick this destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub reference_count: Option<i32>,
    /// Whether the destination is usable.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}
