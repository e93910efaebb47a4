//! MTUs: their limits, and the links that follow each other's.

use netloom_model::{Attr, Host, Link, LinkKind, Section, StepError, Value};
use netloom_types::{Family, IfName};

use crate::{
    SimHost,
    defaults::{mtu_of, vxlan_overhead},
    errno::{Done, refuse, refuse_plainly},
    index::Index,
};

/// The least that IPv6 needs; below it the kernel takes IPv6 off the link.
pub(crate) const IPV6_MIN: u64 = 1280;
const IP6IP6: u64 = 3;

/// Whether the MTU of an observed bridge cannot be that of its ports.
pub(crate) fn looks_set(host: &Host, index: &Index, link: &Link) -> bool {
    let lowest = lowest_mtu(host, index, link.name);
    link.kind == LinkKind::Bridge && lowest.is_some() && lowest != link.attrs.int(Attr::Mtu)
}

/// The MTU that a bridge takes from its ports.
fn lowest_mtu(host: &Host, index: &Index, bridge: IfName) -> Option<u64> {
    index.ports.of(&bridge).filter_map(|port| host.links.get(port)).map(mtu_of).min()
}

/// Whether the driver takes this MTU.
pub(crate) fn check_range(mtu: u64, (min, max): (u32, u32)) -> Done {
    if mtu < u64::from(min) {
        return refuse(StepError::EINVAL, "mtu less than device minimum");
    }
    if max != 0 && mtu > u64::from(max) {
        return refuse(StepError::EINVAL, "mtu greater than device maximum");
    }
    Ok(())
}

impl SimHost {
    /// Whether somebody may give the link this MTU.
    pub(crate) fn check_mtu(&self, link: &Link, mtu: u64) -> Done {
        let range = self.now.facts.get(&link.name).map_or((0, 0), |facts| (facts.min_mtu, facts.max_mtu));
        check_range(mtu, range)?;
        if link.kind == LinkKind::IpTunnel && link.attrs.int(Attr::TunnelMode) == Some(IP6IP6) && mtu < IPV6_MIN {
            return refuse_plainly(StepError::EINVAL);
        }
        let Some(base) = link.base().and_then(|base| self.find(base)).map(mtu_of) else { return Ok(()) };
        match link.kind {
            LinkKind::Vlan if mtu > base => refuse_plainly(StepError::ERANGE),
            LinkKind::MacVlan | LinkKind::MacVtap if mtu > base => refuse_plainly(StepError::EINVAL),
            LinkKind::Vxlan if mtu + vxlan_overhead(&link.attrs) > base => refuse_plainly(StepError::EINVAL),
            _ => Ok(()),
        }
    }

    /// Gives the link an MTU because somebody asked for it.
    pub(crate) fn set_mtu(&mut self, name: IfName, mtu: u64) {
        let Some(link) = self.find(name) else { return };
        match link.kind {
            // The kernel looks no further at an MTU that is there already.
            LinkKind::Bridge if mtu_of(link) != mtu => {
                self.hidden_mut().own_mtu.insert(name);
            }
            LinkKind::Bond => {
                for port in self.index.ports_of(name) {
                    self.set_mtu(port, mtu);
                }
            }
            _ => {}
        }
        self.take_mtu(name, mtu);
    }

    /// Changes the MTU, and those that follow it.
    pub(crate) fn take_mtu(&mut self, name: IfName, mtu: u64) {
        if self.find(name).is_none_or(|link| mtu_of(link) == mtu) {
            return;
        }
        let link = self.edit(name);
        link.attrs.set(Attr::Mtu, Value::Int(mtu));
        let controller = link.controller;
        self.check_ipv6_mtu(name);
        for child in self.index.children_of(name) {
            let Some(link) = self.find(child) else { continue };
            match link.kind {
                LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap if mtu_of(link) > mtu => {
                    self.take_mtu(child, mtu);
                }
                LinkKind::IpVlan => self.take_mtu(child, mtu),
                _ => {}
            }
        }
        if let Some(controller) = controller {
            self.follow_port_mtu(controller);
        }
    }

    /// Below the least MTU a link has no IPv6; only `lo` keeps its settings.
    pub(crate) fn check_ipv6_mtu(&mut self, name: IfName) {
        if self.find(name).is_none_or(|link| mtu_of(link) >= IPV6_MIN) {
            return;
        }
        if name == IfName::LO {
            self.drop_ipv6_addresses(name);
            self.lose_routes(name, Some(Family::Ipv6));
            return;
        }
        forget_ipv6_settings(self.edit(name));
        self.drop_ipv6(name);
    }

