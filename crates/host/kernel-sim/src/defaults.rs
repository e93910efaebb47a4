//! What a new link of each kind has before anybody asks for anything: MTU and its range.

use std::net::IpAddr;

use netloom_model::{Attr, Attrs, Link, LinkKind, Value};
use netloom_types::IfName;

use crate::{
    SimHost,
    lookup::{Lookup, lookup},
    mtu::IPV6_MIN,
};

const ETHERNET_MTU: u64 = 1500;
/// The option of tunnels over IPv6 that limits how often a packet is wrapped, in bytes.
const LIMIT: u64 = 8;

/// The range of MTUs that a driver takes; 0 as the highest means that it does not say.
pub(crate) fn mtu_range(kind: &LinkKind, attrs: &Attrs) -> (u32, u32) {
    match kind {
        LinkKind::Dummy | LinkKind::Loopback | LinkKind::Gre | LinkKind::Ip6gre | LinkKind::Other(_) => (0, 0),
        LinkKind::Vrf => (1280, 65_575),
        LinkKind::Vlan => (0, 65_535),
        LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::Gretap | LinkKind::Ip6gretap => (68, 0),
        LinkKind::IpTunnel => match attrs.int(Attr::TunnelMode) {
            Some(1) => (0, 0),
            Some(2) => (1280, 65_555),
            _ => (68, 65_535),
        },
        LinkKind::Ethernet
        | LinkKind::Bridge
        | LinkKind::Bond
        | LinkKind::Vxlan
        | LinkKind::Veth
        | LinkKind::IpVlan => (68, 65_535),
    }
}

impl SimHost {
    /// The MTU of a new link, or of a tunnel whose ends changed.
    pub(crate) fn default_mtu(&self, kind: &LinkKind, attrs: &Attrs) -> u64 {
        let base = attrs.link(Attr::Base).and_then(|name| self.find(name));
        let is_sit = *kind == LinkKind::IpTunnel && attrs.int(Attr::TunnelMode) == Some(2);
        let base_mtu = base.filter(|base| !(is_sit && base.kind == LinkKind::Vrf)).map(mtu_of);
        match kind {
            LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan => {
                base_mtu.unwrap_or(ETHERNET_MTU)
            }
            LinkKind::Vxlan => base_mtu.map_or(ETHERNET_MTU, |mtu| mtu.saturating_sub(vxlan_overhead(attrs))),
            LinkKind::Vrf => 65_575,
            LinkKind::Loopback => 65_536,
            LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Gretap | LinkKind::Ip6gre | LinkKind::Ip6gretap => {
                self.tunnel_mtu(kind, attrs, base_mtu)
            }
            LinkKind::Ethernet
            | LinkKind::Dummy
            | LinkKind::Bridge
            | LinkKind::Bond
            | LinkKind::Veth
            | LinkKind::Other(_) => ETHERNET_MTU,
        }
    }

    /// A tunnel takes the MTU of the way to its far end; without a way, that of its base, but for GRE
    /// over IPv6.
    fn tunnel_mtu(&self, kind: &LinkKind, attrs: &Attrs, base_mtu: Option<u64>) -> u64 {
        let way = match (attrs.given(Attr::TunnelRemote), attrs.given(Attr::TunnelLocal)) {
            _ if is_external(kind, attrs) => None,
            // IPv4 looks for a way from an own address only.
            (Some(_), Some(Value::Ip(local @ IpAddr::V4(_)))) if self.index.addresses.of(local).next().is_none() => {
                None
            }
            (Some(Value::Ip(remote)), _) => self.way_to(*remote),
            _ => None,
        };
        let base = attrs.link(Attr::Base);
        let over_v6_gre = matches!(kind, LinkKind::Ip6gre | LinkKind::Ip6gretap);
        let over_v6 = over_v6_gre || matches!(attrs.int(Attr::TunnelMode), Some(3 | 4));
        // IPv4 looks for a way over the base only.
        let fits = |way: &IfName| over_v6 || base.is_none_or(|base| base == *way);
        let way_mtu = way.filter(fits).and_then(|way| self.find(way)).map(mtu_of);
        let outer = way_mtu.or(base_mtu.filter(|_| !over_v6_gre)).unwrap_or(ETHERNET_MTU);
        let (least, most) = match (kind, attrs.int(Attr::TunnelMode)) {
            (LinkKind::Gre | LinkKind::Gretap, _) | (LinkKind::IpTunnel, Some(1)) => (68, 65_535),
            _ => (IPV6_MIN, u64::MAX),
        };
        outer.min(most).saturating_sub(tunnel_overhead(kind, attrs)).max(least)
    }

    fn way_to(&self, remote: IpAddr) -> Option<IfName> {
        match lookup(&self.now, remote) {
            Lookup::Via { link, .. } => Some(link),
            Lookup::Local => Some(IfName::LO),
            Lookup::Blackhole | Lookup::Unreachable | Lookup::Prohibited | Lookup::NoRoute => None,
        }
    }
}

/// Whether the link wraps packets and sends them to a far end.
pub(crate) fn is_tunnel(link: &Link) -> bool {
    matches!(link.kind, LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Gretap | LinkKind::Ip6gre | LinkKind::Ip6gretap)
}

/// Whether a tunnel's far end is an IPv6 address.
pub(crate) fn is_over_ipv6(tunnel: &Link) -> bool {
    matches!(tunnel.kind, LinkKind::Ip6gre | LinkKind::Ip6gretap)
        || matches!(tunnel.attrs.int(Attr::TunnelMode), Some(3 | 4)) && tunnel.kind == LinkKind::IpTunnel
}

/// The MTU of a link.
pub(crate) fn mtu_of(link: &Link) -> u64 {
    link.attrs.int(Attr::Mtu).unwrap_or(ETHERNET_MTU)
}

/// Whether an end of the VXLAN is an IPv6 address.
pub(crate) fn is_vxlan_over_ipv6(attrs: &Attrs) -> bool {
    let ends = [Attr::VxlanLocal, Attr::VxlanRemote];
    ends.into_iter().any(|attr| matches!(attrs.given(attr), Some(Value::Ip(IpAddr::V6(_)))))
}

/// The bytes that VXLAN puts before a packet.
pub(crate) fn vxlan_overhead(attrs: &Attrs) -> u64 {
    if is_vxlan_over_ipv6(attrs) { 70 } else { 50 }
}

/// The bytes that a tunnel puts before a packet.
pub(crate) fn tunnel_overhead(kind: &LinkKind, attrs: &Attrs) -> u64 {
    let key = if attrs.given(Attr::GreOutputKey).is_some_and(|key| *key != Value::Unset) { 4 } else { 0 };
    match kind {
        LinkKind::Gre => 24 + key,
        LinkKind::Gretap => 38 + key,
        LinkKind::Ip6gre => 44 + LIMIT + key,
        LinkKind::Ip6gretap => 58 + LIMIT + key,
        _ => match attrs.int(Attr::TunnelMode) {
            Some(1 | 2) => 20,
            _ if attrs.int(Attr::TunnelFlags).unwrap_or(0) & 1 == 1 => 40,
            _ => 40 + LIMIT,
        },
    }
}

fn is_external(kind: &LinkKind, attrs: &Attrs) -> bool {
    !matches!(kind, LinkKind::IpTunnel) && attrs.bool(Attr::GreExternal) == Some(true)
}
