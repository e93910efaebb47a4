//! Ports of bonds: a port gives up its address, MTU and state, and gets the first two back.

use netloom_model::{Attr, Link, LinkKind, StepError, Value};
use netloom_types::IfName;

use crate::{
    SimHost,
    create::is_ethernet_like,
    defaults::mtu_of,
    errno::{Done, refuse, refuse_plainly},
    mac::generated_mac,
};

const ACTIVE_BACKUP: u64 = 1;
const TLB: u64 = 5;
const ALB: u64 = 6;

/// Whether the bond has the address of its active port, whatever it was given.
pub(crate) fn has_port_mac(bond: &Link) -> bool {
    bond.attrs.int(Attr::BondMode) == Some(ACTIVE_BACKUP) && bond.attrs.int(Attr::BondFailOverMac) == Some(1)
}

/// Whether the bond's ports keep their own addresses: those that balance by address need them all.
pub(crate) fn keeps_port_macs(bond: &Link) -> bool {
    has_port_mac(bond) || matches!(bond.attrs.int(Attr::BondMode), Some(TLB | ALB))
}

impl SimHost {
    pub(super) fn check_bond_join(&self, link: &Link, up: bool, bond: &Link) -> Done {
        if up {
            return refuse(StepError::EPERM, "Device can not be enslaved while up");
        }
        if !is_ethernet_like(link) || link.kind == LinkKind::IpVlan {
            return refuse_plainly(StepError::EINVAL);
        }
        if link.kind == LinkKind::Vlan {
            // The bond sets its port up, which needs the port's base.
            self.check_can_be_up(link, true)?;
        }
        if self.feeds_children(link) || link.kind == LinkKind::MacVtap {
            return refuse_plainly(StepError::EBUSY);
        }
        self.check_mtu(link, mtu_of(bond))
    }

    /// The port goes up with the bond's address and MTU; the first one gives the bond its address.
    pub(super) fn joined_bond(&mut self, name: IfName, bond: IfName) {
        let (Some(port), Some(link)) = (self.find(name), self.find(bond)) else { return };
        let port_mac = port.attrs.mac(Attr::Mac);
        let before = (port_mac, Some(mtu_of(port)));
        let first = self.index.ports.of(&bond).count() == 1;
        let takes_mac = first && (has_port_mac(link) || !self.hidden.own_mac.contains(&bond));
        // Where ports keep their own addresses the active one has the bond's all the same.
        let hands_mac = !keeps_port_macs(link) || first && !has_port_mac(link) && self.has_carrier(port);
        let sets_mac = !has_port_mac(link);
        let mtu = mtu_of(link);
        self.hidden_mut().before_bond.insert(name, before);
        if takes_mac && let Some(mac) = port_mac {
            self.take_mac(bond, mac);
        }
        if sets_mac {
            // Even where it is the same in the end: it was set.
            self.hidden_mut().own_mac.insert(name);
            self.edit(name).neighbours.clear();
        }
        if hands_mac && let Some(mac) = self.find(bond).and_then(|link| link.attrs.mac(Attr::Mac)) {
            self.take_mac(name, mac);
        }
        self.set_mtu(name, mtu);
        self.raise(name);
        if self.hidden.primary.get(&bond) == Some(&name) {
            self.edit(bond).attrs.set(Attr::BondPrimary, Value::Link(name));
        }
    }

    /// Whether the port can carry frames as soon as it is up.
    fn has_carrier(&self, port: &Link) -> bool {
        match port.kind {
            LinkKind::Veth => port.attrs.link(Attr::VethPeer).is_some_and(|peer| self.is_up(peer)),
            LinkKind::Bridge | LinkKind::Bond => self.index.ports.of(&port.name).next().is_some(),
            _ => true,
        }
    }

    /// The port goes down with the address and MTU that it had; a bond without ports gets a new
    /// address, even when somebody had set the old one.
    pub(super) fn left_bond(&mut self, name: IfName, bond: IfName) {
        self.lower(name);
        let left = self.find(name).and_then(|link| link.attrs.mac(Attr::Mac));
        let (mac, mtu) = self
            .hidden_mut()
            .before_bond
            .remove(&name)
            .unwrap_or_else(|| (self.now.facts.get(&name).and_then(|facts| facts.permanent_mac), None));
        if let Some(mac) = mac {
            self.take_mac(name, mac);
        }
        if let Some(mtu) = mtu
            && self.find(name).is_some_and(|link| self.check_mtu(link, mtu).is_ok())
        {
            self.set_mtu(name, mtu);
        }
        let Some(link) = self.find(bond) else { return };
        if link.attrs.link(Attr::BondPrimary) == Some(name) {
            self.edit(bond).attrs.remove(Attr::BondPrimary);
        }
        self.refresh_bond_mac(bond, left);
    }

