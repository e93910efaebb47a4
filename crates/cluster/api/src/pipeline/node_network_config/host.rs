//! The node's own links, addresses and routes, each with the object that asked for it.
//!
//! Everything in here is absolute: names are resolved, defaults are filled in, and two entries never
//! speak of the same thing. The agent takes back what was in here before and no longer is.

use std::collections::BTreeMap;

use netloom_model::{Origin, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fabric::text::{Cidr, Interface, InterfaceAddress, Ip, Mac};

/// What the node itself shall have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostConfig {
    /// Links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub links: Vec<HostLink>,
    /// Addresses of links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["link", "address"]))]
    pub addresses: Vec<HostAddress>,
    /// Links that get their address by DHCP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["link", "family"]))]
    pub dhcp: Vec<HostDhcp>,
    /// Routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub routes: Vec<HostRoute>,
    /// Policy rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub rules: Vec<HostRule>,
    /// VLANs of bridge ports, and of bridges themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub bridge_vlans: Vec<HostBridgeVlan>,
}

/// One entry of what a node shall have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEntry<'a> {
    /// A link.
    Link(&'a HostLink),
    /// An address of a link.
    Address(&'a HostAddress),
    /// A link that gets its address by DHCP.
    Dhcp(&'a HostDhcp),
    /// A route.
    Route(&'a HostRoute),
    /// A policy rule.
    Rule(&'a HostRule),
    /// VLANs of a bridge port.
    BridgeVlan(&'a HostBridgeVlan),
}

impl HostConfig {
    /// Every entry, in the order in which they stand. Whoever looks at a configuration as a whole looks here, so that
    /// nobody forgets a list.
    pub fn entries(&self) -> impl Iterator<Item = HostEntry<'_>> {
        let Self { links, addresses, dhcp, routes, rules, bridge_vlans } = self;
        let links = links.iter().map(HostEntry::Link);
        let leases = addresses.iter().map(HostEntry::Address).chain(dhcp.iter().map(HostEntry::Dhcp));
        let ways = routes.iter().map(HostEntry::Route).chain(rules.iter().map(HostEntry::Rule));
        links.chain(leases).chain(ways).chain(bridge_vlans.iter().map(HostEntry::BridgeVlan))
    }
}

impl HostConfig {
    /// Adds the entries of another one behind its own.
    pub fn extend(&mut self, other: Self) {
        let Self { links, addresses, dhcp, routes, rules, bridge_vlans } = other;
        self.links.extend(links);
        self.addresses.extend(addresses);
        self.dhcp.extend(dhcp);
        self.routes.extend(routes);
        self.rules.extend(rules);
        self.bridge_vlans.extend(bridge_vlans);
    }
}

impl<'a> HostEntry<'a> {
    /// Who asked for it.
    pub fn origin(self) -> &'a EntryOrigin {
        match self {
            Self::Link(entry) => &entry.origin,
            Self::Address(entry) => &entry.origin,
            Self::Dhcp(entry) => &entry.origin,
            Self::Route(entry) => &entry.origin,
            Self::Rule(entry) => &entry.origin,
            Self::BridgeVlan(entry) => &entry.origin,
        }
    }

    /// The link that it makes, or gives something to.
    pub fn link(self) -> Option<&'a Interface> {
        match self {
            Self::Link(entry) => Some(&entry.name),
            Self::Address(entry) => Some(&entry.link),
            Self::Dhcp(entry) => Some(&entry.link),
            Self::BridgeVlan(entry) => Some(&entry.port),
            Self::Route(_) | Self::Rule(_) => None,
        }
    }
}

impl HostLink {
    /// A link that is up and nothing else.
    pub fn new(name: Interface, kind: HostLinkKind, origin: EntryOrigin) -> Self {
        Self {
            name,
            kind,
            up: true,
            mtu: None,
            tx_queue_length: None,
            alt_names: Vec::new(),
            mac_address: None,
            controller: None,
            base: None,
            vlan_id: None,
            vxlan: None,
            table: None,
            bond_mode: None,
            options: BTreeMap::new(),
            vlan_filtering: None,
            origin,
        }
    }
}

/// Who asked for an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryOrigin {
    /// The group of its kind. Versions before this one left it out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub group: String,
    /// The kind of the object.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// The namespace of the object, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The field of the object, such as `spec.uplink.nics[0]`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub path: String,
}

impl EntryOrigin {
    /// The object.
    pub fn source(&self) -> Source {
        Source::object(self.group_kind(), self.namespace.as_deref().unwrap_or_default(), &self.name)
    }

    /// The object, and the place in it.
    pub fn origin(&self) -> Origin {
        Origin::new(self.source(), self.path.as_str(), 0)
    }

    /// The group and the name of its kind.
    pub fn group_kind(&self) -> (&str, &str) {
        let group = if self.group.is_empty() { Source::group_of(&self.kind) } else { &self.group };
        (group, &self.kind)
    }
}

/// A link that shall be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostLink {
    /// Its name.
    pub name: Interface,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: HostLinkKind,
    /// Whether it is up.
    #[serde(default = "up_by_default")]
    pub up: bool,
    /// Its MTU; without it the kernel's choice stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 68, max = 65_535))]
    pub mtu: Option<u32>,
    /// How many packets may wait to be sent; without it the kernel's choice stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_queue_length: Option<u32>,
    /// Further names that it is found by, where its own has no room for all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 127)), extend("x-kubernetes-list-type" = "set"))]
    pub alt_names: Vec<String>,
    /// Its hardware address; without it the kernel's choice stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<Mac>,
    /// The bond, bridge or VRF that it is a port of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Interface>,
    /// The link that a VLAN or VXLAN stands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Interface>,
    /// The id of a VLAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan_id: Option<u16>,
    /// The properties of a VXLAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vxlan: Option<HostVxlan>,
    /// The table of a VRF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub table: Option<u32>,
    /// The mode of a bond, such as `active-backup`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    pub bond_mode: Option<String>,
    /// Further properties of a bond or bridge, in the words of the kernel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Whether a bridge tells VLANs apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan_filtering: Option<bool>,
    /// Who asked for it.
    pub origin: EntryOrigin,
}

