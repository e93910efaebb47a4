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

/// Whether the bond's ports keep their own addresses and the bond has that of the active one.
pub(crate) fn keeps_port_macs(bond: &Link) -> bool {
    bond.attrs.int(Attr::BondMode) == Some(1) && bond.attrs.int(Attr::BondFailOverMac) == Some(1)
}

impl SimHost {
    pub(super) fn check_bond_join(&self, link: &Link, up: bool) -> Done {
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
        if self.feeds_children(link) {
            return refuse_plainly(StepError::EBUSY);
        }
        Ok(())
    }

    /// The port goes up with the bond's address and MTU; the first one gives the bond its address.
    pub(super) fn joined_bond(&mut self, name: IfName, bond: IfName) {
        let (Some(port), Some(link)) = (self.find(name), self.find(bond)) else { return };
        let port_mac = port.attrs.mac(Attr::Mac);
        let before = (port_mac, Some(mtu_of(port)));
        let first = self.index.ports.of(&bond).count() == 1;
        let takes_mac = first && (keeps_port_macs(link) || !self.hidden.own_mac.contains(&bond));
        let hands_mac = !keeps_port_macs(link);
        let mtu = mtu_of(link);
        self.hidden.before_bond.insert(name, before);
        if takes_mac && let Some(mac) = port_mac {
            self.take_mac(bond, mac);
        }
        if hands_mac && let Some(mac) = self.find(bond).and_then(|link| link.attrs.mac(Attr::Mac)) {
            self.take_mac(name, mac);
        }
        self.take_mtu(name, mtu);
        self.raise(name);
        if self.hidden.primary.get(&bond) == Some(&name) {
            self.edit(bond).attrs.set(Attr::BondPrimary, Value::Link(name));
        }
    }

    /// The port goes down with the address and MTU that it had; a bond without ports gets a new
    /// address, even when somebody had set the old one.
    pub(super) fn left_bond(&mut self, name: IfName, bond: IfName) {
        self.lower(name);
        let left = self.find(name).and_then(|link| link.attrs.mac(Attr::Mac));
        let (mac, mtu) = self
            .hidden
            .before_bond
            .remove(&name)
            .unwrap_or_else(|| (self.now.facts.get(&name).and_then(|facts| facts.permanent_mac), None));
        if let Some(mac) = mac {
            self.take_mac(name, mac);
        }
        if let Some(mtu) = mtu {
            self.take_mtu(name, mtu);
        }
        let Some(link) = self.find(bond) else { return };
        if link.attrs.link(Attr::BondPrimary) == Some(name) {
            self.edit(bond).attrs.remove(Attr::BondPrimary);
        }
        self.refresh_bond_mac(bond, left);
    }

    fn refresh_bond_mac(&mut self, bond: IfName, left: Option<netloom_types::MacAddr>) {
        let Some(link) = self.find(bond) else { return };
        let was_active = keeps_port_macs(link) && left == link.attrs.mac(Attr::Mac);
        match self.index.ports_of(bond).first().copied() {
            None => {
                self.hidden.own_mac.remove(&bond);
                self.take_mac(bond, generated_mac(bond));
            }
            Some(next) if was_active => {
                if let Some(mac) = self.find(next).and_then(|port| port.attrs.mac(Attr::Mac)) {
                    self.take_mac(bond, mac);
                }
            }
            Some(_) => {}
        }
    }
}
