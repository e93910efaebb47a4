//! Low-level objects that contradict each other, wherever one node is for both.
//!
//! Neither of them is used as it stands. What means the same on every node that has it (a VNI) is looked at over all
//! nodes, everything else only on nodes that both objects are for.

use std::{collections::BTreeMap, sync::Arc};

use netloom_object::ObjectRef;

use super::{
    given,
    in_force::{InForce, Routes, Segment},
    objects::Spec,
    piece::Piece,
};
use crate::{
    finding::{Finding, reason},
    snapshot::Snapshot,
};

/// Every object that contradicts another one, and how.
pub(super) fn of(all: &InForce, snapshot: &Snapshot) -> Vec<(ObjectRef, Finding)> {
    let mut found = Found { snapshot, all: Vec::new() };
    found.vlans(&all.segments);
    found.bridges(&all.segments);
    found.vnis(all);
    found.identities(&all.routes);
    found.targets(&all.routes);
    found.all
}

struct Found<'a> {
    snapshot: &'a Snapshot,
    all: Vec<(ObjectRef, Finding)>,
}

impl Found<'_> {
    fn vlans(&mut self, segments: &[Arc<Segment>]) {
        for same in grouped(segments, |one| one.spec.id) {
            for (one, other) in pairs(&same) {
                if self.meet(one, other) {
                    let what = format!("VLAN {}", one.spec.id);
                    self.both(one, other, ("spec.id", &what), reason::CONFLICT);
                }
            }
        }
    }

    fn bridges(&mut self, segments: &[Arc<Segment>]) {
        for same in grouped(segments, |one| bridge(one)) {
            for (one, other) in pairs(&same) {
                if one.spec.id != other.spec.id && self.meet(one, other) {
                    let what = format!("a bridge {}", bridge(one));
                    self.both(one, other, ("spec.interfaceName", &what), reason::CONFLICT);
                }
            }
        }
    }

    /// One identifier means one segment or one VRF in the whole fabric.
    fn vnis(&mut self, all: &InForce) {
        for same in grouped(&all.segments, |one| one.spec.vni) {
            for (one, other) in pairs(&same) {
                if one.spec.id != other.spec.id {
                    let what = format!("VNI {} with another VLAN", one.spec.vni);
                    self.both(one, other, ("spec.vni", &what), reason::CONFLICT);
                }
            }
        }
        let vni = |one: &Arc<Routes>| Some((given::identity(one)?.vni, one.clone()));
        let routes: Vec<(u32, Arc<Routes>)> = all.routes.iter().filter_map(vni).collect();
        for (vni, one) in &routes {
            for segment in all.segments.iter().filter(|segment| segment.spec.vni == *vni) {
                let what = format!("VNI {vni}");
                self.both(segment.as_ref(), one.as_ref(), ("spec.vni", &what), reason::CONFLICT);
            }
            for (_, other) in routes.iter().filter(|(known, other)| known == vni && other.spec.vrf < one.spec.vrf) {
                let what = format!("VNI {vni} with another VRF");
                self.both(one.as_ref(), other.as_ref(), ("spec.vni", &what), reason::CONFLICT);
            }
        }
    }

    /// A VRF has one identifier and one route target on a node.
    fn identities(&mut self, routes: &[Arc<Routes>]) {
        let declared: Vec<Arc<Routes>> =
            routes.iter().filter(|one| given::declared(&one.spec).is_some()).cloned().collect();
        for same in grouped(&declared, |one| one.spec.vrf.clone()) {
            for (one, other) in pairs(&same) {
                if given::declared(&one.spec) != given::declared(&other.spec) && self.meet(one, other) {
                    let what = format!("another VNI or route target for VRF {}", one.spec.vrf.0);
                    self.both(one, other, ("spec.vni", &what), reason::DUPLICATE_VRF);
                }
            }
        }
    }

    /// A route target is of one VRF: two with the same one would hear of each other's networks.
    fn targets(&mut self, routes: &[Arc<Routes>]) {
        let known = routes.iter().filter(|one| target_of(one).is_some()).cloned();
        for same in grouped(&known.collect::<Vec<_>>(), |one| target_of(one)) {
            for (one, other) in pairs(&same).filter(|(one, other)| one.spec.vrf != other.spec.vrf) {
                if self.meet(one, other) {
                    let what = format!("route target {} with another VRF", target_of(one).unwrap_or_default());
                    self.both(one, other, ("spec.routeTarget", &what), reason::CONFLICT);
                }
            }
        }
    }

    /// Whether some node is for both.
    fn meet<A: Spec, B: Spec>(&self, one: &Piece<A>, other: &Piece<B>) -> bool {
        let staying = self.snapshot.nodes.iter().map(|(_, node)| node).filter(|node| !node.meta.deleted);
        let mut staying = staying.peekable();
        staying.any(|node| one.selects(node) && other.selects(node))
    }

    fn both<A: Spec, B: Spec>(
        &mut self,
        one: &Piece<A>,
        other: &Piece<B>,
        (path, what): (&'static str, &str),
        reason: &'static str,
    ) {
        let why = |of: String| format!("{of} has {what}; neither counts until one of them is changed or removed");
        self.all.push((one.object(), Finding::new(reason, path, why(other.shown()))));
        self.all.push((other.object(), Finding::new(reason, path, why(one.shown()))));
    }
}

fn target_of(routes: &Routes) -> Option<String> {
    Some(given::identity(routes)?.rt?.0)
}

/// What the bridge of a segment is called.
pub(super) fn bridge(segment: &Segment) -> String {
    let given = segment.spec.interface_name.as_ref();
    given.map_or_else(|| format!("l2.{}", segment.spec.id), |name| name.0.clone())
}

fn grouped<T, K: Ord>(all: &[Arc<T>], key: impl Fn(&Arc<T>) -> K) -> Vec<Vec<Arc<T>>> {
    let mut groups: BTreeMap<K, Vec<Arc<T>>> = BTreeMap::new();
    for one in all {
        groups.entry(key(one)).or_default().push(one.clone());
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

fn pairs<T>(all: &[Arc<T>]) -> impl Iterator<Item = (&T, &T)> {
    all.iter()
        .enumerate()
        .flat_map(move |(i, one)| all[i + 1..].iter().map(move |other| (one.as_ref(), other.as_ref())))
}
