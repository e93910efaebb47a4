//! What `NodeNetworkConfig.spec.host` says, as the entries that a document has too.
//!
//! Nodes carry it out beside their desired state, and policies are compared to it before: both must read it in the same way.
//! The fields of the API are text that its schema has checked; here they become values.

use std::{fmt::Display, net::IpAddr, str::FromStr};

use netloom_api::pipeline::node_network_config::host::{
    HostAddress, HostDhcp, HostLink, HostLinkKind, HostRoute, HostRule, IpFamily,
};
use netloom_model::{Attr, DesiredController, DesiredDhcp, LinkKind, Presence, RouteType, Value};
use netloom_nmstate::{Interface, RouteEntry, RuleEntry, RulePrefix, State};
use netloom_types::{Family, IpNet};

/// The entry of a link, or what is wrong with it.
pub fn interface(link: &HostLink) -> Result<Interface, String> {
    let HostLink {
        name,
        kind,
        up,
        mtu,
        tx_queue_length,
        alt_names,
        mac_address,
        controller,
        base,
        vlan_id,
        vxlan,
        table,
        bond_mode,
        options,
        vlan_filtering,
        origin: _,
    } = link;
    let name = value(&name.0)?;
    let mut entry = kind_of(*kind).map_or_else(|| Interface::new(name), |kind| Interface::of_kind(name, kind));
    entry.state = Some(if *up { State::Up } else { State::Down });
    for alt in alt_names {
        entry.alt_names.insert(value(alt)?, Presence::Present);
    }
    if let Some(controller) = controller {
        entry.controller = DesiredController::Of(value(&controller.0)?);
    }
    let vxlan = vxlan.as_ref();
    let numbers = [
        (Attr::Mtu, *mtu),
        (Attr::TxQueueLength, *tx_queue_length),
        (Attr::VlanId, vlan_id.map(u32::from)),
        (Attr::VrfTable, *table),
        (Attr::VxlanId, vxlan.map(|vxlan| vxlan.vni)),
        (Attr::VxlanPort, vxlan.and_then(|vxlan| vxlan.port).map(u32::from)),
    ];
    let switches =
        [(Attr::VxlanLearning, vxlan.and_then(|vxlan| vxlan.learning)), (Attr::BridgeVlanFiltering, *vlan_filtering)];
    let texts = [
        (Attr::Mac, mac_address.as_ref().map(|mac| &mac.0)),
        (Attr::Base, base.as_ref().map(|base| &base.0)),
        (Attr::VxlanLocal, vxlan.and_then(|vxlan| vxlan.local.as_ref()).map(|ip| &ip.0)),
        (Attr::VxlanRemote, vxlan.and_then(|vxlan| vxlan.remote.as_ref()).map(|ip| &ip.0)),
        (Attr::BondMode, bond_mode.as_ref()),
    ];
    let numbers = numbers.map(|(attr, number)| (attr, number.map(|number| Value::Int(number.into()))));
    let switches = switches.map(|(attr, on)| (attr, on.map(Value::Bool)));
    for (attr, value) in numbers.into_iter().chain(switches) {
        if let Some(value) = value {
            entry.attrs.require(attr, value);
        }
    }
    for (attr, text) in texts {
        text.map_or(Ok(()), |text| entry.say(attr, text))?;
    }
    options.iter().try_for_each(|(option, text)| entry.say_option(option, text))?;
    Ok(entry)
}

fn kind_of(kind: HostLinkKind) -> Option<LinkKind> {
    Some(match kind {
        HostLinkKind::Existing => return None,
        HostLinkKind::Bond => LinkKind::Bond,
        HostLinkKind::Bridge => LinkKind::Bridge,
        HostLinkKind::Vlan => LinkKind::Vlan,
        HostLinkKind::Vxlan => LinkKind::Vxlan,
        HostLinkKind::Vrf => LinkKind::Vrf,
        HostLinkKind::Dummy => LinkKind::Dummy,
    })
}

/// Adds an address; gives its path in the entry.
pub fn add_address(interface: &mut Interface, address: &HostAddress) -> Result<String, String> {
    let net: IpNet = value(&address.address.0)?;
    Ok(interface.add_address(net.addr(), net.prefix_len()))
}

/// Adds the request for a lease; gives its path in the entry.
pub fn add_lease(interface: &mut Interface, lease: &HostDhcp) -> String {
    let HostDhcp { link: _, family, table, metric, routes, gateway, origin: _ } = lease;
    let desired = DesiredDhcp {
        enabled: true,
        route_table: *table,
        route_metric: *metric,
        auto_routes: *routes,
        auto_gateway: *gateway,
        ..DesiredDhcp::default()
    };
    interface.ask_for_lease(family_of(*family), desired)
}

fn family_of(family: IpFamily) -> Family {
    match family {
        IpFamily::Ipv4 => Family::Ipv4,
        IpFamily::Ipv6 => Family::Ipv6,
    }
}

/// The entry of a route, or what is wrong with it.
pub fn route(route: &HostRoute) -> Result<RouteEntry, String> {
    let HostRoute { destination, gateway, link, table, metric, source, origin: _ } = route;
    let ip = |ip: &netloom_api::fabric::text::Ip| value::<IpAddr>(&ip.0);
    let mut entry = RouteEntry::default();
    entry.destination = Some(value(&destination.0)?);
    entry.next_hop_address = gateway.as_ref().map(ip).transpose()?;
    entry.next_hop_interface = link.as_ref().map(|link| value(&link.0)).transpose()?;
    entry.route_type = (gateway.is_none() && link.is_none()).then_some(RouteType::Blackhole);
    entry.table_id = *table;
    entry.metric = *metric;
    entry.source = source.as_ref().map(ip).transpose()?;
    Ok(entry)
}

/// The entry of a rule, or what is wrong with it.
pub fn rule(rule: &HostRule) -> Result<RuleEntry, String> {
    let HostRule { family, priority, from, to, iif, mark, table, origin: _ } = rule;
    let net = |net: &Option<netloom_api::fabric::text::Cidr>| {
        net.as_ref().map_or(Ok(RulePrefix::Unspecified), |net| value(&net.0).map(RulePrefix::Net))
    };
    let mut entry = RuleEntry::default();
    entry.family = Some(family_of(*family));
    entry.priority = Some(*priority);
    entry.from = net(from)?;
    entry.to = net(to)?;
    entry.iif = iif.as_ref().map(|link| value(&link.0)).transpose()?;
    entry.fwmark = *mark;
    entry.table = Some(*table);
    Ok(entry)
}

fn value<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}
