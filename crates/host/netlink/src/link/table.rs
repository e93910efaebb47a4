//! Where each property of the model stands on the wire.
//!
//! One exhaustive `match`: a new property does not compile until it has a place here. Properties that
//! share an attribute with others, or that look different from kind to kind, are
//! [`Wire::Composed`] and handled in `composed`.
//!
//! The model keeps the units of a document; [`Form`] knows those of the kernel.

use std::sync::LazyLock;

use netloom_model::{Attr, LinkKind};
use netloom_types::Family;

use super::form::Form;
use crate::ethtool::Place as Ethtool;

/// How a kind lays out its own attributes, where several kinds share properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The base is an attribute of the link itself.
    Plain,
    /// `IFLA_VXLAN_*`
    Vxlan,
    /// `IFLA_IPTUN_*` over IPv4: ipip, sit.
    Iptun4,
    /// `IFLA_IPTUN_*` over IPv6: ip6tnl.
    Iptun6,
    /// `IFLA_GRE_*` over IPv4.
    Gre4,
    /// `IFLA_GRE_*` over IPv6.
    Gre6,
}

/// The place of a property in a message about a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// An attribute of the link.
    Top(u16, Form),
    /// A bit of the link's flags.
    Flag(u32),
    /// An attribute of the kind (`IFLA_INFO_DATA`).
    Data(u16, Form),
    /// An attribute of a bridge port (`IFLA_INFO_SLAVE_DATA`).
    BridgePort(u16, Form),
    /// An attribute of a bond port (`IFLA_INFO_SLAVE_DATA`).
    BondPort(u16, Form),
    /// A file below `/proc/sys/net`, read from this slot of the array that comes with the link.
    Sysctl(Family, &'static str, usize),
    /// An attribute of the link's IPv6 part.
    Inet6(u16, Form),
    /// A setting of the driver.
    Ethtool(Ethtool),
    /// Shares an attribute with other properties, or has another one from value to value.
    Composed,
    /// This kind has no place for it.
    Nowhere,
}

/// `IFF_PROMISC`
pub(crate) const IFF_PROMISC: u32 = 0x100;

/// Place of a tunnel property: `IFLA_IPTUN_*` number, `IFLA_GRE_*` number, form.
fn tunnel(layout: Layout, iptun: u16, gre: u16, form: Form) -> Wire {
    match layout {
        Layout::Iptun4 | Layout::Iptun6 => Wire::Data(iptun, form),
        Layout::Gre4 | Layout::Gre6 => Wire::Data(gre, form),
        Layout::Plain | Layout::Vxlan => Wire::Nowhere,
    }
}

fn only(layout: Layout, want: &[Layout], place: Wire) -> Wire {
    if want.contains(&layout) { place } else { Wire::Nowhere }
}

