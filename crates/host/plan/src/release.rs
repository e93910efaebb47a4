//! What is given back when nobody asks for it any more.
//!
//! What netloom made goes; a property of somebody else's link gets the value that it had before,
//! unless somebody has changed it manually since: then it is left alone, and reported. Of a list that others
//! write too, only what netloom did is taken back.

use std::collections::BTreeSet;

use netloom_model::{
    Address, Attr, Claim, ClaimKey, HostState, Link, LinkKind, Neighbour, Observed, Presence, Previous, RouteKey,
    RoutingLine, RuleKey, Value, VlanMembership,
};
use netloom_types::{Family, IfName, Protocol};

use crate::{
    claims,
    goal::{self, Goal, GoalLine, GoalLink, GoalRoute, GoalRule},
    lay::{Ground, Laid, unasked},
    vlans,
};

/// Lays into the goal what the source of a whole desired state no longer names.
pub(crate) fn lay(desired: &HostState, ground: Ground<'_>, laid: &mut Laid) {
    let Some(source) = &desired.whole_of else { return };
    let named = Named::of(desired);
    for (key, claim) in &ground.owned.claims {
        let last = claim.origins.len() == 1 && claim.origins.contains_key(source);
        if last && !named.has(key) {
            give_back(key, claim, ground.observed, laid);
        }
    }
}

/// Gives back everything that was changed on one link.
pub(crate) fn give_back_link(name: IfName, ground: Ground<'_>, laid: &mut Laid) {
    for (key, claim) in ground.owned.of_link(name) {
        give_back(key, claim, ground.observed, laid);
    }
}

/// What a desired state names, ready to be asked for one object after the other.
pub(crate) struct Named<'a> {
    desired: &'a HostState,
    routes: BTreeSet<RouteKey>,
    rules: BTreeSet<RuleKey>,
    lines: BTreeSet<&'a RoutingLine>,
    /// The other ends of pairs, which are there as long as the end that is desired.
    peers: BTreeSet<IfName>,
}

impl<'a> Named<'a> {
    /// Reads it off the desired state.
    pub(crate) fn of(desired: &'a HostState) -> Self {
        let routes = desired.routes.iter().map(|desired| desired.route.key()).collect();
        let rules = desired.rules.iter().map(|desired| desired.rule.key).collect();
        let lines = desired.routing.iter().map(|desired| &desired.line).collect();
        let present = desired.links.values().filter(|link| link.presence == Presence::Present);
        let peers = present.filter_map(|link| link.attrs.link(Attr::VethPeer)).collect();
        Self { desired, routes, rules, lines, peers }
    }

    /// Whether the desired state names the object.
    pub(crate) fn has(&self, key: &ClaimKey) -> bool {
        let desired = self.desired;
        let link = |name: &IfName| desired.links.get(name);
        match key {
            ClaimKey::Link(name) => {
                link(name).is_some_and(|l| l.presence == Presence::Present) || self.peers.contains(name)
            }
            ClaimKey::Up(name) => link(name).is_some_and(|l| l.up.is_some()),
            ClaimKey::Controller(name) => {
                link(name).is_some_and(|l| l.controller != netloom_model::DesiredController::Keep)
            }
            ClaimKey::Attr(name, Attr::Ipv6Disabled) => {
                link(name).is_some_and(|l| l.ipv6.enabled.is_some() || l.attrs.given(Attr::Ipv6Disabled).is_some())
            }
            ClaimKey::Attr(name, attr) => link(name).is_some_and(|l| l.attrs.given(*attr).is_some()),
            ClaimKey::Alias(name) => link(name).is_some_and(|l| l.description.is_some()),
            ClaimKey::AltName(name, alt) => link(name).is_some_and(|l| l.alt_names.contains_key(alt)),
            ClaimKey::Addresses(name, family) => link(name).is_some_and(|l| claims::says_addresses(l.ip(*family))),
            ClaimKey::Address(name, ip) => link(name).is_some_and(|l| {
                l.ip(Family::of(*ip)).addresses.iter().flatten().any(|desired| desired.address.ip == *ip)
            }),
            ClaimKey::Vlans(name) => link(name).is_some_and(|l| l.vlans.is_some()),
            ClaimKey::Fdb(name, fdb) => link(name).is_some_and(|l| l.fdb.contains_key(fdb)),
            ClaimKey::Neighbours(name, family) => link(name).is_some_and(|l| l.ip(*family).neighbours.is_some()),
            ClaimKey::Mirror(name, mirror) => link(name).is_some_and(|l| l.mirrors.contains_key(mirror)),
            ClaimKey::Feature(name, feature) => link(name).is_some_and(|l| l.features.contains_key(feature)),
            ClaimKey::Route(key) => self.routes.contains(key),
            ClaimKey::Rule(key) => self.rules.contains(key),
            ClaimKey::Setting(key) => desired.settings.contains_key(key),
            ClaimKey::Routing(wanted) => self.lines.contains(wanted),
        }
    }
}

