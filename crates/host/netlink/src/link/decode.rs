//! A message about a link -> what the model knows of it.
//!
//! Pure. References to other links are indexes here ([`RawLink`]); the observer, who has seen all
//! links, turns them into names with [`RawLink::resolve`]. Addresses, VLANs, forwarding entries and
//! mirrors come from other dumps.

use netloom_model::{Alias, Attr, Attrs, Link, LinkFacts, LinkKind, OperState, Value};
use netloom_types::{AltName, Family, IfName};

use super::{
    composed::{self, put},
    kind,
    table::{Block, IFF_PROMISC, Layout, sysctl_slots},
};
use crate::{
    consts::{
        AF_INET, AF_INET6, IFLA_AF_SPEC, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MASTER,
    },
    wire::{Attribute, Attributes, Message, attributes},
};

// linux/if_link.h
const IFLA_ADDRESS: u16 = 1;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINK: u16 = 5;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_IFALIAS: u16 = 20;
const IFLA_CARRIER: u16 = 33;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_MIN_MTU: u16 = 50;
const IFLA_MAX_MTU: u16 = 51;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;
const IFLA_PERM_ADDRESS: u16 = 54;
const IFLA_PARENT_DEV_NAME: u16 = 56;
const IFLA_PARENT_DEV_BUS_NAME: u16 = 57;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
/// `IFLA_INET_CONF`, in the part of the link that belongs to IPv4.
const IFLA_INET_CONF: u16 = 1;
/// `IFLA_INET6_CONF` and the token, in the part that belongs to IPv6.
const IFLA_INET6_CONF: u16 = 2;
const IFLA_INET6_TOKEN: u16 = 7;
const IFLA_BOND_PRIMARY: u16 = 11;

const IFF_UP: u32 = 1;
const ARPHRD_ETHER: u16 = 1;
/// The length of `ifinfomsg`.
const HEADER: usize = 16;

/// A link as one message shows it: other links are still indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLink {
    /// The link, without controller, base, peer and primary port.
    pub link: Link,
    /// What nobody can ask for.
    pub facts: LinkFacts,
    /// The index of the controller.
    pub controller: Option<u32>,
    /// The index of the base, or of the other end of a pair, when it is in this namespace.
    pub base: Option<u32>,
    /// The index of a bond's primary port.
    pub primary: Option<u32>,
}

impl RawLink {
    /// The index of the link.
    pub fn index(&self) -> u32 {
        self.facts.index
    }

    /// Puts names where indexes were. An index that no link has is left out: that link came or went
    /// while the links were read.
    pub fn resolve(mut self, name: impl Fn(u32) -> Option<IfName>) -> (Link, LinkFacts) {
        self.link.controller = self.controller.and_then(&name);
        if let Some(base) = self.base.and_then(&name) {
            let attr = if self.link.kind == LinkKind::Veth { Attr::VethPeer } else { Attr::Base };
            if attr.applies_to(&self.link.kind) {
                self.link.attrs.set(attr, Value::Link(base));
            }
        }
        if let Some(primary) = self.primary.and_then(&name) {
            self.link.attrs.set(Attr::BondPrimary, Value::Link(primary));
        }
        (self.link, self.facts)
    }
}

/// Reads an `RTM_NEWLINK` message; `None` when it has no usable name or index.
pub fn decode(message: &Message<'_>) -> Option<RawLink> {
    let (hardware, index, flags) = (message.u16_at(2), message.u32_at(4), message.u32_at(8));
    let top = Top::read(message.attrs(HEADER));
    let name = top.name.filter(|_| index != 0)?;
    let (kind, layout) = kind::of(top.kind, hardware, flags);
    let base = base(&kind, layout, &top);
    let mut link = Link::new(name, kind);
    link.up = flags & IFF_UP != 0;
    link.alias = top.alias;
    link.alt_names = top.alt_names.into_iter().flat_map(alt_names).collect();
    link.attrs = top.attrs;
    put(&mut link.attrs, Attr::Promiscuous, Value::Bool(flags & IFF_PROMISC != 0));
    if let Some(mac) = top.mac.and_then(|a| a.mac()).filter(|_| hardware == ARPHRD_ETHER) {
        put(&mut link.attrs, Attr::Mac, Value::Mac(mac));
    }
    read_data(top.kind, &link.kind, layout, top.data, &mut link.attrs);
    let has_primary = link.kind == LinkKind::Bond && Attr::BondPrimary.in_bond_mode(link.attrs.bond_mode());
    let primary = index_in(top.data, IFLA_BOND_PRIMARY).filter(|_| has_primary);
    let mut facts = top.facts;
    facts.index = index;
    Some(RawLink { link, controller: top.controller, base, primary, facts })
}

