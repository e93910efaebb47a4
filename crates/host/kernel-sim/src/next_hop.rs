//! Whether a router can be reached directly, and over which link.

use std::net::IpAddr;

use ipnet::IpNet;
use netloom_model::{Link, NextHop, Route, StepError};
use netloom_types::{Family, IfName, RouteTable};

use crate::{
    SimHost,
    address::carries_ipv6,
    errno::{Done, EACCES, refuse, refuse_plainly},
};

impl SimHost {
    /// Checks one next hop of a route and finds the link that it leads out by.
    pub(crate) fn check_hop(&self, route: &Route, hop: NextHop) -> Result<IfName, StepError> {
        let family = route.family();
        if let Some(name) = hop.link
            && (hop.via.is_none() || hop.onlink || family == Family::Ipv6)
        {
            self.check_out(name, family)?;
        }
        match (hop.via, hop.link) {
            (None, Some(link)) => Ok(link),
            (Some(IpAddr::V6(_)), Some(IfName::LO)) => {
                refuse(StepError::EINVAL, "Egress device can not be loopback device for this route")
            }
            (None, None) => refuse_plainly(StepError::ENODEV),
            (Some(via), Some(_)) if hop.onlink && via.is_ipv4() && self.is_own(via) => {
                refuse(StepError::EINVAL, "Nexthop has invalid gateway")
            }
            (Some(_), Some(link)) if hop.onlink => Ok(link),
            (Some(_), None) if hop.onlink => refuse(StepError::EINVAL, "Nexthop device required for onlink"),
            (Some(via @ IpAddr::V4(_)), link) => self.check_ipv4_router(route.table, via, link),
            (Some(via @ IpAddr::V6(_)), link) => self.check_ipv6_router(route.table, via, link),
        }
    }

    /// Whether this host itself has the address; all of an IPv4 prefix on `lo` counts.
    fn is_own(&self, ip: IpAddr) -> bool {
        let on_loopback = |lo: &Link| lo.up && lo.addresses.iter().any(|a| a.prefix().contains(&ip));
        self.index.addresses.of(&ip).next().is_some() || self.find(IfName::LO).is_some_and(on_loopback)
    }

    fn check_out(&self, name: IfName, family: Family) -> Done {
        let link = self.link(name)?;
        match family {
            Family::Ipv4 if !link.up => refuse(StepError::ENETDOWN, "Device for nexthop is not up"),
            Family::Ipv6 if !carries_ipv6(link) => refuse(EACCES, "IPv6 is disabled on nexthop device"),
            Family::Ipv6 if !link.up => refuse(StepError::ENETDOWN, "Nexthop device is not up"),
            Family::Ipv4 | Family::Ipv6 => Ok(()),
        }
    }

    fn check_ipv4_router(&self, table: RouteTable, via: IpAddr, link: Option<IfName>) -> Result<IfName, StepError> {
        self.link_towards(table, via, link)
            .map_or_else(|| refuse(StepError::ENETUNREACH, "Nexthop has invalid gateway"), Ok)
    }

    fn check_ipv6_router(&self, table: RouteTable, via: IpAddr, link: Option<IfName>) -> Result<IfName, StepError> {
        let link_local = matches!(via, IpAddr::V6(ip) if ip.is_unicast_link_local());
        match link {
            None if link_local => return refuse(StepError::EINVAL, "Egress device not specified"),
            Some(link) if link_local => return Ok(link),
            _ => {}
        }
        // An address in another VRF is somebody else's.
        let here = link.and_then(|name| self.find(name)).map_or(RouteTable::MAIN, |link| self.table_of(link));
        let is_here = |(name, _): &(IfName, u8)| self.find(*name).is_some_and(|owner| self.table_of(owner) == here);
        if self.index.addresses.of(&via).any(is_here) {
            return refuse(StepError::EINVAL, "Gateway can not be a local address");
        }
        self.link_towards(table, via, link).map_or_else(|| refuse_plainly(StepError::EHOSTUNREACH), Ok)
    }

    /// The link on which `via` is a neighbour: longest prefix first, in the route's table, the main
    /// one, and that of the link's VRF.
    fn link_towards(&self, table: RouteTable, via: IpAddr, link: Option<IfName>) -> Option<IfName> {
        let vrf = link.and_then(|name| self.find(name)).map(|link| self.table_of(link));
        let mut tables = vec![table, RouteTable::MAIN];
        tables.extend(vrf);
        let loops = |name: IfName| name == IfName::LO && via.is_ipv6();
        let fits = |name: &IfName| self.is_meant(link, *name) && self.is_up(*name) && !loops(*name);
        let in_tables = |name: &IfName| self.find(*name).is_some_and(|owner| tables.contains(&self.table_of(owner)));
        self.index.lengths_of(Family::of(via)).find_map(|len| {
            let prefix = IpNet::new(via, len).ok()?.trunc();
            let by_address = self.index.prefixes.of(&prefix).map(|(name, _)| *name);
            let by_route = tables.iter().flat_map(|table| self.index.device_routes.of(&(*table, prefix)));
            by_address.filter(fits).find(in_tables).or_else(|| by_route.map(|(name, _)| *name).find(fits))
        })
    }

    /// Whether a next hop that names `asked` can lead out by `name`. A VRF stands for its ports.
    fn is_meant(&self, asked: Option<IfName>, name: IfName) -> bool {
        asked.is_none_or(|asked| asked == name || self.find(name).is_some_and(|link| link.controller == Some(asked)))
    }
}
