//! A document: what somebody wrote, every value valid on its own, nothing resolved yet.
//!
//! A key that was not written is `None` or empty here, which is not the same as its default: a
//! document is partial. Two documents are equal when they say the same; lines do not count.

use std::{collections::BTreeMap, fmt, net::IpAddr, sync::Arc};

use ipnet::IpNet;
use netloom_model::{
    Attrs, DesiredController, DesiredDhcp, FdbEntry, FdbKey, FlowMatch, LinkKind, MirrorAction, MirrorKey, Neighbour,
    Presence, Source,
};
use netloom_types::{AltName, Family, IfName, Lifetime, Protocol, VlanId};
use netloom_yaml::Node;

use crate::raw::Raw;

/// An nmstate document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    pub(crate) places: Places,
    pub(crate) description: Option<String>,
    pub(crate) hostname: Hostname,
    pub(crate) dns_running: Option<Dns>,
    pub(crate) dns: Option<Dns>,
    pub(crate) rules: Vec<RuleEntry>,
    pub(crate) routes_running: Vec<RouteEntry>,
    pub(crate) routes: Vec<RouteEntry>,
    pub(crate) interfaces: Vec<Interface>,
}

impl Document {
    /// Whether nothing is given at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What the link is called whose entry `path` leads into, such as that of `interfaces[3].vlan.id`.
    pub(crate) fn link_at(&self, path: &str) -> Option<&str> {
        let (index, _) = path.strip_prefix("interfaces[")?.split_once(']')?;
        let entry = self.interfaces.get(index.parse::<usize>().ok()?)?;
        Some(entry.name.as_str()).filter(|name| *name != "*")
    }

    /// The name that the document was read under.
    pub fn source(&self) -> &Source {
        &self.places.source
    }
}

/// Where the values of a document stand in its text. Equal to any other: it is no content.
#[derive(Clone)]
pub(crate) struct Places {
    pub(crate) source: Source,
    pub(crate) tree: Option<Arc<Node>>,
}

impl Places {
    /// The line of a path, 0 when the document was not read from a text.
    pub(crate) fn line(&self, path: &str) -> u32 {
        self.tree.as_ref().map_or(0, |tree| tree.line_of(path))
    }
}

impl Default for Places {
    fn default() -> Self {
        Self { source: "".into(), tree: None }
    }
}

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Places {}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

/// `hostname`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hostname {
    pub(crate) running: Option<String>,
    pub(crate) config: Option<String>,
}

/// `dns-resolver.config` or `.running`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Dns {
    pub(crate) server: Vec<String>,
    pub(crate) search: Vec<String>,
    pub(crate) options: Vec<String>,
}

/// `state` of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is there, and up.
    Up,
    /// It is there, and down.
    Down,
    /// It is not there.
    Absent,
    /// Whatever it is.
    Ignore,
}

impl State {
    pub(crate) const ALL: &'static [Self] = &[Self::Up, Self::Down, Self::Absent, Self::Ignore];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Absent => "absent",
            Self::Ignore => "ignore",
        }
    }
}

/// `identifier` of an interface, when it is not its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identifier {
    MacAddress,
    PciAddress,
}

impl Identifier {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::MacAddress => "mac-address",
            Self::PciAddress => "pci-address",
        }
    }
}

/// One entry of `interfaces`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// What the document calls the link.
    pub name: IfName,
    pub(crate) kind: Option<LinkKind>,
    /// What shall become of it.
    pub state: Option<State>,
    pub(crate) identifier: Option<Identifier>,
    pub(crate) profile_name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) pci_address: Option<String>,
    pub(crate) copy_mac_from: Option<IfName>,
    /// Detached is `controller: ""`.
    pub controller: DesiredController,
    /// Further names.
    pub alt_names: BTreeMap<AltName, Presence>,
    /// Every single-valued property, those of its own kind's block included.
    pub attrs: Attrs,
    /// The key of the kind's block that was written; it may tell the kind when `type` does not.
    pub(crate) block: Option<&'static str>,
    /// Ports of a bridge, bond or VRF.
    pub(crate) ports: Option<Vec<Port>>,
    pub(crate) allow_extra_ports: Option<bool>,
    /// VLANs of the bridge itself.
    pub(crate) vlans: Option<Vec<VlanEntry>>,
    pub(crate) ipv4: Ip,
    pub(crate) ipv6: Ip,
    pub(crate) fdb: Vec<FdbItem>,
    pub(crate) mirrors: Vec<MirrorItem>,
    pub(crate) features: BTreeMap<Box<str>, bool>,
    /// Whether neighbours are listened for.
    pub lldp: Option<bool>,
    /// Parts of the format that netloom keeps and never changes.
    pub(crate) kept: BTreeMap<&'static str, Raw>,
    /// What only a report says.
    pub(crate) facts: BTreeMap<&'static str, Raw>,
}

