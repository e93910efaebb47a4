//! A change that is made again and again, there and back, and in which the agent is killed each time at another place.
//!
//! The first time nobody dies: that shows the places, and how the host shall be on either side. After each death
//! 1. an agent starts that does not reach the API: the host becomes what it was before the change or what is wanted after
//!    it, with no transaction left open;
//! 2. it is killed too, and the next one reaches the API: the host and the list of the agent's records become exactly what
//!    they are when nobody dies, and the objects say what the step says.
//!
//! Where a node has FRR, what its daemons run with belongs to the host.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use netloom_journal::{Clock as _, SystemClock};
use netloom_testkit::{seen::Seen, timeouts::stretched};
use nix::sys::signal::Signal;

use super::{
    play::{self, Reached, pause},
    stage::Stage,
    story::{Killed, Step},
    trace::{Place, Trace},
    wires::space,
};

/// A bridge takes the cost of a port from its speed when it comes up. A bond has that of the ports that are up by then.
const BY_CHANCE: &str = ".linkinfo.info_slave_data.cost: ";
/// How long a host may take to look as it shall.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// A host, what its routing daemons run with, and the records of its agent.
#[derive(Clone)]
struct Looked {
    host: Seen,
    routing: BTreeSet<String>,
    records: BTreeSet<String>,
    /// Links whose hardware address is no matter.
    by_chance: Vec<String>,
}

impl Looked {
    fn of(stage: &Stage<'_>, killed: &Killed) -> Result<Self, String> {
        let (node, by_chance) = (killed.node.as_str(), killed.address_by_chance.clone());
        let records = files(&stage.records_of(node))?;
        Ok(Self { host: Seen::of(&space(node))?, routing: stage.running(node)?, records, by_chance })
    }

    /// Where a later one differs.
    fn differences(&self, later: &Self) -> Vec<String> {
        let mut found = self.host_differences(later);
        let files = self.records.symmetric_difference(&later.records);
        found.extend(files.map(|file| format!("a file is there only once: {file}")));
        found
    }

    fn host_differences(&self, later: &Self) -> Vec<String> {
        let mut found = self.host.differences(&later.host);
        let by_chance = |line: &String| {
            let of = |link: &String| line.starts_with(&format!("seen.links.{link}.address: "));
            line.contains(BY_CHANCE) || self.by_chance.iter().any(of)
        };
        found.retain(|line| !by_chance(line));
        let lines = self.routing.symmetric_difference(&later.routing);
        found.extend(lines.map(|line| format!("a line of FRR is there only once: {line}")));
        found
    }
}

/// One direction of the change.
struct Way<'a> {
    name: &'static str,
    killed: &'a Killed,
    step: &'a Step,
    before: Looked,
    wanted: Looked,
    places: Vec<Place>,
}

/// Plays such a step; says what happened.
pub(super) fn play(stage: &mut Stage<'_>, there: &Step, killed: &Killed) -> Result<String, String> {
    let node = killed.node.as_str();
    let start = Looked::of(stage, killed)?;
    let there = scouted(stage, killed, ("there", there), &start)?;
    let back = scouted(stage, killed, ("back", &killed.back), &there.wanted)?;
    same("after the way there and back", &start, &back.wanted)?;
    let ways = [there, back];
    let most = ways.iter().map(|way| way.places.len()).max().unwrap_or_default();
    for round in 0..most {
        for way in &ways {
            let Some(place) = way.places.get(round) else {
                play::step(stage, way.step)?;
                continue;
            };
            let at = |why| format!("killed on the way {} before {}: {why}", way.name, place.about);
            way.play(stage, node, place).map_err(at)?;
        }
    }
    let [there, back] = ways.map(|way| way.places.len());
    Ok(format!("killed at each of {there} places on the way there and of {back} on the way back"))
}

/// Plays one direction with nobody killed, and takes note of what the agent does.
fn scouted<'a>(
    stage: &mut Stage<'_>,
    killed: &'a Killed,
    (name, step): (&'static str, &'a Step),
    before: &Looked,
) -> Result<Way<'a>, String> {
    let node = &killed.node;
    let mut trace = Trace::of(stage.agent(node)?, &space(node), &stage.trace(node))?;
    play::step(stage, step)?;
    until("the agent is at rest", || trace.is_silent())?;
    let places = trace.places(&stage.records_of(node))?;
    drop(trace);
    let wanted = Looked::of(stage, killed)?;
    if before.differences(&wanted).is_empty() {
        return Err(format!("the way {name} changes nothing"));
    }
    Ok(Way { name, killed, step, before: before.clone(), wanted, places })
}

