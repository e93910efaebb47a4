//! Carrying out steps and reading the host back: what forward, undo and repair have in common.

use std::time::Duration;

use netloom_model::{Engine, EngineError, Observed, Scope, Step, StepError};
use netloom_plan::Difference;

use crate::{Clock, Moment, already};

/// How many times a step is tried again that the kernel could not do at the moment.
const RETRIES: usize = 3;

/// How long to wait before such a step is tried again.
const BUSY: Duration = Duration::from_millis(50);

/// When the host is read back after the first time. The kernel is synchronous for nearly everything; what needs time is
/// duplicate address detection, carriers and renames by others.
pub(crate) const CHECKS: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// How often a report of the host may bring the next check forward: on a busy host reports do not
/// end, and a check costs a whole dump.
const EARLY: usize = 2;

/// The most reports that are taken in between two checks; a bound for a clock that stands still.
const REPORTS: usize = 1_000;

/// A host within reach.
pub(crate) struct Hands<'a> {
    pub(crate) engine: &'a mut dyn Engine,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) scope: Scope,
}

/// What became of some steps; numbers are places in the slice that was given.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Steps that were refused for good, in order.
    pub(crate) refused: Vec<(usize, StepError)>,
    /// Steps that met somebody else's object, equal to the wish or not.
    pub(crate) not_ours: Vec<usize>,
}

impl Hands<'_> {
    /// Carries out steps as one batch. What is there already, or gone already, counts as done; what
    /// the kernel could not do at the moment is tried again.
    pub(crate) fn carry_out(&mut self, steps: &[Step]) -> Result<Carried, EngineError> {
        let mut carried = Carried::default();
        let mut failed = self.send(steps, (0..steps.len()).collect())?;
        for attempt in 0..=RETRIES {
            let met: Vec<usize> =
                failed.iter().filter(|(_, error)| error.errno == StepError::EEXIST).map(|(at, _)| *at).collect();
            if !met.is_empty() {
                let observed = self.engine.observe(self.scope)?;
                failed.retain(|(at, _)| !(met.contains(at) && already::shows(&observed, &steps[*at])));
            }
            if attempt == 0 {
                // Later it may be our own, from an attempt that was refused half way.
                carried.not_ours = met;
            }
            if attempt == RETRIES || !failed.first().is_some_and(|(_, error)| error.is_passing()) {
                break;
            }
            // The first reports are the echo of the batch itself, so none of them ends the wait.
            self.pause(self.clock.now().plus(BUSY), false)?;
            // Later steps may have failed only because this one did, so all of them go again.
            failed = self.send(steps, failed.into_iter().map(|(at, _)| at).collect())?;
        }
        carried.refused = failed;
        Ok(carried)
    }

    /// Sends the steps with these numbers and returns those that were refused.
    fn send(&mut self, steps: &[Step], numbers: Vec<usize>) -> Result<Vec<(usize, StepError)>, EngineError> {
        let results = if numbers.len() == steps.len() {
            self.engine.execute(steps)?
        } else {
            let chosen: Vec<Step> = numbers.iter().map(|&at| steps[at].clone()).collect();
            self.engine.execute(&chosen)?
        };
        if results.len() != numbers.len() {
            let why = format!("{} answers to {} steps", results.len(), numbers.len());
            return Err(EngineError { doing: "carry out steps".to_owned(), why });
        }
        let refused = |(at, result): (usize, Result<(), StepError>)| match result {
            Ok(()) => None,
            Err(error) if steps[at].is_removal() && error.is_gone() => None,
            Err(error) => Some((at, error)),
        };
        Ok(numbers.into_iter().zip(results).filter_map(refused).collect())
    }

    /// Reads the host back now and at each of `points` from now, until `check` finds nothing, and
    /// returns what it saw and found last.
    pub(crate) fn read_back(
        &mut self,
        points: &[Duration],
        check: impl Fn(&Observed) -> Vec<Difference>,
        give_up: impl Fn(&Self) -> bool,
    ) -> Result<(Observed, Vec<Difference>), EngineError> {
        let started = self.clock.now();
        let (mut next, mut early) = (0, EARLY);
        loop {
            let observed = self.engine.observe(self.scope)?;
            let found = check(&observed);
            if found.is_empty() || next == points.len() || give_up(self) {
                return Ok((observed, found));
            }
            if self.pause(started.plus(points[next]), early > 0)? {
                early -= 1;
            } else {
                (next, early) = (next + 1, EARLY);
            }
        }
    }

    /// Waits until a moment; whether it ended before, because the host reported a change and
    /// `early` lets that end it.
    pub(crate) fn pause(&mut self, until: Moment, early: bool) -> Result<bool, EngineError> {
        for _ in 0..REPORTS {
            let left = self.clock.now().until(until);
            if left.is_zero() || !self.engine.wait_for_change(left)? {
                break;
            }
            if early {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
