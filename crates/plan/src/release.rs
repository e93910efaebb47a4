//! What is given back when nobody asks for it any more.
//!
//! What netloom made goes; a property of somebody else's link gets the value that it had before,
//! unless somebody has changed it by hand since: then it is left alone, and said.

use netloom_model::{
    Attr, Claim, HostState, Link, ObjectKey, Observed, Ownership, Presence, Previous, RouteWish, RuleWish, Value,
};
use netloom_types::{Family, IfName, Protocol};

use crate::{
    claims,
    goal::{Goal, GoalLink, GoalRoute, GoalRule},
};

/// Lays into `goal` what the source of a whole wish no longer names.
pub(crate) fn lay(wish: &HostState, observed: &Observed, owned: &Ownership, goal: &mut Goal, notes: &mut Vec<String>) {
    let Some(source) = &wish.whole_of else { return };
    for (key, claim) in &owned.claims {
        let last = claim.origins.len() == 1 && claim.origins.contains_key(source);
        if last && !named(wish, key) {
            give_back(key, claim, observed, goal, notes);
        }
    }
}

/// Gives back everything that was changed on one link.
pub(crate) fn give_back_link(
    name: IfName,
    observed: &Observed,
    owned: &Ownership,
    goal: &mut Goal,
    notes: &mut Vec<String>,
) {
    for (key, claim) in owned.of_link(name) {
        give_back(key, claim, observed, goal, notes);
    }
}

/// Whether the wish names the object.
pub(crate) fn named(wish: &HostState, key: &ObjectKey) -> bool {
    let link = |name: &IfName| wish.links.get(name);
    match key {
        ObjectKey::Link(name) => link(name).is_some_and(|l| l.presence == Presence::Present),
        ObjectKey::Up(name) => link(name).is_some_and(|l| l.up.is_some()),
        ObjectKey::Controller(name) => link(name).is_some_and(|l| l.controller != netloom_model::ControllerWish::Keep),
        ObjectKey::Attr(name, Attr::Ipv6Disabled) => {
            link(name).is_some_and(|l| l.ipv6.enabled.is_some() || l.attrs.said(Attr::Ipv6Disabled).is_some())
        }
        ObjectKey::Attr(name, attr) => link(name).is_some_and(|l| l.attrs.said(*attr).is_some()),
        ObjectKey::Alias(name) => link(name).is_some_and(|l| l.description.is_some()),
        ObjectKey::AltName(name, alt) => link(name).is_some_and(|l| l.alt_names.contains_key(alt)),
        ObjectKey::Addresses(name, family) => link(name).is_some_and(|l| claims::says_addresses(l.ip(*family))),
        ObjectKey::Address(name, ip) => link(name)
            .is_some_and(|l| l.ip(Family::of(*ip)).addresses.iter().flatten().any(|wish| wish.address.ip == *ip)),
        ObjectKey::Vlans(name) => link(name).is_some_and(|l| l.vlans.is_some()),
        ObjectKey::Fdb(name, fdb) => link(name).is_some_and(|l| l.fdb.contains_key(fdb)),
        ObjectKey::Neighbours(name, family) => link(name).is_some_and(|l| l.ip(*family).neighbours.is_some()),
        ObjectKey::Mirror(name, mirror) => link(name).is_some_and(|l| l.mirrors.contains_key(mirror)),
        ObjectKey::Feature(name, feature) => link(name).is_some_and(|l| l.features.contains_key(feature)),
        ObjectKey::Route(key) => wish.routes.iter().any(|RouteWish { route, .. }| route.key() == *key),
        ObjectKey::Rule(key) => wish.rules.iter().any(|RuleWish { rule, .. }| rule.key == *key),
        ObjectKey::Resolver => wish.resolver.is_some(),
        ObjectKey::HostnameRunning => wish.hostname.running.is_some(),
        ObjectKey::HostnameConfig => wish.hostname.config.is_some(),
    }
}

/// Lays the value of before into the goal, when the host still has the value that was set.
fn give_back(key: &ObjectKey, claim: &Claim, observed: &Observed, goal: &mut Goal, notes: &mut Vec<String>) {
    let now = claims::value(key, observed);
    if now == claim.before {
        return;
    }
    if !claims::still_ours(key, &claim.ours, &now) {
        notes.push(format!("{key} was changed by hand since netloom set it, so it is left as it is"));
        return;
    }
    match key.link() {
        Some(name) => give_back_on_link(name, key, claim, observed, goal),
        None => give_back_object(key, claim, observed, goal),
    }
}

