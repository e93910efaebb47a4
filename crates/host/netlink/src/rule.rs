//! Policy rules, to and from the wire.
//!
//! The kernel takes what a removal does not say as "any", so a removal says everything, the maker
//! included.

use ipnet::IpNet;
use netloom_model::{PortRange, Rule, RuleAction, RuleKey, UidRange};
use netloom_types::{Family, Protocol, RouteTable};

use crate::{
    address::{family_number, family_of},
    consts::{NLM_F_CREATE, NLM_F_EXCL, RTM_DELRULE, RTM_GETRULE, RTM_NEWRULE},
    wire::{Attribute, Message, Msg},
};

const HEADER_LEN: usize = 12;
const FRA_DST: u16 = 1;
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_GOTO: u16 = 4;
const FRA_PRIORITY: u16 = 6;
const FRA_FWMARK: u16 = 10;
const FRA_FLOW: u16 = 11;
const FRA_TUN_ID: u16 = 12;
const FRA_SUPPRESS_IFGROUP: u16 = 13;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_FWMASK: u16 = 16;
const FRA_OIFNAME: u16 = 17;
const FRA_PAD: u16 = 18;
const FRA_L3MDEV: u16 = 19;
const FRA_UID_RANGE: u16 = 20;
const FRA_PROTOCOL: u16 = 21;
const FRA_IP_PROTO: u16 = 22;
const FRA_SPORT_RANGE: u16 = 23;
const FRA_DPORT_RANGE: u16 = 24;
const FRA_SPORT_MASK: u16 = 28;
const FRA_DPORT_MASK: u16 = 29;
const FR_ACT_TO_TBL: u8 = 1;
const FR_ACT_GOTO: u8 = 2;
const FR_ACT_NOP: u8 = 3;
const FR_ACT_BLACKHOLE: u8 = 6;
const FR_ACT_UNREACHABLE: u8 = 7;
const FR_ACT_PROHIBIT: u8 = 8;
const FIB_RULE_INVERT: u32 = 2;
/// Stands for "not set" in the suppress selectors.
const UNSET: u32 = u32::MAX;
const RT_TABLE_DEFAULT: u32 = 253;

/// Asks for a new rule.
pub fn encode_add(rule: &Rule) -> Msg {
    encode(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, rule)
}

/// Asks that a rule goes.
pub fn encode_remove(rule: &Rule) -> Msg {
    encode(RTM_DELRULE, 0, rule)
}

/// Asks for the rules of a family.
pub fn encode_dump(family: Family) -> Msg {
    let mut header = [0; HEADER_LEN];
    header[0] = family_number(family);
    let mut msg = Msg::new(RTM_GETRULE, 0);
    msg.header(&header);
    msg
}

fn encode(kind: u16, flags: u16, rule: &Rule) -> Msg {
    let key = &rule.key;
    let mut msg = Msg::new(kind, flags);
    msg.header(&header(key)).attr_u32(FRA_PRIORITY, key.priority);
    if rule.protocol != Protocol::UNSPEC {
        msg.attr_u8(FRA_PROTOCOL, rule.protocol.0);
    }
    match key.action {
        RuleAction::Table(table) => msg.attr_u32(FRA_TABLE, table.get()),
        RuleAction::L3mdev | RuleAction::L3mdevUnreachable => msg.attr_u8(FRA_L3MDEV, 1),
        RuleAction::Goto(priority) => msg.attr_u32(FRA_GOTO, priority),
        RuleAction::Nop | RuleAction::Blackhole | RuleAction::Unreachable | RuleAction::Prohibit => &mut msg,
    };
    encode_selectors(&mut msg, key);
    msg
}

fn header(key: &RuleKey) -> [u8; HEADER_LEN] {
    let (action, table) = match key.action {
        RuleAction::Table(table) => (FR_ACT_TO_TBL, u8::try_from(table.get()).unwrap_or(0)),
        RuleAction::L3mdev => (FR_ACT_TO_TBL, 0),
        RuleAction::Goto(_) => (FR_ACT_GOTO, 0),
        RuleAction::Nop => (FR_ACT_NOP, 0),
        RuleAction::Blackhole => (FR_ACT_BLACKHOLE, 0),
        RuleAction::Unreachable | RuleAction::L3mdevUnreachable => (FR_ACT_UNREACHABLE, 0),
        RuleAction::Prohibit => (FR_ACT_PROHIBIT, 0),
    };
    let mut bytes = [0; HEADER_LEN];
    bytes[0] = family_number(key.family);
    bytes[1] = key.to.map_or(0, |net| net.prefix_len());
    bytes[2] = key.from.map_or(0, |net| net.prefix_len());
    bytes[3] = key.tos;
    bytes[4] = table;
    bytes[7] = action;
    bytes[8..12].copy_from_slice(&(if key.invert { FIB_RULE_INVERT } else { 0 }).to_ne_bytes());
    bytes
}

