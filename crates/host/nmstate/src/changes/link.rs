//! One link: the properties that a desired state changes.

use std::collections::BTreeMap;

use netloom_model::{
    Address, Attr, Attrs, DesiredController, DesiredIp, DesiredLink, Link, LinkKind, Mirror, Presence, Section, Value,
};
use netloom_types::{Family, Lifetime, Protocol};

use super::{Side, ports::Ports};
use crate::{
    document::{AddressItem, FdbItem, Interface, Ip, Lease, MirrorItem, State},
    show::{View, vlan_entries},
    table,
};

/// Everything that is wanted of a new link.
pub(super) fn wanted(desired: &DesiredLink, ports: &Ports<'_>) -> Interface {
    let mut entry = Interface { kind: Some(desired.kind.clone()), ..Interface::new(desired.name) };
    entry.state = desired.up.map(state);
    entry.attrs = own(&desired.attrs);
    entry.description = desired.description.as_deref().map(Into::into);
    entry.alt_names = desired.alt_names.clone();
    entry.features = desired.features.clone();
    entry.fdb = desired.fdb.iter().map(|(key, entry)| FdbItem { key: *key, entry: *entry }).collect();
    entry.mirrors = desired.mirrors.iter().map(|(key, m)| MirrorItem { key: *key, mirror: m.map(parts) }).collect();
    entry.vlans = desired.vlans.as_ref().filter(|_| desired.kind == LinkKind::Bridge).map(vlan_entries);
    for family in [Family::Ipv4, Family::Ipv6] {
        let ip = desired.ip(family);
        let to = entry.ip_mut(family);
        to.enabled = enabled(desired, family);
        to.addresses = ip.addresses.as_ref().map(|list| list.iter().map(|a| item(&a.address)).collect());
        to.prefix_route_metric = metric(ip);
        to.allow_extra_address = ip.keep_extra.then_some(true);
        to.neighbors = ip.neighbours.as_ref().map(|set| set.iter().copied().collect());
        put_lease(to, ip);
    }
    if let DesiredController::Of(controller) = desired.controller
        && !ports.lists(controller, desired.name)
    {
        entry.controller = DesiredController::Of(controller);
    }
    set_block(&mut entry);
    ports.put(&mut entry);
    entry
}

/// What changes on a link that is there.
pub(super) fn changed(desired: &DesiredLink, now: &Link, view: &View<'_>, side: Side) -> Interface {
    let mut entry = Interface { kind: Some(desired.kind.clone()), ..Interface::new(desired.name) };
    let pick = |wanted: bool, is: bool| if side == Side::After { wanted } else { is };
    entry.state = desired.up.filter(|up| *up != now.up).map(|up| state(pick(up, now.up)));
    let unmet = own(&desired.attrs.unmet_by(&now.attrs));
    entry.attrs = match side {
        Side::After => unmet,
        Side::Before => {
            // An option that the bond's old mode does not have cannot be set back, and means nothing.
            let mode = now.attrs.int(Attr::BondMode).unwrap_or_default();
            let had = |attr: Attr| desired.kind != LinkKind::Bond || attr.in_bond_mode(mode);
            let back = unmet.iter().filter(|(attr, _)| had(*attr));
            back.filter_map(|(attr, _)| Some((attr, before(now, attr)?))).collect()
        }
    };
    description(&mut entry, desired, now, side);
    let has = |presence: Presence| presence == Presence::Present;
    let presence = |there: bool| if there { Presence::Present } else { Presence::Absent };
    for (name, wanted) in &desired.alt_names {
        let is = now.alt_names.contains(name);
        if has(*wanted) != is {
            entry.alt_names.insert(name.clone(), presence(pick(has(*wanted), is)));
        }
    }
    for (name, on) in &desired.features {
        let is = now.features.get(name).copied();
        if is != Some(*on) {
            entry.features.insert(name.clone(), pick(*on, is.unwrap_or(!on)));
        }
    }
    entry.fdb = pairs(&desired.fdb, &now.fdb, side).map(|(key, entry)| FdbItem { key, entry }).collect();
    entry.mirrors =
        pairs(&desired.mirrors, &now.mirrors, side).map(|(key, m)| MirrorItem { key, mirror: m.map(parts) }).collect();
    if let Some(vlans) = desired.vlans.as_ref().filter(|v| desired.kind == LinkKind::Bridge && **v != now.vlans) {
        entry.vlans = Some(vlan_entries(if side == Side::After { vlans } else { &now.vlans }));
    }
    for family in [Family::Ipv4, Family::Ipv6] {
        ip(&mut entry, family, desired, now, view, side);
    }
    set_block(&mut entry);
    entry
}

