//! `TenantConfig`: what TenantNetworks may be made of. Its fields are at the root of the object, as in DANM.

use std::{collections::BTreeMap, str::FromStr};

use kube_derive::CustomResource;
use netloom_ipam::{VniKind, VniRange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Conditions,
    definition::Declared,
    effects::{Effect, FieldEffect, field},
};

/// The devices and configuration files of tenants.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "danm.k8s.io",
    version = "v1",
    kind = "TenantConfig",
    plural = "tenantconfigs",
    shortname = "tc",
    shortname = "tconf",
    category = "all",
    category = "netloom",
    annotation("api-approved.kubernetes.io", "unapproved, the group is that of DANM, whose objects are served"),
    doc = "Devices, VLAN and VXLAN numbers and configuration files that TenantNetworks are made of.",
    no_spec,
    status = "TenantConfigStatus",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
pub struct TenantConfigSpec {
    /// Devices that TenantNetworks may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub host_devices: Vec<HostDevice>,
    /// The `NetworkID` of every TenantNetwork of a `NetworkType`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub network_ids: BTreeMap<String, String>,
}

/// A device, with the numbers that networks on it can have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostDevice {
    /// An interface of nodes, or the resource of a device plugin, which has a `/`.
    #[schemars(length(max = 316))]
    pub name: String,
    /// Whether networks get a `vlan` or a `vxlan` number; absent: none, they are the device itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 16))]
    pub vni_type: String,
    /// The numbers, such as `100-199,300`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub vni_range: String,
    /// Which numbers are in use, as base64 of bits. The controller keeps it; leave it out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1_398_104))]
    pub alloc: String,
}

/// Whether it is the one that counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantConfigStatus {
    /// `Ready` is false while another TenantConfig is the one that counts.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}

/// What is wrong with the numbers of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VniProblem {
    /// One of type and range is missing.
    Half,
    /// There is no such type.
    Type,
    /// The range cannot be read.
    Range(String),
}

impl HostDevice {
    /// The numbers that networks on it can have; none where they have none.
    pub fn numbers(&self) -> Result<Option<VniRange>, VniProblem> {
        match (self.vni_type.as_str(), self.vni_range.as_str()) {
            ("", "") => Ok(None),
            ("", _) | (_, "") => Err(VniProblem::Half),
            (kind, range) => {
                let kind = VniKind::from_str(kind).map_err(|()| VniProblem::Type)?;
                VniRange::parse(kind, range).map(Some).map_err(|why| VniProblem::Range(why.to_string()))
            }
        }
    }

    /// Whether it is a pool of devices and no interface.
    pub fn is_pool(&self) -> bool {
        self.name.contains('/')
    }
}

impl Declared for TenantConfig {
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const DEVICES: &[Effect] = &[
    Effect::Admission("each has a name, and the type of its numbers together with their range"),
    Effect::Planned("pod networks: what TenantNetworks are made of"),
];
const IDS: &[Effect] = &[
    Effect::Admission("types and ids are not empty, and ids are short for types whose links nodes make"),
    Effect::Planned("pod networks: the configuration files of TenantNetworks"),
];
const PICTURE: &[Effect] = &[
    Effect::Admission("only the controller changes it; a write without it keeps it"),
    Effect::Planned("pod networks: shows which numbers are in use, for programs that read DANM's objects"),
];
const CONDITION: &[Effect] = &[Effect::Status("controller: whether it is the one that counts")];

const EFFECTS: &[FieldEffect] = &[
    field("hostDevices", DEVICES),
    field("hostDevices[].name", DEVICES),
    field("hostDevices[].vniType", DEVICES),
    field("hostDevices[].vniRange", DEVICES),
    field("hostDevices[].alloc", PICTURE),
    field("networkIds", IDS),
    field("status", CONDITION),
    field("status.conditions", CONDITION),
    field("status.conditions.**", CONDITION),
];
