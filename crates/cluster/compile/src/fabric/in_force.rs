//! All low-level objects that are in force together, live or as a revision froze them.
//!
//! An object that cannot be used costs only itself: in its place stands its version in the newest revision that no node
//! has refused. Nobody is given an identity because it came first: of two objects that contradict each other neither is
//! used as it stands, and so what was in force before stays in force.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use netloom_api::fabric::{
    bgp_peering::BgpPeeringSpec, layer2_network_configuration::Layer2NetworkConfigurationSpec,
    operator::OperatorConfig, vrf_route_configuration::VrfRouteConfigurationSpec,
};
use netloom_object::{ObjectKey, ObjectRef};

use super::{
    clashes, given,
    intents::{Extra, Intents},
    objects::{Object, Spec},
    operator::InEffect,
    piece::{self, Given, Piece},
};
use crate::{
    finding::{Finding, reason},
    frozen::Frozen,
    layout::Weighed,
    revision::newest_sound,
    snapshot::{Readable as _, Snapshot},
};

/// A segment.
pub(crate) type Segment = Piece<Layer2NetworkConfigurationSpec>;
/// Routes of a VRF.
pub(crate) type Routes = Piece<VrfRouteConfigurationSpec>;
/// Sessions with workloads.
pub(crate) type Sessions = Piece<BgpPeeringSpec>;

/// What an attachment wants beside its low-level objects.
pub(crate) type Beside = Piece<Extra>;

/// An object that cannot be used as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Why.
    pub findings: Vec<Finding>,
    /// Whether an earlier version stays in effect.
    pub stays: bool,
}

/// Everything that is in force, in the order in which objects win against each other.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce {
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) routes: Vec<Arc<Routes>>,
    pub(super) sessions: Vec<Arc<Sessions>>,
    /// What attachments want beside their low-level objects.
    pub(super) extras: Vec<Arc<Beside>>,
    /// What came of intents; nothing where a revision is read.
    pub(super) intents: Intents,
    /// The operator configuration; the usual values where a revision is read, which holds what was looked up there.
    pub(super) settings: InEffect,
    pub(super) broken: BTreeMap<ObjectRef, Broken>,
}

/// An object, and what is wrong with it.
type Check<S> = (Arc<Object<S>>, Result<(), Vec<Finding>>);
/// An object, what was looked up for it, and what came of both.
type Made<S> = (Arc<Object<S>>, Given, Arc<Piece<S>>);

/// What came of the objects of a kind, by name, with what it came of.
#[derive(Debug)]
pub(super) struct Known<S> {
    checks: HashMap<String, Check<S>>,
    pieces: HashMap<String, Made<S>>,
}

impl<S> Default for Known<S> {
    fn default() -> Self {
        Self { checks: HashMap::new(), pieces: HashMap::new() }
    }
}

/// What was read of live objects before.
#[derive(Debug, Default)]
pub(super) struct Readings {
    segments: Known<Layer2NetworkConfigurationSpec>,
    routes: Known<VrfRouteConfigurationSpec>,
    sessions: Known<BgpPeeringSpec>,
    /// How many objects were read in all.
    pub(super) read: usize,
}

impl InForce {
    /// The objects of a snapshot.
    pub(super) fn live(snapshot: &Snapshot, readings: &mut Readings) -> Self {
        let before = newest_sound(snapshot).map(|revision| snapshot.frozen(revision));
        let settings = InEffect::live(snapshot, before.as_ref());
        let config = &settings.config;
        let Readings { segments, routes, sessions, read } = readings;
        let mut all = Self::default();
        all.segments = all.read(snapshot, segments, read, &|spec| given::of_segment(spec, config));
        all.routes = all.read(snapshot, routes, read, &|spec| given::of_routes(spec, config));
        all.sessions = all.read(snapshot, sessions, read, &|_| Given::new());
        all.refuse_unbuilt();
        let clashes = clashes::of(&all, snapshot);
        all.give_up(clashes);
        all.fall_back(before.as_ref());
        all.intents = Intents::live(snapshot, config, before.as_ref());
        all.extras.clone_from(&all.intents.extras);
        all.settings = settings;
        all.sort();
        all
    }

    /// The objects that a revision froze.
    pub(super) fn frozen(content: &Frozen<'_>) -> Self {
        let mut all = Self::default();
        all.thaw(content, |_| true);
        thaw(content, &mut all.extras, &mut all.broken, &|_| true);
        all.sort();
        all
    }

