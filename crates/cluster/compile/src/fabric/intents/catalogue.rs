//! VRFs, networks and destinations that attachments can use, with what the operator configuration adds.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::fabric::{
    destination::DestinationSpec,
    layer2_attachment::Layer2AttachmentSpec,
    layer2_network_configuration::Layer2NetworkConfigurationSpec,
    network::NetworkSpec,
    operator::{OperatorConfig, VrfIdentity},
    selector::LabelSelector,
    vrf::VrfSpec,
    vrf_route_configuration::VrfRouteConfigurationSpec,
};
use netloom_object::{ObjectKey, ObjectRef};
use serde_json::json;

use super::super::{
    given,
    in_force::{Broken, Segment},
    objects::Object,
    report::FabricReport,
};
use crate::{
    finding::{Finding, reason},
    frozen::Frozen,
    snapshot::{Readable as _, Snapshot},
};

type VrfObject = Object<VrfSpec>;
type NetworkObject = Object<NetworkSpec>;
type DestinationObject = Object<DestinationSpec>;
type SegmentObject = Object<Layer2NetworkConfigurationSpec>;

/// What attachments can use.
pub(super) struct Catalogue<'a> {
    pub(super) config: &'a OperatorConfig,
    vrfs: BTreeMap<String, Result<(Arc<VrfObject>, VrfIdentity), Finding>>,
    /// VRF objects that are deleted.
    going: BTreeSet<String>,
    networks: BTreeMap<String, Arc<NetworkObject>>,
    destinations: Vec<(Arc<DestinationObject>, Result<(), Finding>)>,
    /// Identifiers of networks that have none of their own.
    vnis: BTreeMap<String, u32>,
}

/// By whom each object is used.
pub(super) type Uses = BTreeMap<ObjectRef, BTreeSet<ObjectRef>>;

impl<'a> Catalogue<'a> {
    /// What a snapshot has.
    pub(super) fn of(snapshot: &Snapshot, config: &'a OperatorConfig, before: Option<&Frozen<'_>>) -> Self {
        let vrfs = vrfs(snapshot, config);
        // What is deleted and still there is held: by those that use it, who must not lose it.
        let networks: BTreeMap<String, Arc<NetworkObject>> =
            snapshot.iter::<NetworkObject>().map(|(key, one)| (key.name.clone(), one.clone())).collect();
        let all = snapshot.iter::<DestinationObject>().map(|(_, one)| one);
        let usable = |one: &DestinationObject| match &one.spec.vrf_ref {
            None => Ok(()),
            Some(name) => match vrfs.get(&name.0) {
                Some(Ok(_)) => Ok(()),
                Some(Err(finding)) => {
                    let why = format!("VRF {:?} cannot be used: {}", name.0, finding.message);
                    Err(Finding::new(reason::NO_VRF, "spec.vrfRef", why))
                }
                None => Err(Finding::new(reason::NO_VRF, "spec.vrfRef", format!("there is no VRF {:?}", name.0))),
            },
        };
        let destinations = all.map(|one| (one.clone(), usable(one))).collect();
        let vnis = assigned(snapshot, config, before, &networks);
        let gone = snapshot.iter::<VrfObject>().filter(|(_, one)| one.meta.deleted);
        let going = gone.map(|(key, _)| key.name.clone()).collect();
        Self { config, vrfs, going, networks, destinations, vnis }
    }

    /// The network of an attachment.
    pub(super) fn network(&self, name: &str) -> Option<&Arc<NetworkObject>> {
        self.networks.get(name)
    }

    /// The identifier of a network's segment.
    pub(super) fn vni(&self, network: &NetworkObject) -> Option<u32> {
        network.spec.vni.or_else(|| self.vnis.get(&network.meta.key.name).copied())
    }

