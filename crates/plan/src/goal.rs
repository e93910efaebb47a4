//! What the host shall be: the wish laid over the observation.
//!
//! A goal is complete for each object that it names, so that whatever a step takes away beside what
//! it was asked to can be put back. Objects that a plan touches without a wish join the goal with the
//! value that they had (`Goal::heal_*`), as far as the wish leaves them a place.

use std::collections::BTreeMap;

use netloom_model::{Attr, Attrs, Link, LinkKind, Observed, Origin, Route, RouteKey, RuleKey, Section, Target, Value};
use netloom_types::{Family, IfName, Protocol};

/// What one link shall be.
#[derive(Debug, Clone)]
pub(crate) struct GoalLink {
    /// The link, its properties being wishes.
    pub(crate) link: Link,
    /// Whether its VLANs matter; a new port gets those of its bridge.
    pub(crate) vlans: bool,
    /// Whether its forwarding entries matter; a port that moves loses them.
    pub(crate) fdb: bool,
    /// Who asked; none for a link that only has to be put back.
    pub(crate) origin: Option<Origin>,
}

/// What one route shall be.
#[derive(Debug, Clone)]
pub(crate) struct GoalRoute {
    /// The route, or none.
    pub(crate) route: Option<Route>,
    /// Who asked; none for a route that only has to be put back.
    pub(crate) origin: Option<Origin>,
}

/// What one rule shall be.
#[derive(Debug, Clone)]
pub(crate) struct GoalRule {
    /// Its maker, or none when the rule shall go.
    pub(crate) protocol: Option<Protocol>,
    /// Who asked.
    pub(crate) origin: Option<Origin>,
}

/// What the host shall be, for the objects that are concerned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Goal {
    pub(crate) links: BTreeMap<IfName, Option<GoalLink>>,
    pub(crate) routes: BTreeMap<RouteKey, GoalRoute>,
    pub(crate) rules: BTreeMap<RuleKey, GoalRule>,
    pub(crate) resolver: Option<netloom_model::Resolver>,
    pub(crate) hostname_running: Option<String>,
    pub(crate) hostname_config: Option<String>,
}

impl Goal {
    /// The goal of putting back exactly what `target` shows.
    pub(crate) fn from_target(target: &Target, observed: &Observed) -> Self {
        let Target { links, routes, rules, resolver, hostname_running, hostname_config } = target;
        let whole = |link: &Link| {
            let mut link = link.clone();
            if let Some(now) = observed.links.get(&link.name) {
                complete(&mut link.attrs, &now.attrs);
            }
            GoalLink { link, vlans: true, fdb: true, origin: None }
        };
        Self {
            links: links.iter().map(|(name, link)| (*name, link.as_ref().map(whole))).collect(),
            routes: routes
                .iter()
                .map(|(key, route)| (*key, GoalRoute { route: route.clone(), origin: None }))
                .collect(),
            rules: rules.iter().map(|(key, &protocol)| (*key, GoalRule { protocol, origin: None })).collect(),
            resolver: resolver.clone(),
            hostname_running: hostname_running.clone(),
            hostname_config: hostname_config.clone(),
        }
    }

    /// The link that is wanted under this name.
    pub(crate) fn link(&self, name: IfName) -> Option<&GoalLink> {
        self.links.get(&name).and_then(Option::as_ref)
    }

    /// Whether the link is wanted to be gone.
    pub(crate) fn is_absent(&self, name: IfName) -> bool {
        matches!(self.links.get(&name), Some(None))
    }

    /// A link was changed without a wish: it shall be as it was, as far as the wish leaves it a place.
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
        let goal = GoalLink { vlans: !lost_controller, fdb: !lost_controller, origin: None, link };
        self.links.insert(goal.link.name, Some(goal));
    }

    /// A route was lost without a wish: it comes back over the links that stay.
    pub(crate) fn heal_route(&mut self, mut route: Route) {
        let key = route.key();
        if self.routes.contains_key(&key) {
            return;
        }
        let family = route.family();
        route.next_hops.retain(|hop| !hop.link.is_some_and(|link| self.closed(link, family)));
        let lost = route.next_hops.is_empty() && route.kind == netloom_model::RouteType::Unicast;
        if lost {
            self.routes.insert(key, GoalRoute { route: None, origin: None });
        } else {
            self.routes.insert(key, GoalRoute { route: Some(route), origin: None });
        }
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

/// Says of every property that `now` has and `wanted` does not name that it shall be the default.
fn complete(wanted: &mut Attrs, now: &Attrs) {
    for (attr, _) in now.iter() {
        if wanted.said(attr).is_none() {
            wanted.wish(attr, attr.default_value().unwrap_or(Value::Unset));
        }
    }
    // The kernel chooses these again when nobody does.
    for attr in [Attr::Mac, Attr::Mtu] {
        if wanted.said(attr) == Some(&Value::Unset) {
            wanted.remove(attr);
        }
    }
}

/// Forgets the properties of a port role.
pub(crate) fn drop_port_attrs(attrs: &mut Attrs) {
    let gone: Vec<_> = attrs
        .iter()
        .map(|(attr, _)| attr)
        .filter(|attr| matches!(attr.section(), Section::BridgePort | Section::BondPort))
        .collect();
    for attr in gone {
        attrs.remove(attr);
    }
}

/// The properties without which the kernel makes no link of this kind.
pub(crate) fn required(kind: &LinkKind) -> &'static [Attr] {
    match kind {
        LinkKind::Vlan => &[Attr::Base, Attr::VlanId],
        LinkKind::Vrf => &[Attr::VrfTable],
        LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan => &[Attr::Base],
        LinkKind::Veth => &[Attr::VethPeer],
        LinkKind::IpTunnel => &[Attr::TunnelMode],
        LinkKind::Vxlan
        | LinkKind::Ethernet
        | LinkKind::Loopback
        | LinkKind::Dummy
        | LinkKind::Bridge
        | LinkKind::Bond
        | LinkKind::Gre
        | LinkKind::Gretap
        | LinkKind::Ip6gre
        | LinkKind::Ip6gretap
        | LinkKind::Other(_) => &[],
    }
}
