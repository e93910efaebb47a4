//! The objects that a write has to do with: those it refers to and those that refer to it.

use std::{borrow::Cow, sync::Arc};

use netloom_api::{
    GroupKind,
    fabric::selector::{self, LabelSelector},
};
use serde_json::Value;

use super::{index, kind, raw};
use crate::{Findings, Operation, Review, View, Write};

/// How many users of an object a message names.
const SHOWN: usize = 3;

/// The object as it shall be, when there is something to judge.
///
/// A write that leaves spec and labels alone is not judged again: what was taken once must not hold
/// up a change of annotations or finalizers.
pub(crate) fn to_judge<'a, T>(write: &'a Write<'_, T>) -> Option<&'a T> {
    let Review { operation, object, old, .. } = write.review;
    let same = |path: &[&str]| object.and_then(|new| raw::at(new, path)) == old.and_then(|old| raw::at(old, path));
    if *operation == Operation::Update && same(&["spec"]) && same(&["metadata", "labels"]) {
        return None;
    }
    write.new.as_ref()
}

/// A reference from the object that is written to another one.
pub(crate) struct Reference<'a> {
    /// The kind of the other object.
    pub(crate) kind: GroupKind<'static>,
    /// Where the reference stands.
    pub(crate) path: Cow<'a, str>,
    /// The name that it gives.
    pub(crate) name: &'a str,
    /// The name that stands there now, when the object exists.
    pub(crate) before: Option<&'a str>,
}

impl Reference<'_> {
    /// The object that is referred to; a new reference must lead to one that stays.
    pub(crate) fn resolve(&self, review: &Review<'_>, findings: &mut Findings) -> Option<Arc<Value>> {
        let found = review.view.get(self.kind, None, self.name);
        if self.before == Some(self.name) {
            return found;
        }
        match &found {
            None => {
                let detail = format!("there is no {} of this name", self.kind.kind);
                findings.not_found(&*self.path, self.name, detail);
            }
            Some(object) if raw::is_terminating(object) => {
                findings.invalid(&*self.path, self.name, format!("this {} is being deleted", self.kind.kind));
            }
            Some(_) => {}
        }
        found
    }
}

/// `found` without the object that is written.
pub(crate) fn others(review: &Review<'_>, kind: GroupKind<'_>, mut found: Vec<Arc<Value>>) -> Vec<Arc<Value>> {
    if review.kind == kind {
        found.retain(|object| raw::name(object) != review.name);
    }
    found
}

/// Other objects of a kind under a key.
pub(crate) fn others_under(review: &Review<'_>, kind: GroupKind<'_>, index: &str, key: &str) -> Vec<Arc<Value>> {
    others(review, kind, review.view.lookup(kind, index, key))
}

/// Everything that refers to the `Network` of that name.
pub(crate) fn users_of_network(view: &dyn View, name: &str) -> Vec<Arc<Value>> {
    kind::CONSUMERS.iter().flat_map(|kind| view.lookup(*kind, index::NETWORK, name)).collect()
}

/// Everything that refers to the `VRF` object of that name.
pub(crate) fn users_of_vrf(view: &dyn View, name: &str) -> Vec<Arc<Value>> {
    let kinds = [kind::DESTINATION, kind::COLLECTOR];
    kinds.iter().flat_map(|kind| view.lookup(*kind, index::VRF_REF, name)).collect()
}

/// Everything that picks `destination`.
pub(crate) fn users_of_destination(view: &dyn View, destination: &Value) -> Vec<Arc<Value>> {
    kind::CONSUMERS.into_iter().flat_map(|kind| picking(view, kind, index::SELECTS, destination)).collect()
}

/// The objects of an index of selectors that pick `destination`.
pub(crate) fn picking(view: &dyn View, kind: GroupKind<'_>, index: &str, destination: &Value) -> Vec<Arc<Value>> {
    let mut keys = selector::pairs(destination);
    keys.push(index::ANY_LABEL.to_owned());
    let mut found: Vec<_> = keys.iter().flat_map(|key| view.lookup(kind, index, key)).collect();
    found.retain(|user| raw::selector(user, "destinations").is_some_and(|picks| picks.matches(destination)));
    found
}

/// The Destinations that a selector picks.
pub(crate) fn destinations(view: &dyn View, selector: &LabelSelector) -> Vec<Arc<Value>> {
    let mut found = match selector.anchor() {
        Some(pair) => view.lookup(kind::DESTINATION, index::LABEL, &pair),
        None => view.list(kind::DESTINATION),
    };
    found.retain(|destination| selector.matches(destination));
    found
}

/// Says that an object which is to be deleted is still in use.
///
/// The deletion is taken: a finalizer of the controller keeps the object until its users are gone.
pub(crate) fn warn_in_use(review: &Review<'_>, findings: &mut Findings, users: &[Arc<Value>]) {
    if users.is_empty() {
        return;
    }
    findings.warn(format!("{} {:?} is still used by {}", review.kind.kind, review.name, list(users)));
}

/// The first few of some objects, in words.
pub(crate) fn list(objects: &[Arc<Value>]) -> String {
    let text = objects.iter().take(SHOWN).map(|object| raw::shown(object)).collect::<Vec<_>>().join(", ");
    match objects.len().saturating_sub(SHOWN) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
