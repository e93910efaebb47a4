//! The phases of a plan that are about links.

use netloom_model::{Address, Attr, Attrs, Change, Link, LinkKind, Observed, PlannedStep, Step, Value};
use netloom_types::IfName;

use crate::{
    PlanError,
    aspects::{self, Moment},
    converge::Builder,
    goal::Goal,
};

/// Deletes links that shall go or must be recreated, deepest first.
pub(crate) fn remove(builder: &mut Builder) -> Result<(), PlanError> {
    let doomed: Vec<IfName> = builder
        .goal
        .links
        .iter()
        .filter(|(name, goal)| {
            let now = builder.sim.observed().links.get(name);
            match (goal, now) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(goal), Some(now)) => aspects::needs_recreation(&goal.link, now),
            }
        })
        .map(|(name, _)| *name)
        .collect();
    for name in doomed {
        for name in builder.dependents.closure(name) {
            let Some(now) = builder.sim.observed().links.get(&name) else { continue };
            if !now.kind.is_virtual() {
                let origin = builder.goal.link(name).and_then(|goal| goal.origin.clone());
                return Err(PlanError::KeptKind { name, kind: now.kind.clone(), origin });
            }
            builder.emit(Step::DeleteLink { name })?;
        }
    }
    Ok(())
}

/// Takes ports out of controllers that they shall leave for none.
pub(crate) fn detach(builder: &mut Builder, order: &[IfName]) -> Result<(), PlanError> {
    for &name in order {
        let Some((goal, now)) = pair(builder, name) else { continue };
        if goal.controller.is_none() && now.controller.is_some() {
            builder.emit(Step::SetController { name, controller: None })?;
        }
    }
    Ok(())
}

/// Makes missing links and changes the properties of those that are there, in order.
pub(crate) fn create_and_change(builder: &mut Builder, order: &[IfName]) -> Result<(), PlanError> {
    for &name in order {
        let Some(goal) = builder.goal.link(name).map(|goal| goal.link.clone()) else { continue };
        if !builder.sim.observed().links.contains_key(&name) {
            create(builder, &goal)?;
        }
        change(builder, name)?;
    }
    Ok(())
}

fn create(builder: &mut Builder, goal: &Link) -> Result<(), PlanError> {
    if !goal.kind.is_virtual() {
        return Err(PlanError::KeptKind { name: goal.name, kind: goal.kind.clone(), origin: None });
    }
    let host = &builder.sim.observed().host;
    let controller = goal.controller.filter(|name| host.links.contains_key(name));
    let to_bond = controller.and_then(|name| host.links.get(&name)).is_some_and(|link| link.kind == LinkKind::Bond);
    let attrs = creation_attrs(builder, goal);
    // A link that is given rules for how to behave gets them before it is up; a bond takes only
    // ports that are down and puts them up itself.
    let later = goal.attrs.iter().any(|(attr, _)| aspects::moment(&goal.kind, attr) == Moment::Existing);
    // What stands on a base comes up after it.
    let base_up = goal.base().and_then(|base| host.links.get(&base)).is_none_or(|base| base.up);
    let up = goal.up && base_up && !later && !to_bond;
    builder.emit(Step::CreateLink { name: goal.name, kind: goal.kind.clone(), attrs, controller, up })?;
    if goal.alias.is_some() {
        builder.emit(Step::SetAlias { name: goal.name, alias: goal.alias.clone() })?;
    }
    Ok(())
}

/// What is given at creation. A link that is recreated keeps the hardware address that others know it
/// by and, as far as its base allows, its MTU.
fn creation_attrs(builder: &Builder, goal: &Link) -> Attrs {
    let mut attrs: Attrs = goal
        .attrs
        .iter()
        .filter(|(attr, value)| aspects::moment(&goal.kind, *attr) == Moment::Creation && **value != Value::Unset)
        .map(|(attr, value)| (attr, value.clone()))
        .collect();
    if awaits_ports(builder, goal) {
        attrs.remove(Attr::Mtu);
    }
    let Some(Some(was)) =
        builder.before.links.get(&goal.name).filter(|was| was.as_ref().is_some_and(|w| w.kind == goal.kind))
    else {
        return attrs;
    };
    let host = &builder.sim.observed().host;
    if attrs.given(Attr::Mac).is_none()
        && let Some(mac) = was.attrs.mac(Attr::Mac)
    {
        let base_was = was.base().and_then(|base| {
            builder.before.links.get(&base).and_then(Option::as_ref).or_else(|| host.links.get(&base))
        });
        let inherited = base_was.and_then(|base| base.attrs.mac(Attr::Mac)) == Some(mac);
        if !inherited {
            attrs.require(Attr::Mac, Value::Mac(mac));
        }
    }
    if goal.attrs.given(Attr::Mtu).is_none()
        && let Some(mtu) = was.attrs.int(Attr::Mtu)
    {
        let limit =
            attrs.link(Attr::Base).and_then(|base| host.links.get(&base)).and_then(|base| base.attrs.int(Attr::Mtu));
        let limit = limit
            .filter(|_| matches!(goal.kind, LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan));
        attrs.require(Attr::Mtu, Value::Int(limit.map_or(mtu, |limit| mtu.min(limit))));
    }
    attrs
}

