//! Routes, to and from the wire.
//!
//! Two families with two behaviours: an IPv4 route is distinguished by table, prefix and metric; IPv6
//! keeps routes without a router once for each link, and "replace" would hit the first of them
//! whatever link was meant, so those are removed and added instead.

use std::net::IpAddr;

use ipnet::IpNet;
use netloom_model::{NextHop, Route, RouteExtra, RouteMetrics, RouteType, StepError};
use netloom_types::{Family, IfName, Protocol, RouteTable};

use crate::{
    address::{family_number, family_of},
    consts::{AF_INET, AF_INET6, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, RTM_DELROUTE, RTM_GETROUTE, RTM_NEWROUTE},
    wire::{Attribute, Attributes, Message, Msg, attributes},
};

const HEADER_LEN: usize = 12;
const RTNEXTHOP_LEN: usize = 8;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTA_MULTIPATH: u16 = 9;
const RTA_CACHEINFO: u16 = 12;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_NEWDST: u16 = 19;
const RTA_PREF: u16 = 20;
const RTA_ENCAP: u16 = 22;
const RTA_EXPIRES: u16 = 23;
const RTA_NH_ID: u16 = 30;
const RTAX_LOCK: u16 = 1;
const RTAX_MTU: u16 = 2;
const RTAX_CWND: u16 = 7;
const RTAX_ADVMSS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_INITRWND: u16 = 14;
const RTAX_QUICKACK: u16 = 15;
const RTNH_F_ONLINK: u8 = 4;
const RTM_F_CLONED: u32 = 0x200;
const RT_SCOPE_LINK: u8 = 253;
const RT_SCOPE_NOWHERE: u8 = 255;
/// Where in what the kernel keeps of a route its end is reported.
const CACHEINFO_EXPIRES: usize = 8;
/// In how many parts of a second the end of a route is reported.
const USER_HZ: u32 = 100;

/// Finds the index of a link.
pub type Resolve<'a> = &'a dyn Fn(IfName) -> Option<u32>;

/// Route types with their numbers in messages.
const TYPES: [(RouteType, u8); 5] = [
    (RouteType::Unicast, 1),
    (RouteType::Blackhole, 6),
    (RouteType::Unreachable, 7),
    (RouteType::Prohibit, 8),
    (RouteType::Throw, 9),
];

fn type_number(kind: RouteType) -> u8 {
    match kind {
        RouteType::Unicast => 1,
        RouteType::Blackhole => 6,
        RouteType::Unreachable => 7,
        RouteType::Prohibit => 8,
        RouteType::Throw => 9,
    }
}

/// Asks for a new route.
pub fn encode_add(route: &Route, resolve: Resolve<'_>) -> Result<Msg, StepError> {
    // An IPv6 route without a router may stand beside the same one on another link.
    let flags = if route.key().device.is_some() { NLM_F_CREATE } else { NLM_F_CREATE | NLM_F_EXCL };
    encode(RTM_NEWROUTE, flags, route, resolve)
}

/// Asks that the route with the same key becomes this one.
pub fn encode_replace(route: &Route, resolve: Resolve<'_>) -> Result<Vec<Msg>, StepError> {
    if route.key().device.is_none() {
        return Ok(vec![encode(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, route, resolve)?]);
    }
    // Whoever made the one that is there: the key is all that counts.
    let any = Route { protocol: Protocol::UNSPEC, source: None, metrics: RouteMetrics::default(), ..route.clone() };
    Ok(vec![encode_remove(&any, resolve)?, encode_add(route, resolve)?])
}

/// Asks that a route goes.
pub fn encode_remove(route: &Route, resolve: Resolve<'_>) -> Result<Msg, StepError> {
    // Path properties do not tell routes apart, and IPv4 would insist on them.
    let bare = Route { metrics: RouteMetrics::default(), ..route.clone() };
    encode(RTM_DELROUTE, 0, &bare, resolve)
}

