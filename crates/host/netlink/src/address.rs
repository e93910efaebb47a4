//! Addresses of links, to and from the wire.
//!
//! A broadcast address is sent only where one is to be put back: the kernel makes the broadcast route
//! of the prefix without it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netloom_model::{Address, AddressExtra, AddressLabel, KernelFeatures};
use netloom_types::{Family, Lifetime, MacAddr, Protocol};

use crate::{
    consts::{AF_INET, AF_INET6, NLM_F_CREATE, NLM_F_REPLACE, RTM_DELADDR, RTM_GETADDR, RTM_NEWADDR},
    wire::{Message, Msg},
};

const HEADER_LEN: usize = 8;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_LABEL: u16 = 3;
const IFA_BROADCAST: u16 = 4;
const IFA_CACHEINFO: u16 = 6;
const IFA_FLAGS: u16 = 8;
const IFA_RT_PRIORITY: u16 = 9;
const IFA_PROTO: u16 = 11;
const IFA_F_TEMPORARY: u32 = 0x01;
const IFA_F_NODAD: u32 = 0x02;
const IFA_F_PERMANENT: u32 = 0x80;
const IFA_F_MANAGETEMPADDR: u32 = 0x100;
const IFA_F_NOPREFIXROUTE: u32 = 0x200;
const IFA_F_MCAUTOJOIN: u32 = 0x400;
const IFA_F_STABLE_PRIVACY: u32 = 0x800;
const RT_SCOPE_HOST: u8 = 254;
const FOREVER: u32 = u32::MAX;

/// The number of a family in messages.
pub(crate) fn family_number(family: Family) -> u8 {
    match family {
        Family::Ipv4 => AF_INET,
        Family::Ipv6 => AF_INET6,
    }
}

/// The family with a number.
pub(crate) fn family_of(number: u8) -> Option<Family> {
    match number {
        AF_INET => Some(Family::Ipv4),
        AF_INET6 => Some(Family::Ipv6),
        _ => None,
    }
}

fn header(address: &Address, index: u32) -> [u8; HEADER_LEN] {
    let scope = address.extra.scope.unwrap_or_else(|| usual_scope(address.ip));
    let mut bytes = [0; HEADER_LEN];
    bytes[0] = family_number(Family::of(address.ip));
    bytes[1] = address.prefix_len;
    bytes[3] = scope;
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes
}

/// The kernel does not find the scope by itself; `ip address` says host for 127/8 too.
fn usual_scope(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(ip) if ip.is_loopback() => RT_SCOPE_HOST,
        IpAddr::V4(_) | IpAddr::V6(_) => 0,
    }
}

/// Both ends: the same where the address has no other one.
fn ends(msg: &mut Msg, address: &Address) {
    msg.attr_ip(IFA_LOCAL, address.ip).attr_ip(IFA_ADDRESS, address.extra.peer.unwrap_or(address.ip));
}

/// Asks for an address, or for other life times of one that is there.
pub fn encode_add(address: &Address, index: u32) -> Msg {
    let mut msg = Msg::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE);
    msg.header(&header(address, index));
    ends(&mut msg, address);
    if (address.preferred, address.valid) != (Lifetime::Forever, Lifetime::Forever) {
        let mut cache = [0; 16];
        cache[..4].copy_from_slice(&seconds(address.preferred).to_ne_bytes());
        cache[4..8].copy_from_slice(&seconds(address.valid).to_ne_bytes());
        msg.attr(IFA_CACHEINFO, &cache);
    }
    if address.route_metric != 0 {
        msg.attr_u32(IFA_RT_PRIORITY, address.route_metric);
    }
    if address.protocol != Protocol::UNSPEC {
        msg.attr_u8(IFA_PROTO, address.protocol.0);
    }
    let AddressExtra { no_prefix_route, no_dad, join_group, scope: _, broadcast, label, peer: _ } = address.extra;
    let flags = [(no_prefix_route, IFA_F_NOPREFIXROUTE), (no_dad, IFA_F_NODAD), (join_group, IFA_F_MCAUTOJOIN)];
    let flags = flags.iter().filter(|(on, _)| *on).fold(0, |all, (_, flag)| all | flag);
    if flags != 0 {
        msg.attr_u32(IFA_FLAGS, flags);
    }
    if let Some(broadcast) = broadcast {
        msg.attr_ip(IFA_BROADCAST, broadcast.into());
    }
    if let Some(label) = label {
        msg.attr_str(IFA_LABEL, label.as_str());
    }
    msg
}

/// Asks that an address goes.
pub fn encode_remove(address: &Address, index: u32) -> Msg {
    let mut msg = Msg::new(RTM_DELADDR, 0);
    msg.header(&header(address, index));
    ends(&mut msg, address);
    msg
}

/// A request that no kernel fulfils, whose refusal says whether the kernel knows protocols of addresses. One that does
/// refuses the empty number before it looks for the link; one that does not passes over it, and finds that there is no
/// link 0 (`ENODEV`).
pub fn encode_protocol_question() -> Msg {
    let nowhere = Address::new(Ipv4Addr::new(192, 0, 2, 1).into(), 32, Protocol::UNSPEC);
    let mut msg = Msg::new(RTM_NEWADDR, 0);
    msg.header(&header(&nowhere, 0));
    ends(&mut msg, &nowhere);
    msg.attr(IFA_PROTO, &[]);
    msg
}

