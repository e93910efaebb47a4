//! VLANs go down with what they stand on.
//!
//! The kernel lowers them itself, unless they are bound loosely. A desired state that takes a base down thereby
//! takes down what stands on it: this joins the goal, so that the plan shows it and the undo raises it
//! again. A VLAN whose own desired state says `up` is left alone here; that contradiction is refused when its step
//! is tried.

use std::collections::BTreeMap;

use netloom_model::{Attr, HostState, Link, LinkKind, Observed};
use netloom_types::IfName;

use crate::goal::{Goal, GoalLink};

/// Lowers what stands on the links that the goal lowers.
pub(crate) fn lay(desired: &HostState, observed: &Observed, goal: &mut Goal) {
    let was_up = |name: &IfName| observed.links.get(name).is_some_and(|link| link.up);
    let sinks = |(name, goal): (&IfName, &Option<GoalLink>)| {
        (goal.as_ref().is_some_and(|goal| !goal.link.up) && was_up(name)).then_some(*name)
    };
    let mut lowered: Vec<IfName> = goal.links.iter().filter_map(sinks).collect();
    if lowered.is_empty() {
        return;
    }
    let followers = followers(observed, goal);
    while let Some(base) = lowered.pop() {
        for &name in followers.get(&base).into_iter().flatten() {
            let insists = desired.links.get(&name).is_some_and(|link| link.up == Some(true));
            if !insists && lower(name, observed, goal) {
                lowered.push(name);
            }
        }
    }
}

/// The VLANs on each link that are up because it is, as the goal has them and else as they are.
fn followers(observed: &Observed, goal: &Goal) -> BTreeMap<IfName, Vec<IfName>> {
    let mut followers: BTreeMap<IfName, Vec<IfName>> = BTreeMap::new();
    for link in observed.links.values().filter(|link| link.up) {
        let shall = goal.links.get(&link.name).map_or(Some(link), |goal| goal.as_ref().map(|goal| &goal.link));
        if let Some(base) = shall.filter(|link| follows(link)).and_then(Link::base) {
            followers.entry(base).or_default().push(link.name);
        }
    }
    followers
}

/// Whether a link cannot be up without what it stands on.
pub(crate) fn follows(link: &Link) -> bool {
    link.kind == LinkKind::Vlan && link.attrs.bool(Attr::VlanLooseBinding) != Some(true)
}

/// Lets a link be down; whether the goal had it up before.
fn lower(name: IfName, observed: &Observed, goal: &mut Goal) -> bool {
    match goal.links.get_mut(&name) {
        Some(Some(wanted)) => std::mem::replace(&mut wanted.link.up, false),
        Some(None) => false,
        None => {
            let Some(link) = observed.links.get(&name) else { return false };
            goal.heal_link(Link { up: false, ..link.clone() });
            true
        }
    }
}