    /// The destinations that a selector picks, by name, usable or not.
    pub(super) fn picked<'s>(
        &'s self,
        selector: &'s LabelSelector,
    ) -> impl Iterator<Item = (&'s Arc<DestinationObject>, Option<&'s Finding>)> {
        let picked = self.destinations.iter().filter(|(one, _)| selector.picks(&one.labels));
        picked.map(|(one, usable)| (one, usable.as_ref().err()))
    }

    /// A VRF that can be used.
    pub(super) fn vrf(&self, name: &str) -> Option<(&Arc<VrfObject>, &VrfIdentity)> {
        let (vrf, identity) = self.vrfs.get(name)?.as_ref().ok()?;
        Some((vrf, identity))
    }

    /// What there is to say about every VRF, network and destination.
    pub(super) fn report(&self, uses: &Uses, reports: &mut BTreeMap<ObjectRef, FabricReport>) {
        let users_of = |object: &ObjectRef| uses.get(object).cloned().unwrap_or_default();
        let mut of_vrfs = Uses::new();
        for (one, usable) in &self.destinations {
            let object = one.reference();
            reports.insert(object.clone(), report(usable.clone().err(), one.meta.deleted, users_of(&object)));
            if let Some(vrf) = &one.spec.vrf_ref {
                of_vrfs.entry(self::object::<VrfSpec>(&vrf.0)).or_default().insert(object);
            }
        }
        for (name, usable) in &self.vrfs {
            let object = object::<VrfSpec>(name);
            let in_use_by = of_vrfs.remove(&object).unwrap_or_default();
            let goes = self.going.contains(name);
            reports.insert(object, report(usable.as_ref().err().cloned(), goes, in_use_by));
        }
        for network in self.networks.values() {
            let mut report = report(None, network.meta.deleted, users_of(&network.reference()));
            if let Some(vni) = self.vni(network) {
                report.status["vni"] = json!(vni);
            }
            reports.insert(network.reference(), report);
        }
    }
}

fn object<S: super::Spec>(name: &str) -> ObjectRef {
    Object::<S>::object(&ObjectKey::global(name))
}

fn report(broken: Option<Finding>, goes: bool, users: BTreeSet<ObjectRef>) -> FabricReport {
    let broken = broken.map(|finding| Broken { findings: vec![finding], stays: false });
    let note = (goes && !users.is_empty()).then(|| {
        let why = format!("it is deleted, and stays in effect until nothing uses it any more: {}", shown(&users));
        Finding::new(reason::IN_USE, "", why)
    });
    let status = json!({"referenceCount": users.len()});
    FabricReport { broken, status, note, users: Some(users), ..FabricReport::default() }
}

