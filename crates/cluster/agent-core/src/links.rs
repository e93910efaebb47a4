//! What a node lists of itself for the whole cluster: its links and routes, as `NodeNetworkStatus` has them.
//!
//! The report in the node's network state says everything about one host. This says of every host what somebody looks
//! for across hosts, in few fields. Left out is what comes and goes by itself: links of pods and the routes over them,
//! routes of routing daemons, and what the kernel makes for its own use. What would not fit into an object is left out
//! too, virtual links first, and the condition `Ready` says how much that is. Equal hosts have equal lists.

use std::{collections::BTreeSet, net::IpAddr};

use jiff::Timestamp;
use netloom_api::{
    condition::{Conditions, Observation},
    fabric::text::{InterfaceAddress, Ip},
    pipeline::node_network_status::{NodeInterface, NodeNetworkStatusStatus, NodeRoute},
};
use netloom_model::{Attr, Link, LinkKind, Observed, OperState, Route, RouteType};
use netloom_nmstate::ReportOptions;
use netloom_types::{IfName, Protocol, RouteTable};
use serde::Serialize;

use crate::{Heard, condition::seen, sessions};

/// The most bytes of links, and of routes: together half of what a server takes in one request.
const MOST: (usize, usize) = (512 * 1024, 128 * 1024);

/// The most bytes of sessions, and of VNIs: as much again as for routes, for both.
const MOST_OF_DAEMONS: usize = 64 * 1024;

/// Whoever makes routes that stay; all others are daemons, whose routes come and go.
const LASTING: [Protocol; 7] = [
    Protocol::UNSPEC,
    Protocol::KERNEL,
    Protocol::BOOT,
    Protocol::STATIC,
    Protocol::RA,
    Protocol::DHCP,
    Protocol::NETLOOM,
];

/// The list of a host, without the time of the report. The links that the desired state names are in it whatever they are
/// called.
pub(crate) fn list(
    now: Timestamp,
    observed: &Observed,
    heard: &Heard,
    named: BTreeSet<IfName>,
) -> NodeNetworkStatusStatus {
    let options = ReportOptions { keep: named, ..ReportOptions::default() };
    let of_pods = netloom_nmstate::container_links(observed, heard, &options);
    let mut links: Vec<&Link> = observed.links.values().filter(|link| !of_pods.contains(&link.name)).collect();
    links.sort_by_key(|link| (link.kind.is_virtual(), link.name));
    let (mut interfaces, cut_links) = fitting(links.into_iter().map(|link| interface(observed, link)), MOST.0);
    interfaces.sort_by(|one, other| one.name.cmp(&other.name));
    let (routes, cut_routes) = fitting(routes(observed, &of_pods).into_iter(), MOST.1);
    let (sessions, cut_sessions) = fitting(sessions::sessions(now, observed).into_iter(), MOST_OF_DAEMONS);
    let (vnis, cut_vnis) = fitting(sessions::vnis(observed).into_iter(), MOST_OF_DAEMONS);
    let conditions = Conditions(vec![ready(cut_links, cut_routes, cut_sessions + cut_vnis).at(
        Timestamp::UNIX_EPOCH,
        None,
        &Conditions::default(),
    )]);
    NodeNetworkStatusStatus { interfaces, routes, libvirt: None, sessions, vnis, last_updated: None, conditions }
}

/// What the condition says.
fn ready(links: usize, routes: usize, of_daemons: usize) -> Observation {
    if links + routes + of_daemons == 0 {
        return seen("Ready", true, "Reported", "everything is listed");
    }
    let message = format!(
        "there is no room for {links} interfaces, {routes} routes and {of_daemons} sessions and VNIs; `netloom state show` \
         and the routing daemons on the node show them all"
    );
    seen("Ready", false, "Shortened", message)
}

/// As many as fit, and how many do not.
fn fitting<T: Serialize>(all: impl Iterator<Item = T>, most: usize) -> (Vec<T>, usize) {
    let (mut kept, mut cut, mut left) = (Vec::new(), 0, most);
    for one in all {
        // A comma belongs to each.
        let bytes = serde_json::to_string(&one).map_or(usize::MAX, |text| text.len().saturating_add(1));
        match left.checked_sub(bytes) {
            Some(rest) => {
                left = rest;
                kept.push(one);
            }
            None => cut += 1,
        }
    }
    (kept, cut)
}

