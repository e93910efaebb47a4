//! What no lease of a link may touch: the networks that the node is reached and managed through over other links. A
//! server that gives out an address of those would cut the node off.
//!
//! Where the API is may be unknown, or be this machine itself. So the network of the best default route counts as well,
//! and what is on the installer's bridge: a node is managed from there whatever is known of the API.

use std::{collections::BTreeSet, net::IpAddr};

use netloom_api::hostnet::{MGMT, names};
use netloom_model::{Address, Link, Observed, Route, RouteType};
use netloom_types::{IfName, IpNet, Ipv4Net, RouteTable};

/// What no lease of a link may touch, on a node that must reach these addresses.
pub fn guarded(link: IfName, observed: &Observed, reached: &[IpAddr]) -> Vec<Ipv4Net> {
    let mut nets = BTreeSet::new();
    for ip in reached {
        let over = ways(*ip, observed);
        if !over.is_empty() && !over.contains(&link) {
            nets.insert(IpNet::from(*ip));
        }
        nets.extend(of_others(link, &over, observed));
    }
    nets.extend(of_others(link, &defaults(observed), observed));
    let managing = observed.links.values().filter(|other| manages(other)).map(|other| other.name).collect();
    nets.extend(of_others(link, &managing, observed));
    let v4 = nets.into_iter().filter_map(|net| match net {
        IpNet::V4(net) => Some(net),
        IpNet::V6(_) => None,
    });
    v4.collect()
}

/// The networks of these links but for the one that asks.
fn of_others(link: IfName, over: &BTreeSet<IfName>, observed: &Observed) -> Vec<IpNet> {
    let others = over.iter().filter(|over| **over != link).filter_map(|over| observed.links.get(over));
    others.flat_map(|other| other.addresses.iter().map(Address::prefix)).collect()
}

/// The links over which an address is reached: those of the longest prefix, and of equal ones those of the best metric.
fn ways(ip: IpAddr, observed: &Observed) -> BTreeSet<IfName> {
    let own = observed.links.values().flat_map(|other| {
        let near = other.addresses.iter().filter(move |address| address.prefix().contains(&ip));
        near.map(|address| (address.prefix_len, 0, vec![other.name]))
    });
    let routes = routes(observed).filter(|route| route.destination.contains(&ip));
    best(own.chain(routes.map(|route| (route.destination.prefix_len(), route.metric, out(route)))))
}

/// The links of the best way to everywhere.
fn defaults(observed: &Observed) -> BTreeSet<IfName> {
    let everywhere = IpNet::V4(Ipv4Net::default());
    let routes = routes(observed).filter(|route| route.destination == everywhere);
    best(routes.map(|route| (0, route.metric, out(route))))
}

/// Of ways with their prefix length and metric, the links of the best.
fn best(ways: impl Iterator<Item = (u8, u32, Vec<IfName>)>) -> BTreeSet<IfName> {
    let mut first = None;
    let mut links = BTreeSet::new();
    for (length, metric, over) in ways {
        let rank = (std::cmp::Reverse(length), metric);
        if first.is_none_or(|first| rank < first) {
            links.clear();
            first = Some(rank);
        }
        if first == Some(rank) {
            links.extend(over);
        }
    }
    links
}

/// The routes that packets of the node take, whoever made them: the client of the installer too.
fn routes(observed: &Observed) -> impl Iterator<Item = &Route> {
    let all = observed.routes.values().chain(&observed.derived_routes);
    all.filter(|route| route.table == RouteTable::MAIN && route.kind == RouteType::Unicast)
}

fn out(route: &Route) -> Vec<IfName> {
    route.next_hops.iter().filter_map(|hop| hop.link).collect()
}

/// Whether a node is managed over a link: over the installer's bridge, and over VLANs on it that are not ours, whatever
/// they are called.
fn manages(link: &Link) -> bool {
    let bridge = names::bridge(MGMT);
    let is_bridge = |name: IfName| name.as_str() == bridge;
    is_bridge(link.name) || (link.base().is_some_and(is_bridge) && !link.is_ours())
}

#[cfg(test)]
mod tests {
    use netloom_model::{Alias, Attr, LinkKind, NextHop, RouteExtra, RouteMetrics, Value};
    use netloom_types::Protocol;

    use super::*;

    const VLAN: &str = "br.2012";

    fn name(link: &str) -> IfName {
        link.parse().unwrap()
    }

    /// A host with these links, each with an address.
    fn host(links: &[(&str, &str)]) -> Observed {
        let mut observed = Observed::default();
        for (link, address) in links {
            let mut made = Link::new(name(link), LinkKind::Bridge);
            let net: IpNet = address.parse().unwrap();
            made.addresses.push(Address::new(net.addr(), net.prefix_len(), Protocol::UNSPEC));
            observed.host.links.insert(made.name, made);
        }
        observed
    }

