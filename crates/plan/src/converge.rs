//! From a goal to steps, by carrying them out on a simulated host.
//!
//! Each step is applied to the simulation as soon as it is found, so later decisions see what the
//! kernel would really have by then: addresses that a move took away, children that went with
//! their base. Whatever a step changed beside the goal joins the goal (see [`crate::goal`]), and the
//! same phases put it back. The simulation also yields each step's undo.
//!
//! Order: rules and routes that go; links that go, deepest first; links that come or change, bases
//! and controllers first; ports; states; VLANs; addresses; routes; rules; files.

use netloom_model::{Observed, Plan, PlannedStep, Step, StepError, Target};
use netloom_sim::SimHost;
use netloom_types::IfName;

use crate::{PlanError, goal::Goal, links, order, order::Dependents, restore, routes};

/// Rounds after which a plan must have come to rest: one does the work, one more finds nothing left;
/// the others are for what only shows when the first is through.
const ROUNDS: usize = 4;

/// A plan that grows on a simulated host.
pub(crate) struct Builder {
    /// The host as it is after the steps so far.
    pub(crate) sim: SimHost,
    /// What it shall become.
    pub(crate) goal: Goal,
    /// What stood on what before the first step.
    pub(crate) dependents: Dependents,
    /// The steps so far.
    pub(crate) steps: Vec<PlannedStep>,
    /// Everything that was touched, as it was.
    pub(crate) before: Target,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
}

impl Builder {
    /// Starts from what was observed.
    pub(crate) fn new(observed: &Observed, goal: Goal) -> Self {
        Self {
            sim: SimHost::from_observed(observed.clone()),
            goal,
            dependents: Dependents::of(observed.links.values()),
            steps: Vec::new(),
            before: Target::default(),
            notes: Vec::new(),
        }
    }

    /// Runs rounds until nothing is left to do.
    pub(crate) fn run(&mut self) -> Result<(), PlanError> {
        for _ in 0..ROUNDS {
            let done = self.steps.len();
            self.round()?;
            if self.steps.len() == done {
                return Ok(());
            }
        }
        let settled = self.steps.len();
        self.round()?;
        if self.steps.len() == settled {
            return Ok(());
        }
        let open = self.steps[settled..].iter().take(3).map(|planned| planned.step.to_string()).collect::<Vec<_>>();
        Err(PlanError::Unsettled { rounds: ROUNDS + 1, open: open.join("; ") })
    }

    fn round(&mut self) -> Result<(), PlanError> {
        routes::remove_rules(self)?;
        routes::remove_routes(self)?;
        links::remove(self)?;
        let order = self.order()?;
        links::detach(self, &order)?;
        links::create_and_change(self, &order)?;
        // What was lost with the links above has joined the goal by now.
        let order = self.order()?;
        links::create_and_change(self, &order)?;
        links::attach(self, &order)?;
        links::finish(self, &order)?;
        links::lower_mtus(self, &order)?;
        for &name in &order {
            links::belongings(self, name)?;
        }
        for &name in &order {
            links::addresses(self, name)?;
        }
        routes::add_routes(self)?;
        routes::add_rules(self)?;
        routes::files(self)
    }

    fn order(&self) -> Result<Vec<IfName>, PlanError> {
        let present = self.goal.links.values().flatten().map(|goal| &goal.link);
        order::topological(present).map_err(|names| PlanError::Cycle { names })
    }

    /// Carries a step out on the simulation and writes it down with its undo.
    pub(crate) fn emit(&mut self, step: Step) -> Result<(), PlanError> {
        self.attempt(step).map_err(|(step, error)| {
            let origin = self.origin(&step);
            PlanError::Refused { step: step.to_string(), error, origin }
        })
    }

    /// Like [`Self::emit`] for a step that nobody wished for: what cannot be put back is said.
    pub(crate) fn emit_consequence(&mut self, step: Step) {
        if let Err((step, error)) = self.attempt(step) {
            let note = format!("{step} goes with this change and cannot be put back: {error}");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    fn attempt(&mut self, step: Step) -> Result<(), (Step, StepError)> {
        let touched = match self.sim.apply(&step) {
            Ok(touched) => touched,
            Err(error) => return Err((step, error)),
        };
        let undo = restore::steps(&touched, &self.sim.observed().host);
        let origin = self.origin(&step);
        self.steps.push(PlannedStep { step, undo, origin });
        for link in touched.links.values().flatten() {
            self.goal.heal_link(link.clone());
        }
        for route in touched.routes.values().flatten() {
            self.goal.heal_route(route.clone());
        }
        restore::remember(&mut self.before, touched);
        Ok(())
    }

    fn origin(&self, step: &Step) -> Option<netloom_model::Origin> {
        if let Some(name) = step.link() {
            return self.goal.link(name).and_then(|goal| goal.origin.clone());
        }
        match step {
            Step::AddRoute(route) | Step::ReplaceRoute(route) | Step::RemoveRoute(route) => {
                self.goal.routes.get(&route.key()).and_then(|goal| goal.origin.clone())
            }
            Step::AddRule(rule) | Step::RemoveRule(rule) => {
                self.goal.rules.get(&rule.key).and_then(|goal| goal.origin.clone())
            }
            _ => None,
        }
    }

    /// The finished plan.
    pub(crate) fn plan(self) -> (Plan, Target, Vec<String>, SimHost) {
        (Plan { steps: self.steps }, self.before, self.notes, self.sim)
    }
}
