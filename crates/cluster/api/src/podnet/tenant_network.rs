//! `TenantNetwork` of `danm.k8s.io`.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    definition::Declared,
    effects::FieldEffect,
    podnet::{NetworkSpec, NetworkStatus, effects},
};

/// The network.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "danm.k8s.io",
    version = "v1",
    kind = "TenantNetwork",
    plural = "tenantnetworks",
    namespaced,
    shortname = "tn",
    shortname = "tnet",
    category = "all",
    category = "netloom",
    annotation("api-approved.kubernetes.io", "unapproved, the group is that of DANM, whose objects are served"),
    doc = "A network that pods of its namespace can be attached to. Its device and its VLAN or VXLAN number are given to it out of a TenantConfig.",
    status = "NetworkStatus",
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.NetworkType"),
    printcolumn(name = "Device", type_ = "string", json_path = ".spec.Options.host_device"),
    printcolumn(name = "CIDR", type_ = "string", json_path = ".spec.Options.cidr"),
    printcolumn(name = "Net6", type_ = "string", json_path = ".spec.Options.net6", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(transparent)]
pub struct TenantNetworkSpec(pub NetworkSpec);

impl Declared for TenantNetwork {
    const READ_BY_AGENTS: bool = true;
    const EFFECTS: &'static [FieldEffect] = effects::TENANT_NETWORK;
}
