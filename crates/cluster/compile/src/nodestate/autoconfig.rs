//! What a node finds out by itself: bonds and VLANs, from what its neighbours announce.
//!
//! A bond or VLAN that is there stays while nobody says anything else: a switch that restarts, or
//! an agent that has only just begun to listen, is no reason to take a network apart. So links that
//! are ports of a bond stay together while they hear nothing, and VLANs stay while their wires are
//! silent.

use std::collections::{BTreeMap, BTreeSet};

use netloom_types::IfName;
use serde_json::{Map, Value, json};

use super::rules::can_hear;
use crate::{
    finding::{Finding, reason},
    state::{Inventory, Link},
};

/// A link that shall be made.
pub(super) struct Made {
    pub(super) name: String,
    pub(super) entry: Map<String, Value>,
    pub(super) place: &'static str,
}

const BONDING: &str = "spec.autoconfig.autoBonding";
const VLANS: &str = "spec.autoconfig.autoVlan";

/// A bond and what it is made of.
struct Bond<'a> {
    name: String,
    mode: String,
    ports: Vec<&'a str>,
}

/// Links that belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Group<'a> {
    /// They lead to the same machines.
    Heard(BTreeSet<&'a str>),
    /// They hear nothing and are ports of this bond.
    Bonded(&'a str),
    /// They have listened and hear nothing.
    Silent,
}

/// What follows from the neighbours of the matched links.
pub(super) struct Auto<'a> {
    pub(super) inventory: &'a Inventory,
    /// The links that the policy matches.
    pub(super) matched: &'a [String],
    /// VLANs that the policy had on wires that are silent now.
    pub(super) before: Option<&'a BTreeSet<String>>,
}

impl<'a> Auto<'a> {
    /// The links to make, and what stands in the way of others.
    pub(super) fn links(&self, bonding: bool, vlans: bool) -> (Vec<Made>, Vec<Finding>) {
        let bonds = if bonding { self.bonds() } else { Vec::new() };
        let mut made: Vec<Made> = bonds
            .iter()
            .map(|bond| Made { name: bond.name.clone(), entry: bond_entry(bond), place: BONDING })
            .collect();
        let mut findings = Vec::new();
        if vlans {
            for (carrier, ids) in self.carriers(&bonds) {
                for id in ids {
                    match self.vlan(&carrier, id) {
                        Ok(vlan) => made.push(vlan),
                        Err(finding) => findings.push(finding),
                    }
                }
            }
        }
        (made, findings)
    }

    fn wires(&self) -> impl Iterator<Item = (&'a str, &'a Link)> {
        let find = |name: &'a String| Some((name.as_str(), self.inventory.get(name)?));
        self.matched.iter().filter_map(find).filter(|(_, link)| can_hear(link))
    }

    /// The bond that a link is a port of.
    fn bond_of(&self, link: &'a Link) -> Option<&'a str> {
        let controller = link.controller.as_deref()?;
        (self.inventory.get(controller)?.kind == "bond").then_some(controller)
    }

    fn bonds(&self) -> Vec<Bond<'a>> {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut bonds = Vec::new();
        for (group, ports) in self.groups() {
            let known = ports.iter().filter_map(|port| self.bond_of(self.inventory.get(port)?));
            let known = known.filter(|bond| !taken.contains(*bond)).min();
            // A new bond takes two; one that is there stays while it has a port.
            if known.is_none() && ports.len() < 2 {
                continue;
            }
            let name = known.map_or_else(|| self.free_name(&taken), str::to_owned);
            let mode = match &group {
                Group::Heard(machines) if machines.len() == 1 => "802.3ad".to_owned(),
                Group::Heard(_) => "active-backup".to_owned(),
                Group::Bonded(_) | Group::Silent => {
                    let there = known.and_then(|bond| self.inventory.get(bond)?.bond_mode.clone());
                    there.unwrap_or_else(|| "active-backup".to_owned())
                }
            };
            taken.insert(name.clone());
            bonds.push(Bond { name, mode, ports });
        }
        bonds
    }

