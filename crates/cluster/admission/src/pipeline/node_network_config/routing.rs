//! VRFs of a node: names, sessions, filters, routes and mirrors.

use std::{collections::BTreeSet, net::IpAddr};

use netloom_api::pipeline::node_network_config::{
    NodeNetworkConfigSpec,
    routing::{BgpPeer, Filter, Gre, MirrorAcl, StaticRoute, Vrf},
};
use netloom_types::Family;

use super::interface_name;
use crate::{
    Findings,
    fabric::{traffic, value},
};

pub(super) fn check(findings: &mut Findings, spec: &NodeNetworkConfigSpec) {
    let tunnels: BTreeSet<&str> = vrfs(spec).flat_map(|(_, vrf)| vrf.gres.keys()).map(String::as_str).collect();
    for (path, vrf) in vrfs(spec) {
        check_vrf(findings, &path, vrf, &tunnels);
    }
    for name in spec.fabric_vrfs.keys() {
        interface_name(findings, &format!("spec.fabricVRFs[{name}]"), name);
    }
    for name in spec.local_vrfs.keys() {
        let path = format!("spec.localVRFs[{name}]");
        interface_name(findings, &path, name);
        if spec.fabric_vrfs.contains_key(name) {
            findings.duplicate(path, &**name, "a fabric VRF has this name");
        }
    }
    for (name, vrf) in &spec.fabric_vrfs {
        let path = format!("spec.fabricVRFs[{name}]");
        for (field, targets) in [
            ("evpnImportRouteTargets", &vrf.evpn_import_route_targets),
            ("evpnExportRouteTargets", &vrf.evpn_export_route_targets),
        ] {
            for (index, target) in targets.iter().enumerate() {
                value::route_target(findings, &format!("{path}.{field}[{index}]"), target);
            }
        }
        check_filter(findings, &format!("{path}.evpnExportFilter"), vrf.evpn_export_filter.as_ref());
    }
    for (key, layer2) in &spec.layer2s {
        check_mirrors(findings, &format!("spec.layer2s[{key}]"), &layer2.mirror_acls, &tunnels);
    }
}

/// All VRFs of a node with the paths that lead to them.
fn vrfs(spec: &NodeNetworkConfigSpec) -> impl Iterator<Item = (String, &Vrf)> {
    let cluster = spec.cluster_vrf.iter().map(|vrf| ("spec.clusterVRF".to_owned(), vrf));
    let fabric = spec.fabric_vrfs.iter().map(|(name, vrf)| (format!("spec.fabricVRFs[{name}]"), &vrf.vrf));
    let local = spec.local_vrfs.iter().map(|(name, vrf)| (format!("spec.localVRFs[{name}]"), vrf));
    cluster.chain(fabric).chain(local)
}

fn check_vrf(findings: &mut Findings, path: &str, vrf: &Vrf, tunnels: &BTreeSet<&str>) {
    for name in vrf.loopbacks.keys() {
        interface_name(findings, &format!("{path}.loopbacks[{name}]"), name);
    }
    for (index, peer) in vrf.bgp_peers.iter().enumerate() {
        check_peer(findings, &format!("{path}.bgpPeers[{index}]"), peer);
    }
    for (index, import) in vrf.vrf_imports.iter().enumerate() {
        check_filter(findings, &format!("{path}.vrfImports[{index}].filter"), Some(&import.filter));
    }
    for (index, route) in vrf.static_routes.iter().enumerate() {
        check_route(findings, &format!("{path}.staticRoutes[{index}]"), route);
    }
    for (index, route) in vrf.policy_routes.iter().enumerate() {
        traffic::check(findings, &format!("{path}.policyRoutes[{index}].trafficMatch"), &route.traffic_match);
    }
    if let Some(redistribute) = &vrf.redistribute {
        check_filter(findings, &format!("{path}.redistribute.connected"), redistribute.connected.as_ref());
        check_filter(findings, &format!("{path}.redistribute.static"), redistribute.fixed.as_ref());
    }
    for (name, gre) in &vrf.gres {
        check_gre(findings, &format!("{path}.gres[{name}]"), name, gre);
    }
    check_mirrors(findings, path, &vrf.mirror_acls, tunnels);
}

