//! One link as an entry of `interfaces`.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{
    Attr, Attrs, DesiredController, Link, LinkFacts, LinkKind, Observed, OperState, Presence, Route, Section, Value,
    VlanMembership,
};
use netloom_types::{Family, IfName, VlanId, VlanSet};

use crate::{
    document::{AddressItem, FdbItem, Interface, Ip, MirrorItem, Port, PortVlan, State, VlanEntry},
    raw::Raw,
    resolve::default_vlans,
    table,
};

/// A host with what many entries need to look up.
pub(crate) struct View<'a> {
    pub(crate) observed: &'a Observed,
    ports: BTreeMap<IfName, Vec<&'a Link>>,
    /// Links that routes lead out of.
    routed: BTreeSet<(IfName, Family)>,
}

impl<'a> View<'a> {
    pub(crate) fn new(observed: &'a Observed) -> Self {
        let mut ports: BTreeMap<IfName, Vec<&'a Link>> = BTreeMap::new();
        for link in observed.links.values() {
            if let Some(controller) = link.controller {
                ports.entry(controller).or_default().push(link);
            }
        }
        let hops = |route: &'a Route| route.next_hops.iter().filter_map(|hop| Some((hop.link?, route.family())));
        let routed = observed.routes.values().flat_map(hops).collect();
        Self { observed, ports, routed }
    }

    /// Whether a route of the family leads out of the link.
    pub(crate) fn is_routed(&self, name: IfName, family: Family) -> bool {
        self.routed.contains(&(name, family))
    }

    /// The link as an entry.
    pub(crate) fn interface(&self, link: &Link) -> Interface {
        interface(self, link)
    }
}

fn interface(view: &View<'_>, link: &Link) -> Interface {
    let observed = view.observed;
    let mut interface = Interface::new(link.name);
    interface.kind = Some(link.kind.clone());
    interface.state = Some(if link.up { State::Up } else { State::Down });
    interface.description = link.alias.as_ref().and_then(|a| a.description()).filter(|d| !d.is_empty()).map(Into::into);
    interface.alt_names = link.alt_names.iter().map(|name| (name.clone(), Presence::Present)).collect();
    interface.attrs = own_attrs(link);
    let controller = link.controller.filter(|name| observed.links.contains_key(name));
    interface.controller = controller.map_or(DesiredController::Keep, DesiredController::Of);
    interface.features = link.features.clone();
    interface.block = table::block_of(&link.kind).filter(|block| {
        let in_options =
            |a: Attr| matches!(a.section(), Section::BridgeOptions | Section::BridgeStp | Section::BondOptions);
        link.kind.is_controller()
            || interface.attrs.iter().any(|(a, _)| table::of_block(block).contains(&a) || in_options(a))
    });
    if link.kind.is_controller() {
        let ports = view.ports.get(&link.name).into_iter().flatten();
        interface.ports = Some(ports.map(|port| port_of(link, port)).collect());
    }
    let tagging = interface.ports.iter().flatten().any(|port| port.vlan.is_some() || port.vlans.is_some());
    if tagging && link.attrs.bool(Attr::BridgeVlanFiltering) == Some(false) {
        // Otherwise the ports' VLANs would switch it on.
        interface.attrs.require(Attr::BridgeVlanFiltering, Value::Bool(false));
    }
    if link.kind == LinkKind::Bridge && link.vlans != default_of(link) {
        interface.vlans = Some(vlan_entries(&link.vlans));
    }
    for family in [Family::Ipv4, Family::Ipv6] {
        *interface.ip_mut(family) = ip(view, link, family);
    }
    interface.fdb = link.fdb.iter().map(|(key, entry)| FdbItem { key: *key, entry: Some(*entry) }).collect();
    let ours = link.mirrors.iter().filter(|(_, mirror)| mirror.ours);
    interface.mirrors =
        ours.map(|(key, m)| MirrorItem { key: *key, mirror: Some((m.matches, m.action, m.to)) }).collect();
    if let Some(facts) = observed.facts.get(&link.name) {
        put_facts(&mut interface, facts);
    }
    interface
}

/// The properties that stand in the link's own entry; a bond's mode is given even when it is the default.
fn own_attrs(link: &Link) -> Attrs {
    let own = |attr: Attr| match attr.section() {
        Section::BridgePort | Section::BondPort => false,
        // `ipv6.enabled` says it.
        Section::SysctlIpv6 => attr != Attr::Ipv6Disabled,
        Section::Common
        | Section::Kind
        | Section::BridgeOptions
        | Section::BridgeStp
        | Section::BondOptions
        | Section::Ipv4
        | Section::Ipv6
        | Section::SysctlIpv4
        | Section::Ethernet
        | Section::Pause
        | Section::Ring => true,
    };
    let mut attrs: Attrs = link
        .attrs
        .iter()
        .filter(|(attr, value)| own(*attr) && attr.applies_to(&link.kind) && attr.accepts(value))
        .map(|(attr, value)| (attr, value.clone()))
        .collect();
    if link.kind == LinkKind::Bond
        && let Some(mode) = link.attrs.get(Attr::BondMode)
    {
        attrs.require(Attr::BondMode, mode);
    }
    attrs
}

