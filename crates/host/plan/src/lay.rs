//! Lays a desired state over an observation.
//!
//! Here a partial desired state becomes a complete goal: what the desired state does not name is taken from what is
//! there. This is also where somebody else's objects are distinguished from ours.

use std::collections::BTreeMap;

use netloom_model::{
    Address, Adoption, Alias, Attr, DesiredAddress, DesiredController, DesiredIp, DesiredLink, DesiredRoutingLine,
    HostState, Link, LinkKind, Observed, Ownership, Presence, Route, Value,
};
use netloom_types::{Family, IfName, Protocol};

use crate::{
    PlanError, claims,
    goal::{self, Goal, GoalLine, GoalLink, GoalRoute, GoalRule, Lists},
    order::Dependents,
    release, sink, tables,
};

/// What a desired state is laid on.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// The host.
    pub(crate) observed: &'a Observed,
    /// Who asked for what on it so far.
    pub(crate) owned: &'a Ownership,
}

/// The goal of a desired state, and what a person should know about it.
#[derive(Default)]
pub(crate) struct Laid {
    pub(crate) goal: Goal,
    pub(crate) notes: Vec<String>,
    /// Routes that go to another table with their VRF.
    pub(crate) moved: Vec<tables::Move>,
}

/// Lays `desired` over the ground.
pub(crate) fn lay(desired: &HostState, ground: Ground<'_>) -> Result<Laid, PlanError> {
    let observed = ground.observed;
    let mut laid = Laid::default();
    release::lay(desired, ground, &mut laid);
    let dependents = Dependents::of(observed.links.values());
    for link in desired.links.values() {
        match link.presence {
            Presence::Present => lay_present(link, ground, &mut laid.goal)?,
            Presence::Absent => lay_absent(link, ground, &dependents, &mut laid)?,
        }
    }
    let goal = &mut laid.goal;
    raise_bond_ports(desired, observed, goal);
    sink::lay(desired, observed, goal);
    lay_routes(desired, observed, goal)?;
    lay_rules(desired, observed, goal);
    tables::lay(observed, &mut laid)?;
    let goal = &mut laid.goal;
    goal.settings.extend(desired.settings.iter().map(|(key, wanted)| (*key, wanted.setting.clone())));
    lay_routing(desired, observed, goal)?;
    // Again at once: inserted one by one they leave their nodes half empty, and there may be many.
    goal.links = std::mem::take(&mut goal.links).into_iter().collect();
    Ok(laid)
}

fn lay_routing(desired: &HostState, observed: &Observed, goal: &mut Goal) -> Result<(), PlanError> {
    if let (Some(first), None) = (desired.routing.first(), &observed.routing) {
        let why = observed.routing_away.as_deref().unwrap_or("the agent has no folder of their sockets");
        return Err(PlanError::NoRouting { why: why.into(), origin: first.origin.clone() });
    }
    let wanted = |wanted: &DesiredRoutingLine| GoalLine { there: true, origin: Some(wanted.origin.clone()) };
    goal.routing.extend(desired.routing.iter().map(|line| (line.line.clone(), wanted(line))));
    Ok(())
}

fn lay_present(desired: &DesiredLink, ground: Ground<'_>, goal: &mut Goal) -> Result<(), PlanError> {
    let observed = ground.observed;
    check_leases(desired)?;
    check_protocols(desired, observed)?;
    let laid = match observed.links.get(&desired.name) {
        Some(link) if desired.adoption == Adoption::Never && !link.is_ours() => {
            return Err(PlanError::ForeignLink { name: desired.name, origin: desired.origin.clone() });
        }
        Some(link) if link.kind == desired.kind => {
            // What a release put back is the ground that the desired state is laid on.
            let released = goal.links.remove(&desired.name).flatten().map(|released| released.link);
            over_existing(desired, released.unwrap_or_else(|| unasked(link)), link, ground)
        }
        Some(_) | None => new_link(desired, ground)?,
    };
    for family in [Family::Ipv4, Family::Ipv6] {
        if desired.ip(family).enabled == Some(false) {
            drop_routes(desired, family, observed, goal);
        }
    }
    goal.links.insert(desired.name, Some(laid));
    Ok(())
}

