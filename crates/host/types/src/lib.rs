//! Names, ids and addresses of a host network that can only be built valid.
//!
//! Every type here is parsed once, at the edge, and never checked again: a function that takes a
//! [`VlanId`] has no range check. The crate knows no IO, no clock and no document format.

mod id;
mod mac;
mod name;
mod packet_filter;
pub mod spelling;
mod vlan_set;

pub use id::{Lifetime, Protocol, RouteTable, VlanId, Vni};
pub use ipnet::{IpNet, Ipv4Net, Ipv6Net};
pub use mac::MacAddr;
pub use name::{AltName, IfName};
pub use packet_filter::FilterInstruction;
pub use vlan_set::VlanSet;

/// Why a text or a number is not a value of one of these types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {got}: {why}")]
pub struct Invalid {
    /// The type that was wanted, as a person would name it.
    pub what: &'static str,
    /// What was given, quoted.
    pub got: String,
    /// The rule that it breaks.
    pub why: &'static str,
}

impl Invalid {
    pub(crate) fn text(what: &'static str, got: &str, why: &'static str) -> Self {
        Self { what, got: format!("{got:?}"), why }
    }

    pub(crate) fn number(what: &'static str, got: impl std::fmt::Display, why: &'static str) -> Self {
        Self { what, got: got.to_string(), why }
    }
}

/// An address family of the internet protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Family {
    /// The family of an address.
    pub fn of(ip: std::net::IpAddr) -> Self {
        if ip.is_ipv4() { Self::Ipv4 } else { Self::Ipv6 }
    }

    /// The family of a prefix.
    pub fn of_net(net: IpNet) -> Self {
        Self::of(net.addr())
    }

    /// The length of a host prefix: 32 or 128.
    pub fn max_prefix_len(self) -> u8 {
        match self {
            Self::Ipv4 => 32,
            Self::Ipv6 => 128,
        }
    }

    /// The prefix that covers everything.
    pub fn everything(self) -> IpNet {
        match self {
            Self::Ipv4 => IpNet::V4(Ipv4Net::default()),
            Self::Ipv6 => IpNet::V6(Ipv6Net::default()),
        }
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        })
    }
}