/// Asks for the routes of all tables of a family.
pub fn encode_dump(family: Family) -> Msg {
    let mut header = [0; HEADER_LEN];
    header[0] = family_number(family);
    let mut msg = Msg::new(RTM_GETROUTE, 0);
    msg.header(&header);
    msg
}

fn encode(kind: u16, flags: u16, route: &Route, resolve: Resolve<'_>) -> Result<Msg, StepError> {
    let mut msg = Msg::new(kind, flags);
    msg.header(&header(route, kind == RTM_DELROUTE));
    if route.destination.prefix_len() > 0 {
        msg.attr_ip(RTA_DST, route.destination.network());
    }
    msg.attr_u32(RTA_TABLE, route.table.get());
    if route.metric != 0 {
        msg.attr_u32(RTA_PRIORITY, route.metric);
    }
    if let Some(source) = route.source {
        msg.attr_ip(RTA_PREFSRC, source);
    }
    encode_metrics(&mut msg, &route.metrics);
    if kind == RTM_NEWROUTE && route.family() == Family::Ipv6 {
        encode_extra(&mut msg, route.extra);
    }
    match &route.next_hops[..] {
        [] => {}
        [hop] => {
            if let Some(index) = hop_index(hop, resolve)? {
                msg.attr_u32(RTA_OIF, index);
            }
            encode_via(&mut msg, route.family(), hop.via);
        }
        hops => encode_multipath(&mut msg, route.family(), hops, resolve)?,
    }
    Ok(msg)
}

fn header(route: &Route, removal: bool) -> [u8; HEADER_LEN] {
    let hops = &route.next_hops[..];
    let on_link = route.kind == RouteType::Unicast && matches!(hops, [NextHop { via: None, .. }]);
    let scope = match route.family() {
        Family::Ipv4 if removal => RT_SCOPE_NOWHERE,
        Family::Ipv4 if on_link => RT_SCOPE_LINK,
        Family::Ipv4 | Family::Ipv6 => 0,
    };
    let flags = match hops {
        [hop] if hop.onlink => u32::from(RTNH_F_ONLINK),
        _ => 0,
    };
    let mut bytes = [0; HEADER_LEN];
    bytes[0] = family_number(route.family());
    bytes[1] = route.destination.prefix_len();
    bytes[4] = u8::try_from(route.table.get()).unwrap_or(0);
    bytes[5] = route.protocol.0;
    bytes[6] = scope;
    bytes[7] = type_number(route.kind);
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

/// The index of the link that a hop names; the kernel finds the link of one that names none.
fn hop_index(hop: &NextHop, resolve: Resolve<'_>) -> Result<Option<u32>, StepError> {
    hop.link.map(|link| resolve(link).ok_or_else(|| no_link(link))).transpose()
}

/// The refusal of a step that names a link that does not exist.
pub(crate) fn no_link(link: IfName) -> StepError {
    StepError::with(StepError::ENODEV, &format!("there is no link {link}"))
}

fn encode_via(msg: &mut Msg, family: Family, via: Option<IpAddr>) {
    match via {
        None => {}
        Some(via) if Family::of(via) == family => {
            msg.attr_ip(RTA_GATEWAY, via);
        }
        Some(IpAddr::V4(via)) => {
            msg.attr(RTA_VIA, &[&u16::from(AF_INET).to_ne_bytes()[..], &via.octets()].concat());
        }
        Some(IpAddr::V6(via)) => {
            msg.attr(RTA_VIA, &[&u16::from(AF_INET6).to_ne_bytes()[..], &via.octets()].concat());
        }
    }
}

fn encode_multipath(msg: &mut Msg, family: Family, hops: &[NextHop], resolve: Resolve<'_>) -> Result<(), StepError> {
    let indexes = hops.iter().map(|hop| hop_index(hop, resolve)).collect::<Result<Vec<_>, _>>()?;
    msg.nest_unmarked(RTA_MULTIPATH, |msg| {
        for (hop, index) in hops.iter().zip(indexes) {
            let start = msg.len();
            let mut head = [0; RTNEXTHOP_LEN];
            head[2] = if hop.onlink { RTNH_F_ONLINK } else { 0 };
            head[3] = u8::try_from(hop.weight.saturating_sub(1)).unwrap_or(u8::MAX);
            head[4..].copy_from_slice(&index.unwrap_or(0).to_ne_bytes());
            msg.raw(&head);
            encode_via(msg, family, hop.via);
            msg.patch_len16(start);
        }
    });
    Ok(())
}

fn encode_metrics(msg: &mut Msg, metrics: &RouteMetrics) {
    let RouteMetrics { mtu, lock_mtu, advmss, cwnd, initcwnd, initrwnd, quickack } = *metrics;
    let lock = u32::from(lock_mtu) << RTAX_MTU | u32::from(cwnd != 0) << RTAX_CWND;
    msg.nest_unless_empty(RTA_METRICS, |msg| {
        for (kind, value) in [
            (RTAX_LOCK, lock),
            (RTAX_MTU, mtu),
            (RTAX_CWND, cwnd),
            (RTAX_ADVMSS, advmss),
            (RTAX_INITCWND, initcwnd),
            (RTAX_INITRWND, initrwnd),
            (RTAX_QUICKACK, u32::from(quickack)),
        ] {
            if value != 0 {
                msg.attr_u32(kind, value);
            }
        }
    });
}

/// Only IPv6 has routes that end, and routers with a preference.
fn encode_extra(msg: &mut Msg, extra: RouteExtra) {
    let RouteExtra { expires, preference } = extra;
    if let Some(seconds) = expires {
        msg.attr_u32(RTA_EXPIRES, seconds);
    }
    if preference != 0 {
        msg.attr_u8(RTA_PREF, preference);
    }
}

/// A route as the kernel reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The route, as far as the model can say it.
    pub route: Route,
    /// It has a property that the model cannot say (an encapsulation, a type of service): it can be
    /// shown but not put back.
    pub partial: bool,
    /// Its ways are those of a next hop object. They can be put back, the object cannot.
    pub object: bool,
}

