//! What stands on what: the picture read the other way round.
//!
//! Every step finds what it touches here, so its cost depends on that and not on the size of the
//! host. Invariant: each entry is derived from the picture; nothing is known only here.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    net::IpAddr,
};

use ipnet::IpNet;
use netloom_model::{Address, Link, NextHop, Observed, Route, RouteKey, RouteType};
use netloom_types::{AltName, Family, IfName, RouteTable};

use crate::unique::Unique;

/// Several values for each key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Multi<K, V>(BTreeMap<K, Values<V>>);

/// Nearly every key has one value, and a set of one takes the room of eleven.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Values<V> {
    One(V),
    /// At least two.
    Many(BTreeSet<V>),
}

impl<K, V> Default for Multi<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V: Ord + Clone> Multi<K, V> {
    fn insert(&mut self, key: K, value: V) {
        match self.0.entry(key) {
            Entry::Vacant(place) => {
                place.insert(Values::One(value));
            }
            Entry::Occupied(mut place) => match place.get_mut() {
                Values::One(known) if *known == value => {}
                Values::One(known) => {
                    let both = [known.clone(), value];
                    place.insert(Values::Many(both.into()));
                }
                Values::Many(values) => {
                    values.insert(value);
                }
            },
        }
    }

    fn remove(&mut self, key: &K, value: &V) {
        match self.0.get_mut(key) {
            Some(Values::One(known)) if known == value => {
                self.0.remove(key);
            }
            Some(values @ Values::Many(_)) => values.remove(value),
            Some(Values::One(_)) | None => {}
        }
    }

