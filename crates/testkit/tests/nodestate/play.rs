//! One story from its first step to its last.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use netloom_journal::{Clock as _, SystemClock};
use netloom_testkit::runner::{Ended, Outcome};

use super::{
    Ground,
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
    for (file, step) in &story.steps {
        play(&mut stage, step).map_err(|why| format!("{file}: {why}{}", stage.logs()))?;
    }
    Ok(Ended::OK)
}

fn play(stage: &mut Stage<'_>, step: &Step) -> Result<(), String> {
    for deed in &step.doing {
        stage.perform(deed)?;
    }
    let began = SystemClock.now();
    // The one that was not so last is asked first: as long as it is not, the others do not matter.
    let mut last = 0;
    loop {
        holds(stage, &step.throughout)?;
        let Some((place, why)) = first_wrong(stage, &step.then, last)? else { break };
        last = place;
        if began.until(SystemClock.now()) > Duration::from_secs(step.within) {
            return Err(format!("not so within {} seconds: {why}", step.within));
        }
        pause();
    }
    holds(stage, &step.throughout)?;
    for (name, place) in &step.remember {
        stage.remember(name, place)?;
    }
    Ok(())
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
fn pause() {
    let (_sender, nothing) = channel::<()>();
    let ended: Result<(), RecvTimeoutError> = nothing.recv_timeout(PAUSE);
    debug_assert_eq!(ended, Err(RecvTimeoutError::Timeout));
}
