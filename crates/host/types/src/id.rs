//! Numbers with a range or a meaning of their own.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// A VLAN id that a frame can carry: 1 to 4094.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct VlanId(u16);

impl VlanId {
    /// The lowest id.
    pub const MIN: Self = Self(1);
    /// The highest id.
    pub const MAX: Self = Self(4094);

    /// The id as a number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u16> for VlanId {
    type Error = Invalid;

    fn try_from(id: u16) -> Result<Self, Invalid> {
        if (1..=4094).contains(&id) {
            Ok(Self(id))
        } else {
            Err(Invalid::number("VLAN id", id, "must be between 1 and 4094"))
        }
    }
}

impl From<VlanId> for u16 {
    fn from(id: VlanId) -> Self {
        id.0
    }
}

impl fmt::Display for VlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A VXLAN network identifier: 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Vni(u32);

impl Vni {
    /// The identifier as a number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Vni {
    type Error = Invalid;

    fn try_from(id: u32) -> Result<Self, Invalid> {
        if id < 1 << 24 { Ok(Self(id)) } else { Err(Invalid::number("VNI", id, "must be below 16777216 (24 bits)")) }
    }
}

impl From<Vni> for u32 {
    fn from(id: Vni) -> Self {
        id.0
    }
}

impl fmt::Display for Vni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A routing table that routes can be asked for in: any 32-bit number but 0 (unspecified).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct RouteTable(u32);

impl RouteTable {
    /// The table that a lookup without a rule of its own ends in.
    pub const MAIN: Self = Self(254);
    /// The table that the kernel fills with the host's own addresses; never ours to write.
    pub const LOCAL: Self = Self(255);

    /// The table as a number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for RouteTable {
    type Error = Invalid;

    fn try_from(id: u32) -> Result<Self, Invalid> {
        if id == 0 { Err(Invalid::number("route table", id, "0 names no table")) } else { Ok(Self(id)) }
    }
}

impl From<RouteTable> for u32 {
    fn from(id: RouteTable) -> Self {
        id.0
    }
}

impl fmt::Display for RouteTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who put a route, a rule or an address into the kernel: its protocol number.
///
/// This is how ownership lives in the kernel itself: what carries [`Protocol::NETLOOM`] is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protocol(pub u8);

impl Protocol {
    /// Nobody reported.
    pub const UNSPEC: Self = Self(0);
    /// Routes that the kernel learned from another router.
    pub const REDIRECT: Self = Self(1);
    /// Routes made by the kernel itself (connected and local routes).
    pub const KERNEL: Self = Self(2);
    /// Routes made manually, `ip route` without a protocol.
    pub const BOOT: Self = Self(3);
    /// Routes made by an administrator.
    pub const STATIC: Self = Self(4);
    /// Routes from router advertisements.
    pub const RA: Self = Self(9);
    /// Routes from a DHCP lease.
    pub const DHCP: Self = Self(16);
    /// Ours. Not taken by any entry of the usual `rt_protos` file.
    pub const NETLOOM: Self = Self(112);
    /// Address protocol of the addresses that the kernel gives `lo`.
    pub const ADDRESS_KERNEL_LO: Self = Self(1);
    /// Address protocol of addresses from router advertisements.
    pub const ADDRESS_KERNEL_RA: Self = Self(2);
    /// Address protocol of link-local addresses that the kernel generates.
    pub const ADDRESS_KERNEL_LL: Self = Self(3);
}

impl Protocol {
    /// Whether routes of this protocol come and go without anybody configuring them on this host: those of the kernel
    /// (redirect, kernel, router advertisement), of routing daemons and of leases.
    pub const fn is_dynamic(self) -> bool {
        matches!(
            self.0,
            1 | 2 | 8 // redirect, kernel, gated
            | 9..=18 // ra, mrt, zebra, bird, dnrouted, xorp, ntk, dhcp, mrouted, keepalived
            | 42 | 99 // babel, openr
            | 186..=189 // bgp, isis, ospf, rip
            | 192..=197 // eigrp and the rest of FRR's
        )
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How long an address stays valid or preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Lifetime {
    /// For ever.
    #[default]
    Forever,
    /// For this many seconds from when it was set or read.
    Seconds(u32),
}