/// Asks for all addresses.
pub fn encode_dump() -> Msg {
    let mut msg = Msg::new(RTM_GETADDR, 0);
    msg.header(&[0; HEADER_LEN]);
    msg
}

/// An address as the kernel reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// The index of its link.
    pub index: u32,
    /// The address.
    pub address: Address,
    flags: u32,
}

impl Reported {
    /// Whether the kernel made the address by itself: a link-local one, from the link's hardware
    /// address or the own end of a tunnel, one from a router advertisement, or a temporary one.
    pub fn is_generated(&self, kernel: KernelFeatures, mac: Option<MacAddr>, local: Option<IpAddr>) -> bool {
        let IpAddr::V6(ip) = self.address.ip else { return false };
        let by_mac = mac.is_some_and(|mac| ip.octets()[8..] == interface_id(mac));
        let stable = self.flags & IFA_F_STABLE_PRIVACY != 0;
        match self.address.protocol {
            Protocol::ADDRESS_KERNEL_RA | Protocol::ADDRESS_KERNEL_LL => true,
            // Kernels before 5.18 do not say who made an address, and none says it of a tunnel's.
            Protocol::UNSPEC if ip.segments()[..4] == [0xfe80, 0, 0, 0] => {
                let own_end =
                    matches!(local, Some(IpAddr::V4(end)) if ip.octets()[8..] == [[0; 4], end.octets()].concat());
                stable || own_end || by_mac || (!kernel.address_protocol && looks_generated(ip, mac))
            }
            // One from a router advertisement ends with it, unlike one that somebody wrote out.
            Protocol::UNSPEC if !kernel.address_protocol && self.flags & IFA_F_PERMANENT == 0 && (stable || by_mac) => {
                true
            }
            _ => self.flags & (IFA_F_TEMPORARY | IFA_F_MANAGETEMPADDR) != 0,
        }
    }
}

/// Reads an address.
pub fn decode(message: &Message<'_>) -> Option<Reported> {
    let family = family_of(message.u8_at(0))?;
    let (mut local, mut remote) = (None, None);
    let mut flags = u32::from(message.u8_at(2));
    let mut address = Address::new(family.everything().addr(), message.u8_at(1), Protocol::UNSPEC);
    for attr in message.attrs(HEADER_LEN) {
        match attr.kind {
            IFA_ADDRESS => remote = attr.ip(),
            IFA_LOCAL => local = attr.ip(),
            IFA_FLAGS => flags = attr.u32()?,
            IFA_LABEL => address.extra.label = attr.str().and_then(AddressLabel::new),
            IFA_BROADCAST => address.extra.broadcast = attr.ip().and_then(only_v4),
            IFA_RT_PRIORITY => address.route_metric = attr.u32()?,
            IFA_PROTO => address.protocol = Protocol(attr.u8()?),
            IFA_CACHEINFO => {
                address.preferred = lifetime(attr.u32()?);
                address.valid = lifetime(u32::from_ne_bytes(*attr.data.get(4..)?.first_chunk()?));
            }
            _ => {}
        }
    }
    address.ip = local.or(remote).filter(|ip| Family::of(*ip) == family)?;
    let extra = &mut address.extra;
    extra.peer = remote.filter(|remote| local.is_some_and(|local| local != *remote) && Family::of(*remote) == family);
    extra.no_prefix_route = flags & IFA_F_NOPREFIXROUTE != 0;
    extra.no_dad = flags & IFA_F_NODAD != 0;
    extra.join_group = flags & IFA_F_MCAUTOJOIN != 0;
    // IPv6 finds the scope by itself.
    let scope = message.u8_at(3);
    extra.scope = (family == Family::Ipv4 && scope != usual_scope(address.ip)).then_some(scope);
    (address.prefix_len <= family.max_prefix_len()).then_some(Reported { index: message.u32_at(4), address, flags })
}

fn only_v4(ip: IpAddr) -> Option<Ipv4Addr> {
    match ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    }
}

fn seconds(lifetime: Lifetime) -> u32 {
    match lifetime {
        Lifetime::Forever => FOREVER,
        Lifetime::Seconds(seconds) => seconds,
    }
}

fn lifetime(seconds: u32) -> Lifetime {
    if seconds == FOREVER { Lifetime::Forever } else { Lifetime::Seconds(seconds) }
}

/// Whether a link-local address has a form that the kernel gives to those that it makes: from a hardware address, which a
/// bridge or a tunnel may not have any more; from one that links share, each with a number of its own in the middle
/// (ipvlan); or from the own end of a tunnel.
fn looks_generated(ip: Ipv6Addr, mac: Option<MacAddr>) -> bool {
    let id = &ip.octets()[8..];
    let shared = mac.map(MacAddr::bytes).is_some_and(|mac| id[..3] == mac[..3] && id[5..] == mac[3..]);
    let tunnel = [[0, 0, 0x5e, 0xfe], [2, 0, 0x5e, 0xfe]].iter().any(|start| id[..4] == start[..]);
    shared || tunnel || id[3..5] == [0xff, 0xfe]
}

