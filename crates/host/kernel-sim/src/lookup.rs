//! Where a packet that this host sends would go.
//!
//! Follows the kernel: rules in order, each table by longest prefix and lowest metric, dead ways left
//! out. Connected routes are derived from the addresses of links that are up, so a picture needs
//! none. The packet belongs to no particular socket: rules that ask for a source, a bound link, a
//! mark, a protocol or a port do not match it.

use std::{fmt, net::IpAddr};

use ipnet::IpNet;
use netloom_model::{Address, Link, LinkKind, NextHop, Observed, Route, RouteKey, RouteType, RuleAction, RuleKey};
use netloom_types::{Family, IfName, RouteTable};

use crate::host::table_of;

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// To this host itself.
    Local,
    /// Out by a link.
    Via {
        /// The link.
        link: IfName,
        /// The router; none when the destination is on the link.
        via: Option<IpAddr>,
    },
    /// Nowhere, in silence.
    Blackhole,
    /// Nowhere: a rule or route says that there is no way.
    Unreachable,
    /// Nowhere: a rule or route forbids it.
    Prohibited,
    /// Nowhere: no route matches.
    NoRoute,
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("this host"),
            Self::Via { link, via: Some(via) } => write!(f, "{link} via {via}"),
            Self::Via { link, via: None } => write!(f, "{link}"),
            Self::Blackhole => f.write_str("nowhere (blackhole)"),
            Self::Unreachable => f.write_str("nowhere (unreachable)"),
            Self::Prohibited => f.write_str("nowhere (prohibited)"),
            Self::NoRoute => f.write_str("nowhere (no route)"),
        }
    }
}

/// The table that the last rule for IPv4 asks.
const DEFAULT_TABLE: u32 = 253;

/// Finds where a packet of this host to `destination` goes.
pub fn lookup(observed: &Observed, destination: IpAddr) -> Lookup {
    let family = Family::of(destination);
    let mut from = 0;
    for rule in rules(observed, family) {
        if rule.priority < from || !matches(&rule, destination) {
            continue;
        }
        let found = match rule.action {
            RuleAction::Table(table) => in_table(observed, table, destination, rule.suppress_prefix_length),
            RuleAction::Goto(priority) => {
                from = priority;
                None
            }
            // The packet belongs to no VRF.
            RuleAction::L3mdev | RuleAction::L3mdevUnreachable | RuleAction::Nop => None,
            RuleAction::Blackhole => Some(Lookup::Blackhole),
            RuleAction::Unreachable => Some(Lookup::Unreachable),
            RuleAction::Prohibit => Some(Lookup::Prohibited),
        };
        if let Some(found) = found {
            return found;
        }
    }
    Lookup::NoRoute
}

/// The rules of a family in order, the kernel's own included.
fn rules(observed: &Observed, family: Family) -> Vec<RuleKey> {
    let own = |priority, table| RuleKey::new(family, priority, RuleAction::Table(table));
    let mut rules: Vec<RuleKey> = observed.rules.keys().filter(|rule| rule.family == family).copied().collect();
    rules.push(own(0, RouteTable::LOCAL));
    rules.push(own(32_766, RouteTable::MAIN));
    if let (Family::Ipv4, Ok(table)) = (family, RouteTable::try_from(DEFAULT_TABLE)) {
        rules.push(own(32_767, table));
    }
    rules.sort_by_key(|rule| rule.priority);
    rules
}

fn matches(rule: &RuleKey, destination: IpAddr) -> bool {
    let any = |prefix: Option<IpNet>| prefix.is_none_or(|prefix| prefix.prefix_len() == 0);
    let fits = any(rule.from)
        && rule.to.is_none_or(|to| to.contains(&destination))
        && rule.iif.is_none_or(|iif| iif == IfName::LO)
        && rule.oif.is_none()
        && rule.fwmark & rule.fwmask == 0
        && rule.tos == 0
        && rule.ip_proto.is_none()
        && rule.sport.is_none()
        && rule.dport.is_none()
        && rule.uid.is_none()
        && rule.tun_id == 0;
    fits != rule.invert
}

fn in_table(observed: &Observed, table: RouteTable, to: IpAddr, suppress: Option<u32>) -> Option<Lookup> {
    if is_own(observed, table, to) {
        return Some(Lookup::Local);
    }
    let connected = connected(observed, table, to);
    let derived = derived(observed, table, to);
    for len in (0..=Family::of(to).max_prefix_len()).rev() {
        let prefix = IpNet::new(to, len).ok()?.trunc();
        let configured = configured(observed, table, prefix);
        let others = connected.iter().chain(&derived).filter(|found| found.len == len).copied();
        let Some(best) = configured.into_iter().chain(others).min_by_key(|found| found.metric) else { continue };
        return match best.end {
            // The search ends here and the next rule is asked.
            End::Throw => None,
            End::At(_) if suppress.is_some_and(|suppress| u32::from(len) <= suppress) => None,
            End::At(lookup) => Some(lookup),
        };
    }
    None
}

