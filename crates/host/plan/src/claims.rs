//! The ownership record that follows from a desired state.
//!
//! On a link that netloom made, one claim on the link is enough: all of it is ours. On somebody
//! else's link every named property is a claim of its own, with the value that was there before.

use std::{collections::BTreeSet, sync::Arc};

use netloom_model::{
    Attr, Claim, ClaimKey, DesiredController, DesiredIp, DesiredLink, HostState, LinkKind, Observed, Origin, Origins,
    Ownership, Presence, Previous, Value,
};
use netloom_types::{Family, Protocol};

use crate::{goal::Goal, release::Named, tables, vlans};

/// The record once `goal`, which was laid from `desired`, is reached. What the goal has beyond the desired state,
/// because the kernel takes it away with something else, is claimed by nobody.
///
/// Claims on routes in `moved` go with them.
pub(crate) fn after(
    desired: &HostState,
    goal: &Goal,
    observed: &Observed,
    owned: &Ownership,
    moved: &[tables::Move],
) -> Ownership {
    let mut record = owned.clone();
    if let Some(source) = &desired.whole_of {
        let named = Named::of(desired);
        for (key, claim) in &mut record.claims {
            // What a daemon that does not answer still has is taken back once it does.
            let is_out_of_reach = matches!(key, ClaimKey::Routing(_)) && observed.routing.is_none();
            if !named.has(key) && !is_out_of_reach {
                claim.origins.remove(source);
            }
        }
    }
    tables::move_claims(moved, &mut record);
    for link in desired.links.values() {
        claim_link(desired, link, observed, &mut record);
    }
    for wanted in &desired.routes {
        let key = ClaimKey::Route(wanted.route.key());
        let ours = goal.routes.get(&wanted.route.key()).and_then(|goal| goal.route.clone());
        claim(
            &mut record,
            desired,
            key,
            &wanted.origin,
            observed,
            ours.map_or(Previous::Absent, |route| Previous::Route(route.into())),
        );
    }
    for wanted in &desired.rules {
        let key = ClaimKey::Rule(wanted.rule.key.into());
        let ours = goal.rules.get(&wanted.rule.key).and_then(|goal| goal.protocol);
        claim(&mut record, desired, key, &wanted.origin, observed, ours.map_or(Previous::Absent, Previous::Rule));
    }
    for wanted in desired.settings.values() {
        // Where there is nothing to set, there is nothing to return to either.
        let (key, ours) = (wanted.setting.key(), &wanted.setting);
        if observed.settings.get(key).is_some() {
            let ours = Previous::Setting(ours.clone());
            claim(&mut record, desired, ClaimKey::Setting(key), &wanted.origin, observed, ours);
        }
    }
    for wanted in &desired.routing {
        claim(
            &mut record,
            desired,
            ClaimKey::Routing(wanted.line.clone()),
            &wanted.origin,
            observed,
            Previous::Present,
        );
    }
    drop_gone(desired, goal, &mut record);
    // Again at once: inserted one by one they leave their nodes half empty, and there may be many.
    record.claims = std::mem::take(&mut record.claims).into_iter().collect();
    record
}

/// Whether the desired state says anything about the list of addresses.
pub(crate) fn says_addresses(desired: &DesiredIp) -> bool {
    desired.addresses.is_some() || desired.enabled == Some(false)
}

fn claim(
    record: &mut Ownership,
    desired: &HostState,
    key: ClaimKey,
    origin: &Origin,
    observed: &Observed,
    ours: Previous,
) {
    let owner =
        desired.whole_of.as_ref().or(desired.part_of.as_ref()).map_or_else(|| origin.source.owner(), Arc::clone);
    follow(record, &key, observed, &ours);
    let claim = record.claims.entry(key).or_insert_with_key(|key| Claim {
        origins: Origins::default(),
        before: if is_marked(key, observed) { Previous::Absent } else { before(key, observed) },
        ours: Previous::Absent,
    });
    claim.origins.insert(owner, origin.clone());
    claim.ours = ours;
}

/// Has what there is to return to follow what others did since, where they and we write the same list.
fn follow(record: &mut Ownership, key: &ClaimKey, observed: &Observed, desired: &Previous) {
    let Previous::Vlans(desired) = desired else { return };
    let Some(claim) = record.claims.get_mut(key) else { return };
    if let (Previous::Vlans(before), Previous::Vlans(ours)) = (&claim.before, &claim.ours)
        && let Previous::Vlans(now) = value(key, observed)
    {
        claim.before = Previous::Vlans(vlans::followed(before, ours, &now, desired));
    }
}

/// What there is to return to. A link of ours is no controller to return to: it was somebody's hand that put the port
/// there, and the link goes when nobody asks for it any more.
fn before(key: &ClaimKey, observed: &Observed) -> Previous {
    match value(key, observed) {
        Previous::Controller(Some(controller))
            if observed.links.get(&controller).is_some_and(netloom_model::Link::is_ours) =>
        {
            Previous::Controller(None)
        }
        there => there,
    }
}

