//! The kernel's notifications: a flood that does not fit ends in a correct picture all the same.

use std::time::Duration;

use netloom_kernel_sim::SimHost;
use netloom_model::{
    Address, Attr, Attrs, Engine as _, LinkKind, NextHop, Observed, Route, RouteExtra, RouteMetrics, RouteType, Scope,
    Step, Value,
};
use netloom_testkit::{
    compare, play,
    runner::{Ended, Outcome},
    space::{KernelStage, Space},
    timeouts::stretched,
};
use netloom_types::{IfName, Protocol, RouteTable};

const EVENTS: u64 = 10_000;

/// Room for a handful of notifications: the kernel rounds it up to its smallest buffer.
const TINY: usize = 1;

/// As long as a notification may take to arrive.
const TIME_LIMIT: Duration = Duration::from_secs(5);

pub(crate) fn overrun() -> Outcome {
    let space = Space::new()?;
    let mut stage = space.stage()?;
    let mut watch = stage.host.kernel.watch(TINY).map_err(|error| error.to_string())?;
    let mut sim = SimHost::new();
    for step in flood() {
        both(&mut stage, &mut sim, &[step])?;
    }
    let burst = watch.settle(stretched(TIME_LIMIT)).map_err(|error| error.to_string())?;
    if !burst.overrun {
        return Err(format!("nobody reported that {EVENTS} notifications did not fit: {} came", burst.changes));
    }
    // What an overrun asks for: read everything again, then go on with what comes.
    same(&observe(&mut stage)?, &sim)?;
    watch.drain().map_err(|error| error.to_string())?;
    both(&mut stage, &mut sim, &[mtu("d0", 1300)])?;
    let burst = watch.settle(stretched(TIME_LIMIT)).map_err(|error| error.to_string())?;
    if burst.overrun || burst.is_empty() {
        return Err(format!("after the overrun a single change must be reported as such: {burst:?}"));
    }
    same(&observe(&mut stage)?, &sim)?;
    Ok(Ended::Passed(Some(format!("{EVENTS} events"))))
}

/// With the usual buffer the same flood fits, and every link is named.
pub(crate) fn settled() -> Outcome {
    let space = Space::new()?;
    let mut stage = space.stage()?;
    let mut watch =
        stage.host.kernel.watch(netloom_netlink::events::EVENT_BUFFER).map_err(|error| error.to_string())?;
    let mut sim = SimHost::new();
    let steps: Vec<Step> = flood().take(500).collect();
    both(&mut stage, &mut sim, &steps)?;
    let burst = watch.settle(stretched(TIME_LIMIT)).map_err(|error| error.to_string())?;
    if burst.overrun || burst.changes < steps.len() as u64 || !burst.links.contains(&name("d0")) {
        return Err(format!("not every change was reported: {burst:?}"));
    }
    same(&observe(&mut stage)?, &sim)?;
    Ok(Ended::OK)
}

/// Changes of links, addresses and routes: made, changed again and again, some deleted.
fn flood() -> impl Iterator<Item = Step> {
    let links = ["d0", "d1", "d2", "d3"];
    let made = links.into_iter().map(|link| Step::CreateLink {
        name: name(link),
        kind: LinkKind::Dummy,
        attrs: Attrs::new(),
        controller: None,
        up: true,
    });
    let changed = (0..EVENTS).map(move |number| {
        let (link, round) = (links[usize::try_from(number % 4).unwrap_or(0)], number / 4);
        // Of ten rounds, two put an address and a route there, and two take them away.
        match round % 10 {
            2 => Step::AddAddress { name: name(link), address: address(number % 4) },
            3 => Step::AddRoute(route(link, number % 4)),
            6 => Step::RemoveRoute(route(link, number % 4)),
            7 => Step::RemoveAddress { name: name(link), address: address(number % 4) },
            _ => mtu(link, 1400 + number % 97),
        }
    });
    made.chain(changed).chain([Step::DeleteLink { name: name("d3") }])
}

fn address(number: u64) -> Address {
    let ip = format!("192.0.2.{}", 1 + 64 * number).parse().expect("an address");
    Address::new(ip, 26, Protocol::STATIC)
}

fn route(link: &str, number: u64) -> Route {
    Route {
        table: RouteTable::MAIN,
        destination: format!("198.51.100.{}/26", 64 * number).parse().expect("a prefix"),
        metric: 0,
        kind: RouteType::Unicast,
        next_hops: vec![NextHop { via: None, link: Some(name(link)), weight: 1, onlink: false }],
        source: None,
        protocol: Protocol::STATIC,
        metrics: RouteMetrics::default(),
        extra: RouteExtra::default(),
    }
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
    play::same(
        "the picture (simulated | real)",
        &simulated,
        &compare::as_simulated(compare::canonical(&real.host, &asked)),
    )
}

fn observe(stage: &mut KernelStage) -> Result<Observed, String> {
    stage.observe(Scope::default()).map_err(|error| error.to_string())
}

fn name(text: &str) -> IfName {
    text.parse().expect("a short name")
}
