//! One aspect of one link at a time: from two values to the steps between them.
//!
//! Each function takes what a link shall have and what it has, and returns steps in a valid order
//! for that aspect alone. Order between aspects and between links is the business of the callers:
//! [`crate::converge`] towards a goal, [`crate::restore`] back to what was.

use std::collections::BTreeSet;

use netloom_model::{Address, Attr, Attrs, Change, Link, LinkKind, Section, Step, Value};
use netloom_types::{Family, Lifetime, VlanSet};

/// When a property can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Together with the creation of the link.
    Creation,
    /// Once the link exists.
    Existing,
    /// Once the link is a port, or has its ports.
    Attached,
}

/// The earliest moment at which a property can be set.
pub(crate) fn moment(attr: Attr) -> Moment {
    match attr {
        // The kernel refuses a change of the default VLAN while it filters, and does the one before
        // the other within a message.
        Attr::BridgeVlanFiltering | Attr::Promiscuous => Moment::Existing,
        Attr::BondPrimary => Moment::Attached,
        _ => match attr.section() {
            Section::Common | Section::Kind | Section::BridgeOptions | Section::BridgeStp | Section::BondOptions => {
                Moment::Creation
            }
            Section::BridgePort | Section::BondPort => Moment::Attached,
            Section::Ipv4
            | Section::Ipv6
            | Section::SysctlIpv4
            | Section::SysctlIpv6
            | Section::Ethernet
            | Section::Pause
            | Section::Ring => Moment::Existing,
        },
    }
}

/// What it takes to change `attr` from `now` to `wanted` on a link of this kind.
pub(crate) fn change(kind: &LinkKind, attr: Attr, wanted: &Value, now: Option<&Value>) -> Change {
    const PASSTHRU: Value = Value::Int(8);
    match attr {
        // A link in passthru mode holds its base alone, so the kernel never switches to or from it.
        Attr::MacvlanMode if *wanted == PASSTHRU || now == Some(&PASSTHRU) => Change::Recreate,
        // IPv4 tunnels keep their base as a property; the others are bound to it.
        Attr::Base if *kind == LinkKind::IpTunnel => Change::Recreate,
        _ => attr.change(),
    }
}

/// The wishes of `wanted` that `now` does not fulfil.
pub(crate) fn unmet(wanted: &Link, now: &Link) -> Attrs {
    wanted.attrs.unmet_by(&now.attrs)
}

/// Whether the link must be made anew to become `wanted`.
pub(crate) fn needs_recreation(wanted: &Link, now: &Link) -> bool {
    wanted.kind != now.kind
        || unmet(wanted, now)
            .iter()
            .any(|(attr, value)| change(&wanted.kind, attr, value, now.attrs.get(attr).as_ref()) == Change::Recreate)
}

/// Sets properties; the default VLAN of a filtering bridge needs filtering off for a moment.
pub(crate) fn set_attrs(now: &Link, attrs: Attrs) -> Vec<Step> {
    let step = |attrs| Step::SetAttrs { name: now.name, kind: now.kind.clone(), attrs };
    if attrs.is_empty() {
        return Vec::new();
    }
    let filters = now.attrs.bool(Attr::BridgeVlanFiltering) == Some(true);
    if attrs.said(Attr::BridgeDefaultPvid).is_none() || !filters {
        return vec![step(attrs)];
    }
    let filtering = attrs.get(Attr::BridgeVlanFiltering).filter(|_| attrs.said(Attr::BridgeVlanFiltering).is_some());
    let mut rest = attrs;
    rest.remove(Attr::BridgeVlanFiltering);
    let off = one(Attr::BridgeVlanFiltering, Value::Bool(false));
    let mut steps = vec![step(off), step(rest)];
    let back = filtering.unwrap_or(Value::Bool(true));
    if back == Value::Bool(true) {
        steps.push(step(one(Attr::BridgeVlanFiltering, back)));
    }
    steps
}

/// One property.
pub(crate) fn one(attr: Attr, value: Value) -> Attrs {
    [(attr, value)].into_iter().collect()
}

/// Further names.
pub(crate) fn alt_names(wanted: &Link, now: Option<&Link>) -> Vec<Step> {
    let name = wanted.name;
    let none = BTreeSet::new();
    let current = now.map_or(&none, |link| &link.alt_names);
    let gone = current.difference(&wanted.alt_names).cloned().map(|alt_name| Step::RemoveAltName { name, alt_name });
    let new = wanted.alt_names.difference(current).cloned().map(|alt_name| Step::AddAltName { name, alt_name });
    gone.chain(new).collect()
}

/// The VLANs of a bridge port or of a bridge.
pub(crate) fn vlans(wanted: &Link, now: &Link) -> Option<Step> {
    if wanted.vlans == now.vlans {
        return None;
    }
    let (want, have) = (&wanted.vlans, &now.vlans);
    let mut add = netloom_model::VlanMembership {
        tagged: want.tagged.minus(&have.tagged),
        untagged: want.untagged.minus(&have.untagged),
        pvid: None,
    };
    if want.pvid != have.pvid {
        add.pvid = want.pvid;
        // An entry that was the PVID and stays without being it is written again to lose the flag.
        for vlan in [want.pvid, have.pvid].into_iter().flatten() {
            for (set, to) in [(&want.tagged, &mut add.tagged), (&want.untagged, &mut add.untagged)] {
                if set.contains(vlan) {
                    to.insert(vlan);
                }
            }
        }
    } else if want.pvid.is_some_and(|vlan| add.tagged.contains(vlan) || add.untagged.contains(vlan)) {
        add.pvid = want.pvid;
    }
    let remove: VlanSet = have.all().minus(&want.all());
    Some(Step::SetVlans { name: wanted.name, on_bridge: wanted.kind == LinkKind::Bridge, add, remove })
}