impl Way<'_> {
    /// Goes this way, and lets the agent die at a place.
    fn play(&self, stage: &mut Stage<'_>, node: &str, place: &Place) -> Result<(), String> {
        let trace = Trace::deadly(stage.agent(node)?, &space(node), place, &stage.trace(node))?;
        for deed in &self.step.doing {
            stage.perform(deed)?;
        }
        let about = self.death(stage, node, trace)?;
        if about != place.about {
            return Err(format!("it died before {about}"));
        }
        self.without_api(stage, node)?;
        self.with_api(stage, node)
    }

    /// Waits until the agent is dead, and says what it was about to do. It may have reported before that all is done.
    fn death(&self, stage: &mut Stage<'_>, node: &str, mut trace: Trace) -> Result<String, String> {
        let mut dead = |stage: &mut Stage<'_>| trace.attend().and_then(|()| stage.has_died(node));
        if play::reach(stage, self.step, &mut dead)? == Reached::So {
            until("it dies", || dead(stage))?;
        }
        trace.last(&stage.records_of(node))
    }

    /// What an agent makes of the host that has only its own records.
    fn without_api(&self, stage: &mut Stage<'_>, node: &str) -> Result<(), String> {
        stage.start_agent_cut_off(node)?;
        let (agent, records) = (stage.agent(node)?, stage.records_of(node));
        until("it has taken its turn", || has_had_turn(agent, &records))?;
        let mut why = [const { Vec::new() }; 2];
        let settled = until("the host is as before or as wanted", || {
            // A look while a transaction is open tells nothing.
            let open = is_open(&records)?;
            let now = Looked::of(stage, self.killed)?;
            why = [&self.before, &self.wanted].map(|side| side.host_differences(&now));
            Ok(!open && !is_open(&records)? && why.iter().any(Vec::is_empty))
        });
        let sides = |[before, wanted]: [Vec<String>; 2]| {
            format!("before | now:\n  {}\nwanted | now:\n  {}", before.join("\n  "), wanted.join("\n  "))
        };
        settled.map_err(|late| format!("without the API: {late}; {}", sides(why)))?;
        stage.end_agent(node, Signal::SIGKILL).map(drop)
    }

    /// What the next agent makes of it, with all that is wanted.
    fn with_api(&self, stage: &mut Stage<'_>, node: &str) -> Result<(), String> {
        stage.start_agent_again(node)?;
        play::reach(stage, self.step, |_| Ok(false))?;
        let mut why = Vec::new();
        let settled = until("all is as it is when nobody dies", || {
            why = self.wanted.differences(&Looked::of(stage, self.killed)?);
            Ok(why.is_empty())
        });
        settled.map_err(|late| format!("{late}; wanted | now:\n  {}", why.join("\n  ")))
    }
}

fn same(when: &str, expected: &Looked, found: &Looked) -> Result<(), String> {
    let differences = expected.differences(found);
    if differences.is_empty() { Ok(()) } else { Err(format!("{when}:\n  {}", differences.join("\n  "))) }
}

/// Whether a transaction is open, or was left so.
fn is_open(records: &Path) -> Result<bool, String> {
    Ok(files(records)?.iter().any(|file| file.ends_with("/journal")))
}

/// Whether a process has had a turn at the host: whatever another one left behind comes first in it.
fn has_had_turn(process: u32, records: &Path) -> Result<bool, String> {
    let mut locks = files(records)?.into_iter().filter(|file| file.ends_with("/lock"));
    let holds = |lock: String| fs::read_to_string(lock).is_ok_and(|who| who.starts_with(&format!("{process} ")));
    Ok(locks.any(holds))
}

/// The files of a folder and of those in it.
fn files(folder: &Path) -> Result<BTreeSet<String>, String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut found = BTreeSet::new();
    let entries = match fs::read_dir(folder) {
        // An agent is at work, and may have taken it away since it was listed.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(cannot)?,
    };
    for entry in entries {
        let path = entry.map_err(cannot)?.path();
        if path.is_dir() {
            found.append(&mut files(&path)?);
        } else {
            found.insert(path.display().to_string());
        }
    }
    Ok(found)
}

/// Waits until something is so.
fn until(what: &str, mut so: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let began = SystemClock.now();
    while !so()? {
        if began.until(SystemClock.now()) > stretched(TIME_LIMIT) {
            return Err(format!("not so within {} seconds: {what}", stretched(TIME_LIMIT).as_secs()));
        }
        pause();
    }
    Ok(())
}
