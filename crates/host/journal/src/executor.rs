//! Carrying out steps and reading the host back: what forward, undo and repair have in common.

use std::time::Duration;

use netloom_model::{Engine, EngineError, Observed, Scope, Step, StepError};
use netloom_plan::Difference;

use crate::{Clock, Moment, already};

/// How many times a step is tried again that the kernel could not do at the moment.
const RETRIES: usize = 3;

/// How long to wait before such a step is tried again.
const BUSY: Duration = Duration::from_millis(50);

/// How long a new IPv6 address may be on trial until nobody else has it; before, no route may name it
/// as its source.
const TRIAL: Duration = Duration::from_millis(2_500);

/// How many looks at the host that wait may take.
const TRIAL_LOOKS: usize = 25;

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
pub(crate) struct Executor<'a> {
    pub(crate) engine: &'a mut dyn Engine,
    pub(crate) clock: &'a dyn Clock,
    /// What the change is about. A host is read back without what no desired state is about.
    pub(crate) scope: Scope,
    /// Whether routes that nobody configured are to be put back, and so are read back too.
    pub(crate) with_derived: bool,
}

/// What became of some steps; numbers are places in the slice that was given.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Steps that were refused for good, in order.
    pub(crate) refused: Vec<(usize, StepError)>,
    /// Steps that met somebody else's object, equal to the desired state or not.
    pub(crate) not_ours: Vec<usize>,
}

impl Executor<'_> {
    /// Carries out steps as one batch. What is there already, or gone already, counts as done; what
    /// the kernel could not do at the moment is tried again.
    pub(crate) fn carry_out(&mut self, steps: &[Step]) -> Result<Carried, EngineError> {
        let mut carried = Carried::default();
        let mut failed = self.send(steps, (0..steps.len()).collect())?;
        failed = self.await_sources(steps, failed)?;
        for attempt in 0..=RETRIES {
            let met: Vec<usize> =
                failed.iter().filter(|(_, error)| error.errno == StepError::EEXIST).map(|(at, _)| *at).collect();
            if !met.is_empty() {
                let observed = self.engine.observe(self.read_back_scope())?;
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

    /// Sends routes again whose source address is still on trial, until they are taken or it is too
    /// late.
    fn await_sources(
        &mut self,
        steps: &[Step],
        mut failed: Vec<(usize, StepError)>,
    ) -> Result<Vec<(usize, StepError)>, EngineError> {
        let until = self.clock.now().plus(TRIAL);
        for _ in 0..TRIAL_LOOKS {
            let on_trial = |(at, error): &(usize, StepError)| is_on_trial(&steps[*at], error);
            if !failed.iter().any(on_trial) || self.clock.now().until(until).is_zero() {
                break;
            }
            self.pause(self.clock.now().plus(TRIAL / 25), false)?;
            // Later steps may have failed only because of these, so all of them go again.
            failed = self.send(steps, failed.into_iter().map(|(at, _)| at).collect())?;
        }
        Ok(failed)
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
            let observed = self.engine.observe(self.read_back_scope())?;
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

    /// Reads the host as it is read back.
    pub(crate) fn look(&mut self) -> Result<Observed, EngineError> {
        self.engine.observe(self.read_back_scope())
    }

    fn read_back_scope(&self) -> Scope {
        Scope { without_derived_routes: !self.with_derived, ..self.scope }
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

/// Whether a route was refused because the address that it names as its source is not yet usable.
fn is_on_trial(step: &Step, error: &StepError) -> bool {
    let (Step::AddRoute(route) | Step::ReplaceRoute(route)) = step else { return false };
    let about_source = error.text.as_deref().is_some_and(|text| text.contains("source address"));
    route.source.is_some_and(|ip| ip.is_ipv6()) && error.errno == StepError::EINVAL && about_source
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use netloom_model::{Route, RouteExtra, RouteMetrics, RouteType};
    use netloom_types::{Protocol, RouteTable};

    use super::*;

    struct Ticks(Cell<u32>);

    impl Clock for Ticks {
        fn now(&self) -> Moment {
            self.0.set(self.0.get() + 1);
            Moment { boot: Duration::from_millis(60) * self.0.get(), wall: 0 }
        }
    }

    /// Refuses everything a number of times.
    struct OnTrial(usize);

    impl Engine for OnTrial {
        fn observe(&mut self, _: Scope) -> Result<Observed, EngineError> {
            Ok(Observed::default())
        }

        fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
            let refused = StepError::with(StepError::EINVAL, "Invalid source address");
            let left = self.0;
            self.0 = left.saturating_sub(1);
            Ok(vec![if left > 0 { Err(refused) } else { Ok(()) }; steps.len()])
        }

        fn wait_for_change(&mut self, _: Duration) -> Result<bool, EngineError> {
            Ok(false)
        }
    }

    #[test]
    fn a_route_waits_for_its_source_but_not_for_ever() {
        let route = |source: &str| {
            Step::AddRoute(Route {
                table: RouteTable::MAIN,
                destination: "2001:db8::/32".parse().unwrap(),
                metric: 1,
                kind: RouteType::Blackhole,
                next_hops: Vec::new(),
                source: Some(source.parse().unwrap()),
                protocol: Protocol::NETLOOM,
                metrics: RouteMetrics::default(),
                extra: RouteExtra::default(),
            })
        };
        let refused = |source: &str, times: usize| {
            let (mut engine, clock) = (OnTrial(times), Ticks(Cell::new(0)));
            let mut executor =
                Executor { engine: &mut engine, clock: &clock, scope: Scope::default(), with_derived: false };
            executor.carry_out(&[route(source)]).unwrap().refused.len()
        };
        assert_eq!(refused("2001:db8::1", 5), 0);
        assert_eq!(refused("2001:db8::1", 1_000), 1);
        assert_eq!(refused("10.0.0.1", 1), 1);
    }
}
