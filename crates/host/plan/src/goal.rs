//! What the host shall be: the desired state laid over the observation.
//!
//! A goal is complete for each object that it names, so that whatever a step takes away beside what
//! it was asked to can be put back. Objects that a plan touches without a desired state join the goal with the
//! value that they had (`Goal::heal_*`), as far as the desired state leaves them a place.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use netloom_model::{
    Attr, Attrs, Host, Link, Observed, Origin, Route, RouteKey, RoutingLine, RuleKey, Section, Setting, SettingKey,
    Target, Value,
};
use netloom_types::{Family, IfName, Protocol, RouteTable};

/// What one link shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoalLink {
    /// The link, its properties being what is desired.
    pub(crate) link: Link,
    /// Whether its VLANs matter; a new port gets those of its bridge.
    pub(crate) vlans: bool,
    /// Whether its forwarding entries matter; a port that moves loses them.
    pub(crate) fdb: bool,
    /// Whether the desired state names the addresses of a family; otherwise those that the kernel gives stay.
    pub(crate) lists: Lists,
    /// Who asked; none for a link that only has to be put back.
    pub(crate) origin: Option<Origin>,
}

/// Which lists of addresses are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lists {
    pub(crate) ipv4: bool,
    pub(crate) ipv6: bool,
}

impl Lists {
    fn says(self, family: Family) -> bool {
        match family {
            Family::Ipv4 => self.ipv4,
            Family::Ipv6 => self.ipv6,
        }
    }
}

impl GoalLink {
    /// A link that shall be as it was, in everything.
    pub(crate) fn put_back(link: Link) -> Self {
        Self { link, vlans: true, fdb: true, lists: Lists::default(), origin: None }
    }

    /// The kernel gave the link addresses when it came up; they belong to it unless the desired state has a
    /// list without them.
    pub(crate) fn accept(&mut self, now: &Link) {
        for address in &now.addresses {
            let known = self.link.addresses.iter().any(|there| there.key() == address.key());
            if !known && !self.lists.says(Family::of(address.ip)) {
                self.link.addresses.push(*address);
            }
        }
    }
}

/// What one route shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoalRoute {
    /// The route, or none.
    pub(crate) route: Option<Route>,
    /// Who asked; none for a route that only has to be put back.
    pub(crate) origin: Option<Origin>,
}

/// What one rule shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoalRule {
    /// Its maker, or none when the rule shall go.
    pub(crate) protocol: Option<Protocol>,
    /// Who asked.
    pub(crate) origin: Option<Origin>,
}

/// What one line of a routing daemon shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoalLine {
    /// Whether it shall be there.
    pub(crate) there: bool,
    /// Who asked.
    pub(crate) origin: Option<Origin>,
}

/// What the host shall be, for the objects that are concerned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Goal {
    pub(crate) links: BTreeMap<IfName, Option<GoalLink>>,
    pub(crate) routes: BTreeMap<RouteKey, GoalRoute>,
    pub(crate) rules: BTreeMap<RuleKey, GoalRule>,
    pub(crate) settings: BTreeMap<SettingKey, Setting>,
    pub(crate) routing: BTreeMap<RoutingLine, GoalLine>,
}

impl Goal {
    /// The goal of putting back exactly what `target` shows.
    pub(crate) fn from_target(target: &Target, observed: &Observed) -> Self {
        let Target { links, routes, rules, settings, routing } = target;
        let whole = |link: &Link| {
            let mut link = link.clone();
            if let Some(now) = observed.links.get(&link.name) {
                complete(&mut link.attrs, &now.attrs);
            }
            GoalLink { lists: Lists { ipv4: true, ipv6: true }, ..GoalLink::put_back(link) }
        };
        Self {
            links: links.iter().map(|(name, link)| (*name, link.as_ref().map(whole))).collect(),
            routes: routes_of(routes, observed),
            rules: rules.iter().map(|(key, &protocol)| (*key, GoalRule { protocol, origin: None })).collect(),
            settings: settings.clone(),
            routing: routing.iter().map(|(line, &there)| (line.clone(), GoalLine { there, origin: None })).collect(),
        }
    }

    /// A link that shall be as it was got properties on the way that it had not at the beginning: a port that moves
    /// may be made to take every frame.
    pub(crate) fn complete_link(&mut self, now: &Link) {
        if let Some(Some(goal)) = self.links.get_mut(&now.name) {
            complete(&mut goal.link.attrs, &now.attrs);
        }
    }

    /// Gives up what nobody asked for and the plan could not put back: `end` is what it leads to.
    pub(crate) fn settle(&mut self, end: &Host) {
        for (name, goal) in &mut self.links {
            let Some(goal) = goal.as_mut().filter(|goal| goal.origin.is_none()) else { continue };
            if let Some(now) = end.links.get(name) {
                goal.link.addresses.retain(|address| now.addresses.iter().any(|there| there.key() == address.key()));
                goal.link.fdb.retain(|key, _| now.fdb.contains_key(key));
                goal.link.mirrors.retain(|key, _| now.mirrors.contains_key(key));
                goal.link.neighbours.retain(|neighbour| now.neighbours.contains(neighbour));
                goal.vlans &= goal.link.vlans == now.vlans;
            }
        }
        // What a lease, a router or a daemon made may be another a moment later, and is then as its owner wants it.
        let asked_or_there = |key: &RouteKey, goal: &GoalRoute| {
            goal.origin.is_some()
                || goal.route.as_ref() == end.routes.get(key) && !goal.route.as_ref().is_some_and(Route::is_dynamic)
        };
        self.routes.retain(|key, goal| asked_or_there(key, goal));
        // A setting that the host has not may appear at any moment; then it is drift, and no reason to take everything else back.
        self.settings.retain(|key, _| end.settings.get(*key).is_some());
    }

