//! The status of the node's network state.
//!
//! It is recreated from what is known and compared with what stands there: what is equal is not written.

use jiff::Timestamp;
use netloom_api::{
    condition::{Conditions, Observation, seconds},
    nodestate::{LastApplied, NextTry, NodeNetworkStateStatus, StateDocument},
};
use netloom_managers::Managed;
use netloom_plan::Difference;
use serde_json::{Value, json};

use crate::{
    Drift,
    attempt::{Attempt, Stage},
    condition::{milliseconds, seen, short},
    desired_state::uid,
    others,
    report::ReportText,
};

/// The conditions that an agent writes; all others are the controller's.
const OURS: [&str; 5] = ["Managed", "Available", "Progressing", "Degraded", others::CONDITION];

/// Everything that the status of a managed node follows from.
pub(crate) struct StatusInput<'a> {
    pub(crate) now: Timestamp,
    /// The object as it stands.
    pub(crate) object: &'a Value,
    pub(crate) generation: Option<i64>,
    /// What the object reports.
    pub(crate) reported: Option<&'a ReportText>,
    /// What there is to report; none before the host was read.
    pub(crate) current: Option<&'a ReportText>,
    /// Whether a difference between the two is worth a write of its own by now.
    pub(crate) report_due: bool,
    /// Why the host cannot be read, when it cannot.
    pub(crate) blind: Option<&'a str>,
    pub(crate) attempt: &'a Attempt,
    /// Whether anything is wanted.
    pub(crate) wanted: bool,
    /// What the desired state lost to somebody with precedence.
    pub(crate) conflicts: &'a [String],
    pub(crate) drift: Drift,
    /// What is wrong with a lease: a word and a sentence.
    pub(crate) lease: Option<(&'a str, String)>,
    /// The links of the desired state that other programs manage.
    pub(crate) managed: &'a [Managed],
}

/// The status as it stands in an object, but for what that reports.
pub(crate) fn standing(object: &Value) -> NodeNetworkStateStatus {
    object.get("status").and_then(|status| serde_json::from_value(status.clone()).ok()).unwrap_or_default()
}

/// A status to write.
pub(crate) struct Status {
    pub(crate) object: Value,
    /// Whether the host alone is the reason.
    pub(crate) report_only: bool,
}

/// What to write for a node that is managed; none when that stands there.
pub(crate) fn managed(input: &StatusInput<'_>) -> Option<Status> {
    let before = standing(input.object);
    let mut after =
        NodeNetworkStateStatus { observed_generation: input.generation, ..NodeNetworkStateStatus::default() };
    let usual = [observed_managed(), available(input), progressing(input), degraded(input)];
    for observation in usual.into_iter().chain(others::observation(input.managed)) {
        after.conditions.0.push(observation.at(input.now, input.generation, &before.conditions));
    }
    if let Some((failure, count, next)) = input.attempt.failure() {
        after.retry = next.map(|next| NextTry { count, next_time: seconds(next) });
        after.checkpoint.clone_from(&failure.waits_for);
    }
    after.last_applied = last_applied(input, before.last_applied.as_ref());
    let report = input.current.or(input.reported);
    let report_only = ours(&before) == after;
    let due = if report_only { report != input.reported && input.report_due } else { true };
    due.then(|| Status { object: apply(input.object, after, report), report_only })
}

/// What to write once for a node that is not managed any more: everything stays as it was last reported.
pub(crate) fn unmanaged(
    now: Timestamp,
    object: &Value,
    generation: Option<i64>,
    reported: Option<&ReportText>,
) -> Option<Value> {
    let before = standing(object);
    let mut after = ours(&before);
    let observation = seen("Managed", false, "Unmanaged", "the node keeps its network as it is and reports nothing");
    if before.conditions.get("Managed").is_some_and(|known| known.status == observation.truth) {
        return None;
    }
    after.conditions.set(observation.at(now, generation, &before.conditions));
    Some(apply(object, after, reported))
}

/// What to write on a second object for one node; none when the controller or somebody has reported it.
pub(crate) fn conflicting(now: Timestamp, object: &Value, generation: Option<i64>, message: &str) -> Option<Value> {
    let before = standing(object);
    let observation = seen("Conflict", true, netloom_compile::reason::CONFLICT, message);
    if before.conditions.get("Conflict").is_some_and(|known| known.status == observation.truth) {
        return None;
    }
    let conditions = Conditions(vec![observation.at(now, generation, &before.conditions)]);
    Some(apply(object, NodeNetworkStateStatus { conditions, ..NodeNetworkStateStatus::default() }, None))
}

