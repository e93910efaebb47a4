//! The links that must have carrier before a probe counts.
//!
//! A link is waited for when it is up after the change and
//!
//! - a step names it, or it stands on such a link, **and** it had carrier before; or
//! - it is new, or a controller with a port that it did not have, **and** a link below it had carrier before.
//!
//! Everything else would be waited for in vain: a port without a cable, a bridge whose only port spanning tree blocks,
//! and what the change itself leaves without carrier, such as a bridge without ports or one end of a pair whose other
//! end is down.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{Attr, Host, Link, Observed, Plan};
use netloom_types::IfName;

/// What a plan touches, and how that was before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// Links that steps name.
    links: BTreeSet<IfName>,
    /// Links that had carrier.
    carrier: BTreeSet<IfName>,
    /// Links that had none, with those below them.
    without: BTreeMap<IfName, BTreeSet<IfName>>,
}

impl Touched {
    /// What a plan touches on this host.
    pub fn of(plan: &Plan, before: &Observed) -> Self {
        let traits = plan.steps.iter().map(|planned| planned.step.traits());
        let links: BTreeSet<IfName> = traits.filter(|step| step.takes_carrier).filter_map(|step| step.link).collect();
        if links.is_empty() {
            return Self::default();
        }
        let has = |name: &IfName| before.facts.get(name).is_some_and(|facts| facts.carrier);
        let (carrier, without): (BTreeSet<IfName>, BTreeSet<IfName>) = before.links.keys().partition(|name| has(name));
        let below = ports(&before.host);
        let of = |name: IfName| (name, below_of(&before.host, &below, name));
        Self { links, carrier, without: without.into_iter().map(of).collect() }
    }

    /// Whether there is nothing to wait for, however the host is.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The links that have no carrier now and must have, by name.
    pub fn missing(&self, now: &Observed) -> Vec<IfName> {
        if self.is_empty() {
            return Vec::new();
        }
        let ports = ports(&now.host);
        let has = |name: &IfName| now.facts.get(name).is_some_and(|facts| facts.carrier);
        let mut due: BTreeSet<IfName> = BTreeSet::new();
        // What stands on a link is due after it; stacks are a few links high, and the set only grows.
        loop {
            let is_more = |link: &&Link| {
                let below = below_of(&now.host, &ports, link.name);
                let can = can_have(link, &now.host, |port| due.contains(port) || has(port), &below);
                link.up && !due.contains(&link.name) && can && self.is_due(link, &below, &due)
            };
            let more: Vec<IfName> = now.links.values().filter(is_more).map(|link| link.name).collect();
            if more.is_empty() {
                break;
            }
            due.extend(more);
        }
        due.into_iter().filter(|name| !has(name)).collect()
    }

    fn is_due(&self, link: &Link, below: &BTreeSet<IfName>, due: &BTreeSet<IfName>) -> bool {
        let touched = self.links.contains(&link.name) || below.iter().any(|name| self.links.contains(name));
        if self.carrier.contains(&link.name) {
            return touched || below.iter().any(|name| due.contains(name));
        }
        let before = self.without.get(&link.name);
        let mut gained = below.iter().filter(|name| before.is_none_or(|before| !before.contains(*name)));
        touched && gained.any(|name| self.carrier.contains(name) || due.contains(name))
    }
}

/// Whether a link can have carrier at all, with what is below it or at its other end.
fn can_have(link: &Link, host: &Host, carries: impl Fn(&IfName) -> bool, below: &BTreeSet<IfName>) -> bool {
    let needs_below = link.kind.is_controller() || link.base().is_some();
    let peer = link.attrs.link(Attr::VethPeer).and_then(|peer| host.links.get(&peer));
    (!needs_below || below.iter().any(carries)) && peer.is_none_or(|peer| peer.up)
}

/// The ports of every controller.
fn ports(host: &Host) -> BTreeMap<IfName, BTreeSet<IfName>> {
    let mut ports: BTreeMap<IfName, BTreeSet<IfName>> = BTreeMap::new();
    for link in host.links.values() {
        if let Some(controller) = link.controller {
            ports.entry(controller).or_default().insert(link.name);
        }
    }
    ports
}

/// The links that one needs to carry anything: its base and its ports.
fn below_of(host: &Host, ports: &BTreeMap<IfName, BTreeSet<IfName>>, name: IfName) -> BTreeSet<IfName> {
    let base = host.links.get(&name).and_then(Link::base);
    ports.get(&name).into_iter().flatten().copied().chain(base).collect()
}

#[cfg(test)]
mod tests {
    use netloom_model::{Attrs, LinkFacts, LinkKind, PlannedStep, Step, Value};

    use super::*;

    fn name(text: &str) -> IfName {
        text.parse().unwrap()
    }

