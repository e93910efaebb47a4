//! Taking a change back, and making sure of it.
//!
//! Every undo step may be carried out again and again: what is gone stays gone, what is there is
//! taken as it is. So an undo that was interrupted is simply begun anew. Nothing stops it: refusals
//! are collected, and what counts is what the host shows in the end.

use std::time::Duration;

use netloom_model::{EngineError, Observed, Step, Target};
use netloom_plan::{Difference, converge, differences};

use crate::{already, hands::Hands, record::Log};

/// How often the host may be brought closer to what it was, when the undo steps did not do it.
const ROUNDS: usize = 3;

/// When the host is read back after the first time; short, so that three rounds fit in a second.
const CHECKS: [Duration; 3] = [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(300)];

/// What an undo took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoReport {
    /// How many steps were carried out.
    pub steps: usize,
    /// Steps that were refused although all is as it was now, for a person.
    pub refused: Vec<String>,
}

/// What to do to take a change back, and what to see when it is.
#[derive(Debug)]
pub(crate) struct Undo {
    pub(crate) steps: Vec<Step>,
    pub(crate) before: Target,
}

impl Undo {
    /// Takes back every step that was sent, last first.
    pub(crate) fn of(log: &Log<'_>) -> Self {
        let mut before = log.begin.before.clone().into_owned();
        let mut steps = Vec::new();
        for number in (0..log.sent).rev() {
            let planned = &log.begin.steps[number];
            if log.not_ours.contains(&number) {
                already::forget(&mut before, &planned.step);
            } else {
                steps.extend(planned.undo.iter().cloned());
            }
        }
        Self { steps, before }
    }

    /// Puts files back after the kernel that was changed is gone.
    ///
    /// Which steps were sent is not asked: that may not have reached the disk. A file is put back
    /// when it holds what the change wrote, or nothing; anything else somebody wrote since.
    pub(crate) fn of_files(log: &Log<'_>, observed: &Observed) -> Self {
        let Target { resolver, hostname_config, .. } = &*log.begin.before;
        let mut undo = Self { steps: Vec::new(), before: Target::default() };
        for planned in log.begin.steps.iter().rev() {
            let empty = match &planned.step {
                Step::SetResolver(_) => observed.resolver.is_empty(),
                Step::SetHostnameConfig(_) => observed.hostname_config.is_empty(),
                _ => false,
            };
            if !planned.step.is_persistent() || !(empty || already::shows(observed, &planned.step)) {
                continue;
            }
            undo.steps.extend(planned.undo.iter().filter(|step| step.is_persistent()).cloned());
            match &planned.step {
                Step::SetResolver(_) => undo.before.resolver.clone_from(resolver),
                Step::SetHostnameConfig(_) => undo.before.hostname_config.clone_from(hostname_config),
                _ => {}
            }
        }
        undo
    }

    /// Carries the undo out. The inner error lists what is not as it was.
    pub(crate) fn carry_out(
        self,
        hands: &mut Hands<'_>,
        batch: usize,
    ) -> Result<Result<UndoReport, (UndoReport, Vec<Difference>)>, EngineError> {
        let mut report = UndoReport::default();
        send(hands, &self.steps, batch, &mut report)?;
        let mut rounds = 0;
        loop {
            let (observed, left) =
                hands.read_back(&CHECKS, |observed| differences(&self.before, observed), |_| false)?;
            if left.is_empty() {
                return Ok(Ok(report));
            }
            let repair = match converge(&observed, &self.before) {
                Ok(plan) => plan.steps.into_iter().map(|planned| planned.step).collect(),
                Err(error) => {
                    report.refused.push(error.to_string());
                    Vec::new()
                }
            };
            if rounds == ROUNDS || repair.is_empty() {
                return Ok(Err((report, left)));
            }
            rounds += 1;
            send(hands, &repair, batch, &mut report)?;
        }
    }
}

fn send(hands: &mut Hands<'_>, steps: &[Step], batch: usize, report: &mut UndoReport) -> Result<(), EngineError> {
    for steps in steps.chunks(batch) {
        let carried = hands.carry_out(steps)?;
        report.steps += steps.len();
        report.refused.extend(carried.refused.iter().map(|(at, error)| format!("{}: {error}", steps[*at])));
    }
    Ok(())
}
