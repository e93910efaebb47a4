//! Links on links: bases that must exist, cycles, and pairs of links that the kernel does not take.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{Attr, LinkKind, Presence};
use netloom_types::IfName;

use super::Merge;
use crate::errors::reason;

impl Merge<'_> {
    pub(super) fn topology(&mut self) {
        self.check_bases();
        self.check_cycles();
        self.check_equal_ids();
        self.check_shared_bases();
    }

    fn check_bases(&mut self) {
        let desired: Vec<IfName> =
            self.links.values().filter(|w| w.presence == Presence::Present).map(|w| w.name).collect();
        for name in desired {
            let Some(base) = self.links.get(&name).and_then(|w| w.attrs.link(Attr::Base)) else { continue };
            let block = self.kind(name).map(|k| k.block().to_owned()).unwrap_or_default();
            let path = format!("{}.{block}.base-iface", self.path_of(name));
            if base == name {
                self.refuse(path, reason::CYCLE, format!("{name} cannot stand on itself"));
            } else if self.goes(base) {
                let message = format!("{base} shall be absent, and {name} stands on it; make both absent or keep both");
                self.refuse(path, reason::ABSENT_PARENT, message);
            } else if !self.exists(base) {
                let message = format!("{base} does not exist and is not asked for; check the name");
                self.refuse(path, reason::LINK_NOT_FOUND, message);
            }
        }
    }

    /// The links directly above a link: its controller and what stands on it. Tunnels only borrow
    /// their base, the kernel does not stack them.
    fn uppers(&self) -> BTreeMap<IfName, Vec<IfName>> {
        let mut uppers: BTreeMap<IfName, Vec<IfName>> = BTreeMap::new();
        for name in self.all_names() {
            uppers.entry(name).or_default().extend(self.controller(name));
            let stacked = matches!(
                self.kind(name),
                Some(LinkKind::Vlan | LinkKind::Vxlan | LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan)
            );
            if let (true, Some(base)) = (stacked, self.base(name)) {
                uppers.entry(base).or_default().push(name);
            }
        }
        uppers
    }

    fn check_cycles(&mut self) {
        let uppers = self.uppers();
        // Take away, again and again, what nothing is above of; what is left is in or below a cycle.
        let mut open: BTreeMap<IfName, usize> = uppers.iter().map(|(name, up)| (*name, up.len())).collect();
        let mut lowers: BTreeMap<IfName, Vec<IfName>> = BTreeMap::new();
        for (name, ups) in &uppers {
            for up in ups {
                lowers.entry(*up).or_default().push(*name);
            }
        }
        let mut ready: Vec<IfName> = open.iter().filter(|(_, n)| **n == 0).map(|(name, _)| *name).collect();
        while let Some(name) = ready.pop() {
            open.remove(&name);
            for lower in lowers.get(&name).into_iter().flatten() {
                if let Some(count) = open.get_mut(lower) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(*lower);
                    }
                }
            }
        }
        let Some(ring) = ring(&uppers, &open.keys().copied().collect()) else { return };
        let words: Vec<String> = ring.iter().map(IfName::to_string).collect();
        let path = ring.iter().map(|name| self.path_of(*name)).find(|path| !path.is_empty()).unwrap_or_default();
        let message =
            format!("links would stand on themselves: {} below {}; break the circle", words.join(" below "), words[0]);
        self.refuse(path, reason::CYCLE, message);
    }

    /// Two VLANs or two VXLANs that the kernel could not tell apart.
    fn check_equal_ids(&mut self) {
        let by_vlan = self.grouped(|merge, name| {
            let is = merge.kind(name) == Some(&LinkKind::Vlan);
            is.then(|| (merge.base(name), merge.int(name, Attr::VlanId), merge.int(name, Attr::VlanProtocol)))
        });
        let by_vni = self.grouped(|merge, name| {
            let plain = merge.kind(name) == Some(&LinkKind::Vxlan) && !merge.bool(name, Attr::VxlanExternal);
            plain.then(|| (merge.base(name), merge.int(name, Attr::VxlanId), merge.int(name, Attr::VxlanPort)))
        });
        for (groups, block) in [(by_vlan, "vlan"), (by_vni, "vxlan")] {
            for ((_, id, _), names) in groups {
                let Some(named) = names.iter().rev().find(|name| self.links.contains_key(name)) else { continue };
                if names.len() > 1 && names.iter().any(|name| self.changes_identity(*name)) {
                    let others: Vec<String> = names.iter().filter(|n| *n != named).map(IfName::to_string).collect();
                    let message = format!("{id} on the same base is {} already; take another id", others.join(", "));
                    let path = format!("{}.{block}.id", self.path_of(*named));
                    self.refuse(path, reason::CONTRADICTION, message);
                }
            }
        }
    }

    /// Whether the desired state makes the link or gives it another id or base; what is so already is fine.
    fn changes_identity(&self, name: IfName) -> bool {
        let Some(link) = self.current(name) else { return true };
        self.links.get(&name).is_some_and(|w| {
            [Attr::Base, Attr::VlanId, Attr::VlanProtocol, Attr::VxlanId, Attr::VxlanPort]
                .into_iter()
                .any(|attr| w.attrs.given(attr).is_some_and(|v| link.attrs.get(attr).as_ref() != Some(v)))
        })
    }

    /// One base carries links with addresses of their own, or links that share one, not both.
    fn check_shared_bases(&mut self) {
        let groups = self.grouped(|merge, name| {
            let shares = matches!(merge.kind(name), Some(LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan));
            merge.base(name).filter(|_| shares)
        });
        for (base, names) in groups {
            let is_ipvlan = |name: &IfName| self.kind(*name) == Some(&LinkKind::IpVlan);
            let mixed = names.iter().any(is_ipvlan) && !names.iter().all(is_ipvlan);
            let Some(named) = names.iter().find(|name| self.links.contains_key(name)) else { continue };
            if mixed {
                let message = format!("{base} cannot carry ipvlan and mac-vlan links at once; choose one of the two");
                let path = self.path_of(*named);
                self.refuse(path, reason::CONTRADICTION, message);
            }
        }
    }
}

/// One circle among the links of `within`.
fn ring(uppers: &BTreeMap<IfName, Vec<IfName>>, within: &BTreeSet<IfName>) -> Option<Vec<IfName>> {
    let mut walk: Vec<IfName> = vec![*within.first()?];
    loop {
        let here = *walk.last()?;
        let up = *uppers.get(&here)?.iter().find(|up| within.contains(up))?;
        if let Some(start) = walk.iter().position(|name| *name == up) {
            return Some(walk.split_off(start));
        }
        walk.push(up);
    }
}