fn give_back_on_link(name: IfName, key: &ObjectKey, claim: &Claim, observed: &Observed, goal: &mut Goal) {
    if let (ObjectKey::Link(_), Previous::Absent) = (key, &claim.before) {
        if observed.links.get(&name).is_some_and(Link::is_ours) {
            goal.links.insert(name, None);
        }
        return;
    }
    let Some(now) = observed.links.get(&name) else { return };
    let entry = goal.links.entry(name).or_insert_with(|| {
        let mut link = now.clone();
        link.attrs.remove(Attr::Mac);
        link.attrs.remove(Attr::Mtu);
        Some(GoalLink { link, vlans: true, fdb: true, origin: None })
    });
    let Some(goal) = entry else { return };
    put_back(&mut goal.link, key, &claim.before);
}

fn put_back(link: &mut Link, key: &ObjectKey, before: &Previous) {
    match (key, before) {
        (ObjectKey::Up(_), Previous::Up(up)) => link.up = *up,
        (ObjectKey::Controller(_), Previous::Controller(controller)) => link.controller = *controller,
        (ObjectKey::Attr(_, attr), Previous::Attr(value)) => link.attrs.wish(*attr, value.clone()),
        (ObjectKey::Attr(_, attr), Previous::Absent) => {
            link.attrs.wish(*attr, attr.default_value().unwrap_or(Value::Unset));
        }
        (ObjectKey::Alias(_), Previous::Alias(alias)) => link.alias = Some(alias.clone()),
        (ObjectKey::Alias(_), Previous::Absent) => link.alias = None,
        (ObjectKey::AltName(_, name), Previous::Absent) => {
            link.alt_names.remove(name);
        }
        (ObjectKey::AltName(_, name), Previous::Present) => {
            link.alt_names.insert(name.clone());
        }
        (ObjectKey::Addresses(_, family), Previous::Addresses(addresses)) => {
            link.addresses.retain(|address| Family::of(address.ip) != *family);
            link.addresses.extend(addresses.iter().copied());
        }
        (ObjectKey::Vlans(_), Previous::Vlans(vlans)) => link.vlans = vlans.clone(),
        (ObjectKey::Fdb(_, fdb), Previous::Fdb(entry)) => {
            link.fdb.insert(*fdb, *entry);
        }
        (ObjectKey::Fdb(_, fdb), Previous::Absent) => {
            link.fdb.remove(fdb);
        }
        (ObjectKey::Neighbours(_, family), Previous::Neighbours(neighbours)) => {
            link.neighbours.retain(|neighbour| Family::of(neighbour.ip) != *family);
            link.neighbours.extend(neighbours.iter().copied());
        }
        (ObjectKey::Mirror(_, mirror), Previous::Mirror(value)) => {
            link.mirrors.insert(*mirror, *value);
        }
        (ObjectKey::Mirror(_, mirror), Previous::Absent) => {
            link.mirrors.remove(mirror);
        }
        (ObjectKey::Feature(_, feature), Previous::Feature(on)) => {
            link.features.insert(feature.clone(), *on);
        }
        // Single addresses follow their list; every other pair cannot come out of `claims`.
        _ => {}
    }
}

fn give_back_object(key: &ObjectKey, claim: &Claim, observed: &Observed, goal: &mut Goal) {
    match (key, &claim.before) {
        (ObjectKey::Route(key), Previous::Absent)
            if observed.routes.get(key).is_some_and(|route| route.protocol == Protocol::NETLOOM) =>
        {
            goal.routes.insert(*key, GoalRoute { route: None, origin: None });
        }
        (ObjectKey::Route(key), Previous::Route(route)) => {
            goal.routes.insert(*key, GoalRoute { route: Some(route.clone()), origin: None });
        }
        (ObjectKey::Rule(key), Previous::Absent) if observed.rules.get(key) == Some(&Protocol::NETLOOM) => {
            goal.rules.insert(*key, GoalRule { protocol: None, origin: None });
        }
        (ObjectKey::Rule(key), Previous::Rule(protocol)) => {
            goal.rules.insert(*key, GoalRule { protocol: Some(*protocol), origin: None });
        }
        (ObjectKey::Resolver, Previous::Resolver(resolver)) => goal.resolver = Some(resolver.clone()),
        (ObjectKey::HostnameRunning, Previous::Hostname(name)) => goal.hostname_running = Some(name.clone()),
        (ObjectKey::HostnameConfig, Previous::Hostname(name)) => goal.hostname_config = Some(name.clone()),
        // Every other pair cannot come out of `claims`.
        _ => {}
    }
}
