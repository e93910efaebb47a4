//! Changing properties of a link in place.
//!
//! All values are checked before the first one is set. Properties of which the kernel refuses a
//! change are refused here too; those that it takes and ignores (a VLAN's id) are ignored.

use netloom_model::{Attr, Attrs, Link, LinkKind, Section, StepError, Value};
use netloom_types::IfName;

use crate::{
    SimHost, bond,
    defaults::{is_over_ipv6, is_tunnel, mtu_of, tunnel_overhead},
    errno::{Done, EACCES, refuse, refuse_if, refuse_plainly},
    mtu::IPV6_MIN,
    vlan::check_default_pvid,
};

const PASSTHRU: u64 = 8;

impl SimHost {
    pub(crate) fn set_attrs(&mut self, name: IfName, attrs: &Attrs) -> Done {
        let link = self.link(name)?;
        for (attr, value) in attrs.iter() {
            self.check_attr(link, attr, value)?;
        }
        self.check_tunnel_ends(link, attrs)?;
        let before = attrs.iter().any(|(attr, _)| shapes_tunnel(attr)).then(|| link.clone());
        if link.kind == LinkKind::Bond {
            self.set_bond_options(name, attrs)?;
        }
        if let Some(before) = &before {
            self.index.remove_unique(before);
        }
        for (attr, value) in attrs.iter().filter(|(attr, _)| !bond::is_option(*attr)) {
            self.put_attr(name, attr, value);
        }
        if let Some(before) = before {
            self.rebind(&before, attrs);
        }
        Ok(())
    }

