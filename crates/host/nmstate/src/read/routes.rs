//! Reads `routes`.

use std::net::IpAddr;

use ipnet::IpNet;
use netloom_types::{Family, Protocol};

use super::{
    ip::protocol,
    spot::{Fields, Spot},
};
use crate::{
    document::{EntryState, RouteEntry},
    errors::reason,
    words::ROUTE_TYPES,
};

const ROUTE_PROTOCOLS: &[(&str, Protocol)] = &[
    ("kernel", Protocol::KERNEL),
    ("boot", Protocol::BOOT),
    ("static", Protocol::STATIC),
    ("ra", Protocol::RA),
    ("dhcp", Protocol::DHCP),
    ("netloom", Protocol::NETLOOM),
];

pub(super) fn list(spot: &Spot<'_>) -> Vec<RouteEntry> {
    spot.items().into_iter().flatten().filter_map(|item| route(&item)).collect()
}

fn route(spot: &Spot<'_>) -> Option<RouteEntry> {
    let fields = spot.fields()?;
    let state = fields
        .take(&["state"])
        .and_then(|s| s.word(&[("absent", EntryState::Absent), ("ignore", EntryState::Ignore)]))
        .unwrap_or_default();
    let entry = RouteEntry {
        state,
        destination: fields.take(&["destination"]).and_then(|s| destination(&s)),
        next_hop_interface: fields.take(&["next-hop-interface"]).and_then(|s| non_empty(&s)?.parse("link name")),
        next_hop_address: fields.take(&["next-hop-address"]).and_then(|s| next_hop(&s)),
        on_link: fields.bool(&["on-link"]),
        metric: unless_minus_one(&fields, &["metric"]),
        table_id: fields.u32(&["table-id"]),
        vrf_name: fields.take(&["vrf-name"]).and_then(|s| non_empty(&s)?.parse("link name")),
        weight: fields.int(&["weight"], 1, 256),
        route_type: fields.take(&["route-type"]).and_then(|s| s.word(ROUTE_TYPES)),
        source: fields.take(&["source"]).and_then(|s| non_empty(&s)?.parse("IP address")),
        mtu: fields.int(&["mtu"], 1, u32::MAX.into()),
        lock_mtu: fields.bool(&["lock-mtu"]),
        advmss: fields.u32(&["advmss"]),
        cwnd: fields.int(&["cwnd"], 1, u32::MAX.into()),
        initcwnd: fields.u32(&["initcwnd"]),
        initrwnd: fields.u32(&["initrwnd"]),
        quickack: fields.bool(&["quickack"]),
        protocol: fields.take(&["protocol"]).and_then(|s| protocol(&s, ROUTE_PROTOCOLS)),
    };
    fields.finish();
    check_families(spot, &entry);
    Some(entry)
}

fn check_families(spot: &Spot<'_>, entry: &RouteEntry) {
    let Some(family) = entry.destination.map(Family::of_net) else { return };
    for (key, ip) in [("next-hop-address", entry.next_hop_address), ("source", entry.source)] {
        if let Some(ip) = ip
            && Family::of(ip) != family
        {
            spot.refuse_key(key, reason::INVALID_VALUE, format!("{ip} is no {family} address, the destination is"));
        }
    }
}

/// A value that counts as not written when it is the empty text.
fn non_empty<'s, 'a>(spot: &'s Spot<'a>) -> Option<&'s Spot<'a>> {
    (spot.scalar() != Some("")).then_some(spot)
}

fn destination(spot: &Spot<'_>) -> Option<IpNet> {
    let spot = non_empty(spot)?;
    match spot.text()?.parse::<IpAddr>() {
        Ok(ip) => Some(ip.into()),
        Err(_) => spot.parse("prefix such as 192.0.2.0/24"),
    }
}

/// Reports write an unspecified address where there is no router.
fn next_hop(spot: &Spot<'_>) -> Option<IpAddr> {
    non_empty(spot)?.parse("IP address").filter(|ip: &IpAddr| !ip.is_unspecified())
}

/// A number in which -1 stands for "not set".
pub(super) fn unless_minus_one(fields: &Fields<'_>, keys: &'static [&'static str]) -> Option<u32> {
    let number: i64 = fields.int(keys, -1, u32::MAX.into())?;
    u32::try_from(number).ok()
}
