//! Routes that nobody configured: of leases, router advertisements, routing daemons and the kernel.
//!
//! A host may have hundreds of thousands of them, so they are only counted by link until a step concerns a link. Those over
//! that link then join the others, as a change has to put them back like any route that it takes away. What nobody can put
//! back stays apart, and is remembered once it is lost.

use std::{collections::BTreeSet, net::IpAddr};

use netloom_model::{Attr, Host, Link, Route, RouteKey};
use netloom_types::{Family, IfName, Protocol};

use crate::SimHost;

impl SimHost {
    /// The routes that steps took away and that nobody can put back.
    pub fn lost_routes(&self) -> &BTreeSet<Route> {
        &self.lost
    }

    /// Lets routes that lead nowhere take part: no link takes these away, so a plan has to.
    pub fn adopt_closed(&mut self, keys: &BTreeSet<RouteKey>) {
        self.adopt(|route| route.next_hops.is_empty() && keys.contains(&route.key()));
    }

    /// Lets the routes over a link take part in what happens to it.
    pub(crate) fn adopt_over(&mut self, name: IfName) {
        if self.index.derived.contains_key(&name) {
            self.adopt(|route| route.uses(name));
        }
    }

    /// Lets the routes that name an own address take part in what happens to it.
    pub(crate) fn adopt_from(&mut self, source: IpAddr) {
        if self.index.derived_sources.contains_key(&source) {
            self.adopt(|route| route.source == Some(source));
        }
    }

    fn adopt(&mut self, concerned: impl Fn(&Route) -> bool) {
        let fragile: BTreeSet<Route> =
            self.now.fragile_routes.iter().filter(|route| concerned(route)).cloned().collect();
        let missed = |route: &mut Route| concerned(route) && route.is_missed() && !fragile.contains(route);
        for route in self.now.derived_routes.extract_if(.., missed).collect::<Vec<_>>() {
            self.index.remove_derived(&route);
            let stand_in = stand_in(&self.now.host, route.clone());
            let key = stand_in.key();
            if self.now.host.routes.contains_key(&key) {
                // The kernel keeps both, and takes only one from us.
                self.index.add_derived(&route);
                self.now.fragile_routes.push(route.clone());
                self.now.derived_routes.push(route);
            } else {
                self.index.add_route(&stand_in);
                self.now.host.routes.insert(key, stand_in);
            }
        }
    }

    /// Drops the routes that nobody can put back and that lead out by a link; with `forced`, those with a living way too.
    pub(crate) fn lose_derived(&mut self, name: IfName, family: Option<Family>, forced: bool) {
        if !self.index.derived.contains_key(&name) {
            return;
        }
        let mut routes = std::mem::take(&mut self.now.derived_routes);
        let gone = |route: &mut Route| {
            let meant = family.is_none_or(|family| family == route.family());
            route.uses(name) && meant && (forced || !self.lives_without(route, name))
        };
        let gone: Vec<Route> = routes.extract_if(.., gone).collect();
        self.now.derived_routes = routes;
        for route in gone {
            self.index.remove_derived(&route);
            if route.is_missed() {
                self.lost.insert(route);
            }
        }
    }
}

/// What is put in the place of a route. A kernel that listens to routers itself takes no advertisement of one to which
/// somebody else made the same route, not even the prefixes in it. One that is a little less preferred does as well until
/// the router is heard again, and ends by itself. That stays as it is should it be lost too.
pub fn stand_in(host: &Host, mut route: Route) -> Route {
    let listens = |name: IfName| host.links.get(&name).is_some_and(hears_routers);
    let stands_in = route.metric == Route::default_metric(Family::Ipv6) + 1;
    if route.protocol == Protocol::RA && !stands_in && route.next_hops.iter().filter_map(|hop| hop.link).any(listens) {
        route.metric = route.metric.saturating_add(1);
    }
    route
}

/// Whether the kernel takes router advertisements on a link.
fn hears_routers(link: &Link) -> bool {
    match link.attrs.int(Attr::Ipv6AcceptRa) {
        Some(0) => false,
        None | Some(1) => link.attrs.bool(Attr::Ipv6Forwarding) != Some(true),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{RouteExtra, Step, Value};

    use super::*;
    use crate::testing::{add, all, del, down, n, route, set, up_dummies};

    /// A host with routes that nobody configured.
    fn host(routes: impl IntoIterator<Item = (Route, Protocol)>, fragile: &[Route]) -> SimHost {
        let mut sim = up_dummies(["d0", "d1"]);
        all(
            &mut sim,
            [add("d0", "10.0.0.1/24"), add("d1", "10.0.1.1/24"), set("d1", Attr::Ipv6AcceptRa, Value::Int(0))],
        );
        let mut observed = sim.into_observed();
        observed.derived_routes.extend(routes.into_iter().map(|(route, protocol)| Route { protocol, ..route }));
        observed.derived_routes.extend_from_slice(fragile);
        observed.fragile_routes.extend_from_slice(fragile);
        SimHost::from_observed(observed)
    }

    #[test]
    fn only_routes_over_the_link_that_is_concerned_are_noted_and_can_be_put_back() {
        let leased = |to: &str, hop: &str| (route(to, [hop]), Protocol::DHCP);
        let fragile = route("10.9.0.0/16", ["10.0.0.2%d0"]);
        let mut sim = host(
            [leased("10.5.0.0/16", "10.0.0.2%d0"), leased("10.6.0.0/16", "10.0.1.2%d1")],
            std::slice::from_ref(&fragile),
        );
        let changed = sim.apply(&down("d0")).unwrap();
        let gone: Vec<Route> = changed.routes.into_values().flatten().collect();
        assert_eq!(gone.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.5.0.0/16 via 10.0.0.2 dev d0"]);
        assert_eq!(sim.lost_routes().iter().collect::<Vec<_>>(), [&fragile]);
        assert_eq!(sim.observed().derived_routes.len(), 1, "the other link's");
        all(&mut sim, [Step::SetUp { name: n("d0"), up: true }, Step::AddRoute(gone[0].clone())]);
        let seen = netloom_model::Engine::observe(&mut sim, netloom_model::Scope::default()).unwrap();
        assert!(seen.routes.is_empty() && seen.derived_routes.len() == 2);
    }

    #[test]
    fn a_route_goes_with_the_address_that_it_names() {
        let source = Some("10.0.0.1".parse().unwrap());
        let mut sim = host([(Route { source, ..route("10.5.0.0/16", ["10.0.1.2%d1"]) }, Protocol::DHCP)], &[]);
        let changed = sim.apply(&del("d0", "10.0.0.1/24")).unwrap();
        assert_eq!(changed.routes.len(), 1);
    }

    #[test]
    fn an_advertised_route_comes_back_beside_the_one_that_the_kernel_makes() {
        let extra = RouteExtra { expires: Some(1800), preference: 0 };
        let advertised = |link: &str| {
            let made = route("::/0", [&*format!("fe80::1%{link}")]);
            (Route { metric: 1024, extra, ..made }, Protocol::RA)
        };
        for (link, metric) in [("d0", 1025), ("d1", 1024)] {
            let mut sim = host([advertised(link)], &[]);
            let changed = sim.apply(&down(link)).unwrap();
            let gone: Vec<Route> = changed.routes.into_values().flatten().collect();
            assert_eq!((gone.len(), gone[0].metric, gone[0].extra), (1, metric, extra), "{link}");
            assert!(gone[0].stands_for(&Route { protocol: Protocol::RA, ..advertised(link).0 }));
        }
    }
}