/// A bond brings its ports up; one that joins without a word about its state stays so.
fn raise_bond_ports(desired: &HostState, observed: &Observed, goal: &mut Goal) {
    let is_bond = |name: IfName| {
        let kind = desired
            .links
            .get(&name)
            .map(|link| &link.kind)
            .or_else(|| observed.links.get(&name).map(|link| &link.kind));
        kind == Some(&LinkKind::Bond)
    };
    let joins = desired.links.values().filter(|link| {
        let was = observed.links.get(&link.name).and_then(|now| now.controller);
        matches!(link.controller, DesiredController::Of(name) if link.up.is_none() && was != Some(name) && is_bond(name))
    });
    for link in joins {
        if let Some(Some(goal)) = goal.links.get_mut(&link.name) {
            goal.link.up = true;
        }
    }
}

fn check_leases(desired: &DesiredLink) -> Result<(), PlanError> {
    for family in [Family::Ipv4, Family::Ipv6] {
        if desired.ip(family).dhcp.as_ref().is_some_and(|dhcp| dhcp.enabled) {
            return Err(PlanError::NeedsAgent { name: desired.name, family, origin: desired.origin.clone() });
        }
    }
    Ok(())
}

/// A new address can carry no protocol but ours on a kernel that keeps none. Ours it cannot carry either, but nothing is
/// lost by that: the record knows the address.
fn check_protocols(desired: &DesiredLink, observed: &Observed) -> Result<(), PlanError> {
    if observed.kernel.address_protocol {
        return Ok(());
    }
    let there = observed.links.get(&desired.name).map_or(&[][..], |link| &link.addresses);
    for wanted in [Family::Ipv4, Family::Ipv6].iter().flat_map(|family| desired.ip(*family).addresses.iter().flatten())
    {
        let address = wanted.address;
        let asks = ![Protocol::NETLOOM, Protocol::UNSPEC].contains(&address.protocol);
        if asks && !there.iter().any(|there| there.fulfils(&address)) {
            return Err(PlanError::NoAddressProtocol { address: Box::new(address), origin: wanted.origin.clone() });
        }
    }
    Ok(())
}

fn lay_absent(
    desired: &DesiredLink,
    ground: Ground<'_>,
    dependents: &Dependents,
    laid: &mut Laid,
) -> Result<(), PlanError> {
    let Some(link) = ground.observed.links.get(&desired.name) else { return Ok(()) };
    if desired.adoption == Adoption::Never && !link.is_ours() {
        return Err(PlanError::ForeignLink { name: desired.name, origin: desired.origin.clone() });
    }
    if let LinkKind::Other(_) = link.kind {
        return Err(PlanError::KeptKind {
            name: desired.name,
            kind: link.kind.clone(),
            origin: Some(desired.origin.clone()),
        });
    }
    if link.kind.is_virtual() {
        for name in dependents.closure(desired.name) {
            laid.goal.links.insert(name, None);
        }
    } else {
        release::give_back_link(desired.name, ground, laid);
    }
    Ok(())
}

fn lists(desired: &DesiredLink) -> Lists {
    Lists { ipv4: claims::says_addresses(&desired.ipv4), ipv6: claims::says_addresses(&desired.ipv6) }
}

fn new_link(desired: &DesiredLink, ground: Ground<'_>) -> Result<GoalLink, PlanError> {
    let (name, kind, origin) = (desired.name, desired.kind.clone(), desired.origin.clone());
    match &kind {
        LinkKind::Other(_) => return Err(PlanError::KeptKind { name, kind, origin: Some(origin) }),
        kind if !kind.is_virtual() => return Err(PlanError::NotCreatable { name, kind: kind.clone(), origin }),
        _ => {}
    }
    if let Some(&attr) = kind.required().iter().find(|attr| desired.attrs.given(**attr).is_none()) {
        return Err(PlanError::MissingProperty { name, kind, attr, origin });
    }
    let mut link = Link::new(name, kind);
    link.up = true;
    let description = desired.description.as_deref().filter(|text| !text.is_empty());
    link.alias = Some(Alias::ours(desired.origin.owners(), description));
    overlay(desired, &mut link, ground);
    Ok(GoalLink {
        link,
        vlans: desired.vlans.is_some(),
        fdb: true,
        lists: lists(desired),
        origin: Some(desired.origin.clone()),
    })
}