/// The place of `attr` on a link whose kind has this layout.
#[expect(clippy::too_many_lines, reason = "one row for each property; splitting it would hide a missing one")]
#[expect(clippy::match_same_arms, reason = "two kinds use one number for different properties")]
pub(crate) fn wire(attr: Attr, layout: Layout) -> Wire {
    use Wire::{BondPort, BridgePort, Composed, Data, Ethtool as Driver, Flag, Inet6, Sysctl, Top};
    const V4: Family = Family::Ipv4;
    const V6: Family = Family::Ipv6;
    match attr {
        Attr::Mac => Top(1, Form::Mac),
        Attr::Mtu => Top(4, Form::U32),
        Attr::TxQueueLength => Top(13, Form::U32),
        Attr::Promiscuous => Flag(IFF_PROMISC),
        Attr::Base => match layout {
            Layout::Plain => Top(5, Form::Link),
            Layout::Vxlan => Data(3, Form::Link),
            Layout::Iptun4 | Layout::Iptun6 | Layout::Gre4 | Layout::Gre6 => Data(1, Form::Link),
        },

        Attr::VlanId => Data(1, Form::U16),
        Attr::VlanProtocol => Data(5, Form::Be16),
        Attr::VrfTable => Data(1, Form::U32),

        Attr::VxlanId => Data(1, Form::U32),
        Attr::VxlanTtl => Data(5, Form::U8),
        Attr::VxlanLearning => Data(7, Form::Bool8),
        Attr::VxlanProxy => Data(11, Form::Bool8),
        Attr::VxlanPort => Data(15, Form::Be16),
        Attr::VxlanExternal => Data(25, Form::Bool8),
        Attr::VxlanDf => Data(29, Form::U8),
        Attr::VxlanVnifilter => Data(30, Form::Bool8),

        Attr::MacvlanMode => Data(1, Form::U32),
        Attr::IpvlanMode => Data(1, Form::U16),

        Attr::TunnelLocal => tunnel(layout, 2, 6, Form::Ip),
        Attr::TunnelRemote => tunnel(layout, 3, 7, Form::Ip),
        Attr::TunnelTtl => tunnel(layout, 4, 8, Form::U8),
        Attr::TunnelTos => match layout {
            Layout::Iptun4 => Data(5, Form::U8),
            Layout::Gre4 => Data(9, Form::U8),
            Layout::Iptun6 | Layout::Gre6 => Composed,
            Layout::Plain | Layout::Vxlan => Wire::Nowhere,
        },
        Attr::TunnelFlowLabel => only(layout, &[Layout::Iptun6], Composed),
        Attr::TunnelFlags => only(layout, &[Layout::Iptun6], Data(8, Form::Bits32(0x7f))),
        Attr::TunnelPmtuDisc => only(layout, &[Layout::Iptun4, Layout::Gre4], Data(10, Form::Bool8)),
        Attr::TunnelEncapLimit => only(layout, &[Layout::Iptun6], Data(6, Form::U8)),
        Attr::TunnelFwmark => only(layout, &[Layout::Iptun4, Layout::Iptun6], Data(20, Form::U32)),

        Attr::VlanRegistration
        | Attr::VlanReorderHeaders
        | Attr::VlanLooseBinding
        | Attr::VlanIngressQos
        | Attr::VlanEgressQos
        | Attr::VxlanLocal
        | Attr::VxlanRemote
        | Attr::MacvlanPromiscuous
        | Attr::IpvlanPrivate
        | Attr::IpvlanVepa
        | Attr::VethPeer
        | Attr::TunnelMode
        | Attr::GreInputKey
        | Attr::GreOutputKey
        | Attr::GreExternal
        | Attr::BondArpIpTarget
        | Attr::BondNsIp6Target => Composed,

        Attr::BridgeForwardDelay => Data(1, Form::Seconds32),
        Attr::BridgeHelloTime => Data(2, Form::Seconds32),
        Attr::BridgeMaxAge => Data(3, Form::Seconds32),
        Attr::BridgeAgeingTime => Data(4, Form::Seconds32),
        Attr::BridgeStp => Data(5, Form::Bool32),
        Attr::BridgePriority => Data(6, Form::U16),
        Attr::BridgeVlanFiltering => Data(7, Form::Bool8),
        Attr::BridgeVlanProtocol => Data(8, Form::Be16),
        Attr::BridgeGroupForwardMask => Data(9, Form::U16),
        Attr::BridgeGroupAddr => Data(20, Form::Mac),
        Attr::BridgeMcastRouter => Data(22, Form::U8),
        Attr::BridgeMcastSnooping => Data(23, Form::Bool8),
        Attr::BridgeMcastQueryUseIfaddr => Data(24, Form::Bool8),
        Attr::BridgeMcastQuerier => Data(25, Form::Bool8),
        Attr::BridgeHashMax => Data(27, Form::U32),
        Attr::BridgeMcastLastMemberCount => Data(28, Form::U32),
        Attr::BridgeMcastStartupQueryCount => Data(29, Form::U32),
        // The kernel's ticks towards programs are hundredths of a second, as in the model.
        Attr::BridgeMcastLastMemberInterval => Data(30, Form::U64),
        Attr::BridgeMcastMembershipInterval => Data(31, Form::U64),
        Attr::BridgeMcastQuerierInterval => Data(32, Form::U64),
        Attr::BridgeMcastQueryInterval => Data(33, Form::U64),
        Attr::BridgeMcastQueryResponseInterval => Data(34, Form::U64),
        Attr::BridgeMcastStartupQueryInterval => Data(35, Form::U64),
        Attr::BridgeDefaultPvid => Data(39, Form::U16),

        Attr::PortPriority => BridgePort(2, Form::U16),
        Attr::PortPathCost => BridgePort(3, Form::U32),
        Attr::PortHairpin => BridgePort(4, Form::Bool8),
        Attr::PortLearning => BridgePort(8, Form::Bool8),
        Attr::PortFlood => BridgePort(9, Form::Bool8),
        Attr::PortMcastFlood => BridgePort(27, Form::Bool8),
        Attr::PortVlanTunnel => BridgePort(29, Form::Bool8),
        Attr::PortNeighSuppress => BridgePort(32, Form::Bool8),
        Attr::PortIsolated => BridgePort(33, Form::Bool8),

        Attr::BondMode => Data(1, Form::U8),
        Attr::BondMiimon => Data(3, Form::U32),
        Attr::BondUpdelay => Data(4, Form::U32),
        Attr::BondDowndelay => Data(5, Form::U32),
        Attr::BondUseCarrier => Data(6, Form::Bool8),
        Attr::BondArpInterval => Data(7, Form::U32),
        Attr::BondArpValidate => Data(9, Form::U32),
        Attr::BondArpAllTargets => Data(10, Form::U32),
        Attr::BondPrimary => Data(11, Form::Link),
        Attr::BondPrimaryReselect => Data(12, Form::U8),
        Attr::BondFailOverMac => Data(13, Form::U8),
        Attr::BondXmitHashPolicy => Data(14, Form::U8),
        Attr::BondResendIgmp => Data(15, Form::U32),
        Attr::BondNumPeerNotif => Data(16, Form::U8),
        Attr::BondAllSlavesActive => Data(17, Form::U8),
        Attr::BondMinLinks => Data(18, Form::U32),
        Attr::BondLpInterval => Data(19, Form::U32),
        Attr::BondPacketsPerSlave => Data(20, Form::U32),
        Attr::BondLacpRate => Data(21, Form::U8),
        Attr::BondAdSelect => Data(22, Form::U8),
        Attr::BondAdActorSysPrio => Data(24, Form::U16),
        Attr::BondAdUserPortKey => Data(25, Form::U16),
        Attr::BondAdActorSystem => Data(26, Form::Mac),
        Attr::BondTlbDynamicLb => Data(27, Form::Bool8),
        Attr::BondLacpActive => Data(29, Form::U8),
        Attr::BondArpMissedMax => Data(30, Form::U8),
        Attr::BondPortQueueId => BondPort(5, Form::U16),
        Attr::BondPortPriority => BondPort(9, Form::U32),

        // The slots are IPV4_DEVCONF_* less one, and DEVCONF_* as they are.
        Attr::Ipv4Forwarding => Sysctl(V4, "forwarding", 0),
        Attr::Ipv4ProxyArp => Sysctl(V4, "proxy_arp", 2),
        Attr::Ipv4SendRedirects => Sysctl(V4, "send_redirects", 5),
        Attr::Ipv4RpFilter => Sysctl(V4, "rp_filter", 7),
        Attr::Ipv4ArpAnnounce => Sysctl(V4, "arp_announce", 17),
        Attr::Ipv4ArpIgnore => Sysctl(V4, "arp_ignore", 18),
        Attr::Ipv4PromoteSecondaries => Sysctl(V4, "promote_secondaries", 19),
        Attr::Ipv4ArpAccept => Sysctl(V4, "arp_accept", 20),
        Attr::Ipv4AcceptLocal => Sysctl(V4, "accept_local", 22),
        Attr::Ipv6Forwarding => Sysctl(V6, "forwarding", 0),
        Attr::Ipv6AcceptRa => Sysctl(V6, "accept_ra", 3),
        Attr::Ipv6Autoconf => Sysctl(V6, "autoconf", 5),
        Attr::Ipv6DadTransmits => Sysctl(V6, "dad_transmits", 6),
        Attr::Ipv6ProxyNdp => Sysctl(V6, "proxy_ndp", 22),
        Attr::Ipv6Disabled => Sysctl(V6, "disable_ipv6", 26),
        Attr::Ipv6AcceptDad => Sysctl(V6, "accept_dad", 27),
        Attr::Ipv6KeepAddrOnDown => Sysctl(V6, "keep_addr_on_down", 42),
        Attr::Ipv6AddrGenMode => Sysctl(V6, "addr_gen_mode", 47),
        Attr::Ipv6AcceptUntrackedNa => Sysctl(V6, "accept_untracked_na", 57),
        Attr::Ipv6Token => Inet6(7, Form::Ip),

        Attr::EthernetAutoNegotiation => Driver(Ethtool::Linkmodes(2, Form::Bool8)),
        Attr::EthernetSpeed => Driver(Ethtool::Linkmodes(5, Form::U32)),
        Attr::EthernetDuplex => Driver(Ethtool::Linkmodes(6, Form::U8)),
        Attr::PauseAutoneg => Driver(Ethtool::Pause(2, Form::Bool8)),
        Attr::PauseRx => Driver(Ethtool::Pause(3, Form::Bool8)),
        Attr::PauseTx => Driver(Ethtool::Pause(4, Form::Bool8)),
        Attr::RingRx => Driver(Ethtool::Rings(6, Form::U32)),
        Attr::RingRxMini => Driver(Ethtool::Rings(7, Form::U32)),
        Attr::RingRxJumbo => Driver(Ethtool::Rings(8, Form::U32)),
        Attr::RingTx => Driver(Ethtool::Rings(9, Form::U32)),
    }
}

