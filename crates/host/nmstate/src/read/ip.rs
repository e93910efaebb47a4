//! Reads `ipv4` and `ipv6` of an interface.

use std::net::IpAddr;

use netloom_model::{Neighbour, Section};
use netloom_types::{Family, Lifetime, MacAddr, Protocol};

use super::{
    spot::{Fields, Spot, number},
    value,
};
use crate::{
    document::{AddressItem, Interface, Ip, Lease},
    errors::reason,
    raw::Raw,
};

pub(super) fn block(fields: &Fields<'_>, interface: &mut Interface) {
    for (key, family, section) in [("ipv4", Family::Ipv4, Section::Ipv4), ("ipv6", Family::Ipv6, Section::Ipv6)] {
        let Some(spot) = fields.take_named(key) else { continue };
        let Some(fields) = spot.fields() else { continue };
        value::section(&fields, section, &mut interface.attrs);
        *interface.ip_mut(family) = ip(&fields, family);
        fields.finish();
    }
}

fn ip(fields: &Fields<'_>, family: Family) -> Ip {
    Ip {
        enabled: fields.bool(&["enabled"]),
        addresses: fields.take(&["address", "addresses"]).and_then(|s| addresses(&s, family)),
        allow_extra_address: fields.bool(&["allow-extra-address"]),
        prefix_route_metric: fields.u32(&["prefix-route-metric"]),
        neighbors: fields.take(&["neighbors"]).and_then(|s| neighbors(&s, family)),
        dhcp: fields.bool(&["dhcp"]),
        lease: lease(fields, family),
    }
}

fn lease(fields: &Fields<'_>, family: Family) -> Lease {
    Lease {
        auto_dns: fields.bool(&["auto-dns"]),
        auto_gateway: fields.bool(&["auto-gateway"]),
        auto_routes: fields.bool(&["auto-routes"]),
        route_table: fields.u32(&["auto-route-table-id"]),
        route_metric: fields.u32(&["auto-route-metric"]),
        client_id: (family == Family::Ipv4).then(|| fields.text(&["dhcp-client-id"])).flatten(),
        duid: (family == Family::Ipv6).then(|| fields.text(&["dhcp-duid"])).flatten(),
        send_hostname: fields.bool(&["dhcp-send-hostname"]),
        custom_hostname: fields.text(&["dhcp-custom-hostname"]),
    }
}

fn addresses(spot: &Spot<'_>, family: Family) -> Option<Vec<AddressItem>> {
    let mut list: Vec<AddressItem> = Vec::new();
    for item in spot.items()? {
        let Some(read) = address(&item, family) else { continue };
        // IPv6 knows an address once on a link, whatever its prefix.
        let twin = |a: &AddressItem| a.ip == read.ip && (family == Family::Ipv6 || a.prefix_len == read.prefix_len);
        if list.iter().any(twin) {
            item.refuse(reason::DUPLICATE, format!("{} is already in the list; keep one", read.ip));
        }
        list.push(read);
    }
    Some(list)
}

fn address(spot: &Spot<'_>, family: Family) -> Option<AddressItem> {
    let fields = spot.fields()?;
    let ip = fields.required(&["ip"]).and_then(|s| usable_ip(&s, family));
    let prefix_len = fields.required(&["prefix-length"]).and_then(|s| s.int(0, family.max_prefix_len().into()));
    let valid = fields.take(&["valid-life-time"]).and_then(|s| lifetime(&s));
    let preferred = fields.take(&["preferred-life-time"]).and_then(|s| lifetime(&s));
    let protocol = fields.take(&["protocol"]).and_then(|s| protocol(&s, ADDRESS_PROTOCOLS));
    let mptcp = fields.take(&["mptcp-flags"]).map(|s| Raw::of(s.node));
    fields.finish();
    if let (Some(Lifetime::Seconds(valid)), Some(preferred)) = (valid, preferred)
        && (preferred == Lifetime::Forever || matches!(preferred, Lifetime::Seconds(s) if s > valid))
    {
        spot.refuse(reason::CONTRADICTION, "preferred-life-time is above valid-life-time");
    }
    Some(AddressItem { ip: ip?, prefix_len: prefix_len?, valid, preferred, protocol, mptcp })
}

/// An address of the family that a link can have.
fn usable_ip(spot: &Spot<'_>, family: Family) -> Option<IpAddr> {
    let ip = family_ip(spot, family)?;
    if ip.is_unspecified() || ip.is_multicast() {
        spot.refuse(reason::INVALID_VALUE, format!("{ip} is no address that a link can have"));
    }
    Some(ip)
}

pub(super) fn family_ip(spot: &Spot<'_>, family: Family) -> Option<IpAddr> {
    let ip: IpAddr = spot.parse("IP address")?;
    if Family::of(ip) != family {
        spot.refuse(reason::INVALID_VALUE, format!("{ip} is no {family} address; move it to the other family's block"));
    }
    Some(ip)
}

/// `forever`, a number of seconds, or a number with `sec` behind it.
fn lifetime(spot: &Spot<'_>) -> Option<Lifetime> {
    let text = spot.text()?;
    if text.eq_ignore_ascii_case("forever") {
        return Some(Lifetime::Forever);
    }
    let digits = text.strip_suffix("sec").or_else(|| text.strip_suffix('s')).unwrap_or(text).trim();
    let seconds = number(digits).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    match seconds {
        // The kernel's own spelling of "for ever".
        Some(u32::MAX) => Some(Lifetime::Forever),
        Some(seconds) => Some(Lifetime::Seconds(seconds)),
        None => {
            spot.refuse(reason::INVALID_VALUE, format!("{text:?}: must be forever or seconds such as 3600sec"));
            None
        }
    }
}

const ADDRESS_PROTOCOLS: &[(&str, Protocol)] = &[
    ("unspecified", Protocol::UNSPEC),
    ("kernel-lo", Protocol::ADDRESS_KERNEL_LO),
    ("kernel-ra", Protocol::ADDRESS_KERNEL_RA),
    ("kernel-ll", Protocol::ADDRESS_KERNEL_LL),
    ("netloom", Protocol::NETLOOM),
];

/// A protocol by number or by one of some words.
pub(super) fn protocol(spot: &Spot<'_>, words: &[(&str, Protocol)]) -> Option<Protocol> {
    if spot.scalar().and_then(number).is_some() {
        return spot.int(0, 255).map(Protocol);
    }
    spot.word(words)
}

fn neighbors(spot: &Spot<'_>, family: Family) -> Option<Vec<Neighbour>> {
    let mut list: Vec<Neighbour> = Vec::new();
    for item in spot.items()? {
        let fields = item.fields()?;
        let ip = fields.required(&["ip"]).and_then(|s| usable_ip(&s, family));
        let mac = fields
            .required(&["linkLayerAddress", "link-layer-address"])
            .and_then(|s| s.parse::<MacAddr>("MAC address"));
        fields.finish();
        let (Some(ip), Some(mac)) = (ip, mac) else { continue };
        if list.iter().any(|n| n.ip == ip) {
            item.refuse(reason::DUPLICATE, format!("{ip} is already in the list; keep one"));
        }
        list.push(Neighbour { ip, mac });
    }
    Some(list)
}