/// The lower half of the link-local address that the kernel makes from a hardware address.
fn interface_id(mac: MacAddr) -> [u8; 8] {
    let [flags, o1, o2, o3, o4, o5] = mac.bytes();
    [flags ^ 2, o1, o2, 0xff, 0xfe, o3, o4, o5]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::messages;

    fn address(text: &str, prefix_len: u8) -> Address {
        Address::new(text.parse().unwrap(), prefix_len, Protocol::NETLOOM)
    }

    fn round_trip(address: &Address) -> Option<Reported> {
        let bytes = encode_add(address, 7).finish();
        decode(&messages(&bytes).next().unwrap())
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut leased = address("2001:db8::5", 64);
        leased.preferred = Lifetime::Seconds(100);
        leased.valid = Lifetime::Seconds(200);
        leased.route_metric = 77;
        let deprecated = Address { preferred: Lifetime::Seconds(0), ..address("10.0.0.1", 24) };
        for address in
            [address("192.0.2.1", 24), address("127.0.0.2", 8), address("2001:db8::1", 128), leased, deprecated]
        {
            let read = round_trip(&address).unwrap();
            assert_eq!((read.index, read.address), (7, address));
        }
    }

    #[test]
    fn what_few_addresses_have_is_read_back_too() {
        let extra = AddressExtra {
            no_prefix_route: true,
            no_dad: false,
            join_group: true,
            scope: Some(253),
            broadcast: Some(Ipv4Addr::new(10, 0, 0, 255)),
            label: AddressLabel::new("eth0:1"),
            peer: None,
        };
        let four = Address { extra, ..address("10.0.0.1", 24) };
        let peer = |ip: &str| AddressExtra { peer: Some(ip.parse().unwrap()), ..AddressExtra::default() };
        let end = Address { extra: peer("10.9.0.1"), ..address("10.0.0.1", 32) };
        let six = Address {
            extra: AddressExtra { no_prefix_route: true, no_dad: true, ..peer("2001:db8::2") },
            ..address("2001:db8::1", 128)
        };
        for address in [four, end, six] {
            assert_eq!(round_trip(&address).unwrap().address, address);
        }
    }

    #[test]
    fn generated_addresses_are_known() {
        let new = KernelFeatures::default();
        let mac = Some(MacAddr::new([2, 0, 0, 0, 0, 1]));
        let reported =
            |ip: &str, protocol, flags| Reported { index: 1, address: Address { protocol, ..address(ip, 64) }, flags };
        assert!(reported("fe80::1", Protocol::ADDRESS_KERNEL_LL, 0).is_generated(new, None, None));
        assert!(reported("2001:db8::1", Protocol::ADDRESS_KERNEL_RA, 0).is_generated(new, None, None));
        assert!(reported("fe80::ff:fe00:1", Protocol::UNSPEC, 0x80).is_generated(new, mac, None));
        assert!(reported("2001:db8::2", Protocol::UNSPEC, IFA_F_TEMPORARY).is_generated(new, mac, None));
        assert!(!reported("fe80::1", Protocol::UNSPEC, 0x80).is_generated(new, mac, None));
        assert!(!reported("fe80::ff:fe00:1", Protocol::NETLOOM, 0x80).is_generated(new, mac, None));
        let end = Some(IpAddr::from([192, 0, 2, 1]));
        assert!(reported("fe80::c000:201", Protocol::UNSPEC, 0x80).is_generated(new, None, end));
        assert!(!reported("fe80::c000:202", Protocol::UNSPEC, 0x80).is_generated(new, None, end));
        // Only where the kernel says nothing is an address that ends taken for one of an advertisement.
        let ends = reported("2001:db8::ff:fe00:1", Protocol::UNSPEC, 0);
        assert!(!ends.is_generated(new, mac, None) && ends.is_generated(KernelFeatures::OLDEST, mac, None));
        let stays = reported("2001:db8::ff:fe00:1", Protocol::UNSPEC, IFA_F_PERMANENT);
        assert!(!stays.is_generated(KernelFeatures::OLDEST, mac, None));
        for own in ["fe80::28a3:4aff:fea6:b728", "fe80::5efe:c000:201", "fe80::200:1:0:1"] {
            let known = |kernel| reported(own, Protocol::UNSPEC, IFA_F_PERMANENT).is_generated(kernel, mac, None);
            assert_eq!((known(new), known(KernelFeatures::OLDEST)), (false, true), "{own}");
        }
        assert!(!reported("fe80::1", Protocol::UNSPEC, IFA_F_PERMANENT).is_generated(
            KernelFeatures::OLDEST,
            mac,
            None
        ));
        // For IPv4 the same bit says "secondary".
        assert!(!reported("192.0.2.2", Protocol::UNSPEC, IFA_F_TEMPORARY).is_generated(new, mac, None));
    }
}
