//! Mistakes that somebody could make in the real code, planted to see that the checks find them.

use std::sync::Arc;

use netloom_control::Change;
use netloom_node::CONFIG;
use serde_json::{Value, json};

/// A planted mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The agent takes a change for done when it is begun.
    ReportsEarly,
    /// The controller takes every node that was told something for done with it.
    ForgetsWhoIsInFlight,
    /// A controller writes whoever has the lease.
    IgnoresTheLease,
    /// The agent leaves what a killed one began.
    ForgetsToRecover,
    /// What has happened since an old list was made is not told to who got it.
    WatchesFromNow,
    /// The agent does not list anew when its watch has lost events.
    MissesEvents,
}

/// What a controller that forgets sees of an object.
pub(crate) fn forget(change: Change) -> Change {
    let forget = |object: Arc<Value>| {
        if object["kind"] != CONFIG.kind {
            return object;
        }
        let mut object = (*object).clone();
        object["status"] = json!({
            "configStatus": "provisioned",
            "lastAppliedRevision": object["spec"]["revision"],
            "observedGeneration": object["metadata"]["generation"],
        });
        Arc::new(object)
    };
    match change {
        Change::Put(object) => Change::Put(forget(object)),
        Change::Gone(object) => Change::Gone(object),
        Change::Listed { kind, objects } => Change::Listed { kind, objects: objects.into_iter().map(forget).collect() },
    }
}
