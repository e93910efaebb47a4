//! One story from its first step to its last.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use netloom_journal::{Clock as _, SystemClock};
use netloom_testkit::{
    runner::{Ended, Outcome},
    timeouts::stretched,
};

use super::{
    Ground, kills,
    site::Site,
    stage::Stage,
    story::{Check, Step, Story},
    wires::Wires,
};

/// How long to leave everybody alone between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Plays a story on a site that has nothing on it.
pub(super) fn story(site: &mut Site, ground: &dyn Ground, story: &Story) -> Outcome {
    site.control(story.head.controller)?;
    let mut stage = Stage::set(site, ground, story)?;
    if let Some(kind) = story.head.needs.iter().find(|kind| !Wires::can_have(kind)) {
        return Ok(Ended::NotRun(format!("this machine has no {kind}")));
    }
    let mut printed = Vec::new();
    for (file, step) in &story.steps {
        let played = match &step.killed {
            Some(killed) => kills::play(&mut stage, step, killed).map(|deaths| printed.push(deaths)),
            None => self::step(&mut stage, step),
        };
        played.map_err(|why| format!("{file}: {why}{}", stage.logs()))?;
    }
    Ok(Ended::Passed((!printed.is_empty()).then(|| printed.join("; "))))
}

/// Does what a step says, and waits until it is so.
pub(super) fn step(stage: &mut Stage<'_>, step: &Step) -> Result<(), String> {
    for deed in &step.doing {
        stage.perform(deed)?;
    }
    reach(stage, step, |_| Ok(false))?;
    for (name, place) in &step.remember {
        stage.remember(name, place)?;
    }
    Ok(())
}

/// How waiting for a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    /// All is as the step says.
    So,
    /// Something else happened before.
    Over,
}

/// Waits until all is as a step says, or something else happens.
pub(super) fn reach(
    stage: &mut Stage<'_>,
    step: &Step,
    mut over: impl FnMut(&mut Stage<'_>) -> Result<bool, String>,
) -> Result<Reached, String> {
    let (began, within) = (SystemClock.now(), stretched(Duration::from_secs(step.within)));
    // The one that was not so last is asked first: as long as it is not, the others do not matter.
    let mut last = 0;
    loop {
        if over(stage)? {
            return Ok(Reached::Over);
        }
        holds(stage, &step.throughout)?;
        let Some((place, why)) = first_wrong(stage, &step.then, last)? else { break };
        last = place;
        if began.until(SystemClock.now()) > within {
            return Err(format!("not so within {} seconds: {why}", within.as_secs()));
        }
        pause();
    }
    holds(stage, &step.throughout)?;
    Ok(Reached::So)
}

/// The first check that is not met, and why; the one at `last` comes before all others.
fn first_wrong(stage: &Stage<'_>, checks: &[Check], last: usize) -> Result<Option<(usize, String)>, String> {
    for place in [last].into_iter().chain(0..checks.len()).filter(|place| *place < checks.len()) {
        if let Some(why) = stage.wrong(&checks[place])? {
            return Ok(Some((place, why)));
        }
    }
    Ok(None)
}

fn holds(stage: &Stage<'_>, checks: &[Check]) -> Result<(), String> {
    for check in checks {
        if let Some(why) = stage.wrong(check)? {
            return Err(format!("no longer so: {why}"));
        }
    }
    Ok(())
}

/// A breath between two looks: what is waited for is elsewhere, in processes that do not tell.
pub(super) fn pause() {
    let (_sender, nothing) = channel::<()>();
    let ended: Result<(), RecvTimeoutError> = nothing.recv_timeout(PAUSE);
    debug_assert_eq!(ended, Err(RecvTimeoutError::Timeout));
}