impl Reported {
    /// Whether it is derived: made by the kernel, a routing daemon or a lease, or not to be put back by
    /// us.
    pub fn is_derived(&self) -> bool {
        self.partial || self.object || self.route.table == RouteTable::LOCAL || self.route.is_dynamic()
    }

    /// Whether nobody can put it back when the kernel drops it with its link: it has what the model
    /// cannot say, and the kernel does not recreate it. A daemon that made it over a next hop object
    /// replaces one that does the same; a person who did has to see to it.
    pub fn is_fragile(&self) -> bool {
        let manually = self.object && !self.route.is_dynamic();
        (self.partial || manually) && self.route.is_missed()
    }
}

/// Reads a route; `None` for a cached one and for types that only the kernel makes (local,
/// broadcast, anycast, multicast).
pub fn decode(message: &Message<'_>, name: &dyn Fn(u32) -> Option<IfName>) -> Option<Reported> {
    let family = family_of(message.u8_at(0))?;
    let kind = TYPES.iter().find(|(_, number)| *number == message.u8_at(7))?.0;
    if message.u32_at(8) & RTM_F_CLONED != 0 {
        return None;
    }
    let mut table = u32::from(message.u8_at(4));
    let mut destination = family.everything().addr();
    let mut metric = 0;
    let mut source = None;
    let mut metrics = RouteMetrics::default();
    let mut multipath = None;
    // A type of service, a source prefix.
    let mut partial = message.u8_at(2) != 0 || message.u8_at(3) != 0;
    let mut object = false;
    let mut extra = RouteExtra::default();
    for attr in message.attrs(HEADER_LEN) {
        match attr.kind {
            RTA_DST => destination = attr.ip()?,
            RTA_TABLE => table = attr.u32()?,
            RTA_PRIORITY => metric = attr.u32()?,
            RTA_PREFSRC => source = attr.ip(),
            RTA_METRICS => metrics = decode_metrics(&attr),
            RTA_MULTIPATH => multipath = Some(attr.data),
            RTA_PREF => extra.preference = attr.u8().unwrap_or_default(),
            RTA_EXPIRES => extra.expires = attr.u32(),
            RTA_CACHEINFO => extra.expires = decode_end(&attr).or(extra.expires),
            RTA_NH_ID => object = true,
            RTA_ENCAP | RTA_NEWDST => partial = true,
            _ => {}
        }
    }
    let next_hops = match multipath {
        // IPv6 shows routes that lead nowhere as leading to lo.
        _ if kind != RouteType::Unicast => Vec::new(),
        Some(hops) => decode_multipath(hops, name),
        None => {
            let attrs = message.attrs(HEADER_LEN);
            let index = attrs.find(RTA_OIF).and_then(|attr| attr.u32()).unwrap_or(0);
            vec![hop(&attrs, index, message.u32_at(8).to_ne_bytes()[0], 1, name)]
        }
    };
    let destination = IpNet::new(destination, message.u8_at(1)).ok()?;
    if Family::of_net(destination) != family {
        return None;
    }
    let (table, protocol) = (RouteTable::try_from(table).ok()?, Protocol(message.u8_at(5)));
    // A kernel may be reported to show the object and not its ways.
    let unseen = object && kind == RouteType::Unicast && next_hops.iter().all(|hop| hop.link.is_none());
    let route = Route { table, destination, metric, kind, next_hops, source, protocol, metrics, extra };
    Some(Reported { route, partial: partial || unseen, object })
}

