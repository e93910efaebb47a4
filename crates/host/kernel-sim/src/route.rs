//! Routes: adding and removing, and what happens to them when links and addresses go.

use std::net::IpAddr;

use netloom_model::{NextHop, Route, RouteKey, RouteType, StepError};
use netloom_types::{Family, IfName, RouteTable};

use crate::{
    SimHost,
    errno::{Done, refuse, refuse_plainly},
};

impl SimHost {
    pub(crate) fn add_route(&mut self, route: &Route) -> Done {
        let route = self.resolve(route)?;
        let key = route.key();
        // IPv6 routes without a router may stand beside each other, one for each link.
        let taken = match key.device {
            Some(_) => self.now.host.routes.contains_key(&key),
            None => self.routes_to(key).next().is_some(),
        };
        if taken {
            return refuse_plainly(StepError::EEXIST);
        }
        self.insert_route(route);
        Ok(())
    }

    /// Replaces the route with the same key. A route with a router takes the place of one without
    /// when there is no other.
    pub(crate) fn replace_route(&mut self, route: &Route) -> Done {
        let route = self.resolve(route)?;
        let key = route.key();
        if key.device.is_none() && !self.now.host.routes.contains_key(&key) {
            let sibling = self.routes_to(key).next();
            if let Some(sibling) = sibling {
                self.take_route(sibling);
            }
        }
        self.insert_route(route);
        Ok(())
    }

    pub(crate) fn remove_route(&mut self, route: &Route) -> Done {
        let route = normal(route);
        let there = self.now.host.routes.get(&route.key());
        let fits = there.is_some_and(|there| {
            there.kind == route.kind
                && there.next_hops.len() == route.next_hops.len()
                && there.next_hops.iter().all(|hop| route.next_hops.iter().any(|asked| leads_the_same_way(hop, asked)))
        });
        if !fits {
            return refuse_plainly(StepError::ESRCH);
        }
        self.take_route(route.key());
        Ok(())
    }

    /// The keys with the same table, destination and metric.
    fn routes_to(&self, key: RouteKey) -> impl Iterator<Item = RouteKey> {
        let first = RouteKey { device: None, ..key };
        self.now
            .host
            .routes
            .range(first..)
            .map(|(other, _)| *other)
            .take_while(move |other| RouteKey { device: None, ..*other } == first)
    }

    /// The route as the kernel will show it, with every next hop checked and its link found.
    fn resolve(&self, route: &Route) -> Result<Route, StepError> {
        let mut route = normal(route);
        if route.kind == RouteType::Unicast {
            check_shape(&route)?;
            for link in route.next_hops.iter().filter_map(|hop| hop.link) {
                self.link(link)?;
            }
            for at in 0..route.next_hops.len() {
                let hop = route.next_hops[at];
                route.next_hops[at].link = Some(self.check_hop(&route, hop)?);
            }
            route.next_hops.sort_unstable();
            check_shape(&route)?;
        } else if !route.next_hops.is_empty() {
            return refuse_plainly(StepError::EINVAL);
        }
        if let Some(source) = route.source {
            self.check_source(&route, source)?;
        }
        Ok(route)
    }

    /// The source must be an own address: of the route's VRF or, for IPv4, of no VRF.
    fn check_source(&self, route: &Route, source: IpAddr) -> Done {
        let out = route.next_hops.first().and_then(|hop| hop.link).and_then(|name| self.find(name));
        let fits = self.index.addresses.of(&source).filter_map(|(name, _)| self.find(*name)).any(|link| {
            let table = self.table_of(link);
            match route.family() {
                Family::Ipv4 => link.up && (table == RouteTable::MAIN || table == route.table),
                Family::Ipv6 => link.up && out.is_none_or(|out| self.table_of(out) == table),
            }
        });
        match (fits, route.family()) {
            (true, _) => Ok(()),
            (false, Family::Ipv4) => refuse(StepError::EINVAL, "Invalid prefsrc address"),
            (false, Family::Ipv6) => refuse(StepError::EINVAL, "Invalid source address"),
        }
    }

    /// Drops the routes that lead out by a link only, or otherwise only by links that are down.
    /// Routes with a living way keep the dead one: it lives again when its link comes up.
    pub(crate) fn lose_routes(&mut self, name: IfName, family: Option<Family>) {
        self.adopt_over(name);
        for key in self.index.routes_of(name) {
            let Some(route) = self.now.host.routes.get(&key) else { continue };
            let meant = family.is_none_or(|family| family == route.family());
            if meant && !self.lives_without(route, name) {
                self.take_route(key);
            }
        }
        self.lose_derived(name, family, false);
    }

    pub(crate) fn lives_without(&self, route: &Route, name: IfName) -> bool {
        route.next_hops.iter().any(|hop| hop.link.is_some_and(|link| link != name && self.is_up(link)))
    }

