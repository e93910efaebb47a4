//! Probes after an undo: whether what the host reached before the change is reached again.
//!
//! An undo that put back everything it knows of may still leave the host worse off: a neighbour forgot it, a router took its
//! lease away. So an undo is only reported as verified when the probes that passed before the change pass again. They
//! decide about nothing else: what could be put back is in place.

use std::{fmt, time::Duration};

use netloom_probing::ProbeResult;

use crate::{executor::Executor, probe::Probes};

/// How long all attempts may take together: a link needs a moment until packets pass, and nothing waits for the answer but
/// the message.
pub(crate) const WITHIN: Duration = Duration::from_secs(10);

/// How long to wait between two attempts.
const BETWEEN: Duration = Duration::from_millis(250);

/// The most attempts; a bound for a clock that stands still.
const ATTEMPTS: usize = 64;

/// A probe that passed before the change and does not after its undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreached {
    /// The probe's name.
    pub name: String,
    /// What it reported last.
    pub why: String,
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "probe {} passed before the change and fails after the undo: {}", self.name, self.why)
    }
}

/// Runs the probes that passed before the change, at least once, until all pass again or the time for it is over; tells
/// which do not.
pub(crate) fn unreached(
    probes: &mut dyn Probes,
    names: &[String],
    within: Duration,
    executor: &mut Executor<'_>,
) -> Vec<Unreached> {
    let mut names = names.to_vec();
    let end = executor.clock.now().plus(within);
    let mut missing = Vec::new();
    for attempt in 1..=ATTEMPTS {
        if names.is_empty() {
            return Vec::new();
        }
        let verdicts = probes.run(&names, executor.clock.now().until(end).max(BETWEEN));
        missing = names.into_iter().zip(verdicts).filter_map(complaint).collect();
        let now = executor.clock.now();
        let left = now.until(end);
        // A host that cannot be waited on any more can be asked no more either.
        if left.is_zero() || attempt == ATTEMPTS || executor.pause(now.plus(BETWEEN.min(left)), false).is_err() {
            break;
        }
        names = missing.iter().map(|probe: &Unreached| probe.name.clone()).collect();
    }
    missing
}

fn complaint((name, verdict): (String, ProbeResult)) -> Option<Unreached> {
    match verdict {
        ProbeResult::Passed => None,
        ProbeResult::Failed(why) | ProbeResult::Refused(why) => Some(Unreached { name, why }),
        ProbeResult::NotApplicable => Some(Unreached { name, why: "there is nothing to probe any more".to_owned() }),
    }
}
