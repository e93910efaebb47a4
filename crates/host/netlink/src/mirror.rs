//! Mirrors: `clsact` queue, one filter, one `mirred` action; messages both ways.
//!
//! A filter is `matchall` when everything is meant, else `flower`. All filters are made for any
//! protocol and say the protocol they mean among their keys; a match on what is inside IP without an
//! address is therefore two filters of one priority, one for each family, and one mirror again when
//! read. A filter of ours carries a cookie in its action.
//!
//! Filters of other kinds, with several actions or with keys that the model does not have are
//! somebody else's: not understood, not shown, never deleted. Whether a link's queue may go is asked by
//! [`is_filter`], which counts all of them.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use netloom_model::{Direction, FlowMatch, Mirror, MirrorAction, MirrorKey, StepError};
use netloom_types::{IfName, IpNet, MacAddr, VlanId};

use crate::{
    consts::{
        NLM_F_CREATE, NLM_F_EXCL, RTM_DELQDISC, RTM_DELTFILTER, RTM_GETQDISC, RTM_GETTFILTER, RTM_NEWQDISC,
        RTM_NEWTFILTER,
    },
    wire::{Attribute, Attributes, Message, Msg, tcmsg},
};

// linux/pkt_sched.h, linux/rtnetlink.h
const CLSACT_HANDLE: u32 = 0xffff_0000;
const CLSACT_PARENT: u32 = 0xffff_fff1;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_CHAIN: u16 = 11;
const TCMSG: usize = 20;

// linux/pkt_cls.h, linux/tc_act/tc_mirred.h
const TCA_MATCHALL_ACT: u16 = 2;
const TCA_MATCHALL_FLAGS: u16 = 3;
const TCA_MATCHALL_PCNT: u16 = 4;
const TCA_MATCHALL_PAD: u16 = 5;
const TCA_FLOWER_ACT: u16 = 3;
const TCA_FLOWER_FLAGS: u16 = 22;
const TCA_FLOWER_IN_HW_COUNT: u16 = 86;
const KEY_ETH_DST: u16 = 4;
const KEY_ETH_SRC: u16 = 6;
const KEY_ETH_TYPE: u16 = 8;
const KEY_IP_PROTO: u16 = 9;
const KEY_IPV4_SRC: u16 = 10;
const KEY_IPV4_DST: u16 = 12;
const KEY_IPV6_SRC: u16 = 14;
const KEY_IPV6_DST: u16 = 16;
const KEY_VLAN_ID: u16 = 23;
const KEY_VLAN_ETH_TYPE: u16 = 25;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_ACT_COOKIE: u16 = 6;
const TCA_MIRRED_PARMS: u16 = 2;
const TC_ACT_PIPE: u32 = 3;
const TC_ACT_STOLEN: u32 = 4;
const EGRESS_REDIRECT: u32 = 1;
const EGRESS_MIRROR: u32 = 2;

const ETH_P_ALL: u16 = 0x0003;
const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;
const ETH_P_8021Q: u16 = 0x8100;
const IPPROTO_TCP: u8 = 6;
const IPPROTO_UDP: u8 = 17;
const IPPROTO_SCTP: u8 = 132;

/// The mark of a filter that netloom made.
const COOKIE: &[u8] = b"netloom";

/// Attributes of a port: sender's, sender's mask, receiver's, receiver's mask.
fn port_ids(protocol: u8) -> Option<[u16; 4]> {
    match protocol {
        IPPROTO_TCP => Some([18, 35, 19, 36]),
        IPPROTO_UDP => Some([20, 37, 21, 38]),
        IPPROTO_SCTP => Some([41, 39, 42, 40]),
        _ => None,
    }
}

fn parent(direction: Direction) -> u32 {
    match direction {
        Direction::Ingress => INGRESS,
        Direction::Egress => EGRESS,
    }
}

/// Priority and protocol, as the header carries them.
fn info(priority: u16, protocol: u16) -> u32 {
    u32::from(priority) << 16 | u32::from(protocol.to_be())
}

