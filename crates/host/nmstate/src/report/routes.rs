//! The routes of a report.
//!
//! Routes that somebody configured, or that came with a lease or an announcement, are entries while
//! they are few. When they are many, those with the same way are one group with its destinations;
//! when even that is too long, they are counted by table, maker, family and link. Routes to what is on
//! a link follow from its addresses and are counted when they are many. Routes of routing daemons and
//! to containers come and go: of them only the order of magnitude is reported.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use netloom_model::{Observed, Route};
use netloom_types::{IfName, Protocol, RouteTable};
use serde_json::{Map, Value, json};

use super::{ReportOptions, order_of, size};
use crate::{print, show};

/// Entries by the lists that they are in, and what stands for those that are not there.
#[derive(Default)]
pub(super) struct Reported {
    pub(super) entries: Map<String, Value>,
    pub(super) summary: Option<Value>,
}

/// A route, and whether a document may ask for it.
type Lasting<'a> = (&'a Route, bool);

/// Routes by how they are reported.
#[derive(Default)]
struct Sorted<'a> {
    /// Those that stay until somebody changes them.
    lasting: Vec<Lasting<'a>>,
    connected: Vec<&'a Route>,
    of_containers: usize,
    of_daemons: BTreeMap<Protocol, usize>,
}

/// The routes, in at most a quarter of the whole report.
pub(super) fn report(observed: &Observed, containers: &BTreeSet<IfName>, options: &ReportOptions) -> Reported {
    let budget = options.max_bytes / 4;
    let sorted = sort(observed, containers);
    let mut summary = sorted.counts();
    let mut connected = &sorted.connected[..];
    if connected.len() > options.few {
        summary.insert("connected".into(), connected.len().into());
        connected = &[];
    }
    let whole = |lasting: &[Lasting<'_>]| lists(connected, lasting);
    let mut entries =
        Some(&sorted.lasting).filter(|lasting| lasting.len() <= options.few).map(|lasting| whole(lasting));
    if entries.as_ref().is_none_or(|entries| size::bytes(entries) > budget) {
        let is_default = |route: &Lasting<'_>| route.0.destination.prefix_len() == 0;
        let (mut single, mut many): (Vec<_>, Vec<_>) = sorted.lasting.iter().copied().partition(is_default);
        if size::bytes(&whole(&single)) > budget / 2 {
            many.append(&mut single);
        }
        let listed = whole(&single);
        summary.insert("total".into(), sorted.lasting.len().into());
        summary.insert("listed".into(), single.len().into());
        summary.extend(grouped(&many, budget.saturating_sub(size::bytes(&listed) + 1024)));
        entries = Some(listed);
    }
    Reported { entries: entries.unwrap_or_default(), summary: (!summary.is_empty()).then(|| summary.into()) }
}

impl Sorted<'_> {
    /// How much there is of what comes and goes.
    fn counts(&self) -> Map<String, Value> {
        let mut counts = Map::new();
        if self.of_containers > 0 {
            counts.insert("of-containers-at-least".into(), order_of(self.of_containers).into());
        }
        let daemon =
            |(protocol, count): (&Protocol, &usize)| json!({"protocol": protocol.0, "at-least": order_of(*count)});
        if !self.of_daemons.is_empty() {
            counts.insert("of-daemons".into(), self.of_daemons.iter().map(daemon).collect());
        }
        counts
    }
}

/// Routes as the lists of a document.
fn lists(connected: &[&Route], lasting: &[Lasting<'_>]) -> Map<String, Value> {
    let running = connected.iter().copied().chain(lasting.iter().map(|(route, _)| *route));
    let config = lasting.iter().filter(|(_, can_be_asked_for)| *can_be_asked_for).map(|(route, _)| *route);
    let running: Vec<Value> = running.flat_map(|route| entries(route, true)).collect();
    let config: Vec<Value> = config.flat_map(|route| entries(route, false)).collect();
    let lists = [("running", running), ("config", config)].into_iter().filter(|(_, list)| !list.is_empty());
    lists.map(|(key, list)| (key.to_owned(), list.into())).collect()
}

fn entries(route: &Route, running: bool) -> Vec<Value> {
    show::route_entries(route, running).iter().map(print::route_value).collect()
}

fn sort<'a>(observed: &'a Observed, containers: &BTreeSet<IfName>) -> Sorted<'a> {
    let mut sorted = Sorted::default();
    let theirs = |route: &Route| {
        let over = |hop: &netloom_model::NextHop| hop.link.is_some_and(|link| containers.contains(&link));
        !route.next_hops.is_empty() && route.next_hops.iter().all(over)
    };
    let derived = observed.derived_routes.iter().map(|route| (route, true));
    for (route, derived) in derived.chain(observed.routes.values().map(|route| (route, false))) {
        if theirs(route) {
            sorted.of_containers += 1;
        } else if derived && (route.protocol == Protocol::KERNEL || route.table == RouteTable::LOCAL) {
            sorted.connected.push(route);
        } else if derived && !LASTING.contains(&route.protocol) {
            *sorted.of_daemons.entry(route.protocol).or_default() += 1;
        } else {
            sorted.lasting.push((route, !derived && show::can_be_asked_for(route)));
        }
    }
    // The order in which the kernel tells them means nothing.
    sorted.connected.sort();
    sorted.lasting.sort();
    sorted
}

