//! How one node stands with what it was told last, whatever the target is.

use jiff::{SignedDuration, Timestamp};
use netloom_api::rollout::RolloutPolicySpec;

use crate::input::{Assigned, Node, Progress, Report};

/// How a node stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was told nothing.
    Untold,
    /// It has not answered, and has time until then.
    Working(Timestamp),
    /// It answered that everything is in place, and it is well.
    Done,
    /// It answered that everything is in place, but a condition is missing.
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
            Self::Untold | Self::Done => false,
            Self::Working(_) | Self::Unwell { .. } | Self::Failed(_) => true,
        }
    }
}

/// How the node stands at `now`.
pub(crate) fn of(node: &Node, spec: &RolloutPolicySpec, now: Timestamp) -> Standing {
    let Some(assigned) = &node.assigned else { return Standing::Untold };
    let until = later(assigned.known_since, spec.timeout_seconds);
    match heard(node).map(|report| &report.progress) {
        Some(Progress::Failed(message)) => Standing::Failed(message.clone()),
        Some(Progress::Done) => match missing_gate(node, spec) {
            None => Standing::Done,
            Some(gate) => Standing::Unwell { gate: gate.to_owned(), until },
        },
        Some(Progress::Working) | None if now < until => Standing::Working(until),
        Some(Progress::Working) | None => Standing::Failed(silence(node, spec)),
    }
}

/// The first condition that the policy asks for and the node does not show.
pub(crate) fn missing_gate<'a>(node: &Node, spec: &'a RolloutPolicySpec) -> Option<&'a str> {
    spec.health_gates.iter().find(|gate| !node.conditions.contains(*gate)).map(String::as_str)
}

/// The report, when it speaks of what the node was told last.
///
/// Both the revision and the generation must fit: after a new wish the answer to the old one is still
/// there, and it must not count for the new one.
fn heard(node: &Node) -> Option<&Report> {
    let assigned = node.assigned.as_ref()?;
    node.report
        .as_ref()
        .filter(|report| report.revision == assigned.revision && report.generation == Some(assigned.generation))
}

/// The revision that a node claims without having been told it, if it does.
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
        Some(claimed) => format!("reported revision {claimed}, which it was not told, and nothing else in {seconds} s"),
        None => format!("did not report within {seconds} s"),
    }
}

/// `time` and so many seconds.
pub(crate) fn later(time: Timestamp, seconds: u32) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(i64::from(seconds))).unwrap_or(Timestamp::MAX)
}
