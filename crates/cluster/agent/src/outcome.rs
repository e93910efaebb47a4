//! What a transaction came to, in the words of the node's decisions.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netloom_agent_core::{Failure, Reason};
use netloom_api::nodestate::Checkpoint;
use netloom_journal::{Cause, Error, Recovery, Summary, UndoReport};

/// A change that was taken back.
pub(crate) fn undone(why: &Cause, report: &UndoReport) -> Failure {
    let reason = match why {
        Cause::Step { .. } | Cause::Host(_) | Cause::Journal(_) | Cause::Guard(_) => Reason::ApplyFailed,
        Cause::Unmet(_) => Reason::VerificationFailed,
        Cause::Probe { .. } => Reason::ProbeFailed,
        Cause::Away { .. } => Reason::OutOfReach,
        Cause::Deadline(_) | Cause::Unsettled { .. } | Cause::Interrupted | Cause::Stopped | Cause::Asked => {
            Reason::RolledBack
        }
    };
    let message = match report.unreached_text() {
        None => why.to_string(),
        Some(unreached) => format!("{why}; the change is undone, but {unreached}"),
    };
    Failure { undone: true, ..Failure::new(reason, message) }
}

/// A change that did not begin, or did not end well.
pub(crate) fn failed(error: &Error) -> Failure {
    match error {
        Error::Plan(error) => Failure::unplanned(error),
        Error::OutOfReach(_) => Failure::new(Reason::OutOfReach, error),
        Error::Open(summary) => Failure { waits_for: Some(checkpoint(summary)), ..plain(error) },
        Error::Lost { .. } | Error::UndoIncomplete(_) | Error::Unrecorded(_) => Failure { torn: true, ..plain(error) },
        Error::File { .. }
        | Error::Name(_)
        | Error::Busy { .. }
        | Error::Damaged { .. }
        | Error::Elsewhere { .. }
        | Error::NothingOpen
        | Error::TooLate { .. }
        | Error::Host(_) => plain(error),
    }
}

fn plain(error: &Error) -> Failure {
    Failure::new(Reason::ApplyFailed, error)
}

fn checkpoint(summary: &Summary) -> Checkpoint {
    let wall = i64::try_from(summary.deadline.wall).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    Checkpoint { id: summary.id.clone(), deadline: Time(wall.unwrap_or(Timestamp::MAX)) }
}

/// What was found of an earlier transaction, when people should know of it.
pub(crate) fn recovered(recovery: &Recovery) -> Option<String> {
    match recovery {
        Recovery::Nothing | Recovery::Dropped | Recovery::Open(_) => None,
        Recovery::Finished(summary) => Some(format!("found and finished: {summary}")),
        Recovery::RolledBack { summary, why, report } => Some(format!(
            "an earlier change of {} was left behind and is rolled back: {why}; {}",
            summary.source,
            report.ending()
        )),
        Recovery::Rebooted { summary, report: _ } => Some(format!(
            "an earlier change of {} was cut off by the end of the machine; the files that it wrote are put back",
            summary.source
        )),
    }
}
