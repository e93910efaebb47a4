//! Routes.

use std::{net::IpAddr, time::Duration};

use ipnet::IpNet;
use netloom_types::{Family, IfName, Protocol, RouteTable};
use serde::{Deserialize, Serialize};

/// What happens to a packet that a route matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteType {
    /// It is sent on.
    Unicast,
    /// It is dropped in silence.
    Blackhole,
    /// It is dropped and the sender is notified that there is no way.
    Unreachable,
    /// It is dropped and the sender is notified that it is forbidden.
    Prohibit,
    /// The lookup goes on in the next rule.
    Throw,
}

/// One way onward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NextHop {
    /// The router; none when the destination is on the link.
    pub via: Option<IpAddr>,
    /// The link that the packet leaves by; none lets the kernel find it from `via`.
    pub link: Option<IfName>,
    /// The share of traffic among several next hops, 1 to 256.
    pub weight: u16,
    /// The router is on the link even though no address says so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub onlink: bool,
}

/// Properties of the path that the kernel uses for connections over a route; 0 is the kernel's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RouteMetrics {
    /// The path's MTU.
    pub mtu: u32,
    /// Whether path MTU discovery may not change it.
    pub lock_mtu: bool,
    /// Segment size to advertise.
    pub advmss: u32,
    /// The largest congestion window, locked.
    pub cwnd: u32,
    /// The first congestion window.
    pub initcwnd: u32,
    /// The first receive window.
    pub initrwnd: u32,
    /// Whether acknowledgements are sent at once.
    pub quickack: bool,
}

/// What a route can have that nobody asks for here, kept so that it can be put back as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteExtra {
    /// In how many seconds it ends; none for one that lasts. Routes of router advertisements do.
    pub expires: Option<u32>,
    /// How a router wants to be preferred over others (RFC 4191), as the kernel numbers it; 0 is medium.
    pub preference: u8,
}

/// What the kernel tells routes apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RouteKey {
    /// The table.
    pub table: RouteTable,
    /// The destination, host bits zero.
    pub destination: IpNet,
    /// The metric; lower is better.
    pub metric: u32,
    /// Set for an IPv6 route without a router: the kernel keeps one for each link.
    #[serde(default, skip_serializing_if = "is_default")]
    pub device: Option<IfName>,
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Route {
    /// The table.
    pub table: RouteTable,
    /// The destination, host bits zero.
    pub destination: IpNet,
    /// The metric; 0 is a real value for IPv4, the kernel's 1024 stands for unset in IPv6.
    pub metric: u32,
    /// What happens to a packet.
    pub kind: RouteType,
    /// The ways onward: none for types other than unicast, several for multipath. Sorted.
    pub next_hops: Vec<NextHop>,
    /// The own address to use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub source: Option<IpAddr>,
    /// Who put it there.
    pub protocol: Protocol,
    /// Path properties.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metrics: RouteMetrics,
    /// What few routes have.
    #[serde(default, skip_serializing_if = "is_default")]
    pub extra: RouteExtra,
}

/// What is as usual is not written down: records of many routes stay short.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Route {
    /// The metric that the kernel gives a route that names none.
    pub fn default_metric(family: Family) -> u32 {
        match family {
            Family::Ipv4 => 0,
            Family::Ipv6 => 1024,
        }
    }

    /// The family of the destination.
    pub fn family(&self) -> Family {
        Family::of_net(self.destination)
    }

    /// What the kernel tells this route apart by.
    pub fn key(&self) -> RouteKey {
        let device = match (&self.next_hops[..], self.family()) {
            ([NextHop { via: None, link, .. }], Family::Ipv6) => *link,
            _ => None,
        };
        RouteKey { table: self.table, destination: self.destination, metric: self.metric, device }
    }

    /// Whether the route leads out by `link`.
    pub fn uses(&self, link: IfName) -> bool {
        self.next_hops.iter().any(|hop| hop.link == Some(link))
    }

    /// Whether it comes and goes without anybody configuring it here: a lease, a router advertisement, a routing daemon or
    /// the kernel made it, or it ends by itself. Never part of the configuration.
    pub fn is_dynamic(&self) -> bool {
        self.protocol.is_dynamic() || self.extra.expires.is_some()
    }

    /// Whether nobody recreates it at once when the kernel drops it with its link, so that whoever took the link away
    /// has to put it back. What the kernel derives from an address comes back with that.
    pub fn is_missed(&self) -> bool {
        let derived = self.protocol == Protocol::KERNEL && self.extra.expires.is_none();
        self.table != RouteTable::LOCAL && self.protocol != Protocol::REDIRECT && !derived
    }

    /// The route when so much time has passed; none when it has ended by then.
    #[must_use]
    pub fn after(mut self, passed: Duration) -> Option<Self> {
        let seconds = u32::try_from(passed.as_secs()).unwrap_or(u32::MAX);
        self.extra.expires = self.extra.expires.map(|left| left.saturating_sub(seconds));
        (self.extra.expires != Some(0)).then_some(self)
    }

    /// Whether it stands in the place of `missed`, a dynamic route that was lost: under its key, whatever its owner made of it
    /// since, or with the same ways under another metric.
    pub fn stands_for(&self, missed: &Self) -> bool {
        let same_way = self.next_hops == missed.next_hops && self.protocol == missed.protocol;
        (self.table, self.destination) == (missed.table, missed.destination) && (self.key() == missed.key() || same_way)
    }

    /// Whether the two do the same, whoever made them.
    pub fn same_effect(&self, other: &Self) -> bool {
        let Self { table, destination, metric, kind, next_hops, source, protocol: _, metrics, extra: _ } = self;
        (table, destination, metric, kind, next_hops, source, metrics)
            == (
                &other.table,
                &other.destination,
                &other.metric,
                &other.kind,
                &other.next_hops,
                &other.source,
                &other.metrics,
            )
    }
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            RouteType::Unicast => {}
            RouteType::Blackhole => f.write_str("blackhole ")?,
            RouteType::Unreachable => f.write_str("unreachable ")?,
            RouteType::Prohibit => f.write_str("prohibit ")?,
            RouteType::Throw => f.write_str("throw ")?,
        }
        write!(f, "{}", self.destination)?;
        for hop in &self.next_hops {
            if let Some(via) = hop.via {
                write!(f, " via {via}")?;
            }
            if let Some(link) = hop.link {
                write!(f, " dev {link}")?;
            }
            if self.next_hops.len() > 1 {
                write!(f, " weight {}", hop.weight)?;
            }
        }
        if self.table != RouteTable::MAIN {
            write!(f, " table {}", self.table)?;
        }
        if self.metric != Self::default_metric(self.family()) {
            write!(f, " metric {}", self.metric)?;
        }
        Ok(())
    }
}