fn check_peer(findings: &mut Findings, path: &str, peer: &BgpPeer) {
    match (&peer.address, &peer.listen_range) {
        (None, None) => findings.required(format!("{path}.address"), "one of address and listenRange must be given"),
        (Some(_), Some(_)) => {
            findings.forbidden(format!("{path}.listenRange"), "address and listenRange exclude each other");
        }
        (Some(address), None) => {
            value::station(findings, &format!("{path}.address"), address);
        }
        (None, Some(range)) => {
            value::prefix(findings, &format!("{path}.listenRange"), range);
        }
    }
    value::timers(findings, path, peer.hold_time.as_ref(), peer.keepalive_time.as_ref());
    for (family, exchanged) in [("ipv4", &peer.ipv4), ("ipv6", &peer.ipv6)] {
        let Some(exchanged) = exchanged else { continue };
        check_filter(findings, &format!("{path}.{family}.exportFilter"), exchanged.export_filter.as_ref());
        check_filter(findings, &format!("{path}.{family}.importFilter"), exchanged.import_filter.as_ref());
    }
}

fn check_filter(findings: &mut Findings, path: &str, filter: Option<&Filter>) {
    let Some(filter) = filter else { return };
    for (index, item) in filter.items.iter().enumerate() {
        let Some(matcher) = &item.matcher.prefix else { continue };
        let path = format!("{path}.items[{index}].matcher.prefix");
        let Some(net) = value::prefix(findings, &format!("{path}.prefix"), &matcher.prefix) else { continue };
        let (least, most) = (net.prefix_len(), net.max_prefix_len());
        for (field, length) in [("ge", matcher.ge), ("le", matcher.le)] {
            if let Some(length) = length.filter(|length| !(least..=most).contains(length)) {
                findings.invalid(
                    format!("{path}.{field}"),
                    length,
                    format!("must be from {least} to {most} for {net}"),
                );
            }
        }
    }
}

fn check_route(findings: &mut Findings, path: &str, route: &StaticRoute) {
    let net = value::prefix(findings, &format!("{path}.prefix"), &route.prefix);
    let gateway = route.next_hop.as_ref().and_then(|hop| hop.address.as_ref());
    let gateway_path = format!("{path}.nextHop.address");
    if let (Some(net), Some(text)) = (net, gateway) {
        value::station_of(findings, &gateway_path, text, Family::of_net(net));
    }
}

fn check_gre(findings: &mut Findings, path: &str, name: &str, gre: &Gre) {
    interface_name(findings, path, name);
    let near = value::station(findings, &format!("{path}.sourceAddress"), &gre.source_address);
    let far = value::station(findings, &format!("{path}.destinationAddress"), &gre.destination_address);
    if let (Some(near), Some(far)) = (near, far)
        && IpAddr::is_ipv4(&near) != IpAddr::is_ipv4(&far)
    {
        findings.invalid(
            format!("{path}.destinationAddress"),
            far.to_string(),
            "must be of the family of sourceAddress",
        );
    }
}

fn check_mirrors(findings: &mut Findings, path: &str, acls: &[MirrorAcl], tunnels: &BTreeSet<&str>) {
    for (index, acl) in acls.iter().enumerate() {
        let path = format!("{path}.mirrorAcls[{index}]");
        traffic::check(findings, &format!("{path}.trafficMatch"), &acl.traffic_match);
        if !tunnels.contains(acl.mirror_destination.as_str()) {
            findings.not_found(
                format!("{path}.mirrorDestination"),
                &*acl.mirror_destination,
                "no VRF of the node has a tunnel of this name",
            );
        }
    }
}
