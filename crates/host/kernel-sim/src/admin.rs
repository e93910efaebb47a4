//! Setting links up and down.
//!
//! VLANs follow their base both ways unless they are bound loosely: a base that comes up brings
//! them up even when somebody had set them down.

use netloom_model::{Address, Attr, Link, LinkKind, OperState, StepError};
use netloom_types::{IfName, Lifetime, MacAddr, Protocol};

use crate::{
    SimHost,
    defaults::mtu_of,
    errno::{Done, refuse_plainly},
    mtu::IPV6_MIN,
};

impl SimHost {
    pub(crate) fn set_up(&mut self, name: IfName, up: bool) -> Done {
        let link = self.link(name)?;
        if link.up == up {
            return Ok(());
        }
        self.check_can_be_up(link, up)?;
        if up {
            self.raise(name);
        } else {
            self.lower(name);
        }
        Ok(())
    }

    /// A VLAN is up only while its base is, and with an address: a bridge without ports has none to
    /// inherit.
    pub(crate) fn check_can_be_up(&self, link: &Link, up: bool) -> Done {
        if !up || link.kind != LinkKind::Vlan {
            return Ok(());
        }
        if link.attrs.mac(Attr::Mac).is_some_and(MacAddr::is_zero) {
            return refuse_plainly(StepError::EADDRNOTAVAIL);
        }
        if !is_loose(link) && !link.base().is_some_and(|base| self.is_up(base)) {
            return refuse_plainly(StepError::ENETDOWN);
        }
        Ok(())
    }

    /// Sets a link up, with its VLANs.
    pub(crate) fn raise(&mut self, name: IfName) {
        if self.is_up(name) {
            return;
        }
        self.edit(name).up = true;
        self.set_facts(name, true);
        self.inherit_mac(name);
        if name == IfName::LO {
            self.give_loopback_addresses();
            self.check_ipv6_mtu(name);
        }
        self.raise_vlans(name);
    }

    /// Sets the VLANs of a link up that follow it.
    pub(crate) fn raise_vlans(&mut self, name: IfName) {
        for child in self.following_vlans(name) {
            self.raise(child);
        }
    }

    /// Sets a link down, with its VLANs, and drops what needs it up.
    pub(crate) fn lower(&mut self, name: IfName) {
        if !self.is_up(name) {
            return;
        }
        let link = self.edit(name);
        link.up = false;
        link.neighbours.clear();
        self.set_facts(name, false);
        self.drop_ipv6_addresses(name);
        self.lose_routes(name, None);
        for child in self.following_vlans(name) {
            self.lower(child);
        }
    }

    /// Drops the IPv6 addresses that do not outlive the link's being up.
    pub(crate) fn drop_ipv6_addresses(&mut self, name: IfName) {
        let Some(link) = self.find(name) else { return };
        let keeps = link.attrs.bool(Attr::Ipv6KeepAddrOnDown) == Some(true)
            && link.attrs.bool(Attr::Ipv6Disabled) != Some(true);
        let stays = |address: &Address| address.ip.is_ipv4() || keeps && is_kept(address);
        let gone: Vec<Address> = link.addresses.iter().filter(|address| !stays(address)).copied().collect();
        if gone.is_empty() {
            return;
        }
        for address in &gone {
            self.index.remove_address(name, address);
        }
        self.edit(name).addresses.retain(stays);
    }

    /// Everything of IPv6 goes: the family is switched off on the link.
    pub(crate) fn drop_ipv6(&mut self, name: IfName) {
        let Some(link) = self.find(name) else { return };
        let gone: Vec<Address> = link.addresses.iter().filter(|address| address.ip.is_ipv6()).copied().collect();
        for address in &gone {
            self.index.remove_address(name, address);
        }
        if !gone.is_empty() || link_has_ipv6_neighbours(self.find(name)) {
            let link = self.edit(name);
            link.addresses.retain(|address| address.ip.is_ipv4());
            link.neighbours.retain(|neighbour| neighbour.ip.is_ipv4());
        }
        self.lose_routes(name, Some(netloom_types::Family::Ipv6));
    }

    /// `lo` gets its addresses whenever it comes up.
    pub(crate) fn give_loopback_addresses(&mut self) {
        let lo = self.edit(IfName::LO);
        let mut new = Vec::new();
        // The kernel marks only the IPv6 one as its own.
        let v4 = Address::new(std::net::Ipv4Addr::LOCALHOST.into(), 8, Protocol::UNSPEC);
        if !lo.addresses.iter().any(|address| address.key() == v4.key()) {
            new.push(v4);
        }
        let v6 = Address::new(std::net::Ipv6Addr::LOCALHOST.into(), 128, Protocol::ADDRESS_KERNEL_LO);
        let v6_on = lo.attrs.bool(Attr::Ipv6Disabled) != Some(true) && mtu_of(lo) >= IPV6_MIN;
        if v6_on && !lo.addresses.iter().any(|address| address.ip == v6.ip) {
            new.push(v6);
        }
        for address in new {
            self.place_address(IfName::LO, self.now.kernel.kept(address));
        }
    }

    fn following_vlans(&self, name: IfName) -> Vec<IfName> {
        let follows = |child: &&IfName| {
            self.find(**child).is_some_and(|link| {
                let zero = link.attrs.mac(Attr::Mac).is_some_and(MacAddr::is_zero);
                link.kind == LinkKind::Vlan && !is_loose(link) && (link.up || !zero)
            })
        };
        self.index.children.of(&name).filter(follows).copied().collect()
    }

    fn set_facts(&mut self, name: IfName, up: bool) {
        if let Some(facts) = self.now.facts.get_mut(&name) {
            facts.carrier = up;
            facts.oper = if up { OperState::Up } else { OperState::Down };
        }
    }
}