fn interface(observed: &Observed, link: &Link) -> NodeInterface {
    let facts = observed.facts.get(&link.name);
    let number = |attr| link.attrs.int(attr);
    let members = observed.ports_of(link.name).filter(|_| link.kind == LinkKind::Bond);
    NodeInterface {
        name: link.name.to_string(),
        index: facts.map(|facts| facts.index),
        controller: link.controller.map(|name| name.to_string()),
        promiscuous: link.attrs.bool(Attr::Promiscuous) == Some(true),
        mac: link.attrs.mac(Attr::Mac).map(|mac| mac.to_string()),
        mtu: number(Attr::Mtu).and_then(|mtu| u32::try_from(mtu).ok()),
        state: word(facts.map(|facts| facts.oper).unwrap_or_default()).to_owned(),
        kind: Some(link.kind.name().to_owned()),
        members: members.map(|port| port.name.to_string()).collect(),
        parent: link.base().filter(|_| link.kind == LinkKind::Vlan).map(|base| base.to_string()),
        vlan_id: number(Attr::VlanId).and_then(|id| u16::try_from(id).ok()),
        made_by: link.is_ours().then(|| "netloom".to_owned()),
        addresses: link
            .addresses
            .iter()
            .map(|address| InterfaceAddress(format!("{}/{}", address.ip, address.prefix_len)))
            .collect(),
    }
}

/// The kernel's word.
fn word(state: OperState) -> &'static str {
    match state {
        OperState::Unknown => "unknown",
        OperState::Up => "up",
        OperState::Down => "down",
        OperState::LowerLayerDown => "lowerlayerdown",
        OperState::Dormant => "dormant",
    }
}

/// One entry for each way onward, sorted.
fn routes(observed: &Observed, of_pods: &BTreeSet<IfName>) -> Vec<NodeRoute> {
    let mut all: Vec<&Route> = observed.routes.values().chain(&observed.derived_routes).collect();
    all.retain(|route| is_worth_telling(route));
    all.sort();
    all.dedup();
    let entries = |route: &&Route| {
        let destination = InterfaceAddress(route.destination.to_string());
        let table = Some(table(route.table));
        let hop = |hop: &netloom_model::NextHop| {
            let link = hop.link.filter(|link| !of_pods.contains(link))?;
            Some(NodeRoute {
                destination: destination.clone(),
                gateway: hop.via.map(|via| Ip(via.to_string())),
                interface: link.to_string(),
                table: table.clone(),
            })
        };
        route.next_hops.iter().filter_map(hop).collect::<Vec<_>>()
    };
    all.iter().flat_map(entries).collect()
}

fn is_worth_telling(route: &Route) -> bool {
    let kept_by_kernel = match route.destination.addr() {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_multicast() || ip.is_broadcast() || ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.is_multicast() || ip.is_loopback(),
    };
    let stays = LASTING.contains(&route.protocol) && route.table != RouteTable::LOCAL;
    stays && route.kind == RouteType::Unicast && !kept_by_kernel
}

