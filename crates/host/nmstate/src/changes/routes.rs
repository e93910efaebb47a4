//! Routes that a desired state changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ipnet::IpNet;
use netloom_model::{DesiredLink, HostState, Observed, Presence, Route, RouteKey};
use netloom_types::{Family, IfName};

use super::Side;
use crate::{
    document::{EntryState, RouteEntry},
    resolve::absent_route_matches,
    show::route_entries,
};

pub(super) fn entries(state: &HostState, observed: &Observed, side: Side) -> Vec<RouteEntry> {
    let changed: BTreeMap<RouteKey, &Route> = state
        .routes
        .iter()
        .map(|desired| (desired.route.key(), &desired.route))
        .filter(|(key, route)| observed.routes.get(key).is_none_or(|there| !there.same_effect(route)))
        .collect();
    let gone: BTreeSet<RouteKey> =
        state.absent_routes.iter().copied().filter(|key| observed.routes.contains_key(key)).collect();
    let there = |key: &RouteKey| observed.routes.get(key);
    let (from, to): (Vec<&Route>, Vec<&Route>) = match side {
        Side::After => {
            (gone.iter().chain(changed.keys()).filter_map(there).collect(), changed.values().copied().collect())
        }
        Side::Before => {
            let lost = lost_with_links(state, observed, &gone, &changed);
            (
                changed.values().copied().collect(),
                gone.iter().chain(changed.keys()).filter_map(there).chain(lost).collect(),
            )
        }
    };
    // What is left alone and would be caught by a pattern that shall catch something else.
    let bystanders: Vec<&Route> = match side {
        Side::After => observed
            .routes
            .iter()
            .filter(|(key, _)| !gone.contains(key) && !changed.contains_key(key))
            .map(|(_, r)| r)
            .collect(),
        Side::Before => observed.routes.values().collect(),
    };
    assemble(&from, &to, &bystanders)
}

/// Absent entries for what goes, then entries for what comes.
fn assemble(from: &[&Route], to: &[&Route], bystanders: &[&Route]) -> Vec<RouteEntry> {
    let comes: BTreeSet<RouteKey> = to.iter().map(|route| route.key()).collect();
    let goes: BTreeSet<RouteKey> = from.iter().map(|route| route.key()).collect();
    let stays: BTreeSet<(RouteKey, IfNameAndVia)> = to.iter().flat_map(|route| hops(route)).collect();
    let mut absent: Vec<RouteEntry> = Vec::new();
    for route in from {
        let replaced = comes.contains(&route.key());
        for (entry, hop) in route_entries(route, false).into_iter().zip(hops(route)) {
            // A route that is replaced needs no word, except for hops of several that leave it.
            let leaves = !replaced || (route.next_hops.len() > 1 && !stays.contains(&hop));
            if leaves {
                absent.push(RouteEntry { state: EntryState::Absent, metric: None, weight: None, ..entry });
            }
        }
    }
    let mut patterns: HashMap<IpNet, Vec<&RouteEntry>> = HashMap::new();
    for entry in &absent {
        if let Some(destination) = entry.destination {
            patterns.entry(destination).or_default().push(entry);
        }
    }
    let caught = |route: &&&Route| {
        let patterns = patterns.get(&route.destination).into_iter().flatten();
        let key = route.key();
        !comes.contains(&key) && !goes.contains(&key) && patterns.copied().any(|p| absent_route_matches(p, route))
    };
    let back = bystanders.iter().filter(caught);
    let present: Vec<RouteEntry> = to.iter().chain(back).flat_map(|route| route_entries(route, false)).collect();
    absent.into_iter().chain(present).collect()
}

type IfNameAndVia = (Option<IfName>, Option<std::net::IpAddr>);

fn hops(route: &Route) -> Vec<(RouteKey, IfNameAndVia)> {
    let key = route.key();
    if route.next_hops.is_empty() {
        return vec![(key, (None, None))];
    }
    route.next_hops.iter().map(|hop| (key, (hop.link, hop.via))).collect()
}

/// Routes that go because their link, or a family on it, goes.
fn lost_with_links<'a>(
    state: &HostState,
    observed: &'a Observed,
    gone: &BTreeSet<RouteKey>,
    changed: &BTreeMap<RouteKey, &Route>,
) -> Vec<&'a Route> {
    let loses = |name: IfName, family: Family| {
        let lost =
            |desired: &DesiredLink| desired.presence == Presence::Absent || desired.ip(family).enabled == Some(false);
        state.links.get(&name).is_some_and(lost)
    };
    observed
        .routes
        .iter()
        .filter(|(key, route)| {
            let lost = route.next_hops.iter().any(|hop| hop.link.is_some_and(|link| loses(link, route.family())));
            lost && !gone.contains(key) && !changed.contains_key(key)
        })
        .map(|(_, route)| route)
        .collect()
}