/// One simple property inside a block of attributes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The attribute's number.
    pub(crate) id: u16,
    /// The property.
    pub(crate) attr: Attr,
    /// How its value is written.
    pub(crate) form: Form,
}

/// A block of attributes, for reading: which properties it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    /// Of this kind and layout.
    Kind(usize),
    /// Of a bridge port.
    BridgePort,
    /// Of a bond port.
    BondPort,
}

/// Kinds that have simple attributes of their own, with their layouts.
const BLOCKS: [(LinkKind, Layout); 13] = [
    (LinkKind::Vlan, Layout::Plain),
    (LinkKind::Bridge, Layout::Plain),
    (LinkKind::Bond, Layout::Plain),
    (LinkKind::Vrf, Layout::Plain),
    (LinkKind::Vxlan, Layout::Vxlan),
    (LinkKind::MacVlan, Layout::Plain),
    (LinkKind::MacVtap, Layout::Plain),
    (LinkKind::IpVlan, Layout::Plain),
    (LinkKind::IpTunnel, Layout::Iptun4),
    (LinkKind::IpTunnel, Layout::Iptun6),
    (LinkKind::Gre, Layout::Gre4),
    (LinkKind::Gretap, Layout::Gre4),
    (LinkKind::Ip6gre, Layout::Gre6),
];