fn table(table: RouteTable) -> String {
    if table == RouteTable::MAIN { "main".to_owned() } else { table.to_string() }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Alias, LinkFacts, NextHop, RouteExtra, RouteMetrics, Value};

    use super::*;

    fn name(text: &str) -> IfName {
        text.parse().unwrap()
    }

    fn add<'a>(observed: &'a mut Observed, link: &str, kind: LinkKind) -> &'a mut Link {
        let index = u32::try_from(observed.links.len()).unwrap() + 1;
        let facts = LinkFacts { index, oper: OperState::LowerLayerDown, ..LinkFacts::default() };
        observed.facts.insert(name(link), facts);
        observed.host.links.entry(name(link)).or_insert_with(|| Link::new(name(link), kind))
    }

    fn route(destination: &str, link: &str, protocol: Protocol) -> Route {
        let via = (destination == "0.0.0.0/0").then(|| "192.0.2.1".parse().unwrap());
        Route {
            table: RouteTable::MAIN,
            destination: destination.parse().unwrap(),
            metric: 0,
            kind: RouteType::Unicast,
            next_hops: vec![NextHop { via, link: Some(name(link)), weight: 1, onlink: false }],
            source: None,
            protocol,
            metrics: RouteMetrics::default(),
            extra: RouteExtra::default(),
        }
    }

    fn listed(observed: &Observed) -> NodeNetworkStatusStatus {
        list(Timestamp::UNIX_EPOCH, observed, &Heard::new(), BTreeSet::new())
    }

    #[test]
    fn links_say_what_they_are_made_of_and_stand_on() {
        let mut observed = Observed::default();
        add(&mut observed, "bond0", LinkKind::Bond);
        add(&mut observed, "eth0", LinkKind::Ethernet).controller = Some(name("bond0"));
        let vlan = add(&mut observed, "bond0.7", LinkKind::Vlan);
        vlan.attrs.set(Attr::Base, Value::Link(name("bond0")));
        vlan.attrs.set(Attr::VlanId, Value::Int(7));
        vlan.alias = Some(Alias::ours([&"HostNetworkConfig storage".into()], None));
        let all = listed(&observed).interfaces;
        let [bond, vlan, card] = &all[..] else { panic!("{all:?}") };
        assert_eq!((bond.members.as_slice(), bond.state.as_str()), (["eth0".to_owned()].as_slice(), "lowerlayerdown"));
        assert_eq!((vlan.parent.as_deref(), vlan.vlan_id, vlan.index), (Some("bond0"), Some(7), Some(3)));
        assert_eq!((card.controller.as_deref(), card.kind.as_deref()), (Some("bond0"), Some("ethernet")));
        assert_eq!((vlan.made_by.as_deref(), bond.made_by.as_deref()), (Some("netloom"), None));
    }

    #[test]
    fn what_comes_and_goes_by_itself_is_left_out() {
        let mut observed = Observed::default();
        for (link, kind) in [("eth0", LinkKind::Ethernet), ("vethab12cd3", LinkKind::Veth)] {
            add(&mut observed, link, kind);
        }
        observed.facts.get_mut(&name("vethab12cd3")).unwrap().elsewhere = true;
        observed.derived_routes = vec![
            route("192.0.2.0/24", "eth0", Protocol::KERNEL),
            route("10.0.0.7/32", "vethab12cd3", Protocol::KERNEL),
            route("198.51.100.0/24", "eth0", Protocol(186)),
            route("169.254.0.0/16", "eth0", Protocol::KERNEL),
            route("fe80::/64", "eth0", Protocol::KERNEL),
            Route { table: RouteTable::LOCAL, ..route("192.0.2.9/32", "eth0", Protocol::KERNEL) },
        ];
        let default = route("0.0.0.0/0", "eth0", Protocol::STATIC);
        observed.host.routes.insert(default.key(), default);
        let list = listed(&observed);
        assert_eq!(list.interfaces.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["eth0"]);
        let one = |route: &NodeRoute| (route.destination.0.clone(), route.gateway.clone().map(|ip| ip.0));
        let routes: Vec<_> = list.routes.iter().map(one).collect();
        let gateway = Some("192.0.2.1".to_owned());
        assert_eq!(routes, [("0.0.0.0/0".to_owned(), gateway), ("192.0.2.0/24".to_owned(), None)]);
        assert_eq!(list.routes[0].table.as_deref(), Some("main"));
    }

    #[test]
    fn what_does_not_fit_is_counted_and_cards_stay() {
        let mut observed = Observed::default();
        for number in 0..10_000 {
            add(&mut observed, &format!("a{number}"), LinkKind::Dummy);
        }
        add(&mut observed, "zz0", LinkKind::Ethernet);
        let list = listed(&observed);
        assert!(serde_json::to_string(&list).unwrap().len() < MOST.0 + MOST.1 + 2 * MOST_OF_DAEMONS);
        assert!(list.interfaces.iter().any(|one| one.name == "zz0"), "a card is the last to go");
        let left = 10_001 - list.interfaces.len();
        let ready = &list.conditions.0[0];
        assert_eq!(ready.reason, "Shortened");
        assert!(left > 0 && ready.message.contains(&format!("no room for {left} interfaces")), "{}", ready.message);
        assert_eq!(listed(&observed), list, "equal hosts have equal lists");
    }
}
