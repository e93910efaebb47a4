//! Addresses and neighbours of a link.

use std::net::IpAddr;

use ipnet::IpNet;
use netloom_types::{Lifetime, MacAddr, Protocol};
use serde::{Deserialize, Serialize};

/// An address of a link, with its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The address itself, host bits kept.
    pub ip: IpAddr,
    /// The length of the prefix that is on the link.
    pub prefix_len: u8,
    /// How long it may be used at all.
    pub valid: Lifetime,
    /// How long it may be used for new connections.
    pub preferred: Lifetime,
    /// Who put it there.
    pub protocol: Protocol,
    /// The metric of the route to its prefix; 0 for the kernel's choice.
    pub route_metric: u32,
}

impl Address {
    /// An address that lasts for ever.
    pub fn new(ip: IpAddr, prefix_len: u8, protocol: Protocol) -> Self {
        Self { ip, prefix_len, valid: Lifetime::Forever, preferred: Lifetime::Forever, protocol, route_metric: 0 }
    }

    /// What the kernel tells addresses of one link apart by.
    pub fn key(&self) -> (IpAddr, u8) {
        (self.ip, self.prefix_len)
    }

    /// The prefix that is reached over the link.
    ///
    /// # Panics
    /// Never for an address that was parsed: the length fits the family.
    pub fn prefix(&self) -> IpNet {
        IpNet::new(self.ip, self.prefix_len).expect("prefix length fits the family").trunc()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix_len)
    }
}

/// A permanent neighbour entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Neighbour {
    /// The neighbour's address.
    pub ip: IpAddr,
    /// Its hardware address.
    pub mac: MacAddr,
}
