//! How one node stands with what it was assigned last, whatever the target is.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use netloom_api::rollout::RolloutPolicySpec;

use crate::input::{Assigned, Cause, Liveness, Node, Progress, Report};

/// How a node stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was assigned nothing.
    Unassigned,
    /// It has not answered, and has time until then.
    Working(Timestamp),
    /// It answered that everything is in place, and it is well.
    Done,
    /// It answered that everything is in place, but a condition that it showed before is missing.
    Unwell {
        /// The condition.
        gate: String,
        /// When the time for a change is over.
        until: Timestamp,
    },
    /// It failed, or did not answer in time.
    Failed(String),
}

impl Standing {
    /// Whether the node is changing, failed or not well: what a policy allows a share of.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Unassigned | Self::Done => false,
            Self::Working(_) | Self::Unwell { .. } | Self::Failed(_) => true,
        }
    }
}

/// How the node stands at `now`.
pub(crate) fn of(node: &Node, spec: &RolloutPolicySpec, now: Timestamp) -> Standing {
    let Some(assigned) = &node.assigned else { return Standing::Unassigned };
    let until = later(assigned.known_since, spec.timeout_seconds);
    match heard(node).map(|report| &report.progress) {
        Some(Progress::Failed(message)) => Standing::Failed(message.clone()),
        Some(Progress::Done) => match lost_gate(assigned, node, spec) {
            None => Standing::Done,
            Some(gate) => Standing::Unwell { gate: gate.to_owned(), until },
        },
        Some(Progress::Working) | None if now < until => Standing::Working(until),
        Some(Progress::Working) | None => Standing::Failed(silence(node, spec)),
    }
}

/// The first condition of the policy that the node showed when it was assigned, and does not show now.
fn lost_gate<'a>(assigned: &Assigned, node: &Node, spec: &'a RolloutPolicySpec) -> Option<&'a str> {
    let was = |gate: &str| assigned.gates.as_ref().is_none_or(|before| before.contains(gate));
    let lost = |gate: &&String| was(gate) && !node.conditions.contains(*gate);
    spec.health_gates.iter().find(lost).map(String::as_str)
}

/// The gates of the policy that the node must show after what it is assigned now: those that it shows, and those that
/// it may have lost by what it was assigned before. Else a change that costs a node a condition would pass when it is
/// assigned again.
///
/// What a node loses under a revision that has proved itself, it loses for a reason of its own; what it is assigned
/// next need not fix that.
pub(crate) fn gates(node: &Node, spec: &RolloutPolicySpec, cause: Cause, proven: bool) -> BTreeSet<String> {
    let is_ours = |given: &&Assigned| cause == Cause::Return || given.cause.follows_failure() || !proven;
    let before = node.assigned.as_ref().filter(is_ours);
    let was = |gate: &str| before.is_some_and(|given| given.gates.as_ref().is_none_or(|gates| gates.contains(gate)));
    let counts = |gate: &&String| node.conditions.contains(*gate) || was(gate);
    spec.health_gates.iter().filter(counts).cloned().collect()
}

/// Why a node can take nothing, whatever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Inability {
    /// Its agent was not heard of for so many seconds.
    AgentGone(u32),
    /// Its agent gives no sign of life, and the node does not show a condition.
    Silent(String),
    /// Nothing is known of its agent yet, and the node does not show a condition.
    Unready(String),
}

/// What keeps a node from taking anything now.
pub(crate) fn inability(node: &Node, spec: &RolloutPolicySpec) -> Option<Inability> {
    match node.agent {
        Liveness::Alive => None,
        Liveness::Gone { seconds } => Some(Inability::AgentGone(seconds)),
        Liveness::Silent => missing_gate(node, spec).map(|gate| Inability::Silent(gate.to_owned())),
        Liveness::Unknown => missing_gate(node, spec).map(|gate| Inability::Unready(gate.to_owned())),
    }
}

/// The first condition that the policy asks for and the node does not show.
pub(crate) fn missing_gate<'a>(node: &Node, spec: &'a RolloutPolicySpec) -> Option<&'a str> {
    spec.health_gates.iter().find(|gate| !node.conditions.contains(*gate)).map(String::as_str)
}

/// The report, when it speaks of what the node was assigned last.
///
/// Both the revision and the generation must fit: after a new desired state the answer to the old one is still
/// there, and it must not count for the new one.
fn heard(node: &Node) -> Option<&Report> {
    let assigned = node.assigned.as_ref()?;
    node.report
        .as_ref()
        .filter(|report| report.revision == assigned.revision && report.generation == Some(assigned.generation))
}

/// The revision that a node claims without having been assigned it, if it does.
pub(crate) fn false_claim(node: &Node) -> Option<&str> {
    let report = node.report.as_ref()?;
    let untrue = match (&node.assigned, report.generation) {
        (Some(Assigned { revision, generation, .. }), Some(reported)) => {
            reported > *generation || (reported == *generation && *revision != report.revision)
        }
        // Without a generation nobody can tell what the report is about; an older one is only late.
        (Some(_), None) => false,
        (None, _) => true,
    };
    untrue.then_some(report.revision.as_str())
}

fn silence(node: &Node, spec: &RolloutPolicySpec) -> String {
    let seconds = spec.timeout_seconds;
    match false_claim(node) {
        None if matches!(node.agent, Liveness::Gone { .. }) => {
            format!("did not report within {seconds} s, and its agent is gone")
        }
        Some(claimed) => {
            format!("reported revision {claimed}, which it was not assigned, and nothing else in {seconds} s")
        }
        None => format!("did not report within {seconds} s"),
    }
}

/// `time` and so many seconds.
pub(crate) fn later(time: Timestamp, seconds: u32) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(i64::from(seconds))).unwrap_or(Timestamp::MAX)
}
