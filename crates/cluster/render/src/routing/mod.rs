//! The routing configuration of a node, as the daemon prints it.
//!
//! The words are those of FRR 8.4 with `frr defaults traditional`: a line that the daemon would not show is not made,
//! so that what it shows afterwards can be compared line by line.

mod filters;
mod instance;
mod peers;
mod statics;
mod underlay;

use netloom_api::pipeline::node_network_config::routing::{FabricVrf, Redistribute, Vrf, VrfImport};
use netloom_types::{Family, IfName, Vni};

use self::instance::Instance;
use crate::{
    base::BaseVrf,
    context::{Context, Made, Place, vni},
    digest,
    error::RenderError,
    names,
    value::{FROM_FABRIC, RouteTarget, route_target},
};

/// What the cluster VRF takes from others counts less than its own routes.
const TAKEN: &str = "set local-preference 50";

/// Adds all lines.
pub(crate) fn lines(cx: &Context<'_>, made: &mut Made) -> Result<(), RenderError> {
    underlay::instance(cx, made)?;
    let nothing = Vrf::default();
    let cluster = cx.config.cluster_vrf.as_ref().unwrap_or(&nothing);
    let place = Place { name: cx.base.cluster_vrf.name, path: "spec.clusterVRF" };
    let instance = vrf(cx, made, place, cluster)?;
    made.lines.asked_by(None);
    for neighbor in &cx.base.cluster_neighbors {
        underlay::neighbor(made, cx.base, &instance, neighbor);
    }
    base_fabric(made, &instance, &cx.base.cluster_vrf);
    if let Some(management) = &cx.base.management_vrf {
        let place = Place { name: management.name, path: "the base file" };
        let instance = vrf(cx, made, place, &nothing)?;
        made.lines.asked_by(None);
        base_fabric(made, &instance, management);
    }
    for (name, local) in &cx.config.local_vrfs {
        let path = format!("spec.localVRFs.{name}");
        vrf(cx, made, Place { name: cx.vrf(|| path.clone(), name)?, path: &path }, local)?;
    }
    for (name, fabric) in &cx.config.fabric_vrfs {
        let path = format!("spec.fabricVRFs.{name}");
        let place = Place { name: cx.vrf(|| path.clone(), name)?, path: &path };
        let instance = vrf(cx, made, place, &fabric.vrf)?;
        fabric_vrf(made, place, &instance, fabric)?;
    }
    Ok(())
}

/// What every VRF has; the rest of its fields is refused, or is for links and rules.
fn vrf(cx: &Context<'_>, made: &mut Made, place: Place<'_>, vrf: &Vrf) -> Result<Instance, RenderError> {
    let Vrf {
        loopbacks,
        bgp_peers,
        vrf_imports,
        static_routes,
        policy_routes: _,
        mirror_acls,
        redistribute: announced,
        gres,
        origin,
    } = vrf;
    let unsupported = |name: &str, what: &str| {
        Err(RenderError::unsupported(format!("{}.{name}", place.path), format!("{what} cannot be made yet; remove it")))
    };
    match () {
        () if !loopbacks.is_empty() => return unsupported("loopbacks", "a loopback interface"),
        () if !gres.is_empty() => return unsupported("gres", "a mirror tunnel"),
        () if !mirror_acls.is_empty() => return unsupported("mirrorAcls", "copies of traffic"),
        () => {}
    }
    let is_base = cx.base.vrfs().any(|base| base.name == place.name) && *vrf == Vrf::default();
    made.lines.asked_by((!is_base).then(|| cx.asked(origin.as_ref(), place.path)));
    let is_cluster = place.name == cx.base.cluster_vrf.name;
    let aggregates: &[_] = if is_cluster { &cx.base.export_cidrs } else { &[] };
    statics::statics(cx, made, place, static_routes, aggregates)?;
    let instance = Instance::new(made, cx.base, Some(place.name));
    peers::peers(made, place, &instance, bgp_peers)?;
    redistribute(made, place, &instance, announced.as_ref())?;
    imports(cx, made, (place, &instance), vrf_imports)?;
    Ok(instance)
}

/// Without a filter, all routes are announced.
fn redistribute(
    made: &mut Made,
    place: Place<'_>,
    instance: &Instance,
    announced: Option<&Redistribute>,
) -> Result<(), RenderError> {
    let nothing = Redistribute::default();
    let Redistribute { connected, fixed } = announced.unwrap_or(&nothing);
    instance.of_families(made, "redistribute kernel");
    for (source, filter) in [("connected", connected), ("static", fixed)] {
        let Some(filter) = filter else {
            instance.of_families(made, &format!("redistribute {source}"));
            continue;
        };
        let map = names::redistributed(place.name.as_str(), source);
        filters::map(&mut made.lines, &map, filter, &format!("{}.redistribute.{source}", place.path))?;
        instance.of_families(made, &format!("redistribute {source} route-map {map}"));
    }
    Ok(())
}