/// In how many seconds a route ends; none for one that lasts. What is over already ends now.
fn decode_end(attr: &Attribute<'_>) -> Option<u32> {
    let at = attr.data.get(CACHEINFO_EXPIRES..)?.first_chunk()?;
    match i32::from_ne_bytes(*at) {
        0 => None,
        left => Some(u32::try_from(left).map_or(0, |left| left.div_ceil(USER_HZ))),
    }
}

fn hop(attrs: &Attributes<'_>, index: u32, flags: u8, weight: u16, name: &dyn Fn(u32) -> Option<IfName>) -> NextHop {
    let gateway = attrs.find(RTA_GATEWAY).and_then(|attr| attr.ip());
    let via = gateway.or_else(|| attrs.find(RTA_VIA).and_then(|attr| decode_via(&attr)));
    NextHop { via, link: name(index), weight, onlink: flags & RTNH_F_ONLINK != 0 }
}

fn decode_via(attr: &Attribute<'_>) -> Option<IpAddr> {
    Attribute { kind: RTA_GATEWAY, data: attr.data.get(2..)? }.ip()
}

fn decode_multipath(mut bytes: &[u8], name: &dyn Fn(u32) -> Option<IfName>) -> Vec<NextHop> {
    let mut hops = Vec::new();
    while let Some(&[len0, len1, flags, weight, i0, i1, i2, i3]) = bytes.first_chunk() {
        let len = usize::from(u16::from_ne_bytes([len0, len1]));
        let Some(attrs) = bytes.get(RTNEXTHOP_LEN..len) else { break };
        let index = u32::from_ne_bytes([i0, i1, i2, i3]);
        hops.push(hop(&attributes(attrs), index, flags, u16::from(weight) + 1, name));
        bytes = bytes.get((len + 3) & !3..).unwrap_or_default();
    }
    hops.sort_unstable();
    hops
}

