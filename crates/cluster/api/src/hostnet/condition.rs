//! Conditions in the spelling of this group: times are plain text, everything but type and status
//! may be missing.

use k8s_openapi::jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{Observation, Truth, seconds, since};

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
    /// A sentence for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl HostCondition {
    /// The condition that says what is observed. One that says what was given before is the same to the second, so that
    /// it is not written again.
    pub fn at(observation: Observation, now: Timestamp, before: &[Self]) -> Self {
        let Observation { kind, truth, reason, message } = observation;
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let (reason, message) = (given(reason), given(message));
        let known = before.iter().find(|condition| condition.kind == kind);
        if let Some(known) = known
            && (known.status, &known.reason, &known.message) == (truth, &reason, &message)
        {
            return known.clone();
        }
        let now = seconds(now).0.to_string();
        let before = known.map(|known| (known.status, &known.last_transition_time));
        let since = since(truth, before).cloned().flatten();
        Self {
            kind: kind.to_owned(),
            status: truth,
            last_update_time: Some(now.clone()),
            last_transition_time: Some(since.unwrap_or(now)),
            reason,
            message,
        }
    }
}