/// Lays the value of before into the goal, when the host still has the value that was set.
fn give_back(key: &ClaimKey, claim: &Claim, observed: &Observed, laid: &mut Laid) {
    let now = claims::value(key, observed);
    // What the kernel has no more has nothing to be given back to.
    let is_over = matches!(key, ClaimKey::Setting(_)) && now == Previous::Absent;
    if now == claim.before || is_over {
        return;
    }
    // VLANs are distinguished one by one.
    let is_shared = matches!(key, ClaimKey::Vlans(_));
    if !is_shared && !claims::still_ours(key, &claim.ours, &now) {
        laid.notes.push(format!("{key} was changed manually since netloom set it, so it is left as it is"));
        return;
    }
    match key.link() {
        Some(name) => give_back_on_link(name, key, claim, observed, laid),
        None => give_back_object(key, claim, observed, &mut laid.goal),
    }
}

fn give_back_on_link(name: IfName, key: &ClaimKey, claim: &Claim, observed: &Observed, laid: &mut Laid) {
    if let Previous::Controller(Some(controller)) = claim.before
        && !observed.links.contains_key(&controller)
    {
        laid.notes.push(format!("{key} was {controller}, which is gone, so {name} is left without one"));
    }
    let goal = &mut laid.goal;
    if let (ClaimKey::Link(_), Previous::Absent) = (key, &claim.before) {
        if observed.links.get(&name).is_some_and(Link::is_ours) {
            goal.links.insert(name, None);
        }
        return;
    }
    let Some(now) = observed.links.get(&name) else { return };
    let entry = goal.links.entry(name).or_insert_with(|| Some(GoalLink::put_back(unasked(now))));
    let Some(goal) = entry else { return };
    put_back(&mut goal.link, key, claim, observed);
}