/// Changes properties of a link that is there; MTUs are only raised here, because bases come first.
fn change(builder: &mut Builder, name: IfName) -> Result<(), PlanError> {
    let Some((goal, now)) = pair(builder, name) else { return Ok(()) };
    let mut unmet = aspects::unmet(goal, now);
    if lowers_mtu(&unmet, now) || awaits_ports(builder, goal) {
        unmet.remove(Attr::Mtu);
    }
    // A link that joins a bond gets the bond's address, and its own back when it leaves.
    let joins = goal.controller.filter(|_| goal.controller != now.controller);
    if joins.and_then(|name| builder.sim.observed().links.get(&name)).is_some_and(|link| link.kind == LinkKind::Bond) {
        unmet.remove(Attr::Mac);
    }
    let early: Attrs = unmet
        .iter()
        .filter(|(attr, _)| aspects::moment(&now.kind, *attr) != Moment::Attached)
        .map(|(attr, value)| (attr, value.clone()))
        .collect();
    let alt_names = aspects::alt_names(goal, Some(now));
    let alias = (goal.alias != now.alias).then(|| Step::SetAlias { name, alias: goal.alias.clone() });
    let hardest =
        early.iter().map(|(attr, value)| aspects::change(&now.kind, attr, value, now.attrs.get(attr).as_ref()));
    let (mut down, mut without_ports) = (false, false);
    for change in hardest {
        match change {
            Change::Live | Change::Recreate => {}
            Change::Down => down = true,
            Change::NoPorts => (down, without_ports) = (true, true),
        }
    }
    let (up, now) = (now.up, now.clone());
    if without_ports {
        let ports: Vec<IfName> = builder.sim.observed().ports_of(name).map(|port| port.name).collect();
        for port in ports {
            builder.emit(Step::SetController { name: port, controller: None })?;
        }
    }
    if down && up {
        builder.emit(Step::SetUp { name, up: false })?;
    }
    for step in aspects::set_attrs(&now, early).into_iter().chain(alias).chain(alt_names) {
        builder.emit(step)?;
    }
    Ok(())
}

/// Makes links ports. A bond takes only links that are down.
pub(crate) fn attach(builder: &mut Builder, order: &[IfName]) -> Result<(), PlanError> {
    for &name in order {
        let Some((goal, now)) = pair(builder, name) else { continue };
        let (Some(controller), up) = (goal.controller, now.up) else { continue };
        if now.controller == Some(controller) {
            continue;
        }
        let to_bond = builder.sim.observed().links.get(&controller).is_some_and(|link| link.kind == LinkKind::Bond);
        if to_bond && up {
            builder.emit(Step::SetUp { name, up: false })?;
        }
        builder.emit(Step::SetController { name, controller: Some(controller) })?;
    }
    Ok(())
}

/// Sets properties of port roles and brings links up or down: up from the bottom, down from the top.
pub(crate) fn finish(builder: &mut Builder, order: &[IfName]) -> Result<(), PlanError> {
    for &name in order.iter().rev() {
        if pair(builder, name).is_some_and(|(goal, now)| now.up && !goal.up) {
            builder.emit(Step::SetUp { name, up: false })?;
        }
    }
    for &name in order {
        let Some((goal, now)) = pair(builder, name) else { continue };
        let late: Attrs = aspects::unmet(goal, now)
            .iter()
            .filter(|(attr, _)| aspects::moment(&now.kind, *attr) == Moment::Attached)
            .map(|(attr, value)| (attr, value.clone()))
            .collect();
        let raise = goal.up && !now.up;
        for step in aspects::set_attrs(&now.clone(), late) {
            builder.emit(step)?;
        }
        if raise {
            builder.emit(Step::SetUp { name, up: true })?;
        }
    }
    Ok(())
}

/// Lowers MTUs, from the top: a base may not be below what stands on it by somebody's request.
pub(crate) fn lower_mtus(builder: &mut Builder, order: &[IfName]) -> Result<(), PlanError> {
    for &name in order.iter().rev() {
        let Some((goal, now)) = pair(builder, name) else { continue };
        let unmet = aspects::unmet(goal, now);
        if let Some(mtu) = unmet.given(Attr::Mtu).filter(|_| lowers_mtu(&unmet, now)) {
            let attrs = aspects::one(Attr::Mtu, mtu.clone());
            let kind = now.kind.clone();
            builder.emit(Step::SetAttrs { name, kind, attrs })?;
        }
    }
    Ok(())
}

/// Bridges that are there and shall have another MTU.
pub(crate) fn resized_bridges(observed: &Observed, goal: &Goal) -> Vec<IfName> {
    let bridges = observed.links.values().filter(|link| link.kind == LinkKind::Bridge);
    let resized = |was: &&Link| {
        let wanted = goal.link(was.name).and_then(|goal| goal.link.attrs.given(Attr::Mtu));
        wanted.is_some_and(|wanted| was.attrs.get(Attr::Mtu).as_ref() != Some(wanted))
    };
    bridges.filter(resized).map(|link| link.name).collect()
}

