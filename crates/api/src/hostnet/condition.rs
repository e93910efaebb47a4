//! Conditions in the spelling of this group: times are plain text, everything but type and status
//! may be missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{condition::Truth, dig};

/// One observation about an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostCondition {
    /// What is observed; `ready` in all objects of this group.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: Truth,
    /// When the condition was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// When `status` last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// A stable word for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What the condition `ready` of a stored object says; none when it has none.
pub(super) fn ready(object: &Value) -> Option<&str> {
    let conditions = dig::at(object, "status.conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| condition.get("type").is_some_and(|kind| kind == "ready"))?
        .get("status")?
        .as_str()
}
