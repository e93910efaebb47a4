//! The golden tier: every scenario on the simulated host, compared with what came out last time, and once more with the
//! oldest kernel that is supported.
//!
//! `NETLOOM_BLESS=1` writes the files again. Words in the arguments pick scenarios by name.

use std::{fs, io::stdout, process::ExitCode};

use netloom_kernel_sim::SimHost;
use netloom_model::KernelFeatures;
use netloom_nmstate::Document;
use netloom_testkit::{
    crash::PLANS,
    foreign, golden,
    play::{Player, StateFolder},
    power,
    runner::{self, Arguments, Ended, Outcome, Test},
    scenario::Scenario,
    stage::SimStage,
};

fn main() -> ExitCode {
    let root = netloom_testkit::scenarios();
    let scenarios = match Scenario::load_all(&root) {
        Ok(scenarios) => scenarios,
        Err(why) => {
            return runner::run(vec![Test::new("load", || Err(why.clone()))], &Arguments::default(), &mut stdout());
        }
    };
    let mut tests: Vec<Test<'_>> =
        scenarios.iter().map(|scenario| Test::new(scenario.name.clone(), || play(scenario))).collect();
    // What documents come to does not depend on what the kernel keeps of who made it.
    for scenario in &scenarios {
        tests.push(Test::new(format!("old-kernel/{}", scenario.name), || play_on_old(scenario)));
    }
    tests.push(Test::new("old-kernel-choice", || chosen_for_old(&scenarios)));
    for (name, round) in PLANS {
        tests.push(Test::new(format!("power/{name}/{round}"), || power_cut(&scenarios, name, *round)));
    }
    runner::run(tests, &Arguments::parse(std::env::args().skip(1)), &mut stdout())
}

fn play(scenario: &Scenario) -> Outcome {
    let bless = golden::blessing();
    let folder = StateFolder::new();
    let mut stage = SimStage::new(scenario)?;
    let mut player = Player::begin(&mut stage, &folder, scenario)?;
    let mut last = None;
    for round in &scenario.rounds {
        let named = |why: String| format!("{}-set.yaml: {why}", round.number);
        let came = player.play(round).map_err(named)?;
        golden::check(&scenario.dir.join(format!("{}-plan.txt", round.number)), &came.plan, bless)?;
        last = Some(came.observed);
    }
    let refused_only = scenario.rounds.iter().all(|round| round.refused.is_some());
    if let Some(observed) = last.filter(|_| !refused_only) {
        let shown = Document::show(&foreign::without(&observed), &[]).to_yaml();
        golden::check(&scenario.dir.join("state.yaml"), &shown, bless)?;
    }
    Ok(Ended::OK)
}

/// The same on the oldest kernel: with the same plans, although that keeps no protocol of an address.
fn play_on_old(scenario: &Scenario) -> Outcome {
    let folder = StateFolder::new();
    let mut stage = SimStage::with_kernel(scenario, KernelFeatures::OLDEST)?;
    let mut player = Player::begin(&mut stage, &folder, scenario)?;
    for round in &scenario.rounds {
        let came = player.play(round).map_err(|why| format!("{}-set.yaml: {why}", round.number))?;
        golden::check(&scenario.dir.join(format!("{}-plan.txt", round.number)), &came.plan, false)?;
    }
    Ok(Ended::OK)
}

/// A name in the list for the real old kernel that fits nothing would leave a test out without a word.
fn chosen_for_old(scenarios: &[Scenario]) -> Outcome {
    let path = netloom_testkit::scenarios().join("../lab/old-kernel");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let names = text.lines().filter(|line| !line.starts_with('#'));
    let known = |name: &str| scenarios.iter().any(|scenario| scenario.name == name);
    // Tests of the kernel tier that are no scenarios have such names.
    let (played, other): (Vec<&str>, Vec<&str>) = names.partition(|name| known(name));
    let unknown: Vec<&str> =
        other.into_iter().filter(|name| !["crash/", "old/", "probe/"].iter().any(|p| name.starts_with(p))).collect();
    if !unknown.is_empty() {
        return Err(format!("lab/old-kernel names what is not there: {}", unknown.join(", ")));
    }
    if played.len() < 20 { Err(format!("lab/old-kernel has only {} scenarios", played.len())) } else { Ok(Ended::OK) }
}

/// The power goes in the middle of a plan, and the journal ends at every byte.
fn power_cut(scenarios: &[Scenario], name: &str, round: usize) -> Outcome {
    let scenario = scenarios.iter().find(|scenario| scenario.name == name).ok_or("there is no such scenario")?;
    let round = &scenario.rounds[round - 1];
    let mut starts = 0;
    let (mut moments, mut next) = (Vec::new(), 0);
    loop {
        let folder = StateFolder::new();
        let mut stage = SimStage::new(scenario)?;
        let mut player = Player::begin(&mut stage, &folder, scenario)?;
        for earlier in &scenario.rounds[..round.number - 1] {
            player.set(earlier)?;
        }
        if next == 0 {
            moments = power::moments(player.steps(round)?);
        }
        let Some(steps) = moments.get(next) else { break };
        let cut = power::cut_after(&mut player, round, *steps)?;
        let first = if next == 0 { 0 } else { power::last_step(&cut.journal) };
        starts += power::start_again_everywhere(&cut, first, &mut SimHost::new())?;
        next += 1;
    }
    Ok(Ended::Passed(Some(format!("{starts} starts"))))
}
