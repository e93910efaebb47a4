//! One aspect of one link at a time: from two values to the steps between them.
//!
//! Each function takes what a link shall have and what it has, and returns steps in a valid order
//! for that aspect alone. Order between aspects and between links is the business of the callers:
//! [`crate::converge`] towards a goal, [`crate::restore`] back to what was.

use std::{collections::BTreeSet, net::IpAddr};

use netloom_model::{Address, Attr, Attrs, Change, KernelFeatures, Link, LinkKind, Section, Step, Value};
use netloom_types::{Family, VlanSet};

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

/// The earliest moment at which a property of a link of this kind can be set.
pub(crate) fn moment(kind: &LinkKind, attr: Attr) -> Moment {
    match attr {
        // An MTU that a bridge is made with follows its ports all the same; one that is set does not.
        Attr::Mtu if *kind == LinkKind::Bridge => Moment::Existing,
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
        // Many drivers refuse another hardware address while the card is up.
        Attr::Mac if *kind == LinkKind::Ethernet => Change::Down,
        _ => attr.change(),
    }
}

/// The parts of `wanted` that `now` does not fulfil.
pub(crate) fn unmet(wanted: &Link, now: &Link) -> Attrs {
    let mut unmet = wanted.attrs.unmet_by(&now.attrs);
    if wanted.kind == LinkKind::Bond {
        let mode = if wanted.attrs.given(Attr::BondMode).is_some() { &wanted.attrs } else { &now.attrs }.bond_mode();
        // The default of an option that the mode does not have is not a request; another value is, and
        // the kernel has the word on it.
        let idle = |attr: Attr, value: &Value| {
            !attr.in_bond_mode(mode) && attr.default_value().as_ref().is_none_or(|d| d == value)
        };
        unmet = unmet.iter().filter(|(attr, value)| !idle(*attr, value)).map(|(a, v)| (a, v.clone())).collect();
    }
    unmet
}

/// Whether the link must be recreated to become `wanted`.
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
    if attrs.given(Attr::BridgeDefaultPvid).is_none() || !filters {
        return vec![step(attrs)];
    }
    let filtering = attrs.get(Attr::BridgeVlanFiltering).filter(|_| attrs.given(Attr::BridgeVlanFiltering).is_some());
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

/// Whether an address that is there is the wanted one, the mark of who put it there included where the kernel keeps it.
pub(crate) fn same_address(kernel: KernelFeatures, wanted: &Address, now: &Address) -> bool {
    now.fulfils(wanted) && kernel.kept(*wanted).protocol == kernel.kept(*now).protocol
}

/// The addresses that the kernel keeps in an order of their own: IPv4 addresses of one subnet, the
/// first being the one that is used as source, and IPv6 addresses of one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Subnet(ipnet::IpNet),
    Scope { link_local: bool },
}

impl Row {
    fn of(address: &Address) -> Self {
        match address.ip {
            IpAddr::V4(_) => Self::Subnet(address.prefix()),
            // ::1 counts as link-local when the kernel sorts.
            IpAddr::V6(ip) => Self::Scope { link_local: ip.is_unicast_link_local() || ip.is_loopback() },
        }
    }
}

/// Addresses that must go: those not wanted, and whole rows that stand in the wrong order.
pub(crate) fn surplus_addresses(wanted: &Link, now: &Link) -> Vec<Step> {
    let want: BTreeSet<_> = wanted.addresses.iter().map(Address::key).collect();
    let misplaced = misplaced_rows(wanted, now);
    now.addresses
        .iter()
        .rev()
        .filter(|address| !want.contains(&address.key()) || misplaced.contains(&Row::of(address)))
        .map(|&address| Step::RemoveAddress { name: now.name, address })
        .collect()
}

/// Addresses that must come. The kernel puts a new IPv4 address last and a new IPv6 address first.
pub(crate) fn missing_addresses(kernel: KernelFeatures, wanted: &Link, now: &Link) -> Vec<Step> {
    let missing = |address: &&Address| !now.addresses.iter().any(|there| same_address(kernel, address, there));
    let v4 = wanted.addresses_of(Family::Ipv4).filter(missing);
    let v6: Vec<_> = wanted.addresses_of(Family::Ipv6).filter(missing).collect();
    v4.chain(v6.into_iter().rev()).map(|&address| Step::AddAddress { name: now.name, address }).collect()
}

/// Both, where no simulation says what a removal takes with it: an IPv4 address that goes takes the
/// later ones of its subnet along.
pub(crate) fn addresses(kernel: KernelFeatures, wanted: &Link, now: &Link) -> Vec<Step> {
    let mut steps = surplus_addresses(wanted, now);
    let mut left = Link::new(now.name, now.kind.clone());
    left.addresses.clone_from(&now.addresses);
    for step in &steps {
        let Step::RemoveAddress { address, .. } = step else { continue };
        let first = left.addresses.iter().find(|a| Row::of(a) == Row::of(address)).map(Address::key);
        let takes_all = address.ip.is_ipv4() && first == Some(address.key());
        left.addresses.retain(|a| a.key() != address.key() && !(takes_all && Row::of(a) == Row::of(address)));
    }
    steps.extend(missing_addresses(kernel, wanted, &left));
    steps
}

/// Rows whose addresses could not come into order by adding the missing ones.
fn misplaced_rows(wanted: &Link, now: &Link) -> BTreeSet<Row> {
    let want: BTreeSet<_> = wanted.addresses.iter().map(Address::key).collect();
    let keys = |list: &[Address], row: Row| -> Vec<_> {
        list.iter().filter(|a| Row::of(a) == row && want.contains(&a.key())).map(Address::key).collect()
    };
    let rows: BTreeSet<Row> = wanted.addresses.iter().map(Row::of).collect();
    rows.into_iter()
        .filter(|&row| {
            let (target, there) = (keys(&wanted.addresses, row), keys(&now.addresses, row));
            match row {
                Row::Subnet(_) => !target.starts_with(&there),
                Row::Scope { .. } => !target.ends_with(&there),
            }
        })
        .collect()
}