fn state(up: bool) -> State {
    if up { State::Up } else { State::Down }
}

fn parts(mirror: Mirror) -> (netloom_model::FlowMatch, netloom_model::MirrorAction, netloom_types::IfName) {
    (mirror.matches, mirror.action, mirror.to)
}

/// The properties of the link's own entry; those of its port role stand with its controller, and
/// `ipv6.enabled` says whether IPv6 is off.
fn own(attrs: &Attrs) -> Attrs {
    let elsewhere =
        |attr: Attr| matches!(attr.section(), Section::BridgePort | Section::BondPort) || attr == Attr::Ipv6Disabled;
    attrs.iter().filter(|(attr, _)| !elsewhere(*attr)).map(|(attr, value)| (attr, value.clone())).collect()
}

pub(super) fn before(now: &Link, attr: Attr) -> Option<Value> {
    now.attrs.get(attr).or_else(|| attr.accepts(&Value::Unset).then_some(Value::Unset))
}

/// Entries of a keyed list that change, with the value of one side.
pub(super) fn pairs<'a, K: Ord + Copy + 'a, V: Copy + PartialEq + 'a>(
    wanted: &'a BTreeMap<K, Option<V>>,
    now: &'a BTreeMap<K, V>,
    side: Side,
) -> impl Iterator<Item = (K, Option<V>)> + 'a {
    wanted.iter().filter(|(key, value)| now.get(key) != value.as_ref()).map(move |(key, value)| match side {
        Side::After => (*key, *value),
        Side::Before => (*key, now.get(key).copied()),
    })
}

/// Whether the desired state switches a family; `sysctl` says it of IPv6 as well.
fn enabled(desired: &DesiredLink, family: Family) -> Option<bool> {
    match (desired.ip(family).enabled, family, desired.attrs.given(Attr::Ipv6Disabled)) {
        (None, Family::Ipv6, Some(Value::Bool(disabled))) => Some(!disabled),
        (given, ..) => given,
    }
}

fn description(entry: &mut Interface, desired: &DesiredLink, now: &Link, side: Side) {
    let is = now.alias.as_ref().and_then(|alias| alias.description()).unwrap_or_default();
    let Some(wanted) = desired.description.as_deref().filter(|wanted| *wanted != is) else { return };
    entry.description = Some(if side == Side::After { wanted } else { is }.to_owned());
}

