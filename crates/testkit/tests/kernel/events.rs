//! The kernel's notifications: a flood that does not fit ends in a correct picture all the same.

use std::time::Duration;

use netloom_model::{Attr, Attrs, Engine as _, LinkKind, Observed, Scope, Step, Value};
use netloom_sim::SimHost;
use netloom_testkit::{
    compare, play,
    runner::{Ended, Outcome},
    space::{KernelStage, Space},
};
use netloom_types::IfName;

const EVENTS: u64 = 10_000;

/// Room for a handful of notifications: the kernel rounds it up to its smallest buffer.
const TINY: usize = 1;

/// As long as a notification may take to arrive.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn overrun() -> Outcome {
    let space = Space::new()?;
    let mut stage = space.stage()?;
    let mut watch = stage.host.watch(TINY).map_err(|error| error.to_string())?;
    let mut sim = SimHost::new();
    for step in flood() {
        both(&mut stage, &mut sim, &[step])?;
    }
    let burst = watch.settle(PATIENCE).map_err(|error| error.to_string())?;
    if !burst.overrun {
        return Err(format!("nobody said that {EVENTS} notifications did not fit: {} came", burst.changes));
    }
    // What an overrun asks for: read everything anew, then go on with what comes.
    same(&observe(&mut stage)?, &sim)?;
    watch.drain().map_err(|error| error.to_string())?;
    both(&mut stage, &mut sim, &[mtu("d0", 1300)])?;
    let burst = watch.settle(PATIENCE).map_err(|error| error.to_string())?;
    if burst.overrun || burst.is_empty() {
        return Err(format!("after the overrun a single change must be told as such: {burst:?}"));
    }
    same(&observe(&mut stage)?, &sim)?;
    Ok(Ended::Passed(Some(format!("{EVENTS} events"))))
}

/// With the usual buffer the same flood fits, and every link is named.
pub(crate) fn settled() -> Outcome {
    let space = Space::new()?;
    let mut stage = space.stage()?;
    let mut watch = stage.host.watch(netloom_netlink::events::EVENT_BUFFER).map_err(|error| error.to_string())?;
    let mut sim = SimHost::new();
    let steps: Vec<Step> = flood().take(500).collect();
    both(&mut stage, &mut sim, &steps)?;
    let burst = watch.settle(PATIENCE).map_err(|error| error.to_string())?;
    if burst.overrun || burst.changes < steps.len() as u64 || !burst.links.contains(&name("d0")) {
        return Err(format!("not every change was told: {burst:?}"));
    }
    same(&observe(&mut stage)?, &sim)?;
    Ok(Ended::OK)
}

/// Changes of links: made, changed again and again, some deleted.
fn flood() -> impl Iterator<Item = Step> {
    let links = ["d0", "d1", "d2", "d3"];
    let made = links.into_iter().map(|link| Step::CreateLink {
        name: name(link),
        kind: LinkKind::Dummy,
        attrs: Attrs::new(),
        controller: None,
        up: false,
    });
    let changed =
        (0..EVENTS).map(move |number| mtu(links[usize::try_from(number % 4).unwrap_or(0)], 1400 + number % 97));
    made.chain(changed).chain([Step::DeleteLink { name: name("d3") }])
}

fn mtu(link: &str, value: u64) -> Step {
    let attrs = [(Attr::Mtu, Value::Int(value))].into_iter().collect();
    Step::SetAttrs { name: name(link), kind: LinkKind::Dummy, attrs }
}

fn both(stage: &mut KernelStage, sim: &mut SimHost, steps: &[Step]) -> Result<(), String> {
    for result in stage.execute(steps).map_err(|error| error.to_string())? {
        result.map_err(|error| error.to_string())?;
    }
    for step in steps {
        sim.apply(step).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn same(real: &Observed, sim: &SimHost) -> Result<(), String> {
    let asked = std::collections::BTreeSet::new();
    let simulated = compare::canonical(&sim.observed().host, &asked);
    play::same("the picture (simulated | real)", &simulated, &compare::canonical(&real.host, &asked))
}

fn observe(stage: &mut KernelStage) -> Result<Observed, String> {
    stage.observe(Scope::default()).map_err(|error| error.to_string())
}

fn name(text: &str) -> IfName {
    text.parse().expect("a short name")
}