/// The messages that add a mirror: the queue, which may be there already, and the filter or filters.
/// Refused is a match that would have to be widened to be written.
pub fn add(index: u32, key: MirrorKey, mirror: &Mirror, to: u32) -> Result<Vec<Msg>, StepError> {
    check(&mirror.matches)?;
    let mut queue = Msg::new(RTM_NEWQDISC, NLM_F_CREATE);
    queue.header(&tcmsg(index, CLSACT_HANDLE, CLSACT_PARENT, 0)).attr_str(TCA_KIND, "clsact");
    let mut messages = vec![queue];
    if mirror.matches.is_everything() {
        messages.push(filter(index, key, 1, "matchall", |msg| write_action(msg, TCA_MATCHALL_ACT, mirror, to)));
        return Ok(messages);
    }
    for (handle, ethertype) in (1..).zip(ethertypes(&mirror.matches)) {
        messages.push(filter(index, key, handle, "flower", |msg| {
            write_keys(msg, &mirror.matches, *ethertype);
            write_action(msg, TCA_FLOWER_ACT, mirror, to);
        }));
    }
    Ok(messages)
}

fn check(matches: &FlowMatch) -> Result<(), StepError> {
    let ports = matches.src_port.is_some() || matches.dst_port.is_some();
    if ports && matches.ip_proto.and_then(port_ids).is_none() {
        return Err(StepError::with(StepError::EINVAL, "a match on ports needs protocol TCP, UDP or SCTP"));
    }
    if matches.src.zip(matches.dst).is_some_and(|(src, dst)| src.addr().is_ipv4() != dst.addr().is_ipv4()) {
        return Err(StepError::with(StepError::EINVAL, "a match on two addresses needs both of one family"));
    }
    Ok(())
}

/// The message that removes one filter, and none that stands beside it.
pub fn remove(filter: &FilterReport) -> Msg {
    let mut msg = Msg::new(RTM_DELTFILTER, 0);
    msg.header(&tcmsg(filter.index, filter.handle, parent(filter.key.direction), filter.info))
        .attr_str(TCA_KIND, if filter.flower { "flower" } else { "matchall" });
    msg
}

/// The message that removes the queue. Only for a link on which [`is_filter`] saw no filter.
pub fn remove_queue(index: u32) -> Msg {
    let mut msg = Msg::new(RTM_DELQDISC, 0);
    msg.header(&tcmsg(index, CLSACT_HANDLE, CLSACT_PARENT, 0));
    msg
}

/// The request for all queues; the transport marks it as a dump.
pub fn dump_queues() -> Msg {
    let mut msg = Msg::new(RTM_GETQDISC, 0);
    msg.header(&tcmsg(0, 0, 0, 0));
    msg
}

/// The link, when the message is about a `clsact` queue.
pub fn decode_queue(message: &Message<'_>) -> Option<u32> {
    let kind = message.attrs(TCMSG).find(TCA_KIND)?.str()?;
    (kind == "clsact").then(|| message.u32_at(4))
}

/// The request for the filters of one link and direction; the transport marks it as a dump.
pub fn dump_filters(index: u32, direction: Direction) -> Msg {
    let mut msg = Msg::new(RTM_GETTFILTER, 0);
    msg.header(&tcmsg(index, 0, parent(direction), 0));
    msg
}

/// Whether the message of a filter dump is a filter, anybody's.
pub fn is_filter(message: &Message<'_>) -> bool {
    message.attrs(TCMSG).find(TCA_OPTIONS).is_some()
}

fn filter(index: u32, key: MirrorKey, handle: u32, kind: &str, options: impl FnOnce(&mut Msg)) -> Msg {
    let mut msg = Msg::new(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL);
    msg.header(&tcmsg(index, handle, parent(key.direction), info(key.priority, ETH_P_ALL)))
        .attr_str(TCA_KIND, kind)
        .nest(TCA_OPTIONS, options);
    msg
}

/// The protocols that the match means, one filter each; 0 for any.
fn ethertypes(matches: &FlowMatch) -> &'static [u16] {
    let inside_ip = matches.ip_proto.is_some() || matches.src_port.is_some() || matches.dst_port.is_some();
    match matches.src.or(matches.dst) {
        Some(IpNet::V4(_)) => &[ETH_P_IP],
        Some(IpNet::V6(_)) => &[ETH_P_IPV6],
        None if inside_ip => &[ETH_P_IP, ETH_P_IPV6],
        None => &[0],
    }
}

