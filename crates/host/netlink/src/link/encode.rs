//! Links and their properties -> messages.
//!
//! Pure: the caller sends the messages of one call in order and takes the first refusal as the
//! answer. Links are addressed by index; a new link's index may be chosen by the caller, so that later
//! messages of the same batch can name it before the kernel has answered.
//!
//! What is *not* done here: properties that are files (`sysctl`) or driver settings (`ethtool`) are
//! passed over, in [`create`] and in [`set`]; those modules pick their own out of the same [`Attrs`].

use netloom_model::{Alias, Attr, Attrs, Change, LinkKind, StepError, Value};
use netloom_types::{AltName, IfName};

use super::{
    bond,
    composed::{self, Edit},
    decode::Current,
    form::Indexes,
    kind,
    table::{Layout, Wire, wire},
};
use crate::{
    consts::{
        AF_INET6, AF_UNSPEC, IFLA_AF_SPEC, IFLA_EXT_MASK, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO,
        NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, RTM_DELLINK, RTM_DELLINKPROP, RTM_GETLINK, RTM_NEWLINK,
        RTM_NEWLINKPROP, VETH_INFO_PEER,
    },
    wire::{Msg, attributes, ifinfomsg},
};

// linux/if_link.h
const IFLA_MASTER: u16 = 10;
const IFLA_IFALIAS: u16 = 20;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_GRE_ENCAP_LIMIT: u16 = 11;
/// `RTEXT_FILTER_SKIP_STATS`
const SKIP_STATISTICS: u32 = 8;

const IFF_UP: u32 = 1;
/// What `ip` gives a new tunnel over IPv6; the kernel itself would take 0, which forbids nesting.
const ENCAP_LIMIT: u8 = 4;

/// A link to be made.
#[derive(Debug, Clone, Copy)]
pub struct Create<'a> {
    /// Its name.
    pub name: IfName,
    /// The index that it shall have; 0 to let the kernel choose.
    pub index: u32,
    /// Its kind.
    pub kind: &'a LinkKind,
    /// Its properties.
    pub attrs: &'a Attrs,
    /// The index of its controller.
    pub controller: Option<u32>,
    /// Whether it shall be up.
    pub up: bool,
    /// The index that the other end of a pair shall have; 0 to let the kernel choose.
    pub peer_index: u32,
}

/// The messages that make a link.
///
/// Nearly always one. A port is made down, put under its controller and only then brought up: a bond
/// refuses ports that are up, and a VRF would take them down and up again. A bridge gets its MTU
/// afterwards, because only then does the kernel compare it with the MTU of ports that come.
pub fn create(new: &Create<'_>, indexes: Indexes<'_>) -> Result<Vec<Msg>, StepError> {
    let (word, layout) = kind::word(new.kind, new.attrs).ok_or_else(|| {
        StepError::with(StepError::EOPNOTSUPP, &format!("a link of kind {} cannot be made", new.kind))
    })?;
    let mut first = Attrs::new();
    let mut later = Attrs::new();
    for (attr, value) in new.attrs.iter() {
        match wire(attr, layout) {
            Wire::Top(..) if attr == Attr::Mtu && *new.kind == LinkKind::Bridge => later.require(attr, value.clone()),
            Wire::Top(..) | Wire::Flag(_) | Wire::Data(..) | Wire::Composed
                if !is_kernels_own(attr, value, layout) || is_unlike_others(attr, new.kind) =>
            {
                first.require(attr, value.clone());
            }
            Wire::BridgePort(..) | Wire::BondPort(..) | Wire::Inet6(..) => later.require(attr, value.clone()),
            Wire::Top(..)
            | Wire::Flag(_)
            | Wire::Data(..)
            | Wire::Composed
            | Wire::Sysctl(..)
            | Wire::Ethtool(_)
            | Wire::Nowhere => {}
        }
    }
    fill_in(layout, &mut first);
    let up_at_once = new.up && new.controller.is_none();
    let mut messages = vec![create_message(new, word, layout, &first, up_at_once, indexes)?];
    messages.extend(set_named(new.name, new.index, new.kind, &later, indexes)?);
    if new.up && !up_at_once {
        messages.push(flags_message(new.name, new.index, IFF_UP, IFF_UP));
    }
    Ok(messages)
}

/// Whether a new link has this value without being reported. Telling it anyway would be refused where
/// another property rules it out.
fn is_kernels_own(attr: Attr, value: &Value, layout: Layout) -> bool {
    let is_default = *value == Value::Unset || attr.default_value().as_ref() == Some(value);
    match layout {
        // A bond in some modes starts with a monitor of 100 ms.
        Layout::Plain | Layout::Vxlan => is_default && attr != Attr::BondMiimon,
        // Kinds of tunnels differ in what they start with.
        Layout::Iptun4 | Layout::Iptun6 | Layout::Gre4 | Layout::Gre6 => *value == Value::Unset,
    }
}