    /// A bridge without an MTU of its own has the lowest of its ports'.
    pub(crate) fn follow_port_mtu(&mut self, controller: IfName) {
        let is_bridge = self.find(controller).is_some_and(|link| link.kind == LinkKind::Bridge);
        if is_bridge && !self.hidden.own_mtu.contains(&controller) {
            let lowest = lowest_mtu(&self.now.host, &self.index, controller);
            self.take_mtu(controller, lowest.unwrap_or(1500));
        }
    }
}

/// The kernel's record of IPv6 on the link goes with its settings; a later one starts again.
fn forget_ipv6_settings(link: &mut Link) {
    let settings: Vec<Attr> = link
        .attrs
        .iter()
        .map(|(attr, _)| attr)
        .filter(|attr| matches!(attr.section(), Section::Ipv6 | Section::SysctlIpv6))
        .collect();
    for attr in settings {
        link.attrs.remove(attr);
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Attrs, Step};

    use super::*;
    use crate::testing::{
        add, addresses, all, attrs, create, dummies, join, leave, n, no, on_base, route, routes, set, touched,
        up_dummies, vlan, vrf, yes,
    };

    fn of(sim: &SimHost, name: &str) -> u64 {
        mtu_of(sim.link(n(name)).unwrap())
    }

    fn mtu(name: &str, mtu: u64) -> Step {
        set(name, Attr::Mtu, Value::Int(mtu))
    }

    #[test]
    fn lowering_a_base_lowers_vlans_and_raising_it_does_not() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [vlan("d0", 5), vlan("d0.5", 6), on_base("m0", LinkKind::MacVlan, "d0")]);
        let changed = yes(&mut sim, &mtu("d0", 1400));
        assert_eq!(touched(&changed), ["d0", "d0.5", "d0.5.6", "m0"]);
        yes(&mut sim, &mtu("d0", 1600));
        assert_eq!([of(&sim, "d0.5"), of(&sim, "d0.5.6"), of(&sim, "m0")], [1400; 3]);
        assert_eq!(no(&mut sim, &mtu("d0.5", 1601)), StepError::ERANGE);
        assert_eq!(no(&mut sim, &mtu("m0", 1601)), StepError::EINVAL);
        yes(&mut sim, &mtu("d0.5", 1600));
    }

    #[test]
    fn an_ipvlan_always_has_its_bases_mtu() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [on_base("i0", LinkKind::IpVlan, "d0"), mtu("i0", 1300), mtu("d0", 1600)]);
        assert_eq!(of(&sim, "i0"), 1600);
    }

    #[test]
    fn drivers_have_limits() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), vrf("red", 10), mtu("d0", 70_000)]);
        assert_eq!(no(&mut sim, &mtu("br0", 65_536)), StepError::EINVAL);
        assert_eq!(no(&mut sim, &mtu("red", 1279)), StepError::EINVAL);
        assert_eq!(no(&mut sim, &mtu("red", 65_576)), StepError::EINVAL);
        let vxlan = attrs([(Attr::VxlanId, Value::Int(7)), (Attr::Base, Value::Link(n("d0")))]);
        all(&mut sim, [create("vx0", LinkKind::Vxlan, vxlan), mtu("d0", 1500)]);
        assert_eq!(no(&mut sim, &mtu("vx0", 1451)), StepError::EINVAL);
        yes(&mut sim, &mtu("vx0", 1450));
    }

    #[test]
    fn a_bridge_follows_its_ports_until_it_is_reported_an_mtu() {
        let mut sim = dummies(["d0", "d1"]);
        let small = attrs([(Attr::Mtu, Value::Int(1400))]);
        all(&mut sim, [create("br1", LinkKind::Bridge, small), join("d0", "br1")]);
        assert_eq!(of(&sim, "br1"), 1400);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0")]);
        all(&mut sim, [mtu("d1", 1300), join("d1", "br0")]);
        assert_eq!(of(&sim, "br0"), 1300);
        yes(&mut sim, &mtu("d1", 9000));
        assert_eq!(of(&sim, "br0"), 1500);
        yes(&mut sim, &leave("d0"));
        assert_eq!(of(&sim, "br0"), 9000);
        all(&mut sim, [mtu("br0", 1450), mtu("d1", 1300)]);
        assert_eq!(of(&sim, "br0"), 1450);
    }

    #[test]
    fn ipv6_needs_1280_bytes() {
        let mut sim = up_dummies(["d0"]);
        all(&mut sim, [add("d0", "fd00::1/64"), set("d0", Attr::Ipv6Forwarding, Value::Bool(true))]);
        yes(&mut sim, &Step::AddRoute(route("fd05::/64", ["fd00::2%"])));
        yes(&mut sim, &mtu("d0", 1200));
        assert!(addresses(&sim, "d0").is_empty() && routes(&sim).is_empty());
        assert_eq!(sim.link(n("d0")).unwrap().attrs.bool(Attr::Ipv6Forwarding), Some(false));
        assert_eq!(no(&mut sim, &add("d0", "fd00::1/64")), StepError::EINVAL);
    }
}