fn write_keys(msg: &mut Msg, matches: &FlowMatch, ethertype: u16) {
    if let Some(vlan) = matches.vlan {
        msg.attr_be16(KEY_ETH_TYPE, ETH_P_8021Q).attr_u16(KEY_VLAN_ID, vlan.get());
    }
    if ethertype != 0 {
        msg.attr_be16(if matches.vlan.is_some() { KEY_VLAN_ETH_TYPE } else { KEY_ETH_TYPE }, ethertype);
    }
    for (mac, id) in [(matches.dst_mac, KEY_ETH_DST), (matches.src_mac, KEY_ETH_SRC)] {
        if let Some(mac) = mac {
            msg.attr_mac(id, mac).attr(id + 1, &[0xff; 6]);
        }
    }
    for (net, v4, v6) in [(matches.src, KEY_IPV4_SRC, KEY_IPV6_SRC), (matches.dst, KEY_IPV4_DST, KEY_IPV6_DST)] {
        if let Some(net) = net {
            let id = if net.addr().is_ipv4() { v4 } else { v6 };
            msg.attr_ip(id, net.network()).attr_ip(id + 1, net.netmask());
        }
    }
    if let Some(protocol) = matches.ip_proto {
        msg.attr_u8(KEY_IP_PROTO, protocol);
        let [src, src_mask, dst, dst_mask] = port_ids(protocol).unwrap_or_default();
        for (port, id, mask) in [(matches.src_port, src, src_mask), (matches.dst_port, dst, dst_mask)] {
            if let Some(port) = port.filter(|_| id != 0) {
                msg.attr_be16(id, port).attr_be16(mask, 0xffff);
            }
        }
    }
}

fn write_action(msg: &mut Msg, id: u16, mirror: &Mirror, to: u32) {
    let (verdict, action) = match mirror.action {
        MirrorAction::Mirror => (TC_ACT_PIPE, EGRESS_MIRROR),
        MirrorAction::Redirect => (TC_ACT_STOLEN, EGRESS_REDIRECT),
    };
    // struct tc_mirred: index, capabilities, verdict, two counters, what to do, target.
    let parameters: Vec<u8> = [0, 0, verdict, 0, 0, action, to].into_iter().flat_map(u32::to_ne_bytes).collect();
    msg.nest(id, |msg| {
        msg.nest(1, |msg| {
            msg.attr_str(TCA_ACT_KIND, "mirred");
            msg.nest(TCA_ACT_OPTIONS, |msg| {
                msg.attr(TCA_MIRRED_PARMS, &parameters);
            });
            if mirror.ours {
                msg.attr(TCA_ACT_COOKIE, COOKIE);
            }
        });
    });
}

/// A filter as one message shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterReport {
    /// The link.
    pub index: u32,
    /// Direction and priority.
    pub key: MirrorKey,
    /// What it does; `None` when it is nothing that the model has.
    pub mirror: Option<RawMirror>,
    /// The kernel's number of it under its priority and protocol.
    handle: u32,
    /// Priority and protocol, as the header carries them.
    info: u32,
    /// Whether it is a `flower` filter.
    flower: bool,
}

impl FilterReport {
    /// Whether it is a filter of this mirror. Where it leads to is not asked: the target may be gone.
    pub fn is_of(&self, key: MirrorKey, mirror: &Mirror) -> bool {
        let same = |raw: RawMirror| (raw.matches, raw.action, raw.ours) == (mirror.matches, mirror.action, mirror.ours);
        self.key == key && self.mirror.is_some_and(same)
    }

    /// Whether netloom made it.
    pub fn is_ours(&self) -> bool {
        self.mirror.is_some_and(|raw| raw.ours)
    }
}

/// A mirror whose target is still an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawMirror {
    matches: FlowMatch,
    /// The protocol that it means; 0 for any.
    ethertype: u16,
    action: MirrorAction,
    to: u32,
    ours: bool,
}

