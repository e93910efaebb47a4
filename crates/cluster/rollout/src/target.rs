//! Which revision the nodes of a policy shall have.

use netloom_api::rollout::FailureAction;

use crate::input::{Policy, Revision};

/// What the nodes of a policy shall have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aim<'a> {
    /// The revision; none when there is nothing that a node may be given.
    pub(crate) revision: Option<&'a Revision>,
    /// Why that one.
    pub(crate) why: Why<'a>,
}

/// Why a revision is the target.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Why<'a> {
    /// It is the newest.
    Newest,
    /// Somebody asked for it.
    Pinned,
    /// The one that was desired has failed.
    Fallback(&'a Revision),
    /// It has failed, and the policy says to stay.
    Held,
    /// Somebody asked for one that is not there.
    PinnedGone(&'a str),
    /// There is none at all.
    NoRevision,
}

/// The target of a policy; `revisions` come newest first.
pub(crate) fn aim<'a>(policy: &'a Policy, revisions: &[&'a Revision]) -> Aim<'a> {
    let nothing = |why| Aim { revision: None, why };
    let desired = match policy.spec.pinned_revision.as_deref() {
        Some(pinned) => match revisions.iter().copied().find(|revision| revision.name == pinned) {
            Some(revision) => (revision, Why::Pinned),
            None => return nothing(Why::PinnedGone(pinned)),
        },
        None => match revisions.first() {
            Some(revision) => (*revision, Why::Newest),
            None => return nothing(Why::NoRevision),
        },
    };
    match (desired.0.is_valid(), policy.spec.on_failure) {
        (true, _) => Aim { revision: Some(desired.0), why: desired.1 },
        (false, FailureAction::Pause) => Aim { revision: Some(desired.0), why: Why::Held },
        (false, FailureAction::Revert) => Aim { revision: last_good(revisions), why: Why::Fallback(desired.0) },
    }
}

/// The revision to return to: the newest that every node had, else the newest that is not known to fail.
///
/// One that was never tried everywhere is better than one that is known to be bad.
pub(crate) fn last_good<'a>(revisions: &[&'a Revision]) -> Option<&'a Revision> {
    let valid = || revisions.iter().copied().filter(|revision| revision.is_valid());
    valid().find(|revision| revision.proven_at.is_some()).or_else(|| valid().next())
}