/// Whether links of this kind start with another value than all others do.
fn is_unlike_others(attr: Attr, kind: &LinkKind) -> bool {
    attr == Attr::TxQueueLength && *kind == LinkKind::MacVtap
}

/// Says defaults of the model that are not those of the kernel.
fn fill_in(layout: Layout, attrs: &mut Attrs) {
    let differing: &[Attr] = match layout {
        Layout::Vxlan => &[Attr::VxlanPort],
        Layout::Iptun6 => &[Attr::TunnelEncapLimit],
        Layout::Plain | Layout::Iptun4 | Layout::Gre4 | Layout::Gre6 => &[],
    };
    for &attr in differing {
        if let (None, Some(default)) = (attrs.given(attr), attr.default_value()) {
            attrs.require(attr, default);
        }
    }
}

fn create_message(
    new: &Create<'_>,
    word: &str,
    layout: Layout,
    attrs: &Attrs,
    up: bool,
    indexes: Indexes<'_>,
) -> Result<Msg, StepError> {
    let (mut flags, mut mask) = flag_bits(attrs, layout);
    if up {
        flags |= IFF_UP;
        mask |= IFF_UP;
    }
    let mut msg = Msg::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    msg.header(&ifinfomsg(AF_UNSPEC, new.index, flags, mask)).attr_str(IFLA_IFNAME, new.name.as_str());
    if let Some(controller) = new.controller {
        msg.attr_u32(IFLA_MASTER, controller);
    }
    write_top(&mut msg, attrs, layout, indexes)?;
    let edit = Edit { kind: new.kind, layout, given: attrs, before: &Attrs::new(), data: &[] };
    let mut result = Ok(());
    msg.nest(IFLA_LINKINFO, |msg| {
        msg.attr_str(IFLA_INFO_KIND, word);
        msg.nest_unless_empty(IFLA_INFO_DATA, |msg| {
            result = write_data(&edit, msg, indexes);
            if let Some(Value::Link(peer)) = attrs.given(Attr::VethPeer) {
                msg.nest(VETH_INFO_PEER, |msg| {
                    msg.raw(&ifinfomsg(AF_UNSPEC, new.peer_index, 0, 0)).attr_str(IFLA_IFNAME, peer.as_str());
                });
            }
            if layout == Layout::Gre6 {
                msg.attr_u8(IFLA_GRE_ENCAP_LIMIT, ENCAP_LIMIT);
            }
        });
    });
    result.map(|()| msg)
}

fn flag_bits(attrs: &Attrs, layout: Layout) -> (u32, u32) {
    let (mut flags, mut mask) = (0, 0);
    for (attr, value) in attrs.iter() {
        if let Wire::Flag(bit) = wire(attr, layout) {
            mask |= bit;
            flags |= if *value == Value::Bool(true) { bit } else { 0 };
        }
    }
    (flags, mask)
}

/// Writes the attributes of the link itself; whether there was any.
fn write_top(msg: &mut Msg, attrs: &Attrs, layout: Layout, indexes: Indexes<'_>) -> Result<(), StepError> {
    for (attr, value) in attrs.iter() {
        if let Wire::Top(id, form) = wire(attr, layout) {
            form.write(msg, id, value, false, indexes)?;
        }
    }
    Ok(())
}

/// Writes the attributes of the kind.
fn write_data(edit: &Edit<'_>, msg: &mut Msg, indexes: Indexes<'_>) -> Result<(), StepError> {
    let v6 = matches!(edit.layout, Layout::Iptun6 | Layout::Gre6);
    for (attr, value) in edit.given.iter() {
        if let Wire::Data(id, form) = wire(attr, edit.layout) {
            form.write(msg, id, value, v6, indexes)?;
        }
    }
    composed::write(edit, msg);
    Ok(())
}

/// Whether [`set`] must know what the link has now: some kinds forget what a change does not repeat.
pub fn needs_current(kind: &LinkKind, attrs: &Attrs) -> bool {
    let given = |attrs: &Attrs, of: &[Attr]| of.iter().any(|attr| attrs.given(*attr).is_some());
    match kind {
        LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Gretap | LinkKind::Ip6gre | LinkKind::Ip6gretap => {
            attrs.iter().any(|(attr, _)| attr.section() == netloom_model::Section::Kind)
        }
        LinkKind::Vlan => given(attrs, &[Attr::VlanIngressQos, Attr::VlanEgressQos]),
        LinkKind::MacVlan | LinkKind::MacVtap => given(attrs, &[Attr::MacvlanPromiscuous]),
        LinkKind::IpVlan => given(attrs, &[Attr::IpvlanMode, Attr::IpvlanPrivate, Attr::IpvlanVepa]),
        LinkKind::Ethernet
        | LinkKind::Loopback
        | LinkKind::Dummy
        | LinkKind::Bridge
        | LinkKind::Bond
        | LinkKind::Vrf
        | LinkKind::Vxlan
        | LinkKind::Veth
        | LinkKind::Other(_) => false,
    }
}