/// Reads a message of [`dump_filters`]; `None` when it is no filter.
pub fn decode(message: &Message<'_>) -> Option<FilterReport> {
    let attrs = message.attrs(TCMSG);
    let options = attrs.find(TCA_OPTIONS)?;
    let direction = match message.u32_at(12) {
        INGRESS => Direction::Ingress,
        EGRESS => Direction::Egress,
        _ => return None,
    };
    let priority = u16::try_from(message.u32_at(16) >> 16).ok()?;
    let in_main_chain = attrs.find(TCA_CHAIN).and_then(|a| a.u32()).unwrap_or_default() == 0;
    let protocol = u16::from_be(message.u16_at(16));
    let kind = attrs.find(TCA_KIND)?.str()?;
    let mirror = match kind {
        _ if !in_main_chain => None,
        "matchall" if protocol == ETH_P_ALL => read_matchall(options.nested()),
        "flower" => read_flower(options.nested(), protocol),
        _ => None,
    };
    let (index, handle, info) = (message.u32_at(4), message.u32_at(8), message.u32_at(16));
    let key = MirrorKey { direction, priority };
    Some(FilterReport { index, key, mirror, handle, info, flower: kind == "flower" })
}

fn read_matchall(options: Attributes<'_>) -> Option<RawMirror> {
    let known = [TCA_MATCHALL_ACT, TCA_MATCHALL_FLAGS, TCA_MATCHALL_PCNT, TCA_MATCHALL_PAD];
    if options.into_iter().any(|a| !known.contains(&a.kind)) {
        return None;
    }
    read_action(&options.find(TCA_MATCHALL_ACT)?, FlowMatch::default(), 0)
}

fn read_flower(options: Attributes<'_>, protocol: u16) -> Option<RawMirror> {
    let mut matches = FlowMatch::default();
    let mut ports = Vec::new();
    for a in options {
        match a.kind {
            // Masks are read with their keys, protocols and actions at the end.
            TCA_FLOWER_ACT
            | TCA_FLOWER_FLAGS
            | TCA_FLOWER_IN_HW_COUNT
            | KEY_ETH_TYPE
            | KEY_VLAN_ETH_TYPE
            | 5
            | 7
            | 11
            | 13
            | 15
            | 17 => {}
            KEY_ETH_DST => matches.dst_mac = Some(whole_mac(&a, options)?),
            KEY_ETH_SRC => matches.src_mac = Some(whole_mac(&a, options)?),
            KEY_IPV4_SRC | KEY_IPV6_SRC => matches.src = Some(prefix(&a, options)?),
            KEY_IPV4_DST | KEY_IPV6_DST => matches.dst = Some(prefix(&a, options)?),
            KEY_IP_PROTO => matches.ip_proto = Some(a.u8()?),
            KEY_VLAN_ID => matches.vlan = Some(VlanId::try_from(a.u16()?).ok()?),
            18..=21 | 35..=42 => ports.push((a.kind, a.be16()?)),
            _ => return None,
        }
    }
    if !ports.is_empty() {
        let [src, src_mask, dst, dst_mask] = port_ids(matches.ip_proto?)?;
        for (kind, value) in ports {
            match kind {
                kind if kind == src => matches.src_port = Some(value),
                kind if kind == dst => matches.dst_port = Some(value),
                kind if kind == src_mask || kind == dst_mask => (value == 0xffff).then_some(())?,
                _ => return None,
            }
        }
    }
    let ethertype = meant_protocol(&matches, options, protocol)?;
    read_action(&options.find(TCA_FLOWER_ACT)?, matches, ethertype)
}

/// The protocol inside the tag, if any; `None` when it is not one that the match itself implies,
/// such as ARP.
fn meant_protocol(matches: &FlowMatch, options: Attributes<'_>, protocol: u16) -> Option<u16> {
    let key = |id| options.find(id).and_then(|a| a.be16());
    let outer = key(KEY_ETH_TYPE).or((protocol != ETH_P_ALL).then_some(protocol)).unwrap_or_default();
    let inner = match matches.vlan {
        Some(_) => key(KEY_VLAN_ETH_TYPE).or(Some(outer).filter(|outer| *outer != ETH_P_8021Q)).unwrap_or_default(),
        None => outer,
    };
    ethertypes(matches).contains(&inner).then_some(inner)
}