/// What a VRF takes from others: one map with an entry for each of them, which calls the map of its filter.
fn imports(
    cx: &Context<'_>,
    made: &mut Made,
    (place, instance): (Place<'_>, &Instance),
    imports: &[VrfImport],
) -> Result<(), RenderError> {
    let map = names::imports(place.name.as_str());
    let is_cluster = place.name == cx.base.cluster_vrf.name;
    let management = cx.base.management_vrf.as_ref().map(|vrf| vrf.name);
    let mut taken: Vec<IfName> = Vec::new();
    if is_cluster && let Some(management) = management {
        underlay::management_into_cluster(made, &map, management);
        taken.push(management);
    }
    if management == Some(place.name) {
        underlay::cluster_into_management(made, &map, cx.base);
        taken.push(cx.base.cluster_vrf.name);
    }
    let from = imports.iter().map(|import| import.from_vrf.as_str());
    let numbers = digest::numbers(from, filters::FIRST, filters::LAST);
    for (at, VrfImport { from_vrf, filter, origin }) in imports.iter().enumerate() {
        let before = made.lines.asked_by_entry(origin.as_ref());
        let path = format!("{}.vrfImports[{at}]", place.path);
        let from = cx.vrf(|| format!("{path}.fromVrf"), from_vrf)?;
        if from == place.name {
            return Err(RenderError::invalid(format!("{path}.fromVrf"), "a VRF has its own routes already"));
        }
        if taken.contains(&from) {
            let message = format!("routes of {from} are taken already; put both filters into one");
            return Err(RenderError::conflict(format!("{path}.fromVrf"), message));
        }
        taken.push(from);
        let called = names::import(place.name.as_str(), from.as_str());
        filters::map(&mut made.lines, &called, filter, &format!("{path}.filter"))?;
        let entry = format!("route-map {map} permit {}", numbers[from.as_str()]);
        made.lines.add(&[&entry], &format!("call {called}"));
        made.lines.add(&[&entry], &format!("match source-vrf {from}"));
        if is_cluster {
            made.lines.add(&[&entry], TAKEN);
        }
        made.lines.asked_by(before);
    }
    if !taken.is_empty() {
        instance.of_families(made, &format!("import vrf route-map {map}"));
    }
    for from in taken {
        instance.of_families(made, &format!("import vrf {from}"));
    }
    Ok(())
}

fn fabric_vrf(made: &mut Made, place: Place<'_>, instance: &Instance, fabric: &FabricVrf) -> Result<(), RenderError> {
    let FabricVrf { vrf: _, vni: number, evpn_import_route_targets, evpn_export_route_targets, evpn_export_filter } =
        fabric;
    let field = |name: &str| format!("{}.{name}", place.path);
    let vni = vni(|| field("vni"), *number)?;
    let read = |name: &str, texts: &[netloom_api::fabric::text::RouteTarget]| {
        let read = |(at, text): (usize, &netloom_api::fabric::text::RouteTarget)| {
            route_target(text).map_err(|why| RenderError::invalid(format!("{}[{at}]", field(name)), why))
        };
        texts.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()
    };
    let imported = read("evpnImportRouteTargets", evpn_import_route_targets)?;
    let exported = read("evpnExportRouteTargets", evpn_export_route_targets)?;
    let map = match evpn_export_filter {
        Some(filter) => {
            let map = names::export(place.name.as_str());
            filters::map(&mut made.lines, &map, filter, &field("evpnExportFilter"))?;
            Some(map)
        }
        None => None,
    };
    announce(made, instance, (place.name, vni), (&imported, &exported), map);
    Ok(())
}

/// The fabric's part of a VRF of the base file.
fn base_fabric(made: &mut Made, instance: &Instance, vrf: &BaseVrf) {
    if let Some(vni) = vrf.vni {
        let targets: Vec<RouteTarget> = vrf.route_target.into_iter().collect();
        announce(made, instance, (vrf.name, vni), (&targets, &targets), None);
    }
}

/// Makes a VRF known to the fabric. What came from there, and what is of this node only, is never announced.
fn announce(
    made: &mut Made,
    instance: &Instance,
    (name, vni): (IfName, Vni),
    (imported, exported): (&[RouteTarget], &[RouteTarget]),
    map: Option<String>,
) {
    made.lines.add(&[&format!("vrf {name}")], &format!("vni {vni}"));
    let map = map.unwrap_or_else(|| {
        made.lines.add(&[], &format!("route-map {} permit {}", names::EXPORT_LOCAL, filters::LAST));
        names::EXPORT_LOCAL.to_owned()
    });
    let community = filters::community_list(&mut made.lines, &[FROM_FABRIC]);
    made.lines.add(&[&format!("route-map {map} deny 1")], &format!("match community {community}"));
    let local = [(Family::Ipv4, "169.254.0.0/16 le 32", 2), (Family::Ipv6, "fd00:7:caa5::/48 le 128", 3)];
    for (family, net, number) in local {
        filters::prefix_list(&mut made.lines, names::LINK_LOCAL, family, &[net.to_owned()]);
        let entry = format!("route-map {map} deny {number}");
        made.lines.add(&[&entry], &filters::match_list(family, names::LINK_LOCAL));
    }
    for family in ["ipv4", "ipv6"] {
        instance.of_fabric(made, &format!("advertise {family} unicast route-map {map}"));
    }
    for (word, targets) in [("import", imported), ("export", exported)] {
        for target in instance.shown(targets, vni) {
            instance.of_fabric(made, &format!("route-target {word} {target}"));
        }
    }
}