/// What one route says.
#[derive(Clone, Copy)]
enum End {
    At(Lookup),
    Throw,
}

#[derive(Clone, Copy)]
struct Found {
    len: u8,
    metric: u32,
    end: End,
}

/// Own addresses are looked up in the local table, those of a VRF in its table.
fn is_own(observed: &Observed, table: RouteTable, to: IpAddr) -> bool {
    let asked = |link: &Link| {
        let own = table_of(&observed.host, link);
        own == table && own != RouteTable::MAIN || own == RouteTable::MAIN && table == RouteTable::LOCAL
    };
    // All of an IPv4 prefix on `lo` is this host.
    let covers = |a: &Address| a.ip.is_ipv4() && a.prefix().contains(&to);
    let has = |link: &Link| link.addresses.iter().any(|a| a.ip == to || link.kind == LinkKind::Loopback && covers(a));
    observed.links.values().any(|link| link.up && has(link) && asked(link))
}

/// Connected routes of a table that cover an address.
fn connected(observed: &Observed, table: RouteTable, to: IpAddr) -> Vec<Found> {
    let connects = |link: &&Link| link.up && (link.kind != LinkKind::Loopback || to.is_ipv6());
    let up = observed.links.values().filter(connects);
    let mut found = Vec::new();
    for link in up {
        let covers = |a: &&Address| {
            let host = a.prefix_len == Family::of(a.ip).max_prefix_len();
            !host && Family::of(a.ip) == Family::of(to) && a.prefix().contains(&to)
        };
        for address in link.addresses.iter().filter(covers) {
            if table_of(&observed.host, link) == table {
                let metric = match (address.route_metric, to) {
                    (0, IpAddr::V6(_)) => 256,
                    (metric, _) => metric,
                };
                let end = End::At(Lookup::Via { link: link.name, via: None });
                found.push(Found { len: address.prefix_len, metric, end });
            }
        }
    }
    found
}

fn derived(observed: &Observed, table: RouteTable, to: IpAddr) -> Vec<Found> {
    let covering =
        observed.derived_routes.iter().filter(|route| route.table == table && route.destination.contains(&to));
    covering.filter_map(|route| says(observed, route)).collect()
}

/// Configured routes to exactly one prefix.
fn configured(observed: &Observed, table: RouteTable, prefix: IpNet) -> Vec<Found> {
    let first = RouteKey { table, destination: prefix, metric: 0, device: None };
    observed
        .routes
        .range(first..)
        .take_while(|(key, _)| key.table == table && key.destination == prefix)
        .filter_map(|(_, route)| says(observed, route))
        .collect()
}

/// What a route does; nothing when all its ways are dead.
fn says(observed: &Observed, route: &Route) -> Option<Found> {
    let end = match route.kind {
        RouteType::Unicast => {
            let lives =
                |hop: &&NextHop| hop.link.and_then(|name| observed.links.get(&name)).is_some_and(|link| link.up);
            let hop = route.next_hops.iter().find(lives)?;
            End::At(Lookup::Via { link: hop.link?, via: hop.via })
        }
        RouteType::Blackhole => End::At(Lookup::Blackhole),
        RouteType::Unreachable => End::At(Lookup::Unreachable),
        RouteType::Prohibit => End::At(Lookup::Prohibited),
        RouteType::Throw => End::Throw,
    };
    Some(Found { len: route.destination.prefix_len(), metric: route.metric, end })
}

#[cfg(test)]
mod tests {
    use netloom_model::{Rule, Step};
    use netloom_types::Protocol;

    use super::*;
    use crate::{
        SimHost,
        testing::{add, all, down, in_table, join, n, route, up, up_dummies, vrf, yes},
    };

    fn to(sim: &SimHost, ip: &str) -> String {
        lookup(sim.observed(), ip.parse().unwrap()).to_string()
    }

    fn rule(priority: u32, action: RuleAction) -> RuleKey {
        RuleKey::new(Family::Ipv4, priority, action)
    }

    fn add_rule(key: RuleKey) -> Step {
        Step::AddRule(Rule { key, protocol: Protocol::NETLOOM })
    }

