//! Reads `route-rules`.

use std::net::IpAddr;

use ipnet::IpNet;
use netloom_model::{PortRange, UidRange};
use netloom_types::{Family, Protocol};

use super::{
    ip::protocol,
    layer2::ip_protocol,
    routes::unless_minus_one,
    spot::{Fields, Spot, number},
};
use crate::{
    document::{RuleEntry, RulePrefix},
    errors::reason,
    words::RULE_ACTIONS,
};

pub(super) fn list(spot: &Spot<'_>) -> Vec<RuleEntry> {
    spot.items().into_iter().flatten().filter_map(|item| rule(&item)).collect()
}

fn rule(spot: &Spot<'_>) -> Option<RuleEntry> {
    let fields = spot.fields()?;
    let words = &[("ipv4", Family::Ipv4), ("ipv6", Family::Ipv6)];
    let protocols = &[("kernel", Protocol::KERNEL), ("static", Protocol::STATIC), ("netloom", Protocol::NETLOOM)];
    let entry = RuleEntry {
        absent: fields.take(&["state"]).and_then(|s| s.word(&[("absent", true)])).unwrap_or_default(),
        family: fields.take(&["family"]).and_then(|s| s.word(words)),
        from: prefix(&fields, &["ip-from"]),
        to: prefix(&fields, &["ip-to"]),
        priority: unless_minus_one(&fields, &["priority"]),
        table: fields.u32(&["route-table"]),
        fwmark: fields.u32(&["fwmark"]),
        fwmask: fields.u32(&["fwmask"]),
        iif: fields.parse(&["iif"], "link name"),
        oif: fields.parse(&["oif"], "link name"),
        action: fields.take(&["action"]).and_then(|s| s.word(RULE_ACTIONS)),
        l3mdev: fields.bool(&["l3mdev"]),
        goto: fields.u32(&["goto"]),
        nop: fields.bool(&["nop"]),
        invert: fields.bool(&["invert"]),
        tos: fields.int(&["tos"], 0, 255),
        ip_proto: fields.take(&["ip-protocol"]).and_then(|s| ip_protocol(&s)),
        sport: range(&fields, &["source-port"], 0xffff).and_then(ports),
        dport: range(&fields, &["destination-port"], 0xffff).and_then(ports),
        uid: range(&fields, &["uid-range"], u32::MAX).map(|(first, last)| UidRange { first, last }),
        tun_id: fields.int(&["tun-id"], 0, u64::MAX.into()),
        suppress_prefix_length: fields.int(&["suppress-prefix-length"], 0, 128),
        suppress_group: fields.u32(&["suppress-group"]),
        protocol: fields.take(&["protocol"]).and_then(|s| protocol(&s, protocols)),
    };
    fields.finish();
    check_family(spot, &entry);
    Some(entry)
}

fn check_family(spot: &Spot<'_>, entry: &RuleEntry) {
    let given = [
        ("family", entry.family),
        ("ip-from", entry.from.net().map(Family::of_net)),
        ("ip-to", entry.to.net().map(Family::of_net)),
    ];
    let mut first: Option<(&str, Family)> = None;
    for (key, family) in given.into_iter().filter_map(|(key, family)| Some((key, family?))) {
        match first {
            Some((other, wanted)) if wanted != family => {
                spot.refuse_key(key, reason::CONTRADICTION, format!("this is {family}, and {other} is {wanted}"));
            }
            Some(_) => {}
            None => first = Some((key, family)),
        }
    }
}

fn prefix(fields: &Fields<'_>, keys: &'static [&'static str]) -> RulePrefix {
    let Some(spot) = fields.take(keys) else { return RulePrefix::Unspecified };
    let Some(text) = spot.text() else { return RulePrefix::Unspecified };
    if text.is_empty() {
        return RulePrefix::Empty;
    }
    let net: Option<IpNet> = match text.parse::<IpAddr>() {
        Ok(ip) => Some(ip.into()),
        Err(_) => spot.parse("prefix such as 192.0.2.0/24"),
    };
    net.map_or(RulePrefix::Unspecified, RulePrefix::Net)
}

/// `80` or `80-90`.
fn range(fields: &Fields<'_>, keys: &'static [&'static str], max: u32) -> Option<(u32, u32)> {
    let spot = fields.take(keys)?;
    let text = spot.text()?;
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let one = |text: &str| number(text.trim()).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= max);
    match (one(first), one(last)) {
        (Some(first), Some(last)) if first <= last => Some((first, last)),
        _ => {
            let message = format!("{text:?}: must be a number up to {max} or two with '-' between, lower one first");
            spot.refuse(reason::INVALID_VALUE, message);
            None
        }
    }
}

fn ports((first, last): (u32, u32)) -> Option<PortRange> {
    Some(PortRange { first: u16::try_from(first).ok()?, last: u16::try_from(last).ok()? })
}