    /// Matched links that can be ports, by what belongs together.
    fn groups(&self) -> BTreeMap<Group<'a>, Vec<&'a str>> {
        let fits = |link: &Link| {
            let bonded = self.bond_of_any(link);
            !link.has_ip && (link.up || bonded) && (bonded || link.controller.is_none())
        };
        let candidates: Vec<(&str, &Link)> = self.wires().filter(|(_, link)| fits(link)).collect();
        let mut groups: BTreeMap<Group<'a>, Vec<&'a str>> = BTreeMap::new();
        for (name, link) in candidates.iter().filter(|(_, link)| !link.chassis().is_empty()) {
            groups.entry(Group::Heard(link.chassis())).or_default().push(name);
        }
        for (name, link) in candidates.iter().filter(|(_, link)| link.chassis().is_empty()) {
            let Some(bond) = self.bond_of(link) else { continue };
            let with = groups.iter().find(|(_, ports)| self.shares_bond(ports, bond)).map(|(group, _)| group.clone());
            groups.entry(with.unwrap_or(Group::Bonded(bond))).or_default().push(name);
        }
        let heard = groups.keys().any(|group| matches!(group, Group::Heard(_)));
        let loose = candidates.iter().filter(|(_, link)| link.chassis().is_empty() && link.listened);
        let loose: Vec<&str> = loose.filter(|(_, link)| link.controller.is_none()).map(|(name, _)| *name).collect();
        if !heard && groups.len() < 2 && !loose.is_empty() {
            let all = groups.keys().next().cloned().unwrap_or(Group::Silent);
            groups.entry(all).or_default().extend(loose);
        }
        for ports in groups.values_mut() {
            ports.sort_unstable();
        }
        groups
    }

    fn bond_of_any(&self, link: &Link) -> bool {
        link.controller.as_ref().and_then(|name| self.inventory.get(name)).is_some_and(|bond| bond.kind == "bond")
    }

