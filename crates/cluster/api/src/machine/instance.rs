//! `VirtualMachineInstance`: a machine on its node.

use kube_derive::CustomResource;
use netloom_machine::spec::InstanceSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MachineCondition, MachineInterface, MigrationState, effects::INSTANCE};
use crate::{
    definition::{Declared, Install, NodeField, Owner},
    effects::FieldEffect,
};

/// What the instance is to be.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "kubevirt.io",
    version = "v1",
    kind = "VirtualMachineInstance",
    plural = "virtualmachineinstances",
    namespaced,
    shortname = "vmi",
    shortname = "vmis",
    category = "all",
    status = "VirtualMachineInstanceStatus",
    derive = "PartialEq",
    doc = "A virtual machine that runs, or shall: on one node, as a domain of libvirt.",
    selectable = ".status.nodeName",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "NodeName", type_ = "string", json_path = ".status.nodeName"),
    crates(kube_core = "::kube_core")
)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VirtualMachineInstanceSpec(pub InstanceSpec);

/// How an instance is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VirtualMachineInstanceStatus {
    /// Its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// Where it is in its life: `Pending`, `Scheduled`, `Running`, `Succeeded` or `Failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Its NICs as its domain has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<MachineInterface>,
    /// `LinkStateSynced`: whether every NIC has the link that was asked for. `Synchronized` is false while the domain
    /// cannot be made or looked at, `Scheduled` while no node takes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MachineCondition>,
    /// The migration that is under way, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration_state: Option<MigrationState>,
}

impl Declared for VirtualMachineInstance {
    const OWNER: Owner = Owner::Node(NodeField { path: "status.nodeName", named: false });
    const INSTALL: Install = Install::OnRequest;
    const STATUS_SUBRESOURCE: bool = false;
    const REPORTED_ONLY: bool = true;
    const EFFECTS: &'static [FieldEffect] = INSTANCE;
}