fn put_facts(interface: &mut Interface, facts: &LinkFacts) {
    interface.facts.insert("ifIndex", facts.index.into());
    let status = match facts.oper {
        OperState::Unknown => return,
        OperState::Up => "up",
        OperState::Down | OperState::LowerLayerDown => "down",
        OperState::Dormant => "dormant",
    };
    interface.facts.insert("linkStatus", Raw::from(status));
}

fn default_of(bridge: &Link) -> VlanMembership {
    default_vlans(bridge.attrs.int(Attr::BridgeDefaultPvid).unwrap_or_default())
}

/// A port as an item of its controller's list.
fn port_of(controller: &Link, port: &Link) -> Port {
    let section = match controller.kind {
        LinkKind::Bridge => Some(Section::BridgePort),
        LinkKind::Bond => Some(Section::BondPort),
        _ => None,
    };
    let attrs = port.attrs.iter().filter(|(attr, _)| Some(attr.section()) == section);
    let mut item = Port { attrs: attrs.map(|(a, v)| (a, v.clone())).collect(), ..Port::new(port.name) };
    if controller.kind == LinkKind::Bridge && port.vlans != default_of(controller) {
        (item.vlan, item.vlans) = port_vlans(&port.vlans);
    }
    item
}

/// VLANs of a port as access or trunk; in our own general spelling when they are neither.
pub(crate) fn port_vlans(vlans: &VlanMembership) -> (Option<PortVlan>, Option<Vec<VlanEntry>>) {
    let native = vlans.pvid.filter(|pvid| vlans.untagged == VlanSet::from_iter([*pvid]));
    let plain = native.is_some() || (vlans.pvid.is_none() && vlans.untagged.is_empty());
    let tags = vlans.tagged.ranges().map(|range| (*range.start(), *range.end())).collect();
    let vlan = match (native, vlans.tagged.is_empty()) {
        (Some(tag), true) => PortVlan { trunk: Some(false), tag: Some(tag.get()), ..PortVlan::default() },
        (native, false) if plain => PortVlan {
            trunk: Some(true),
            tag: native.map(VlanId::get),
            enable_native: native.map(|_| true),
            trunk_tags: Some(tags),
        },
        _ => return (None, Some(vlan_entries(vlans))),
    };
    (Some(vlan), None)
}

/// VLANs in our own general spelling.
pub(crate) fn vlan_entries(vlans: &VlanMembership) -> Vec<VlanEntry> {
    let mut entries = Vec::new();
    for (set, untagged) in [(&vlans.tagged, false), (&vlans.untagged, true)] {
        let pvid = vlans.pvid.filter(|pvid| set.contains(*pvid));
        // The pvid stands alone, so that only one id carries the flag.
        let rest = pvid.map_or_else(|| set.clone(), |pvid| set.minus(&VlanSet::from_iter([pvid])));
        entries.extend(pvid.map(|id| VlanEntry { first: id, last: id, untagged, pvid: true }));
        entries.extend(rest.ranges().map(|r| VlanEntry { first: *r.start(), last: *r.end(), untagged, pvid: false }));
    }
    entries.sort_by_key(|entry| entry.first);
    entries
}

fn ip(view: &View<'_>, link: &Link, family: Family) -> Ip {
    /// Below this the kernel itself takes IPv6 off a link.
    const IPV6_MIN_MTU: u64 = 1280;
    let addresses: Vec<AddressItem> = link.addresses_of(family).map(|a| AddressItem::new(a.ip, a.prefix_len)).collect();
    let controller = link.controller.and_then(|name| view.observed.links.get(&name)).map(|c| &c.kind);
    let is_port = matches!(controller, Some(LinkKind::Bridge | LinkKind::Bond));
    let neighbors: Vec<_> = link.neighbours.iter().filter(|n| Family::of(n.ip) == family).copied().collect();
    let mut ip = Ip { neighbors: (!neighbors.is_empty()).then_some(neighbors), ..Ip::default() };
    if is_port && addresses.is_empty() {
        return ip;
    }
    let too_small = link.attrs.int(Attr::Mtu).is_some_and(|mtu| mtu < IPV6_MIN_MTU);
    let enabled = match family {
        // Routes over a link need no address on it.
        Family::Ipv4 => {
            let routed = view.is_routed(link.name, family);
            Some(!addresses.is_empty() || link.kind == LinkKind::Loopback || ip.neighbors.is_some() || routed)
        }
        Family::Ipv6 => {
            let disabled = link.attrs.bool(Attr::Ipv6Disabled) == Some(true);
            let unspecified = too_small || (disabled && link.kind == LinkKind::Loopback);
            (!unspecified).then_some(!disabled)
        }
    };
    ip.enabled = enabled;
    let metrics: Vec<u32> = link.addresses_of(family).map(|a| a.route_metric).collect();
    if enabled != Some(false) && !addresses.is_empty() {
        // One metric stands for all addresses of the family; different ones stay unspecified and are kept.
        let metric = metrics[0];
        ip.prefix_route_metric = (metric != 0 && metrics.iter().all(|m| *m == metric)).then_some(metric);
        ip.addresses = Some(addresses);
    }
    ip
}