    /// Drops the IPv4 routes of a table whose source is no own address any more.
    pub(crate) fn lose_sources_v4(&mut self, source: IpAddr, table: RouteTable) {
        self.adopt_from(source);
        let still_own = self
            .index
            .addresses
            .of(&source)
            .filter_map(|(name, _)| self.find(*name))
            .any(|link| link.up && self.table_of(link) == table);
        if still_own {
            return;
        }
        let keys: Vec<RouteKey> = self.index.sources.of(&source).filter(|key| key.table == table).copied().collect();
        for key in keys {
            self.take_route(key);
        }
    }

    /// Takes a source out of the routes that name it.
    pub(crate) fn forget_source(&mut self, source: IpAddr) {
        self.adopt_from(source);
        let keys: Vec<RouteKey> = self.index.sources.of(&source).copied().collect();
        for key in keys {
            if let Some(mut route) = self.take_route(key) {
                route.source = None;
                self.insert_route(route);
            }
        }
    }
}

/// The route as the kernel reads it: an IPv6 route without a metric has the default one.
fn normal(route: &Route) -> Route {
    let mut route = route.clone();
    if route.family() == Family::Ipv6 && route.metric == 0 {
        route.metric = Route::default_metric(Family::Ipv6);
    }
    route.next_hops.sort_unstable();
    route
}

fn check_shape(route: &Route) -> Done {
    if route.next_hops.is_empty() {
        return refuse_plainly(StepError::EINVAL);
    }
    if route.family() == Family::Ipv4 || route.next_hops.len() == 1 {
        return Ok(());
    }
    if route.next_hops.iter().any(|hop| hop.via.is_none()) {
        return refuse(StepError::EINVAL, "Device only routes can not be added for IPv6 using the multipath API");
    }
    let twice = route.next_hops.windows(2).any(|pair| leads_the_same_way(&pair[0], &pair[1]));
    if twice { refuse_plainly(StepError::EEXIST) } else { Ok(()) }
}

fn leads_the_same_way(a: &NextHop, b: &NextHop) -> bool {
    a.via == b.via && (a.link == b.link || b.link.is_none())
}

#[cfg(test)]
mod tests {
    use netloom_model::Step;

    use super::*;
    use crate::testing::{add, all, dummies, in_table, join, n, no, route, routes, up, up_dummies, vrf, yes};