/// What a link has now, for changing a kind that takes its attributes only as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// The kernel's word for the kind.
    pub(crate) word: Box<str>,
    /// How the kind lays out its attributes.
    pub(crate) layout: Layout,
    /// The properties of the kind.
    pub(crate) attrs: Attrs,
    /// The attributes that they were read from.
    pub(crate) data: Vec<u8>,
}

impl Current {
    /// Reads the answer to [`get`](super::encode::get); `None` when the link has no kind.
    pub fn read(message: &Message<'_>) -> Option<Self> {
        let top = Top::read(message.attrs(HEADER));
        let word = top.kind?;
        let (kind, layout) = kind::of(Some(word), 0, 0);
        let mut attrs = Attrs::new();
        read_data(top.kind, &kind, layout, top.data, &mut attrs);
        Some(Self { word: word.into(), layout, attrs, data: top.data.to_vec() })
    }
}

fn read_data(word: Option<&str>, kind: &LinkKind, layout: Layout, data: &[u8], attrs: &mut Attrs) {
    if let Some(block) = Block::of(kind, layout) {
        read_block(block, attributes(data), attrs);
    }
    if let Some(mode) = kind::tunnel_mode(word) {
        put(attrs, Attr::TunnelMode, Value::Int(mode));
    }
    composed::read(kind, layout, attributes(data), attrs);
    if *kind == LinkKind::Bond {
        attrs.keep_bond_mode();
    }
    // A link that takes the identifier from elsewhere has none; the kernel says 0.
    if attrs.bool(Attr::VxlanExternal) == Some(true) && attrs.int(Attr::VxlanId) == Some(0) {
        attrs.remove(Attr::VxlanId);
    }
}

fn read_block(block: Block, data: Attributes<'_>, attrs: &mut Attrs) {
    let rows = block.rows();
    for attribute in data {
        let Some(row) = rows.iter().find(|row| row.id == attribute.kind) else { continue };
        if let Some(value) = row.form.read(&attribute) {
            put(attrs, row.attr, value);
        }
    }
}

fn index_in(data: &[u8], id: u16) -> Option<u32> {
    attributes(data).find(id).and_then(|a| a.u32()).filter(|index| *index != 0)
}

fn base(kind: &LinkKind, layout: Layout, top: &Top<'_>) -> Option<u32> {
    if top.facts.elsewhere {
        return None;
    }
    match layout {
        Layout::Vxlan => index_in(top.data, 3),
        Layout::Iptun4 | Layout::Iptun6 | Layout::Gre4 | Layout::Gre6 => index_in(top.data, 1),
        Layout::Plain => match kind {
            LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan | LinkKind::Veth => top.link,
            _ => None,
        },
    }
}

/// The attributes of a link, gathered in one pass.
#[derive(Default)]
struct Top<'a> {
    name: Option<IfName>,
    mac: Option<Attribute<'a>>,
    link: Option<u32>,
    controller: Option<u32>,
    alias: Option<Alias>,
    alt_names: Option<Attribute<'a>>,
    kind: Option<&'a str>,
    data: &'a [u8],
    facts: LinkFacts,
    attrs: Attrs,
    bus: Option<&'a str>,
}

impl<'a> Top<'a> {
    fn read(attributes: Attributes<'a>) -> Self {
        let mut top = Self::default();
        for attribute in attributes {
            top.take(&attribute);
        }
        if top.bus != Some("pci") {
            top.facts.pci_address = None;
        }
        top
    }

    fn take(&mut self, a: &Attribute<'a>) {
        let index = || a.u32().filter(|index| *index != 0);
        match a.kind {
            IFLA_IFNAME => self.name = name(a.data),
            IFLA_ADDRESS => self.mac = Some(*a),
            IFLA_MTU => {
                if let Some(mtu) = a.u32() {
                    put(&mut self.attrs, Attr::Mtu, Value::Int(mtu.into()));
                }
            }
            IFLA_TXQLEN => {
                if let Some(length) = a.u32() {
                    put(&mut self.attrs, Attr::TxQueueLength, Value::Int(length.into()));
                }
            }
            IFLA_LINK => self.link = index(),
            IFLA_MASTER => self.controller = index(),
            IFLA_OPERSTATE => self.facts.oper = oper(a.u8().unwrap_or_default()),
            IFLA_CARRIER => self.facts.carrier = a.u8() == Some(1),
            IFLA_LINK_NETNSID => self.facts.elsewhere = true,
            IFLA_MIN_MTU => self.facts.min_mtu = a.u32().unwrap_or_default(),
            IFLA_MAX_MTU => self.facts.max_mtu = a.u32().unwrap_or_default(),
            IFLA_PERM_ADDRESS => self.facts.permanent_mac = a.mac().filter(|mac| !mac.is_zero()),
            IFLA_PARENT_DEV_NAME => self.facts.pci_address = a.str().map(str::to_owned),
            IFLA_PARENT_DEV_BUS_NAME => self.bus = a.str(),
            IFLA_IFALIAS => {
                let text = String::from_utf8_lossy(until_zero(a.data));
                self.alias = (!text.is_empty()).then(|| Alias::raw(&text));
            }
            IFLA_PROP_LIST => self.alt_names = Some(*a),
            IFLA_LINKINFO => self.take_info(a.nested()),
            IFLA_AF_SPEC => self.take_families(a.nested()),
            _ => {}
        }
    }