struct Rows {
    kinds: Vec<Vec<Row>>,
    bridge_port: Vec<Row>,
    bond_port: Vec<Row>,
    sysctls: Vec<(Family, usize, Attr)>,
}

static ROWS: LazyLock<Rows> = LazyLock::new(|| {
    let mut rows = Rows {
        kinds: BLOCKS.iter().map(|(kind, layout)| kind_rows(kind, *layout)).collect(),
        bridge_port: Vec::new(),
        bond_port: Vec::new(),
        sysctls: Vec::new(),
    };
    for &attr in Attr::ALL {
        match wire(attr, Layout::Plain) {
            Wire::BridgePort(id, form) => rows.bridge_port.push(Row { id, attr, form }),
            Wire::BondPort(id, form) => rows.bond_port.push(Row { id, attr, form }),
            Wire::Sysctl(family, _, slot) => rows.sysctls.push((family, slot, attr)),
            Wire::Top(..)
            | Wire::Flag(_)
            | Wire::Data(..)
            | Wire::Inet6(..)
            | Wire::Ethtool(_)
            | Wire::Composed
            | Wire::Nowhere => {}
        }
    }
    rows
});

fn kind_rows(kind: &LinkKind, layout: Layout) -> Vec<Row> {
    let simple = |attr: &Attr| match wire(*attr, layout) {
        Wire::Data(id, form) => Some(Row { id, attr: *attr, form }),
        _ => None,
    };
    Attr::ALL.iter().filter(|attr| attr.applies_to(kind)).filter_map(simple).collect()
}

impl Block {
    /// The block of a kind; `None` when the kind has no simple attributes.
    pub(crate) fn of(kind: &LinkKind, layout: Layout) -> Option<Self> {
        // Ip6gretap is laid out as Ip6gre and shares all its properties.
        let kind = if *kind == LinkKind::Ip6gretap { &LinkKind::Ip6gre } else { kind };
        BLOCKS.iter().position(|(k, l)| k == kind && *l == layout).map(Self::Kind)
    }

    /// The properties that the block may hold.
    pub(crate) fn rows(self) -> &'static [Row] {
        match self {
            Self::Kind(at) => &ROWS.kinds[at],
            Self::BridgePort => &ROWS.bridge_port,
            Self::BondPort => &ROWS.bond_port,
        }
    }
}

/// Properties that are slots of the arrays of IPv4 and IPv6 settings.
pub(crate) fn sysctl_slots() -> &'static [(Family, usize, Attr)] {
    &ROWS.sysctls
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const LAYOUTS: [Layout; 6] =
        [Layout::Plain, Layout::Vxlan, Layout::Iptun4, Layout::Iptun6, Layout::Gre4, Layout::Gre6];

    #[test]
    fn every_property_has_a_place_in_some_layout() {
        for attr in Attr::ALL {
            assert!(LAYOUTS.iter().any(|layout| wire(*attr, *layout) != Wire::Nowhere), "{attr:?}");
        }
    }

    #[test]
    fn no_two_properties_of_a_block_share_an_attribute() {
        let blocks = (0..BLOCKS.len()).map(Block::Kind).chain([Block::BridgePort, Block::BondPort]);
        for block in blocks {
            let ids: BTreeSet<u16> = block.rows().iter().map(|row| row.id).collect();
            assert_eq!(ids.len(), block.rows().len(), "{block:?}");
        }
    }

    #[test]
    fn every_kind_that_is_made_has_its_rows() {
        assert!(Block::of(&LinkKind::Ip6gretap, Layout::Gre6).is_some());
        for (kind, layout) in &BLOCKS {
            let block = Block::of(kind, *layout).expect("listed");
            assert!(!block.rows().is_empty(), "{kind}");
        }
    }
}