    fn link(text: &str, kind: LinkKind) -> Link {
        Link { up: true, ..Link::new(name(text), kind) }
    }

    fn port(text: &str, controller: &str) -> Link {
        Link { controller: Some(name(controller)), ..link(text, LinkKind::Ethernet) }
    }

    fn vlan(text: &str, base: &str) -> Link {
        let mut link = link(text, LinkKind::Vlan);
        link.attrs.set(Attr::Base, Value::Link(name(base)));
        link
    }

    /// A host with these links, of which some have carrier.
    fn host(links: &[Link], carrier: &[&str]) -> Observed {
        let mut host = Observed::default();
        for link in links {
            let facts = LinkFacts { carrier: carrier.contains(&link.name.as_str()), ..LinkFacts::default() };
            host.facts.insert(link.name, facts);
            host.host.links.insert(link.name, link.clone());
        }
        host
    }

    fn touched(links: &[&str], before: &Observed) -> Touched {
        let set = |link: &&str| Step::SetAttrs { name: name(link), kind: LinkKind::Ethernet, attrs: Attrs::new() };
        let steps = links.iter().map(|link| PlannedStep { step: set(link), undo: Vec::new(), origin: None }).collect();
        Touched::of(&Plan { steps }, before)
    }

    fn missing(links: &[&str], before: &Observed, after: &Observed) -> Vec<String> {
        touched(links, before).missing(after).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_card_that_lost_its_carrier_is_waited_for_with_what_stands_on_it() {
        let links = [link("eth0", LinkKind::Ethernet), link("eth1", LinkKind::Ethernet), vlan("eth0.5", "eth0")];
        let before = host(&links, &["eth0", "eth0.5", "eth1"]);
        assert_eq!(missing(&["eth0"], &before, &host(&links, &[])), ["eth0", "eth0.5"]);
        assert_eq!(missing(&["eth0"], &before, &host(&links, &["eth0"])), ["eth0.5"]);
        assert_eq!(missing(&["eth0"], &before, &host(&links, &["eth0", "eth0.5"])), [""; 0]);
    }

    #[test]
    fn what_had_no_carrier_before_or_is_down_now_delays_nothing() {
        let links = [link("eth0", LinkKind::Ethernet), link("eth1", LinkKind::Ethernet)];
        let before = host(&links, &["eth0"]);
        assert_eq!(missing(&["eth1"], &before, &host(&links, &["eth0"])), [""; 0]);
        let down = Link { up: false, ..links[0].clone() };
        assert_eq!(missing(&["eth0"], &before, &host(&[down, links[1].clone()], &[])), [""; 0]);
    }

    #[test]
    fn a_new_controller_over_a_link_with_carrier_is_waited_for() {
        let before = host(&[link("eth0", LinkKind::Ethernet), link("eth1", LinkKind::Ethernet)], &["eth0"]);
        let after = |first: Link, second: Link| {
            host(&[first, second, link("bond0", LinkKind::Bond), vlan("bond0.5", "bond0")], &["eth0"])
        };
        let steps = ["eth0", "eth1", "bond0", "bond0.5"];
        let over = after(port("eth0", "bond0"), link("eth1", LinkKind::Ethernet));
        assert_eq!(missing(&steps, &before, &over), ["bond0", "bond0.5"]);
        let empty = after(link("eth0", LinkKind::Ethernet), port("eth1", "bond0"));
        assert_eq!(missing(&steps, &before, &empty), [""; 0], "its only port never had any");
    }

    #[test]
    fn a_bridge_is_waited_for_when_it_gets_a_port_and_not_when_it_was_blocked_or_loses_it() {
        let (bridge, free) = (link("br0", LinkKind::Bridge), link("eth0", LinkKind::Ethernet));
        let taken = port("eth0", "br0");
        let (alone, with) = ([bridge.clone(), free], [bridge, taken]);
        let gets = missing(&["eth0"], &host(&alone, &["eth0"]), &host(&with, &["eth0"]));
        assert_eq!(gets, ["br0"], "spanning tree listens first");
        let blocked = host(&with, &["eth0"]);
        assert_eq!(missing(&["br0", "eth0"], &blocked, &blocked), [""; 0]);
        let loses = missing(&["br0", "eth0"], &host(&with, &["eth0", "br0"]), &host(&alone, &["eth0"]));
        assert_eq!(loses, [""; 0]);
    }

    #[test]
    fn addresses_and_routes_cost_no_carrier() {
        let before = host(&[link("eth0", LinkKind::Ethernet)], &["eth0"]);
        let step = Step::SetAlias { name: name("eth0"), alias: None };
        let plan = Plan { steps: vec![PlannedStep { step, undo: Vec::new(), origin: None }] };
        assert!(Touched::of(&plan, &before).is_empty());
    }
}
