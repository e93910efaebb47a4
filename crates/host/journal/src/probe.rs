//! Probes: whether the host still reaches what it reached before.
//!
//! Only a probe that passed before the change counts after it. One that failed before says nothing
//! about the change, so it can neither hold it up nor take it back.
//!
//! When to look, to wait and to give up is decided by [`Course`]; here it is carried out.

use std::{fmt, time::Duration};

use netloom_model::Observed;
use netloom_probing::{Course, Ending, Next, PauseReason, ProbeResult, ProbeTiming, Touched};

use crate::{Moment, error::Cause, executor::Executor};

/// Everything that can be probed on a host.
pub trait Probes {
    /// The names of all probes.
    fn names(&self) -> Vec<String>;

    /// Runs these probes, at best side by side, and answers in their order within `limit`.
    fn run(&mut self, names: &[String], limit: Duration) -> Vec<ProbeResult>;

    /// Tells a person what is waited for, when that begins.
    fn waits(&mut self, _: &Waiting) {}
}

/// What a change waits for before it is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// Links, by name, that have lost their carrier.
    Carrier(Vec<String>),
    /// A probe whose server refuses connections.
    Restart(String),
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Carrier(links) => write!(f, "carrier on {}", links.join(", ")),
            Self::Restart(name) => write!(f, "{name}, which refuses connections while everything else is reached"),
        }
    }
}

/// No probe at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbes;

impl Probes for NoProbes {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn run(&mut self, _: &[String], _: Duration) -> Vec<ProbeResult> {
        Vec::new()
    }
}

/// The longest that a wait goes on without a look at the deadline and at who tells it to stop: neither is an event of
/// the host.
const SLICE: Duration = Duration::from_millis(500);

/// How long the host may go on telling of changes before its links are looked at again: a look reads all of it.
const GATHER: Duration = Duration::from_millis(200);

/// The names of the probes that pass now.
pub(crate) fn passing(probes: &mut dyn Probes, timing: ProbeTiming) -> Vec<String> {
    let names = probes.names();
    if names.is_empty() {
        return names;
    }
    let verdicts = probes.run(&names, timing.before);
    names
        .into_iter()
        .zip(verdicts)
        .filter(|(_, verdict)| *verdict == ProbeResult::Passed)
        .map(|(name, _)| name)
        .collect()
}

/// A change between its last step and its verdict.
pub(crate) struct Judged<'a> {
    pub(crate) timing: ProbeTiming,
    /// The links that the change touched.
    pub(crate) touched: &'a Touched,
    /// The probes that passed before it.
    pub(crate) passing: Vec<String>,
}

impl Judged<'_> {
    /// Runs the probes that passed before until all pass again or the time for it is over. `seen` is the host as it was
    /// read back, when it was.
    pub(crate) fn still_passing(
        self,
        probes: &mut dyn Probes,
        mut seen: Option<Observed>,
        executor: &mut Executor<'_>,
        late: Late<'_>,
    ) -> Result<(), Cause> {
        let Self { timing, touched, passing } = self;
        let now = executor.clock.now().boot;
        let mut course = Course::new(timing, passing, !touched.is_empty(), now);
        let (mut next, mut reported) = (course.begin(now), None);
        loop {
            next = match next {
                Next::Look => {
                    let observed = match seen.take() {
                        Some(observed) => observed,
                        None => executor.look().map_err(Cause::Host)?,
                    };
                    course.looked(executor.clock.now().boot, touched.missing(&observed))
                }
                Next::Carrier { missing, until } => {
                    let links = missing.iter().map(ToString::to_string).collect();
                    let what = report_wait(probes, &mut reported, Waiting::Carrier(links));
                    await_change(executor, until, late).map_err(|cause| cause.waiting_for(&what))?;
                    let observed = executor.look().map_err(Cause::Host)?;
                    course.looked(executor.clock.now().boot, touched.missing(&observed))
                }
                Next::Run { names, limit } => {
                    let verdicts = probes.run(&names, limit);
                    course.answered(executor.clock.now().boot, verdicts)
                }
                Next::Pause { until, name, pause_reason: PauseReason::Refused } => {
                    let what = report_wait(probes, &mut reported, Waiting::Restart(name));
                    pause(executor, until, late).map_err(|cause| cause.waiting_for(&what))?;
                    course.waited(executor.clock.now().boot)
                }
                Next::Pause { until, name, pause_reason: PauseReason::Unreached(why) } => {
                    // That the time is up is the smaller news; that somebody ends this is another.
                    pause(executor, until, late)
                        .map_err(|cause| if cause == Cause::Stopped { cause } else { Cause::Probe { name, why } })?;
                    course.waited(executor.clock.now().boot)
                }
                Next::End(Ending::Passed) => return Ok(()),
                Next::End(Ending::Failed { name, why }) => return Err(Cause::Probe { name, why }),
                Next::End(Ending::Away { name, waited }) => return Err(Cause::Away { name, waited }),
            };
        }
    }
}

/// Tells of a wait once, when it begins or what is waited for changes.
fn report_wait(probes: &mut dyn Probes, reported: &mut Option<Waiting>, what: Waiting) -> Waiting {
    if reported.as_ref() != Some(&what) {
        probes.waits(&what);
        *reported = Some(what.clone());
    }
    what
}

/// Waits until the host tells of a change, or until a moment.
fn await_change(executor: &mut Executor<'_>, until: Duration, late: Late<'_>) -> Result<(), Cause> {
    for slice in slices(executor, until) {
        in_time(executor, late)?;
        if executor.pause(slice, true).map_err(Cause::Host)? {
            let gathered = executor.clock.now().plus(GATHER);
            return executor.pause(gathered, false).map(drop).map_err(Cause::Host);
        }
    }
    in_time(executor, late)
}

/// Waits until a moment, whatever the host tells.
fn pause(executor: &mut Executor<'_>, until: Duration, late: Late<'_>) -> Result<(), Cause> {
    for slice in slices(executor, until) {
        in_time(executor, late)?;
        executor.pause(slice, false).map_err(Cause::Host)?;
    }
    in_time(executor, late)
}

/// Why it is too late to go on, if it is.
type Late<'a> = &'a dyn Fn(&Executor<'_>) -> Option<Cause>;

fn in_time(executor: &Executor<'_>, late: Late<'_>) -> Result<(), Cause> {
    late(executor).map_or(Ok(()), Err)
}

/// The ends of the pieces of a wait from now until a moment.
fn slices(executor: &Executor<'_>, until: Duration) -> impl Iterator<Item = Moment> + use<> {
    let now = executor.clock.now();
    let left = until.saturating_sub(now.boot);
    let whole = (1..).map(|number| SLICE * number).take_while(move |passed| *passed < left);
    let last = (!left.is_zero()).then_some(left);
    whole.chain(last).map(move |passed| now.plus(passed))
}
