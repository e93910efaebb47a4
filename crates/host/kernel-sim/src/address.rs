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
        // A kernel has times, and no opinion about them.
        let address = self.now.kernel.kept(Address { exact: false, ..address });
        if let IpAddr::V6(ip) = address.ip {
            check_ipv6(link, ip)?;
        }
        let Some(at) = find(&link.addresses, &address) else {
            self.place_address(name, address);
            return Ok(());
        };
        let there = &mut self.edit(name).addresses[at];
        *there = replaced(there, address);
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
        self.now.unheard.remove(&(name, address.ip));
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
    if mtu_of(link) < IPV6_MIN && link.kind != LinkKind::Loopback {
        return refuse_plainly(StepError::EINVAL);
    }
    let off = link.attrs.bool(Attr::Ipv6Disabled) == Some(true);
    refuse_if(off, EACCES, "ipv6: IPv6 is disabled on this device")
}

/// What becomes of an address that is added again. IPv6 tells addresses apart without their length,
/// and keeps the length that is there, and the metric when none is given.
fn replaced(there: &Address, new: Address) -> Address {
    let keeps_metric = new.ip.is_ipv6() && new.route_metric == 0;
    let route_metric = if keeps_metric { there.route_metric } else { new.route_metric };
    // IPv4 keeps what a lifetime or a metric is not.
    let extra = if new.ip.is_ipv4() { there.extra } else { new.extra };
    Address { prefix_len: there.prefix_len, route_metric, extra, ..new }
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
    link.attrs.bool(Attr::Ipv6Disabled) != Some(true) && (mtu_of(link) >= IPV6_MIN || link.kind == LinkKind::Loopback)
}

#[cfg(test)]
mod tests {
    use netloom_model::{Step, Value};
    use netloom_types::Protocol;

    use super::*;
    use crate::testing::{
        a, add, addresses, all, del, in_table, join, n, no, route, routes, set, touched, up_dummies, vrf, yes,
    };

    #[test]
    fn the_list_is_in_the_kernels_order() {
        let mut sim = up_dummies(["d0"]);
        for address in
            ["10.0.0.1/24", "10.0.0.2/24", "fd00::1/64", "10.0.1.1/24", "fe80::5/64", "10.0.0.3/24", "fd00::2/64"]
        {
            yes(&mut sim, &add("d0", address));
        }
        let expected =
            ["10.0.0.1/24", "10.0.1.1/24", "10.0.0.2/24", "10.0.0.3/24", "fd00::2/64", "fd00::1/64", "fe80::5/64"];
        assert_eq!(addresses(&sim, "d0"), expected);
    }

