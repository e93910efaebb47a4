//! From a goal to steps, by carrying them out on a simulated host.
//!
//! Each step is applied to the simulation as soon as it is found, so later decisions see what the
//! kernel would really have by then: addresses that a move took away, children that went with
//! their base. Whatever a step changed beside the goal joins the goal (see [`crate::goal`]), and the
//! same phases put it back. The simulation also yields each step's undo.

use netloom_kernel_sim::{Memory, SimHost};
use netloom_model::{Observed, Plan, PlannedStep, SideEffects, Step, StepError, Target};
use netloom_types::IfName;

use crate::{
    PlanError, fragile,
    goal::Goal,
    links,
    order::Dependents,
    phase::{self, Phase},
    restore, sink,
};

/// Rounds after which a plan must have come to rest: one does the work, one more finds nothing left;
/// the others are for what only shows when the first is through.
const ROUNDS: usize = 4;

/// Rounds of steps back after which no more are looked for: the transaction reads back what its undo
/// did and plans again for what is left.
const UNDO_ROUNDS: usize = 6;

/// A plan that has come to rest.
pub(crate) struct Finished {
    pub(crate) plan: Plan,
    /// Everything that was touched, as it was.
    pub(crate) before: Target,
    /// What the host must show afterwards.
    pub(crate) expected: Goal,
    pub(crate) notes: Vec<String>,
    /// The host after the last step.
    pub(crate) sim: SimHost,
}

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
    /// Bridges whose MTU shall become another one.
    pub(crate) resized: Vec<IfName>,
    /// Everything that was touched, as it was.
    pub(crate) before: Target,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
    /// Whether the links of the goal shall have nothing that the goal does not name.
    exact: bool,
}

impl Builder {
    /// Starts from what was observed, towards links that shall be as they were.
    pub(crate) fn back(observed: &Observed, goal: Goal) -> Self {
        Self { exact: true, ..Self::new(observed, goal) }
    }

