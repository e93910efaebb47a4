//! `DanmEp`: one interface of one pod.

use std::collections::BTreeMap;

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    definition::{Declared, NodeField, Owner},
    effects::{Effect, FieldEffect, field},
};

/// Which interface of which pod it is, and what it was given.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "danm.k8s.io",
    version = "v1",
    kind = "DanmEp",
    plural = "danmeps",
    namespaced,
    shortname = "de",
    shortname = "dep",
    category = "all",
    category = "netloom",
    annotation("api-approved.kubernetes.io", "unapproved, the group is that of DANM, whose objects are served"),
    doc = "An interface of a pod, with the addresses that it was given. The agent of the pod's node writes and deletes it; its labels are those of the pod.",
    selectable = ".spec.Host",
    printcolumn(name = "Pod", type_ = "string", json_path = ".spec.Pod"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.NetworkName"),
    printcolumn(name = "Interface", type_ = "string", json_path = ".spec.Interface.Name"),
    printcolumn(name = "Address", type_ = "string", json_path = ".spec.Interface.Address"),
    printcolumn(name = "Address6", type_ = "string", json_path = ".spec.Interface.AddressIPv6"),
    printcolumn(name = "Host", type_ = "string", json_path = ".spec.Host", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "PascalCase")]
pub struct DanmEpSpec {
    /// Name of the network.
    #[schemars(length(min = 1, max = 253))]
    pub network_name: String,
    /// Who made the interface.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub network_type: String,
    /// The name of this object.
    #[serde(rename = "EndpointID", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub endpoint_id: String,
    /// The interface.
    pub interface: EpInterface,
    /// The node of the pod.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,
    /// Name of the pod.
    #[schemars(length(min = 1, max = 253))]
    pub pod: String,
    /// UID of the pod.
    #[serde(rename = "PodUID", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 128))]
    pub pod_uid: String,
    /// Id of the container that has the pod's network.
    #[serde(rename = "CID", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub cid: String,
    /// Path of the pod's network namespace.
    #[serde(rename = "netns", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub netns: String,
    /// Kind of the network: `DanmNet`, `TenantNetwork` or `ClusterNetwork`; empty means `DanmNet`.
    #[serde(rename = "apiType", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub api_type: String,
}

/// An interface and what it was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct EpInterface {
    /// Its name in the pod.
    #[schemars(length(min = 1, max = 15))]
    pub name: String,
    /// IPv4 address with its prefix length, `none`, or absent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 18))]
    pub address: String,
    /// IPv6 address with its prefix length, `none`, or absent.
    #[serde(rename = "AddressIPv6", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 43))]
    pub address_ipv6: String,
    /// Hardware address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 17))]
    pub mac_address: String,
    /// Routes that the pod asked for.
    #[serde(rename = "proutes", default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub proutes: BTreeMap<String, String>,
    /// IPv6 routes that the pod asked for.
    #[serde(rename = "proutes6", default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub proutes6: BTreeMap<String, String>,
    /// The device below the interface.
    #[serde(rename = "DeviceID", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub device_id: String,
}

impl Declared for DanmEp {
    const OWNER: Owner = Owner::Node(NodeField { path: "spec.Host", named: false });
    const DELETED_BY_OWNER: bool = true;
    const STATUS_SUBRESOURCE: bool = false;
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const REPORT: &[Effect] = &[Effect::Status("agent: what an interface of a pod was given")];
const GUARD: &[Effect] = &[
    Effect::Status("agent: what an interface of a pod was given"),
    Effect::Admission("a network with pods keeps its device and number, and cannot be deleted"),
];

const EFFECTS: &[FieldEffect] = &[
    field("spec", REPORT),
    field("spec.NetworkName", GUARD),
    field("spec.NetworkType", REPORT),
    field("spec.EndpointID", REPORT),
    field("spec.Interface", REPORT),
    field("spec.Interface.**", REPORT),
    field(
        "spec.Host",
        &[Effect::Admission("the agent of this node alone may write the object, besides administrators")],
    ),
    field("spec.Pod", REPORT),
    field("spec.PodUID", REPORT),
    field("spec.CID", REPORT),
    field("spec.netns", REPORT),
    field("spec.apiType", GUARD),
];
