//! The process is killed after every step of a transaction, after every batch of steps, and in its undo.
//!
//! After the next start the host must be exactly what it was before, or exactly what was desired.
//! Since every recovery must give back the earlier host, one namespace serves a whole plan.

use std::{collections::BTreeSet, time::Duration};

use netloom_journal::{BATCH, Incarnation, NoProbes, Outcome as Became, Recovery, Store, SystemClock, Transaction};
use netloom_model::{Engine as _, Host, Scope};
use netloom_plan::unmet;
use netloom_testkit::{
    compare,
    crash::{Deadly, Death, Order},
    play::{self, Player, StateFolder},
    runner::{Ended, Outcome},
    scenario::{Round, Scenario},
    seen::{self, Seen},
    space::{self, KernelStage, Space},
};
use netloom_types::IfName;

/// How many pairs of deaths, one in the transaction and one in its undo, a plan may cost. Plans with
/// more get all deaths in the undo of the whole plan, and a sample of the others.
const MOST_PAIRS: usize = 60;

/// A batch of which every plan needs several.
const FEW: usize = 8;

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
    looks: Seen,
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
        let links = player.observe()?.host.links;
        seen::adorn(space.name(), links.keys().map(IfName::as_str))?;
        let before = player.observe()?.host;
        let steps = player.steps(round)?;
        let looks = Seen::of(space.name())?;
        Ok(Self { space, folder, stage, round, scenario, before, looks, steps })
    }

    fn order(&self, set: bool, batch: usize, dies_after: usize) -> Order {
        Order {
            set: set.then(|| (self.scenario.name.clone(), self.round.number)),
            namespace: self.space.name().to_owned(),
            state: self.folder.path().to_owned(),
            root: self.space.root().to_owned(),
            batch,
            dies_after,
        }
    }

    /// Sets the document and dies after a number of its steps.
    fn kill_in_set(&self, step: usize) -> Result<(), String> {
        match self.order(true, 1, step).carry_out()? {
            Death::Killed => Ok(()),
            Death::Finished => Err("the child was not killed".to_owned()),
        }
    }

    /// Kills after the first send, the second and so on, until the document is set; gives their number.
    fn killed_after_every_send(&mut self, batch: usize) -> Result<usize, String> {
        for send in 1.. {
            let after = |why: String| format!("killed after send {send} of {batch} steps: {why}");
            match self.order(true, batch, send).carry_out().map_err(after)? {
                Death::Killed => {
                    self.recover().map_err(after)?;
                    self.looks_as_before().map_err(after)?;
                }
                Death::Finished => {
                    self.fulfilled()?;
                    return Ok(send - 1);
                }
            }
        }
        Err("no plan is endless".to_owned())
    }

    /// Recovers as the next start would, and compares with the host before. Gives the steps of the undo.
    fn recover(&mut self) -> Result<usize, String> {
        let store = self.folder.store()?;
        let text = |error: netloom_journal::Error| error.to_string();
        let recovery =
            Transaction::take(&store, &mut self.stage, &SystemClock, Incarnation::named(LIFE), Duration::ZERO)
                .map_err(text)?
                .recover()
                .map_err(text)?;
        let steps = match recovery {
            Recovery::RolledBack { report, .. } => report.steps,
            Recovery::Dropped | Recovery::Nothing => 0,
            other => return Err(format!("the recovery did something else: {other:?}")),
        };
        let now = self.observe()?;
        play::same("the host after the recovery", &compare::unordered(&self.before), &compare::unordered(&now))?;
        Ok(steps)
    }

    /// The second opinion: other programs see what they saw before, too.
    fn looks_as_before(&mut self) -> Result<(), String> {
        let found = self.looks.differences(&Seen::of(self.space.name())?);
        if found.is_empty() {
            return Ok(());
        }
        Err(format!("ip and bridge see something else (before | now):\n  {}", found.join("\n  ")))
    }

    fn observe(&mut self) -> Result<Host, String> {
        self.stage.observe(Scope::default()).map(|observed| observed.host).map_err(|error| error.to_string())
    }

    /// The host must be what the document wants, and confirmed.
    fn fulfilled(&mut self) -> Result<(), String> {
        let observed = self.stage.observe(Scope::default()).map_err(|error| error.to_string())?;
        let desired = play::desired_of_round(self.round, &observed)?;
        let left = unmet(&desired, &observed).map_err(|error| error.to_string())?;
        if left.is_empty() { Ok(()) } else { Err(format!("the child ended well, but: {left:?}")) }
    }
}

pub(crate) fn killed_after_every_step(scenarios: &[Scenario], name: &str, round: usize) -> Outcome {
    let mut bench = Bench::new(scenarios, name, round)?;
    let sends = bench.killed_after_every_send(1)?;
    Ok(Ended::Passed(Some(format!("killed after each of {sends} steps"))))
}