/// What a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostLinkKind {
    /// One that is there already and that nobody makes, such as a card.
    Existing,
    /// A bond.
    Bond,
    /// A bridge.
    Bridge,
    /// A VLAN on another link.
    Vlan,
    /// A VXLAN.
    Vxlan,
    /// A VRF.
    Vrf,
    /// A link that leads nowhere and holds addresses.
    Dummy,
}

/// The properties of a VXLAN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostVxlan {
    /// The network identifier.
    #[schemars(range(min = 1, max = 16_777_215))]
    pub vni: u32,
    /// The address of this end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Ip>,
    /// The group or the address of the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<Ip>,
    /// The UDP port; 4789 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub port: Option<u16>,
    /// Whether stations are learned from packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning: Option<bool>,
}

/// An address of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostAddress {
    /// The link.
    pub link: Interface,
    /// The address with the length of its network.
    pub address: InterfaceAddress,
    /// Who asked for it.
    pub origin: EntryOrigin,
}

/// A link that gets its address by DHCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostDhcp {
    /// The link.
    pub link: Interface,
    /// The address family.
    pub family: IpFamily,
    /// The table that routes of the lease go to; the main one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub table: Option<u32>,
    /// The metric of routes of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<u32>,
    /// Whether routes of the lease are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<bool>,
    /// Whether that holds for a default route too: a second one can cut the node off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<bool>,
    /// Who asked for it.
    pub origin: EntryOrigin,
}

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IpFamily {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostRoute {
    /// Where it leads.
    pub destination: Cidr,
    /// The gateway; without it the destination is on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Ip>,
    /// The link that packets leave by; without it and without a gateway they are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Interface>,
    /// The table; the main one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub table: Option<u32>,
    /// The metric: lower is preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<u32>,
    /// The address that packets of the node itself leave with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Ip>,
    /// Who asked for it.
    pub origin: EntryOrigin,
}

/// A policy rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostRule {
    /// The address family.
    pub family: IpFamily,
    /// The place of the rule: lower comes first.
    #[schemars(range(min = 1, max = 32_765))]
    pub priority: u32,
    /// Sources that it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Cidr>,
    /// Destinations that it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Cidr>,
    /// The link that packets come in by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iif: Option<Interface>,
    /// The mark that packets carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<u32>,
    /// The table in which such packets are routed.
    #[schemars(range(min = 1))]
    pub table: u32,
    /// Who asked for it.
    pub origin: EntryOrigin,
}

/// VLANs that pass a bridge port. Of a link that is made here these are all; a link that was there already keeps
/// those that somebody else gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostBridgeVlan {
    /// The port, or the bridge itself.
    pub port: Interface,
    /// The first VLAN.
    #[schemars(range(min = 1, max = 4094))]
    pub min: u16,
    /// The last VLAN.
    #[schemars(range(min = 1, max = 4094))]
    pub max: u16,
    /// Whether packets without a tag belong to this VLAN; for one VLAN only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pvid: bool,
    /// Whether packets leave without their tag.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untagged: bool,
    /// Who asked for it.
    pub origin: EntryOrigin,
}

fn up_by_default() -> bool {
    true
}
