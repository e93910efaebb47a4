//! What is reported of machines, as far as it is read or written here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that holds or does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct MachineCondition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds: `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, as a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when it is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
}

/// A NIC of an instance. Entries that only others report, such as an agent in the guest, are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct MachineInterface {
    /// Its name in the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its hardware address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Its tap on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_interface_name: Option<String>,
    /// Who says so: `domain`, and others behind a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info_source: Option<String>,
    /// How many pairs of queues it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_count: Option<i32>,
    /// `up` or `down`, as the domain has it; absent while the NIC is not in the domain, and for an SR-IOV NIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_state: Option<String>,
}

/// A migration of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct MigrationState {
    /// The uid of the object that asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration_uid: Option<String>,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_node: Option<String>,
    /// Where it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_node: Option<String>,
    /// The libvirt there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_uri: Option<String>,
    /// Where its memory goes; absent: libvirt decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_data_uri: Option<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timestamp: Option<String>,
    /// Whether the domain is at the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<bool>,
    /// Whether it came to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// Why, in libvirt's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Whether links that are to be refreshed after a migration were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links_refreshed: Option<bool>,
}
