//! The VLANs of one bridge port, each with the object that asked for it.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::{
    fabric::text::Interface,
    pipeline::node_network_config::host::{EntryOrigin, HostBridgeVlan},
};

/// VLANs by number. Two objects may need the same one; it is listed once.
#[derive(Debug, Default)]
pub(super) struct Painted {
    vlans: BTreeMap<u16, usize>,
    /// Each only once: a trunk is thousands of VLANs.
    origins: Vec<EntryOrigin>,
}

impl Painted {
    /// Adds VLANs that nobody has asked for yet, but for some.
    pub(super) fn add(&mut self, min: u16, max: u16, except: &BTreeSet<u16>, origin: &EntryOrigin) {
        self.origins.push(origin.clone());
        for vlan in (min..=max).filter(|vlan| !except.contains(vlan)) {
            self.vlans.entry(vlan).or_insert(self.origins.len() - 1);
        }
    }

    /// Adds a VLAN, whoever asked for it before.
    pub(super) fn over(&mut self, vlan: u16, origin: &EntryOrigin) {
        self.origins.push(origin.clone());
        self.vlans.insert(vlan, self.origins.len() - 1);
    }

    /// The entries for a port: neighbours of one origin are one range.
    pub(super) fn ranges(self, port: &str) -> Vec<HostBridgeVlan> {
        let mut ranges: Vec<HostBridgeVlan> = Vec::new();
        for (vlan, origin) in self.vlans {
            let origin = &self.origins[origin];
            match ranges.last_mut() {
                Some(last) if last.max + 1 == vlan && last.origin == *origin => last.max = vlan,
                Some(_) | None => ranges.push(HostBridgeVlan {
                    port: Interface(port.to_owned()),
                    min: vlan,
                    max: vlan,
                    pvid: false,
                    untagged: false,
                    origin: origin.clone(),
                }),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(name: &str) -> EntryOrigin {
        EntryOrigin {
            group: String::new(),
            kind: "K".to_owned(),
            namespace: None,
            name: name.to_owned(),
            path: String::new(),
        }
    }

    #[test]
    fn neighbours_of_one_origin_are_one_range() {
        let mut painted = Painted::default();
        painted.add(2, 6, &BTreeSet::from([4]), &origin("a"));
        painted.add(5, 8, &BTreeSet::new(), &origin("b"));
        painted.over(3, &origin("c"));
        let assigned: Vec<(u16, u16, String)> =
            painted.ranges("p").into_iter().map(|range| (range.min, range.max, range.origin.name)).collect();
        let wanted = [(2, 2, "a"), (3, 3, "c"), (5, 6, "a"), (7, 8, "b")];
        assert_eq!(assigned, wanted.map(|(min, max, name)| (min, max, name.to_owned())));
    }
}