fn is_loose(link: &Link) -> bool {
    link.attrs.bool(Attr::VlanLooseBinding) == Some(true)
}

fn is_kept(address: &Address) -> bool {
    let link_local = matches!(address.ip, std::net::IpAddr::V6(ip) if ip.is_unicast_link_local() || ip.is_loopback());
    address.valid == Lifetime::Forever && !link_local
}

fn link_has_ipv6_neighbours(link: Option<&Link>) -> bool {
    link.is_some_and(|link| link.neighbours.iter().any(|neighbour| neighbour.ip.is_ipv6()))
}

#[cfg(test)]
mod tests {
    use netloom_model::{Step, Value};

    use super::*;
    use crate::testing::{
        add, addresses, all, attrs, create, down, dummies, n, no, on_base, route, routes, set, touched, up, up_dummies,
        vlan, yes,
    };

    #[test]
    fn vlans_follow_their_base_unless_bound_loosely() {
        let mut sim = dummies(["d0"]);
        let loose = attrs([
            (Attr::Base, Value::Link(n("d0"))),
            (Attr::VlanId, Value::Int(6)),
            (Attr::VlanLooseBinding, Value::Bool(true)),
        ]);
        all(&mut sim, [vlan("d0", 5), vlan("d0.5", 7), create("d0.6", LinkKind::Vlan, loose)]);
        yes(&mut sim, &on_base("m0", LinkKind::MacVlan, "d0"));
        assert_eq!(no(&mut sim, &up("d0.5")), StepError::ENETDOWN);
        all(&mut sim, [up("d0.6"), down("d0.6"), up("m0")]);
        assert_eq!(touched(&yes(&mut sim, &up("d0"))), ["d0", "d0.5", "d0.5.7"]);
        yes(&mut sim, &up("d0.6"));
        assert_eq!(touched(&yes(&mut sim, &down("d0"))), ["d0", "d0.5", "d0.5.7"]);
        assert!(sim.is_up(n("d0.6")) && sim.is_up(n("m0")));
    }

    #[test]
    fn a_base_that_comes_up_raises_vlans_that_were_down() {
        let mut sim = up_dummies(["d0"]);
        all(&mut sim, [vlan("d0", 5), down("d0"), up("d0")]);
        assert!(sim.is_up(n("d0.5")));
    }

    #[test]
    fn a_link_that_goes_down_loses_routes_and_ipv6_addresses() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d0", "fd00::1/64"), add("d1", "10.0.1.1/24")]);
        all(
            &mut sim,
            [
                Step::AddRoute(route("10.5.0.0/16", ["10.0.0.2%"])),
                Step::AddRoute(route("10.6.0.0/16", ["10.0.0.2%", "10.0.1.2%"])),
                Step::AddRoute(route("fd05::/64", ["fd00::2%"])),
                Step::AddRoute(route("fd06::/64", ["%d0"])),
                Step::AddRoute(route("10.66.0.0/16", [])),
                Step::AddRoute(route("fd66::/64", [])),
            ],
        );
        let changed = yes(&mut sim, &down("d0"));
        assert_eq!((changed.links.len(), changed.routes.len()), (1, 3));
        assert_eq!(addresses(&sim, "d0"), ["10.0.0.1/24"]);
        let multipath = "10.6.0.0/16 via 10.0.0.2 dev d0 weight 1 via 10.0.1.2 dev d1 weight 1";
        assert_eq!(routes(&sim), [multipath, "blackhole 10.66.0.0/16", "blackhole fd66::/64"]);
        yes(&mut sim, &down("d1"));
        assert_eq!(routes(&sim), ["blackhole 10.66.0.0/16", "blackhole fd66::/64"]);
    }

    #[test]
    fn ipv6_addresses_can_be_kept() {
        let mut sim = dummies(["d0"]);
        yes(&mut sim, &set("d0", Attr::Ipv6KeepAddrOnDown, Value::Bool(true)));
        let mut short = crate::testing::a("fd00::2/64");
        short.valid = Lifetime::Seconds(1000);
        short.preferred = Lifetime::Seconds(1000);
        let short = Step::AddAddress { name: n("d0"), address: short };
        all(&mut sim, [up("d0"), add("d0", "fd00::1/64"), short, down("d0")]);
        assert_eq!(addresses(&sim, "d0"), ["fd00::1/64"]);
    }

    #[test]
    fn loopback_gets_its_addresses_when_it_comes_up() {
        let mut sim = SimHost::new();
        all(&mut sim, [add("lo", "10.0.0.1/32"), add("lo", "fd00::1/128"), up("lo")]);
        assert_eq!(addresses(&sim, "lo"), ["127.0.0.1/8", "10.0.0.1/32", "fd00::1/128", "::1/128"]);
        yes(&mut sim, &down("lo"));
        assert_eq!(addresses(&sim, "lo"), ["127.0.0.1/8", "10.0.0.1/32"]);
        yes(&mut sim, &up("lo"));
        assert_eq!(addresses(&sim, "lo"), ["127.0.0.1/8", "10.0.0.1/32", "::1/128"]);
    }

    #[test]
    fn ipv6_routes_that_drop_packets_go_with_loopback() {
        let mut sim = SimHost::new();
        all(&mut sim, [up("lo"), Step::AddRoute(route("fd66::/64", [])), Step::AddRoute(route("10.66.0.0/16", []))]);
        let changed = yes(&mut sim, &down("lo"));
        assert_eq!(changed.routes.len(), 1);
        assert_eq!(routes(&sim), ["blackhole 10.66.0.0/16"]);
    }
}
