//! Hardware addresses: made up, set, and handed on to links that share them.

use netloom_model::{Attr, Host, Link, LinkKind, StepError, Value};
use netloom_types::{IfName, MacAddr};

use crate::{
    SimHost,
    controller::bond::{has_port_mac, keeps_port_macs},
    create::is_ethernet_like,
    errno::{Done, EADDRINUSE, refuse_plainly},
    index::Index,
};

const PASSTHRU: u64 = 8;

/// The address that stands for one that the kernel makes up at random: locally administered, and
/// always the same for one name.
pub fn generated_mac(name: IfName) -> MacAddr {
    // FNV-1a: spreads similar names well and needs no dependency.
    let hash = name
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut bytes = [0; 6];
    bytes.copy_from_slice(&hash.to_be_bytes()[2..]);
    bytes[0] = 0x0a;
    MacAddr::new(bytes)
}

/// Whether the address of an observed link cannot be an inherited one.
pub(crate) fn looks_set(host: &Host, index: &Index, link: &Link) -> bool {
    let mac = link.attrs.mac(Attr::Mac);
    match link.kind {
        LinkKind::Vlan => {
            link.base().and_then(|base| host.links.get(&base)).and_then(|b| b.attrs.mac(Attr::Mac)) != mac
        }
        LinkKind::Bridge => {
            let lowest = lowest_mac(host, index, link.name);
            lowest.is_some() && lowest != mac
        }
        _ => false,
    }
}

/// The address that a bridge takes from its ports.
pub(crate) fn lowest_mac(host: &Host, index: &Index, bridge: IfName) -> Option<MacAddr> {
    index.ports.of(&bridge).filter_map(|port| host.links.get(port)?.attrs.mac(Attr::Mac)).min()
}

impl SimHost {
    /// Whether somebody may give the link this address.
    pub(crate) fn check_mac(&self, link: &Link, mac: MacAddr) -> Done {
        if link.kind == LinkKind::IpVlan {
            return refuse_plainly(StepError::EOPNOTSUPP);
        }
        if matches!(link.kind, LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Ip6gre) {
            return refuse_plainly(StepError::EINVAL);
        }
        if is_ethernet_like(link) && (mac.is_zero() || mac.is_multicast()) {
            return refuse_plainly(StepError::EADDRNOTAVAIL);
        }
        if matches!(link.kind, LinkKind::MacVlan | LinkKind::MacVtap) && !is_passthru(link) && self.is_taken(link, mac)
        {
            return refuse_plainly(EADDRINUSE);
        }
        Ok(())
    }

    /// Whether the base of a macvlan or another link on it has the address.
    fn is_taken(&self, link: &Link, mac: MacAddr) -> bool {
        let Some(base) = link.base() else { return false };
        let others = self.index.children.of(&base).filter(|name| **name != link.name);
        others.chain([&base]).filter_map(|name| self.find(*name)).any(|other| {
            let shares = other.name == base || matches!(other.kind, LinkKind::MacVlan | LinkKind::MacVtap);
            shares && other.attrs.mac(Attr::Mac) == Some(mac)
        })
    }

    /// Gives the link an address because somebody asked for it.
    pub(crate) fn set_mac(&mut self, name: IfName, mac: MacAddr) {
        self.hidden_mut().own_mac.insert(name);
        let link = self.edit(name);
        let base = if is_passthru(link) { link.base() } else { None };
        let bond = link.kind == LinkKind::Bond;
        if bond && has_port_mac(link) {
            return;
        }
        let hands_on = bond && !keeps_port_macs(link);
        self.take_mac(name, mac);
        if let Some(base) = base {
            self.take_mac(base, mac);
        }
        if hands_on {
            for port in self.index.ports_of(name) {
                self.take_mac(port, mac);
            }
        }
    }

    /// Changes the address, and those that follow it.
    pub(crate) fn take_mac(&mut self, name: IfName, mac: MacAddr) {
        // The address of `lo` is never shown.
        if self.find(name).is_none_or(|link| link.attrs.mac(Attr::Mac) == Some(mac) || name == IfName::LO) {
            return;
        }
        let link = self.edit(name);
        link.attrs.set(Attr::Mac, Value::Mac(mac));
        // What was known of the neighbours was known under the old address.
        link.neighbours.clear();
        let controller = link.controller;
        for child in self.index.children_of(name) {
            let Some(link) = self.find(child) else { continue };
            match link.kind {
                LinkKind::Vlan if link.up => self.inherit_mac(child),
                LinkKind::IpVlan => self.take_mac(child, mac),
                LinkKind::MacVlan | LinkKind::MacVtap if is_passthru(link) => self.take_mac(child, mac),
                _ => {}
            }
        }
        if let Some(controller) = controller {
            self.follow_port_mac(controller);
        }
    }

    /// A VLAN without an address of its own has its base's whenever it is up.
    pub(crate) fn inherit_mac(&mut self, name: IfName) {
        let Some(link) = self.find(name) else { return };
        if link.kind != LinkKind::Vlan || self.hidden.own_mac.contains(&name) {
            return;
        }
        let base = link.base().and_then(|base| self.find(base)).and_then(|base| base.attrs.mac(Attr::Mac));
        if let Some(mac) = base {
            self.take_mac(name, mac);
        }
    }

