//! `VirtualMachine`: a machine that is to run, or not.

use kube_derive::CustomResource;
use netloom_machine::spec::InstanceSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MachineCondition, effects::MACHINE};
use crate::{
    definition::{Declared, Install},
    effects::FieldEffect,
};

/// A machine and whether it is to run.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "kubevirt.io",
    version = "v1",
    kind = "VirtualMachine",
    plural = "virtualmachines",
    namespaced,
    shortname = "vm",
    shortname = "vms",
    category = "all",
    status = "VirtualMachineStatus",
    derive = "PartialEq",
    doc = "A virtual machine. While it is to run it has an instance of its name, which gets its template.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VirtualMachineSpec {
    /// `Always` keeps the machine running, `Halted` keeps it off. Either this or `running`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_strategy: Option<String>,
    /// The same as `Always` when it is true, and as `Halted` when it is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    /// What its instance is made from.
    pub template: Template,
}

/// What an instance is made from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Template {
    /// Labels and annotations of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "metadata")]
    pub metadata: Option<Value>,
    /// What it is to be.
    #[serde(default)]
    pub spec: InstanceSpec,
}

fn metadata(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// How a machine is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VirtualMachineStatus {
    /// Whether it has an instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<bool>,
    /// Whether that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// `RestartRequired` while a change waits for the next start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MachineCondition>,
    /// Set while instances of it end soon after they began: the next one waits, longer each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_failure: Option<StartFailure>,
}

/// What is remembered of instances that ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct StartFailure {
    /// How many ended in a row, each within a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consecutive_fail_count: Option<i32>,
    /// The uid of the last one.
    #[serde(rename = "lastFailedVMIUID", skip_serializing_if = "Option::is_none")]
    pub last_failed_vmi_uid: Option<String>,
    /// When the next one is made at the earliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_timestamp: Option<String>,
}

impl Declared for VirtualMachine {
    const INSTALL: Install = Install::OnRequest;
    const EFFECTS: &'static [FieldEffect] = MACHINE;
}