/// A link as it is, but for what may follow what the kernel derives it from as long as nobody asks for it.
pub(crate) fn unasked(link: &Link) -> Link {
    let mut link = link.clone();
    link.attrs.remove(Attr::Mac);
    link.attrs.remove(Attr::Mtu);
    // Of a bond in a bridge it follows the speed, which is that of one port or of all, as the mode has it.
    if link.kind == LinkKind::Bond {
        link.attrs.remove(Attr::PortPathCost);
    }
    link
}

fn over_existing(desired: &DesiredLink, mut link: Link, now: &Link, ground: Ground<'_>) -> GoalLink {
    if let Some(description) = &desired.description {
        let text = Some(&**description).filter(|text| !text.is_empty());
        link.alias = match &link.alias {
            Some(alias) => alias.described(text),
            None => text.map(Alias::raw),
        };
    }
    overlay(desired, &mut link, ground);
    if link.kind == LinkKind::Bond {
        // Options of the old mode that nobody named go with it.
        let mode = link.attrs.bond_mode();
        let idle = |attr: Attr| !attr.in_bond_mode(mode) && desired.attrs.given(attr).is_none();
        link.attrs = link.attrs.iter().filter(|(attr, _)| !idle(*attr)).map(|(a, value)| (a, value.clone())).collect();
    }
    let moves = link.controller != now.controller;
    if moves {
        let given: Vec<_> = desired.attrs.iter().map(|(attr, value)| (attr, value.clone())).collect();
        goal::drop_port_attrs(&mut link.attrs);
        for (attr, value) in given {
            link.attrs.require(attr, value);
        }
        if desired.vlans.is_none() {
            link.vlans = netloom_model::VlanMembership::default();
        }
    }
    GoalLink {
        vlans: desired.vlans.is_some() || !moves,
        fdb: !moves || !desired.fdb.is_empty(),
        lists: lists(desired),
        origin: Some(desired.origin.clone()),
        link,
    }
}

/// Writes everything that the desired state names onto `link`.
fn overlay(desired: &DesiredLink, link: &mut Link, ground: Ground<'_>) {
    let DesiredLink {
        name: _,
        kind: _,
        presence: _,
        adoption: _,
        up,
        controller,
        attrs,
        description: _,
        alt_names,
        ipv4,
        ipv6,
        vlans,
        fdb,
        mirrors,
        features,
        origin: _,
    } = desired;
    link.up = up.unwrap_or(link.up);
    match controller {
        DesiredController::Keep => {}
        DesiredController::Detached => link.controller = None,
        DesiredController::Of(name) => link.controller = Some(*name),
    }
    for (attr, value) in attrs.iter() {
        link.attrs.require(attr, value.clone());
    }
    if let Some(enabled) = ipv6.enabled {
        link.attrs.require(Attr::Ipv6Disabled, Value::Bool(!enabled));
    }
    for (name, presence) in alt_names {
        match presence {
            Presence::Present => link.alt_names.insert(name.clone()),
            Presence::Absent => link.alt_names.remove(name),
        };
    }
    overlay_ip(Family::Ipv4, ipv4, link, ground);
    overlay_ip(Family::Ipv6, ipv6, link, ground);
    if let Some(vlans) = vlans {
        link.vlans = vlans.clone();
    }
    merge(&mut link.fdb, fdb);
    merge(&mut link.mirrors, mirrors);
    link.features.extend(features.iter().map(|(key, on)| (key.clone(), *on)));
}

fn merge<K: Ord + Copy, V: Copy>(into: &mut BTreeMap<K, V>, changes: &BTreeMap<K, Option<V>>) {
    for (key, value) in changes {
        match value {
            Some(value) => into.insert(*key, *value),
            None => into.remove(key),
        };
    }
}

