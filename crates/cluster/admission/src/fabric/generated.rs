//! Low-level objects that the controller generates from intents, and who may change them.

use netloom_api::fabric::{OWNER_KIND, OWNER_NAME};
use serde_json::Value;

use super::raw;
use crate::{Findings, Operation, Review};

/// The intent that an object was generated from, as kind and name.
pub(crate) fn owner(object: &Value) -> Option<(&str, &str)> {
    Some((raw::label(object, OWNER_KIND)?, raw::label(object, OWNER_NAME).unwrap_or_default()))
}

/// Whether an object was generated.
pub(crate) fn is_generated(object: &Value) -> bool {
    owner(object).is_some()
}

/// Keeps everybody but the controller from changing what it generates, or from making such objects.
///
/// A deletion is taken: the controller recreates the object.
pub(crate) fn protect(review: &Review<'_>, findings: &mut Findings) {
    let owner = review.old.and_then(owner).or_else(|| review.object.and_then(owner));
    let Some((kind, name)) = owner else { return };
    if review.user.is_controller() {
        return;
    }
    let this = format!("{} {:?}", review.kind.kind, review.name);
    match review.operation {
        Operation::Delete => {
            findings.warn(format!("{this} is generated from {kind} {name:?} and will be recreated while that exists"));
        }
        Operation::Create => {
            findings.forbid(format!("the label {OWNER_KIND} marks objects that the controller generates"));
        }
        Operation::Update | Operation::Connect => {
            findings.forbid(format!("{this} is generated from {kind} {name:?}; change that object instead"));
        }
    }
}
