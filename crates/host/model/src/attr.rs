//! Every single-valued property of a link, in one table.
//!
//! A property is one row of [`attrs!`]: its place in the document, the values that it takes, whether
//! the kernel can change it in place, and the value that a new link has. The document reader, the
//! planner, the simulated kernel and the netlink codec all read this table, so a new property is a
//! row here and an arm in the codec.

use std::{fmt, net::IpAddr};

use netloom_types::{IfName, MacAddr};
use serde::{Deserialize, Serialize};

use crate::LinkKind;

/// The value of one property.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Value {
    /// Explicitly unset: no primary port, no tunnel end.
    Unset,
    /// Yes or no.
    Bool(bool),
    /// A number, or the number of an enumeration's word.
    Int(u64),
    /// A hardware address.
    Mac(MacAddr),
    /// One internet address.
    Ip(IpAddr),
    /// A list of internet addresses, order kept.
    Ips(Vec<IpAddr>),
    /// Another link, by name.
    Link(IfName),
    /// Pairs of numbers, sorted.
    Map(Vec<(u32, u32)>),
}

/// Which values a property takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// A whole number in a range.
    Int {
        /// The lowest.
        min: u64,
        /// The highest.
        max: u64,
    },
    /// One of these words, each with its kernel number.
    Enum(&'static [(&'static str, u64)]),
    /// Any set of these words, each with its bit.
    Flags(&'static [(&'static str, u64)]),
    /// A hardware address.
    Mac,
    /// An internet address.
    Ip,
    /// A list of internet addresses.
    Ips,
    /// The name of another link.
    Link,
    /// Pairs of numbers.
    Map {
        /// The highest first number of a pair.
        from_max: u32,
        /// The highest second number of a pair.
        to_max: u32,
    },
}

/// What it takes to change a property of an existing link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The kernel changes it in place.
    Live,
    /// The link must be down.
    Down,
    /// The link must be down and have no ports.
    NoPorts,
    /// The link must be deleted and recreated.
    Recreate,
}

/// The part of a document in which a property stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// At the top of the interface.
    Common,
    /// In the block of the interface's kind: `vlan`, `vrf`, `vxlan`, ….
    Kind,
    /// `bridge.options`.
    BridgeOptions,
    /// `bridge.options.stp`.
    BridgeStp,
    /// `bridge.port[]`, a property of the port.
    BridgePort,
    /// `link-aggregation.options`.
    BondOptions,
    /// `link-aggregation.ports-config[]`, a property of the port.
    BondPort,
    /// `ipv4`.
    Ipv4,
    /// `ipv6`.
    Ipv6,
    /// `sysctl.ipv4`.
    SysctlIpv4,
    /// `sysctl.ipv6`.
    SysctlIpv6,
    /// `ethernet`.
    Ethernet,
    /// `ethtool.pause`.
    Pause,
    /// `ethtool.ring`.
    Ring,
}

impl Section {
    /// Whether the driver keeps these, so that reading them needs slow requests to each link.
    pub const fn is_driver(self) -> bool {
        match self {
            Self::Ethernet | Self::Pause | Self::Ring => true,
            Self::Common
            | Self::Kind
            | Self::BridgeOptions
            | Self::BridgeStp
            | Self::BridgePort
            | Self::BondOptions
            | Self::BondPort
            | Self::Ipv4
            | Self::Ipv6
            | Self::SysctlIpv4
            | Self::SysctlIpv6 => false,
        }
    }
}

/// One row of the table.
struct Row {
    section: Section,
    key: &'static str,
    shape: Shape,
    change: Change,
    default: Option<Value>,
    /// Empty: any kind.
    kinds: &'static [LinkKind],
}

const fn int(min: u64, max: u64) -> Shape {
    Shape::Int { min, max }
}

const U8: Shape = int(0, 0xff);
const U16: Shape = int(0, 0xffff);
const U32: Shape = int(0, 0xffff_ffff);
const I31: Shape = int(0, 0x7fff_ffff);
const U64: Shape = int(0, u64::MAX);
const NO: Option<Value> = Some(Value::Bool(false));
const YES: Option<Value> = Some(Value::Bool(true));
const EMPTY_IPS: Option<Value> = Some(Value::Ips(Vec::new()));
const EMPTY_MAP: Option<Value> = Some(Value::Map(Vec::new()));
#[expect(clippy::unnecessary_wraps, reason = "stands in the same column as `None`")]
const fn n(number: u64) -> Option<Value> {
    Some(Value::Int(number))
}