/// As people have it: many steps at once. Small batches too, so that there is a place between two.
pub(crate) fn killed_after_every_batch(scenarios: &[Scenario], name: &str, round: usize) -> Outcome {
    let mut printed = Vec::new();
    for batch in [BATCH, FEW] {
        let mut bench = Bench::new(scenarios, name, round)?;
        let mut deaths = 0;
        // The undo of all steps, itself killed after each of its batches.
        for undo in 1.. {
            let sends = bench.steps.div_ceil(batch);
            let after = |why: String| format!("killed after batch {undo} of the undo: {why}");
            if bench.order(true, batch, sends).carry_out().map_err(after)? != Death::Killed {
                return Err(after("the child was not killed".to_owned()));
            }
            let again = bench.order(false, batch, undo).carry_out().map_err(after)?;
            bench.recover().map_err(after)?;
            if again == Death::Finished {
                break;
            }
            deaths += 1;
        }
        let sends = bench.killed_after_every_send(batch)?;
        printed.push(format!("batches of {batch}: after each of {sends}, and {deaths} of the undo"));
    }
    Ok(Ended::Passed(Some(printed.join("; "))))
}

pub(crate) fn killed_in_undo(scenarios: &[Scenario], name: &str, round: usize) -> Outcome {
    let mut bench = Bench::new(scenarios, name, round)?;
    let steps = bench.steps;
    let all = steps * steps <= 2 * MOST_PAIRS;
    let chosen = if all { (1..=steps).collect() } else { spread(steps, MOST_PAIRS / 3) };
    let (mut pairs, mut places) = (0, BTreeSet::new());
    for &step in &chosen {
        let after = |why: String| format!("killed after step {step}: {why}");
        bench.kill_in_set(step).map_err(after)?;
        let undo = bench.recover().map_err(after)?;
        // All places of the whole plan's undo; otherwise, when not all can be had, three.
        let chosen = if all || step == steps { (1..=undo).collect() } else { spread(undo, 3) };
        for place in chosen {
            let after = |why: String| format!("killed after step {step}, then after step {place} of the undo: {why}");
            bench.kill_in_set(step).map_err(after)?;
            let again = bench.order(false, 1, place).carry_out().map_err(after)?;
            bench.recover().map_err(after)?;
            if again == Death::Finished {
                // Sent one by one, an undo may need fewer steps than in batches.
                break;
            }
            pairs += 1;
            places.insert(place);
        }
    }
    bench.looks_as_before()?;
    let how = if all { "all" } else { "a sample" };
    let (of, last) = (chosen.len(), places.last().copied().unwrap_or_default());
    Ok(Ended::Passed(Some(format!(
        "{pairs} pairs of deaths, {how}: after {of} of {steps} steps, at {} places of the undo, the last of them {last}",
        places.len()
    ))))
}

/// Some of the numbers from 1 to `last`: the first, the last, and others evenly between them.
fn spread(last: usize, some: usize) -> Vec<usize> {
    let some = some.min(last);
    let between = |at: usize| 1 + at * (last - 1) / (some - 1);
    if some < 2 { (1..=some).collect() } else { (0..some).map(between).collect() }
}

/// Does what a child is ordered to; dies on the way, if that is the order.
pub(crate) fn obey(order: &Order) -> Result<(), String> {
    let host = KernelStage::open(space::options(&order.namespace), &order.root)?;
    let mut host = Deadly { host, left: order.dies_after };
    let store = Store::of_host(&order.state).map_err(|error| error.to_string())?;
    let text = |error: netloom_journal::Error| error.to_string();
    let take = |host| Transaction::take(&store, host, &SystemClock, Incarnation::named(LIFE), Duration::ZERO);
    let Some((name, round)) = &order.set else {
        return take(&mut host).map_err(text)?.with_batch(order.batch).recover().map(drop).map_err(text);
    };
    let scenarios = netloom_testkit::scenarios();
    let scenario = Scenario::load(&scenarios, &scenarios.join(name))?;
    let round = &scenario.rounds[round - 1];
    let observed = host.observe(Scope::default()).map_err(|error| error.to_string())?;
    let desired = play::desired_of_round(round, &observed)?;
    let request = play::request(round, &desired);
    let mut transaction = take(&mut host).map_err(text)?.with_batch(order.batch);
    let prepared = transaction.prepare(&request).map_err(text)?;
    match transaction.run(&prepared, &request, &mut NoProbes).map_err(text)? {
        Became::Confirmed => Ok(()),
        other => Err(format!("it ended otherwise: {other:?}")),
    }
}
