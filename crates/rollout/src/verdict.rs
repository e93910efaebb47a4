//! What is said of a revision once and for all: that it failed, or that it works.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::{
    group::Group,
    input::{Cause, Failure, Revision},
    plan::{Evidence, Plan},
    round::Round,
    standing::Standing,
    target::Aim,
};

/// Revisions that turn out to have failed now. One that has proved itself does not fail any more.
pub(crate) fn failures<'a>(
    revisions: &[&'a Revision],
    groups: &[Group<'a>],
    rounds: &[Option<Round<'a, '_>>],
    now: Timestamp,
) -> BTreeMap<&'a str, Failure> {
    let open = revisions.iter().filter(|revision| revision.is_valid() && revision.proven_at.is_none());
    let failure = |revision: &'a Revision| {
        let worst = groups.iter().zip(rounds).filter_map(|(group, round)| too_many(revision, group, round.as_ref()));
        let (node, message) = worst.min()?;
        Some((revision.name.as_str(), Failure { node: node.to_owned(), message, at: now }))
    };
    open.filter_map(|revision| failure(revision)).collect()
}

/// The first of the nodes that failed, when there are more than the policy tolerates.
fn too_many<'a>(revision: &Revision, group: &Group<'a>, round: Option<&Round<'a, '_>>) -> Option<(&'a str, String)> {
    let failed: Vec<(&str, String)> = match round.filter(|round| round.target.name == revision.name) {
        Some(round) => round.failed().map(|(node, message)| (node, message.to_owned())).collect(),
        None => failed_before(revision, group),
    };
    let tolerated = usize::try_from(group.policy.spec.tolerated_failures).unwrap_or(usize::MAX);
    if failed.len() > tolerated { failed.into_iter().min() } else { None }
}

/// Nodes that were told a revision in their turn and failed on it, although it is not the target now.
fn failed_before<'a>(revision: &Revision, group: &Group<'a>) -> Vec<(&'a str, String)> {
    let told = group.members.iter().filter(|member| {
        let assigned = member.node.assigned.as_ref();
        assigned.is_some_and(|assigned| assigned.cause == Cause::Wave && assigned.revision == revision.name)
    });
    told.filter_map(|member| match &member.standing {
        Standing::Failed(message) => Some((member.node.name.as_str(), message.clone())),
        Standing::Untold | Standing::Working(_) | Standing::Done | Standing::Unwell { .. } => None,
    })
    .collect()
}

/// Revisions of which a round ends now: every node that can take it has it.
pub(crate) fn proofs<'a>(
    revisions: &[&'a Revision],
    groups: &[Group<'a>],
    aims: &[Aim<'_>],
    rounds: &[Option<Round<'a, '_>>],
    plans: &[Plan],
    now: Timestamp,
) -> BTreeSet<&'a str> {
    let proves = |revision: &&&'a Revision| {
        let aimed: Vec<usize> = (0..groups.len())
            .filter(|i| aims[*i].revision.is_some_and(|target| target.name == revision.name))
            .collect();
        if aimed.is_empty() {
            return revision.proven_at.is_none() && everybody_has(revision, groups);
        }
        let complete = aimed.iter().all(|i| plans[*i].complete);
        let told = aimed.iter().any(|i| rounds[*i].as_ref().is_some_and(|round| !round.told.is_empty()));
        let any = |evidence| aimed.iter().any(|i| plans[*i].evidence == evidence);
        let evidence = any(Evidence::Reported) || (any(Evidence::Untouched) && !any(Evidence::None));
        // Two rounds that end at the same moment are one.
        complete && revision.proven_at.map_or(evidence, |proven_at| told && proven_at < now)
    };
    let open = revisions.iter().filter(|revision| revision.is_valid());
    open.filter(proves).map(|revision| revision.name.as_str()).collect()
}

/// Whether a revision that is not the target any more had reached every node before the next one came:
/// then it is what nodes should return to.
fn everybody_has(revision: &Revision, groups: &[Group<'_>]) -> bool {
    let mut well = groups.iter().flat_map(|group| &group.members).filter(|member| member.well).peekable();
    let named = groups.iter().flat_map(|group| &group.members).any(|member| revision.holds(member.node));
    named
        && well.peek().is_some()
        && well.all(|member| {
            member.standing == Standing::Done && revision.wish(&member.node.name).is_some_and(|wish| wish.written)
        })
}