const VLAN_PROTOCOLS: Shape = Shape::Enum(&[("802.1q", 0x8100), ("802.1ad", 0x88a8)]);
const TUNNELS: &[LinkKind] =
    &[LinkKind::IpTunnel, LinkKind::Gre, LinkKind::Gretap, LinkKind::Ip6gre, LinkKind::Ip6gretap];
const GRES: &[LinkKind] = &[LinkKind::Gre, LinkKind::Gretap, LinkKind::Ip6gre, LinkKind::Ip6gretap];
const MACVLANS: &[LinkKind] = &[LinkKind::MacVlan, LinkKind::MacVtap];
const ON_A_BASE: &[LinkKind] = &[
    LinkKind::Vlan,
    LinkKind::Vxlan,
    LinkKind::MacVlan,
    LinkKind::MacVtap,
    LinkKind::IpVlan,
    LinkKind::IpTunnel,
    LinkKind::Gre,
    LinkKind::Gretap,
    LinkKind::Ip6gre,
    LinkKind::Ip6gretap,
];
const ANY: &[LinkKind] = &[];
const VLAN: &[LinkKind] = &[LinkKind::Vlan];
const VRF: &[LinkKind] = &[LinkKind::Vrf];
const VXLAN: &[LinkKind] = &[LinkKind::Vxlan];
const IPVLAN: &[LinkKind] = &[LinkKind::IpVlan];
const VETH: &[LinkKind] = &[LinkKind::Veth];
const IPTUNNEL: &[LinkKind] = &[LinkKind::IpTunnel];
const BRIDGE: &[LinkKind] = &[LinkKind::Bridge];
const BOND: &[LinkKind] = &[LinkKind::Bond];
const ETHERNET: &[LinkKind] = &[LinkKind::Ethernet];

