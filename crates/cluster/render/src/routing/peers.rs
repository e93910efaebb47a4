//! BGP sessions of a VRF.

use std::net::IpAddr;

use netloom_api::pipeline::node_network_config::routing::{AddressFamily, BfdProfile, BgpPeer};
use netloom_types::{Family, IpNet};

use super::{filters, instance::Instance};
use crate::{
    context::{Made, Place, parse},
    error::RenderError,
    names, value,
};

/// How long a session lasts without a sign of life, in seconds, where nothing is given.
const HOLD: u16 = 90;
/// How often a sign of life is sent, in seconds, where nothing is given.
const KEEPALIVE: u16 = 30;

/// Adds the sessions of a VRF.
pub(crate) fn peers(
    made: &mut Made,
    place: Place<'_>,
    instance: &Instance,
    peers: &[BgpPeer],
) -> Result<(), RenderError> {
    let mut known: Vec<String> = Vec::new();
    for (at, peer) in peers.iter().enumerate() {
        let path = format!("{}.bgpPeers[{at}]", place.path);
        let before = made.lines.asked_by_entry(peer.origin.as_ref());
        let shown = add(made, place, instance, (peer, &path))?;
        made.lines.asked_by(before);
        if known.contains(&shown) {
            return Err(RenderError::conflict(path, format!("a peer {shown} is listed already; put them into one")));
        }
        known.push(shown);
    }
    Ok(())
}

/// Adds one; gives what tells it from others.
fn add(
    made: &mut Made,
    place: Place<'_>,
    instance: &Instance,
    (peer, path): (&BgpPeer, &str),
) -> Result<String, RenderError> {
    let BgpPeer {
        address,
        listen_range,
        remote_asn,
        ipv4,
        ipv6,
        bfd_profile,
        multihop,
        hold_time,
        keepalive_time,
        password,
        origin: _,
    } = peer;
    let field = |name: &str| format!("{path}.{name}");
    let (name, shown) = match (address, listen_range) {
        (Some(address), None) => {
            let ip: IpAddr = parse(|| field("address"), address)?;
            (ip.to_string(), ip.to_string())
        }
        (None, Some(range)) => {
            let range: IpNet = parse(|| field("listenRange"), range)?;
            let range = range.trunc();
            let group = names::group(range);
            instance.neighbor(made, &group, "peer-group");
            (group, range.to_string())
        }
        (Some(_), Some(_)) => {
            return Err(RenderError::conflict(field("listenRange"), "excludes address; keep one of them"));
        }
        (None, None) => return Err(RenderError::invalid(path, "needs address or listenRange")),
    };
    instance.neighbor(made, &name, &format!("remote-as {remote_asn}"));
    if listen_range.is_some() {
        instance.line(made, &format!("bgp listen range {shown} peer-group {name}"));
    }
    let read = |name: &str, span: &Option<netloom_api::fabric::text::Span>| {
        let seconds = span.as_ref().map(|span| value::seconds(span)).transpose();
        seconds.map_err(|why| RenderError::invalid(field(name), why))
    };
    let hold = read("holdTime", hold_time)?;
    // A session that ends soon needs signs of life more often than by default.
    let often = || KEEPALIVE.min(hold.unwrap_or(HOLD) / 3);
    let (hold, keepalive) = (hold.unwrap_or(HOLD), read("keepaliveTime", keepalive_time)?.unwrap_or_else(often));
    value::check_timers(keepalive, hold).map_err(|why| RenderError::invalid(field("holdTime"), why))?;
    instance.neighbor(made, &name, &format!("timers {keepalive} {hold}"));
    if let Some(BfdProfile { min_interval }) = bfd_profile {
        instance.watch(made, &name, *min_interval);
    }
    if let Some(hops) = multihop {
        if *hops == u8::MAX {
            return Err(RenderError::invalid(field("multihop"), "a packet passes 254 routers at most"));
        }
        instance.neighbor(made, &name, &format!("ttl-security hops {hops}"));
    }
    if let Some(password) = password {
        check_password(password).map_err(|why| RenderError::invalid(field("password"), why))?;
        instance.neighbor(made, &name, &format!("password {password}"));
    }
    for (family, part, key) in [(Family::Ipv4, ipv4, "ipv4"), (Family::Ipv6, ipv6, "ipv6")] {
        let Some(part) = part else { continue };
        add_family(made, (place, instance), (&name, &shown, family), (part, &field(key)))?;
    }
    Ok(shown)
}

fn add_family(
    made: &mut Made,
    (place, instance): (Place<'_>, &Instance),
    (name, shown, family): (&str, &str, Family),
    (part, path): (&AddressFamily, &str),
) -> Result<(), RenderError> {
    let AddressFamily { export_filter, import_filter, max_prefixes } = part;
    instance.of_family(made, family, &format!("neighbor {name} activate"));
    if let Some(most) = max_prefixes {
        instance.of_family(made, family, &format!("neighbor {name} maximum-prefix {most}"));
    }
    for (filter, key, direction) in [(import_filter, "importFilter", "in"), (export_filter, "exportFilter", "out")] {
        let Some(filter) = filter else { continue };
        let map = names::session(place.name.as_str(), shown, family, direction);
        filters::map(&mut made.lines, &map, filter, &format!("{path}.{key}"))?;
        instance.of_family(made, family, &format!("neighbor {name} route-map {map} {direction}"));
    }
    Ok(())
}

/// Whether a password is one word of a line. The message does not show it.
fn check_password(password: &str) -> Result<(), String> {
    if !password.is_empty() && password.len() <= 80 && password.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(());
    }
    Err("must be 1 to 80 characters of ASCII without spaces: FRR takes no other ones".to_owned())
}