fn observed_managed() -> Observation {
    seen("Managed", true, "Managed", "the node keeps to the desired state and reports")
}

fn available(input: &StatusInput<'_>) -> Observation {
    let attempt = input.attempt;
    let observation = |truth, reason, message: String| seen("Available", truth, reason, message);
    if let Some((failure, ..)) = attempt.failure() {
        return observation(false, failure.reason(), failure.message.clone());
    }
    if !input.wanted {
        return observation(true, "NothingDesired", "there is no desired state: the node only reports".to_owned());
    }
    match &attempt.stage {
        Stage::Reached { .. } if attempt.drift.is_empty() => {
            observation(true, "AsDesired", "the desired state is in place and verified".to_owned())
        }
        Stage::Reached { .. } => observation(false, "Drifted", named(&attempt.drift, input.drift)),
        Stage::Untried | Stage::Running { .. } | Stage::Failed { .. } => {
            observation(false, "Applying", "the desired state is being applied".to_owned())
        }
    }
}

fn progressing(input: &StatusInput<'_>) -> Observation {
    let observation = |truth, reason, message: &str| seen("Progressing", truth, reason, message);
    match &input.attempt.stage {
        Stage::Running { .. } | Stage::Untried if input.wanted => {
            observation(true, "Applying", "the desired state is being applied")
        }
        Stage::Failed { next: Some(_), .. } => observation(true, "Retrying", "the desired state will be tried again"),
        Stage::Failed { next: None, .. } => observation(false, "Waiting", "the desired state must be changed first"),
        Stage::Reached { .. } | Stage::Running { .. } | Stage::Untried => {
            observation(false, "Settled", "there is nothing to do")
        }
    }
}

fn degraded(input: &StatusInput<'_>) -> Observation {
    let observation = |truth, reason, message: String| seen("Degraded", truth, reason, message);
    if let Some((failure, ..)) = input.attempt.failure() {
        let undone = if failure.undone { "the change was taken back: " } else { "" };
        return observation(true, failure.reason(), format!("{undone}{}", failure.message));
    }
    if let Some(why) = input.blind {
        return observation(true, "HostUnavailable", format!("the host cannot be read: {why}"));
    }
    if let Some(first) = input.conflicts.first() {
        let more = input.conflicts.len() - 1;
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        return observation(true, "PolicyConflict", format!("{first}{more}"));
    }
    if let Some((reason, message)) = &input.lease {
        return observation(true, reason, message.clone());
    }
    observation(false, "AsExpected", "nothing is wrong".to_owned())
}

/// Drift in words: each field, what was wanted and what is there.
pub(crate) fn named(drift: &[Difference], then: Drift) -> String {
    let fields: Vec<String> = drift.iter().map(Difference::to_string).collect();
    let then = match then {
        Drift::Repair => "it is set again",
        Drift::Report => "it is left as it is",
    };
    short(format!("changed by somebody else, {then}: {}", fields.join("; ")))
}

/// Kept as it stands unless another generation was reached, or something had to be changed for it.
fn last_applied(input: &StatusInput<'_>, before: Option<&LastApplied>) -> Option<LastApplied> {
    let Stage::Reached { at, done } = &input.attempt.stage else { return before.cloned() };
    let generation = input.generation.unwrap_or_default();
    let known = before.filter(|known| known.generation == generation && !done.changed);
    if !input.wanted && before.is_none() {
        return None;
    }
    let fresh = || LastApplied { generation, time: seconds(*at), duration_ms: Some(milliseconds(done.took)) };
    Some(known.cloned().unwrap_or_else(fresh))
}

/// The part of a status that an agent writes.
fn ours(status: &NodeNetworkStateStatus) -> NodeNetworkStateStatus {
    let mut status = status.clone();
    let mut conditions: Vec<_> = OURS.iter().filter_map(|kind| status.conditions.get(kind).cloned()).collect();
    std::mem::swap(&mut status.conditions.0, &mut conditions);
    status
}

fn apply(object: &Value, mut status: NodeNetworkStateStatus, report: Option<&ReportText>) -> Value {
    status.current_state = report.map(|report| StateDocument(report.value()));
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    json!({
        "apiVersion": "nmstate.io/v1",
        "kind": "NodeNetworkState",
        "metadata": {
            "namespace": text("/metadata/namespace"),
            "name": text("/metadata/name"),
            "uid": uid(object),
        },
        "status": status,
    })
}