fn overlay_ip(family: Family, desired: &DesiredIp, link: &mut Link, ground: Ground<'_>) {
    if desired.enabled == Some(false) {
        link.addresses.retain(|address| Family::of(address.ip) != family);
    } else if let Some(addresses) = &desired.addresses {
        let (old, mut other): (Vec<Address>, Vec<Address>) =
            std::mem::take(&mut link.addresses).into_iter().partition(|address| Family::of(address.ip) == family);
        let mut new: Vec<Address> = addresses.iter().map(|desired| settled(desired, &old)).collect();
        if desired.keep_extra {
            let extra = old.iter().filter(|address| {
                let ours = ground.owned.made_address(ground.observed.kernel, link.name, address);
                !ours && !new.iter().any(|n| n.key() == address.key())
            });
            new.extend(extra.copied().collect::<Vec<_>>());
        }
        match family {
            Family::Ipv4 => {
                new.append(&mut other);
                link.addresses = new;
            }
            Family::Ipv6 => {
                other.append(&mut new);
                link.addresses = other;
            }
        }
    }
    if let Some(neighbours) = &desired.neighbours {
        link.neighbours.retain(|neighbour| Family::of(neighbour.ip) != family);
        link.neighbours.extend(neighbours.iter().copied());
    }
}

/// An address that is there already stays as it is, whoever made it, when it does what was asked.
fn settled(desired: &DesiredAddress, old: &[Address]) -> Address {
    let wanted = desired.address;
    let there = old.iter().find(|address| address.key() == wanted.key());
    match there {
        Some(there) if there.fulfils(&wanted) => *there,
        // What nobody asked about stays with it.
        Some(there) => Address { extra: there.extra, ..wanted },
        None => wanted,
    }
}

fn drop_routes(desired: &DesiredLink, family: Family, observed: &Observed, goal: &mut Goal) {
    for (key, route) in observed.routes.iter().filter(|(_, route)| route.family() == family && route.uses(desired.name))
    {
        let mut rest = Route { next_hops: route.next_hops.clone(), ..route.clone() };
        rest.next_hops.retain(|hop| hop.link != Some(desired.name));
        let kept = (!rest.next_hops.is_empty()).then_some(rest);
        goal.routes.insert(*key, GoalRoute { route: kept, origin: Some(desired.origin.clone()) });
    }
}

fn lay_routes(desired: &HostState, observed: &Observed, goal: &mut Goal) -> Result<(), PlanError> {
    for key in desired.absent_routes.iter().filter(|key| observed.routes.contains_key(key)) {
        goal.routes.insert(*key, GoalRoute { route: None, origin: None });
    }
    for wanted in &desired.routes {
        let key = wanted.route.key();
        let going = goal.routes.get(&key).is_some_and(|goal| goal.route.is_none());
        let route = match observed.routes.get(&key).filter(|_| !going) {
            Some(there) if there.same_effect(&wanted.route) => there.clone(),
            Some(there) if there.protocol != Protocol::NETLOOM && wanted.route.protocol == Protocol::NETLOOM => {
                return Err(PlanError::ForeignObject {
                    what: format!("another route for the same destination, table and metric ({there})"),
                    owner: format!("route protocol {}", there.protocol),
                    origin: wanted.origin.clone(),
                });
            }
            Some(_) | None => wanted.route.clone(),
        };
        goal.routes.insert(key, GoalRoute { route: Some(route), origin: Some(wanted.origin.clone()) });
    }
    Ok(())
}

fn lay_rules(desired: &HostState, observed: &Observed, goal: &mut Goal) {
    for key in desired.absent_rules.iter().filter(|key| observed.rules.contains_key(key)) {
        goal.rules.insert(*key, GoalRule { protocol: None, origin: None });
    }
    for wanted in &desired.rules {
        let key = wanted.rule.key;
        let going = goal.rules.get(&key).is_some_and(|goal| goal.protocol.is_none());
        // An equal rule does the same whoever made it.
        let there = observed.rules.get(&key).copied().filter(|_| !going);
        let protocol = Some(there.unwrap_or(wanted.rule.protocol));
        goal.rules.insert(key, GoalRule { protocol, origin: Some(wanted.origin.clone()) });
    }
}
