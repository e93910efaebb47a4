//! Properties that share an attribute, or whose attribute depends on their value or kind.
//!
//! Reading fills in what is there. Writing takes an [`Edit`]: what was given, and what the link has
//! now, because an attribute that carries several properties must carry all of them.

use netloom_model::{Attr, Attrs, LinkKind, Value};

use super::table::Layout;
use crate::wire::{Attributes, Msg, attributes};

// linux/if_link.h, linux/if_tunnel.h: attributes of kinds.
const IFLA_VLAN_FLAGS: u16 = 2;
const IFLA_VLAN_EGRESS_QOS: u16 = 3;
const IFLA_VLAN_INGRESS_QOS: u16 = 4;
const IFLA_VLAN_QOS_MAPPING: u16 = 1;
const IFLA_VXLAN_GROUP: u16 = 2;
const IFLA_VXLAN_LOCAL: u16 = 4;
const IFLA_VXLAN_GROUP6: u16 = 16;
const IFLA_VXLAN_LOCAL6: u16 = 17;
/// `IFLA_MACVLAN_FLAGS` and `IFLA_IPVLAN_FLAGS`
const IFLA_VIRTUAL_FLAGS: u16 = 2;
const IFLA_IPTUN_FLOWINFO: u16 = 7;
const IFLA_IPTUN_PROTO: u16 = 9;
const IFLA_GRE_IFLAGS: u16 = 2;
const IFLA_GRE_OFLAGS: u16 = 3;
const IFLA_GRE_IKEY: u16 = 4;
const IFLA_GRE_OKEY: u16 = 5;
const IFLA_GRE_FLOWINFO: u16 = 12;
const IFLA_GRE_COLLECT_METADATA: u16 = 18;
const IFLA_BOND_ARP_IP_TARGET: u16 = 8;
const IFLA_BOND_NS_IP6_TARGET: u16 = 31;

const VLAN_REORDER_HDR: u32 = 1;
const VLAN_GVRP: u32 = 2;
const VLAN_LOOSE_BINDING: u32 = 4;
const VLAN_MVRP: u32 = 8;
const MACVLAN_NOPROMISC: u16 = 1;
const IPVLAN_PRIVATE: u16 = 1;
const IPVLAN_VEPA: u16 = 2;
const GRE_KEY: u16 = 0x2000;
const FLOW_LABEL: u32 = 0xf_ffff;
const IPPROTO_IPIP: u8 = 4;
const IPPROTO_IPV6: u8 = 41;

/// Stores a fact when the model has room for it; a value that the table does not know is left out.
pub(crate) fn put(attrs: &mut Attrs, attr: Attr, value: Value) {
    if attr.accepts(&value) {
        attrs.set(attr, value);
    }
}

/// Reads the composed properties of a kind.
pub(crate) fn read(kind: &LinkKind, layout: Layout, data: Attributes<'_>, attrs: &mut Attrs) {
    match kind {
        LinkKind::Vlan => read_vlan(data, attrs),
        LinkKind::Bond => {
            for (id, attr) in
                [(IFLA_BOND_ARP_IP_TARGET, Attr::BondArpIpTarget), (IFLA_BOND_NS_IP6_TARGET, Attr::BondNsIp6Target)]
            {
                if let Some(list) = data.find(id) {
                    put(attrs, attr, Value::Ips(list.nested().filter_map(|target| target.ip()).collect()));
                }
            }
        }
        LinkKind::Vxlan => {
            for (id, attr) in [
                (IFLA_VXLAN_GROUP, Attr::VxlanRemote),
                (IFLA_VXLAN_GROUP6, Attr::VxlanRemote),
                (IFLA_VXLAN_LOCAL, Attr::VxlanLocal),
                (IFLA_VXLAN_LOCAL6, Attr::VxlanLocal),
            ] {
                if let Some(ip) = data.find(id).and_then(|a| a.ip()).filter(|ip| !ip.is_unspecified()) {
                    put(attrs, attr, Value::Ip(ip));
                }
            }
        }
        LinkKind::MacVlan | LinkKind::MacVtap => {
            let flags = data.find(IFLA_VIRTUAL_FLAGS).and_then(|a| a.u16()).unwrap_or_default();
            put(attrs, Attr::MacvlanPromiscuous, Value::Bool(flags & MACVLAN_NOPROMISC == 0));
        }
        LinkKind::IpVlan => {
            let flags = data.find(IFLA_VIRTUAL_FLAGS).and_then(|a| a.u16()).unwrap_or_default();
            put(attrs, Attr::IpvlanPrivate, Value::Bool(flags & IPVLAN_PRIVATE != 0));
            put(attrs, Attr::IpvlanVepa, Value::Bool(flags & IPVLAN_VEPA != 0));
        }
        LinkKind::IpTunnel if layout == Layout::Iptun6 => {
            let proto = data.find(IFLA_IPTUN_PROTO).and_then(|a| a.u8());
            if let Some(mode) = proto.and_then(mode_of_proto) {
                put(attrs, Attr::TunnelMode, Value::Int(mode));
            }
            read_flowinfo(IFLA_IPTUN_FLOWINFO, data, attrs);
            let label = data.find(IFLA_IPTUN_FLOWINFO).and_then(|a| a.be32()).unwrap_or_default() & FLOW_LABEL;
            put(attrs, Attr::TunnelFlowLabel, Value::Int(label.into()));
        }
        LinkKind::Gre | LinkKind::Gretap | LinkKind::Ip6gre | LinkKind::Ip6gretap => {
            read_gre(data, attrs);
            if layout == Layout::Gre6 {
                read_flowinfo(IFLA_GRE_FLOWINFO, data, attrs);
            }
        }
        LinkKind::IpTunnel
        | LinkKind::Ethernet
        | LinkKind::Loopback
        | LinkKind::Dummy
        | LinkKind::Bridge
        | LinkKind::Vrf
        | LinkKind::Veth
        | LinkKind::Other(_) => {}
    }
}