    /// Whether nothing is wanted.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.routes.is_empty() && self.sessions.is_empty() && self.extras.is_empty()
    }

    /// What revisions hold.
    pub(super) fn freeze(&self) -> Vec<Weighed> {
        let segments = self.segments.iter().map(|one| &one.frozen);
        let routes = self.routes.iter().map(|one| &one.frozen);
        let sessions = self.sessions.iter().map(|one| &one.frozen);
        let extras = self.extras.iter().map(|one| &one.frozen);
        segments.chain(routes).chain(sessions).chain(extras).chain(&self.settings.frozen).cloned().collect()
    }

    fn read<S: Spec>(
        &mut self,
        snapshot: &Snapshot,
        known: &mut Known<S>,
        read: &mut usize,
        given: &dyn Fn(&S) -> Given,
    ) -> Vec<Arc<Piece<S>>> {
        let there = |name: &String| snapshot.get::<Object<S>>(&ObjectKey::global(name)).is_some();
        known.checks.retain(|name, _| there(name));
        known.pieces.retain(|name, _| there(name));
        let mut good = Vec::new();
        for (key, object) in snapshot.iter::<Object<S>>().filter(|(_, object)| !object.meta.deleted) {
            let check = match known.checks.get(&key.name) {
                Some((before, check)) if Arc::ptr_eq(before, object) => check.clone(),
                Some(_) | None => {
                    *read += 1;
                    let check = piece::check(object);
                    known.checks.insert(key.name.clone(), (object.clone(), check.clone()));
                    check
                }
            };
            if let Err(findings) = check {
                self.break_off(Object::<S>::object(key), findings);
                continue;
            }
            let given = given(&object.spec);
            let before = known.pieces.get(&key.name);
            let same = before.filter(|(it, had, _)| Arc::ptr_eq(it, object) && *had == given);
            let piece = if let Some((.., piece)) = same {
                piece.clone()
            } else {
                let piece = Arc::new(Piece::live(object, given.clone()));
                known.pieces.insert(key.name.clone(), (object.clone(), given, piece.clone()));
                piece
            };
            good.push(piece);
        }
        for object in snapshot.unreadable::<Object<S>>().filter(|object| !object.meta.deleted) {
            let why = Finding::new(reason::UNREADABLE, "", &*object.why);
            self.break_off(Object::<S>::object(&object.meta.key), vec![why]);
        }
        good
    }

    /// Sessions over loopbacks are not built.
    fn refuse_unbuilt(&mut self) {
        let why = "sessions over loopbacks are not supported yet; use peeringVlan";
        let unbuilt = self.sessions.iter().filter(|one| one.spec.loopback_peer.is_some());
        let found = unbuilt.map(|one| (one.object(), Finding::new(reason::NOT_SUPPORTED, "spec.loopbackPeer", why)));
        let found: Vec<_> = found.collect();
        self.give_up(found);
    }

    /// Takes out what contradicts something else.
    fn give_up(&mut self, found: Vec<(ObjectRef, Finding)>) {
        for (object, finding) in found {
            self.broken.entry(object).or_insert(Broken { findings: Vec::new(), stays: false }).findings.push(finding);
        }
        let Self { segments, routes, sessions, broken, extras: _, intents: _, settings: _ } = self;
        segments.retain(|one| !broken.contains_key(&one.object()));
        routes.retain(|one| !broken.contains_key(&one.object()));
        sessions.retain(|one| !broken.contains_key(&one.object()));
    }

    fn break_off(&mut self, object: ObjectRef, findings: Vec<Finding>) {
        self.broken.insert(object, Broken { findings, stays: false });
    }

    fn fall_back(&mut self, revision: Option<&Frozen<'_>>) {
        let Some(revision) = revision else { return };
        let broken: BTreeSet<ObjectRef> = self.broken.keys().cloned().collect();
        self.thaw(revision, |object| broken.contains(object));
        let segments = self.segments.iter().map(|one| one.object());
        let routes = self.routes.iter().map(|one| one.object());
        let back: Vec<ObjectRef> = segments.chain(routes).chain(self.sessions.iter().map(|one| one.object())).collect();
        for object in back {
            if let Some(broken) = self.broken.get_mut(&object) {
                broken.stays = true;
            }
        }
    }

    fn thaw(&mut self, content: &Frozen<'_>, wanted: impl Fn(&ObjectRef) -> bool) {
        let Self { segments, routes, sessions, broken, extras: _, intents: _, settings: _ } = self;
        thaw(content, segments, broken, &wanted);
        thaw(content, routes, broken, &wanted);
        thaw(content, sessions, broken, &wanted);
    }

    fn sort(&mut self) {
        piece::sort(&mut self.segments);
        piece::sort(&mut self.routes);
        piece::sort(&mut self.sessions);
        piece::sort(&mut self.extras);
    }
}

fn thaw<S: Spec>(
    content: &Frozen<'_>,
    pieces: &mut Vec<Arc<Piece<S>>>,
    broken: &mut BTreeMap<ObjectRef, Broken>,
    wanted: &impl Fn(&ObjectRef) -> bool,
) {
    for frozen in content.of_kind(Object::<S>::KIND) {
        let object = Object::<S>::object(&ObjectKey::global(&frozen.name.0));
        if !wanted(&object) {
            continue;
        }
        match Piece::thawed(frozen) {
            Ok(piece) => pieces.push(Arc::new(piece)),
            Err(findings) => drop(broken.insert(object, Broken { findings, stays: false })),
        }
    }
}

/// What an object is told by the operator configuration; used by [`given`].
pub(super) type Config = OperatorConfig;
