//! Events for people. Their names are made of what they say, so that the same event is never there twice,
//! whoever asks again.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use netloom_api::GroupKind;
use netloom_compile::ObjectKey;
use netloom_object::{Action, ObjectRef};
use serde_json::{Value, json};

use crate::{condition::short, desired_state::uid};

pub(crate) const EVENT: GroupKind<'static> = GroupKind::new("events.k8s.io", "Event");

/// Something to be reported to people about the node's network state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KubeEvent {
    pub(crate) reason: &'static str,
    pub(crate) note: String,
}

impl KubeEvent {
    /// The desired state is in place. These are the words that people know from the first implementation.
    pub(crate) fn synced() -> Self {
        Self { reason: "Synced", note: "NodeNetworkState synced successfully".to_owned() }
    }

    pub(crate) fn new(reason: &'static str, note: impl Into<String>) -> Self {
        Self { reason, note: note.into() }
    }

    fn is_good(&self) -> bool {
        self.reason == "Synced" || self.reason == "Recreated"
    }

    /// The request that makes the event.
    pub(crate) fn request(&self, now: Timestamp, node: &str, regarding: &Value) -> (ObjectRef, Action) {
        let text = |pointer: &str| regarding.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let generation = regarding.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
        let fingerprint = fingerprint(&[&uid(regarding), &generation.to_string(), self.reason, &self.note]);
        let key = ObjectKey::new(text("/metadata/namespace"), format!("{}.{fingerprint:016x}", text("/metadata/name")));
        let object = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": key.namespace, "name": key.name},
            "eventTime": MicroTime(now),
            "reportingController": "netloom.dev/agent",
            "reportingInstance": node,
            "action": "Enforce",
            "reason": self.reason,
            "type": if self.is_good() { "Normal" } else { "Warning" },
            "regarding": {
                "apiVersion": text("/apiVersion"),
                "kind": text("/kind"),
                "namespace": text("/metadata/namespace"),
                "name": text("/metadata/name"),
                "uid": uid(regarding),
            },
            "note": short(self.note.clone()),
        });
        (ObjectRef { kind: EVENT, key }, Action::Create { object })
    }
}

/// FNV-1a over everything that tells two events, or two of anything else, apart.
pub(crate) fn fingerprint(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