/// Tells bridges their new MTU, also those that should have it from their ports by now: one that ever got an MTU
/// does not follow any more, and the kernel does not tell which ones these are. To one that has it this says nothing.
pub(crate) fn tell_bridges(builder: &mut Builder) -> Result<(), PlanError> {
    let reported = |name: IfName, planned: &PlannedStep| match &planned.step {
        Step::SetAttrs { name: of, attrs, .. } => *of == name && attrs.given(Attr::Mtu).is_some(),
        Step::DeleteLink { name: of } => *of == name,
        _ => false,
    };
    for name in builder.resized.clone() {
        if builder.steps.iter().any(|planned| reported(name, planned)) {
            continue;
        }
        let Some((goal, now)) = pair(builder, name) else { continue };
        if let Some(mtu) = goal.attrs.given(Attr::Mtu) {
            let step = Step::SetAttrs { name, kind: now.kind.clone(), attrs: aspects::one(Attr::Mtu, mtu.clone()) };
            builder.emit(step)?;
        }
    }
    Ok(())
}

/// VLANs, forwarding entries, neighbours, mirrors and features.
pub(crate) fn belongings(builder: &mut Builder, name: IfName) -> Result<(), PlanError> {
    let Some(wanted) = builder.goal.link(name) else { return Ok(()) };
    let Some(now) = builder.sim.observed().links.get(&name) else { return Ok(()) };
    let goal = &wanted.link;
    let mut steps: Vec<Step> = Vec::new();
    if wanted.vlans {
        steps.extend(aspects::vlans(goal, now));
    }
    if wanted.fdb {
        steps.extend(aspects::fdb(goal, now));
    }
    steps.extend(aspects::neighbours(goal, now));
    steps.extend(aspects::mirrors(goal, now));
    steps.extend(aspects::features(goal, now));
    carry_out(builder, name, steps)
}

/// Addresses: those that go, then those that come, in their order. One that routing daemons have not heard of goes and
/// comes again, so that they do.
pub(crate) fn addresses(builder: &mut Builder, name: IfName) -> Result<(), PlanError> {
    let unheard = &builder.sim.observed().unheard;
    let Some((goal, now)) = pair(builder, name) else { return Ok(()) };
    let is_unheard = |address: &&Address| unheard.contains(&(name, address.ip));
    let again =
        now.addresses.iter().filter(is_unheard).filter(|own| goal.addresses.iter().any(|a| a.key() == own.key()));
    let again = again.map(|&address| Step::RemoveAddress { name, address });
    for step in aspects::surplus_addresses(goal, now).into_iter().chain(again).collect::<Vec<_>>() {
        // A primary address may have taken this one with it.
        let Step::RemoveAddress { address, .. } = &step else { continue };
        let there = |link: &Link| link.addresses.iter().any(|a| a.key() == address.key());
        if builder.sim.observed().links.get(&name).is_some_and(there) {
            carry_out(builder, name, vec![step])?;
        }
    }
    let Some((goal, now)) = pair(builder, name) else { return Ok(()) };
    let missing = aspects::missing_addresses(builder.sim.observed().kernel, goal, now);
    carry_out(builder, name, missing)
}

/// Desired steps must work; what only has to be put back may have lost its place.
fn carry_out(builder: &mut Builder, name: IfName, steps: Vec<Step>) -> Result<(), PlanError> {
    let desired = builder.goal.link(name).is_some_and(|goal| goal.origin.is_some());
    for step in steps {
        if desired { builder.emit(step)? } else { builder.emit_consequence(step) }
    }
    Ok(())
}

/// Whether a link shall be larger than the bridge that it stands on is, be it on something between, which grows with ports
/// that it does not have yet.
fn awaits_ports(builder: &Builder, goal: &Link) -> bool {
    let (Some(base), Some(wanted)) = (goal.base(), goal.attrs.int(Attr::Mtu)) else { return false };
    let host = builder.sim.observed();
    let Some(now) = host.links.get(&base) else { return false };
    if now.attrs.int(Attr::Mtu).is_none_or(|now| now >= wanted) {
        return false;
    }
    if now.kind != LinkKind::Bridge {
        return builder.goal.link(base).is_some_and(|below| awaits_ports(builder, &below.link));
    }
    let comes = |port: &Link| {
        let there = host.links.get(&port.name);
        port.controller == Some(base) && there.is_none_or(|there| there.controller != Some(base))
    };
    builder.goal.links.values().flatten().any(|goal| comes(&goal.link))
}

fn lowers_mtu(unmet: &Attrs, now: &Link) -> bool {
    match (unmet.given(Attr::Mtu), now.attrs.int(Attr::Mtu)) {
        (Some(Value::Int(wanted)), Some(now)) => *wanted < now,
        _ => false,
    }
}

/// What a link shall be and what it is by now.
fn pair(builder: &Builder, name: IfName) -> Option<(&Link, &Link)> {
    Some((&builder.goal.link(name)?.link, builder.sim.observed().links.get(&name)?))
}
