//! Probes: whether the host still reaches what it reached before.
//!
//! Only a probe that passed before the change counts after it. One that failed before says nothing
//! about the change, so it can neither hold it up nor take it back.
//!
//! When to look, to wait and to give up is decided by [`Course`]; here it is carried out.

use std::{fmt, time::Duration};

use netloom_model::Observed;
use netloom_probing::{Course, Ending, Next, ProbeTiming, Said, Touched, Verdict};

use crate::{Moment, error::Cause, hands::Hands};

/// Everything that can be probed on a host.
pub trait Probes {
    /// The names of all probes.
    fn names(&self) -> Vec<String>;

    /// Runs these probes, at best side by side, and answers in their order within `limit`.
    fn run(&mut self, names: &[String], limit: Duration) -> Vec<Verdict>;

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

    fn run(&mut self, _: &[String], _: Duration) -> Vec<Verdict> {
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
    names.into_iter().zip(verdicts).filter(|(_, verdict)| *verdict == Verdict::Passed).map(|(name, _)| name).collect()
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
        hands: &mut Hands<'_>,
        late: Late<'_>,
    ) -> Result<(), Cause> {
        let Self { timing, touched, passing } = self;
        let now = hands.clock.now().boot;
        let mut course = Course::new(timing, passing, !touched.is_empty(), now);
        let (mut next, mut told) = (course.begin(now), None);
        loop {
            next = match next {
                Next::Look => {
                    let observed = match seen.take() {
                        Some(observed) => observed,
                        None => hands.look().map_err(Cause::Host)?,
                    };
                    course.looked(hands.clock.now().boot, touched.missing(&observed))
                }
                Next::Carrier { missing, until } => {
                    let links = missing.iter().map(ToString::to_string).collect();
                    let what = tell(probes, &mut told, Waiting::Carrier(links));
                    await_change(hands, until, late).map_err(|cause| cause.waiting_for(&what))?;
                    let observed = hands.look().map_err(Cause::Host)?;
                    course.looked(hands.clock.now().boot, touched.missing(&observed))
                }
                Next::Run { names, limit } => {
                    let verdicts = probes.run(&names, limit);
                    course.answered(hands.clock.now().boot, verdicts)
                }
                Next::Pause { until, name, said: Said::Refused } => {
                    let what = tell(probes, &mut told, Waiting::Restart(name));
                    pause(hands, until, late).map_err(|cause| cause.waiting_for(&what))?;
                    course.waited(hands.clock.now().boot)
                }
                Next::Pause { until, name, said: Said::Unreached(why) } => {
                    // That the time is up is the smaller news; that somebody ends this is another.
                    pause(hands, until, late)
                        .map_err(|cause| if cause == Cause::Stopped { cause } else { Cause::Probe { name, why } })?;
                    course.waited(hands.clock.now().boot)
                }
                Next::End(Ending::Passed) => return Ok(()),
                Next::End(Ending::Failed { name, why }) => return Err(Cause::Probe { name, why }),
                Next::End(Ending::Away { name, waited }) => return Err(Cause::Away { name, waited }),
            };
        }
    }
}

/// Tells of a wait once, when it begins or what is waited for changes.
fn tell(probes: &mut dyn Probes, told: &mut Option<Waiting>, what: Waiting) -> Waiting {
    if told.as_ref() != Some(&what) {
        probes.waits(&what);
        *told = Some(what.clone());
    }
    what
}

/// Waits until the host tells of a change, or until a moment.
fn await_change(hands: &mut Hands<'_>, until: Duration, late: Late<'_>) -> Result<(), Cause> {
    for slice in slices(hands, until) {
        in_time(hands, late)?;
        if hands.pause(slice, true).map_err(Cause::Host)? {
            let gathered = hands.clock.now().plus(GATHER);
            return hands.pause(gathered, false).map(drop).map_err(Cause::Host);
        }
    }
    in_time(hands, late)
}

/// Waits until a moment, whatever the host tells.
fn pause(hands: &mut Hands<'_>, until: Duration, late: Late<'_>) -> Result<(), Cause> {
    for slice in slices(hands, until) {
        in_time(hands, late)?;
        hands.pause(slice, false).map_err(Cause::Host)?;
    }
    in_time(hands, late)
}

/// Why it is too late to go on, if it is.
type Late<'a> = &'a dyn Fn(&Hands<'_>) -> Option<Cause>;

fn in_time(hands: &Hands<'_>, late: Late<'_>) -> Result<(), Cause> {
    late(hands).map_or(Ok(()), Err)
}

/// The ends of the pieces of a wait from now until a moment.
fn slices(hands: &Hands<'_>, until: Duration) -> impl Iterator<Item = Moment> + use<> {
    let now = hands.clock.now();
    let left = until.saturating_sub(now.boot);
    let whole = (1..).map(|number| SLICE * number).take_while(move |passed| *passed < left);
    let last = (!left.is_zero()).then_some(left);
    whole.chain(last).map(move |passed| now.plus(passed))
}
