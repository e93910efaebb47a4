//! The order of links: what others stand on comes first.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{Attr, Link};
use netloom_types::IfName;

/// Sorts links so that bases come before what stands on them and controllers before their ports;
/// names break ties. The circle is returned when there is one.
pub(crate) fn topological<'a>(links: impl Iterator<Item = &'a Link>) -> Result<Vec<IfName>, Vec<IfName>> {
    let links: BTreeMap<IfName, &Link> = links.map(|link| (link.name, link)).collect();
    let mut waiting: BTreeMap<IfName, usize> = BTreeMap::new();
    let mut followers: BTreeMap<IfName, Vec<IfName>> = BTreeMap::new();
    for (name, link) in &links {
        let needs: BTreeSet<IfName> =
            [link.base(), link.controller].into_iter().flatten().filter(|need| links.contains_key(need)).collect();
        waiting.insert(*name, needs.len());
        for need in needs {
            followers.entry(need).or_default().push(*name);
        }
    }
    let mut ready: BTreeSet<IfName> = waiting.iter().filter(|(_, n)| **n == 0).map(|(name, _)| *name).collect();
    let mut order = Vec::with_capacity(links.len());
    while let Some(next) = ready.pop_first() {
        order.push(next);
        waiting.remove(&next);
        for follower in followers.remove(&next).unwrap_or_default() {
            if let Some(left) = waiting.get_mut(&follower) {
                *left -= 1;
                if *left == 0 {
                    ready.insert(follower);
                }
            }
        }
    }
    if waiting.is_empty() { Ok(order) } else { Err(waiting.into_keys().collect()) }
}

/// Which links go when another goes: what stands on it, and the other end of a pair.
#[derive(Debug, Default)]
pub(crate) struct Dependents(BTreeMap<IfName, Vec<IfName>>);

impl Dependents {
    /// Reads them off the links.
    pub(crate) fn of<'a>(links: impl Iterator<Item = &'a Link>) -> Self {
        let mut map: BTreeMap<IfName, Vec<IfName>> = BTreeMap::new();
        for link in links {
            if let Some(base) = link.base() {
                map.entry(base).or_default().push(link.name);
            }
            if let Some(peer) = link.attrs.link(Attr::VethPeer) {
                map.entry(peer).or_default().push(link.name);
            }
        }
        Self(map)
    }

    /// The links that go with `name`, deepest first, `name` itself last.
    pub(crate) fn closure(&self, name: IfName) -> Vec<IfName> {
        let mut seen = BTreeSet::from([name]);
        let mut order = vec![name];
        let mut at = 0;
        while at < order.len() {
            for next in self.0.get(&order[at]).into_iter().flatten() {
                if seen.insert(*next) {
                    order.push(*next);
                }
            }
            at += 1;
        }
        order.reverse();
        order
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{LinkKind, Value};

    use super::*;

    fn name(text: &str) -> IfName {
        text.parse().unwrap()
    }

    fn vlan(link: &str, base: &str) -> Link {
        let mut vlan = Link::new(name(link), LinkKind::Vlan);
        vlan.attrs.require(Attr::Base, Value::Link(name(base)));
        vlan
    }

    #[test]
    fn bases_and_controllers_come_first_and_names_break_ties() {
        let mut port = Link::new(name("a0"), LinkKind::Dummy);
        port.controller = Some(name("z0"));
        let links =
            [vlan("a.10", "a0"), port, Link::new(name("z0"), LinkKind::Bridge), Link::new(name("b0"), LinkKind::Dummy)];
        let order = topological(links.iter()).unwrap();
        assert_eq!(order, [name("b0"), name("z0"), name("a0"), name("a.10")]);
    }

    #[test]
    fn a_circle_is_named() {
        let links = [vlan("a", "b"), vlan("b", "a"), Link::new(name("c"), LinkKind::Dummy)];
        assert_eq!(topological(links.iter()), Err(vec![name("a"), name("b")]));
    }

    #[test]
    fn what_goes_with_a_link_goes_before_it() {
        let links = [vlan("a.1", "a"), vlan("a.1.2", "a.1"), Link::new(name("a"), LinkKind::Dummy)];
        assert_eq!(Dependents::of(links.iter()).closure(name("a")), [name("a.1.2"), name("a.1"), name("a")]);
    }
}