    fn check_attr(&self, link: &Link, attr: Attr, value: &Value) -> Done {
        if !attr.applies_to(&link.kind) || !attr.accepts(value) {
            return refuse(StepError::EINVAL, &format!("{attr} of a {} cannot be {}", link.kind, value.display(attr)));
        }
        match attr.section() {
            Section::BridgePort => return self.check_port_of(link, &LinkKind::Bridge),
            Section::BondPort => return self.check_bond_port(link, attr),
            // The files of these settings are not there.
            Section::Ipv6 | Section::SysctlIpv6 if mtu_of(link) < IPV6_MIN && link.kind != LinkKind::Loopback => {
                return refuse_plainly(StepError::ENOENT);
            }
            _ => {}
        }
        let same = attr.same(link.attrs.get(attr).as_ref(), Some(value));
        match (attr, value) {
            (Attr::Mac, Value::Mac(mac)) => self.check_mac(link, *mac),
            (Attr::Mtu, Value::Int(mtu)) => self.check_mtu(link, *mtu),
            (Attr::BridgeDefaultPvid, Value::Int(pvid)) => check_default_pvid(link, *pvid),
            (Attr::VrfTable | Attr::VethPeer, _) => refuse_plainly(StepError::EOPNOTSUPP),
            (Attr::VxlanId, _) => refuse_if(!same, StepError::EOPNOTSUPP, "Cannot change VNI"),
            (Attr::VxlanPort, _) => refuse_if(!same, StepError::EOPNOTSUPP, "Cannot change port"),
            (Attr::VxlanProxy, _) => refuse_if(!same, StepError::EOPNOTSUPP, "vxlan: cannot change PROXY flag"),
            (Attr::VxlanExternal | Attr::VxlanVnifilter, _) => {
                refuse_if(!same, StepError::EOPNOTSUPP, "vxlan: cannot change this flag")
            }
            (Attr::TunnelMode | Attr::GreExternal, _) => refuse_if(!same, StepError::EINVAL, "cannot change the mode"),
            (Attr::MacvlanMode, Value::Int(mode)) => {
                let before = link.attrs.int(attr);
                let passes = (before == Some(PASSTHRU)) != (*mode == PASSTHRU);
                if passes { refuse_plainly(StepError::EINVAL) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn check_port_of(&self, link: &Link, kind: &LinkKind) -> Done {
        let fits = link.controller.and_then(|name| self.find(name)).is_some_and(|controller| controller.kind == *kind);
        if fits { Ok(()) } else { refuse_plainly(StepError::EOPNOTSUPP) }
    }

    fn check_bond_port(&self, link: &Link, attr: Attr) -> Done {
        self.check_port_of(link, &LinkKind::Bond)?;
        let mode = link.controller.and_then(|name| self.find(name)).and_then(|bond| bond.attrs.int(Attr::BondMode));
        let has_primary = mode.is_some_and(bond::uses_primary);
        refuse_if(attr == Attr::BondPortPriority && !has_primary, EACCES, "option not supported in mode")
    }

    fn put_attr(&mut self, name: IfName, attr: Attr, value: &Value) {
        match (attr, value) {
            (Attr::Mac, Value::Mac(mac)) => self.set_mac(name, *mac),
            (Attr::Mtu, Value::Int(mtu)) => self.set_mtu(name, *mtu),
            (Attr::VlanId | Attr::VlanProtocol, _) => {}
            (Attr::Base, _) => self.set_base(name, value),
            (Attr::IpvlanMode | Attr::IpvlanPrivate | Attr::IpvlanVepa, _) => {
                let given = [(attr, value.clone())].into_iter().collect();
                self.share_ipvlan_mode(name, &given, &given);
            }
            (Attr::Ipv6Disabled, Value::Bool(off)) => self.set_ipv6_disabled(name, *off),
            (Attr::BridgeDefaultPvid, Value::Int(pvid)) => self.set_default_pvid(name, *pvid),
            _ => self.edit(name).attrs.set(attr, value.clone()),
        }
    }

    /// Only VXLANs and tunnels can be put on another base; for VLANs and their like the kernel
    /// takes the request and does nothing.
    fn set_base(&mut self, name: IfName, value: &Value) {
        let Some(link) = self.find(name) else { return };
        if matches!(link.kind, LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan) {
            return;
        }
        let before = link.base();
        let link = self.edit(name);
        link.attrs.set(Attr::Base, value.clone());
        let after = link.base();
        self.index.move_child(name, before, after);
    }

    fn set_ipv6_disabled(&mut self, name: IfName, off: bool) {
        if self.find(name).is_none_or(|link| link.attrs.bool(Attr::Ipv6Disabled) == Some(off)) {
            return;
        }
        self.edit(name).attrs.set(Attr::Ipv6Disabled, Value::Bool(off));
        if off {
            self.drop_ipv6(name);
        } else if name == IfName::LO && self.is_up(name) {
            self.give_loopback_addresses();
        }
    }

    /// All ipvlans on one base have the same mode and flags: the last word counts for all. A new one
    /// says its mode even when nobody did, its flags only when somebody did.
    pub(crate) fn share_ipvlan_mode(&mut self, name: IfName, attrs: &Attrs, given: &Attrs) {
        let Some(base) = self.find(name).and_then(Link::base) else { return };
        let new = attrs.given(Attr::Mac).is_some();
        let flags = [Attr::IpvlanPrivate, Attr::IpvlanVepa];
        let says_flags = flags.iter().any(|flag| given.given(*flag).is_some());
        let sibling = self
            .index
            .children_of(base)
            .into_iter()
            .find(|child| *child != name && self.find(*child).is_some_and(|link| link.kind == LinkKind::IpVlan));
        let mut shared = Attrs::new();
        if new || given.given(Attr::IpvlanMode).is_some() {
            shared.require(Attr::IpvlanMode, Value::Int(attrs.int(Attr::IpvlanMode).unwrap_or(1)));
        }
        for flag in flags {
            if let Some(value) = given.given(flag) {
                shared.require(flag, value.clone());
            } else if !says_flags
                && new
                && let Some(sibling) = sibling.and_then(|name| self.find(name))
            {
                shared.require(flag, Value::Bool(sibling.attrs.bool(flag).unwrap_or(false)));
            }
        }
        for child in self.index.children_of(base) {
            if self.find(child).is_some_and(|link| link.kind == LinkKind::IpVlan) {
                let link = self.edit(child);
                shared.iter().for_each(|(attr, value)| link.attrs.set(attr, value.clone()));
            }
        }
    }

    /// A tunnel cannot take the ends of another one.
    fn check_tunnel_ends(&self, link: &Link, attrs: &Attrs) -> Done {
        if !attrs.iter().any(|(attr, _)| shapes_tunnel(attr)) {
            return Ok(());
        }
        let mut after = link.clone();
        attrs.iter().for_each(|(attr, value)| after.attrs.set(attr, value.clone()));
        let taken = self.index.is_taken(&after);
        if let Some(base) = attrs.link(Attr::Base) {
            self.link(base)?;
        }
        if taken && link.kind != LinkKind::Vlan { refuse_plainly(StepError::EEXIST) } else { Ok(()) }
    }

    /// Other ends of a tunnel may mean another MTU, even instead of one that was set. Over IPv4 only
    /// another base or the key count.
    fn rebind(&mut self, before: &Link, attrs: &Attrs) {
        let Some(link) = self.now.host.links.get(&before.name) else { return };
        self.index.add_unique(link);
        if !is_tunnel(link) || attrs.given(Attr::Mtu).is_some() {
            return;
        }
        let mtu = if is_over_ipv6(link) || link.base() != before.base() {
            self.default_mtu(&link.kind, &link.attrs)
        } else {
            let overhead = |link: &Link| tunnel_overhead(&link.kind, &link.attrs);
            (mtu_of(link) + overhead(before)).saturating_sub(overhead(link))
        };
        self.take_mtu(before.name, mtu);
    }
}

/// Whether the property is one that makes a tunnel what it is; VXLANs share the base.
fn shapes_tunnel(attr: Attr) -> bool {
    attr.section() == Section::Kind
        && (attr == Attr::Base || attr.applies_to(&LinkKind::Gre) || attr.applies_to(&LinkKind::IpTunnel))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        add, addresses, all, attrs, create, dummies, join, n, no, on_base, route, routes, set, up, vlan, vrf, yes,
    };

    #[test]
    fn what_the_kernel_cannot_change_is_refused_or_ignored() {
        let mut sim = dummies(["d0"]);
        let vxlan = attrs([(Attr::VxlanId, Value::Int(7))]);
        all(&mut sim, [vlan("d0", 5), vrf("red", 10), create("vx0", LinkKind::Vxlan, vxlan)]);
        let changed = yes(&mut sim, &set("d0.5", Attr::VlanId, Value::Int(6)));
        assert!(changed.links.is_empty());
        assert_eq!(no(&mut sim, &set("red", Attr::VrfTable, Value::Int(11))), StepError::EOPNOTSUPP);
        assert_eq!(no(&mut sim, &set("vx0", Attr::VxlanId, Value::Int(8))), StepError::EOPNOTSUPP);
        assert_eq!(no(&mut sim, &set("vx0", Attr::VxlanPort, Value::Int(8472))), StepError::EOPNOTSUPP);
        yes(&mut sim, &set("vx0", Attr::VxlanLearning, Value::Bool(false)));
        assert_eq!(no(&mut sim, &set("d0", Attr::VlanId, Value::Int(8))), StepError::EINVAL);
        assert_eq!(no(&mut sim, &set("nope", Attr::Mtu, Value::Int(1500))), StepError::ENODEV);
    }

    #[test]
    fn a_macvlan_neither_enters_nor_leaves_passthru() {
        let mut sim = dummies(["d0"]);
        yes(&mut sim, &on_base("m0", LinkKind::MacVlan, "d0"));
        yes(&mut sim, &set("m0", Attr::MacvlanMode, Value::Int(4)));
        assert_eq!(no(&mut sim, &set("m0", Attr::MacvlanMode, Value::Int(PASSTHRU))), StepError::EINVAL);
    }

    #[test]
    fn port_settings_need_a_controller_and_go_with_it() {
        let mut sim = dummies(["d0"]);
        let hairpin = set("d0", Attr::PortHairpin, Value::Bool(true));
        assert_eq!(no(&mut sim, &hairpin), StepError::EOPNOTSUPP);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0"), hairpin]);
        yes(&mut sim, &crate::testing::leave("d0"));
        assert_eq!(sim.link(n("d0")).unwrap().attrs.bool(Attr::PortHairpin), Some(false));
    }

    #[test]
    fn switching_ipv6_off_takes_it_all() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [up("d0"), add("d0", "fd00::1/64"), add("d0", "10.0.0.1/24")]);
        all(
            &mut sim,
            [
                netloom_model::Step::AddRoute(route("fd05::/64", ["fd00::2%"])),
                netloom_model::Step::AddRoute(route("fd06::/64", ["%d0"])),
            ],
        );
        yes(&mut sim, &set("d0", Attr::Ipv6Disabled, Value::Bool(true)));
        assert_eq!(addresses(&sim, "d0"), ["10.0.0.1/24"]);
        assert!(routes(&sim).is_empty());
        assert_eq!(no(&mut sim, &add("d0", "fd00::1/64")), EACCES);
        assert_eq!(no(&mut sim, &netloom_model::Step::AddRoute(route("fd06::/64", ["%d0"]))), EACCES);
    }

    #[test]
    fn loopback_gets_its_ipv6_address_back() {
        let mut sim = SimHost::new();
        all(&mut sim, [up("lo"), set("lo", Attr::Ipv6Disabled, Value::Bool(true))]);
        assert_eq!(addresses(&sim, "lo"), ["127.0.0.1/8"]);
        yes(&mut sim, &set("lo", Attr::Ipv6Disabled, Value::Bool(false)));
        assert_eq!(addresses(&sim, "lo"), ["127.0.0.1/8", "::1/128"]);
    }

    #[test]
    fn a_tunnel_with_other_ends_is_another_tunnel() {
        let mut sim = dummies(["d0"]);
        yes(&mut sim, &set("d0", Attr::Mtu, Value::Int(9000)));
        let to = |last| (Attr::TunnelRemote, Value::Ip(std::net::Ipv4Addr::new(10, 0, 0, last).into()));
        let gre = |name: &str, last| create(name, LinkKind::Gre, attrs([to(last)]));
        all(&mut sim, [gre("g0", 1), gre("g1", 2)]);
        assert_eq!(no(&mut sim, &set("g1", to(1).0, to(1).1)), StepError::EEXIST);
        all(&mut sim, [set("g0", to(3).0, to(3).1), set("g1", to(1).0, to(1).1)]);
        yes(&mut sim, &set("g1", Attr::Base, Value::Link(n("d0"))));
        assert_eq!(sim.link(n("g1")).unwrap().attrs.int(Attr::Mtu), Some(8976));
    }
}