impl Interface {
    /// An entry that says nothing but which link is meant.
    pub fn new(name: IfName) -> Self {
        Self {
            name,
            kind: None,
            state: None,
            identifier: None,
            profile_name: None,
            description: None,
            pci_address: None,
            copy_mac_from: None,
            controller: DesiredController::Keep,
            alt_names: BTreeMap::new(),
            attrs: Attrs::new(),
            block: None,
            ports: None,
            allow_extra_ports: None,
            vlans: None,
            ipv4: Ip::default(),
            ipv6: Ip::default(),
            fdb: Vec::new(),
            mirrors: Vec::new(),
            features: BTreeMap::new(),
            lldp: None,
            kept: BTreeMap::new(),
            facts: BTreeMap::new(),
        }
    }

    pub(crate) fn ip(&self, family: Family) -> &Ip {
        match family {
            Family::Ipv4 => &self.ipv4,
            Family::Ipv6 => &self.ipv6,
        }
    }

    pub(crate) fn ip_mut(&mut self, family: Family) -> &mut Ip {
        match family {
            Family::Ipv4 => &mut self.ipv4,
            Family::Ipv6 => &mut self.ipv6,
        }
    }

    /// The entry without what only a report says.
    pub(crate) fn without_facts(mut self) -> Self {
        self.facts.clear();
        self
    }

    /// Whether nothing is given but which link is meant.
    pub(crate) fn says_nothing(&self) -> bool {
        let bare = Self {
            kind: self.kind.clone(),
            block: self.block,
            identifier: self.identifier,
            profile_name: self.profile_name.clone(),
            ..Self::new(self.name)
        };
        *self == bare
    }
}

/// One port in a controller's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) name: IfName,
    /// Properties of the port's role.
    pub(crate) attrs: Attrs,
    pub(crate) vlan: Option<PortVlan>,
    /// VLANs in our own, general spelling.
    pub(crate) vlans: Option<Vec<VlanEntry>>,
}

impl Port {
    pub(crate) fn new(name: IfName) -> Self {
        Self { name, attrs: Attrs::new(), vlan: None, vlans: None }
    }
}

/// `vlan` of a bridge port; nothing reported in it resets the port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PortVlan {
    pub(crate) trunk: Option<bool>,
    pub(crate) tag: Option<u16>,
    pub(crate) enable_native: Option<bool>,
    pub(crate) trunk_tags: Option<Vec<(VlanId, VlanId)>>,
}

/// One entry of our `vlans` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VlanEntry {
    pub(crate) first: VlanId,
    pub(crate) last: VlanId,
    pub(crate) untagged: bool,
    pub(crate) pvid: bool,
}

/// `ipv4` or `ipv6`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ip {
    pub(crate) enabled: Option<bool>,
    pub(crate) addresses: Option<Vec<AddressItem>>,
    pub(crate) allow_extra_address: Option<bool>,
    pub(crate) prefix_route_metric: Option<u32>,
    pub(crate) neighbors: Option<Vec<Neighbour>>,
    pub(crate) dhcp: Option<bool>,
    pub(crate) lease: Lease,
}

impl Ip {
    pub(crate) fn says_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// How a lease shall be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Lease {
    pub(crate) auto_dns: Option<bool>,
    pub(crate) auto_gateway: Option<bool>,
    pub(crate) auto_routes: Option<bool>,
    pub(crate) route_table: Option<u32>,
    pub(crate) route_metric: Option<u32>,
    pub(crate) client_id: Option<String>,
    pub(crate) duid: Option<String>,
    pub(crate) send_hostname: Option<bool>,
    pub(crate) custom_hostname: Option<String>,
}

impl Lease {
    /// How the client is asked for it.
    pub(crate) fn desired(self, enabled: bool) -> DesiredDhcp {
        let Self {
            auto_dns,
            auto_gateway,
            auto_routes,
            route_table,
            route_metric,
            client_id,
            duid,
            send_hostname,
            custom_hostname,
        } = self;
        DesiredDhcp {
            enabled,
            auto_dns,
            auto_gateway,
            auto_routes,
            route_table,
            route_metric,
            client_id,
            duid,
            send_hostname,
            custom_hostname,
        }
    }

    pub(crate) fn of(desired: DesiredDhcp) -> Self {
        let DesiredDhcp {
            enabled: _,
            auto_dns,
            auto_gateway,
            auto_routes,
            route_table,
            route_metric,
            client_id,
            duid,
            send_hostname,
            custom_hostname,
        } = desired;
        Self {
            auto_dns,
            auto_gateway,
            auto_routes,
            route_table,
            route_metric,
            client_id,
            duid,
            send_hostname,
            custom_hostname,
        }
    }

