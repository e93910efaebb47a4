//! The addresses of one family of one network: which may be given out, and which of them without being asked for.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};

use crate::{Numbers, number};

/// A network with the part of it from which dynamic addresses come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    net: IpNet,
    start: IpAddr,
    end: IpAddr,
    gateways: Vec<IpAddr>,
}

/// Why there is no such pool. Texts do not name the field: who reads it from an object does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPool {
    /// The first address is not in the network.
    #[error("start {0} is not in {1}")]
    Start(IpAddr, IpNet),
    /// The last address is not in the network.
    #[error("end {0} is not in {1}")]
    End(IpAddr, IpNet),
    /// The last address is below the first.
    #[error("end {1} is below start {0}")]
    Order(IpAddr, IpAddr),
    /// A network without an address that a pod could have.
    #[error("{0} has no address for a pod beside its first and last one")]
    TooSmall(IpNet),
}

/// The longest prefix of a pool of IPv6 addresses that is made where a network names none and has no IPv4 network.
pub const DEFAULT_V6_LEN: u8 = 105;

/// The part of an IPv6 network in which its pool is, when the network names none: as large as fits into DANM's
/// bitmask beside the one of the IPv4 network with prefix `v4_len`.
pub fn default_v6_pool(net6: Ipv6Net, v4_len: Option<u8>) -> Ipv6Net {
    let taken = v4_len.map_or(0, |len| 1u64 << 32u8.saturating_sub(len).min(32));
    let capacity = (1u64 << 23).saturating_sub(taken);
    let smallest = match v4_len {
        None => DEFAULT_V6_LEN,
        Some(_) => (DEFAULT_V6_LEN..=128).find(|len| 1u64 << (128 - len) < capacity).unwrap_or(DEFAULT_V6_LEN),
    };
    let len = smallest.max(net6.prefix_len());
    Ipv6Net::new(net6.network(), len).unwrap_or(net6)
}

impl Pool {
    /// The pool of a network. Without `start` and `end` it is everything but the first and the last address of
    /// `within`, which is the network itself for IPv4. `gateways` are addresses that nobody gets.
    pub fn new(
        net: IpNet,
        within: IpNet,
        start: Option<IpAddr>,
        end: Option<IpAddr>,
        gateways: Vec<IpAddr>,
    ) -> Result<Self, BadPool> {
        let (net, within) = (net.trunc(), within.trunc());
        let (first, last) = (number(within.network()), number(within.broadcast()));
        if (start.is_none() || end.is_none()) && last - first < 2 {
            return Err(BadPool::TooSmall(within));
        }
        let start = start.unwrap_or_else(|| crate::address(first + 1, within.network()));
        let end = end.unwrap_or_else(|| crate::address(last - 1, within.network()));
        if !within.contains(&start) {
            return Err(BadPool::Start(start, within));
        }
        if !within.contains(&end) {
            return Err(BadPool::End(end, within));
        }
        if end < start {
            return Err(BadPool::Order(start, end));
        }
        Ok(Self { net, start, end, gateways })
    }

    /// The whole network; addresses are given with its prefix length.
    pub fn net(&self) -> IpNet {
        self.net
    }

    /// The first dynamic address.
    pub fn start(&self) -> IpAddr {
        self.start
    }

    /// The last dynamic address.
    pub fn end(&self) -> IpAddr {
        self.end
    }

    /// The addresses that nobody gets: the first and the last of the network, and gateways. A network of one or two
    /// addresses has no first and last one to spare, and an IPv6 network has no broadcast address.
    pub fn kept_free(&self) -> Numbers {
        let mut kept = Numbers::new();
        let (first, last) = (number(self.net.network()), number(self.net.broadcast()));
        if last - first >= 2 {
            kept.insert(first, first);
            if self.net.addr().is_ipv4() {
                kept.insert(last, last);
            }
        }
        for gateway in self.gateways.iter().filter(|gateway| self.net.contains(*gateway)) {
            kept.insert(number(*gateway), number(*gateway));
        }
        kept
    }

    /// The addresses that are given to those who name none.
    pub fn dynamic(&self) -> Numbers {
        Numbers::range(number(self.start), number(self.end)).without(&self.kept_free())
    }

    /// The addresses that a pod may ask for.
    pub fn nameable(&self) -> Numbers {
        Numbers::range(number(self.net.network()), number(self.net.broadcast())).without(&self.kept_free())
    }

    /// Whether a pod may ask for this address.
    pub fn may_be_asked_for(&self, address: IpAddr) -> bool {
        self.net.contains(&address) && !self.kept_free().contains(number(address))
    }

    /// The unspecified address of this family, to render numbers with.
    pub fn like(&self) -> IpAddr {
        match self.net {
            IpNet::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            IpNet::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        }
    }
}
