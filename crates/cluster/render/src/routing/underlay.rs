//! What the base file makes of the routing configuration: the underlay, and the VRFs that were there before.

use netloom_api::pipeline::node_network_config::Layer2;
use netloom_types::{Family, IfName, IpNet};

use super::{TAKEN, filters, instance::Instance};
use crate::{
    base::{Base, BaseNeighbor, Peer, RemoteAsn, Source},
    context::{Context, Made, vni},
    error::RenderError,
    names,
    value::{FROM_FABRIC, route_target},
};

/// Adds the instance of the underlay, with the segments whose route targets are given.
pub(super) fn instance(cx: &Context<'_>, made: &mut Made) -> Result<(), RenderError> {
    let base = cx.base;
    let instance = Instance::new(made, base, None);
    instance.line(made, "bgp bestpath as-path multipath-relax");
    instance.of_family(made, Family::Ipv4, &format!("network {}/32", base.vtep));
    instance.of_fabric(made, "advertise-all-vni");
    for neighbor in &base.underlay_neighbors {
        self::neighbor(made, base, &instance, neighbor);
        keep_apart(made, base, &instance, neighbor);
    }
    if !base.underlay_neighbors.is_empty() {
        maps(made);
    }
    for (key, Layer2 { vni: number, route_target: target, .. }) in &cx.config.layer2s {
        if target.is_empty() {
            continue;
        }
        let field = |name: &str| format!("spec.layer2s.{key}.{name}");
        let vni = vni(|| field("vni"), *number)?;
        let target = route_target(target).map_err(|why| RenderError::invalid(field("routeTarget"), why))?;
        for target in instance.shown(&[target], vni) {
            instance.of_segment(made, vni, &format!("route-target import {target}"));
            instance.of_segment(made, vni, &format!("route-target export {target}"));
        }
    }
    Ok(())
}

/// Adds a neighbour of the base file.
pub(super) fn neighbor(made: &mut Made, base: &Base, instance: &Instance, neighbor: &BaseNeighbor) {
    let BaseNeighbor { peer, update_source, remote_asn, local_asn, timers, bfd, ipv4, ipv6, evpn } = neighbor;
    let name = name(*peer);
    let remote = match remote_asn {
        RemoteAsn::Number(number) => number.to_string(),
        RemoteAsn::Internal => "internal".to_owned(),
        RemoteAsn::External => "external".to_owned(),
    };
    let link = if matches!(peer, Peer::Interface(_)) { "interface " } else { "" };
    instance.neighbor(made, &name, &format!("{link}remote-as {remote}"));
    if let Some(shown) = local_asn.filter(|shown| *shown != base.local_asn) {
        instance.neighbor(made, &name, &format!("local-as {shown} no-prepend replace-as"));
    }
    if let Some(interval) = bfd {
        instance.watch(made, &name, *interval);
    }
    if let Some(source) = update_source {
        let source = match source {
            Source::Address(ip) => ip.to_string(),
            Source::Interface(link) => link.to_string(),
        };
        instance.neighbor(made, &name, "disable-connected-check");
        instance.neighbor(made, &name, &format!("update-source {source}"));
    }
    if let Some((keepalive, hold)) = timers {
        instance.neighbor(made, &name, &format!("timers {keepalive} {hold}"));
    }
    for (family, exchanged) in [(Family::Ipv4, ipv4), (Family::Ipv6, ipv6)] {
        if *exchanged {
            instance.of_family(made, family, &format!("neighbor {name} activate"));
        }
    }
    if *evpn {
        instance.of_fabric(made, &format!("neighbor {name} activate"));
    }
}

/// Routes of the underlay are marked when they come in, and what is marked is not handed on: a node is no way for
/// others. Nodes share one autonomous system, so routes that carry it are taken.
fn keep_apart(made: &mut Made, base: &Base, instance: &Instance, neighbor: &BaseNeighbor) {
    let name = name(neighbor.peer);
    let is_internal = match neighbor.remote_asn {
        RemoteAsn::Number(number) => number == base.local_asn,
        RemoteAsn::Internal => true,
        RemoteAsn::External => false,
    };
    let mut lines =
        vec![format!("route-map {} in", names::UNDERLAY_IN), format!("route-map {} out", names::UNDERLAY_OUT)];
    if !is_internal {
        lines.push("allowas-in".to_owned());
    }
    for line in lines.iter().map(|line| format!("neighbor {name} {line}")) {
        for (family, _) in [(Family::Ipv4, neighbor.ipv4), (Family::Ipv6, neighbor.ipv6)].iter().filter(|(_, on)| *on) {
            instance.of_family(made, *family, &line);
        }
        if neighbor.evpn {
            instance.of_fabric(made, &line);
        }
    }
}

fn maps(made: &mut Made) {
    let list = filters::community_list(&mut made.lines, &[FROM_FABRIC]);
    let enter = format!("route-map {} permit 10", names::UNDERLAY_IN);
    made.lines.add(&[&enter], &format!("set community {FROM_FABRIC} additive"));
    made.lines.add(&[&enter], "set local-preference 100");
    made.lines.add(&[&format!("route-map {} deny 10", names::UNDERLAY_OUT)], &format!("match community {list}"));
    made.lines.add(&[], &format!("route-map {} permit 20", names::UNDERLAY_OUT));
}

/// Everything of the management's VRF but its default routes.
pub(super) fn management_into_cluster(made: &mut Made, map: &str, management: IfName) {
    for (number, family) in [(1, Family::Ipv4), (2, Family::Ipv6)] {
        let entry = format!("route-map {map} deny {number}");
        filters::prefix_list(&mut made.lines, names::DEFAULT_ROUTE, family, &[family.everything().to_string()]);
        made.lines.add(&[&entry], &filters::match_list(family, names::DEFAULT_ROUTE));
        made.lines.add(&[&entry], &format!("match source-vrf {management}"));
    }
    let entry = format!("route-map {map} permit 3");
    made.lines.add(&[&entry], &format!("match source-vrf {management}"));
    made.lines.add(&[&entry], TAKEN);
}

/// Of the cluster's VRF what lies in the networks that it announces.
pub(super) fn cluster_into_management(made: &mut Made, map: &str, base: &Base) {
    for (number, family) in [(1, Family::Ipv4), (2, Family::Ipv6)] {
        let of_family = |net: &&IpNet| Family::of_net(**net) == family;
        let most = family.max_prefix_len();
        let inside = |net: &IpNet| if net.prefix_len() == most { net.to_string() } else { format!("{net} le {most}") };
        let rules: Vec<String> = base.export_cidrs.iter().filter(of_family).map(inside).collect();
        if rules.is_empty() {
            continue;
        }
        let entry = format!("route-map {map} permit {number}");
        filters::prefix_list(&mut made.lines, names::EXPORTED, family, &rules);
        made.lines.add(&[&entry], &filters::match_list(family, names::EXPORTED));
        made.lines.add(&[&entry], &format!("match source-vrf {}", base.cluster_vrf.name));
    }
    made.lines.add(&[], &format!("route-map {map} deny {}", filters::LAST));
}

fn name(peer: Peer) -> String {
    match peer {
        Peer::Address(ip) => ip.to_string(),
        Peer::Interface(link) => link.to_string(),
    }
}