/// An address that is matched with all its bits; partial masks are nothing that the model has.
fn whole_mac(key: &Attribute<'_>, options: Attributes<'_>) -> Option<MacAddr> {
    let mask = options.find(key.kind + 1).and_then(|mask| mask.mac());
    key.mac().filter(|_| mask.is_none_or(|mask| mask.bytes() == [0xff; 6]))
}

fn prefix(key: &Attribute<'_>, options: Attributes<'_>) -> Option<IpNet> {
    let address = key.ip()?;
    let mask = options.find(key.kind + 1).and_then(|mask| mask.ip()).unwrap_or(match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::BROADCAST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(u128::MAX)),
    });
    IpNet::with_netmask(address, mask).ok()
}

fn read_action(actions: &Attribute<'_>, matches: FlowMatch, ethertype: u16) -> Option<RawMirror> {
    let mut all = actions.nested();
    let only = all.next()?.nested();
    if all.next().is_some() || only.find(TCA_ACT_KIND)?.str()? != "mirred" {
        return None;
    }
    let parameters = only.find(TCA_ACT_OPTIONS)?.nested().find(TCA_MIRRED_PARMS)?;
    let number = |at: usize| parameters.data.get(at * 4..)?.first_chunk().copied().map(u32::from_ne_bytes);
    let action = match number(5)? {
        EGRESS_MIRROR => MirrorAction::Mirror,
        EGRESS_REDIRECT => MirrorAction::Redirect,
        _ => return None,
    };
    let ours = only.find(TCA_ACT_COOKIE).is_some_and(|cookie| cookie.data == COOKIE);
    Some(RawMirror { matches, ethertype, action, to: number(6)?, ours })
}

