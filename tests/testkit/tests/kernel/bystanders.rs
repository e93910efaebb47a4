//! What only a real kernel has: routes that a lease or a routing daemon made, and offload features.

use std::{collections::BTreeMap, time::Duration};

use netloom_journal::{Incarnation, NoProbes, Outcome as Became, Request, SystemClock, Transaction};
use netloom_model::{Engine as _, Observed, Scope};
use netloom_testkit::{
    play::{self, Player, StateFolder},
    runner::{Ended, Outcome},
    scenario::{Options, Round, SOURCE},
    space::{KernelStage, Space, ip},
};
use netloom_types::{IfName, Protocol};

const BGP: Protocol = Protocol(186);

/// A wildcard that takes our routes away leaves those that nobody configured.
pub(crate) fn routes_of_leases() -> Outcome {
    let space = Space::new()?;
    let mut stage = space.stage()?;
    let folder = StateFolder::new();
    let mut player = begin(&mut stage, &folder)?;
    for words in [
        "link add d0 type dummy",
        "address add 192.0.2.1/24 dev d0",
        "link set d0 up",
        "route add default via 192.0.2.254 dev d0 metric 100 proto dhcp",
        "route add 198.51.100.0/26 via 192.0.2.254 dev d0 proto bgp",
        "route add 198.51.100.64/26 via 192.0.2.254 dev d0 proto static",
    ] {
        in_space(&space, words)?;
    }
    let ours = "routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.253, next-hop-interface: d0, \
                metric: 50}]}";
    others_stay(&player.play(&round(1, ours))?.observed).map_err(|why| format!("after the first document: {why}"))?;
    let after = player.play(&round(2, "routes: {config: [{next-hop-interface: d0, state: absent}]}"))?.observed;
    let through = |observed: &Observed| observed.routes.values().any(|route| leads_to(&route.next_hops, "d0"));
    if through(&after) {
        return Err("a route that somebody configured is still there".to_owned());
    }
    others_stay(&after)?;
    Ok(Ended::OK)
}

fn others_stay(observed: &Observed) -> Result<(), String> {
    let is_there = |protocol| observed.derived_routes.iter().any(|route| route.protocol == protocol);
    match [Protocol::DHCP, BGP].into_iter().find(|protocol| !is_there(*protocol)) {
        None => Ok(()),
        Some(gone) => Err(format!("the route of protocol {gone} is gone: {:?}", observed.derived_routes)),
    }
}

/// Features are switched, taken back, and given back when nobody wants them any more.
pub(crate) fn features() -> Outcome {
    let space = Space::new()?;
    let mut stage = space.stage()?;
    let folder = StateFolder::new();
    let mut player = begin(&mut stage, &folder)?;
    for words in ["link add w0 type veth peer name w1", "link set w0 up", "link set w1 up"] {
        in_space(&space, words)?;
    }
    let before = features_of(&mut player)?;
    let mut wanted = before.clone();
    let mut list = Vec::new();
    for feature in ["rx-gro", "tx-nocache-copy"] {
        let on = wanted.get_mut(feature).ok_or_else(|| format!("{feature} is not among {before:?}"))?;
        *on = !*on;
        list.push(format!("{feature}: {on}"));
    }
    let document = format!("interfaces: [{{name: w0, type: veth, ethtool: {{feature: {{{}}}}}}}]", list.join(", "));
    change(&mut player, &whole(1, &document), false)?;
    same("taken back", &before, &features_of(&mut player)?)?;
    change(&mut player, &whole(1, &document), true)?;
    same("set", &wanted, &features_of(&mut player)?)?;
    change(&mut player, &whole(2, "interfaces: []"), true)?;
    same("given back", &before, &features_of(&mut player)?)?;
    Ok(Ended::OK)
}

type Features = BTreeMap<Box<str>, bool>;

fn features_of(player: &mut Player<'_, KernelStage>) -> Result<Features, String> {
    let mut observed =
        player.stage.observe(Scope { ethtool: true, ..Scope::default() }).map_err(|error| error.to_string())?;
    observed.host.links.remove(&name("w0")).map(|link| link.features).ok_or_else(|| "there is no link w0".to_owned())
}

/// Sets a document with the drivers' settings in view, for good or to take it back.
fn change(player: &mut Player<'_, KernelStage>, round: &Round, for_good: bool) -> Result<(), String> {
    let scope = Scope { ethtool: true, ..Scope::default() };
    let observed = player.stage.observe(scope).map_err(|error| error.to_string())?;
    let desired = play::desired_of_round(round, &observed)?;
    let request = Request { confirm: for_good, scope, ..play::request(round, &desired) };
    let text = |error: netloom_journal::Error| error.to_string();
    let life = player.incarnation.clone();
    let mut transaction =
        Transaction::take(&player.store, player.stage, &SystemClock, life, Duration::ZERO).map_err(text)?;
    let prepared = transaction.prepare(&request).map_err(text)?;
    match transaction.run(&prepared, &request, &mut NoProbes).map_err(text)? {
        Became::Confirmed if for_good => Ok(()),
        Became::Open(_) if !for_good => transaction.rollback().map(drop).map_err(text),
        other => Err(format!("it ended otherwise: {other:?}\n{}", play::plan_text(&prepared))),
    }
}

fn same(what: &str, wanted: &Features, got: &Features) -> Result<(), String> {
    let other: Vec<&str> =
        wanted.iter().filter(|(name, on)| got.get(*name) != Some(*on)).map(|(name, _)| &**name).collect();
    if other.is_empty() { Ok(()) } else { Err(format!("{what}: {} differ", other.join(", "))) }
}

fn begin<'a>(stage: &'a mut KernelStage, folder: &StateFolder) -> Result<Player<'a, KernelStage>, String> {
    let asked = std::collections::BTreeSet::new();
    Ok(Player { stage, store: folder.store()?, incarnation: Incarnation::named("test"), asked })
}

fn round(number: usize, document: &str) -> Round {
    let options =
        Options { source: SOURCE.to_owned(), whole: false, generated: false, protect: Vec::new(), allow_cut: false };
    Round { number, manual: None, set: document.into(), options, expect: None, refused: None }
}

fn whole(number: usize, document: &str) -> Round {
    let round = round(number, document);
    Round { options: Options { whole: true, ..round.options }, ..round }
}

fn leads_to(hops: &[netloom_model::NextHop], link: &str) -> bool {
    hops.iter().any(|hop| hop.link == Some(name(link)))
}

fn in_space(space: &Space, words: &str) -> Result<(), String> {
    let words: Vec<&str> = ["-n", space.name()].into_iter().chain(words.split(' ')).collect();
    ip(&words)
}

fn name(text: &str) -> IfName {
    text.parse().expect("a short name")
}