    #[test]
    fn adding_again_replaces_life_times() {
        let mut sim = up_dummies(["d0"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d0", "fd00::1/64")]);
        let mut short = a("10.0.0.1/24");
        short.valid = Lifetime::Seconds(100);
        short.preferred = Lifetime::Seconds(50);
        short.protocol = Protocol::UNSPEC;
        let changed = yes(&mut sim, &Step::AddAddress { name: n("d0"), address: short });
        assert_eq!(changed.links[&n("d0")].as_ref().unwrap().addresses[0], a("10.0.0.1/24"));
        assert_eq!(sim.link(n("d0")).unwrap().addresses[0], short);
        yes(&mut sim, &add("d0", "fd00::1/80"));
        assert_eq!(addresses(&sim, "d0"), ["10.0.0.1/24", "fd00::1/64"]);
        yes(&mut sim, &add("d0", "10.0.0.1/25"));
        assert_eq!(addresses(&sim, "d0").len(), 3);
        short.valid = Lifetime::Seconds(0);
        assert_eq!(no(&mut sim, &Step::AddAddress { name: n("d0"), address: short }), StepError::EINVAL);
        assert_eq!(no(&mut sim, &add("d0", "ff02::1/64")), StepError::EADDRNOTAVAIL);
    }

    #[test]
    fn a_primary_address_takes_its_secondary_ones_along() {
        let mut sim = up_dummies(["d0"]);
        all(
            &mut sim,
            [add("d0", "10.0.0.1/24"), add("d0", "10.0.0.2/24"), add("d0", "10.0.0.4/25"), add("d0", "10.0.1.1/24")],
        );
        yes(&mut sim, &del("d0", "10.0.0.2/24"));
        all(&mut sim, [add("d0", "10.0.0.2/24"), add("d0", "10.0.0.3/24"), del("d0", "10.0.0.1/24")]);
        assert_eq!(addresses(&sim, "d0"), ["10.0.0.4/25", "10.0.1.1/24"]);
        assert_eq!(no(&mut sim, &del("d0", "10.0.0.1/24")), StepError::EADDRNOTAVAIL);
        assert_eq!(no(&mut sim, &del("d0", "fd00::1/64")), StepError::EADDRNOTAVAIL);
    }

    #[test]
    fn a_secondary_address_can_be_promoted() {
        let mut sim = up_dummies(["d0"]);
        yes(&mut sim, &set("d0", Attr::Ipv4PromoteSecondaries, Value::Bool(true)));
        all(
            &mut sim,
            [add("d0", "10.0.0.1/24"), add("d0", "10.0.0.2/24"), add("d0", "10.0.0.3/24"), add("d0", "10.0.1.1/24")],
        );
        yes(&mut sim, &del("d0", "10.0.0.1/24"));
        assert_eq!(addresses(&sim, "d0"), ["10.0.1.1/24", "10.0.0.2/24", "10.0.0.3/24"]);
        yes(&mut sim, &add("d0", "10.0.0.1/24"));
        assert_eq!(addresses(&sim, "d0")[3], "10.0.0.1/24");
    }

    fn sourced(to: &str, via: &str, source: &str) -> netloom_model::Route {
        let mut route = route(to, [via]);
        route.source = Some(source.parse().unwrap());
        route
    }

    #[test]
    fn ipv4_routes_go_with_their_source_and_not_with_their_router() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d0", "10.0.1.1/24"), add("d1", "10.0.2.1/24")]);
        all(
            &mut sim,
            [
                Step::AddRoute(sourced("10.5.0.0/16", "10.0.0.9%", "10.0.1.1")),
                Step::AddRoute(route("10.6.0.0/16", ["10.0.1.9%"])),
                Step::AddRoute(sourced("10.7.0.0/16", "10.0.2.9%", "10.0.1.1")),
                Step::AddRoute(in_table(99, sourced("10.8.0.0/16", "10.0.2.9%", "10.0.1.1"))),
            ],
        );
        let changed = yes(&mut sim, &del("d0", "10.0.1.1/24"));
        assert_eq!((touched(&changed), changed.routes.len()), (vec!["d0"], 2));
        assert_eq!(routes(&sim), ["10.8.0.0/16 via 10.0.2.9 dev d1 table 99", "10.6.0.0/16 via 10.0.1.9 dev d0"]);
    }

    #[test]
    fn an_address_on_two_links_is_still_a_source() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d0", "10.0.1.1/24"), add("d1", "10.0.1.1/32")]);
        yes(&mut sim, &Step::AddRoute(sourced("10.5.0.0/16", "10.0.0.9%", "10.0.1.1")));
        yes(&mut sim, &del("d0", "10.0.1.1/24"));
        assert_eq!(routes(&sim).len(), 1);
    }

    #[test]
    fn the_last_ipv4_address_takes_ipv4_along() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d1", "10.0.1.1/24"), add("d0", "fd00::1/64")]);
        let neighbour = netloom_model::Neighbour { ip: "10.0.0.7".parse().unwrap(), mac: crate::testing::mac(7) };
        all(
            &mut sim,
            [
                Step::AddNeighbour { name: n("d0"), neighbour },
                Step::AddRoute(route("10.5.0.0/16", ["%d0"])),
                Step::AddRoute(route("fd05::/64", ["%d0"])),
                Step::AddRoute(route("10.6.0.0/16", ["10.0.0.9%", "10.0.1.9%"])),
            ],
        );
        let changed = yes(&mut sim, &del("d0", "10.0.0.1/24"));
        assert_eq!(changed.routes.len(), 1);
        assert!(sim.link(n("d0")).unwrap().neighbours.is_empty());
        assert_eq!(routes(&sim).len(), 2);
    }

    #[test]
    fn ipv6_routes_only_lose_their_source() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [add("d0", "fd00::1/64"), add("d1", "fd01::1/64")]);
        all(
            &mut sim,
            [
                Step::AddRoute(sourced("fd05::/64", "fd00::9%", "fd00::1")),
                Step::AddRoute(sourced("fd06::/64", "fd01::9%", "fd00::1")),
            ],
        );
        let changed = yes(&mut sim, &del("d0", "fd00::1/64"));
        assert_eq!(changed.routes.len(), 2);
        assert!(sim.observed().routes.values().all(|route| route.source.is_none()));
    }

    #[test]
    fn an_address_in_a_vrf_is_a_source_for_its_table() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [vrf("red", 10), join("d0", "red"), add("d0", "10.0.0.1/24"), add("d1", "10.1.0.1/24")]);
        assert_eq!(no(&mut sim, &Step::AddRoute(sourced("10.8.0.0/16", "10.1.0.9%", "10.0.0.1"))), StepError::EINVAL);
        yes(&mut sim, &Step::AddRoute(in_table(10, sourced("10.8.0.0/16", "10.0.0.9%", "10.0.0.1"))));
        yes(&mut sim, &Step::AddRoute(in_table(10, sourced("10.9.0.0/16", "10.0.0.9%", "10.1.0.1"))));
    }
}
