//! Setting links up and down.
//!
//! VLANs follow their base both ways unless they are bound loosely: a base that comes up brings
//! them up even when somebody had set them down.

use netloom_model::{Address, Attr, Link, LinkKind, OperState, StepError};
use netloom_types::{IfName, Lifetime, Protocol};

use crate::{
    SimHost,
    errno::{Done, refuse_plainly},
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

    /// A VLAN is up only while its base is.
    pub(crate) fn check_can_be_up(&self, link: &Link, up: bool) -> Done {
        let needs_base = up && link.kind == LinkKind::Vlan && !is_loose(link);
        if needs_base && !link.base().is_some_and(|base| self.is_up(base)) {
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
        }
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
        let own = |ip: std::net::IpAddr, len| Address::new(ip, len, Protocol::ADDRESS_KERNEL_LO);
        let lo = self.edit(IfName::LO);
        let mut new = Vec::new();
        let v4 = own(std::net::Ipv4Addr::LOCALHOST.into(), 8);
        if !lo.addresses.iter().any(|address| address.key() == v4.key()) {
            new.push(v4);
        }
        let v6 = own(std::net::Ipv6Addr::LOCALHOST.into(), 128);
        let v6_on = lo.attrs.bool(Attr::Ipv6Disabled) != Some(true);
        if v6_on && !lo.addresses.iter().any(|address| address.ip == v6.ip) {
            new.push(v6);
        }
        for address in new {
            self.place_address(IfName::LO, address);
        }
    }

    fn following_vlans(&self, name: IfName) -> Vec<IfName> {
        let follows = |child: &&IfName| self.find(**child).is_some_and(|l| l.kind == LinkKind::Vlan && !is_loose(l));
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
    let link_local = matches!(address.ip, std::net::IpAddr::V6(ip) if ip.is_unicast_link_local());
    address.valid == Lifetime::Forever && !link_local
}

fn link_has_ipv6_neighbours(link: Option<&Link>) -> bool {
    link.is_some_and(|link| link.neighbours.iter().any(|neighbour| neighbour.ip.is_ipv6()))
}
