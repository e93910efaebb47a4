//! Who is in charge of a VLAN, a VNI or a VRF on a node: intents, or low-level objects that somebody wrote.
//!
//! Whichever was there first stays in charge; the other one has no effect until that is removed.

use netloom_api::fabric::{
    layer2_network_configuration::Layer2NetworkConfigurationSpec, selector::nodes_meet,
    vrf_route_configuration::VrfRouteConfigurationSpec,
};
use netloom_object::ObjectRef;

use super::{
    super::objects::{Object, Spec},
    Attachment,
};
use crate::{
    finding::{Finding, reason},
    snapshot::Snapshot,
};

/// Why a segment of an attachment is somebody else's.
pub(super) fn segment(
    attachment: &Attachment,
    spec: &Layer2NetworkConfigurationSpec,
    target: &ObjectRef,
    snapshot: &Snapshot,
) -> Result<(), Finding> {
    let same = |other: &Layer2NetworkConfigurationSpec| other.id == spec.id || other.vni == spec.vni;
    refuse(target, manual(attachment, snapshot, same), ("spec.networkRef", "the segment"))
}

/// Why a VRF is somebody else's.
pub(super) fn vrf(
    attachment: &Attachment,
    spec: &VrfRouteConfigurationSpec,
    target: &ObjectRef,
    snapshot: &Snapshot,
) -> Result<(), Finding> {
    let same = |other: &VrfRouteConfigurationSpec| other.vrf == spec.vrf;
    refuse(target, manual(attachment, snapshot, same), ("spec.destinations", "the VRF"))
}

/// A low-level object that somebody wrote, for some of the same nodes.
fn manual<S: Spec>(attachment: &Attachment, snapshot: &Snapshot, same: impl Fn(&S) -> bool) -> Option<Found> {
    let nodes = attachment.spec.node_selector.as_ref();
    let all = snapshot.iter::<Object<S>>().map(|(_, one)| one);
    let mut others = all.filter(|one| one.owner().is_none() && !one.meta.deleted && same(&one.spec));
    let other = others.find(|one| nodes_meet(nodes, one.spec.nodes()))?;
    let owner = attachment.reference();
    let mine = snapshot.iter::<Object<S>>().any(|(_, one)| one.owner().as_ref() == Some(&owner) && same(&one.spec));
    Some(Found { shown: format!("{} {:?}", S::KIND, other.meta.key.name), mine, object: other.reference() })
}

struct Found {
    shown: String,
    /// Whether the attachment has it already.
    mine: bool,
    object: ObjectRef,
}

fn refuse(target: &ObjectRef, found: Option<Found>, (path, what): (&str, &str)) -> Result<(), Finding> {
    let Some(found) = found.filter(|found| !found.mine || found.object == *target) else { return Ok(()) };
    let why = format!("{what} is configured manually in {} on some of the same nodes; remove that first", found.shown);
    Err(Finding::new(reason::CONFLICT, path, why))
}
