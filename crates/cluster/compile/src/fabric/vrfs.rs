//! The VRFs of a node: everything that its objects say of each, merged in the order of their places.
//!
//! ```text
//! import     clusterVRF takes it from the VRF
//! export     the VRF takes it from the cluster's and announces it to the fabric
//! aggregate  a route of the VRF into nothing, which is announced
//! sources    their packets look for their way in a VRF of this node that has the routes of the VRF and of the cluster
//! ```

use std::collections::BTreeMap;

use netloom_api::{
    fabric::{
        text::{Cidr, Community},
        traffic_mirror::TrafficMatch,
    },
    pipeline::node_network_config::{
        fabric::CLUSTER,
        host::EntryOrigin,
        routing::{FabricVrf, FilterItem, PolicyRoute, Redistribute, RouteNextHop, StaticRoute, Vrf, VrfImport},
    },
};
use netloom_types::IpNet;

use super::{choice::Choice, filters, in_force::Routes, maker::Maker};
use crate::finding::{Finding, reason};

impl Maker<'_> {
    /// All VRFs of the node.
    pub(super) fn vrfs(&mut self) {
        let choice = self.choice;
        for (name, identity) in &choice.identities {
            let of_vrf: Vec<&Routes> = of(choice, name).collect();
            let Some(first) = of_vrf.first() else { continue };
            let mut items = Vec::new();
            let mut vrf = Vrf { origin: first.origin("spec.vrf", "spec.destinations"), ..Vrf::default() };
            for one in &of_vrf {
                self.no_loopbacks(one);
                items.extend(exports(one));
                add_aggregates(&mut vrf, one);
            }
            let mut filter = filters::closed(Vec::new());
            filters::add(&mut filter, items);
            vrf.vrf_imports.push(VrfImport {
                from_vrf: CLUSTER.to_owned(),
                filter: filter.clone(),
                origin: vrf.origin.clone(),
            });
            let targets: Vec<_> = identity.rt.clone().into_iter().collect();
            self.fabric.fabric_vrfs.insert(
                name.clone(),
                FabricVrf {
                    vrf,
                    vni: identity.vni,
                    evpn_import_route_targets: targets.clone(),
                    evpn_export_route_targets: targets,
                    evpn_export_filter: Some(filter),
                },
            );
            self.import(name, &of_vrf);
        }
        self.cluster().redistribute =
            Some(Redistribute { connected: Some(filters::open()), fixed: Some(filters::open()) });
        self.sources();
    }

    /// Loopbacks are made for mirrors, which are not built.
    fn no_loopbacks(&mut self, one: &Routes) {
        if !one.spec.loopbacks.is_empty() {
            let why = "loopback interfaces are not supported yet; the rest of the object is in effect";
            self.refuse(one.object(), Finding::new(reason::NOT_SUPPORTED, "spec.loopbacks", why));
        }
    }

    /// What the cluster's VRF takes from another one.
    fn import(&mut self, vrf: &str, of_vrf: &[&Routes]) {
        let mut filter = filters::closed(Vec::new());
        let mut first = None;
        for one in of_vrf.iter().filter(|one| !one.spec.import.is_empty()) {
            let origin = |i: usize| one.origin(&format!("spec.import[{i}]"), "spec.destinations");
            first = first.or_else(|| one.origin("spec.import", "spec.destinations"));
            filters::add(&mut filter, filters::items(&one.spec.import, &[], origin));
        }
        if first.is_some() {
            self.cluster().vrf_imports.push(VrfImport { from_vrf: vrf.to_owned(), filter, origin: first });
        }
    }

    /// Sources that have a VRF of their own. One source has one; the more exact network is looked at first.
    fn sources(&mut self) {
        let choice = self.choice;
        let mut taken: BTreeMap<IpNet, &str> = BTreeMap::new();
        let mut routes = Vec::new();
        for one in &choice.routes {
            let vrf = one.spec.vrf.0.as_str();
            for (i, source) in one.spec.sbr_prefixes.iter().enumerate() {
                let Ok(net) = source.parse::<IpNet>() else { continue };
                match taken.get(&net) {
                    Some(known) if *known == vrf => continue,
                    Some(known) => {
                        let why = format!("packets from {net} have their routes in VRF {known} already");
                        self.refuse(
                            one.object(),
                            Finding::new(reason::CONFLICT, format!("spec.sbrPrefixes[{i}]"), why),
                        );
                        continue;
                    }
                    None => drop(taken.insert(net, vrf)),
                }
                let origin = one.origin(&format!("spec.sbrPrefixes[{i}]"), "spec.destinations");
                let local = local_name(vrf);
                let own = self
                    .fabric
                    .local_vrfs
                    .entry(local.clone())
                    .or_insert_with(|| Vrf { origin: origin.clone(), ..Vrf::default() });
                for from in [vrf, CLUSTER] {
                    if !own.vrf_imports.iter().any(|import| import.from_vrf == from) {
                        let from_vrf = from.to_owned();
                        own.vrf_imports.push(VrfImport { from_vrf, filter: filters::open(), origin: origin.clone() });
                    }
                }
                routes.push((net, policy(source, &local, origin)));
            }
        }
        routes.sort_by_key(|(net, _)| (std::cmp::Reverse(net.prefix_len()), *net));
        self.cluster().policy_routes.extend(routes.into_iter().map(|(_, route)| route));
    }
}

/// The VRF of this node that routes packets by their source.
pub(super) fn local_name(vrf: &str) -> String {
    format!("s-{vrf}")
}

/// Packets from a network look for their way in a VRF.
pub(super) fn policy(source: &Cidr, vrf: &str, origin: Option<EntryOrigin>) -> PolicyRoute {
    PolicyRoute {
        traffic_match: TrafficMatch { src_prefix: Some(source.clone()), ..TrafficMatch::default() },
        next_hop: RouteNextHop { address: None, vrf: Some(vrf.to_owned()) },
        origin,
    }
}

fn of<'a>(choice: &'a Choice, vrf: &'a str) -> impl Iterator<Item = &'a Routes> {
    choice.routes.iter().map(AsRef::as_ref).filter(move |one| one.spec.vrf.0 == vrf)
}

fn exports(one: &Routes) -> Vec<FilterItem> {
    let communities: Vec<Community> = one.spec.community.iter().chain(&one.spec.communities).cloned().collect();
    filters::items(&one.spec.export, &communities, |i| one.origin(&format!("spec.export[{i}]"), "spec.networkRef"))
}

fn add_aggregates(vrf: &mut Vrf, one: &Routes) {
    for (i, prefix) in one.spec.aggregate.iter().enumerate() {
        if !vrf.static_routes.iter().any(|route| route.prefix == *prefix) {
            let origin = one.origin(&format!("spec.aggregate[{i}]"), "spec.networkRef");
            vrf.static_routes.push(StaticRoute { prefix: prefix.clone(), next_hop: None, bfd_profile: None, origin });
        }
    }
}
