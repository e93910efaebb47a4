//! What two links may not have both: the tag of a VLAN, the ends of a tunnel.

use std::net::IpAddr;

use netloom_model::{Attr, Link, LinkKind, Value};
use netloom_types::IfName;

use crate::defaults::is_vxlan_over_ipv6;

/// Something that one link at most has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unique {
    /// The tag on a base.
    Vlan { base: Option<IfName>, protocol: Option<u64>, id: Option<u64> },
    /// The network behind a UDP port of one family.
    Vxlan { id: Option<u64>, port: Option<u64>, over_ipv6: bool },
    /// The ends of a tunnel, among tunnels of the same driver.
    Tunnel { driver: u8, local: Option<IpAddr>, remote: Option<IpAddr>, key: Option<u64>, base: Option<IfName> },
    /// A driver has one tunnel at most that takes its ends from the packet.
    External { driver: u8 },
}

impl Unique {
    /// What is unique about a link, if anything is.
    pub(crate) fn of(link: &Link) -> Option<Self> {
        let attrs = &link.attrs;
        match &link.kind {
            LinkKind::Vlan => Some(Self::Vlan {
                base: link.base(),
                protocol: attrs.int(Attr::VlanProtocol),
                id: attrs.int(Attr::VlanId),
            }),
            LinkKind::Vxlan => Some(Self::Vxlan {
                id: attrs.int(Attr::VxlanId),
                port: attrs.int(Attr::VxlanPort),
                over_ipv6: is_vxlan_over_ipv6(attrs),
            }),
            LinkKind::IpTunnel => Some(tunnel(link, ip_tunnel_driver(attrs.int(Attr::TunnelMode)))),
            LinkKind::Gre => Some(tunnel(link, 1)),
            LinkKind::Gretap => Some(tunnel(link, 2)),
            LinkKind::Ip6gre => Some(tunnel(link, 6)),
            LinkKind::Ip6gretap => Some(tunnel(link, 7)),
            LinkKind::Ethernet
            | LinkKind::Loopback
            | LinkKind::Dummy
            | LinkKind::Bridge
            | LinkKind::Bond
            | LinkKind::Vrf
            | LinkKind::Veth
            | LinkKind::MacVlan
            | LinkKind::MacVtap
            | LinkKind::IpVlan
            | LinkKind::Other(_) => None,
        }
    }
}

/// Both modes over IPv6 share one driver.
fn ip_tunnel_driver(mode: Option<u64>) -> u8 {
    match mode {
        Some(1) => 3,
        Some(2) => 4,
        _ => 5,
    }
}

fn tunnel(link: &Link, driver: u8) -> Unique {
    if link.attrs.bool(Attr::GreExternal) == Some(true) && !matches!(link.kind, LinkKind::IpTunnel) {
        // GRE over IPv6 counts both layers as one here.
        return Unique::External { driver: driver.min(6) };
    }
    Unique::Tunnel {
        driver,
        local: ip(link, Attr::TunnelLocal),
        remote: ip(link, Attr::TunnelRemote),
        key: link.attrs.int(Attr::GreInputKey),
        base: link.base(),
    }
}

fn ip(link: &Link, attr: Attr) -> Option<IpAddr> {
    match link.attrs.given(attr) {
        Some(Value::Ip(ip)) => Some(*ip),
        _ => None,
    }
}
