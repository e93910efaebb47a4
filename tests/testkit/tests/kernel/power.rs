//! Loss of power, in a namespace that stands for the kernel before and one for the kernel after.

use netloom_testkit::{
    play::{Player, StateFolder},
    power,
    runner::{Ended, Outcome},
    scenario::Scenario,
    space::Space,
};

/// A scenario that writes a file besides links, routes and rules.
const STORY: &str = "merge/9-order";

pub(crate) fn cut_everywhere(scenarios: &[Scenario]) -> Outcome {
    let scenario = scenarios.iter().find(|scenario| scenario.name == STORY).ok_or("there is no such scenario")?;
    let fresh = Space::new()?;
    let round = &scenario.rounds[0];
    let mut starts = 0;
    let (mut moments, mut next) = (Vec::new(), 0);
    loop {
        let (space, folder) = (Space::new()?, StateFolder::new());
        let mut stage = space.stage()?;
        let mut player = Player::begin(&mut stage, &folder, scenario)?;
        if next == 0 {
            moments = power::moments(player.steps(round)?);
        }
        let Some(steps) = moments.get(next) else { break };
        let cut = power::cut_after(&mut player, round, *steps)?;
        let first = if next == 0 { 0 } else { power::last_step(&cut.journal) };
        starts += power::start_again_everywhere(&cut, first, &mut fresh.stage()?)?;
        next += 1;
    }
    Ok(Ended::Passed(Some(format!("{starts} starts"))))
}
