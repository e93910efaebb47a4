//! Mistakes that somebody could make in the real code, planted to see that the checks find them.

use std::sync::Arc;

use netloom_agent_core::{CONFIG, STATE};
use netloom_object::{Action, Change, Request};
use serde_json::{Value, json};

use crate::Process;

/// A planted mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The agent takes a change for done when it is begun.
    ReportsEarly,
    /// The controller takes every node that was assigned something for done with it.
    ForgetsWhoIsInFlight,
    /// A controller writes whoever has the lease.
    IgnoresTheLease,
    /// The agent leaves what a killed one began.
    ForgetsToRecover,
    /// What has happened since an old list was made is not sent to who got it.
    WatchesFromNow,
    /// The agent does not list again when its watch has lost events.
    MissesEvents,
    /// Nor does a controller.
    ControllerMissesEvents,
    /// The controller relies on having written both objects of a node, and never looks whether it has.
    LeavesHalfAPair,
    /// Controllers write over whatever is there by now.
    WritesBlindly,
    /// The agent does not take in what the server answers to its writes.
    ForgetsItsOwnWrites,
    /// Nothing that the agent has put on disk outlasts its life.
    LosesItsDisk,
    /// The agent changes the host before it has noted what it tries.
    ForgetsWhatItTries,
}

/// What becomes of a request on its way to the server, by the mistake of who sends it.
pub(crate) fn sent(bug: Option<Bug>, from: Process, request: &Request) -> Request {
    let mut request = request.clone();
    if bug != Some(Bug::WritesBlindly) || matches!(from, Process::Agent(_)) {
        return request;
    }
    let part = match &mut request.action {
        Action::Create { object } | Action::Apply { object, .. } | Action::ApplyStatus { object } => object,
        Action::Patch { patch } => patch,
        // Its tests are part of it.
        Action::PatchTested { .. } | Action::Absent { .. } | Action::Delete { .. } => return request,
    };
    if let Some(metadata) = part.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    request
}

/// Whether some requests complete what was assigned to a node and is only half written.
pub(crate) fn completes_a_pair(requests: &[Request]) -> bool {
    matches!(requests, [request] if request.target.kind == STATE)
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
