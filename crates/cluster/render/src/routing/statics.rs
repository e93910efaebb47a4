//! Static routes of a VRF.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use netloom_api::pipeline::node_network_config::{
    host::EntryOrigin,
    routing::{RouteNextHop, StaticRoute},
};
use netloom_types::{Family, IfName, IpNet};

use crate::{
    context::{Context, Made, Place, parse},
    error::RenderError,
};

/// The way of a route; without any, packets are dropped.
type Way = Option<(Option<IpAddr>, Option<IfName>)>;

/// Adds the static routes of a VRF, and `aggregates`: networks that it announces as a whole and of which it drops what
/// no longer route leads further.
pub(crate) fn statics(
    cx: &Context<'_>,
    made: &mut Made,
    place: Place<'_>,
    routes: &[StaticRoute],
    aggregates: &[IpNet],
) -> Result<(), RenderError> {
    let mut ways: BTreeMap<IpNet, Vec<(Way, Option<&EntryOrigin>)>> =
        aggregates.iter().map(|net| (*net, vec![(None, None)])).collect();
    for (at, route) in routes.iter().enumerate() {
        let (net, way) = read(cx, place, route, &format!("{}.staticRoutes[{at}]", place.path))?;
        ways.entry(net).or_default().push((way, route.origin.as_ref()));
    }
    for (net, ways) in &mut ways {
        // The segment of an aggregate may be routed in another VRF, whose route would be worth less than that of the aggregate.
        if ways.iter().all(|(way, _)| way.is_none())
            && let Some(vrf) = cx.routed_in(*net).filter(|vrf| *vrf != place.name)
        {
            for (way, _) in ways {
                *way = Some((None, Some(vrf)));
            }
        }
    }
    let block = format!("vrf {}", place.name);
    for (net, ways) in ways {
        let leads = ways.iter().any(|(way, _)| way.is_some());
        if leads && ways.iter().any(|(way, _)| way.is_none()) {
            let note = format!("{}: {net} has a next hop, so packets to it are not dropped as well", place.path);
            made.notes.push(note);
        }
        // The daemon refuses a prefix that is dropped and has a next hop.
        for (way, origin) in ways.into_iter().filter(|(way, _)| way.is_some() || !leads) {
            let before = made.lines.asked_by_entry(origin);
            made.lines.add(&[&block], &line(net, way));
            made.lines.asked_by(before);
        }
    }
    Ok(())
}

fn read(cx: &Context<'_>, place: Place<'_>, route: &StaticRoute, path: &str) -> Result<(IpNet, Way), RenderError> {
    let StaticRoute { prefix, next_hop, bfd_profile, origin: _ } = route;
    if bfd_profile.is_some() {
        let message =
            "watching the next hop of a static route by BFD does not work yet: FRR 8.4 has no such line; remove it";
        return Err(RenderError::unsupported(format!("{path}.bfdProfile"), message));
    }
    let net: IpNet = parse(|| format!("{path}.prefix"), prefix)?;
    let net = net.trunc();
    let Some(RouteNextHop { address, vrf }) = next_hop else { return Ok((net, None)) };
    let field = |name: &str| format!("{path}.nextHop{name}");
    let address: Option<IpAddr> = address.as_ref().map(|ip| parse(|| field(".address"), ip)).transpose()?;
    if let Some(ip) = address.filter(|ip| Family::of(*ip) != Family::of_net(net)) {
        return Err(RenderError::invalid(field(".address"), format!("{ip} is of another family than {net}")));
    }
    let usable = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => *ip != Ipv4Addr::UNSPECIFIED && !ip.is_multicast(),
        IpAddr::V6(ip) => *ip != Ipv6Addr::UNSPECIFIED && !ip.is_multicast() && !ip.is_unicast_link_local(),
    };
    if let Some(ip) = address.filter(|ip| !usable(ip)) {
        return Err(RenderError::invalid(field(".address"), format!("{ip} is not the address of one router")));
    }
    let vrf = vrf.as_ref().map(|vrf| cx.vrf(|| field(".vrf"), vrf)).transpose()?;
    match (address, vrf.filter(|vrf| *vrf != place.name)) {
        (None, None) if vrf.is_some() => Err(RenderError::invalid(field(".vrf"), "is the VRF of the route itself")),
        (None, None) => {
            Err(RenderError::invalid(field(""), "names neither address nor vrf; without nextHop packets are dropped"))
        }
        way => Ok((net, Some(way))),
    }
}

fn line(net: IpNet, way: Way) -> String {
    let word = match Family::of_net(net) {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ipv6",
    };
    match way {
        None => format!("{word} route {net} blackhole"),
        Some((Some(ip), None)) => format!("{word} route {net} {ip}"),
        Some((Some(ip), Some(vrf))) => format!("{word} route {net} {ip} nexthop-vrf {vrf}"),
        Some((None, vrf)) => {
            let vrf = vrf.map(|vrf| vrf.to_string()).unwrap_or_default();
            format!("{word} route {net} {vrf} nexthop-vrf {vrf}")
        }
    }
}