    #[test]
    fn the_longest_prefix_and_then_the_lowest_metric_win() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [up("lo"), add("d0", "10.0.0.1/24"), add("d1", "10.0.1.1/24")]);
        let mut second = route("0.0.0.0/0", ["10.0.1.2%"]);
        second.metric = 50;
        all(&mut sim, [Step::AddRoute(route("0.0.0.0/0", ["10.0.0.2%"])), Step::AddRoute(second)]);
        yes(&mut sim, &Step::AddRoute(route("192.0.2.0/24", [])));
        assert_eq!(to(&sim, "10.0.0.1"), "this host");
        assert_eq!(to(&sim, "127.1.2.3"), "this host");
        assert_eq!(to(&sim, "10.0.0.9"), "d0");
        assert_eq!(to(&sim, "8.8.8.8"), "d0 via 10.0.0.2");
        assert_eq!(to(&sim, "192.0.2.1"), "nowhere (blackhole)");
        assert_eq!(to(&sim, "2001:db8::1"), "nowhere (no route)");
        yes(&mut sim, &down("d0"));
        assert_eq!(to(&sim, "8.8.8.8"), "d1 via 10.0.1.2");
        assert_eq!(to(&sim, "10.0.0.9"), "d1 via 10.0.1.2");
    }

    #[test]
    fn dead_ways_of_a_multipath_route_are_left_out() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "fd00::1/64"), add("d1", "fd01::1/64")]);
        all(&mut sim, [Step::AddRoute(route("::/0", ["fd00::2%", "fd01::2%"])), down("d0")]);
        assert_eq!(to(&sim, "2001:db8::1"), "d1 via fd01::2");
    }

    #[test]
    fn rules_choose_the_table() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d1", "10.0.1.1/24")]);
        all(
            &mut sim,
            [
                Step::AddRoute(route("0.0.0.0/0", ["10.0.0.2%"])),
                Step::AddRoute(in_table(50, route("0.0.0.0/0", ["10.0.1.2%"]))),
            ],
        );
        let table = RuleAction::Table(RouteTable::try_from(50).unwrap());
        let mut some = rule(100, table);
        some.to = Some("8.8.0.0/16".parse().unwrap());
        let mut sourced = rule(101, table);
        sourced.from = Some("10.0.0.0/8".parse().unwrap());
        all(&mut sim, [add_rule(some), add_rule(sourced)]);
        assert_eq!(to(&sim, "8.8.8.8"), "d1 via 10.0.1.2");
        assert_eq!(to(&sim, "9.9.9.9"), "d0 via 10.0.0.2");
        let mut throw = in_table(50, route("8.8.4.0/24", []));
        throw.kind = RouteType::Throw;
        yes(&mut sim, &Step::AddRoute(throw));
        assert_eq!(to(&sim, "8.8.4.4"), "d0 via 10.0.0.2");
        yes(&mut sim, &add_rule(rule(99, RuleAction::Goto(200))));
        assert_eq!(to(&sim, "8.8.8.8"), "d0 via 10.0.0.2");
        yes(&mut sim, &add_rule(rule(50, RuleAction::Prohibit)));
        assert_eq!(to(&sim, "8.8.8.8"), "nowhere (prohibited)");
    }

    #[test]
    fn a_rule_can_ignore_short_prefixes() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d1", "10.0.1.1/24")]);
        all(
            &mut sim,
            [
                Step::AddRoute(route("0.0.0.0/0", ["10.0.0.2%"])),
                Step::AddRoute(in_table(50, route("0.0.0.0/0", ["10.0.1.2%"]))),
            ],
        );
        let mut main = rule(100, RuleAction::Table(RouteTable::MAIN));
        main.suppress_prefix_length = Some(0);
        all(&mut sim, [add_rule(main), add_rule(rule(101, RuleAction::Table(50.try_into().unwrap())))]);
        assert_eq!(to(&sim, "8.8.8.8"), "d1 via 10.0.1.2");
        assert_eq!(to(&sim, "10.0.0.7"), "d0");
    }

    #[test]
    fn a_vrf_is_a_world_of_its_own() {
        let mut sim = up_dummies(["d0"]);
        all(&mut sim, [vrf("red", 10), join("d0", "red"), add("d0", "10.0.0.1/24")]);
        assert_eq!(to(&sim, "10.0.0.1"), "nowhere (no route)");
        assert_eq!(to(&sim, "10.0.0.9"), "nowhere (no route)");
        yes(&mut sim, &add_rule(rule(100, RuleAction::Table(10.try_into().unwrap()))));
        assert_eq!(to(&sim, "10.0.0.1"), "this host");
        assert_eq!(lookup(sim.observed(), "10.0.0.9".parse().unwrap()), Lookup::Via { link: n("d0"), via: None });
    }

    #[test]
    fn routes_that_others_made_count() {
        let sim = up_dummies(["d0"]);
        let mut observed = sim.into_observed();
        observed.derived_routes.push(route("::/0", ["fe80::1%d0"]));
        assert_eq!(lookup(&observed, "2001:db8::1".parse().unwrap()).to_string(), "d0 via fe80::1");
    }
}