/// Who makes routes that stay, of those that no document may ask for.
const LASTING: &[Protocol] =
    &[Protocol::UNSPEC, Protocol::BOOT, Protocol::STATIC, Protocol::RA, Protocol::DHCP, Protocol::NETLOOM];

/// Many routes: by their way, else counted.
fn grouped(routes: &[Lasting<'_>], budget: usize) -> Option<(String, Value)> {
    let groups = by_way(routes);
    if size::bytes(&groups) <= budget {
        return Some(("grouped".into(), groups.into()));
    }
    let counts = [true, false].map(|by_link| counted(routes, by_link));
    let counts = counts.into_iter().find(|counts| size::bytes(counts) <= budget);
    // More tables than fit: the whole number has been given, and this is all there is room for.
    counts.map(|counts| ("counted".into(), counts.into()))
}

/// One group for each way, with all that leads there.
fn by_way(routes: &[Lasting<'_>]) -> Vec<Value> {
    let mut ways: BTreeMap<(String, bool), (Vec<Value>, Vec<IpNet>)> = BTreeMap::new();
    for (route, can_be_asked_for) in routes {
        let mut way = entries(route, true);
        for hop in way.iter_mut().filter_map(Value::as_object_mut) {
            hop.remove("destination");
        }
        let key = (Value::from(way.clone()).to_string(), *can_be_asked_for);
        ways.entry(key).or_insert_with(|| (way, Vec::new())).1.push(route.destination);
    }
    let group = |((_, can_be_asked_for), (way, to)): ((String, bool), (Vec<Value>, Vec<IpNet>))| json!({"like": way, "config": can_be_asked_for, "count": to.len(), "destinations": runs(to)});
    ways.into_iter().map(group).collect()
}

/// Destinations in order; neighbours of one size as `first - last`.
fn runs(mut destinations: Vec<IpNet>) -> Vec<String> {
    destinations.sort_by_key(|net| (net.addr().is_ipv6(), net.prefix_len(), net.addr()));
    let mut runs: Vec<(IpNet, IpNet)> = Vec::new();
    for net in destinations {
        match runs.last_mut() {
            Some((_, last)) if follows(*last, net) => *last = net,
            _ => runs.push((net, net)),
        }
    }
    let text = |(first, last): (IpNet, IpNet)| {
        if first == last { first.to_string() } else { format!("{first} - {last}") }
    };
    runs.into_iter().map(text).collect()
}

/// Whether a prefix is the next of its size.
fn follows(last: IpNet, net: IpNet) -> bool {
    let number = |net: IpNet| match net {
        IpNet::V4(net) => u128::from(u32::from(net.addr())) >> (32 - net.prefix_len()).min(31),
        IpNet::V6(net) => u128::from(net.addr()) >> (128 - net.prefix_len()).min(127),
    };
    last.prefix_len() == net.prefix_len()
        && last.addr().is_ipv6() == net.addr().is_ipv6()
        && number(last).checked_add(1) == Some(number(net))
}

/// How many there are, by table, maker, family and, with `by_link`, the first link of the way.
fn counted(routes: &[Lasting<'_>], by_link: bool) -> Vec<Value> {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for (route, _) in routes {
        let link = route.next_hops.first().and_then(|hop| hop.link).filter(|_| by_link);
        *counts.entry((route.table, route.protocol, route.family(), link)).or_default() += 1;
    }
    let count = |((table, protocol, family, link), count): ((RouteTable, Protocol, _, Option<IfName>), usize)| {
        let mut value = json!({"table-id": table.get(), "protocol": protocol.0, "family": family, "count": count});
        if let (Some(link), Some(map)) = (link, value.as_object_mut()) {
            map.insert("next-hop-interface".into(), link.as_str().into());
        }
        value
    };
    counts.into_iter().map(count).collect()
}
