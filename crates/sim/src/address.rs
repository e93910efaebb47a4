//! Addresses of links.
//!
//! The list is in the kernel's order. IPv4: first the primary addresses in the order of adding, then
//! the secondary ones, which are those whose prefix is already there. IPv6 follows, the newest
//! first. On `lo` an address of wider scope goes behind 127.0.0.1.

use std::net::{IpAddr, Ipv6Addr};

use netloom_model::{Address, Attr, Link, LinkKind, StepError};
use netloom_types::{Family, IfName, Lifetime};

use crate::{
    SimHost,
    defaults::mtu_of,
    errno::{Done, EACCES, refuse, refuse_if, refuse_plainly},
    mtu::IPV6_MIN,
};

impl SimHost {
    pub(crate) fn add_address(&mut self, name: IfName, address: Address) -> Done {
        let link = self.link(name)?;
        check_lifetimes(&address)?;
        if let IpAddr::V6(ip) = address.ip {
            check_ipv6(link, ip)?;
        }
        let Some(at) = find(&link.addresses, &address) else {
            self.place_address(name, address);
            return Ok(());
        };
        // IPv6 tells addresses apart without their length, and keeps the length that is there.
        let there = &mut self.edit(name).addresses[at];
        *there = Address { prefix_len: there.prefix_len, ..address };
        Ok(())
    }

    /// Puts an address that is not there in its place.
    pub(crate) fn place_address(&mut self, name: IfName, address: Address) {
        let addresses = &mut self.edit(name).addresses;
        let at = place(addresses, &address);
        addresses.insert(at, address);
        self.index.add_address(name, &address);
    }

    pub(crate) fn remove_address(&mut self, name: IfName, address: Address) -> Done {
        let link = self.link(name)?;
        let Some(at) = link.addresses.iter().position(|there| there.key() == address.key()) else {
            let family = Family::of(address.ip);
            return refuse(StepError::EADDRNOTAVAIL, &format!("{family}: address not found"));
        };
        match address.ip {
            IpAddr::V4(_) => self.remove_ipv4(name, at),
            IpAddr::V6(_) => self.remove_ipv6(name, at),
        }
        Ok(())
    }

    /// A primary address takes its secondary ones with it, unless the first of them is promoted.
    fn remove_ipv4(&mut self, name: IfName, at: usize) {
        let promotes = self.find(name).and_then(|link| link.attrs.bool(Attr::Ipv4PromoteSecondaries)) == Some(true);
        let link = self.edit(name);
        let secondary = is_secondary(&link.addresses, at);
        let address = link.addresses.remove(at);
        let mut gone = vec![address];
        if !secondary {
            let prefix = address.prefix();
            if promotes {
                promote(&mut link.addresses, &address);
            } else {
                gone.extend(link.addresses.extract_if(.., |other| other.ip.is_ipv4() && other.prefix() == prefix));
            }
        }
        let last = !link.addresses.iter().any(|other| other.ip.is_ipv4());
        for address in &gone {
            self.index.remove_address(name, address);
        }
        if last {
            // The kernel switches IPv4 off on a link without addresses.
            self.lose_routes(name, Some(Family::Ipv4));
            self.edit(name).neighbours.retain(|neighbour| neighbour.ip.is_ipv6());
        }
        let Some(link) = self.find(name) else { return };
        let table = self.table_of(link);
        for address in gone {
            self.lose_sources_v4(address.ip, table);
        }
    }

    /// Routes that named the address as source stay, without it.
    fn remove_ipv6(&mut self, name: IfName, at: usize) {
        let address = self.edit(name).addresses.remove(at);
        self.index.remove_address(name, &address);
        if self.index.addresses.of(&address.ip).next().is_none() {
            self.forget_source(address.ip);
        }
    }
}

fn check_lifetimes(address: &Address) -> Done {
    let seconds = |lifetime| match lifetime {
        Lifetime::Forever => u32::MAX,
        Lifetime::Seconds(seconds) => seconds,
    };
    let wrong = seconds(address.valid) == 0 || seconds(address.preferred) > seconds(address.valid);
    refuse_if(wrong, StepError::EINVAL, "address lifetime is invalid")
}

fn check_ipv6(link: &Link, ip: Ipv6Addr) -> Done {
    if ip.is_multicast() || ip.is_unspecified() {
        return refuse(StepError::EADDRNOTAVAIL, "ipv6: Invalid address");
    }
    if mtu_of(link) < IPV6_MIN {
        return refuse_plainly(StepError::EINVAL);
    }
    let off = link.attrs.bool(Attr::Ipv6Disabled) == Some(true);
    refuse_if(off, EACCES, "ipv6: IPv6 is disabled on this device")
}

/// Where the same address stands, by what the kernel tells them apart by.
fn find(addresses: &[Address], address: &Address) -> Option<usize> {
    addresses.iter().position(|there| match address.ip {
        IpAddr::V4(_) => there.key() == address.key(),
        IpAddr::V6(_) => there.ip == address.ip,
    })
}

/// Whether an earlier address has the same prefix.
fn is_secondary(addresses: &[Address], at: usize) -> bool {
    let prefix = addresses[at].prefix();
    addresses[..at].iter().any(|earlier| earlier.prefix() == prefix)
}

fn place(addresses: &[Address], address: &Address) -> usize {
    let v4 = addresses.iter().take_while(|there| there.ip.is_ipv4()).count();
    if address.ip.is_ipv6() {
        let narrower = |there: &Address| ipv6_scope(there.ip) > ipv6_scope(address.ip);
        return v4 + addresses[v4..].iter().take_while(|there| narrower(there)).count();
    }
    let prefix = address.prefix();
    if addresses[..v4].iter().any(|there| there.prefix() == prefix) {
        return v4;
    }
    after_primaries(&addresses[..v4], address)
}

/// Behind the last primary address whose scope is not wider.
fn after_primaries(addresses: &[Address], address: &Address) -> usize {
    let fits = |at: &usize| !is_secondary(addresses, *at) && ipv4_reach(address.ip) >= ipv4_reach(addresses[*at].ip);
    (0..addresses.len()).rfind(fits).map_or(0, |at| at + 1)
}

/// The first secondary address of the prefix becomes the primary one.
fn promote(addresses: &mut Vec<Address>, gone: &Address) {
    let prefix = gone.prefix();
    if let Some(at) = addresses.iter().position(|there| there.ip.is_ipv4() && there.prefix() == prefix) {
        let address = addresses.remove(at);
        let v4 = addresses.iter().take_while(|there| there.ip.is_ipv4()).count();
        // Secondary addresses of its own prefix must not be taken for primary ones while it is out.
        let before = addresses[..v4.min(at)].to_vec();
        let place = after_primaries(&before, &address);
        addresses.insert(place, address);
    }
}

/// How far an IPv4 address is known: 0 on this host, 1 beyond it.
fn ipv4_reach(ip: IpAddr) -> u8 {
    u8::from(!ip.is_loopback())
}

/// How far an IPv6 address is known, as the kernel numbers it.
fn ipv6_scope(ip: IpAddr) -> u8 {
    match ip {
        // ::1 counts as link-local when the kernel sorts.
        IpAddr::V6(ip) if ip.is_unicast_link_local() || ip.is_loopback() => 2,
        IpAddr::V6(_) | IpAddr::V4(_) => 14,
    }
}

/// Whether the kind of a link lets it carry IPv6 at all.
pub(crate) fn carries_ipv6(link: &Link) -> bool {
    link.attrs.bool(Attr::Ipv6Disabled) != Some(true) && mtu_of(link) >= IPV6_MIN || link.kind == LinkKind::Loopback
}