/// Whether the kernel itself says that netloom made the object, even when the record of it was lost.
fn is_marked(key: &ClaimKey, observed: &Observed) -> bool {
    match key {
        ClaimKey::Link(name) => observed.links.get(name).is_some_and(netloom_model::Link::is_ours),
        ClaimKey::Address(name, ip) => observed.links.get(name).is_some_and(|link| {
            // Where the kernel keeps no marks of addresses, none has this one.
            link.addresses.iter().any(|address| address.ip == *ip && address.protocol == Protocol::NETLOOM)
        }),
        ClaimKey::Route(key) => observed.routes.get(key).is_some_and(|route| route.protocol == Protocol::NETLOOM),
        ClaimKey::Rule(key) => observed.rules.get(key) == Some(&Protocol::NETLOOM),
        ClaimKey::Mirror(name, key) => {
            observed.links.get(name).and_then(|link| link.mirrors.get(key)).is_some_and(|mirror| mirror.ours)
        }
        ClaimKey::Up(_)
        | ClaimKey::Controller(_)
        | ClaimKey::Attr(..)
        | ClaimKey::Alias(_)
        | ClaimKey::AltName(..)
        | ClaimKey::Addresses(..)
        | ClaimKey::Vlans(_)
        | ClaimKey::Fdb(..)
        | ClaimKey::Neighbours(..)
        | ClaimKey::Feature(..)
        | ClaimKey::Setting(_)
        | ClaimKey::Routing(_) => false,
    }
}

fn claim_link(desired: &HostState, link: &DesiredLink, observed: &Observed, record: &mut Ownership) {
    if link.presence == Presence::Absent {
        return;
    }
    let (name, origin) = (link.name, &link.origin);
    let existing = observed.links.get(&name);
    let foreign = existing.is_some_and(|there| !there.is_ours() && there.kind == link.kind);
    for family in [Family::Ipv4, Family::Ipv6] {
        for address in link.ip(family).addresses.iter().flatten() {
            claim(
                record,
                desired,
                ClaimKey::Address(name, address.address.ip),
                &address.origin,
                observed,
                Previous::Present,
            );
        }
    }
    let mut put = |key: ClaimKey, ours: Previous| claim(record, desired, key, origin, observed, ours);
    if !foreign {
        put(ClaimKey::Link(name), Previous::Present);
        return;
    }
    // A card that was a port is left up when it is released: it is the next one's who looks whether there is a cable.
    let port = link.kind == LinkKind::Ethernet && matches!(link.controller, DesiredController::Of(_));
    if let Some(up) = link.up.filter(|up| !(*up && port)) {
        put(ClaimKey::Up(name), Previous::Up(up));
    }
    match link.controller {
        DesiredController::Keep => {}
        DesiredController::Detached => put(ClaimKey::Controller(name), Previous::Controller(None)),
        DesiredController::Of(controller) => put(ClaimKey::Controller(name), Previous::Controller(Some(controller))),
    }
    for (attr, value) in link.attrs.iter() {
        put(ClaimKey::Attr(name, attr), Previous::Attr(value.clone()));
    }
    if let Some(enabled) = link.ipv6.enabled {
        put(ClaimKey::Attr(name, Attr::Ipv6Disabled), Previous::Attr(Value::Bool(!enabled)));
    }
    if let Some(text) = &link.description {
        put(ClaimKey::Alias(name), Previous::Alias(netloom_model::Alias::raw(text)));
    }
    for (alt, presence) in &link.alt_names {
        let ours = if *presence == Presence::Present { Previous::Present } else { Previous::Absent };
        put(ClaimKey::AltName(name, alt.clone()), ours);
    }
    claim_lists(link, &mut put);
}

fn claim_lists(link: &DesiredLink, put: &mut impl FnMut(ClaimKey, Previous)) {
    let name = link.name;
    for family in [Family::Ipv4, Family::Ipv6] {
        let ip = link.ip(family);
        if says_addresses(ip) {
            let list = ip.addresses.iter().flatten().map(|desired| desired.address).collect();
            put(ClaimKey::Addresses(name, family), Previous::Addresses(list));
        }
        if let Some(neighbours) = &ip.neighbours {
            put(ClaimKey::Neighbours(name, family), Previous::Neighbours(neighbours.clone()));
        }
    }
    if let Some(vlans) = &link.vlans {
        put(ClaimKey::Vlans(name), Previous::Vlans(vlans.clone()));
    }
    for (key, entry) in &link.fdb {
        put(ClaimKey::Fdb(name, *key), entry.map_or(Previous::Absent, Previous::Fdb));
    }
    for (key, mirror) in &link.mirrors {
        put(ClaimKey::Mirror(name, *key), mirror.map_or(Previous::Absent, |mirror| Previous::Mirror(mirror.into())));
    }
    for (feature, on) in &link.features {
        put(ClaimKey::Feature(name, feature.clone()), Previous::Feature(*on));
    }
}

