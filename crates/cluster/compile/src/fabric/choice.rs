//! Which low-level objects are for a group of nodes.
//!
//! What contradicts itself was taken out before; where an object that stays in its earlier version contradicts a younger
//! one all the same, the older one has its place and the younger one is left out on these nodes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::fabric::operator::VrfIdentity;
use netloom_object::ObjectRef;
use serde_json::json;

use super::{
    clashes::bridge,
    given,
    in_force::{Beside, InForce, Routes, Segment, Sessions},
    objects::Spec,
    piece::Piece,
};
use crate::{
    digest,
    finding::{Finding, reason},
    front_end::Selects,
};

/// What selectors choose for the nodes of a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// By VLAN.
    pub(super) segments: BTreeMap<u16, Arc<Segment>>,
    /// In the order in which they are merged: by VRF, place and name.
    pub(super) routes: Vec<Arc<Routes>>,
    /// By name.
    pub(super) sessions: Vec<Arc<Sessions>>,
    /// What attachments want beside these.
    pub(super) extras: Vec<Arc<Beside>>,
    /// How the fabric knows each VRF.
    pub(super) identities: BTreeMap<String, VrfIdentity>,
    /// What was left out, and why.
    pub(super) refusals: Vec<(ObjectRef, Finding)>,
    /// Every object that selects the nodes, in force or not.
    pub(super) matched: BTreeSet<ObjectRef>,
    /// Equal for equal choices.
    pub(crate) id: u64,
}

impl Choice {
    /// Chooses for the nodes of a group. `selects` says whether the object of that number selects them, and may know it
    /// without asking.
    pub(super) fn of(all: &InForce, selects: &mut Selects<'_>) -> Self {
        let mut choice = Self::default();
        let mut ids = Vec::new();
        let segments = chosen(&all.segments, selects, &mut ids, &mut choice.matched);
        choice.routes = chosen(&all.routes, selects, &mut ids, &mut choice.matched);
        choice.sessions = chosen(&all.sessions, selects, &mut ids, &mut choice.matched);
        choice.extras = chosen(&all.extras, selects, &mut ids, &mut choice.matched);
        choice.id = digest::number(&json!(ids));
        choice.identify();
        choice.place(segments);
        choice
            .routes
            .sort_by(|a, b| (&a.spec.vrf, a.spec.seq, &a.meta.key).cmp(&(&b.spec.vrf, b.spec.seq, &b.meta.key)));
        choice.sessions.sort_by(|a, b| a.meta.key.cmp(&b.meta.key));
        choice
    }

    /// Whether anything of the fabric is for these nodes, and not only VLANs on links that they have.
    pub(super) fn has_fabric(&self) -> bool {
        !(self.segments.is_empty() && self.routes.is_empty() && self.sessions.is_empty())
    }

    /// Whether a node gets something for itself alone.
    pub(super) fn gives_addresses(&self) -> bool {
        self.extras.iter().any(|one| one.spec.gives_addresses)
    }

    /// Whether nothing is for these nodes.
    pub(crate) fn is_empty(&self) -> bool {
        self.matched.is_empty()
    }

    /// Finds for each VRF how the fabric knows it: by what its objects say, else by the operator configuration.
    fn identify(&mut self) {
        let mut out: BTreeSet<ObjectRef> = BTreeSet::new();
        for one in &self.routes {
            let Some(identity) = given::declared(&one.spec) else { continue };
            let known = self.identities.entry(one.spec.vrf.0.clone()).or_insert_with(|| identity.clone());
            if *known != identity {
                let why = format!("an older object says that VRF {} has VNI {}", one.spec.vrf.0, known.vni);
                self.refusals.push((one.object(), Finding::new(reason::DUPLICATE_VRF, "spec.vni", why)));
                out.insert(one.object());
            }
        }
        for one in &self.routes {
            if let Some(identity) = given::configured(one) {
                self.identities.entry(one.spec.vrf.0.clone()).or_insert(identity);
            }
        }
        for one in self.routes.iter().filter(|one| !self.identities.contains_key(&one.spec.vrf.0)) {
            let vrf = &one.spec.vrf.0;
            let why = format!(
                "nothing says which VNI VRF {vrf} has; give vni and routeTarget, or vrfConfig.{vrf} in the operator \
                 configuration"
            );
            self.refusals.push((one.object(), Finding::new(reason::NO_VNI, "spec.vni", why)));
            out.insert(one.object());
        }
        self.routes.retain(|one| !out.contains(&one.object()));
        let routed: BTreeSet<String> = self.routes.iter().map(|one| one.spec.vrf.0.clone()).collect();
        self.identities.retain(|vrf, _| routed.contains(vrf));
        self.share_no_vni();
    }

    /// Two VRFs cannot have one identifier: that of the older object has it.
    fn share_no_vni(&mut self) {
        let mut seen: BTreeMap<u32, String> = BTreeMap::new();
        let mut gone: BTreeMap<String, Finding> = BTreeMap::new();
        for vrf in self.routes.iter().map(|one| &one.spec.vrf.0) {
            let Some(identity) = self.identities.get(vrf) else { continue };
            let first = seen.entry(identity.vni).or_insert_with(|| vrf.clone());
            if first != vrf {
                let why = format!("VRF {first} has VNI {} already", identity.vni);
                gone.insert(vrf.clone(), Finding::new(reason::CONFLICT, "spec.vni", why));
            }
        }
        let Self { routes, refusals, identities, .. } = self;
        for one in routes.iter() {
            if let Some(finding) = gone.get(&one.spec.vrf.0) {
                refusals.push((one.object(), finding.clone()));
            }
        }
        routes.retain(|one| !gone.contains_key(&one.spec.vrf.0));
        identities.retain(|vrf, _| !gone.contains_key(vrf));
    }

    /// Gives each segment its VLAN, its identifier and its name, the older one first.
    fn place(&mut self, segments: Vec<Arc<Segment>>) {
        let mut vnis: BTreeMap<u32, String> =
            self.identities.iter().map(|(vrf, identity)| (identity.vni, format!("VRF {vrf}"))).collect();
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for segment in segments {
            let (spec, name) = (&segment.spec, bridge(&segment));
            let taken =
                self.segments.get(&spec.id).map(|first| ("spec.id", first.shown(), format!("VLAN {}", spec.id)));
            let vni = || vnis.get(&spec.vni).map(|first| ("spec.vni", first.clone(), format!("VNI {}", spec.vni)));
            let by_name =
                || names.get(&name).map(|first| ("spec.interfaceName", first.clone(), format!("a bridge {name}")));
            if let Some((path, first, what)) = taken.or_else(vni).or_else(by_name) {
                let why = format!("{first} has {what} on these nodes already");
                self.refusals.push((segment.object(), Finding::new(reason::CONFLICT, path, why)));
                continue;
            }
            vnis.insert(spec.vni, segment.shown());
            names.insert(name, segment.shown());
            self.segments.insert(spec.id, segment);
        }
    }
}

fn chosen<S: Spec>(
    pieces: &[Arc<Piece<S>>],
    selects: &mut Selects<'_>,
    ids: &mut Vec<u64>,
    matched: &mut BTreeSet<ObjectRef>,
) -> Vec<Arc<Piece<S>>> {
    let mut chosen = Vec::new();
    for piece in pieces {
        if selects(piece.id, &|node| piece.selects(node)) {
            ids.push(piece.id);
            matched.insert(piece.object());
            chosen.push(piece.clone());
        }
    }
    chosen
}