/// The model's number of a tunnel over IPv6 by what it carries; one that carries anything has none.
fn mode_of_proto(proto: u8) -> Option<u64> {
    match proto {
        IPPROTO_IPV6 => Some(3),
        IPPROTO_IPIP => Some(4),
        _ => None,
    }
}

fn read_flowinfo(id: u16, data: Attributes<'_>, attrs: &mut Attrs) {
    let info = data.find(id).and_then(|a| a.be32()).unwrap_or_default();
    put(attrs, Attr::TunnelTos, Value::Int(u64::from(info >> 20 & 0xff)));
}

fn read_gre(data: Attributes<'_>, attrs: &mut Attrs) {
    for (flags, key, attr) in
        [(IFLA_GRE_IFLAGS, IFLA_GRE_IKEY, Attr::GreInputKey), (IFLA_GRE_OFLAGS, IFLA_GRE_OKEY, Attr::GreOutputKey)]
    {
        let flags = data.find(flags).and_then(|a| a.be16()).unwrap_or_default();
        if let Some(key) = data.find(key).and_then(|a| a.be32()).filter(|_| flags & GRE_KEY != 0) {
            put(attrs, attr, Value::Int(key.into()));
        }
    }
    put(attrs, Attr::GreExternal, Value::Bool(data.find(IFLA_GRE_COLLECT_METADATA).is_some()));
}

fn read_vlan(data: Attributes<'_>, attrs: &mut Attrs) {
    // The kernel leaves the attribute out when no flag is set.
    let (given, mask) = data.find(IFLA_VLAN_FLAGS).and_then(|a| pair(a.data)).unwrap_or((0, u32::MAX));
    let flags = given & mask | VLAN_REORDER_HDR & !mask;
    put(attrs, Attr::VlanReorderHeaders, Value::Bool(flags & VLAN_REORDER_HDR != 0));
    put(attrs, Attr::VlanLooseBinding, Value::Bool(flags & VLAN_LOOSE_BINDING != 0));
    let registration = match (flags & VLAN_GVRP != 0, flags & VLAN_MVRP != 0) {
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => 0,
    };
    put(attrs, Attr::VlanRegistration, Value::Int(registration));
    for (id, attr) in [(IFLA_VLAN_INGRESS_QOS, Attr::VlanIngressQos), (IFLA_VLAN_EGRESS_QOS, Attr::VlanEgressQos)] {
        let Some(map) = data.find(id) else { continue };
        // Priority 0 is what every packet has anyway: such a pair says nothing.
        let mut pairs: Vec<_> = map.nested().filter_map(|a| pair(a.data)).filter(|(_, to)| *to != 0).collect();
        pairs.sort_unstable();
        put(attrs, attr, Value::Map(pairs));
    }
}

/// Two numbers of 32 bits.
fn pair(bytes: &[u8]) -> Option<(u32, u32)> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_ne_bytes(*first), u32::from_ne_bytes(*rest.first_chunk::<4>()?)))
}