/// Forgets claims without an origin, and claims on what the goal takes away.
fn drop_gone(desired: &HostState, goal: &Goal, record: &mut Ownership) {
    let given_back: BTreeSet<_> =
        desired.links.values().filter(|link| link.presence == Presence::Absent).map(|link| link.name).collect();
    record.claims.retain(|key, claim| {
        let link_goes = key.link().is_some_and(|name| goal.is_absent(name) || given_back.contains(&name));
        let object_goes = match key {
            ClaimKey::Route(key) => goal.routes.get(key).is_some_and(|goal| goal.route.is_none()),
            ClaimKey::Rule(key) => goal.rules.get(key).is_some_and(|goal| goal.protocol.is_none()),
            ClaimKey::Routing(line) => goal.routing.get(line).is_some_and(|goal| !goal.there),
            ClaimKey::Address(name, ip) => {
                goal.link(*name).is_some_and(|goal| !goal.link.addresses.iter().any(|address| address.ip == *ip))
            }
            _ => false,
        };
        !claim.origins.is_empty() && !link_goes && !object_goes
    });
}

/// The value that an object has on the host.
pub(crate) fn value(key: &ClaimKey, observed: &Observed) -> Previous {
    if let Some(name) = key.link() {
        return observed.links.get(&name).map_or(Previous::Absent, |link| value_on_link(key, link));
    }
    match key {
        ClaimKey::Route(key) => {
            observed.routes.get(key).cloned().map_or(Previous::Absent, |route| Previous::Route(route.into()))
        }
        ClaimKey::Rule(key) => observed.rules.get(key).copied().map_or(Previous::Absent, Previous::Rule),
        ClaimKey::Setting(key) => {
            observed.settings.get(*key).map_or(Previous::Absent, |setting| Previous::Setting(setting.into_owned()))
        }
        ClaimKey::Routing(line) if observed.routing.as_ref().is_some_and(|lines| lines.contains(line)) => {
            Previous::Present
        }
        _ => Previous::Absent,
    }
}

fn value_on_link(key: &ClaimKey, link: &netloom_model::Link) -> Previous {
    let there = |there: bool| if there { Previous::Present } else { Previous::Absent };
    match key {
        ClaimKey::Link(_) => Previous::Present,
        ClaimKey::Up(_) => Previous::Up(link.up),
        ClaimKey::Controller(_) => Previous::Controller(link.controller),
        ClaimKey::Attr(_, attr) => link.attrs.get(*attr).map_or(Previous::Absent, Previous::Attr),
        ClaimKey::Alias(_) => link.alias.clone().map_or(Previous::Absent, Previous::Alias),
        ClaimKey::AltName(_, alt) => there(link.alt_names.contains(alt)),
        ClaimKey::Addresses(_, family) => Previous::Addresses(link.addresses_of(*family).copied().collect()),
        ClaimKey::Address(_, ip) => there(link.addresses.iter().any(|address| address.ip == *ip)),
        ClaimKey::Vlans(_) => Previous::Vlans(link.vlans.clone()),
        ClaimKey::Fdb(_, fdb) => link.fdb.get(fdb).copied().map_or(Previous::Absent, Previous::Fdb),
        ClaimKey::Neighbours(_, family) => Previous::Neighbours(
            link.neighbours.iter().filter(|neighbour| Family::of(neighbour.ip) == *family).copied().collect(),
        ),
        ClaimKey::Mirror(_, key) => {
            link.mirrors.get(key).map_or(Previous::Absent, |mirror| Previous::Mirror((*mirror).into()))
        }
        ClaimKey::Feature(_, feature) => {
            link.features.get(feature).copied().map_or(Previous::Absent, Previous::Feature)
        }
        ClaimKey::Route(_) | ClaimKey::Rule(_) | ClaimKey::Setting(_) | ClaimKey::Routing(_) => Previous::Absent,
    }
}

/// Whether the host still has what was set. Lists count as ours when all that was set is there, and
/// times that the kernel rounds when they are near enough.
pub(crate) fn still_ours(key: &ClaimKey, ours: &Previous, now: &Previous) -> bool {
    match (key, ours, now) {
        (ClaimKey::Attr(_, attr), Previous::Attr(ours), Previous::Attr(now)) => attr.same(Some(ours), Some(now)),
        (_, Previous::Addresses(ours), Previous::Addresses(now)) => {
            ours.iter().all(|address| now.iter().any(|there| there.key() == address.key()))
        }
        (_, Previous::Route(ours), Previous::Route(now)) => ours.same_effect(now),
        _ => ours == now,
    }
}