/// The mirrors of one link, from all its filters. A priority under which something stands that the
/// model does not have is left out as a whole.
pub fn gather(
    reports: impl IntoIterator<Item = FilterReport>,
    name: impl Fn(u32) -> Option<IfName>,
) -> BTreeMap<MirrorKey, Mirror> {
    let mut by_key: BTreeMap<MirrorKey, Vec<Option<RawMirror>>> = BTreeMap::new();
    for report in reports {
        by_key.entry(report.key).or_default().push(report.mirror);
    }
    let known = |(key, filters): (MirrorKey, Vec<Option<RawMirror>>)| {
        let filters: Vec<RawMirror> = filters.into_iter().collect::<Option<_>>()?;
        let one = filters.first()?;
        let same = |other: &RawMirror| RawMirror { ethertype: one.ethertype, ..*other } == *one;
        let mut protocols: Vec<u16> = filters.iter().map(|filter| filter.ethertype).collect();
        protocols.sort_unstable();
        if !filters.iter().all(same) || protocols != ethertypes(&one.matches) {
            return None;
        }
        Some((key, Mirror { matches: one.matches, action: one.action, to: name(one.to)?, ours: one.ours }))
    };
    by_key.into_iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::messages;

    const TO: u32 = 9;

    fn target(index: u32) -> Option<IfName> {
        (index == TO).then(|| "mon0".parse().unwrap())
    }

    fn flow() -> impl Strategy<Value = FlowMatch> {
        let mac = || prop::option::of(any::<[u8; 6]>().prop_map(MacAddr::new));
        let net = || {
            prop_oneof![
                Just((None, None)),
                (any::<u32>(), 1u8..=32).prop_map(|(a, len)| (Some((IpAddr::V4(a.into()), len)), None)),
                (any::<u128>(), 1u8..=128, any::<u128>())
                    .prop_map(|(a, len, b)| (Some((IpAddr::V6(a.into()), len)), Some((IpAddr::V6(b.into()), 64)))),
            ]
        };
        let proto = prop_oneof![
            Just((None, None, None)),
            Just((Some(1), None, None)),
            (prop_oneof![Just(6u8), Just(17), Just(132)], any::<Option<u16>>(), any::<Option<u16>>())
                .prop_map(|(p, s, d)| (Some(p), s, d)),
        ];
        let vlan = prop::option::of((1u16..4095).prop_map(|v| v.try_into().unwrap()));
        (vlan, mac(), mac(), net(), proto).prop_map(|(vlan, src_mac, dst_mac, (src, dst), (ip_proto, sp, dp))| {
            let net = |(ip, len)| IpNet::new(ip, len).unwrap().trunc();
            FlowMatch {
                vlan,
                src_mac,
                dst_mac,
                src: src.map(net),
                dst: dst.map(net),
                ip_proto,
                src_port: sp,
                dst_port: dp,
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn a_mirror_is_read_back(matches in flow(), redirect: bool, egress: bool, priority in 1u16.., ours: bool) {
            let key = MirrorKey { direction: if egress { Direction::Egress } else { Direction::Ingress }, priority };
            let action = if redirect { MirrorAction::Redirect } else { MirrorAction::Mirror };
            let mirror = Mirror { matches, action, to: target(TO).unwrap(), ours };
            let bytes: Vec<Vec<u8>> = add(4, key, &mirror, TO).unwrap().iter().map(Msg::finish).collect();
            let reports: Vec<_> = bytes.iter().filter_map(|b| decode(&messages(b).next().unwrap())).collect();
            prop_assert_eq!(reports.len(), bytes.len() - 1);
            prop_assert_eq!(gather(reports, target), BTreeMap::from([(key, mirror)]));
        }

        #[test]
        fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let message = Message { kind: 44, flags: 0, seq: 0, port: 0, body: &bytes };
            let _ = (decode(&message), decode_queue(&message), is_filter(&message));
        }
    }

    #[test]
    fn what_shares_a_priority_with_something_foreign_is_left_out() {
        let key = MirrorKey { direction: Direction::Ingress, priority: 10 };
        let raw =
            RawMirror { matches: FlowMatch::default(), ethertype: 0, action: MirrorAction::Mirror, to: TO, ours: true };
        let ours = FilterReport { index: 1, key, mirror: Some(raw), handle: 1, info: 0, flower: false };
        let foreign = FilterReport { mirror: None, handle: 2, ..ours };
        assert!(gather([ours, foreign], target).is_empty());
        assert!(gather([foreign, ours], target).is_empty());
        assert_eq!(gather([ours], target).len(), 1);
    }

    #[test]
    fn a_removal_names_the_filter_and_not_its_priority() {
        let key = MirrorKey { direction: Direction::Egress, priority: 10 };
        let to = target(TO).unwrap();
        let mirror = Mirror { matches: FlowMatch::default(), action: MirrorAction::Mirror, to, ours: true };
        let bytes = add(4, key, &mirror, TO).unwrap()[1].finish();
        let report = decode(&messages(&bytes).next().unwrap()).unwrap();
        assert!(report.is_of(key, &mirror));
        assert!(!report.is_of(key, &Mirror { ours: false, ..mirror }));
        assert!(!report.is_of(MirrorKey { priority: 11, ..key }, &mirror));
        let bytes = remove(&report).finish();
        let removal = messages(&bytes).next().unwrap();
        let parts = [4, 8, 12, 16].map(|at| removal.u32_at(at));
        assert_eq!(parts, [4, 1, EGRESS, info(10, ETH_P_ALL)]);
        assert_eq!(removal.attrs(TCMSG).find(TCA_KIND).unwrap().str(), Some("matchall"));
    }

    #[test]
    fn a_filter_with_a_key_that_the_model_does_not_have_is_foreign() {
        let key = MirrorKey { direction: Direction::Ingress, priority: 10 };
        let mirror = Mirror {
            matches: FlowMatch::default(),
            action: MirrorAction::Mirror,
            to: target(TO).unwrap(),
            ours: false,
        };
        let msg = filter(1, key, 1, "flower", |msg| {
            msg.attr_u8(73, 1);
            write_action(msg, TCA_FLOWER_ACT, &mirror, TO);
        });
        let bytes = msg.finish();
        let report = decode(&messages(&bytes).next().unwrap()).unwrap();
        assert_eq!(report.mirror, None);
    }
}