    /// The link that is wanted under this name.
    pub(crate) fn link(&self, name: IfName) -> Option<&GoalLink> {
        self.links.get(&name).and_then(Option::as_ref)
    }

    /// Whether the link is wanted to be gone.
    pub(crate) fn is_absent(&self, name: IfName) -> bool {
        matches!(self.links.get(&name), Some(None))
    }

    /// A link was changed without a desired state: it shall be as it was, as far as the desired state leaves it a
    /// place.
    pub(crate) fn heal_link(&mut self, mut link: Link) {
        if self.links.contains_key(&link.name) {
            return;
        }
        if link.base().is_some_and(|base| self.is_absent(base)) {
            self.links.insert(link.name, None);
            return;
        }
        let lost_controller = link.controller.is_some_and(|controller| self.is_absent(controller));
        if lost_controller {
            link.controller = None;
            drop_port_attrs(&mut link.attrs);
        }
        link.mirrors.retain(|_, mirror| !self.is_absent(mirror.to));
        for attr in [Attr::Mac, Attr::Mtu] {
            link.attrs.remove(attr);
        }
        if link.attrs.link(Attr::BondPrimary).is_some_and(|port| self.is_absent(port)) {
            link.attrs.remove(Attr::BondPrimary);
        }
        let goal = GoalLink { vlans: !lost_controller, fdb: !lost_controller, ..GoalLink::put_back(link) };
        self.links.insert(goal.link.name, Some(goal));
    }

    /// A route was lost without a desired state: it comes back over the links that stay. Whether none of its links
    /// does.
    pub(crate) fn heal_route(&mut self, mut route: Route) -> bool {
        let key = route.key();
        if self.routes.contains_key(&key) {
            return false;
        }
        let family = route.family();
        route.next_hops.retain(|hop| !hop.link.is_some_and(|link| self.closed(link, family)));
        let lost = route.next_hops.is_empty() && route.kind == netloom_model::RouteType::Unicast;
        if lost {
            self.routes.insert(key, GoalRoute { route: None, origin: None });
        } else {
            self.routes.insert(key, GoalRoute { route: Some(route), origin: None });
        }
        lost
    }

    /// Whether no packet of the family can leave by the link any more.
    fn closed(&self, name: IfName, family: Family) -> bool {
        match self.links.get(&name) {
            Some(Some(goal)) => {
                let disabled = family == Family::Ipv6 && goal.link.attrs.bool(Attr::Ipv6Disabled) == Some(true);
                !goal.link.up || disabled
            }
            Some(None) => true,
            None => false,
        }
    }
}

/// The goals of routes that shall be as they were. One that a lease, a router or a daemon made is met by whatever stands in its
/// place, for its owner may have been quicker.
fn routes_of(routes: &BTreeMap<RouteKey, Option<Route>>, observed: &Observed) -> BTreeMap<RouteKey, GoalRoute> {
    let mut missed: BTreeMap<(RouteTable, IpNet), Vec<&Route>> = BTreeMap::new();
    for (key, was) in routes {
        if let Some(was) = was.as_ref().filter(|was| was.is_dynamic() && !observed.routes.contains_key(key)) {
            missed.entry((was.table, was.destination)).or_default().push(was);
        }
    }
    let place = |there: &Route| missed.get(&(there.table, there.destination)).into_iter().flatten().copied();
    let there = if missed.is_empty() { &[] } else { &observed.derived_routes[..] };
    let met: BTreeSet<RouteKey> =
        there.iter().flat_map(|there| place(there).filter(|was| there.stands_for(was)).map(Route::key)).collect();
    let goal = |route: &Option<Route>| GoalRoute { route: route.clone(), origin: None };
    routes.iter().filter(|(key, _)| !met.contains(key)).map(|(key, route)| (*key, goal(route))).collect()
}

/// Says of every property that `now` has and `wanted` does not name that it shall be the default.
fn complete(wanted: &mut Attrs, now: &Attrs) {
    for (attr, _) in now.iter() {
        if wanted.given(attr).is_none() {
            wanted.require(attr, attr.default_value().unwrap_or(Value::Unset));
        }
    }
    // The kernel chooses these again when nobody does.
    for attr in [Attr::Mac, Attr::Mtu] {
        if wanted.given(attr) == Some(&Value::Unset) {
            wanted.remove(attr);
        }
    }
}

/// Whether a link has the property as a port of something.
pub(crate) fn is_of_port(attr: Attr) -> bool {
    matches!(attr.section(), Section::BridgePort | Section::BondPort)
}

/// Forgets the properties of a port role.
pub(crate) fn drop_port_attrs(attrs: &mut Attrs) {
    let gone: Vec<_> = attrs.iter().map(|(attr, _)| attr).filter(|attr| is_of_port(*attr)).collect();
    for attr in gone {
        attrs.remove(attr);
    }
}