    fn default(over: &[&str], metric: u32) -> Route {
        let hop = |link: &&str| NextHop { via: None, link: Some(name(link)), weight: 1, onlink: false };
        Route {
            table: RouteTable::MAIN,
            destination: IpNet::V4(Ipv4Net::default()),
            metric,
            kind: RouteType::Unicast,
            next_hops: over.iter().map(hop).collect(),
            source: None,
            protocol: Protocol::BOOT,
            metrics: RouteMetrics::default(),
            extra: RouteExtra::default(),
        }
    }

    fn routed(mut observed: Observed, routes: &[Route]) -> Observed {
        observed.host.routes.extend(routes.iter().map(|route| (route.key(), route.clone())));
        observed
    }

    fn guards(link: &str, observed: &Observed, api: &[&str]) -> Vec<String> {
        let api: Vec<IpAddr> = api.iter().map(|ip| ip.parse().unwrap()).collect();
        guarded(name(link), observed, &api).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_the_node_is_reached_by_is_guarded_on_other_links_only() {
        let observed = host(&[("eth0", "10.0.0.5/24"), (VLAN, "192.0.2.9/24")]);
        assert_eq!(guards(VLAN, &observed, &["10.0.0.1"]), ["10.0.0.0/24", "10.0.0.1/32"]);
        assert_eq!(guards("eth0", &observed, &["10.0.0.1"]), Vec::<String>::new());
    }

    #[test]
    fn a_worse_default_route_over_the_link_changes_nothing() {
        let links = host(&[("eth0", "10.0.0.5/24"), (VLAN, "192.0.2.9/24")]);
        let observed = routed(links, &[default(&["eth0"], 100), default(&[VLAN], 1024)]);
        assert_eq!(guards(VLAN, &observed, &["203.0.113.1"]), ["10.0.0.0/24", "203.0.113.1/32"]);
        assert_eq!(guards("eth0", &observed, &["203.0.113.1"]), Vec::<String>::new());
    }

    #[test]
    fn the_default_route_counts_whatever_is_known_of_the_api_and_whoever_made_it() {
        let links = || host(&[("eth0", "10.0.0.5/24"), ("lo", "127.0.0.1/8"), (VLAN, "192.0.2.9/24")]);
        let observed = routed(links(), &[default(&["eth0"], 0)]);
        assert_eq!(guards(VLAN, &observed, &[]), ["10.0.0.0/24"], "its name cannot be looked up");
        assert_eq!(guards(VLAN, &observed, &["127.0.0.1"]), ["10.0.0.0/24", "127.0.0.0/8", "127.0.0.1/32"]);
        assert_eq!(guards(VLAN, &observed, &["2001:db8::1"]), ["10.0.0.0/24"]);
        let by_a_client = Route { protocol: Protocol::DHCP, ..default(&["eth0"], 100) };
        let observed = Observed { derived_routes: vec![by_a_client], ..links() };
        assert_eq!(guards(VLAN, &observed, &["203.0.113.1"]), ["10.0.0.0/24", "203.0.113.1/32"]);
    }

    #[test]
    fn all_links_of_the_best_way_count_but_the_one_that_asks() {
        let links = host(&[("eth0", "10.0.0.5/24"), ("eth1", "10.0.1.5/24"), (VLAN, "192.0.2.9/24")]);
        let observed = routed(links, &[default(&["eth0", "eth1"], 0)]);
        assert_eq!(guards(VLAN, &observed, &["203.0.113.1"]), ["10.0.0.0/24", "10.0.1.0/24", "203.0.113.1/32"]);
        assert_eq!(guards("eth0", &observed, &["203.0.113.1"]), ["10.0.1.0/24"]);
    }

    #[test]
    fn the_installers_bridge_and_its_vlans_are_guarded_without_any_route() {
        let mut observed = host(&[("mgmt-br", "10.0.0.5/24"), ("vlan7", "10.0.7.5/24"), ("mgmt-br.9", "10.0.9.5/24")]);
        let vlan = observed.host.links.get_mut(&name("vlan7")).unwrap();
        vlan.attrs.require(Attr::Base, Value::Link(name("mgmt-br")));
        assert_eq!(guards(VLAN, &observed, &[]), ["10.0.0.0/24", "10.0.7.0/24"]);
        assert_eq!(guards("mgmt-br", &observed, &[]), ["10.0.7.0/24"]);
        observed.host.links.get_mut(&name("vlan7")).unwrap().alias =
            Some(Alias::ours([&"HostNetworkConfig h".into()], None));
        assert_eq!(guards(VLAN, &observed, &[]), ["10.0.0.0/24"], "a host network of ours");
    }
}