fn ip(entry: &mut Interface, family: Family, desired: &DesiredLink, now: &Link, view: &View<'_>, side: Side) {
    let wanted = desired.ip(family);
    let is: Vec<Address> = now.addresses_of(family).copied().collect();
    let to = entry.ip_mut(family);
    let disabled = family == Family::Ipv6 && now.attrs.bool(Attr::Ipv6Disabled) == Some(true);
    if let Some(enabled) = enabled(desired, family) {
        let changes = match (enabled, family) {
            (false, _) => !is.is_empty() || (family == Family::Ipv6 && !disabled) || view.is_routed(now.name, family),
            (true, Family::Ipv6) => disabled,
            (true, Family::Ipv4) => false,
        };
        if changes {
            to.enabled = Some(if side == Side::After { enabled } else { !disabled });
        }
        if changes && !enabled && side == Side::Before && !is.is_empty() {
            to.addresses = Some(is.iter().map(old_item).collect());
            to.prefix_route_metric = is.iter().map(|a| a.route_metric).find(|metric| *metric != 0);
        }
    }
    let list: Option<Vec<Address>> = wanted.addresses.as_ref().map(|list| list.iter().map(|a| a.address).collect());
    if let Some(list) = list.filter(|list| !fulfilled(list, &is, wanted.keep_extra)) {
        to.addresses = Some(match side {
            Side::After => list.iter().map(item).collect(),
            Side::Before => is.iter().map(old_item).collect(),
        });
        let metrics = |list: &[Address]| list.iter().map(|a| a.route_metric).find(|metric| *metric != 0);
        to.prefix_route_metric = match side {
            Side::After => metrics(&list),
            // Addresses that stay keep their metric unless the old one is given.
            Side::Before => metrics(&is).or_else(|| metrics(&list).map(|_| 0)),
        };
        to.allow_extra_address = (side == Side::After && wanted.keep_extra).then_some(true);
    }
    let neighbours: Vec<_> = now.neighbours.iter().filter(|n| Family::of(n.ip) == family).copied().collect();
    if let Some(set) = &wanted.neighbours {
        let list: Vec<_> = set.iter().copied().collect();
        if list != neighbours {
            to.neighbors = Some(if side == Side::After { list } else { neighbours });
        }
    }
    match side {
        Side::After => put_lease(to, wanted),
        Side::Before if wanted.dhcp.as_ref().is_some_and(|dhcp| dhcp.enabled) => to.dhcp = Some(false),
        Side::Before => {}
    }
}

/// Whether the addresses are there, in the order that the kernel keeps.
fn fulfilled(wanted: &[Address], is: &[Address], keep_extra: bool) -> bool {
    let there = wanted.iter().all(|a| is.iter().any(|b| b.fulfils(a)));
    let row = |list: &[Address], like: &Address| -> Vec<_> {
        let in_row = |a: &&Address| match (a.ip, like.ip) {
            (std::net::IpAddr::V4(_), std::net::IpAddr::V4(_)) => a.prefix() == like.prefix(),
            _ => true,
        };
        list.iter().filter(in_row).map(Address::key).filter(|key| wanted.iter().any(|a| a.key() == *key)).collect()
    };
    let ordered = wanted.iter().all(|a| row(wanted, a) == row(is, a));
    there && ordered && (keep_extra || wanted.len() == is.len())
}

fn item(address: &Address) -> AddressItem {
    let given = |time: Lifetime| (time != Lifetime::Forever).then_some(time);
    let mut item = AddressItem::new(address.ip, address.prefix_len);
    item.valid = given(address.valid);
    item.preferred = given(address.preferred);
    item
}

/// An address as it was, with who put it there unless that is given of every new one.
fn old_item(address: &Address) -> AddressItem {
    let protocol = Some(address.protocol).filter(|protocol| *protocol != Protocol::NETLOOM);
    AddressItem { protocol, ..item(address) }
}

fn metric(ip: &DesiredIp) -> Option<u32> {
    ip.addresses.iter().flatten().map(|a| a.address.route_metric).find(|metric| *metric != 0)
}

fn put_lease(to: &mut Ip, ip: &DesiredIp) {
    let Some(dhcp) = ip.dhcp.as_ref().filter(|dhcp| dhcp.enabled) else { return };
    to.dhcp = Some(true);
    to.lease = Lease {
        auto_dns: dhcp.auto_dns,
        auto_gateway: dhcp.auto_gateway,
        auto_routes: dhcp.auto_routes,
        route_table: dhcp.route_table,
        route_metric: dhcp.route_metric,
        client_id: dhcp.client_id.clone(),
        duid: dhcp.duid.clone(),
        send_hostname: dhcp.send_hostname,
        custom_hostname: dhcp.custom_hostname.clone(),
    };
}

/// Names the kind's block when something stands in it.
pub(super) fn set_block(entry: &mut Interface) {
    let Some(block) = entry.kind.as_ref().and_then(table::block_of) else { return };
    let inside = |attr: Attr| {
        table::of_block(block).contains(&attr)
            || matches!(attr.section(), Section::BridgeOptions | Section::BridgeStp | Section::BondOptions)
    };
    let says = entry.ports.is_some() || entry.vlans.is_some() || entry.attrs.iter().any(|(attr, _)| inside(attr));
    entry.block = says.then_some(block);
}
