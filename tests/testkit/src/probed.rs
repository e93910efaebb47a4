//! A change that costs a probe, on a host with routes that nobody configured.
//!
//! The probe is as strict as one can be: it passes while the host is as it was before the change, routes of leases, routers and
//! daemons included. So it fails once the change is in place, whatever that is, and passes again only after a true undo.

use std::{cell::Cell, rc::Rc, time::Duration};

use netloom_journal::{Cause, Outcome, ProbeResult, Probes, SystemClock, Transaction};
use netloom_model::{Engine, EngineError, HostState, Observed, Scope, Step, StepError};

use crate::{
    compare,
    play::{Player, Stage, request},
    scenario::Round,
};

/// A host that is looked at after everything that is done to it.
struct Watched<'a, S: Stage> {
    stage: &'a mut S,
    as_it_was: &'a dyn Fn(&Observed) -> bool,
    seen: Rc<Cell<bool>>,
}

impl<S: Stage> Engine for Watched<'_, S> {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        self.stage.observe(scope)
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        let done = self.stage.execute(steps)?;
        self.seen.set((self.as_it_was)(&self.stage.observe(Scope::default())?));
        Ok(done)
    }

    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.stage.wait_for_change(at_most)
    }
}

/// The probe.
struct AsItWas(Rc<Cell<bool>>);

impl Probes for AsItWas {
    fn names(&self) -> Vec<String> {
        vec!["as-it-was".to_owned()]
    }

    fn run(&mut self, names: &[String], _: Duration) -> Vec<ProbeResult> {
        let verdict =
            if self.0.get() { ProbeResult::Passed } else { ProbeResult::Failed("the host is another".to_owned()) };
        vec![verdict; names.len()]
    }
}

/// Sets a document whose probe fails: everything must be as it was.
pub(crate) fn fails_and_is_taken_back<S: Stage>(
    player: &mut Player<'_, S>,
    round: &Round,
    desired: &HostState,
) -> Result<(), String> {
    let before = player.observe()?;
    let host = |observed: &Observed| compare::unordered(&compare::canonical(&observed.host, &player.asked));
    let was = host(&before);
    let as_it_was = |observed: &Observed| host(observed) == was && compare::given_back(&before, observed).is_ok();
    let seen = Rc::new(Cell::new(true));
    let mut watched = Watched { stage: &mut *player.stage, as_it_was: &as_it_was, seen: Rc::clone(&seen) };
    let request = request(round, desired);
    let text = |error: netloom_journal::Error| error.to_string();
    let life = player.incarnation.clone();
    let mut transaction =
        Transaction::take(&player.store, &mut watched, &SystemClock, life, Duration::ZERO).map_err(text)?;
    let prepared = transaction.prepare(&request).map_err(text)?;
    match transaction.run(&prepared, &request, &mut AsItWas(seen)).map_err(text)? {
        Outcome::Nothing => Ok(()),
        Outcome::RolledBack { why: Cause::Probe { .. }, report } if report.unreached.is_empty() => Ok(()),
        other => Err(format!("the change whose probe fails ended otherwise: {other:?}")),
    }?;
    drop(transaction);
    let after = player.observe()?;
    compare::given_back(&before, &after).map_err(|why| format!("after a probe that failed: {why}"))
}