/// What shall be written, and what there is.
pub(crate) struct Edit<'a> {
    /// The kind of the link.
    pub(crate) kind: &'a LinkKind,
    /// How the kind lays out its attributes.
    pub(crate) layout: Layout,
    /// The properties that were given.
    pub(crate) given: &'a Attrs,
    /// The properties that the link has now; none for a new one.
    pub(crate) before: &'a Attrs,
    /// The attributes of the kind that the link has now; none for a new one.
    pub(crate) data: &'a [u8],
}

impl Edit<'_> {
    fn says(&self, attr: Attr) -> bool {
        self.given.given(attr).is_some()
    }

    /// What will be: what was given, else what there is, else the default.
    fn value(&self, attr: Attr) -> Option<Value> {
        self.given.given(attr).cloned().or_else(|| self.before.get(attr))
    }

    fn number(&self, attr: Attr) -> u64 {
        match self.value(attr) {
            Some(Value::Int(number)) => number,
            _ => 0,
        }
    }

    fn truth(&self, attr: Attr) -> bool {
        self.value(attr) == Some(Value::Bool(true))
    }

    fn old_be16(&self, id: u16) -> u16 {
        attributes(self.data).find(id).and_then(|a| a.be16()).unwrap_or_default()
    }
}

/// Writes the composed properties that were given.
pub(crate) fn write(edit: &Edit<'_>, msg: &mut Msg) {
    match edit.kind {
        LinkKind::Vlan => write_vlan(edit, msg),
        LinkKind::Bond => write_targets(edit, msg),
        LinkKind::Vxlan => write_vxlan(edit, msg),
        LinkKind::MacVlan | LinkKind::MacVtap => {
            if edit.says(Attr::MacvlanPromiscuous) {
                let old = attributes(edit.data).find(IFLA_VIRTUAL_FLAGS).and_then(|a| a.u16()).unwrap_or_default();
                let bit = if edit.truth(Attr::MacvlanPromiscuous) { 0 } else { MACVLAN_NOPROMISC };
                msg.attr_u16(IFLA_VIRTUAL_FLAGS, old & !MACVLAN_NOPROMISC | bit);
            }
        }
        LinkKind::IpVlan => {
            // The kernel forgets the flags when the mode changes: they go along with it.
            if [Attr::IpvlanMode, Attr::IpvlanPrivate, Attr::IpvlanVepa].iter().any(|attr| edit.says(*attr)) {
                let private = if edit.truth(Attr::IpvlanPrivate) { IPVLAN_PRIVATE } else { 0 };
                let vepa = if edit.truth(Attr::IpvlanVepa) { IPVLAN_VEPA } else { 0 };
                msg.attr_u16(IFLA_VIRTUAL_FLAGS, private | vepa);
            }
        }
        LinkKind::IpTunnel => {
            match edit.given.int(Attr::TunnelMode) {
                Some(3) => msg.attr_u8(IFLA_IPTUN_PROTO, IPPROTO_IPV6),
                Some(4) => msg.attr_u8(IFLA_IPTUN_PROTO, IPPROTO_IPIP),
                _ => msg,
            };
            if edit.layout == Layout::Iptun6 {
                let label = u32::try_from(edit.number(Attr::TunnelFlowLabel)).unwrap_or_default() & FLOW_LABEL;
                write_flowinfo(edit, IFLA_IPTUN_FLOWINFO, label, msg);
            }
        }
        LinkKind::Gre | LinkKind::Gretap | LinkKind::Ip6gre | LinkKind::Ip6gretap => write_gre(edit, msg),
        LinkKind::Ethernet
        | LinkKind::Loopback
        | LinkKind::Dummy
        | LinkKind::Bridge
        | LinkKind::Vrf
        | LinkKind::Veth
        | LinkKind::Other(_) => {}
    }
}

