//! What a kernel that is older than a property makes of a document with it.

use netloom_model::Observed;
use netloom_testkit::{
    compare,
    play::{self, Player, StateFolder},
    runner::{Ended, Outcome},
    scenario::Scenario,
    space::Space,
};

/// A property that came after the oldest kernel that is supported (in 5.15), and the words for its absence.
const SCENARIO: &str = "bond/options-lacp";
const MISSING: &str = "bond0.lacp_active is on instead of off";

/// A kernel passes over what it does not know, without a word: reading back finds that, and all of it is taken back.
pub(crate) fn unknown_property_is_taken_back(scenarios: &[Scenario]) -> Outcome {
    let scenario = scenarios.iter().find(|scenario| scenario.name == SCENARIO).ok_or("there is no such scenario")?;
    let mut space = Space::new()?;
    space.lend_cards(&scenario.cards())?;
    let (mut stage, folder) = (space.stage()?, StateFolder::new());
    let mut player = Player::begin(&mut stage, &folder, scenario)?;
    let before = player.observe()?;
    match player.play(&scenario.rounds[0]) {
        Ok(_) => return Ok(Ended::Passed(Some("this kernel knows the property".to_owned()))),
        Err(why) if why.contains(MISSING) => {}
        Err(why) => return Err(why),
    }
    let after = player.observe()?;
    let canonical = |observed: &Observed| compare::canonical(&observed.host, &player.asked);
    play::same("the host", &canonical(&before), &canonical(&after))?;
    Ok(Ended::OK)
}