/// The messages that change properties of a link. `current` is the answer to [`get`], wanted when
/// [`needs_current`] says so.
pub fn set(
    index: u32,
    kind: &LinkKind,
    attrs: &Attrs,
    current: Option<&Current>,
    indexes: Indexes<'_>,
) -> Result<Vec<Msg>, StepError> {
    set_at(&Target::Index(index), kind, attrs, current, indexes)
}

/// The same for a link that was just made, whose index may not be known yet.
fn set_named(
    name: IfName,
    index: u32,
    kind: &LinkKind,
    attrs: &Attrs,
    indexes: Indexes<'_>,
) -> Result<Vec<Msg>, StepError> {
    let target = if index == 0 { Target::Name(name) } else { Target::Index(index) };
    set_at(&target, kind, attrs, None, indexes)
}

enum Target {
    Index(u32),
    Name(IfName),
}

impl Target {
    fn message(&self, flags: u32, mask: u32) -> Msg {
        let mut msg = Msg::new(RTM_NEWLINK, 0);
        match self {
            Self::Index(index) => msg.header(&ifinfomsg(AF_UNSPEC, *index, flags, mask)),
            Self::Name(name) => msg.header(&ifinfomsg(AF_UNSPEC, 0, flags, mask)).attr_str(IFLA_IFNAME, name.as_str()),
        };
        msg
    }
}

fn set_at(
    target: &Target,
    kind: &LinkKind,
    attrs: &Attrs,
    current: Option<&Current>,
    indexes: Indexes<'_>,
) -> Result<Vec<Msg>, StepError> {
    let layout = layout(kind, attrs, current);
    if let Some((attr, _)) = attrs.iter().find(|(attr, _)| attr.change() == Change::Recreate) {
        let text = format!("{attr} of an existing {kind} link cannot be changed");
        return Err(StepError::with(StepError::EOPNOTSUPP, &text));
    }
    let mut messages = data_messages(target, kind, layout, attrs, current, indexes)?;
    messages.extend(port_message(target, "bridge", attrs, indexes)?);
    messages.extend(port_message(target, "bond", attrs, indexes)?);
    let (flags, mask) = flag_bits(attrs, layout);
    let mut msg = target.message(flags, mask);
    let empty = msg.len();
    write_top(&mut msg, attrs, layout, indexes)?;
    write_inet6(&mut msg, attrs, indexes)?;
    if msg.len() > empty || mask != 0 {
        messages.push(msg);
    }
    Ok(messages)
}

fn layout(kind: &LinkKind, attrs: &Attrs, current: Option<&Current>) -> Layout {
    current
        .map(|current| current.layout)
        .or_else(|| kind::word(kind, attrs).map(|(_, layout)| layout))
        .unwrap_or(Layout::Plain)
}

/// The messages with attributes of the kind.
fn data_messages(
    target: &Target,
    kind: &LinkKind,
    layout: Layout,
    attrs: &Attrs,
    current: Option<&Current>,
    indexes: Indexes<'_>,
) -> Result<Vec<Msg>, StepError> {
    let mine: Attrs = attrs
        .iter()
        .filter(|(attr, _)| matches!(wire(*attr, layout), Wire::Data(..) | Wire::Composed))
        .map(|(attr, value)| (attr, value.clone()))
        .collect();
    if mine.is_empty() {
        return Ok(Vec::new());
    }
    let word = current.map(|current| &*current.word).or_else(|| kind::word(kind, attrs).map(|(word, _)| word));
    let word = word.ok_or_else(|| StepError::with(StepError::EOPNOTSUPP, "the kind of the link is not known"))?;
    let parts = if *kind == LinkKind::Bond { bond::in_order(&mine) } else { vec![mine] };
    let nothing = Attrs::new();
    let before = current.map_or(&nothing, |current| &current.attrs);
    let data = current.map_or(&[][..], |current| &current.data);
    let mut messages = Vec::new();
    for given in &parts {
        let edit = Edit { kind, layout, given, before, data };
        let mut msg = target.message(0, 0);
        let mut result = Ok(());
        msg.nest(IFLA_LINKINFO, |msg| {
            msg.attr_str(IFLA_INFO_KIND, word);
            msg.nest(IFLA_INFO_DATA, |msg| {
                repeat(layout, data, msg);
                result = write_data(&edit, msg, indexes);
            });
        });
        result?;
        messages.push(msg);
    }
    Ok(messages)
}

