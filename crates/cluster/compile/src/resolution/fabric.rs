//! The fabric part of a configuration, as units: the links that segments and VRFs are on a node.
//!
//! Only what others could want as well is a unit: names of links with their types. How the links of the fabric stand on
//! each other is the agent's to make, and no front end or policy is asked about it.

use std::collections::BTreeSet;

use netloom_api::pipeline::node_network_config::{
    Layer2,
    fabric::{CLUSTER, FabricConfig},
    host::EntryOrigin,
    routing::Vrf,
};
use netloom_model::Source;
use serde_json::{Map, Value, json};

use super::unit::Unit;
use crate::state::Inventory;

/// The units of segments and VRFs. What says not who asked for it is nobody's to lose.
pub(super) fn units(config: &FabricConfig, inventory: &Inventory) -> Vec<(Unit, Source)> {
    let mut units = Vec::new();
    let mut add = |name: String, kind: &str, origin: Option<&EntryOrigin>| {
        let Some(origin) = origin else { return };
        let fields: Map<String, Value> =
            [("type", kind), ("state", "up")].map(|(key, word)| (key.to_owned(), json!(word))).into_iter().collect();
        let mut unit = Unit::interface(&name, &fields, &origin.path, inventory);
        unit.claim_for(&origin.source());
        units.push((unit, origin.source()));
    };
    for layer2 in config.layer2s.values() {
        for (name, kind) in links_of(layer2) {
            add(name, kind, layer2.origin.as_ref());
        }
    }
    for (name, vni, vrf) in config.view().vrfs().filter(|(name, ..)| *name != CLUSTER) {
        for (name, kind) in links_of_vrf(name, vni) {
            add(name, kind, vrf.origin.as_ref());
        }
    }
    units
}

/// The links that a segment is. That of the node as its station is there only where the node is one; the segment's port of
/// the trunk has a name of which only the base file of a node knows.
pub(crate) fn links_of(layer2: &Layer2) -> Vec<(String, &'static str)> {
    let station = layer2.node_interface.as_ref().map(|_| (format!("vlan.{}", layer2.vlan), "vlan"));
    let own = [(layer2.bridge(), "linux-bridge"), (format!("vx.{}", layer2.vni), "vxlan")];
    own.into_iter().chain(station).collect()
}

/// The links that a VRF is.
pub(crate) fn links_of_vrf(name: &str, vni: Option<u32>) -> Vec<(String, &'static str)> {
    let of_vni =
        vni.into_iter().flat_map(|vni| [(format!("br.{vni}"), "linux-bridge"), (format!("vx.{vni}"), "vxlan")]);
    std::iter::once((name.to_owned(), "vrf")).chain(of_vni).collect()
}

/// The same without the segments and VRFs of which a link was lost, and without what leads into these VRFs.
pub(crate) fn fabric_without(mut config: FabricConfig, lost: &BTreeSet<String>) -> FabricConfig {
    let is_lost = |links: &[(String, &str)]| links.iter().any(|(name, _)| lost.contains(name));
    let names = config.view().vrfs().filter(|(name, vni, _)| *name != CLUSTER && is_lost(&links_of_vrf(name, *vni)));
    let gone: BTreeSet<String> = names.map(|(name, ..)| name.to_owned()).collect();
    let in_gone = |layer2: &Layer2| layer2.irb.as_ref().is_some_and(|irb| gone.contains(&irb.vrf));
    config.layer2s.retain(|_, layer2| !is_lost(&links_of(layer2)) && !in_gone(layer2));
    config.fabric_vrfs.retain(|name, _| !gone.contains(name));
    config.local_vrfs.retain(|name, _| !gone.contains(name));
    let fabric = config.fabric_vrfs.values_mut().map(|vrf| &mut vrf.vrf);
    for vrf in config.cluster_vrf.iter_mut().chain(fabric).chain(config.local_vrfs.values_mut()) {
        cut_off(vrf, &gone);
    }
    config
}

fn cut_off(vrf: &mut Vrf, gone: &BTreeSet<String>) {
    let stays = |next: Option<&String>| next.is_none_or(|next| !gone.contains(next));
    vrf.vrf_imports.retain(|import| !gone.contains(&import.from_vrf));
    vrf.static_routes.retain(|route| stays(route.next_hop.as_ref().and_then(|hop| hop.vrf.as_ref())));
    vrf.policy_routes.retain(|route| stays(route.next_hop.vrf.as_ref()));
}
