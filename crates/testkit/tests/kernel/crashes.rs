//! The process is killed after every step of a transaction, and after every step of its undo.
//!
//! After the next start the host must be exactly what it was before, or exactly what was wished.
//! Since every recovery must give back the earlier host, one namespace serves a whole plan.

use std::time::Duration;

use netloom_journal::{Incarnation, NoProbes, Outcome as Became, Recovery, Store, SystemClock, Turn};
use netloom_model::{Engine as _, Host, Scope};
use netloom_plan::unmet;
use netloom_testkit::{
    compare,
    crash::{Deadly, Death, Order},
    play::{self, Player, StateFolder},
    runner::{Ended, Outcome},
    scenario::{Round, Scenario},
    space::{self, KernelStage, Space},
};

/// How many pairs of deaths, one in the transaction and one in its undo, a plan may cost. Plans with
/// more get all deaths in the undo of the whole plan, and one for every other place of the first.
const MOST_PAIRS: usize = 60;

/// The life of the kernel that parent and children agree on.
const LIFE: &str = "test";

/// A plan that is about to be killed: its host is as it was before the plan.
struct Bench<'a> {
    space: Space,
    folder: StateFolder,
    stage: KernelStage,
    round: &'a Round,
    scenario: &'a Scenario,
    before: Host,
    steps: usize,
}

impl<'a> Bench<'a> {
    fn new(scenarios: &'a [Scenario], name: &str, round: usize) -> Result<Self, String> {
        let scenario = scenarios.iter().find(|scenario| scenario.name == name).ok_or("there is no such scenario")?;
        let round = scenario.rounds.get(round - 1).ok_or("there is no such round")?;
        let (space, folder) = (Space::new()?, StateFolder::new());
        let mut stage = space.stage()?;
        let mut player = Player::begin(&mut stage, &folder, scenario)?;
        for earlier in &scenario.rounds[..round.number - 1] {
            player.set(earlier)?;
        }
        let before = player.observe()?.host;
        let steps = player.steps(round)?;
        Ok(Self { space, folder, stage, round, scenario, before, steps })
    }

    fn order(&self, set: bool, dies_after: usize) -> Order {
        Order {
            set: set.then(|| (self.scenario.name.clone(), self.round.number)),
            namespace: self.space.name().to_owned(),
            state: self.folder.path().to_owned(),
            root: self.space.root().to_owned(),
            dies_after,
        }
    }

    /// Recovers as the next start would, and compares with the host before.
    fn recover(&mut self) -> Result<(), String> {
        let store = self.folder.store()?;
        let text = |error: netloom_journal::Error| error.to_string();
        let recovery = Turn::take(&store, &mut self.stage, &SystemClock, Incarnation::named(LIFE), Duration::ZERO)
            .map_err(text)?
            .recover()
            .map_err(text)?;
        match recovery {
            Recovery::RolledBack { .. } | Recovery::Dropped | Recovery::Nothing => {}
            other => return Err(format!("the recovery did something else: {other:?}")),
        }
        let now = self.observe()?;
        play::same("the host after the recovery", &compare::unordered(&self.before), &compare::unordered(&now))
    }

    fn observe(&mut self) -> Result<Host, String> {
        self.stage.observe(Scope::default()).map(|observed| observed.host).map_err(|error| error.to_string())
    }

    /// The host must be what the document wishes, and confirmed.
    fn fulfilled(&mut self) -> Result<(), String> {
        let observed = self.stage.observe(Scope::default()).map_err(|error| error.to_string())?;
        let wish = play::round_wish(self.round, &observed)?;
        let left = unmet(&wish, &observed).map_err(|error| error.to_string())?;
        if left.is_empty() { Ok(()) } else { Err(format!("the child ended well, but: {left:?}")) }
    }
}

pub(crate) fn killed_after_every_step(scenarios: &[Scenario], name: &str, round: usize) -> Outcome {
    let mut bench = Bench::new(scenarios, name, round)?;
    for step in 1.. {
        let after = |why: String| format!("killed after step {step}: {why}");
        match bench.order(true, step).carry_out().map_err(after)? {
            Death::Killed => bench.recover().map_err(after)?,
            Death::Finished => {
                bench.fulfilled()?;
                return Ok(Ended::Passed(Some(format!("killed after each of {} steps", step - 1))));
            }
        }
    }
    Err("no plan is endless".to_owned())
}

pub(crate) fn killed_in_undo(scenarios: &[Scenario], name: &str, round: usize) -> Outcome {
    let mut bench = Bench::new(scenarios, name, round)?;
    let steps = bench.steps;
    let all = steps * steps <= 2 * MOST_PAIRS;
    let mut pairs = 0;
    for step in (1..=steps).rev() {
        for undo in 1.. {
            // A different place in the undo for every step, when not all of them can be had.
            let undo = if all || step == steps { undo } else { 1 + (step * 7) % step };
            let after = |why: String| format!("killed after step {step}, then after step {undo} of the undo: {why}");
            if bench.order(true, step).carry_out().map_err(after)? != Death::Killed {
                return Err(after("the child was not killed".to_owned()));
            }
            let again = bench.order(false, undo).carry_out().map_err(after)?;
            bench.recover().map_err(after)?;
            pairs += 1;
            if again == Death::Finished || !(all || step == steps) {
                break;
            }
        }
    }
    let how = if all { "all" } else { "a sample" };
    Ok(Ended::Passed(Some(format!("{pairs} pairs of deaths, {how} of {steps} steps"))))
}

/// Does what a child is told; dies on the way, if that is the order.
pub(crate) fn obey(order: &Order) -> Result<(), String> {
    let host = KernelStage::open(space::options(&order.namespace, &order.root))?;
    let mut host = Deadly { host, left: order.dies_after };
    let store = Store::of_host(&order.state).map_err(|error| error.to_string())?;
    let text = |error: netloom_journal::Error| error.to_string();
    let take = |host| Turn::take(&store, host, &SystemClock, Incarnation::named(LIFE), Duration::ZERO);
    let Some((name, round)) = &order.set else {
        return take(&mut host).map_err(text)?.with_batch(1).recover().map(drop).map_err(text);
    };
    let scenarios = netloom_testkit::scenarios();
    let scenario = Scenario::load(&scenarios, &scenarios.join(name))?;
    let round = &scenario.rounds[round - 1];
    let observed = host.observe(Scope::default()).map_err(|error| error.to_string())?;
    let wish = play::round_wish(round, &observed)?;
    let request = play::request(round, &wish);
    let mut turn = take(&mut host).map_err(text)?.with_batch(1);
    let prepared = turn.prepare(&request).map_err(text)?;
    match turn.run(&prepared, &request, &mut NoProbes).map_err(text)? {
        Became::Confirmed => Ok(()),
        other => Err(format!("it ended otherwise: {other:?}")),
    }
}
