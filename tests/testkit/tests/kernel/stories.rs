//! Every scenario on the real kernel and on the simulated one, compared field by field.

use netloom_model::Scope;
use netloom_testkit::{
    compare, golden,
    play::{self, Played, Player, Stage, StateFolder},
    runner::{Ended, Outcome},
    scenario::Scenario,
    space::Space,
    stage::SimStage,
};

use crate::hostname;

/// The length of a hardware address, as people read it.
const MAC: usize = "02:00:00:00:00:01".len();

pub(crate) fn play(scenario: &Scenario) -> Outcome {
    if hostname::concerns(scenario) {
        return hostname::play(scenario);
    }
    let mut space = Space::new()?;
    space.lend_cards(&scenario.cards())?;
    let mut stage = space.stage()?;
    compared(scenario, &mut stage)
}

/// Plays on a real host and on the simulated one, and compares plans and hosts after every document.
/// Lines of a plan that name a hardware address are not compared: the kernel chooses those by chance.
pub(crate) fn compared(scenario: &Scenario, stage: &mut impl Stage) -> Outcome {
    let kernel = stage.observe(Scope::default()).map_err(|error| error.to_string())?.kernel;
    let mut sim = SimStage::with_kernel(scenario, kernel)?;
    let (folder, sim_folder) = (StateFolder::new(), StateFolder::new());
    let mut player = Player::begin(stage, &folder, scenario)?;
    let mut model = Player::begin(&mut sim, &sim_folder, scenario).map_err(|why| format!("simulated: {why}"))?;
    let asked = player.asked.clone();
    let alike = |what: &str, simulated: &Played, real: &Played| {
        same_plan(&simulated.plan, &real.plan)?;
        let canonical = |played: &Played| compare::as_simulated(compare::canonical(&played.observed.host, &asked));
        play::same(what, &canonical(simulated), &canonical(real))?;
        let [simulated, real] = [simulated, real].map(|played| compare::dynamic_routes(&played.observed));
        if simulated == real { Ok(()) } else { Err(format!("{what}: routes differ: {simulated:#?} | {real:#?}")) }
    };
    let start = |player: Result<_, String>| player.map(|observed| Played { plan: String::new(), observed });
    alike("the host before (simulated | real)", &start(model.observe())?, &start(player.observe())?)?;
    for round in &scenario.rounds {
        let named = |why: String| format!("{}-set.yaml: {why}", round.number);
        let real = player.play(round).map_err(named)?;
        let simulated = model.play(round).map_err(|why| named(format!("simulated: {why}")))?;
        alike("the host (simulated | real)", &simulated, &real).map_err(named)?;
    }
    Ok(Ended::OK)
}

fn same_plan(simulated: &str, real: &str) -> Result<(), String> {
    let without_macs = |plan: &str| -> String {
        let lines = plan.lines().map(|line| match line.split_once("mac-address ") {
            Some((before, after)) => format!("{before}mac-address{}\n", after.get(MAC..).unwrap_or_default()),
            None => format!("{line}\n"),
        });
        lines.collect()
    };
    let (simulated, real) = (without_macs(simulated), without_macs(real));
    if simulated == real {
        return Ok(());
    }
    Err(format!("the plan differs (- simulated, + real):\n{}", golden::difference(&simulated, &real)))
}