    fn refresh_bond_mac(&mut self, bond: IfName, left: Option<netloom_types::MacAddr>) {
        let Some(link) = self.find(bond) else { return };
        let was_active = has_port_mac(link) && left == link.attrs.mac(Attr::Mac);
        match self.index.ports_of(bond).first().copied() {
            None => {
                self.hidden_mut().own_mac.remove(&bond);
                self.take_mac(bond, generated_mac(bond));
            }
            Some(next) if was_active => {
                if let Some(mac) = self.find(next).and_then(|port| port.attrs.mac(Attr::Mac)) {
                    self.take_mac(bond, mac);
                }
            }
            Some(next) if keeps_port_macs(link) && left == link.attrs.mac(Attr::Mac) => {
                if let Some(mac) = left {
                    self.take_mac(next, mac);
                }
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::Attrs;

    use super::*;
    use crate::testing::{
        add, addresses, all, attrs, create, down, dummies, join, leave, mac, n, no, set, touched, up, vlan, yes,
    };

    fn of(sim: &SimHost, name: &str) -> (bool, Option<netloom_types::MacAddr>, u64) {
        let link = sim.link(n(name)).unwrap();
        (link.up, link.attrs.mac(Attr::Mac), mtu_of(link))
    }

    #[test]
    fn a_port_becomes_like_its_bond_and_gets_back_what_it_had() {
        let mut sim = dummies(["d0", "d1"]);
        all(&mut sim, [set("d0", Attr::Mtu, Value::Int(1400)), add("d0", "10.0.0.1/24"), add("d0", "fd00::1/64")]);
        all(&mut sim, [create("b0", LinkKind::Bond, Attrs::new()), up("d0")]);
        assert_eq!(no(&mut sim, &join("d0", "b0")), StepError::EPERM);
        all(&mut sim, [down("d0"), add("d0", "fd00::1/64")]);
        let changed = yes(&mut sim, &join("d0", "b0"));
        assert_eq!(touched(&changed), ["b0", "d0"]);
        assert_eq!(of(&sim, "d0"), (true, Some(mac(1)), 1500));
        assert_eq!(of(&sim, "b0"), (false, Some(mac(1)), 1500));
        yes(&mut sim, &join("d1", "b0"));
        assert_eq!(of(&sim, "d1"), (true, Some(mac(1)), 1500));
        all(&mut sim, [set("b0", Attr::Mtu, Value::Int(1600)), set("b0", Attr::Mac, Value::Mac(mac(0xbb)))]);
        assert_eq!(of(&sim, "d1"), (true, Some(mac(0xbb)), 1600));
        yes(&mut sim, &leave("d0"));
        assert_eq!(of(&sim, "d0"), (false, Some(mac(1)), 1400));
        assert_eq!(addresses(&sim, "d0"), ["10.0.0.1/24"]);
        assert_eq!(of(&sim, "b0").1, Some(mac(0xbb)));
        yes(&mut sim, &leave("d1"));
        assert_eq!(of(&sim, "b0").1, Some(generated_mac(n("b0"))));
    }

    #[test]
    fn a_bond_with_an_address_of_its_own_keeps_it_while_it_has_ports() {
        let mut sim = dummies(["d0"]);
        let own = attrs([(Attr::Mac, Value::Mac(mac(0xaa)))]);
        all(&mut sim, [create("b0", LinkKind::Bond, own), join("d0", "b0")]);
        assert_eq!((of(&sim, "b0").1, of(&sim, "d0").1), (Some(mac(0xaa)), Some(mac(0xaa))));
    }

    #[test]
    fn a_bond_can_take_the_address_of_its_active_port() {
        let mut sim = dummies(["d0", "d1"]);
        let mode = attrs([(Attr::BondMode, Value::Int(1)), (Attr::BondFailOverMac, Value::Int(1))]);
        all(&mut sim, [create("b0", LinkKind::Bond, mode), join("d0", "b0"), join("d1", "b0")]);
        assert_eq!((of(&sim, "b0").1, of(&sim, "d1").1), (Some(mac(1)), Some(mac(2))));
        yes(&mut sim, &leave("d0"));
        assert_eq!(of(&sim, "b0").1, Some(mac(2)));
    }

    #[test]
    fn vlans_on_a_port_come_up_with_it() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [vlan("d0", 5), create("b0", LinkKind::Bond, Attrs::new()), join("d0", "b0")]);
        assert!(sim.is_up(n("d0.5")));
        all(&mut sim, [create("b1", LinkKind::Bond, Attrs::new()), vlan("b1", 6)]);
        assert_eq!(no(&mut sim, &join("b1.6", "b1")), StepError::ENETDOWN);
        all(&mut sim, [up("b1"), down("b1.6")]);
        assert_eq!(no(&mut sim, &join("b1.6", "b1")), StepError::EBUSY);
    }

    #[test]
    fn a_port_that_moves_on_leaves_down() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [create("b0", LinkKind::Bond, Attrs::new()), create("b1", LinkKind::Bond, Attrs::new())]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "b0"), join("d0", "b1")]);
        yes(&mut sim, &join("d0", "br0"));
        assert_eq!(of(&sim, "d0"), (false, Some(mac(1)), 1500));
        yes(&mut sim, &up("d0"));
        assert_eq!(no(&mut sim, &join("d0", "b0")), StepError::EPERM);
    }
}