fn put_back(link: &mut Link, key: &ClaimKey, claim: &Claim, observed: &Observed) {
    match (key, &claim.before) {
        (ClaimKey::Up(_), Previous::Up(up)) => link.up = *up,
        (ClaimKey::Controller(_), Previous::Controller(controller)) => {
            let controller = controller.filter(|name| observed.links.contains_key(name));
            if link.controller != controller {
                // What it was as a port goes with the role; claims on what it was before that come after this one.
                goal::drop_port_attrs(&mut link.attrs);
                link.vlans = VlanMembership::default();
            }
            link.controller = controller;
        }
        (ClaimKey::Attr(_, attr), _) if link.controller.is_none() && goal::is_of_port(*attr) => {}
        (ClaimKey::Attr(_, attr), Previous::Attr(value)) => link.attrs.require(*attr, value.clone()),
        (ClaimKey::Attr(_, attr), Previous::Absent) => {
            link.attrs.require(*attr, attr.default_value().unwrap_or(Value::Unset));
        }
        (ClaimKey::Alias(_), Previous::Alias(alias)) => link.alias = Some(alias.clone()),
        (ClaimKey::Alias(_), Previous::Absent) => link.alias = None,
        (ClaimKey::AltName(_, name), Previous::Absent) => {
            link.alt_names.remove(name);
        }
        (ClaimKey::AltName(_, name), Previous::Present) => {
            link.alt_names.insert(name.clone());
        }
        (ClaimKey::Addresses(..), Previous::Addresses(before)) => {
            // What somebody added since is not ours to take away.
            let ours = |address: &Address| matches!(&claim.ours, Previous::Addresses(list) if has(list, address));
            link.addresses.retain(|address| !ours(address) || has(before, address));
            let lost: Vec<_> = before.iter().filter(|address| !has(&link.addresses, address)).copied().collect();
            link.addresses.extend(lost);
        }
        // On a link of ours nothing but the single address is claimed, and somebody else may keep the link.
        (ClaimKey::Address(name, ip), Previous::Absent) if observed.links.get(name).is_some_and(Link::is_ours) => {
            link.addresses.retain(|address| address.ip != *ip || !claim.made_address(observed.kernel, address));
        }
        (ClaimKey::Vlans(_), Previous::Vlans(before)) => put_back_vlans(link, before, &claim.ours, observed),
        (ClaimKey::Fdb(_, fdb), Previous::Fdb(entry)) => {
            link.fdb.insert(*fdb, *entry);
        }
        (ClaimKey::Fdb(_, fdb), Previous::Absent) => {
            link.fdb.remove(fdb);
        }
        (ClaimKey::Neighbours(..), Previous::Neighbours(before)) => {
            let ours =
                |neighbour: &Neighbour| matches!(&claim.ours, Previous::Neighbours(set) if set.contains(neighbour));
            link.neighbours.retain(|neighbour| !ours(neighbour));
            link.neighbours.extend(before.iter().copied());
        }
        (ClaimKey::Mirror(_, mirror), Previous::Mirror(value)) => {
            link.mirrors.insert(*mirror, **value);
        }
        (ClaimKey::Mirror(_, mirror), Previous::Absent) => {
            link.mirrors.remove(mirror);
        }
        (ClaimKey::Feature(_, feature), Previous::Feature(on)) => {
            link.features.insert(feature.clone(), *on);
        }
        // Every other pair cannot come out of `claims`, or follows a list.
        _ => {}
    }
}

fn put_back_vlans(link: &mut Link, before: &VlanMembership, ours: &Previous, observed: &Observed) {
    let there = |name: IfName| observed.links.get(&name);
    let is_bridge = |link: &Link| link.kind == LinkKind::Bridge;
    if !is_bridge(link) && !link.controller.and_then(there).is_some_and(is_bridge) {
        return;
    }
    // What it has as a port of another bridge stays behind there.
    let stays = there(link.name).filter(|now| is_bridge(now) || now.controller == link.controller);
    link.vlans = if let (Previous::Vlans(ours), Some(now)) = (ours, stays) {
        vlans::given_back(before, ours, &now.vlans)
    } else {
        before.clone()
    };
}

fn has(list: &[Address], address: &Address) -> bool {
    list.iter().any(|other| other.key() == address.key())
}

fn give_back_object(key: &ClaimKey, claim: &Claim, observed: &Observed, goal: &mut Goal) {
    match (key, &claim.before) {
        (ClaimKey::Route(key), Previous::Absent)
            if observed.routes.get(key).is_some_and(|route| route.protocol == Protocol::NETLOOM) =>
        {
            goal.routes.insert(*key, GoalRoute { route: None, origin: None });
        }
        (ClaimKey::Route(key), Previous::Route(route)) => {
            goal.routes.insert(*key, GoalRoute { route: Some((**route).clone()), origin: None });
        }
        (ClaimKey::Rule(key), Previous::Absent) if observed.rules.get(key) == Some(&Protocol::NETLOOM) => {
            goal.rules.insert(**key, GoalRule { protocol: None, origin: None });
        }
        (ClaimKey::Rule(key), Previous::Rule(protocol)) => {
            goal.rules.insert(**key, GoalRule { protocol: Some(*protocol), origin: None });
        }
        (ClaimKey::Setting(key), Previous::Setting(setting)) => {
            goal.settings.insert(*key, setting.clone());
        }
        (ClaimKey::Routing(line), Previous::Absent) => {
            goal.routing.insert(line.clone(), GoalLine { there: false, origin: None });
        }
        // Every other pair cannot come out of `claims`.
        _ => {}
    }
}