fn write_vlan(edit: &Edit<'_>, msg: &mut Msg) {
    let (mut flags, mut mask) = (0, 0);
    for (attr, bit) in [(Attr::VlanReorderHeaders, VLAN_REORDER_HDR), (Attr::VlanLooseBinding, VLAN_LOOSE_BINDING)] {
        if edit.says(attr) {
            mask |= bit;
            flags |= if edit.truth(attr) { bit } else { 0 };
        }
    }
    if edit.says(Attr::VlanRegistration) {
        mask |= VLAN_GVRP | VLAN_MVRP;
        flags |= match edit.number(Attr::VlanRegistration) {
            1 => VLAN_GVRP,
            2 => VLAN_MVRP,
            _ => 0,
        };
    }
    if mask != 0 {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&u32::to_ne_bytes(flags));
        bytes[4..].copy_from_slice(&u32::to_ne_bytes(mask));
        msg.attr(IFLA_VLAN_FLAGS, &bytes);
    }
    for (id, attr) in [(IFLA_VLAN_INGRESS_QOS, Attr::VlanIngressQos), (IFLA_VLAN_EGRESS_QOS, Attr::VlanEgressQos)] {
        if edit.says(attr) {
            write_map(edit, id, attr, msg);
        }
    }
}

/// The kernel only ever adds pairs; one that shall go is mapped to 0, which is the same as none.
fn write_map(edit: &Edit<'_>, id: u16, attr: Attr, msg: &mut Msg) {
    let pairs = |value: Option<Value>| match value {
        Some(Value::Map(pairs)) => pairs,
        _ => Vec::new(),
    };
    let (old, new) = (pairs(edit.before.get(attr)), pairs(edit.value(attr)));
    let gone = old.iter().map(|&(from, _)| (from, 0)).filter(|(from, _)| new.iter().all(|(f, _)| f != from));
    msg.nest_unless_empty(id, |msg| {
        for (from, to) in gone.chain(new.iter().copied()) {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(&from.to_ne_bytes());
            bytes[4..].copy_from_slice(&to.to_ne_bytes());
            msg.attr(IFLA_VLAN_QOS_MAPPING, &bytes);
        }
    });
}

/// The kernel takes a list as a whole; an empty one clears it.
fn write_targets(edit: &Edit<'_>, msg: &mut Msg) {
    for (id, attr) in
        [(IFLA_BOND_ARP_IP_TARGET, Attr::BondArpIpTarget), (IFLA_BOND_NS_IP6_TARGET, Attr::BondNsIp6Target)]
    {
        if let Some(Value::Ips(ips)) = edit.given.given(attr) {
            msg.nest(id, |msg| {
                for (at, ip) in (0..).zip(ips) {
                    msg.attr_ip(at, *ip);
                }
            });
        }
    }
}

fn write_vxlan(edit: &Edit<'_>, msg: &mut Msg) {
    for (attr, v4, v6) in [
        (Attr::VxlanRemote, IFLA_VXLAN_GROUP, IFLA_VXLAN_GROUP6),
        (Attr::VxlanLocal, IFLA_VXLAN_LOCAL, IFLA_VXLAN_LOCAL6),
    ] {
        if let Some(Value::Ip(ip)) = edit.given.given(attr) {
            msg.attr_ip(if ip.is_ipv4() { v4 } else { v6 }, *ip);
        }
    }
}

fn write_flowinfo(edit: &Edit<'_>, id: u16, label: u32, msg: &mut Msg) {
    if edit.says(Attr::TunnelTos) || edit.says(Attr::TunnelFlowLabel) {
        let class = u32::try_from(edit.number(Attr::TunnelTos)).unwrap_or_default() & 0xff;
        msg.attr_be32(id, class << 20 | label);
    }
}

fn write_gre(edit: &Edit<'_>, msg: &mut Msg) {
    for (flags_id, key_id, attr) in
        [(IFLA_GRE_IFLAGS, IFLA_GRE_IKEY, Attr::GreInputKey), (IFLA_GRE_OFLAGS, IFLA_GRE_OKEY, Attr::GreOutputKey)]
    {
        let Some(value) = edit.given.given(attr) else { continue };
        let key = match value {
            Value::Int(key) => u32::try_from(*key).ok(),
            _ => None,
        };
        let bit = if key.is_some() { GRE_KEY } else { 0 };
        msg.attr_be16(flags_id, edit.old_be16(flags_id) & !GRE_KEY | bit);
        msg.attr_be32(key_id, key.unwrap_or_default());
    }
    if edit.says(Attr::GreExternal) && edit.truth(Attr::GreExternal) {
        msg.attr_flag(IFLA_GRE_COLLECT_METADATA);
    }
    if edit.layout == Layout::Gre6 {
        let old = attributes(edit.data).find(IFLA_GRE_FLOWINFO).and_then(|a| a.be32()).unwrap_or_default();
        write_flowinfo(edit, IFLA_GRE_FLOWINFO, old & FLOW_LABEL, msg);
    }
}
