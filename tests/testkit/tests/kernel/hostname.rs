//! Scenarios about the host name: a network namespace has none, so they get a whole host.
//!
//! The program starts itself as a child which leaves the network and the name of the machine behind
//! before it does anything else, and is then alone on a host of its own.

use std::process::Command;

use netloom_netlink::{Namespace, Options};
use netloom_testkit::{
    play::StateFolder,
    runner::{Ended, Outcome},
    scenario::Scenario,
    space::KernelStage,
};
use nix::sched::{CloneFlags, unshare};

use crate::stories;

const MARK: &str = "--on-a-host-of-its-own";

/// Whether a scenario says something of the host name.
pub(crate) fn concerns(scenario: &Scenario) -> bool {
    scenario.texts().any(|text| String::from_utf8_lossy(text).lines().any(|line| line.starts_with("hostname:")))
}

/// The scenario that a child is asked to play.
pub(crate) fn order(words: &[String]) -> Option<String> {
    match words {
        [mark, name] if mark == MARK => Some(name.clone()),
        _ => None,
    }
}

/// Plays a scenario in a child.
pub(crate) fn play(scenario: &Scenario) -> Outcome {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let ended =
        Command::new(program).args([MARK, &scenario.name]).output().map_err(|error| format!("a child: {error}"))?;
    if ended.status.success() { Ok(Ended::OK) } else { Err(String::from_utf8_lossy(&ended.stdout).into_owned()) }
}

/// Plays a scenario as the child.
pub(crate) fn obey(name: &str) -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWUTS)
        .map_err(|error| format!("a host of its own: {error}"))?;
    nix::unistd::sethostname("").map_err(|error| format!("the host name: {error}"))?;
    let root = netloom_testkit::scenarios();
    let scenario = Scenario::load(&root, &root.join(name))?;
    let files = StateFolder::new();
    let mut stage = KernelStage::open(Options::of(Namespace::Host), files.path())?;
    stories::compared(&scenario, &mut stage).map(drop)
}