    #[test]
    fn a_key_is_there_once() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d0", "fd00::1/64")]);
        all(
            &mut sim,
            [
                Step::AddRoute(route("10.8.0.0/16", ["10.0.0.9%"])),
                Step::AddRoute(route("fd08::/64", ["fd00::9%"])),
                Step::AddRoute(route("fd09::/64", ["%d0"])),
                Step::AddRoute(route("10.66.0.0/16", [])),
            ],
        );
        for again in [route("10.8.0.0/16", ["10.0.0.8%"]), route("fd08::/64", []), route("10.66.0.0/16", ["%d0"])] {
            assert_eq!(no(&mut sim, &Step::AddRoute(again)), StepError::EEXIST);
        }
        let changed = yes(&mut sim, &Step::ReplaceRoute(route("10.8.0.0/16", ["10.0.0.7%"])));
        assert_eq!(
            changed.routes.values().flatten().map(ToString::to_string).collect::<Vec<_>>(),
            ["10.8.0.0/16 via 10.0.0.9 dev d0"]
        );
        yes(&mut sim, &Step::ReplaceRoute(route("10.77.0.0/16", ["10.0.0.7%"])));
        yes(&mut sim, &Step::AddRoute(route("fd09::/64", ["%d1"])));
        assert_eq!(no(&mut sim, &Step::AddRoute(route("fd09::/64", ["fd00::9%"]))), StepError::EEXIST);
        yes(&mut sim, &Step::ReplaceRoute(route("fd09::/64", ["fd00::9%"])));
        assert!(!routes(&sim).contains(&"fd09::/64 dev d0".to_owned()));
        assert!(routes(&sim).contains(&"fd09::/64 dev d1".to_owned()));
    }

    #[test]
    fn a_route_is_removed_by_what_it_does() {
        let mut sim = up_dummies(["d0"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), Step::AddRoute(route("10.8.0.0/16", ["10.0.0.9%"]))]);
        assert_eq!(no(&mut sim, &Step::RemoveRoute(route("10.8.0.0/16", ["10.0.0.8%d0"]))), StepError::ESRCH);
        assert_eq!(no(&mut sim, &Step::RemoveRoute(route("10.8.0.0/16", []))), StepError::ESRCH);
        assert_eq!(no(&mut sim, &Step::RemoveRoute(route("10.9.0.0/16", ["10.0.0.9%d0"]))), StepError::ESRCH);
        let changed = yes(&mut sim, &Step::RemoveRoute(route("10.8.0.0/16", ["10.0.0.9%d0"])));
        assert_eq!(changed.routes.len(), 1);
    }

    #[test]
    fn next_hops_must_be_up_and_reachable() {
        let mut sim = dummies(["d0", "d1"]);
        let try_route = |sim: &mut SimHost, to: &str, hop: &str| no(sim, &Step::AddRoute(route(to, [hop])));
        assert_eq!(try_route(&mut sim, "10.5.0.0/16", "%d0"), StepError::ENETDOWN);
        assert_eq!(try_route(&mut sim, "fd05::/64", "%d0"), StepError::ENETDOWN);
        assert_eq!(try_route(&mut sim, "fd05::/64", "%nope"), StepError::ENODEV);
        all(
            &mut sim,
            [up("d0"), up("d1"), add("d0", "10.0.0.1/24"), add("d0", "fd00::1/64"), add("d1", "10.3.0.1/32")],
        );
        assert_eq!(try_route(&mut sim, "10.5.0.0/16", "10.1.0.9%"), StepError::ENETUNREACH);
        assert_eq!(try_route(&mut sim, "10.5.0.0/16", "10.0.0.9%d1"), StepError::ENETUNREACH);
        assert_eq!(try_route(&mut sim, "10.5.0.0/16", "10.3.0.9%d1"), StepError::ENETUNREACH);
        assert_eq!(try_route(&mut sim, "fd05::/64", "fd01::9%"), StepError::EHOSTUNREACH);
        assert_eq!(try_route(&mut sim, "fd05::/64", "fd00::1%"), StepError::EINVAL);
        assert_eq!(try_route(&mut sim, "fd05::/64", "fe80::1%"), StepError::EINVAL);
        all(
            &mut sim,
            [
                Step::AddRoute(route("fd05::/64", ["fe80::1%d0"])),
                Step::AddRoute(route("10.5.0.0/16", ["10.0.0.9%"])),
                Step::AddRoute(route("10.6.0.0/16", ["%d1"])),
                Step::AddRoute(route("10.7.0.0/16", ["10.6.0.1%"])),
            ],
        );
        // A router behind a router is none.
        assert_eq!(try_route(&mut sim, "10.8.0.0/16", "10.5.0.1%"), StepError::ENETUNREACH);
        let mut onlink = route("10.9.0.0/16", ["10.99.0.1%d0"]);
        onlink.next_hops[0].onlink = true;
        yes(&mut sim, &Step::AddRoute(onlink));
        assert_eq!(sim.observed().routes[&route("10.7.0.0/16", []).key()].next_hops[0].link, Some(n("d1")));
    }

    #[test]
    fn a_router_in_a_vrf_is_found_from_its_table_or_its_link() {
        let mut sim = up_dummies(["d0"]);
        all(&mut sim, [vrf("red", 10), join("d0", "red"), add("d0", "10.0.0.1/24")]);
        let via = |hop: &str| route("10.5.0.0/16", [hop]);
        assert_eq!(no(&mut sim, &Step::AddRoute(via("10.0.0.9%"))), StepError::ENETUNREACH);
        assert_eq!(no(&mut sim, &Step::AddRoute(in_table(11, via("10.0.0.9%")))), StepError::ENETUNREACH);
        yes(&mut sim, &Step::AddRoute(in_table(10, via("10.0.0.9%"))));
        yes(&mut sim, &Step::AddRoute(via("10.0.0.9%d0")));
    }

    #[test]
    fn ipv6_multipath_needs_routers() {
        let mut sim = up_dummies(["d0", "d1"]);
        yes(&mut sim, &add("d0", "fd00::1/64"));
        assert_eq!(no(&mut sim, &Step::AddRoute(route("fd05::/64", ["%d0", "%d1"]))), StepError::EINVAL);
        let twice = route("fd05::/64", ["fd00::2%d0", "fd00::2%d0"]);
        assert_eq!(no(&mut sim, &Step::AddRoute(twice)), StepError::EEXIST);
        let mut bad = route("10.5.0.0/16", []);
        bad.kind = RouteType::Unicast;
        assert_eq!(no(&mut sim, &Step::AddRoute(bad)), StepError::EINVAL);
    }

    #[test]
    fn an_ipv6_route_without_a_metric_has_1024() {
        let mut sim = up_dummies(["d0"]);
        let mut plain = route("fd05::/64", ["%d0"]);
        plain.metric = 0;
        yes(&mut sim, &Step::AddRoute(plain.clone()));
        assert_eq!(sim.observed().routes.keys().next().map(|key| key.metric), Some(1024));
        yes(&mut sim, &Step::RemoveRoute(plain));
    }

    #[test]
    fn routes_of_daemons_go_with_their_link() {
        let mut sim = up_dummies(["d0", "d1"]);
        let mut observed = sim.observed().clone();
        observed.derived_routes = vec![route("10.5.0.0/16", ["10.0.0.2%d0"]), route("10.6.0.0/16", ["10.1.0.2%d1"])];
        sim = SimHost::from_observed(observed);
        sim.apply(&crate::testing::down("d0")).unwrap();
        assert_eq!(sim.observed().derived_routes, [route("10.6.0.0/16", ["10.1.0.2%d1"])]);
    }
}