/// Forwarding entries.
pub(crate) fn fdb(wanted: &Link, now: &Link) -> Vec<Step> {
    let name = wanted.name;
    let gone = now.fdb.iter().filter(|(key, _)| !wanted.fdb.contains_key(key));
    let new = wanted.fdb.iter().filter(|(key, entry)| now.fdb.get(key) != Some(entry));
    gone.map(|(&key, &entry)| Step::RemoveFdb { name, key, entry })
        .chain(new.map(|(&key, &entry)| Step::AddFdb { name, key, entry }))
        .collect()
}

/// Permanent neighbours.
pub(crate) fn neighbours(wanted: &Link, now: &Link) -> Vec<Step> {
    let name = wanted.name;
    // An entry with another hardware address is replaced by the addition, so it is not removed.
    let kept: BTreeSet<_> = wanted.neighbours.iter().map(|n| n.ip).collect();
    let gone = now.neighbours.iter().filter(|n| !kept.contains(&n.ip));
    let new = wanted.neighbours.difference(&now.neighbours);
    gone.map(|&neighbour| Step::RemoveNeighbour { name, neighbour })
        .chain(new.map(|&neighbour| Step::AddNeighbour { name, neighbour }))
        .collect()
}

/// Mirrors. A changed one is removed first: the kernel keeps filters of one priority side by side.
pub(crate) fn mirrors(wanted: &Link, now: &Link) -> Vec<Step> {
    let name = wanted.name;
    let gone = now.mirrors.iter().filter(|(key, mirror)| wanted.mirrors.get(key) != Some(mirror));
    let new = wanted.mirrors.iter().filter(|(key, mirror)| now.mirrors.get(key) != Some(mirror));
    gone.map(|(&key, &mirror)| Step::RemoveMirror { name, key, mirror })
        .chain(new.map(|(&key, &mirror)| Step::AddMirror { name, key, mirror }))
        .collect()
}

/// Offload features.
pub(crate) fn features(wanted: &Link, now: &Link) -> Option<Step> {
    let changed: std::collections::BTreeMap<_, _> = wanted
        .features
        .iter()
        .filter(|(key, on)| now.features.get(*key) != Some(on))
        .map(|(k, v)| (k.clone(), *v))
        .collect();
    (!changed.is_empty()).then_some(Step::SetFeatures { name: wanted.name, features: changed })
}

/// Whether two addresses with one key count as the same. A life time that runs down is still the
/// one that was asked for.
pub(crate) fn same_address(wanted: &Address, now: &Address) -> bool {
    let same_time = |wanted: Lifetime, now: Lifetime| match (wanted, now) {
        (Lifetime::Forever, Lifetime::Forever) => true,
        (Lifetime::Seconds(most), Lifetime::Seconds(left)) => left <= most,
        (Lifetime::Forever, Lifetime::Seconds(_)) | (Lifetime::Seconds(_), Lifetime::Forever) => false,
    };
    wanted.key() == now.key()
        && same_time(wanted.valid, now.valid)
        && same_time(wanted.preferred, now.preferred)
        && wanted.protocol == now.protocol
        && wanted.route_metric == now.route_metric
}

/// Addresses that must go: those not wanted, and IPv4 addresses of a subnet whose order is wrong,
/// because the first of a subnet is the one that the kernel uses as source.
pub(crate) fn surplus_addresses(wanted: &Link, now: &Link) -> Vec<Step> {
    let want: BTreeSet<_> = wanted.addresses.iter().map(Address::key).collect();
    let misplaced = misplaced_subnets(wanted, now);
    now.addresses
        .iter()
        .rev()
        .filter(|address| !want.contains(&address.key()) || misplaced.contains(&address.prefix()))
        .map(|&address| Step::RemoveAddress { name: now.name, address })
        .collect()
}

/// Addresses that must come, in order.
pub(crate) fn missing_addresses(wanted: &Link, now: &Link) -> Vec<Step> {
    wanted
        .addresses
        .iter()
        .filter(|address| !now.addresses.iter().any(|there| same_address(address, there)))
        .map(|&address| Step::AddAddress { name: now.name, address })
        .collect()
}

fn misplaced_subnets(wanted: &Link, now: &Link) -> BTreeSet<ipnet::IpNet> {
    let want: Vec<_> = wanted.addresses_of(Family::Ipv4).collect();
    let kept: Vec<_> =
        now.addresses_of(Family::Ipv4).filter(|address| want.iter().any(|w| w.key() == address.key())).collect();
    let mut wrong = BTreeSet::new();
    for address in &want {
        let order = |list: &[&Address]| -> Vec<_> {
            list.iter().filter(|a| a.prefix() == address.prefix()).map(|a| a.key()).collect()
        };
        let (target, current) = (order(&want), order(&kept));
        // Addresses that are still missing are added behind, so what is there must be a prefix.
        if !target.starts_with(&current) {
            wrong.insert(address.prefix());
        }
    }
    wrong
}
