//! Wrappers that tell a person how far a long change is, without the transaction knowing.

use std::{cell::Cell, collections::BTreeMap, time::Duration};

use netloom_journal::{ProbeResult, Probes, Waiting};
use netloom_model::{Engine, EngineError, Observed, Scope, Step, StepError};

use crate::{
    output::Output,
    stopwatch::{Lap, Stopwatch},
};

/// Changes with fewer steps are over before a line about them is read.
const LONG: usize = 500;

/// A host that tells about every batch of steps.
pub(crate) struct ReportingEngine<'a> {
    engine: &'a mut dyn Engine,
    output: Output,
    /// How many steps there are; 0 while nothing is being changed. Set by who plans, once that is
    /// known.
    total: &'a Cell<usize>,
    watch: &'a Stopwatch,
    done: usize,
}

impl<'a> ReportingEngine<'a> {
    /// Wraps a host.
    pub(crate) fn new(
        engine: &'a mut dyn Engine,
        output: Output,
        total: &'a Cell<usize>,
        watch: &'a Stopwatch,
    ) -> Self {
        Self { engine, output, total, watch, done: 0 }
    }

    /// The number of steps, when it is worth a line.
    fn many(&self) -> Option<usize> {
        Some(self.total.get()).filter(|total| *total >= LONG)
    }
}

impl Engine for ReportingEngine<'_> {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        if let Some(total) = self.many()
            && self.done >= total
        {
            self.output.note("verifying");
        }
        self.watch.time(Lap::Host, || self.engine.observe(scope))
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        if let Some(total) = self.many() {
            self.done += steps.len();
            // An undo sends steps as well, beyond the plan.
            let word =
                if self.done <= total { format!("applying {}/{total}", self.done) } else { "undoing".to_owned() };
            self.output.note(&word);
        }
        self.watch.time(Lap::Writes, || self.engine.execute(steps))
    }

    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.engine.wait_for_change(at_most)
    }
}

/// Probes that tell what they found.
pub(crate) struct ReportingProbes<'a> {
    probes: &'a mut dyn Probes,
    output: Output,
    before: bool,
    /// What was reported of each probe last: one that is tried again and again is reported once.
    reported: BTreeMap<String, ProbeResult>,
}

impl<'a> ReportingProbes<'a> {
    /// Wraps probes.
    pub(crate) fn new(probes: &'a mut dyn Probes, output: Output) -> Self {
        Self { probes, output, before: true, reported: BTreeMap::new() }
    }
}

impl Probes for ReportingProbes<'_> {
    fn names(&self) -> Vec<String> {
        self.probes.names()
    }

    fn run(&mut self, names: &[String], limit: Duration) -> Vec<ProbeResult> {
        let verdicts = self.probes.run(names, limit);
        for (name, verdict) in names.iter().zip(&verdicts) {
            if !self.before && self.reported.insert(name.clone(), verdict.clone()).as_ref() == Some(verdict) {
                continue;
            }
            match (verdict, self.before) {
                (ProbeResult::Failed(why) | ProbeResult::Refused(why), true) => {
                    self.output.note(&format!("probe {name} fails already, so it will not count: {why}"));
                }
                (ProbeResult::Failed(why) | ProbeResult::Refused(why), false) => {
                    self.output.note(&format!("probe {name} fails: {why}"));
                }
                (ProbeResult::Passed, false) => self.output.note(&format!("probe {name} passes")),
                (ProbeResult::Passed, true) | (ProbeResult::NotApplicable, _) => {}
            }
        }
        self.before = false;
        verdicts
    }

    fn waits(&mut self, what: &Waiting) {
        self.output.note(&format!("waiting for {what}"));
    }
}
