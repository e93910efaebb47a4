//! What a class of nodes gets of the fabric: VRFs first, then the segments that are routed in them, then sessions.

use std::collections::BTreeSet;

use netloom_api::pipeline::node_network_config::{
    fabric::{CLUSTER, FabricConfig},
    host::HostConfig,
    routing::Vrf,
};
use netloom_object::ObjectRef;
use serde_json::json;

use super::{choice::Choice, clashes::bridge, fitting::fitting};
use crate::{
    contribution::Contribution,
    digest,
    finding::{Finding, reason},
    front_end::{NodeClass, Selected},
    resolution::{fabric_without, links_of, links_of_vrf},
    state::Inventory,
};

/// Makes the fabric part of a configuration.
pub(super) struct Maker<'a> {
    pub(super) choice: &'a Choice,
    pub(super) fabric: FabricConfig,
    /// What is wanted of the host itself: VLANs on links that it has.
    pub(super) host: HostConfig,
    /// Whether the node must first report its links.
    pub(super) waits: bool,
    findings: Vec<(ObjectRef, Finding)>,
}

impl Selected for Choice {
    fn id(&self) -> u64 {
        self.id
    }

    /// The addresses that a node has for itself.
    fn depends(&self, class: &NodeClass<'_>) -> (u64, u64) {
        let Some(node) = class.node.filter(|_| self.gives_addresses()) else { return (0, 0) };
        let own: Vec<_> = self.extras.iter().map(|one| one.spec.addresses.get(node)).collect();
        (1, digest::number(&json!(own)))
    }

    fn makes(&self, link: &str) -> bool {
        let is_station = |vlan: u16| link == format!("vlan.{vlan}");
        let stations = self.extras.iter().filter(|one| one.spec.gives_addresses && one.spec.existing.is_none());
        self.segments.values().any(|one| link == bridge(one) || link == format!("vx.{}", one.spec.vni))
            || self.segments.values().any(|one| one.spec.create_macvlan_interface && is_station(one.spec.id))
            || stations.into_iter().any(|one| is_station(one.spec.vlan))
            || self.identities.iter().any(|(vrf, identity)| {
                let own = links_of_vrf(vrf, Some(identity.vni));
                own.iter().any(|(name, _)| name == link) || link.strip_prefix("s-") == Some(vrf)
            })
            || self.extras.iter().any(|one| one.spec.makes(link))
    }

    fn contribute(&self, class: &NodeClass<'_>) -> Contribution {
        if self.is_empty() {
            return Contribution::default();
        }
        fitting(self, |choice| Maker::made(choice, class))
    }
}

impl Maker<'_> {
    /// All that is chosen.
    fn made(choice: &Choice, class: &NodeClass<'_>) -> Contribution {
        let mut maker = Maker {
            choice,
            fabric: FabricConfig::default(),
            host: HostConfig::default(),
            waits: false,
            findings: choice.refusals.clone(),
        };
        if choice.has_fabric() {
            maker.vrfs();
            maker.segments();
            maker.sessions();
        }
        maker.extras(class);
        maker.give_way(class.reported);
        let Maker { fabric, host, waits, findings, .. } = maker;
        Contribution { findings, waits, ..Contribution::new(host).with_fabric(fabric) }
    }

    /// The cluster's own VRF.
    pub(super) fn cluster(&mut self) -> &mut Vrf {
        self.fabric.cluster_vrf.get_or_insert_with(Vrf::default)
    }

    pub(super) fn refuse(&mut self, object: ObjectRef, finding: Finding) {
        self.findings.push((object, finding));
    }

    /// Leaves out what would have a link that somebody else made.
    fn give_way(&mut self, inventory: &Inventory) {
        let mut lost = BTreeSet::new();
        for layer2 in self.fabric.layer2s.values() {
            let taken = links_of(layer2).into_iter().find(|(name, kind)| inventory.is_taken(name, kind));
            let segment = self.choice.segments.get(&layer2.vlan);
            if let (Some((name, _)), Some(segment)) = (taken, segment) {
                self.findings.push((segment.object(), taken_by_others("spec.id", &name)));
                lost.insert(name);
            }
        }
        for (vrf, vni, _) in self.fabric.view().vrfs().filter(|(name, ..)| *name != CLUSTER) {
            let taken = links_of_vrf(vrf, vni).into_iter().find(|(name, kind)| inventory.is_taken(name, kind));
            let Some((name, _)) = taken else { continue };
            let of_vrf = vrf.strip_prefix("s-").unwrap_or(vrf);
            for one in self.choice.routes.iter().filter(|one| one.spec.vrf.0 == of_vrf) {
                self.findings.push((one.object(), taken_by_others("spec.vrf", &name)));
            }
            lost.insert(name);
        }
        if lost.is_empty() {
            return;
        }
        let before = std::mem::take(&mut self.fabric);
        self.fabric = fabric_without(before.clone(), &lost);
        let fallen = before.layer2s.values().filter(|one| !self.fabric.layer2s.contains_key(&one.vlan.to_string()));
        for layer2 in fallen.filter(|one| links_of(one).iter().all(|(name, _)| !lost.contains(name))) {
            if let Some(segment) = self.choice.segments.get(&layer2.vlan) {
                let vrf = layer2.irb.as_ref().map_or("", |irb| irb.vrf.as_str());
                let why = format!("VRF {vrf} is left out on these nodes, and with it the segment");
                self.findings.push((segment.object(), Finding::new(reason::NO_VRF, "spec.vrf", why)));
            }
        }
    }
}

fn taken_by_others(path: &str, link: &str) -> Finding {
    let why = format!("the node has a link {link} already, which somebody else made; it is left as it is");
    Finding::new(reason::NO_NAME, path, why)
}
