//! Probes: whether the host still reaches what it reached before.
//!
//! Only a probe that passed before the change counts after it. One that failed before says nothing
//! about the change, so it can neither hold it up nor take it back.

use std::time::Duration;

use crate::{error::Cause, hands::Hands};

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It passed.
    Passed,
    /// It failed, for this reason.
    Failed(String),
    /// There is nothing to probe, such as a gateway on a host without one.
    NotApplicable,
}

/// Everything that can be probed on a host.
pub trait Probes {
    /// The names of all probes.
    fn names(&self) -> Vec<String>;

    /// Runs these probes, at best side by side, and answers in their order within `limit`.
    fn run(&mut self, names: &[String], limit: Duration) -> Vec<Verdict>;
}

/// No probe at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbes;

impl Probes for NoProbes {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn run(&mut self, _: &[String], _: Duration) -> Vec<Verdict> {
        Vec::new()
    }
}

/// How long the probes may take before the change: what does not pass by then does not pass.
const BEFORE: Duration = Duration::from_secs(3);

/// How long all attempts after the change may take together.
const AFTER: Duration = Duration::from_secs(10);

/// How long a probe that failed may try again: a link may need a moment to pass packets. Short,
/// because the host must be back within five seconds of a failed probe.
const AGAIN: Duration = Duration::from_secs(3);

/// How long to wait between two attempts.
const BETWEEN: Duration = Duration::from_millis(250);

/// The most attempts; a bound for a clock that stands still.
const ATTEMPTS: usize = 64;

/// The names of the probes that pass now.
pub(crate) fn passing(probes: &mut dyn Probes) -> Vec<String> {
    let names = probes.names();
    if names.is_empty() {
        return names;
    }
    let verdicts = probes.run(&names, BEFORE);
    names.into_iter().zip(verdicts).filter(|(_, verdict)| *verdict == Verdict::Passed).map(|(name, _)| name).collect()
}

/// Runs the probes that passed before until all pass again or the time for it is over.
pub(crate) fn still_passing(
    probes: &mut dyn Probes,
    mut names: Vec<String>,
    hands: &mut Hands<'_>,
    late: &dyn Fn(&Hands<'_>) -> Option<Cause>,
) -> Result<(), Cause> {
    if names.is_empty() {
        return Ok(());
    }
    let mut end = hands.clock.now().plus(AFTER);
    for attempt in 1.. {
        let verdicts = probes.run(&names, hands.clock.now().until(end));
        let failed: Vec<(String, String)> = names.into_iter().zip(verdicts).filter_map(complaint).collect();
        let Some((name, why)) = failed.first() else { break };
        let now = hands.clock.now();
        if attempt == 1 {
            end = now.plus(AGAIN.min(now.until(end)));
        }
        let left = now.until(end);
        if left.is_zero() || attempt == ATTEMPTS || late(hands).is_some() {
            return Err(Cause::Probe { name: name.clone(), why: why.clone() });
        }
        hands.pause(now.plus(BETWEEN.min(left)), false).map_err(Cause::Host)?;
        names = failed.into_iter().map(|(name, _)| name).collect();
    }
    Ok(())
}

fn complaint((name, verdict): (String, Verdict)) -> Option<(String, String)> {
    match verdict {
        Verdict::Passed => None,
        Verdict::Failed(why) => Some((name, why)),
        Verdict::NotApplicable => Some((name, "there is nothing to probe any more".to_owned())),
    }
}
