//! Routes and rules as entries of a document.

use netloom_model::{NextHop, Route, RouteMetrics, RouteType, RuleAction, RuleKey};
use netloom_types::{Protocol, RouteTable};

use crate::document::{RouteEntry, RuleEntry, RulePrefix};

/// A route as entries: one for each next hop. Reports also say who made it.
pub(crate) fn route_entries(route: &Route, running: bool) -> Vec<RouteEntry> {
    let Route { table, destination, metric, kind, next_hops, source, protocol, metrics, extra: _ } = route;
    let RouteMetrics { mtu, lock_mtu, advmss, cwnd, initcwnd, initrwnd, quickack } = *metrics;
    let some = |number: u32| Some(number).filter(|n| *n != 0);
    let entry = RouteEntry {
        destination: Some(*destination),
        metric: Some(*metric).filter(|m| *m != Route::default_metric(route.family())),
        table_id: Some(table.get()).filter(|_| *table != RouteTable::MAIN),
        route_type: Some(*kind).filter(|kind| *kind != RouteType::Unicast),
        source: *source,
        mtu: some(mtu),
        lock_mtu: lock_mtu.then_some(true),
        advmss: some(advmss),
        cwnd: some(cwnd),
        initcwnd: some(initcwnd),
        initrwnd: some(initrwnd),
        quickack: quickack.then_some(true),
        protocol: running.then_some(*protocol),
        ..RouteEntry::default()
    };
    let hop_entry = |hop: &NextHop| RouteEntry {
        next_hop_interface: hop.link,
        next_hop_address: hop.via,
        on_link: hop.onlink.then_some(true),
        weight: (next_hops.len() > 1).then_some(hop.weight),
        ..entry.clone()
    };
    if next_hops.is_empty() { vec![entry] } else { next_hops.iter().map(hop_entry).collect() }
}

/// A rule as an entry; who made it is given when that is somebody else.
pub(crate) fn rule_entry(key: &RuleKey, protocol: Protocol) -> RuleEntry {
    let mut entry = RuleEntry {
        family: (key.from.is_none() && key.to.is_none()).then_some(key.family),
        from: prefix(key.from),
        to: prefix(key.to),
        priority: Some(key.priority),
        invert: key.invert.then_some(true),
        iif: key.iif,
        oif: key.oif,
        fwmark: (key.fwmark != 0 || key.fwmask != 0).then_some(key.fwmark),
        fwmask: (key.fwmask != 0 && (key.fwmask != u32::MAX || key.fwmark == 0)).then_some(key.fwmask),
        tos: Some(key.tos).filter(|tos| *tos != 0),
        ip_proto: key.ip_proto,
        sport: key.sport,
        dport: key.dport,
        uid: key.uid,
        tun_id: Some(key.tun_id).filter(|id| *id != 0),
        suppress_prefix_length: key.suppress_prefix_length,
        suppress_group: key.suppress_group,
        protocol: Some(protocol).filter(|p| *p != Protocol::NETLOOM),
        ..RuleEntry::default()
    };
    match key.action {
        RuleAction::Table(table) => entry.table = Some(table.get()),
        RuleAction::L3mdev => entry.l3mdev = Some(true),
        RuleAction::L3mdevUnreachable => {
            (entry.l3mdev, entry.action) = (Some(true), Some(RuleAction::Unreachable));
        }
        RuleAction::Goto(target) => entry.goto = Some(target),
        RuleAction::Nop => entry.nop = Some(true),
        RuleAction::Blackhole | RuleAction::Unreachable | RuleAction::Prohibit => entry.action = Some(key.action),
    }
    entry
}

fn prefix(net: Option<ipnet::IpNet>) -> RulePrefix {
    net.map_or(RulePrefix::Unspecified, RulePrefix::Net)
}
