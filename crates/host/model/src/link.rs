//! Links: their kinds, and one link as it is or shall be.

use std::collections::{BTreeMap, BTreeSet};

use netloom_types::{AltName, Family, IfName};
use serde::{Deserialize, Serialize};

use crate::{Address, Alias, Attr, Attrs, FdbEntry, FdbKey, Mirror, MirrorKey, Neighbour, VlanMembership};

/// The kind of a link, as a document names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// A network card; adopted, never made or deleted.
    Ethernet,
    /// The loopback link; adopted, never made or deleted.
    Loopback,
    /// A link that leads nowhere.
    Dummy,
    /// One VLAN of another link.
    Vlan,
    /// A software switch.
    Bridge,
    /// Several links used as one.
    Bond,
    /// A routing domain.
    Vrf,
    /// Ethernet over UDP.
    Vxlan,
    /// One end of a pair.
    Veth,
    /// A further hardware address on a link.
    MacVlan,
    /// The same, as a character device.
    MacVtap,
    /// Further addresses on a link, one hardware address.
    IpVlan,
    /// A tunnel of kind ipip, sit, ip6ip6 or ipip6.
    IpTunnel,
    /// GRE over IPv4, layer 3.
    Gre,
    /// GRE over IPv4, layer 2.
    Gretap,
    /// GRE over IPv6, layer 3.
    Ip6gre,
    /// GRE over IPv6, layer 2.
    Ip6gretap,
    /// A kind that is shown and kept, and never changed: the kernel's own word for it.
    Other(Box<str>),
}

impl LinkKind {
    /// The kinds that can be asked for by name.
    pub const KNOWN: &'static [Self] = &[
        Self::Ethernet,
        Self::Loopback,
        Self::Dummy,
        Self::Vlan,
        Self::Bridge,
        Self::Bond,
        Self::Vrf,
        Self::Vxlan,
        Self::Veth,
        Self::MacVlan,
        Self::MacVtap,
        Self::IpVlan,
        Self::IpTunnel,
        Self::Gre,
        Self::Gretap,
        Self::Ip6gre,
        Self::Ip6gretap,
    ];

    /// The kind's name in a document.
    pub fn name(&self) -> &str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Loopback => "loopback",
            Self::Dummy => "dummy",
            Self::Vlan => "vlan",
            Self::Bridge => "linux-bridge",
            Self::Bond => "bond",
            Self::Vrf => "vrf",
            Self::Vxlan => "vxlan",
            Self::Veth => "veth",
            Self::MacVlan => "mac-vlan",
            Self::MacVtap => "mac-vtap",
            Self::IpVlan => "ipvlan",
            Self::IpTunnel => "ip-tunnel",
            Self::Gre => "gre",
            Self::Gretap => "gretap",
            Self::Ip6gre => "ip6gre",
            Self::Ip6gretap => "ip6gretap",
            Self::Other(kernel) => kernel,
        }
    }

    /// The key of the kind's own block in a document.
    pub fn block(&self) -> &str {
        match self {
            Self::Bridge => "bridge",
            Self::Bond => "link-aggregation",
            Self::Gre | Self::Gretap | Self::Ip6gre | Self::Ip6gretap => "gre",
            other => other.name(),
        }
    }

    /// Whether netloom makes and deletes links of this kind.
    pub fn is_virtual(&self) -> bool {
        !matches!(self, Self::Ethernet | Self::Loopback | Self::Other(_))
    }

    /// The properties without which the kernel makes no link of this kind.
    pub fn required(&self) -> &'static [Attr] {
        match self {
            Self::Vlan => &[Attr::Base, Attr::VlanId],
            Self::Vrf => &[Attr::VrfTable],
            Self::MacVlan | Self::MacVtap | Self::IpVlan => &[Attr::Base],
            Self::Veth => &[Attr::VethPeer],
            Self::IpTunnel => &[Attr::TunnelMode],
            Self::Vxlan
            | Self::Ethernet
            | Self::Loopback
            | Self::Dummy
            | Self::Bridge
            | Self::Bond
            | Self::Gre
            | Self::Gretap
            | Self::Ip6gre
            | Self::Ip6gretap
            | Self::Other(_) => &[],
        }
    }

    /// Whether other links can be its ports.
    pub fn is_controller(&self) -> bool {
        matches!(self, Self::Bridge | Self::Bond | Self::Vrf)
    }
}

impl std::fmt::Display for LinkKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// One link with everything that stands on it: a fact in `Observed`, a goal in `Target`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its name.
    pub name: IfName,
    /// Its kind.
    pub kind: LinkKind,
    /// Whether it is administratively up.
    pub up: bool,
    /// The bridge, bond or VRF that it is a port of.
    pub controller: Option<IfName>,
    /// Its single-valued properties, those of its port role included.
    pub attrs: Attrs,
    /// The text by which a person and netloom see who made it.
    pub alias: Option<Alias>,
    /// Further names.
    pub alt_names: BTreeSet<AltName>,
    /// Its addresses, in the kernel's order; those that the kernel generates are left out.
    pub addresses: Vec<Address>,
    /// VLANs of a bridge port, or of the bridge itself.
    pub vlans: VlanMembership,
    /// Permanent and static forwarding entries.
    #[serde(with = "crate::pairs")]
    pub fdb: BTreeMap<FdbKey, FdbEntry>,
    /// Permanent neighbours.
    pub neighbours: BTreeSet<Neighbour>,
    /// Mirrors of its traffic.
    #[serde(with = "crate::pairs")]
    pub mirrors: BTreeMap<MirrorKey, Mirror>,
    /// Offload features, when they were asked for.
    pub features: BTreeMap<Box<str>, bool>,
}

impl Link {
    /// A link with nothing on it, down.
    pub fn new(name: IfName, kind: LinkKind) -> Self {
        Self {
            name,
            kind,
            up: false,
            controller: None,
            attrs: Attrs::new(),
            alias: None,
            alt_names: BTreeSet::new(),
            addresses: Vec::new(),
            vlans: VlanMembership::default(),
            fdb: BTreeMap::new(),
            neighbours: BTreeSet::new(),
            mirrors: BTreeMap::new(),
            features: BTreeMap::new(),
        }
    }

    /// The link that this one stands on.
    pub fn base(&self) -> Option<IfName> {
        self.attrs.link(Attr::Base)
    }

    /// Whether netloom made this link: its alias says so.
    pub fn is_ours(&self) -> bool {
        self.alias.as_ref().is_some_and(Alias::is_ours)
    }

    /// The addresses of one family, in order.
    pub fn addresses_of(&self, family: Family) -> impl Iterator<Item = &Address> {
        self.addresses.iter().filter(move |a| Family::of(a.ip) == family)
    }
}