    fn shares_bond(&self, ports: &[&'a str], bond: &str) -> bool {
        ports.iter().any(|port| self.inventory.get(port).and_then(|link| self.bond_of(link)) == Some(bond))
    }

    fn free_name(&self, taken: &BTreeSet<String>) -> String {
        let mut numbers = 0_usize..;
        loop {
            let name = format!("bond{}", numbers.next().unwrap_or_default());
            if !taken.contains(&name) && self.inventory.get(&name).is_none() {
                return name;
            }
        }
    }

    /// What VLANs stand on, and which ids are announced there. Those of a bond stand on the bond.
    fn carriers(&self, bonds: &[Bond<'a>]) -> BTreeMap<String, BTreeSet<u16>> {
        let mut carriers: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
        for (name, link) in self.wires() {
            let bond = bonds.iter().find(|bond| bond.ports.contains(&name)).map(|bond| bond.name.as_str());
            let carrier = match (bond.or_else(|| self.bond_of(link)), &link.controller) {
                (Some(bond), _) => bond,
                (None, None) => name,
                // What a bridge or VRF carries is not for the port to take.
                (None, Some(_)) => continue,
            };
            carriers.entry(carrier.to_owned()).or_default().extend(link.announced_vlans());
        }
        for kept in self.before.into_iter().flatten() {
            let parts = kept.rsplit_once('.').and_then(|(base, id)| Some((base, id.parse::<u16>().ok()?)));
            if let Some((base, id)) = parts
                && let Some(ids) = carriers.get_mut(base)
            {
                ids.insert(id);
            }
        }
        carriers
    }

    fn vlan(&self, carrier: &str, id: u16) -> Result<Made, Finding> {
        let name = format!("{carrier}.{id}");
        if name.parse::<IfName>().is_err() {
            let message = format!("VLAN {id} is announced on {carrier}, and {name} is too long for the name of a link");
            return Err(Finding::new(reason::NO_NAME, VLANS, message));
        }
        // One that policies made is up to them.
        let same = |link: &Link| {
            !link.desired && link.kind == "vlan" && link.base.as_deref() == Some(carrier) && link.vlan == Some(id)
        };
        if let Some((other, _)) = self.inventory.links.iter().find(|(other, link)| **other != name && same(link)) {
            let message = format!("VLAN {id} is announced on {carrier}, where it is there already as {other}");
            return Err(Finding::new(reason::NO_NAME, VLANS, message));
        }
        let entry = json!({"type": "vlan", "state": "up", "vlan": {"base-iface": carrier, "id": id}});
        Ok(Made { name, entry: entry.as_object().cloned().unwrap_or_default(), place: VLANS })
    }
}

fn bond_entry(bond: &Bond<'_>) -> Map<String, Value> {
    let entry = json!({"type": "bond", "state": "up", "link-aggregation": {"mode": bond.mode, "port": bond.ports}});
    entry.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name: state, controller, chassis (or "-" when it has listened in vain, "" when it has not), vlans`.
    fn inventory(links: &[(&str, &str, &str, &str, &[u16])]) -> Inventory {
        let mut interfaces: Vec<Value> = links
            .iter()
            .map(|(name, state, controller, chassis, vlans)| {
                let vlans: Vec<Value> = vlans.iter().map(|id| json!({"vid": id})).collect();
                let lldp = match *chassis {
                    "" => json!({"enabled": true}),
                    "-" => json!({"enabled": true, "neighbors": []}),
                    chassis => {
                        json!({"enabled": true, "neighbors": [[{"chassis-id": chassis}, {"ieee-802-1-vlans": vlans}]]})
                    }
                };
                json!({"name": name, "type": "ethernet", "state": state, "controller": controller, "lldp": lldp})
            })
            .collect();
        let bonds: BTreeSet<&str> = links.iter().map(|link| link.2).filter(|name| name.starts_with("bond")).collect();
        interfaces.extend(
            bonds.iter().map(
                |name| json!({"name": name, "type": "bond", "state": "up", "link-aggregation": {"mode": "802.3ad"}}),
            ),
        );
        Inventory::read(&json!({"interfaces": interfaces}))
    }

    fn bonds(inventory: &Inventory) -> Vec<String> {
        let matched: Vec<String> = inventory.links.keys().cloned().collect();
        let auto = Auto { inventory, matched: &matched, before: None };
        auto.bonds().iter().map(|bond| format!("{} {} {}", bond.name, bond.mode, bond.ports.join("+"))).collect()
    }

    #[test]
    fn links_to_one_machine_become_one_bond() {
        let found = inventory(&[
            ("eth0", "up", "", "s1", &[]),
            ("eth1", "up", "", "s2", &[]),
            ("eth2", "up", "", "s1", &[]),
            ("eth3", "up", "", "s2", &[]),
        ]);
        assert_eq!(bonds(&found), ["bond0 802.3ad eth0+eth2", "bond1 802.3ad eth1+eth3"]);
    }

    #[test]
    fn without_neighbours_all_become_one_bond_once_they_have_listened() {
        assert_eq!(
            bonds(&inventory(&[("eth0", "up", "", "-", &[]), ("eth1", "up", "", "-", &[])])),
            ["bond0 active-backup eth0+eth1"]
        );
        assert!(
            bonds(&inventory(&[("eth0", "up", "", "", &[]), ("eth1", "up", "", "", &[])])).is_empty(),
            "too early to tell"
        );
    }

    #[test]
    fn what_cannot_be_a_port_is_left_out() {
        let lone =
            inventory(&[("eth0", "up", "", "s1", &[]), ("eth1", "up", "", "s2", &[]), ("eth2", "up", "", "-", &[])]);
        assert!(bonds(&lone).is_empty(), "a bond takes two");
        let down = inventory(&[("eth0", "up", "", "s1", &[]), ("eth1", "down", "", "s1", &[])]);
        assert!(bonds(&down).is_empty());
        let bridged = inventory(&[("eth0", "up", "br0", "s1", &[]), ("eth1", "up", "", "s1", &[])]);
        assert!(bonds(&bridged).is_empty());
        let mut addressed = inventory(&[("eth0", "up", "", "s1", &[]), ("eth1", "up", "", "s1", &[])]);
        addressed.links.get_mut("eth1").unwrap().has_ip = true;
        assert!(bonds(&addressed).is_empty());
    }

    #[test]
    fn a_bond_that_is_there_stays_whatever_is_heard_no_more() {
        let both: &[(&str, &str, &str, &str, &[u16])] = &[
            ("eth0", "up", "bond7", "", &[]),
            ("eth1", "up", "bond7", "", &[]),
            ("eth2", "up", "bond3", "", &[]),
            ("eth3", "up", "bond3", "", &[]),
        ];
        assert_eq!(bonds(&inventory(both)), ["bond3 802.3ad eth2+eth3", "bond7 802.3ad eth0+eth1"], "nobody is heard");
        let one = [both[0], ("eth1", "up", "bond7", "s1", &[]), both[2], both[3]];
        assert_eq!(bonds(&inventory(&one)), ["bond7 802.3ad eth0+eth1", "bond3 802.3ad eth2+eth3"], "one is heard");
        assert_eq!(bonds(&inventory(&both[..1])), ["bond7 802.3ad eth0"], "the other port is gone");
        let taken =
            inventory(&[("eth0", "up", "", "s1", &[]), ("eth1", "up", "", "s1", &[]), ("x", "up", "bond0", "s2", &[])]);
        assert_eq!(bonds(&taken), ["bond1 802.3ad eth0+eth1", "bond0 802.3ad x"], "a name that is taken is left alone");
    }

    fn vlans(inventory: &Inventory, bonding: bool, before: &[&str]) -> (Vec<String>, Vec<Finding>) {
        let matched: Vec<String> = inventory.links.keys().cloned().collect();
        let before: BTreeSet<String> = before.iter().map(|name| (*name).to_owned()).collect();
        let auto = Auto { inventory, matched: &matched, before: Some(&before) };
        let (made, findings) = auto.links(bonding, true);
        (made.into_iter().filter(|made| made.place == VLANS).map(|made| made.name).collect(), findings)
    }

    #[test]
    fn each_announced_vlan_becomes_a_link() {
        let found = inventory(&[
            ("eth0", "up", "", "s1", &[10, 20]),
            ("eth1", "up", "", "s1", &[20, 30]),
            ("eth2", "up", "", "-", &[]),
        ]);
        assert_eq!(vlans(&found, false, &[]).0, ["eth0.10", "eth0.20", "eth1.20", "eth1.30"]);
        assert_eq!(vlans(&found, true, &[]).0, ["bond0.10", "bond0.20", "bond0.30"], "those of a bond stand on it");
        assert_eq!(
            vlans(&found, false, &["eth2.5", "gone.7"]).0,
            ["eth0.10", "eth0.20", "eth1.20", "eth1.30", "eth2.5"]
        );
    }

    #[test]
    fn a_vlan_that_cannot_be_made_is_assigned() {
        let mut found = inventory(&[("enp123s0f1np1", "up", "", "s1", &[7, 1234]), ("eth0", "up", "", "s1", &[10])]);
        found.links.insert(
            "storage".to_owned(),
            Link { kind: "vlan".to_owned(), base: Some("eth0".to_owned()), vlan: Some(10), ..Link::default() },
        );
        let (made, findings) = vlans(&found, false, &[]);
        assert_eq!(made, ["enp123s0f1np1.7"]);
        assert_eq!(
            findings.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>(),
            [
                "VLAN 1234 is announced on enp123s0f1np1, and enp123s0f1np1.1234 is too long for the name of a link",
                "VLAN 10 is announced on eth0, where it is there already as storage",
            ]
        );
    }
}