    /// Starts from what was observed.
    pub(crate) fn new(observed: &Observed, goal: Goal) -> Self {
        Self {
            resized: links::resized_bridges(observed, &goal),
            sim: SimHost::from_observed(observed.clone()),
            goal,
            dependents: Dependents::of(observed.links.values()),
            steps: Vec::new(),
            before: Target::default(),
            notes: Vec::new(),
            exact: false,
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
        let mut links = Vec::new();
        for phase in Phase::ORDER {
            if phase.is_after_removal() {
                links = phase::in_order(self)?;
            }
            phase.run(self, &links)?;
        }
        Ok(())
    }

    /// Carries a step out on the simulation and writes it down with its undo.
    pub(crate) fn emit(&mut self, step: Step) -> Result<(), PlanError> {
        self.attempt(step).map_err(|refused| {
            let (step, error) = *refused;
            let origin = self.origin(&step);
            match self.base_down(&step, &error) {
                Some((name, base)) => {
                    let lowered =
                        self.before.links.get(&base).is_some_and(|was| was.as_ref().is_some_and(|was| was.up));
                    PlanError::BaseDown { name, base, lowered, origin }
                }
                None => PlanError::Refused { step: step.to_string(), error, origin },
            }
        })
    }

    /// The link that a step would set up and the base that keeps it down, where that is why it is refused.
    fn base_down(&self, step: &Step, error: &StepError) -> Option<(IfName, IfName)> {
        let (Step::SetUp { name, up: true } | Step::CreateLink { name, up: true, .. }) = step else { return None };
        let link = &self.goal.link(*name)?.link;
        let base = link.base().filter(|_| error.errno == StepError::ENETDOWN && sink::follows(link))?;
        let base_is_down = self.sim.observed().links.get(&base).is_some_and(|base| !base.up);
        base_is_down.then_some((*name, base))
    }

    /// Like [`Self::emit`] for a step that nobody asked for: what cannot be put back is reported.
    pub(crate) fn emit_consequence(&mut self, step: Step) {
        if let Err(refused) = self.attempt(step) {
            let (step, error) = *refused;
            let note = match &step {
                Step::AddRoute(route) | Step::ReplaceRoute(route) if route.is_dynamic() => fragile::goes(route, &error),
                _ => format!("{step} goes with this change and cannot be put back: {error}"),
            };
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    fn attempt(&mut self, step: Step) -> Result<(), Box<(Step, StepError)>> {
        let memory = self.sim.memory();
        let touched = match self.sim.apply(&step) {
            Ok(touched) => touched,
            Err(error) => return Err(Box::new((step, error))),
        };
        let undo = self.undo(&step, &touched, memory)?;
        let origin = self.origin(&step);
        let followers = self.followers(&step, &touched);
        self.steps.push(PlannedStep { step, undo, origin });
        for link in touched.links.values().flatten() {
            self.goal.heal_link(link.clone());
        }
        if self.exact {
            let now = &self.sim.observed().links;
            touched.links.keys().filter_map(|name| now.get(name)).for_each(|now| self.goal.complete_link(now));
        }
        for route in touched.routes.values().flatten() {
            if self.goal.heal_route(route.clone()) && route.is_dynamic() {
                self.notes.push(fragile::goes(route, &"no link stays that it could lead out by"));
            }
        }
        restore::remember(&mut self.before, touched);
        self.accept_addresses();
        followers.into_iter().try_for_each(|name| self.attempt(Step::SetUp { name, up: true }))
    }

    /// VLANs that come up with their base. Newer kernels put them up some time later, too late for an
    /// address or route that comes next, so each is put up once more by a step of its own.
    fn followers(&self, step: &Step, touched: &Target) -> Vec<IfName> {
        let Step::SetUp { name: base, up: true } = step else { return Vec::new() };
        let now = &self.sim.observed().links;
        let follows = |name: &&IfName| now.get(*name).is_some_and(|link| link.base() == Some(*base) && link.up);
        touched.links.keys().filter(follows).copied().collect()
    }

    /// A link that comes up may get addresses from the kernel, as `lo` does.
    fn accept_addresses(&mut self) {
        let Some(PlannedStep { step: Step::SetUp { name, up: true }, .. }) = self.steps.last() else { return };
        if let (Some(now), Some(Some(goal))) = (self.sim.observed().links.get(name), self.goal.links.get_mut(name)) {
            goal.accept(now);
        }
    }

    /// The steps back. They are rehearsed, because a step back may take away more than it was asked
    /// to as well: the last IPv4 address of a link takes the link's routes with it.
    fn undo(&mut self, step: &Step, touched: &Target, memory: Memory) -> Result<Vec<Step>, Box<(Step, StepError)>> {
        if let (Step::AddRoute(route), 1) = (step, touched.len())
            && let Some(None) = touched.routes.get(&route.key())
        {
            // By far the most frequent step of large plans.
            let there = &self.sim.observed().routes[&route.key()];
            return Ok(vec![Step::RemoveRoute(there.clone())]);
        }
        let mut next = restore::steps(touched, self.sim.observed());
        if !next.iter().any(|step| self.has_side_effects(step)) {
            // Kept until the end, one for each step.
            next.shrink_to_fit();
            return Ok(next);
        }
        let mut was = touched.clone();
        let mut undo = Vec::new();
        for _ in 0..UNDO_ROUNDS {
            for back in next {
                // One that is refused has come too early or too late; what it was for shows in the
                // comparison, and comes again.
                if let Ok(more) = self.sim.apply(&back) {
                    restore::remember(&mut was, more);
                    undo.push(back);
                }
            }
            next = restore::steps(&was, self.sim.observed());
            if next.is_empty() {
                break;
            }
        }
        undo.shrink_to_fit();
        self.sim.recall(memory);
        self.sim.apply(step).map_err(|error| Box::new((step.clone(), error)))?;
        Ok(undo)
    }

    /// Whether the kernel may do more for this step than it says.
    fn has_side_effects(&self, step: &Step) -> bool {
        let traits = step.traits();
        match traits.side_effects {
            SideEffects::None => false,
            SideEffects::RoutesOver => traits.link.is_some_and(|name| self.sim.has_routes_over(name)),
            // A port that goes may take the hardware address of its controller with it.
            SideEffects::OfPort => {
                let link = traits.link.and_then(|name| self.sim.observed().links.get(&name));
                link.is_some_and(|link| link.controller.is_some())
            }
            SideEffects::Any => true,
        }
    }

    fn origin(&self, step: &Step) -> Option<netloom_model::Origin> {
        if let Some(name) = step.link() {
            return self.goal.link(name).and_then(|goal| goal.origin.clone());
        }
        if let Some(route) = step.route() {
            return self.goal.routes.get(&route.key()).and_then(|goal| goal.origin.clone());
        }
        match step {
            Step::AddRule(rule) | Step::RemoveRule(rule) => {
                self.goal.rules.get(&rule.key).and_then(|goal| goal.origin.clone())
            }
            _ => None,
        }
    }

    /// The finished plan.
    pub(crate) fn finish(mut self) -> Finished {
        let sim = self.sim.observed();
        self.goal.settle(&sim.host);
        Finished {
            plan: Plan { steps: self.steps },
            before: self.before,
            expected: self.goal,
            notes: self.notes,
            sim: self.sim,
        }
    }
}