fn encode_selectors(msg: &mut Msg, key: &RuleKey) {
    for (kind, net) in [(FRA_DST, key.to), (FRA_SRC, key.from)] {
        if let Some(net) = net.filter(|net| net.prefix_len() > 0) {
            msg.attr_ip(kind, net.network());
        }
    }
    for (kind, name) in [(FRA_IIFNAME, key.iif), (FRA_OIFNAME, key.oif)] {
        if let Some(name) = name {
            msg.attr_str(kind, name.as_str());
        }
    }
    if key.fwmark != 0 || key.fwmask != 0 {
        msg.attr_u32(FRA_FWMARK, key.fwmark).attr_u32(FRA_FWMASK, key.fwmask);
    }
    if let Some(protocol) = key.ip_proto {
        msg.attr_u8(FRA_IP_PROTO, protocol);
    }
    for (kind, range) in [(FRA_SPORT_RANGE, key.sport), (FRA_DPORT_RANGE, key.dport)] {
        if let Some(PortRange { first, last }) = range {
            msg.attr(kind, &[first.to_ne_bytes(), last.to_ne_bytes()].concat());
        }
    }
    if let Some(UidRange { first, last }) = key.uid {
        msg.attr(FRA_UID_RANGE, &[first.to_ne_bytes(), last.to_ne_bytes()].concat());
    }
    if key.tun_id != 0 {
        msg.attr_be64(FRA_TUN_ID, key.tun_id);
    }
    if let Some(len) = key.suppress_prefix_length {
        msg.attr_u32(FRA_SUPPRESS_PREFIXLEN, len);
    }
    if let Some(group) = key.suppress_group {
        msg.attr_u32(FRA_SUPPRESS_IFGROUP, group);
    }
}

/// Reads a rule; `None` for one that the kernel makes itself, and for one with a selector that the
/// model cannot say.
pub fn decode(message: &Message<'_>) -> Option<Rule> {
    let family = family_of(message.u8_at(0))?;
    let mut key = RuleKey::new(family, 0, RuleAction::Nop);
    key.tos = message.u8_at(3);
    key.invert = message.u32_at(8) & FIB_RULE_INVERT != 0;
    let mut raw = Action { number: message.u8_at(7), table: u32::from(message.u8_at(4)), ..Action::default() };
    let mut protocol = Protocol::UNSPEC;
    for attr in message.attrs(HEADER_LEN) {
        match attr.kind {
            FRA_DST => key.to = Some(net(&attr, message.u8_at(1), family)?),
            FRA_SRC => key.from = Some(net(&attr, message.u8_at(2), family)?),
            FRA_IIFNAME => key.iif = Some(attr.str()?.parse().ok()?),
            FRA_OIFNAME => key.oif = Some(attr.str()?.parse().ok()?),
            FRA_GOTO => raw.goto = attr.u32()?,
            FRA_PRIORITY => key.priority = attr.u32()?,
            FRA_FWMARK => key.fwmark = attr.u32()?,
            FRA_FWMASK => key.fwmask = attr.u32()?,
            FRA_TUN_ID => key.tun_id = attr.be64()?,
            FRA_SUPPRESS_IFGROUP => key.suppress_group = attr.u32().filter(|&v| v != UNSET),
            FRA_SUPPRESS_PREFIXLEN => key.suppress_prefix_length = attr.u32().filter(|&v| v != UNSET),
            FRA_TABLE => raw.table = attr.u32()?,
            FRA_L3MDEV => raw.l3mdev = attr.u8()? != 0,
            FRA_UID_RANGE => key.uid = Some(uid_range(&attr)?),
            FRA_PROTOCOL => protocol = Protocol(attr.u8()?),
            FRA_IP_PROTO => key.ip_proto = attr.u8().filter(|&v| v != 0),
            FRA_SPORT_RANGE => key.sport = Some(port_range(&attr)?),
            FRA_DPORT_RANGE => key.dport = Some(port_range(&attr)?),
            // A mask of all ones is how a single port is shown.
            FRA_SPORT_MASK | FRA_DPORT_MASK if attr.u16() == Some(u16::MAX) => {}
            FRA_PAD => {}
            FRA_FLOW | FRA_SPORT_MASK.. => return None,
            kind if kind > FRA_DPORT_RANGE => return None,
            _ => {}
        }
    }
    key.action = raw.action()?;
    let rule = Rule { key, protocol };
    (!is_kernels_own(&rule)).then_some(rule)
}

/// The parts of a message that together say the action.
#[derive(Default)]
struct Action {
    number: u8,
    table: u32,
    goto: u32,
    l3mdev: bool,
}

impl Action {
    fn action(&self) -> Option<RuleAction> {
        match self.number {
            FR_ACT_TO_TBL if self.l3mdev => Some(RuleAction::L3mdev),
            FR_ACT_UNREACHABLE if self.l3mdev => Some(RuleAction::L3mdevUnreachable),
            // It would be shown, and put back, as one for every packet.
            _ if self.l3mdev => None,
            FR_ACT_TO_TBL => RouteTable::try_from(self.table).ok().map(RuleAction::Table),
            FR_ACT_GOTO => Some(RuleAction::Goto(self.goto)),
            FR_ACT_NOP => Some(RuleAction::Nop),
            FR_ACT_BLACKHOLE => Some(RuleAction::Blackhole),
            FR_ACT_UNREACHABLE => Some(RuleAction::Unreachable),
            FR_ACT_PROHIBIT => Some(RuleAction::Prohibit),
            _ => None,
        }
    }
}