/// Tunnels forget every attribute that a change does not carry: what the link has is sent again, and
/// what shall change comes after it, where it counts.
fn repeat(layout: Layout, data: &[u8], msg: &mut Msg) {
    match layout {
        Layout::Iptun4 | Layout::Iptun6 | Layout::Gre4 | Layout::Gre6 => {
            for attribute in attributes(data) {
                msg.attr(attribute.kind, attribute.data);
            }
        }
        Layout::Plain | Layout::Vxlan => {}
    }
}

fn port_message(target: &Target, of: &str, attrs: &Attrs, indexes: Indexes<'_>) -> Result<Option<Msg>, StepError> {
    let mut msg = target.message(0, 0);
    let mut any = false;
    let mut result = Ok(());
    msg.nest(IFLA_LINKINFO, |msg| {
        msg.attr_str(IFLA_INFO_SLAVE_KIND, of);
        msg.nest(IFLA_INFO_SLAVE_DATA, |msg| {
            for (attr, value) in attrs.iter() {
                let ((Wire::BridgePort(id, form), "bridge") | (Wire::BondPort(id, form), "bond")) =
                    (wire(attr, Layout::Plain), of)
                else {
                    continue;
                };
                any = true;
                result = result.clone().and_then(|()| form.write(msg, id, value, false, indexes));
            }
        });
    });
    result.map(|()| any.then_some(msg))
}

fn write_inet6(msg: &mut Msg, attrs: &Attrs, indexes: Indexes<'_>) -> Result<(), StepError> {
    let mut result = Ok(());
    for (attr, value) in attrs.iter() {
        if let Wire::Inet6(id, form) = wire(attr, Layout::Plain) {
            msg.nest(IFLA_AF_SPEC, |msg| {
                msg.nest(AF_INET6.into(), |msg| result = form.write(msg, id, value, true, indexes));
            });
        }
    }
    result
}

fn flags_message(name: IfName, index: u32, flags: u32, mask: u32) -> Msg {
    let target = if index == 0 { Target::Name(name) } else { Target::Index(index) };
    target.message(flags, mask)
}

/// The message that brings a link up or takes it down.
pub fn set_up(index: u32, up: bool) -> Msg {
    Target::Index(index).message(if up { IFF_UP } else { 0 }, IFF_UP)
}

/// The message that makes a link a port, or no port.
pub fn set_controller(index: u32, controller: Option<u32>) -> Msg {
    let mut msg = Target::Index(index).message(0, 0);
    msg.attr_u32(IFLA_MASTER, controller.unwrap_or(0));
    msg
}

/// The message that changes the alias.
pub fn set_alias(index: u32, alias: Option<&Alias>) -> Msg {
    let mut msg = Target::Index(index).message(0, 0);
    msg.attr(IFLA_IFALIAS, alias.map_or(&[], |alias| alias.as_str().as_bytes()));
    msg
}

/// The message that gives a further name.
pub fn add_alt_name(index: u32, name: &AltName) -> Msg {
    alt_name(RTM_NEWLINKPROP, NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND, index, name)
}

/// The message that takes a further name away.
pub fn remove_alt_name(index: u32, name: &AltName) -> Msg {
    alt_name(RTM_DELLINKPROP, 0, index, name)
}

fn alt_name(kind: u16, flags: u16, index: u32, name: &AltName) -> Msg {
    let mut msg = Msg::new(kind, flags);
    msg.header(&ifinfomsg(AF_UNSPEC, index, 0, 0)).nest(IFLA_PROP_LIST, |msg| {
        msg.attr_str(IFLA_ALT_IFNAME, name.as_str());
    });
    msg
}

/// The message that deletes a link.
pub fn delete(index: u32) -> Msg {
    let mut msg = Msg::new(RTM_DELLINK, 0);
    msg.header(&ifinfomsg(AF_UNSPEC, index, 0, 0));
    msg
}

/// The request for one link, answered by one message for [`decode`](super::decode::decode) or
/// [`Current::read`].
pub fn get(index: u32) -> Msg {
    let mut msg = Msg::new(RTM_GETLINK, 0);
    msg.header(&ifinfomsg(AF_UNSPEC, index, 0, 0)).attr_u32(IFLA_EXT_MASK, SKIP_STATISTICS);
    msg
}

/// The request for all links; the transport marks it as a dump. Statistics are most of the bytes and
/// of the kernel's time, so they are left out, and the IPv6 token with them: see [`dump_tokens`].
pub fn dump() -> Msg {
    get(0)
}

/// The request for the IPv6 part of all links, which alone has the token; for
/// [`decode_token`](super::decode::decode_token).
pub fn dump_tokens() -> Msg {
    let mut msg = Msg::new(RTM_GETLINK, 0);
    msg.header(&ifinfomsg(AF_INET6, 0, 0, 0));
    msg
}