    /// A bridge without an address of its own has the lowest of its ports', zero without ports.
    pub(crate) fn follow_port_mac(&mut self, controller: IfName) {
        let is_bridge = self.find(controller).is_some_and(|link| link.kind == LinkKind::Bridge);
        if is_bridge && !self.hidden.own_mac.contains(&controller) {
            let lowest = lowest_mac(&self.now.host, &self.index, controller);
            self.take_mac(controller, lowest.unwrap_or(MacAddr::new([0; 6])));
        }
    }
}

/// Whether the link is a macvlan that has its base for itself, and the same address.
pub(crate) fn is_passthru(link: &Link) -> bool {
    matches!(link.kind, LinkKind::MacVlan | LinkKind::MacVtap) && link.attrs.int(Attr::MacvlanMode) == Some(PASSTHRU)
}

#[cfg(test)]
mod tests {
    use netloom_model::{Attrs, Neighbour, Step};

    use super::*;
    use crate::testing::{all, create, dummies, join, leave, mac, n, no, on_base, set, up, up_dummies, vlan, yes};

    fn of(sim: &SimHost, name: &str) -> MacAddr {
        sim.link(n(name)).unwrap().attrs.mac(Attr::Mac).unwrap()
    }

    fn set_mac(name: &str, last: u8) -> Step {
        set(name, Attr::Mac, Value::Mac(mac(last)))
    }

    #[test]
    fn made_up_addresses_are_local_and_differ() {
        let (a, b) = (generated_mac(n("d0")), generated_mac(n("d1")));
        assert_ne!(a, b);
        assert!(!a.is_multicast() && a.bytes()[0] & 2 == 2);
    }

    #[test]
    fn vlans_that_are_up_follow_their_base() {
        let mut sim = up_dummies(["d0"]);
        all(&mut sim, [vlan("d0", 5), vlan("d0", 6), vlan("d0", 7), up("d0.5"), up("d0.6")]);
        all(&mut sim, [set_mac("d0.6", 0x77), set_mac("d0", 0x99)]);
        assert_eq!([of(&sim, "d0.5"), of(&sim, "d0.6"), of(&sim, "d0.7")], [mac(0x99), mac(0x77), mac(1)]);
        yes(&mut sim, &up("d0.7"));
        assert_eq!(of(&sim, "d0.7"), mac(0x99));
    }

    #[test]
    fn an_ipvlan_has_no_address_of_its_own() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [on_base("i0", LinkKind::IpVlan, "d0"), set_mac("d0", 0x98)]);
        assert_eq!(of(&sim, "i0"), mac(0x98));
        assert_eq!(no(&mut sim, &set_mac("i0", 5)), StepError::EOPNOTSUPP);
    }

    #[test]
    fn a_macvlan_does_not_share_an_address() {
        let mut sim = dummies(["d0"]);
        yes(&mut sim, &on_base("m0", LinkKind::MacVlan, "d0"));
        assert_eq!(no(&mut sim, &set_mac("m0", 1)), EADDRINUSE);
        yes(&mut sim, &set_mac("m0", 2));
        let group = MacAddr::new([1, 0, 0, 0, 0, 1]);
        assert_eq!(no(&mut sim, &set("d0", Attr::Mac, Value::Mac(group))), StepError::EADDRNOTAVAIL);
    }

    #[test]
    fn a_bridge_has_the_lowest_address_of_its_ports_unless_it_has_its_own() {
        let mut sim = dummies(["d0", "d1"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d1", "br0")]);
        assert_eq!(of(&sim, "br0"), mac(2));
        yes(&mut sim, &join("d0", "br0"));
        assert_eq!(of(&sim, "br0"), mac(1));
        yes(&mut sim, &set_mac("d0", 9));
        assert_eq!(of(&sim, "br0"), mac(2));
        all(&mut sim, [leave("d0"), leave("d1")]);
        assert!(of(&sim, "br0").is_zero());
        all(&mut sim, [set_mac("br0", 0xaa), join("d0", "br0")]);
        assert_eq!(of(&sim, "br0"), mac(0xaa));
    }

    #[test]
    fn a_new_address_forgets_the_neighbours() {
        let mut sim = up_dummies(["d0"]);
        let neighbour = Neighbour { ip: "10.0.0.7".parse().unwrap(), mac: mac(7) };
        yes(&mut sim, &Step::AddNeighbour { name: n("d0"), neighbour });
        let changed = yes(&mut sim, &set_mac("d0", 0x44));
        assert!(sim.link(n("d0")).unwrap().neighbours.is_empty());
        assert!(changed.links[&n("d0")].as_ref().unwrap().neighbours.contains(&neighbour));
    }

    #[test]
    fn an_observed_bridge_that_cannot_have_inherited_keeps_its_address() {
        let mut sim = dummies(["d0", "d1"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0"), set_mac("br0", 0xaa)]);
        let mut again = SimHost::from_observed(sim.into_observed());
        yes(&mut again, &join("d1", "br0"));
        assert_eq!(of(&again, "br0"), mac(0xaa));
    }
}