/// Whether the rule is one of those that every namespace begins with, or that the first VRF brings.
fn is_kernels_own(rule: &Rule) -> bool {
    let table = match rule.key.priority {
        0 => RouteTable::LOCAL.get(),
        32766 => RouteTable::MAIN.get(),
        32767 => RT_TABLE_DEFAULT,
        _ => return rule.protocol == Protocol::KERNEL,
    };
    let RuleAction::Table(of) = rule.key.action else { return rule.protocol == Protocol::KERNEL };
    rule.protocol == Protocol::KERNEL
        || of.get() == table && rule.key == RuleKey::new(rule.key.family, rule.key.priority, rule.key.action)
}

fn net(attr: &Attribute<'_>, len: u8, family: Family) -> Option<IpNet> {
    IpNet::new(attr.ip()?, len).ok().filter(|net| Family::of_net(*net) == family)
}

fn port_range(attr: &Attribute<'_>) -> Option<PortRange> {
    let &[a, b, c, d] = attr.data.first_chunk()?;
    Some(PortRange { first: u16::from_ne_bytes([a, b]), last: u16::from_ne_bytes([c, d]) })
}

fn uid_range(attr: &Attribute<'_>) -> Option<UidRange> {
    let last = attr.data.get(4..)?.first_chunk()?;
    Some(UidRange { first: attr.u32()?, last: u32::from_ne_bytes(*last) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::messages;

    fn read(rule: &Rule) -> Option<Rule> {
        let bytes = encode_add(rule).finish();
        decode(&messages(&bytes).next().unwrap())
    }

    fn everything(family: Family, net: &str) -> RuleKey {
        RuleKey {
            invert: true,
            from: Some(net.parse().unwrap()),
            to: Some(net.parse().unwrap()),
            iif: Some("eth0".parse().unwrap()),
            oif: Some("eth1".parse().unwrap()),
            fwmark: 0x10,
            fwmask: 0xff,
            tos: 0x10,
            ip_proto: Some(6),
            sport: Some(PortRange { first: 80, last: 80 }),
            dport: Some(PortRange { first: 1000, last: 2000 }),
            uid: Some(UidRange { first: 0, last: 1000 }),
            tun_id: 77,
            suppress_prefix_length: Some(0),
            suppress_group: Some(3),
            ..RuleKey::new(family, 100, RuleAction::Table(RouteTable::try_from(70_000).unwrap()))
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut keys = vec![everything(Family::Ipv4, "10.0.0.0/8"), everything(Family::Ipv6, "2001:db8::/32")];
        for action in [
            RuleAction::Table(RouteTable::MAIN),
            RuleAction::L3mdev,
            RuleAction::L3mdevUnreachable,
            RuleAction::Goto(400),
            RuleAction::Nop,
            RuleAction::Blackhole,
            RuleAction::Unreachable,
            RuleAction::Prohibit,
        ] {
            keys.push(RuleKey::new(Family::Ipv4, 200, action));
            keys.push(RuleKey::new(Family::Ipv6, 300, action));
        }
        for key in keys {
            let rule = Rule { key, protocol: Protocol::NETLOOM };
            assert_eq!(read(&rule), Some(rule));
        }
    }

    #[test]
    fn the_kernels_own_are_left_out() {
        let table = |n| RuleAction::Table(RouteTable::try_from(n).unwrap());
        for (priority, action) in
            [(0, table(255)), (32766, table(254)), (32767, table(253)), (1000, RuleAction::L3mdev)]
        {
            let key = RuleKey::new(Family::Ipv4, priority, action);
            assert_eq!(read(&Rule { key, protocol: Protocol::KERNEL }), None);
        }
        for (priority, action) in [(32766, table(7)), (1000, RuleAction::L3mdev)] {
            let rule = Rule { key: RuleKey::new(Family::Ipv4, priority, action), protocol: Protocol::BOOT };
            assert_eq!(read(&rule), Some(rule));
        }
    }

    #[test]
    fn a_selector_that_the_model_lacks_hides_the_rule() {
        let rule =
            Rule { key: RuleKey::new(Family::Ipv4, 9, RuleAction::Table(RouteTable::MAIN)), protocol: Protocol::BOOT };
        for unknown in [FRA_FLOW, 25, 26, FRA_SPORT_MASK, 40] {
            let mut msg = encode_add(&rule);
            msg.attr_u32(unknown, 0x0101_0101);
            let bytes = msg.finish();
            assert_eq!(decode(&messages(&bytes).next().unwrap()), None, "{unknown}");
        }
    }
}