/// The first few of some objects, in words.
fn shown(objects: &BTreeSet<ObjectRef>) -> String {
    const MOST: usize = 3;
    let named = objects.iter().take(MOST).map(|one| format!("{} {:?}", one.kind.kind, one.key.name));
    let text = named.collect::<Vec<_>>().join(", ");
    match objects.len().saturating_sub(MOST) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// Every VRF object, and how the fabric knows its VRF. Of several that say otherwise, that one is used which routes of the
/// cluster follow already; if none is, none of them.
fn vrfs(
    snapshot: &Snapshot,
    config: &OperatorConfig,
) -> BTreeMap<String, Result<(Arc<VrfObject>, VrfIdentity), Finding>> {
    let live = || snapshot.iter::<VrfObject>().map(|(_, one)| one);
    let mut known: BTreeMap<&str, BTreeSet<(u32, Option<&str>)>> = BTreeMap::new();
    let identities: BTreeMap<&str, Result<VrfIdentity, Finding>> =
        live().map(|one| (one.meta.key.name.as_str(), identity(&one.spec, config))).collect();
    for one in live() {
        if let Some(Ok(identity)) = identities.get(one.meta.key.name.as_str()) {
            let target = identity.rt.as_ref().map(|target| target.0.as_str());
            known.entry(&one.spec.vrf.0).or_default().insert((identity.vni, target));
        }
    }
    let followed = |vrf: &str, identity: &VrfIdentity| {
        let generated = snapshot.iter::<Object<VrfRouteConfigurationSpec>>().filter(|(_, one)| one.owner().is_some());
        generated.map(|(_, one)| &one.spec).any(|spec| {
            spec.vrf.0 == vrf && given::declared(spec).or_else(|| config.identity(vrf)).as_ref() == Some(identity)
        })
    };
    live()
        .map(|one| {
            let (name, vrf) = (one.meta.key.name.as_str(), one.spec.vrf.0.as_str());
            let usable = identities[name].clone().and_then(|identity| {
                if known.get(vrf).is_none_or(|all| all.len() < 2) || followed(vrf, &identity) {
                    return Ok((one.clone(), identity));
                }
                let why = format!(
                    "another VRF object says that {vrf} has another VNI or route target; neither counts until one of them \
                     is changed or removed"
                );
                Err(Finding::new(reason::DUPLICATE_VRF, "spec.vrf", why))
            });
            (name.to_owned(), usable)
        })
        .collect()
}

/// How the fabric knows a VRF: by what its object says, completed by the operator configuration.
fn identity(spec: &VrfSpec, config: &OperatorConfig) -> Result<VrfIdentity, Finding> {
    let configured = config.identity(&spec.vrf.0);
    let vni = spec.vni.or(configured.as_ref().map(|known| known.vni));
    let rt = spec.route_target.clone().or_else(|| configured.and_then(|known| known.rt));
    let vrf = &spec.vrf.0;
    let Some(vni) = vni else {
        let why =
            format!("neither spec.vni nor vrfConfig.{vrf} of the operator configuration says which VNI {vrf} has");
        return Err(Finding::new(reason::NO_VNI, "spec.vni", why));
    };
    if rt.is_none() && spec.vni.is_some() {
        let why = format!(
            "neither spec.routeTarget nor vrfConfig.{vrf} of the operator configuration says which route target {vrf} has"
        );
        return Err(Finding::new(reason::NO_VNI, "spec.routeTarget", why));
    }
    Ok(VrfIdentity { vni, rt })
}

/// Identifiers out of the cluster's range for networks that are attached over the fabric and have none: that which their
/// segment has, also one that somebody deleted and that is about to come back, else the lowest one that is free, for the
/// older attachment first.
fn assigned(
    snapshot: &Snapshot,
    config: &OperatorConfig,
    before: Option<&Frozen<'_>>,
    networks: &BTreeMap<String, Arc<NetworkObject>>,
) -> BTreeMap<String, u32> {
    let attachments = || snapshot.iter::<Object<Layer2AttachmentSpec>>().map(|(_, one)| one);
    let mut over_fabric: Vec<_> =
        attachments().filter(|one| !one.meta.deleted && one.spec.over_fabric() && !one.spec.uses_sriov()).collect();
    over_fabric.sort_by(|a, b| a.meta.precedence().cmp(&b.meta.precedence()));
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    let mut taken: BTreeSet<u32> = networks.values().filter_map(|one| one.spec.vni).collect();
    taken.extend(snapshot.iter::<VrfObject>().filter_map(|(_, one)| one.spec.vni));
    taken.extend(snapshot.iter::<Object<VrfRouteConfigurationSpec>>().filter_map(|(_, one)| one.spec.vni));
    taken.extend(config.vrf_config.values().map(|known| known.vni).chain(config.vnimap.values().copied()));
    let bare = |name: &str| networks.get(name).is_some_and(|one| one.spec.vni.is_none() && one.spec.managed);
    let mut keep = |owner: &ObjectRef, vni: u32| {
        let of = over_fabric.iter().find(|one| one.reference() == *owner);
        let of = of.filter(|one| bare(&one.spec.network_ref.0));
        of.is_some_and(|one| *found.entry(one.spec.network_ref.0.clone()).or_insert(vni) == vni)
    };
    for (_, segment) in snapshot.iter::<SegmentObject>() {
        taken.insert(segment.spec.vni);
        if let Some(owner) = segment.owner() {
            keep(&owner, segment.spec.vni);
        }
    }
    let frozen = before.into_iter().flat_map(|before| before.of_kind(SegmentObject::KIND));
    for segment in frozen.filter_map(|one| Segment::thawed(one).ok()).filter(Segment::is_generated) {
        if !taken.contains(&segment.spec.vni) && keep(&segment.asker, segment.spec.vni) {
            taken.insert(segment.spec.vni);
        }
    }
    let Some(range) = config.vni_range else { return found };
    let mut free = (range.min..=range.max).filter(|vni| !taken.contains(vni));
    for one in over_fabric.iter().filter(|one| bare(&one.spec.network_ref.0)) {
        let name = &one.spec.network_ref.0;
        if !found.contains_key(name)
            && let Some(vni) = free.next()
        {
            found.insert(name.clone(), vni);
        }
    }
    found
}