    fn take_info(&mut self, info: Attributes<'a>) {
        let (mut port_kind, mut port) = (None, None);
        for a in info {
            match a.kind {
                IFLA_INFO_KIND => self.kind = a.str(),
                IFLA_INFO_DATA => self.data = a.data,
                IFLA_INFO_SLAVE_KIND => port_kind = a.str(),
                IFLA_INFO_SLAVE_DATA => port = Some(a.nested()),
                _ => {}
            }
        }
        let block = match port_kind {
            Some("bridge") => Block::BridgePort,
            Some("bond") => Block::BondPort,
            _ => return,
        };
        if let Some(port) = port {
            read_block(block, port, &mut self.attrs);
        }
    }

    fn take_families(&mut self, families: Attributes<'_>) {
        for family in families {
            if family.kind == u16::from(AF_INET) {
                self.take_settings(Family::Ipv4, family.nested().find(IFLA_INET_CONF));
            } else if family.kind == u16::from(AF_INET6) {
                self.take_settings(Family::Ipv6, family.nested().find(IFLA_INET6_CONF));
                self.take_token(family.nested());
            }
        }
    }

    fn take_token(&mut self, inet6: Attributes<'_>) {
        if let Some(token) = inet6.find(IFLA_INET6_TOKEN).and_then(|a| a.ip()).filter(|ip| !ip.is_unspecified()) {
            put(&mut self.attrs, Attr::Ipv6Token, Value::Ip(token));
        }
    }

    fn take_settings(&mut self, family: Family, array: Option<Attribute<'_>>) {
        let Some(array) = array else { return };
        for &(_, slot, attr) in sysctl_slots().iter().filter(|(f, _, _)| *f == family) {
            let Some(number) = array.data.get(slot * 4..).and_then(|rest| rest.first_chunk::<4>()) else { continue };
            let number = i32::from_ne_bytes(*number);
            let value = match attr.default_value() {
                Some(Value::Bool(_)) => Value::Bool(number > 0),
                _ => Value::Int(u64::try_from(number).unwrap_or(u64::MAX)),
            };
            put(&mut self.attrs, attr, value);
        }
    }
}

fn oper(state: u8) -> OperState {
    match state {
        6 => OperState::Up,
        1 | 2 => OperState::Down,
        3 => OperState::LowerLayerDown,
        4 | 5 => OperState::Dormant,
        _ => OperState::Unknown,
    }
}

fn alt_names(list: Attribute<'_>) -> impl Iterator<Item = AltName> {
    list.nested().filter(|a| a.kind == IFLA_ALT_IFNAME).filter_map(|a| a.str()?.parse().ok())
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&b| b == 0).next().unwrap_or_default()
}

/// A link's name. The kernel allows bytes that are no text; those are shown as `_`, so that such a
/// link is seen, if not under a name that can be asked for.
fn name(bytes: &[u8]) -> Option<IfName> {
    let bytes = until_zero(bytes);
    if let Some(name) = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()) {
        return Some(name);
    }
    let plain = |&b: &u8| if b.is_ascii_graphic() && b != b'/' && b != b':' { char::from(b) } else { '_' };
    bytes.iter().map(plain).collect::<String>().parse().ok()
}

/// The IPv6 token in a message of an `RTM_GETLINK` dump for `AF_INET6`, with the link's index. The
/// ordinary dump leaves the token out when it is asked to leave out statistics.
pub fn decode_token(message: &Message<'_>) -> Option<(u32, Value)> {
    const IFLA_PROTINFO: u16 = 12;
    let info = message.attrs(HEADER).find(IFLA_PROTINFO)?;
    let token = info.nested().find(IFLA_INET6_TOKEN)?.ip().filter(|ip| ip.is_ipv6() && !ip.is_unspecified())?;
    Some((message.u32_at(4), Value::Ip(token)))
}
