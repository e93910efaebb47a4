//! How much of what is chosen for nodes fits into the configuration of one.
//!
//! A configuration that a server does not store reaches nobody: the node would keep what it has, for ever and in silence. So
//! objects are left out, the one that came last first, together with all that was made of the same intent, until the rest
//! fits. The others go on, and the one that is left out says so.

use std::collections::BTreeSet;

use netloom_object::ObjectRef;
use serde_json::json;

use super::{choice::Choice, objects::Spec, piece::Piece};
use crate::{
    contribution::Contribution,
    finding::{Finding, reason},
    layout::MOST,
};

/// Fewer entries than these fit, however long their words are.
const FEW: usize = 200;

/// Makes as much as fits of a choice; `make` makes all of one.
pub(super) fn fitting(choice: &Choice, make: impl Fn(&Choice) -> Contribution) -> Contribution {
    let whole = make(choice);
    if fits(&whole) {
        return whole;
    }
    let askers = choice.askers();
    // So many of the first fit, and so many do not.
    let (mut fit, mut not) = (0, askers.len());
    while fit + 1 < not {
        let middle = usize::midpoint(fit, not);
        if fits(&make(&choice.only_of(&askers[..middle]))) {
            fit = middle;
        } else {
            not = middle;
        }
    }
    let mut rest = make(&choice.only_of(&askers[..fit]));
    let out: BTreeSet<&ObjectRef> = askers[fit..].iter().collect();
    for object in choice.objects_of(&out) {
        let most = MOST >> 10;
        let why = format!(
            "with it the configuration of a node has more than {most} KiB, which is the most that a server stores; it is left \
             out there, and what is older stays: narrow spec.nodeSelector, or ask for fewer prefixes"
        );
        rest.refuse(object, Finding::new(reason::TOO_LARGE, "", why));
    }
    rest
}

fn fits(made: &Contribution) -> bool {
    made.fabric.view().entries().count() < FEW || json!(made.fabric).to_string().len() <= MOST
}

impl Choice {
    /// Who asks for something, in the order in which they win against each other.
    fn askers(&self) -> Vec<ObjectRef> {
        fn all<S: Spec>(pieces: impl Iterator<Item = impl AsRef<Piece<S>>>) -> Vec<(netloom_object::Meta, ObjectRef)> {
            pieces.map(|one| (one.as_ref().meta.clone(), one.as_ref().asker.clone())).collect()
        }
        let mut found = all(self.segments.values());
        found.extend(all(self.routes.iter()));
        found.extend(all(self.sessions.iter()));
        found.extend(all(self.extras.iter()));
        found.sort_by(|(one, _), (other, _)| one.precedence().cmp(&other.precedence()));
        let mut seen = BTreeSet::new();
        found.into_iter().map(|(_, asker)| asker).filter(|asker| seen.insert(asker.clone())).collect()
    }

    /// What these ask for, and nothing else.
    fn only_of(&self, askers: &[ObjectRef]) -> Self {
        let askers: BTreeSet<&ObjectRef> = askers.iter().collect();
        let mut choice = self.clone();
        choice.segments.retain(|_, one| askers.contains(&one.asker));
        choice.routes.retain(|one| askers.contains(&one.asker));
        choice.sessions.retain(|one| askers.contains(&one.asker));
        choice.extras.retain(|one| askers.contains(&one.asker));
        let routed: BTreeSet<&str> = choice.routes.iter().map(|one| one.spec.vrf.0.as_str()).collect();
        choice.identities.retain(|vrf, _| routed.contains(vrf.as_str()));
        choice
    }

    /// The low-level objects of these askers, and what they ask for beside them.
    fn objects_of(&self, askers: &BTreeSet<&ObjectRef>) -> Vec<ObjectRef> {
        let segments = self.segments.values().map(|one| (one.object(), &one.asker));
        let routes = self.routes.iter().map(|one| (one.object(), &one.asker));
        let sessions = self.sessions.iter().map(|one| (one.object(), &one.asker));
        let extras = self.extras.iter().map(|one| (one.object(), &one.asker));
        let all = segments.chain(routes).chain(sessions).chain(extras);
        all.filter(|(_, asker)| askers.contains(asker)).map(|(object, _)| object).collect()
    }
}
