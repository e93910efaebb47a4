//! `VirtualMachineInstanceMigration`: an instance is to move to another node.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MachineCondition, effects::MIGRATION};
use crate::{
    definition::{Declared, Install},
    effects::FieldEffect,
};

/// Which instance is to move.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "kubevirt.io",
    version = "v1",
    kind = "VirtualMachineInstanceMigration",
    plural = "virtualmachineinstancemigrations",
    namespaced,
    shortname = "vmim",
    shortname = "vmims",
    category = "all",
    status = "VirtualMachineInstanceMigrationStatus",
    derive = "PartialEq",
    doc = "Moves an instance to another node while it runs. It ends succeeded or failed.",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "VMI", type_ = "string", json_path = ".spec.vmiName"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VirtualMachineInstanceMigrationSpec {
    /// Name of the instance, in the namespace of the migration.
    #[serde(default)]
    pub vmi_name: String,
}

/// How far a migration is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VirtualMachineInstanceMigrationStatus {
    /// `Running`, `Succeeded` or `Failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// `Failed` says why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MachineCondition>,
}

impl Declared for VirtualMachineInstanceMigration {
    const INSTALL: Install = Install::OnRequest;
    const EFFECTS: &'static [FieldEffect] = MIGRATION;
}