    /// The values of a key, in order.
    pub(crate) fn of<'a>(&'a self, key: &K) -> impl Iterator<Item = &'a V> + use<'a, K, V> {
        let (one, many) = match self.0.get(key) {
            None => (None, None),
            Some(Values::One(value)) => (Some(value), None),
            Some(Values::Many(values)) => (None, Some(values)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

impl<V: Ord> Values<V> {
    /// Takes one of several values out.
    fn remove(&mut self, value: &V) {
        let Self::Many(values) = self else { return };
        values.remove(value);
        if values.len() == 1
            && let Some(last) = values.pop_first()
        {
            *self = Self::One(last);
        }
    }
}

/// The index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// The link that has a further name.
    pub(crate) alt_names: BTreeMap<AltName, IfName>,
    /// Links by the link that they stand on.
    pub(crate) children: Multi<IfName, IfName>,
    /// Ports by controller.
    pub(crate) ports: Multi<IfName, IfName>,
    /// Routes by the links that they lead out by; IPv6 routes that drop packets lead out by `lo`.
    pub(crate) routes: Multi<IfName, RouteKey>,
    /// Routes by the own address that they name.
    pub(crate) sources: Multi<IpAddr, RouteKey>,
    /// Links whose traffic is mirrored, by the link that it goes to.
    pub(crate) mirrors: Multi<IfName, IfName>,
    /// Addresses by prefix.
    pub(crate) prefixes: Multi<IpNet, (IfName, IpAddr)>,
    /// Links by own address, with the length of its prefix.
    pub(crate) addresses: Multi<IpAddr, (IfName, u8)>,
    /// Links and metrics of routes that need no router, by table and destination.
    pub(crate) device_routes: Multi<(RouteTable, IpNet), (IfName, u32)>,
    /// How many of the prefixes above have a length: a search need not try the others.
    pub(crate) lengths: BTreeMap<(Family, u8), usize>,
    /// Links by what no second link may have; a tunnel that lost its base may be a second one.
    pub(crate) unique: Multi<Unique, IfName>,
    /// How many derived routes lead out by a link.
    pub(crate) derived: BTreeMap<IfName, usize>,
    /// How many derived routes name an own address.
    pub(crate) derived_sources: BTreeMap<IpAddr, usize>,
}

impl Index {
    /// Reads a whole host.
    pub(crate) fn of(observed: &Observed) -> Self {
        let mut index = Self::default();
        observed.links.values().for_each(|link| index.add_link(link));
        observed.routes.values().for_each(|route| index.add_route(route));
        observed.derived_routes.iter().for_each(|route| index.add_derived(route));
        index
    }

    /// Enters a route that is no configuration.
    pub(crate) fn add_derived(&mut self, route: &Route) {
        for link in route.next_hops.iter().filter_map(|hop| hop.link) {
            *self.derived.entry(link).or_default() += 1;
        }
        if let Some(source) = route.source {
            *self.derived_sources.entry(source).or_default() += 1;
        }
        if let Some(link) = device_of(route) {
            self.device_routes.insert((route.table, route.destination), (link, route.metric));
            self.count(route.destination, true);
        }
    }

    /// Forgets a route that is no configuration.
    pub(crate) fn remove_derived(&mut self, route: &Route) {
        for link in route.next_hops.iter().filter_map(|hop| hop.link) {
            less(&mut self.derived, link);
        }
        if let Some(source) = route.source {
            less(&mut self.derived_sources, source);
        }
        if let Some(link) = device_of(route) {
            self.device_routes.remove(&(route.table, route.destination), &(link, route.metric));
            self.count(route.destination, false);
        }
    }

    /// Enters a link with everything on it.
    pub(crate) fn add_link(&mut self, link: &Link) {
        let name = link.name;
        for alt_name in &link.alt_names {
            self.alt_names.insert(alt_name.clone(), name);
        }
        if let Some(base) = link.base() {
            self.children.insert(base, name);
        }
        if let Some(controller) = link.controller {
            self.ports.insert(controller, name);
        }
        for mirror in link.mirrors.values() {
            self.mirrors.insert(mirror.to, name);
        }
        for address in &link.addresses {
            self.add_address(name, address);
        }
        self.add_unique(link);
    }

    /// Forgets a link with everything on it.
    pub(crate) fn remove_link(&mut self, link: &Link) {
        let name = link.name;
        for alt_name in &link.alt_names {
            self.alt_names.remove(alt_name);
        }
        if let Some(base) = link.base() {
            self.children.remove(&base, &name);
        }
        if let Some(controller) = link.controller {
            self.ports.remove(&controller, &name);
        }
        for mirror in link.mirrors.values() {
            self.mirrors.remove(&mirror.to, &name);
        }
        for address in &link.addresses {
            self.remove_address(name, address);
        }
        self.remove_unique(link);
    }

    /// Forgets what no second link may have.
    pub(crate) fn remove_unique(&mut self, link: &Link) {
        if let Some(unique) = Unique::of(link) {
            self.unique.remove(&unique, &link.name);
        }
    }

    /// Enters what no second link may have.
    pub(crate) fn add_unique(&mut self, link: &Link) {
        if let Some(unique) = Unique::of(link) {
            self.unique.insert(unique, link.name);
        }
    }

    /// Whether another link has what `link` would have.
    pub(crate) fn is_taken(&self, link: &Link) -> bool {
        Unique::of(link).is_some_and(|unique| self.unique.of(&unique).any(|holder| *holder != link.name))
    }

    /// Enters an address.
    pub(crate) fn add_address(&mut self, name: IfName, address: &Address) {
        self.prefixes.insert(address.prefix(), (name, address.ip));
        self.count(address.prefix(), true);
        self.addresses.insert(address.ip, (name, address.prefix_len));
    }

    /// Forgets an address.
    pub(crate) fn remove_address(&mut self, name: IfName, address: &Address) {
        self.prefixes.remove(&address.prefix(), &(name, address.ip));
        self.count(address.prefix(), false);
        self.addresses.remove(&address.ip, &(name, address.prefix_len));
    }

    /// Enters a route.
    pub(crate) fn add_route(&mut self, route: &Route) {
        let key = route.key();
        for link in links_of(route) {
            self.routes.insert(link, key);
        }
        if let Some(source) = route.source {
            self.sources.insert(source, key);
        }
        if let Some(link) = device_of(route) {
            self.device_routes.insert((route.table, route.destination), (link, route.metric));
            self.count(route.destination, true);
        }
    }

    /// Forgets a route.
    pub(crate) fn remove_route(&mut self, route: &Route) {
        let key = route.key();
        for link in links_of(route) {
            self.routes.remove(&link, &key);
        }
        if let Some(source) = route.source {
            self.sources.remove(&source, &key);
        }
        if let Some(link) = device_of(route) {
            self.device_routes.remove(&(route.table, route.destination), &(link, route.metric));
            self.count(route.destination, false);
        }
    }

    fn count(&mut self, prefix: IpNet, more: bool) {
        let key = (Family::of_net(prefix), prefix.prefix_len());
        let count = self.lengths.entry(key).or_default();
        *count = if more { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.lengths.remove(&key);
        }
    }

    /// The lengths of prefixes that are on some link, longest first.
    pub(crate) fn lengths_of(&self, family: Family) -> impl Iterator<Item = u8> {
        self.lengths.range((family, 0)..=(family, u8::MAX)).rev().map(|((_, len), _)| *len)
    }

    /// Moves a link from one controller to another.
    pub(crate) fn move_port(&mut self, name: IfName, from: Option<IfName>, to: Option<IfName>) {
        if let Some(from) = from {
            self.ports.remove(&from, &name);
        }
        if let Some(to) = to {
            self.ports.insert(to, name);
        }
    }

    /// Moves a link from one base to another.
    pub(crate) fn move_child(&mut self, name: IfName, from: Option<IfName>, to: Option<IfName>) {
        if let Some(from) = from {
            self.children.remove(&from, &name);
        }
        if let Some(to) = to {
            self.children.insert(to, name);
        }
    }

    /// Enters a mirror.
    pub(crate) fn add_mirror(&mut self, to: IfName, name: IfName) {
        self.mirrors.insert(to, name);
    }

    /// Forgets a mirror.
    pub(crate) fn remove_mirror(&mut self, to: IfName, name: IfName) {
        self.mirrors.remove(&to, &name);
    }

    /// The ports of a controller.
    pub(crate) fn ports_of(&self, name: IfName) -> Vec<IfName> {
        self.ports.of(&name).copied().collect()
    }

    /// The links that stand on a link.
    pub(crate) fn children_of(&self, name: IfName) -> Vec<IfName> {
        self.children.of(&name).copied().collect()
    }

    /// The routes that lead out by a link.
    pub(crate) fn routes_of(&self, name: IfName) -> Vec<RouteKey> {
        self.routes.of(&name).copied().collect()
    }
}

/// Counts one less, and forgets what is there no more.
fn less<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

/// The link of a route that needs no router and has one way only.
fn device_of(route: &Route) -> Option<IfName> {
    match &route.next_hops[..] {
        [NextHop { via: None, link, .. }] => *link,
        _ => None,
    }
}

fn links_of(route: &Route) -> BTreeSet<IfName> {
    let mut links: BTreeSet<IfName> = route.next_hops.iter().filter_map(|hop| hop.link).collect();
    if route.kind != RouteType::Unicast && route.family() == Family::Ipv6 {
        links.insert(IfName::LO);
    }
    links
}
