//! Ports of bridges.

use netloom_model::{Attr, Link, LinkKind, StepError, VlanMembership};
use netloom_types::{IfName, MacAddr};

use crate::{
    SimHost,
    create::is_ethernet_like,
    defaults::mtu_of,
    errno::{Done, ELOOP, refuse, refuse_plainly},
    vlan::default_membership,
};

impl SimHost {
    pub(super) fn check_bridge_join(&self, link: &Link, bridge: &Link) -> Done {
        if link.kind == LinkKind::Bridge || link.name == bridge.name {
            return refuse(ELOOP, "Can not enslave a bridge to a bridge");
        }
        let zero = link.attrs.mac(Attr::Mac).is_some_and(MacAddr::is_zero);
        if !is_ethernet_like(link) || link.kind == LinkKind::IpVlan || zero {
            return refuse_plainly(StepError::EINVAL);
        }
        if self.feeds_children(link) || link.kind == LinkKind::MacVtap {
            return refuse_plainly(StepError::EBUSY);
        }
        Ok(())
    }

    /// A new port is in the bridge's default VLAN; the bridge's own address and MTU follow.
    pub(super) fn joined_bridge(&mut self, name: IfName, bridge: IfName) {
        let Some(link) = self.find(bridge) else { return };
        let vlans = default_membership(&link.attrs);
        self.edit(name).vlans = vlans;
        self.set_initial_cost(name);
        // A look at all ports is needed for the first one only: the others can just be lower.
        let first = self.index.ports.of(&bridge).nth(1).is_none();
        let (Some(port), Some(link)) = (self.find(name), self.find(bridge)) else { return };
        let lower_mac = port.attrs.mac(Attr::Mac) < link.attrs.mac(Attr::Mac);
        let lower_mtu = mtu_of(port) < mtu_of(link);
        if first || lower_mac {
            self.follow_port_mac(bridge);
        }
        if first || lower_mtu {
            self.follow_port_mtu(bridge);
        }
    }

    /// The port's VLANs and its entries in the bridge's table go.
    pub(super) fn left_bridge(&mut self, name: IfName, bridge: IfName) {
        let link = self.edit(name);
        link.vlans = VlanMembership::default();
        link.fdb.retain(|_, entry| entry.on_device);
        let (Some(port), Some(link)) = (self.find(name), self.find(bridge)) else { return };
        let gave_mac = port.attrs.mac(Attr::Mac) == link.attrs.mac(Attr::Mac);
        let gave_mtu = mtu_of(port) == mtu_of(link);
        if gave_mac {
            self.follow_port_mac(bridge);
        }
        if gave_mtu {
            self.follow_port_mtu(bridge);
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Attrs, Step, Value};

    use super::*;
    use crate::testing::{
        add, addresses, all, attrs, create, dummies, join, leave, n, no, on_base, route, routes, set, up_dummies, vlan,
        vrf, yes,
    };

    #[test]
    fn a_port_keeps_its_state_addresses_and_routes() {
        let mut sim = up_dummies(["d0"]);
        all(
            &mut sim,
            [create("br0", LinkKind::Bridge, Attrs::new()), add("d0", "10.0.0.1/24"), add("d0", "fd00::1/64")],
        );
        all(&mut sim, [Step::AddRoute(route("10.5.0.0/16", ["10.0.0.2%"])), join("d0", "br0")]);
        assert_eq!(addresses(&sim, "d0"), ["10.0.0.1/24", "fd00::1/64"]);
        assert_eq!(routes(&sim), ["10.5.0.0/16 via 10.0.0.2 dev d0"]);
    }

    #[test]
    fn new_ports_are_in_the_default_vlan() {
        let mut sim = dummies(["d0", "d1"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0")]);
        let one = VlanMembership::access(netloom_types::VlanId::MIN);
        assert_eq!(sim.link(n("br0")).unwrap().vlans, one);
        assert_eq!(sim.link(n("d0")).unwrap().vlans, one);
        let none = attrs([(Attr::BridgeDefaultPvid, Value::Int(0))]);
        all(&mut sim, [create("br1", LinkKind::Bridge, none), join("d1", "br1"), leave("d0")]);
        for name in ["br1", "d1", "d0"] {
            assert!(sim.link(n(name)).unwrap().vlans.is_empty());
        }
    }

    #[test]
    fn not_every_link_can_be_a_port() {
        let mut sim = dummies(["d0", "d1"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), create("br1", LinkKind::Bridge, Attrs::new())]);
        all(&mut sim, [vrf("red", 10), create("g0", LinkKind::Gre, Attrs::new()), vlan("br0", 5)]);
        all(&mut sim, [on_base("m0", LinkKind::MacVlan, "d0"), on_base("i0", LinkKind::IpVlan, "d1")]);
        for (name, errno) in [
            ("br1", ELOOP),
            ("lo", StepError::EINVAL),
            ("red", StepError::EINVAL),
            ("g0", StepError::EINVAL),
            ("i0", StepError::EINVAL),
            ("d0", StepError::EBUSY),
            ("br0.5", StepError::EBUSY),
        ] {
            assert_eq!(no(&mut sim, &join(name, "br0")), errno, "{name}");
        }
        assert_eq!(no(&mut sim, &join("br0", "d0")), StepError::EOPNOTSUPP);
        assert_eq!(no(&mut sim, &join("d0", "nope")), StepError::ENODEV);
        yes(&mut sim, &join("m0", "br0"));
    }

    #[test]
    fn the_default_vlan_moves_with_those_that_were_given_it() {
        let mut sim = dummies(["d0", "d1"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0"), join("d1", "br0")]);
        let twelve = VlanMembership::access(12.try_into().unwrap());
        let mut remove = netloom_types::VlanSet::new();
        remove.insert(netloom_types::VlanId::MIN);
        yes(&mut sim, &Step::SetVlans { name: n("d1"), on_bridge: false, add: twelve.clone(), remove });
        yes(&mut sim, &set("br0", Attr::BridgeDefaultPvid, Value::Int(5)));
        let five = VlanMembership::access(5.try_into().unwrap());
        let of = |sim: &SimHost, name: &str| sim.link(n(name)).unwrap().vlans.clone();
        assert_eq!([of(&sim, "br0"), of(&sim, "d0"), of(&sim, "d1")], [five.clone(), five, twelve.clone()]);
        yes(&mut sim, &set("br0", Attr::BridgeDefaultPvid, Value::Int(0)));
        assert!(of(&sim, "br0").is_empty() && of(&sim, "d0").is_empty());
        yes(&mut sim, &set("br0", Attr::BridgeDefaultPvid, Value::Int(9)));
        assert_eq!(of(&sim, "d1").pvid, Some(9.try_into().unwrap()));
        assert_eq!(of(&sim, "d1").untagged.to_string(), "9,12");
    }
}