    /// The keys that are given.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        let Self {
            auto_dns,
            auto_gateway,
            auto_routes,
            route_table,
            route_metric,
            client_id,
            duid,
            send_hostname,
            custom_hostname,
        } = self;
        let given = [
            ("auto-dns", auto_dns.is_some()),
            ("auto-gateway", auto_gateway.is_some()),
            ("auto-routes", auto_routes.is_some()),
            ("auto-route-table-id", route_table.is_some()),
            ("auto-route-metric", route_metric.is_some()),
            ("dhcp-client-id", client_id.is_some()),
            ("dhcp-duid", duid.is_some()),
            ("dhcp-send-hostname", send_hostname.is_some()),
            ("dhcp-custom-hostname", custom_hostname.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect()
    }
}

/// One entry of an `address` list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddressItem {
    pub(crate) ip: IpAddr,
    pub(crate) prefix_len: u8,
    pub(crate) valid: Option<Lifetime>,
    pub(crate) preferred: Option<Lifetime>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) mptcp: Option<Raw>,
}

impl AddressItem {
    pub(crate) fn new(ip: IpAddr, prefix_len: u8) -> Self {
        Self { ip, prefix_len, valid: None, preferred: None, protocol: None, mptcp: None }
    }
}

/// One entry of an `fdb` list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FdbItem {
    pub(crate) key: FdbKey,
    /// `None` for `state: absent`.
    pub(crate) entry: Option<FdbEntry>,
}

/// One entry of a `mirrors` list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MirrorItem {
    pub(crate) key: MirrorKey,
    /// `None` for `state: absent`.
    pub(crate) mirror: Option<(FlowMatch, MirrorAction, IfName)>,
}

/// `state` of a route or rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum EntryState {
    #[default]
    Present,
    Absent,
    Ignore,
}

/// One entry of `routes.config` or `.running`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouteEntry {
    pub(crate) state: EntryState,
    /// Where it leads; host bits as they were written.
    pub destination: Option<IpNet>,
    /// The link that packets leave by.
    pub next_hop_interface: Option<IfName>,
    /// The gateway.
    pub next_hop_address: Option<IpAddr>,
    pub(crate) on_link: Option<bool>,
    /// The metric; `None` for -1 too.
    pub metric: Option<u32>,
    /// The table.
    pub table_id: Option<u32>,
    pub(crate) vrf_name: Option<IfName>,
    pub(crate) weight: Option<u16>,
    /// What becomes of packets that have no way onward.
    pub route_type: Option<netloom_model::RouteType>,
    /// The address that packets of the host itself leave with.
    pub source: Option<IpAddr>,
    pub(crate) mtu: Option<u32>,
    pub(crate) lock_mtu: Option<bool>,
    pub(crate) advmss: Option<u32>,
    pub(crate) cwnd: Option<u32>,
    pub(crate) initcwnd: Option<u32>,
    pub(crate) initrwnd: Option<u32>,
    pub(crate) quickack: Option<bool>,
    /// Only reports say it.
    pub(crate) protocol: Option<Protocol>,
}

/// A prefix in a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RulePrefix {
    /// Nothing is given.
    #[default]
    Unspecified,
    /// The empty text: in an absent entry, rules without a prefix.
    Empty,
    /// This one, host bits as they were written.
    Net(IpNet),
}

impl RulePrefix {
    pub(crate) fn net(self) -> Option<IpNet> {
        match self {
            Self::Unspecified | Self::Empty => None,
            Self::Net(net) => Some(net),
        }
    }
}

/// One entry of `route-rules.config`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleEntry {
    pub(crate) absent: bool,
    /// The address family.
    pub family: Option<Family>,
    /// Sources that it fits.
    pub from: RulePrefix,
    /// Destinations that it fits.
    pub to: RulePrefix,
    /// Its place; `None` for -1 too.
    pub priority: Option<u32>,
    /// The table in which such packets are routed.
    pub table: Option<u32>,
    /// The mark that packets carry.
    pub fwmark: Option<u32>,
    pub(crate) fwmask: Option<u32>,
    /// The link that packets come in by.
    pub iif: Option<IfName>,
    pub(crate) oif: Option<IfName>,
    /// blackhole, unreachable or prohibit.
    pub action: Option<netloom_model::RuleAction>,
    /// Packets that belong to a VRF: they are looked up in its table, or end here with an action.
    pub l3mdev: Option<bool>,
    pub(crate) goto: Option<u32>,
    pub(crate) nop: Option<bool>,
    pub(crate) invert: Option<bool>,
    pub(crate) tos: Option<u8>,
    /// The number of the protocol above IP.
    pub ip_proto: Option<u8>,
    /// Ports that packets come from.
    pub sport: Option<netloom_model::PortRange>,
    /// Ports that packets go to.
    pub dport: Option<netloom_model::PortRange>,
    pub(crate) uid: Option<netloom_model::UidRange>,
    pub(crate) tun_id: Option<u64>,
    pub(crate) suppress_prefix_length: Option<u32>,
    pub(crate) suppress_group: Option<u32>,
    pub(crate) protocol: Option<Protocol>,
}