fn decode_metrics(attr: &Attribute<'_>) -> RouteMetrics {
    let mut metrics = RouteMetrics::default();
    for attr in attr.nested() {
        let Some(value) = attr.u32() else { continue };
        match attr.kind {
            RTAX_LOCK => metrics.lock_mtu = value & 1 << RTAX_MTU != 0,
            RTAX_MTU => metrics.mtu = value,
            RTAX_CWND => metrics.cwnd = value,
            RTAX_ADVMSS => metrics.advmss = value,
            RTAX_INITCWND => metrics.initcwnd = value,
            RTAX_INITRWND => metrics.initrwnd = value,
            RTAX_QUICKACK => metrics.quickack = value != 0,
            _ => {}
        }
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::messages;

    const INDEXES: [(&str, u32); 2] = [("eth0", 2), ("eth1", 3)];

    fn resolve(link: IfName) -> Option<u32> {
        INDEXES.iter().find(|(name, _)| *name == link.as_str()).map(|(_, index)| *index)
    }

    fn name(index: u32) -> Option<IfName> {
        INDEXES.iter().find(|(_, i)| *i == index).map(|(name, _)| name.parse().unwrap())
    }

    fn read(msg: &Msg) -> Option<Reported> {
        let bytes = msg.finish();
        decode(&messages(&bytes).next().unwrap(), &name)
    }

    fn hop(via: Option<&str>, link: Option<&str>, weight: u16) -> NextHop {
        NextHop {
            via: via.map(|ip| ip.parse().unwrap()),
            link: link.map(|link| link.parse().unwrap()),
            weight,
            onlink: false,
        }
    }

    fn route(destination: &str, next_hops: Vec<NextHop>) -> Route {
        Route {
            table: RouteTable::MAIN,
            destination: destination.parse().unwrap(),
            metric: 100,
            kind: RouteType::Unicast,
            next_hops,
            source: None,
            protocol: Protocol::NETLOOM,
            metrics: RouteMetrics::default(),
            extra: RouteExtra::default(),
        }
    }

    fn examples() -> Vec<Route> {
        let mut metrics = route("0.0.0.0/0", vec![hop(Some("192.0.2.1"), Some("eth0"), 1)]);
        metrics.metrics = RouteMetrics {
            mtu: 1400,
            lock_mtu: true,
            advmss: 1360,
            cwnd: 20,
            initcwnd: 30,
            initrwnd: 40,
            quickack: true,
        };
        metrics.source = Some("192.0.2.7".parse().unwrap());
        let mut onlink = route("198.51.100.0/24", vec![hop(Some("203.0.113.1"), Some("eth1"), 1)]);
        onlink.next_hops[0].onlink = true;
        let mut advertised = route("::/0", vec![hop(Some("fe80::1"), Some("eth0"), 1)]);
        advertised.extra = RouteExtra { expires: Some(1800), preference: 1 };
        let mut far_table = route("2001:db8::/32", vec![hop(Some("fe80::1"), Some("eth0"), 1)]);
        far_table.table = RouteTable::try_from(1_000_000).unwrap();
        let four = [("192.0.2.1", "eth0", 1), ("192.0.2.2", "eth1", 256)];
        let six = [("2001:db8::1", "eth0", 5), ("fe80::2", "eth1", 1)];
        let many = |hops: [(&str, &str, u16); 2]| {
            hops.iter().map(|(via, link, weight)| hop(Some(via), Some(link), *weight)).collect::<Vec<_>>()
        };
        let mut all = vec![
            metrics,
            onlink,
            advertised,
            far_table,
            route("10.0.0.0/8", many(four)),
            route("2001:db8:1::/48", many(six)),
            route("10.1.0.0/16", vec![hop(None, Some("eth0"), 1)]),
            route("2001:db8:2::/64", vec![hop(None, Some("eth1"), 1)]),
            route("10.2.0.0/16", vec![hop(Some("2001:db8::1"), Some("eth0"), 1)]),
        ];
        for kind in [RouteType::Blackhole, RouteType::Unreachable, RouteType::Prohibit, RouteType::Throw] {
            all.push(Route { kind, ..route("10.3.0.0/16", vec![]) });
            all.push(Route { kind, ..route("2001:db8:3::/48", vec![]) });
        }
        all
    }

    #[test]
    fn what_is_written_is_read_back() {
        for route in examples() {
            let read = read(&encode_add(&route, &resolve).unwrap()).unwrap();
            assert_eq!(read, Reported { route, partial: false, object: false });
        }
    }

    #[test]
    fn scope_is_link_only_without_a_router() {
        let scope = |route: &Route| encode_add(route, &resolve).unwrap().finish()[16 + 6];
        assert_eq!(scope(&route("10.1.0.0/16", vec![hop(None, Some("eth0"), 1)])), RT_SCOPE_LINK);
        assert_eq!(scope(&route("10.1.0.0/16", vec![hop(Some("10.0.0.1"), Some("eth0"), 1)])), 0);
        assert_eq!(scope(&route("2001:db8::/64", vec![hop(None, Some("eth0"), 1)])), 0);
    }

    #[test]
    fn a_link_that_does_not_exist_is_a_refusal() {
        let wrong = route("10.0.0.0/8", vec![hop(None, Some("nowhere"), 1)]);
        assert_eq!(encode_add(&wrong, &resolve).unwrap_err().errno, StepError::ENODEV);
    }

    #[test]
    fn an_ipv6_route_without_router_is_replaced_on_its_own_link() {
        let on_link = route("2001:db8::/64", vec![hop(None, Some("eth1"), 1)]);
        let kinds: Vec<_> = encode_replace(&on_link, &resolve).unwrap().iter().map(Msg::kind).collect();
        assert_eq!(kinds, [RTM_DELROUTE, RTM_NEWROUTE]);
        let via = route("2001:db8::/64", vec![hop(Some("fe80::1"), Some("eth1"), 1)]);
        assert_eq!(encode_replace(&via, &resolve).unwrap().len(), 1);
    }

    #[test]
    fn derived_routes_are_known() {
        let of = |protocol| {
            let mut route = route("10.0.0.0/8", vec![hop(None, Some("eth0"), 1)]);
            route.protocol = Protocol(protocol);
            Reported { route, partial: false, object: false }.is_derived()
        };
        for derived in [1, 2, 8, 9, 11, 12, 14, 15, 16, 17, 18, 42, 99, 186, 187, 188, 189, 192, 193, 197] {
            assert!(of(derived), "{derived}");
        }
        for configured in [0, 3, 4, 112, 200] {
            assert!(!of(configured), "{configured}");
        }
    }

    #[test]
    fn the_ways_of_a_next_hop_object_can_be_put_back_where_they_are_seen() {
        let way = || vec![hop(Some("192.0.2.1"), Some("eth0"), 1)];
        let zebra = Protocol(11);
        for (hops, protocol, fragile) in [(vec![], zebra, true), (way(), zebra, false), (way(), Protocol::STATIC, true)]
        {
            let made = Route { protocol, ..route("10.0.0.0/8", hops) };
            let mut msg = encode_add(&made, &resolve).unwrap();
            msg.attr_u32(RTA_NH_ID, 5);
            let read = read(&msg).unwrap();
            assert!(read.is_derived());
            assert_eq!(read.is_fragile(), fragile);
        }
    }

    #[test]
    fn the_end_of_a_route_is_reported_in_hundredths_of_a_second() {
        let end = |left: i32| {
            let mut data = [0; 32];
            data[CACHEINFO_EXPIRES..CACHEINFO_EXPIRES + 4].copy_from_slice(&left.to_ne_bytes());
            decode_end(&Attribute { kind: RTA_CACHEINFO, data: &data })
        };
        assert_eq!([end(0), end(1), end(179_950), end(-50)], [None, Some(1), Some(1800), Some(0)]);
    }

    #[test]
    fn broken_multipath_ends_quietly() {
        assert_eq!(decode_multipath(&[4, 0, 0, 0, 0, 0, 0, 0, 0], &name), []);
        assert_eq!(decode_multipath(&[0xff; 9], &name), []);
    }
}