macro_rules! attrs {
    ($($(#[doc = $doc:literal])* $name:ident: $section:ident $key:literal, $shape:expr, $change:ident, $default:expr, $kinds:expr;)*) => {
        /// A single-valued property of a link.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Attr {
            $($(#[doc = $doc])* $name,)*
        }

        impl Attr {
            /// Every property, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What it does, in one sentence: the text of its row.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),*).trim_ascii(),)*
                }
            }

            fn row(self) -> Row {
                match self {
                    $(Self::$name => Row {
                        section: Section::$section,
                        key: $key,
                        shape: $shape,
                        change: Change::$change,
                        default: $default,
                        kinds: $kinds,
                    },)*
                }
            }
        }
    };
}

attrs! {
    /// The hardware address.
    Mac: Common "mac-address", Shape::Mac, Live, None, ANY;
    /// The largest packet that the link takes.
    Mtu: Common "mtu", int(68, 0xffff_ffff), Live, None, ANY;
    /// How many packets may wait to be sent.
    TxQueueLength: Common "tx-queue-length", U32, Live, n(1000), ANY;
    /// Takes frames for every address.
    Promiscuous: Common "accept-all-mac-addresses", Shape::Bool, Live, NO, ANY;

    /// The link that this one stands on.
    Base: Kind "base-iface", Shape::Link, Recreate, None, ON_A_BASE;
    /// The id in the tag.
    VlanId: Kind "id", int(1, 4094), Recreate, None, VLAN;
    /// The protocol of the tag.
    VlanProtocol: Kind "protocol", VLAN_PROTOCOLS, Recreate, n(0x8100), VLAN;
    /// The protocol that registers the VLAN with the switch.
    VlanRegistration: Kind "registration-protocol", Shape::Enum(&[("none", 0), ("gvrp", 1), ("mvrp", 2)]), Live, n(0), VLAN;
    /// Moves the tag out of the frame's data.
    VlanReorderHeaders: Kind "reorder-headers", Shape::Bool, Live, YES, VLAN;
    /// Keeps the link up while its base is down.
    VlanLooseBinding: Kind "loose-binding", Shape::Bool, Live, NO, VLAN;
    /// Tag priority to packet priority.
    VlanIngressQos: Kind "ingress-qos-map", Shape::Map { from_max: 7, to_max: 0xffff_ffff }, Live, EMPTY_MAP, VLAN;
    /// Packet priority to tag priority.
    VlanEgressQos: Kind "egress-qos-map", Shape::Map { from_max: 0xffff_ffff, to_max: 7 }, Live, EMPTY_MAP, VLAN;

    /// The table that the ports' routes are in.
    VrfTable: Kind "route-table-id", int(1, 0xffff_ffff), Recreate, None, VRF;

    /// The network identifier; 0 for a link that takes it from elsewhere.
    VxlanId: Kind "id", int(0, 0xff_ffff), Recreate, None, VXLAN;
    /// The own end of the tunnel.
    VxlanLocal: Kind "local", Shape::Ip, Recreate, None, VXLAN;
    /// The far end, or the multicast group.
    VxlanRemote: Kind "remote", Shape::Ip, Recreate, None, VXLAN;
    /// Learns addresses from traffic.
    VxlanLearning: Kind "learning", Shape::Bool, Live, YES, VXLAN;
    /// The UDP port.
    VxlanPort: Kind "destination-port", int(1, 0xffff), Recreate, n(4789), VXLAN;
    /// Hop limit of the outer packet, 0 to inherit.
    VxlanTtl: Kind "ttl", U8, Live, n(0), VXLAN;
    /// Answers neighbour queries itself.
    VxlanProxy: Kind "proxy", Shape::Bool, Recreate, NO, VXLAN;
    /// Takes only identifiers that are configured.
    VxlanVnifilter: Kind "vnifilter", Shape::Bool, Recreate, NO, VXLAN;
    /// Takes tunnel data from the packet's metadata.
    VxlanExternal: Kind "external", Shape::Bool, Recreate, NO, VXLAN;
    /// How the outer packet's don't-fragment bit is set.
    VxlanDf: Kind "df", Shape::Enum(&[("unset", 0), ("set", 1), ("inherit", 2)]), Live, n(0), VXLAN;

    /// How links on one base reach each other.
    MacvlanMode: Kind "mode", Shape::Enum(&[("private", 1), ("vepa", 2), ("bridge", 4), ("passthru", 8), ("source", 16)]), Live, n(2), MACVLANS;
    /// Puts the base into promiscuous mode.
    MacvlanPromiscuous: Kind "promiscuous", Shape::Bool, Live, YES, MACVLANS;

    /// At which layer frames are switched.
    IpvlanMode: Kind "mode", Shape::Enum(&[("l2", 0), ("l3", 1), ("l3s", 2)]), Live, n(1), IPVLAN;
    /// Forbids links on one base to reach each other.
    IpvlanPrivate: Kind "private", Shape::Bool, Live, NO, IPVLAN;
    /// Sends everything out to the switch.
    IpvlanVepa: Kind "vepa", Shape::Bool, Live, NO, IPVLAN;

    /// The other end of the pair.
    VethPeer: Kind "peer", Shape::Link, Recreate, None, VETH;

    /// What is carried in what.
    TunnelMode: Kind "mode", Shape::Enum(&[("ipip", 1), ("sit", 2), ("ip6ip6", 3), ("ipip6", 4)]), Recreate, None, IPTUNNEL;
    /// The own end.
    TunnelLocal: Kind "local", Shape::Ip, Live, None, TUNNELS;
    /// The far end.
    TunnelRemote: Kind "remote", Shape::Ip, Live, None, TUNNELS;
    /// Hop limit of the outer packet, 0 to inherit.
    TunnelTtl: Kind "ttl", U8, Live, n(0), TUNNELS;
    /// Type of service or traffic class of the outer packet.
    TunnelTos: Kind "tos", U8, Live, n(0), TUNNELS;
    /// Flow label of the outer packet.
    TunnelFlowLabel: Kind "flow-label", int(0, 0xf_ffff), Live, n(0), IPTUNNEL;
    /// Flags of tunnels over IPv6.
    TunnelFlags: Kind "ip6tun-flags", Shape::Flags(&[
        ("ign-encap-limit", 0x1), ("use-orig-tclass", 0x2), ("use-orig-flowlabel", 0x4), ("mip6-dev", 0x8),
        ("rcv-dscp-copy", 0x10), ("use-orig-fwmark", 0x20), ("allow-local-remote", 0x40),
    ]), Live, n(0), IPTUNNEL;
    /// Finds the path's MTU.
    TunnelPmtuDisc: Kind "pmtu-disc", Shape::Bool, Live, YES, TUNNELS;
    /// How often a packet may be wrapped.
    TunnelEncapLimit: Kind "encap-limit", U8, Live, n(4), IPTUNNEL;
    /// The mark of the outer packet.
    TunnelFwmark: Kind "fwmark", U32, Live, n(0), IPTUNNEL;
    /// Key of incoming packets.
    GreInputKey: Kind "ikey", U32, Live, None, GRES;
    /// Key of outgoing packets.
    GreOutputKey: Kind "okey", U32, Live, None, GRES;
    /// Takes tunnel data from the packet's metadata.
    GreExternal: Kind "external", Shape::Bool, Recreate, NO, GRES;

    /// The group address of the spanning tree.
    BridgeGroupAddr: BridgeOptions "group-addr", Shape::Mac, Live, Some(Value::Mac(MacAddr::new([1, 0x80, 0xc2, 0, 0, 0]))), BRIDGE;
    /// Link-local groups that are forwarded, by bit.
    BridgeGroupForwardMask: BridgeOptions "group-forward-mask", U16, Live, n(0), BRIDGE;
    /// Size of the multicast hash.
    BridgeHashMax: BridgeOptions "hash-max", U32, Live, n(4096), BRIDGE;
    /// Seconds after which a learned address is forgotten.
    BridgeAgeingTime: BridgeOptions "mac-ageing-time", int(0, 0x7fff_ffff), Live, n(300), BRIDGE;
    /// Queries sent before a group is given up.
    BridgeMcastLastMemberCount: BridgeOptions "multicast-last-member-count", U32, Live, n(2), BRIDGE;
    /// Hundredths of a second between them.
    BridgeMcastLastMemberInterval: BridgeOptions "multicast-last-member-interval", U64, Live, n(100), BRIDGE;
    /// Hundredths of a second until a group without reports is left.
    BridgeMcastMembershipInterval: BridgeOptions "multicast-membership-interval", U64, Live, n(26_000), BRIDGE;
    /// Sends multicast queries.
    BridgeMcastQuerier: BridgeOptions "multicast-querier", Shape::Bool, Live, NO, BRIDGE;
    /// Hundredths of a second until a silent querier is gone.
    BridgeMcastQuerierInterval: BridgeOptions "multicast-querier-interval", U64, Live, n(25_500), BRIDGE;
    /// Hundredths of a second between queries.
    BridgeMcastQueryInterval: BridgeOptions "multicast-query-interval", U64, Live, n(12_500), BRIDGE;
    /// Hundredths of a second in which answers are expected.
    BridgeMcastQueryResponseInterval: BridgeOptions "multicast-query-response-interval", U64, Live, n(1000), BRIDGE;
    /// Queries carry the bridge's own address.
    BridgeMcastQueryUseIfaddr: BridgeOptions "multicast-query-use-ifaddr", Shape::Bool, Live, NO, BRIDGE;
    /// Whether the bridge counts as a multicast router.
    BridgeMcastRouter: BridgeOptions "multicast-router", Shape::Enum(&[("disabled", 0), ("auto", 1), ("enabled", 2)]), Live, n(1), BRIDGE;
    /// Sends multicast only where it is wanted.
    BridgeMcastSnooping: BridgeOptions "multicast-snooping", Shape::Bool, Live, YES, BRIDGE;
    /// Queries sent at start.
    BridgeMcastStartupQueryCount: BridgeOptions "multicast-startup-query-count", U32, Live, n(2), BRIDGE;
    /// Hundredths of a second between them.
    BridgeMcastStartupQueryInterval: BridgeOptions "multicast-startup-query-interval", U64, Live, n(3125), BRIDGE;
    /// The protocol of the tags that the bridge filters by.
    BridgeVlanProtocol: BridgeOptions "vlan-protocol", VLAN_PROTOCOLS, Live, n(0x8100), BRIDGE;
    /// The VLAN that a new port is put into; 0 for none.
    BridgeDefaultPvid: BridgeOptions "vlan-default-pvid", int(0, 4094), Live, n(1), BRIDGE;
    /// Whether the bridge looks at tags at all.
    BridgeVlanFiltering: BridgeOptions "vlan-filtering", Shape::Bool, Live, NO, BRIDGE;
    /// Runs the spanning tree.
    BridgeStp: BridgeStp "enabled", Shape::Bool, Live, NO, BRIDGE;
    /// Seconds in each of listening and learning.
    BridgeForwardDelay: BridgeStp "forward-delay", int(2, 30), Live, n(15), BRIDGE;
    /// Seconds between spanning-tree messages.
    BridgeHelloTime: BridgeStp "hello-time", int(1, 10), Live, n(2), BRIDGE;
    /// Seconds until a silent neighbour is gone.
    BridgeMaxAge: BridgeStp "max-age", int(6, 40), Live, n(20), BRIDGE;
    /// The lower, the more likely root.
    BridgePriority: BridgeStp "priority", U16, Live, n(0x8000), BRIDGE;

    /// Sends frames back out of the port that they came in by.
    PortHairpin: BridgePort "stp-hairpin-mode", Shape::Bool, Live, NO, ANY;
    /// The cost of the path through the port.
    PortPathCost: BridgePort "stp-path-cost", int(1, 0xffff), Live, n(100), ANY;
    /// The lower, the more likely the port is used.
    PortPriority: BridgePort "stp-priority", int(0, 63), Live, n(32), ANY;
    /// Answers neighbour queries from the bridge's own tables.
    PortNeighSuppress: BridgePort "neigh-suppress", Shape::Bool, Live, NO, ANY;
    /// Learns addresses from the port's traffic.
    PortLearning: BridgePort "learning", Shape::Bool, Live, YES, ANY;
    /// Keeps isolated ports from each other.
    PortIsolated: BridgePort "isolated", Shape::Bool, Live, NO, ANY;
    /// Sends frames for unknown stations out of the port.
    PortFlood: BridgePort "flood", Shape::Bool, Live, YES, ANY;
    /// Sends multicast without a listener out of the port.
    PortMcastFlood: BridgePort "mcast-flood", Shape::Bool, Live, YES, ANY;
    /// Maps VLANs to tunnel identifiers.
    PortVlanTunnel: BridgePort "vlan-tunnel", Shape::Bool, Live, NO, ANY;

    /// How ports share the traffic.
    BondMode: Kind "mode", Shape::Enum(&[
        ("balance-rr", 0), ("active-backup", 1), ("balance-xor", 2), ("broadcast", 3),
        ("802.3ad", 4), ("balance-tlb", 5), ("balance-alb", 6),
    ]), NoPorts, n(0), BOND;
    /// LACP priority of this system.
    BondAdActorSysPrio: BondOptions "ad_actor_sys_prio", int(1, 0xffff), Live, n(0xffff), BOND;
    /// LACP address of this system.
    BondAdActorSystem: BondOptions "ad_actor_system", Shape::Mac, Live, Some(Value::Mac(MacAddr::new([0; 6]))), BOND;
    /// Which aggregator is chosen.
    BondAdSelect: BondOptions "ad_select", Shape::Enum(&[("stable", 0), ("bandwidth", 1), ("count", 2)]), Down, n(0), BOND;
    /// Upper bits of the LACP port key.
    BondAdUserPortKey: BondOptions "ad_user_port_key", int(0, 1023), Down, n(0), BOND;
    /// Delivers duplicate frames of inactive ports.
    BondAllSlavesActive: BondOptions "all_slaves_active", Shape::Enum(&[("dropped", 0), ("delivered", 1)]), Live, n(0), BOND;
    /// Whether all ARP targets must answer.
    BondArpAllTargets: BondOptions "arp_all_targets", Shape::Enum(&[("any", 0), ("all", 1)]), Live, n(0), BOND;
    /// Milliseconds between ARP probes.
    BondArpInterval: BondOptions "arp_interval", I31, Live, n(0), BOND;
    /// Addresses that are probed by ARP.
    BondArpIpTarget: BondOptions "arp_ip_target", Shape::Ips, Live, EMPTY_IPS, BOND;
    /// Probes that may fail.
    BondArpMissedMax: BondOptions "arp_missed_max", int(1, 255), Live, n(2), BOND;
    /// Which probes and answers are checked.
    BondArpValidate: BondOptions "arp_validate", Shape::Enum(&[
        ("none", 0), ("active", 1), ("backup", 2), ("all", 3), ("filter", 4), ("filter_active", 5), ("filter_backup", 6),
    ]), Live, n(0), BOND;
    /// Milliseconds to wait before a port counts as failed.
    BondDowndelay: BondOptions "downdelay", I31, Live, n(0), BOND;
    /// Which hardware addresses the ports get.
    BondFailOverMac: BondOptions "fail_over_mac", Shape::Enum(&[("none", 0), ("active", 1), ("follow", 2)]), NoPorts, n(0), BOND;
    /// Sends LACP frames unasked.
    BondLacpActive: BondOptions "lacp_active", Shape::Enum(&[("off", 0), ("on", 1)]), Down, n(1), BOND;
    /// How often LACP frames are asked for.
    BondLacpRate: BondOptions "lacp_rate", Shape::Enum(&[("slow", 0), ("fast", 1)]), Down, n(0), BOND;
    /// Seconds between learning packets.
    BondLpInterval: BondOptions "lp_interval", int(1, 0x7fff_ffff), Live, n(1), BOND;
    /// Milliseconds between carrier checks.
    BondMiimon: BondOptions "miimon", I31, Live, n(0), BOND;
    /// Ports that must be up for the bond to be up.
    BondMinLinks: BondOptions "min_links", I31, Live, n(0), BOND;
    /// Addresses that are probed by neighbour discovery.
    BondNsIp6Target: BondOptions "ns_ip6_target", Shape::Ips, Live, EMPTY_IPS, BOND;
    /// Announcements after a fail-over, for IPv4 and IPv6 alike.
    BondNumPeerNotif: BondOptions "num_grat_arp", U8, Live, n(1), BOND;
    /// Packets sent by one port before the next.
    BondPacketsPerSlave: BondOptions "packets_per_slave", int(0, 0xffff), Live, n(1), BOND;
    /// The port that is used whenever it is up.
    BondPrimary: BondOptions "primary", Shape::Link, Live, None, BOND;
    /// When the primary port takes over again.
    BondPrimaryReselect: BondOptions "primary_reselect", Shape::Enum(&[("always", 0), ("better", 1), ("failure", 2)]), Live, n(0), BOND;
    /// Membership reports after a fail-over.
    BondResendIgmp: BondOptions "resend_igmp", U8, Live, n(1), BOND;
    /// Balances by load rather than by hash.
    BondTlbDynamicLb: BondOptions "tlb_dynamic_lb", Shape::Bool, Down, YES, BOND;
    /// Milliseconds to wait before a port counts as usable.
    BondUpdelay: BondOptions "updelay", I31, Live, n(0), BOND;
    /// Trusts the driver's carrier.
    BondUseCarrier: BondOptions "use_carrier", Shape::Bool, Live, YES, BOND;
    /// What is hashed to pick a port.
    BondXmitHashPolicy: BondOptions "xmit_hash_policy", Shape::Enum(&[
        ("layer2", 0), ("layer3+4", 1), ("layer2+3", 2), ("encap2+3", 3), ("encap3+4", 4), ("vlan+srcmac", 5),
    ]), Live, n(0), BOND;
    /// The higher, the more likely the port is the active one.
    BondPortPriority: BondPort "priority", int(0, 0x7fff_ffff), Live, n(0), ANY;
    /// The transmit queue that the port belongs to.
    BondPortQueueId: BondPort "queue-id", U16, Live, n(0), ANY;

    /// Routes packets that came in by this link.
    Ipv4Forwarding: Ipv4 "forwarding", Shape::Bool, Live, NO, ANY;
    /// Whether IPv6 is switched off on the link.
    Ipv6Disabled: SysctlIpv6 "disable-ipv6", Shape::Bool, Live, NO, ANY;
    /// Routes packets that came in by this link.
    Ipv6Forwarding: Ipv6 "forwarding", Shape::Bool, Live, NO, ANY;
    /// Makes addresses from router advertisements.
    Ipv6Autoconf: Ipv6 "autoconf", Shape::Bool, Live, YES, ANY;
    /// How the interface identifier is made.
    Ipv6AddrGenMode: Ipv6 "addr-gen-mode", Shape::Enum(&[("eui64", 0), ("none", 1), ("stable-privacy", 2), ("random", 3)]), Live, n(0), ANY;
    /// The lower half of generated addresses.
    Ipv6Token: Ipv6 "token", Shape::Ip, Live, None, ANY;
    /// Probes sent before an address is used.
    Ipv6DadTransmits: Ipv6 "dup-address-detect-transmit", I31, Live, n(1), ANY;
    /// Whether router advertisements are taken.
    Ipv6AcceptRa: SysctlIpv6 "accept-ra", int(0, 2), Live, n(1), ANY;
    /// Keeps addresses while the link is down.
    Ipv6KeepAddrOnDown: SysctlIpv6 "keep-addr-on-down", Shape::Bool, Live, NO, ANY;
    /// Answers neighbour solicitations for others.
    Ipv6ProxyNdp: SysctlIpv6 "proxy-ndp", Shape::Bool, Live, NO, ANY;
    /// Whether an address is checked before it is used: not at all, or with IPv6 switched off on the link when its own
    /// address is taken.
    Ipv6AcceptDad: SysctlIpv6 "accept-dad", int(0, 2), Live, n(1), ANY;
    /// Learns neighbours from announcements that nobody asked for: from all, or from those of its own networks.
    Ipv6AcceptUntrackedNa: SysctlIpv6 "accept-untracked-na", int(0, 2), Live, n(0), ANY;
    /// Checks that the way back leads out by the same link.
    Ipv4RpFilter: SysctlIpv4 "rp-filter", int(0, 2), Live, n(0), ANY;
    /// For which addresses ARP is answered.
    Ipv4ArpIgnore: SysctlIpv4 "arp-ignore", int(0, 8), Live, n(0), ANY;
    /// Which own address ARP announces.
    Ipv4ArpAnnounce: SysctlIpv4 "arp-announce", int(0, 2), Live, n(0), ANY;
    /// Learns neighbours from ARP that nobody asked for: from all, or from those of its own networks.
    Ipv4ArpAccept: SysctlIpv4 "arp-accept", int(0, 2), Live, n(0), ANY;
    /// Answers ARP for others.
    Ipv4ProxyArp: SysctlIpv4 "proxy-arp", Shape::Bool, Live, NO, ANY;
    /// Takes packets that carry an own address as source.
    Ipv4AcceptLocal: SysctlIpv4 "accept-local", Shape::Bool, Live, NO, ANY;
    /// Tells senders of better ways.
    Ipv4SendRedirects: SysctlIpv4 "send-redirects", Shape::Bool, Live, YES, ANY;
    /// Makes a secondary address primary when the primary goes.
    Ipv4PromoteSecondaries: SysctlIpv4 "promote-secondaries", Shape::Bool, Live, NO, ANY;

    /// Finds speed and duplex by itself.
    EthernetAutoNegotiation: Ethernet "auto-negotiation", Shape::Bool, Live, None, ETHERNET;
    /// Megabits a second.
    EthernetSpeed: Ethernet "speed", U32, Live, None, ETHERNET;
    /// Whether both directions work at once.
    EthernetDuplex: Ethernet "duplex", Shape::Enum(&[("half", 0), ("full", 1)]), Live, None, ETHERNET;
    /// Negotiates pause frames.
    PauseAutoneg: Pause "autoneg", Shape::Bool, Live, None, ANY;
    /// Obeys pause frames.
    PauseRx: Pause "rx", Shape::Bool, Live, None, ANY;
    /// Sends pause frames.
    PauseTx: Pause "tx", Shape::Bool, Live, None, ANY;
    /// Receive descriptors.
    RingRx: Ring "rx", U32, Live, None, ANY;
    /// Receive descriptors for jumbo frames.
    RingRxJumbo: Ring "rx-jumbo", U32, Live, None, ANY;
    /// Receive descriptors for small frames.
    RingRxMini: Ring "rx-mini", U32, Live, None, ANY;
    /// Transmit descriptors.
    RingTx: Ring "tx", U32, Live, None, ANY;
}

impl Attr {
    /// Where the property stands in a document.
    pub fn section(self) -> Section {
        self.row().section
    }

    /// Its key there.
    pub fn key(self) -> &'static str {
        self.row().key
    }

    /// The values that it takes.
    pub fn shape(self) -> Shape {
        self.row().shape
    }

    /// What it takes to change it.
    pub fn change(self) -> Change {
        self.row().change
    }

    /// The value on a new link, when it is the same on every new link.
    pub fn default_value(self) -> Option<Value> {
        self.row().default
    }

    /// Whether links of this kind have the property.
    pub fn applies_to(self, kind: &LinkKind) -> bool {
        let kinds = self.row().kinds;
        kinds.is_empty() || kinds.contains(kind)
    }

    /// Whether two values count as the same: the kernel keeps some times in ticks of its own and
    /// may give back one hundredth of a second more than it was reported.
    pub fn same(self, a: Option<&Value>, b: Option<&Value>) -> bool {
        match (self, a, b) {
            (
                Self::BridgeMcastLastMemberInterval
                | Self::BridgeMcastMembershipInterval
                | Self::BridgeMcastQuerierInterval
                | Self::BridgeMcastQueryInterval
                | Self::BridgeMcastQueryResponseInterval
                | Self::BridgeMcastStartupQueryInterval,
                Some(Value::Int(a)),
                Some(Value::Int(b)),
            ) => a.abs_diff(*b) <= 1,
            (_, None | Some(Value::Unset), None | Some(Value::Unset)) => true,
            _ => a == b,
        }
    }

    /// Whether `value` is one that the property takes.
    pub fn accepts(self, value: &Value) -> bool {
        match (self.shape(), value) {
            (Shape::Bool, Value::Bool(_))
            | (Shape::Mac, Value::Mac(_))
            | (Shape::Ip, Value::Ip(_))
            | (Shape::Ips, Value::Ips(_))
            | (Shape::Link, Value::Link(_)) => true,
            (Shape::Int { min, max }, Value::Int(v)) => (min..=max).contains(v),
            (Shape::Enum(words), Value::Int(v)) => words.iter().any(|(_, number)| number == v),
            (Shape::Flags(words), Value::Int(v)) => words.iter().fold(0, |all, (_, bit)| all | bit) & v == *v,
            (Shape::Map { from_max, to_max }, Value::Map(pairs)) => {
                pairs.iter().all(|&(from, to)| from <= from_max && to <= to_max)
            }
            (_, Value::Unset) => self.row().default.is_none(),
            _ => false,
        }
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl Value {
    /// The value as a person reads it, with enumerations as words.
    pub fn display(&self, attr: Attr) -> String {
        match (self, attr.shape()) {
            (Self::Unset, _) => "none".to_owned(),
            (Self::Int(v), Shape::Enum(words)) => words
                .iter()
                .find(|(_, number)| number == v)
                .map_or_else(|| v.to_string(), |(word, _)| (*word).to_owned()),
            (Self::Int(v), Shape::Flags(words)) => {
                let set: Vec<_> = words.iter().filter(|(_, bit)| v & bit != 0).map(|(word, _)| *word).collect();
                set.join(",")
            }
            (Self::Int(v), _) => v.to_string(),
            (Self::Bool(v), _) => v.to_string(),
            (Self::Mac(v), _) => v.to_string(),
            (Self::Ip(v), _) => v.to_string(),
            (Self::Ips(v), _) => v.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
            (Self::Link(v), _) => v.to_string(),
            (Self::Map(v), _) => v.iter().map(|(a, b)| format!("{a}:{b}")).collect::<Vec<_>>().join(","),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_default_is_a_value_that_the_row_takes() {
        for attr in Attr::ALL {
            if let Some(default) = attr.default_value() {
                assert!(attr.accepts(&default), "{attr:?}: {default:?}");
            }
        }
    }

    #[test]
    fn no_two_rows_stand_in_one_place() {
        let mut seen = BTreeSet::new();
        for attr in Attr::ALL {
            let row = attr.row();
            let kinds: Vec<String> = match (row.section, row.kinds) {
                (Section::Kind, kinds) => {
                    kinds.iter().map(|k| k.block().to_owned()).collect::<BTreeSet<_>>().into_iter().collect()
                }
                _ => vec![String::new()],
            };
            for kind in kinds {
                assert!(seen.insert((row.section, kind, row.key)), "{attr:?}");
            }
        }
    }
}
