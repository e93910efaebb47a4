//! `Network`: a pool of addresses, a VLAN and a VNI; it means nothing until something uses it.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::Cidr;
use crate::condition::Conditions;

/// A pool definition; without `ipv4` and `ipv6` it is a segment that carries no addresses of ours.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "Network",
    plural = "networks",
    status = "NetworkStatus",
    derive = "PartialEq",
    doc = "A pool of addresses, VLAN and VNI that attachments and connections refer to by name.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "VLAN", type_ = "integer", json_path = ".spec.vlan"),
    printcolumn(name = "VNI", type_ = "integer", json_path = ".spec.vni"),
    printcolumn(name = "IPv4", type_ = "string", json_path = ".spec.ipv4.cidr"),
    printcolumn(name = "IPv6", type_ = "string", json_path = ".spec.ipv6.cidr"),
    printcolumn(name = "Managed", type_ = "boolean", json_path = ".spec.managed", priority = "1"),
    printcolumn(name = "References", type_ = "integer", json_path = ".status.referenceCount", priority = "1"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct NetworkSpec {
    /// The IPv4 addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<IpPool>,
    /// The IPv6 addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<IpPool>,
    /// The classes under which an upstream address management would hand out prefixes. Kept for that
    /// day; nothing reads it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_pool: Option<AllocationPool>,
    /// The VLAN of the segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// The VXLAN network identifier of the segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_215))]
    pub vni: Option<u32>,
    /// Whether the segment is ours to set up. When `false`, the object only lends its addresses and
    /// its VLAN to those that refer to it.
    #[serde(default = "managed_by_default")]
    pub managed: bool,
}

/// The addresses of one family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpPool {
    /// The network, such as `198.51.100.0/24`.
    pub cidr: Cidr,
    /// The size of the slice that one consumer gets, as a prefix length; not shorter than that of
    /// `cidr`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 128))]
    pub prefix_length: Option<u8>,
}

/// Classes of an upstream address management, one for each family.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationPool {
    /// The class for IPv4, such as `private/cndtag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub ipv4: Option<String>,
    /// The class for IPv6, such as `global/cndtag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub ipv6: Option<String>,
}

/// What the controller found out about a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkStatus {
    /// How many attachments and connections refer to this network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub reference_count: Option<i32>,
    /// The VNI in use: that of the spec, or one out of the cluster's range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_215))]
    pub vni: Option<u32>,
    /// Whether the network is usable.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}

fn managed_by_default() -> bool {
    true
}
