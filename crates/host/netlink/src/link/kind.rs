//! The kernel's words for kinds of links, and the model's.

use netloom_model::{Attr, Attrs, LinkKind};

use super::table::Layout;

const ARPHRD_ETHER: u16 = 1;
const ARPHRD_INFINIBAND: u16 = 32;
const ARPHRD_LOOPBACK: u16 = 772;
const IFF_LOOPBACK: u32 = 0x8;

/// The model's numbers of tunnel modes.
pub(crate) const MODE_IPIP: u64 = 1;
/// See [`MODE_IPIP`].
pub(crate) const MODE_SIT: u64 = 2;

/// Kind and layout of a link by the kernel's word for it, or by its hardware where there is none.
pub(crate) fn of(word: Option<&str>, hardware: u16, flags: u32) -> (LinkKind, Layout) {
    let Some(word) = word else {
        let kind = match hardware {
            ARPHRD_LOOPBACK => LinkKind::Loopback,
            _ if flags & IFF_LOOPBACK != 0 => LinkKind::Loopback,
            ARPHRD_ETHER => LinkKind::Ethernet,
            ARPHRD_INFINIBAND => LinkKind::Other("infiniband".into()),
            _ => LinkKind::Other("unknown".into()),
        };
        return (kind, Layout::Plain);
    };
    match word {
        "dummy" => (LinkKind::Dummy, Layout::Plain),
        "vlan" => (LinkKind::Vlan, Layout::Plain),
        "bridge" => (LinkKind::Bridge, Layout::Plain),
        "bond" => (LinkKind::Bond, Layout::Plain),
        "vrf" => (LinkKind::Vrf, Layout::Plain),
        "vxlan" => (LinkKind::Vxlan, Layout::Vxlan),
        "veth" => (LinkKind::Veth, Layout::Plain),
        "macvlan" => (LinkKind::MacVlan, Layout::Plain),
        "macvtap" => (LinkKind::MacVtap, Layout::Plain),
        "ipvlan" => (LinkKind::IpVlan, Layout::Plain),
        "ipip" | "sit" => (LinkKind::IpTunnel, Layout::Iptun4),
        "ip6tnl" => (LinkKind::IpTunnel, Layout::Iptun6),
        "gre" => (LinkKind::Gre, Layout::Gre4),
        "gretap" => (LinkKind::Gretap, Layout::Gre4),
        "ip6gre" => (LinkKind::Ip6gre, Layout::Gre6),
        "ip6gretap" => (LinkKind::Ip6gretap, Layout::Gre6),
        other => (LinkKind::Other(other.into()), Layout::Plain),
    }
}

/// The mode of a tunnel over IPv4, which is its kernel word; those over IPv6 say theirs elsewhere.
pub(crate) fn tunnel_mode(word: Option<&str>) -> Option<u64> {
    match word {
        Some("ipip") => Some(MODE_IPIP),
        Some("sit") => Some(MODE_SIT),
        _ => None,
    }
}

/// The kernel's word for a kind that can be made, and its layout; `None` for the others.
pub(crate) fn word(kind: &LinkKind, attrs: &Attrs) -> Option<(&'static str, Layout)> {
    Some(match kind {
        LinkKind::Dummy => ("dummy", Layout::Plain),
        LinkKind::Vlan => ("vlan", Layout::Plain),
        LinkKind::Bridge => ("bridge", Layout::Plain),
        LinkKind::Bond => ("bond", Layout::Plain),
        LinkKind::Vrf => ("vrf", Layout::Plain),
        LinkKind::Vxlan => ("vxlan", Layout::Vxlan),
        LinkKind::Veth => ("veth", Layout::Plain),
        LinkKind::MacVlan => ("macvlan", Layout::Plain),
        LinkKind::MacVtap => ("macvtap", Layout::Plain),
        LinkKind::IpVlan => ("ipvlan", Layout::Plain),
        LinkKind::IpTunnel => match attrs.int(Attr::TunnelMode)? {
            MODE_IPIP => ("ipip", Layout::Iptun4),
            MODE_SIT => ("sit", Layout::Iptun4),
            _ => ("ip6tnl", Layout::Iptun6),
        },
        LinkKind::Gre => ("gre", Layout::Gre4),
        LinkKind::Gretap => ("gretap", Layout::Gre4),
        LinkKind::Ip6gre => ("ip6gre", Layout::Gre6),
        LinkKind::Ip6gretap => ("ip6gretap", Layout::Gre6),
        LinkKind::Ethernet | LinkKind::Loopback | LinkKind::Other(_) => return None,
    })
}
