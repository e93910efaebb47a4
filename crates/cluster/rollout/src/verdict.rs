//! What is reported of a revision before anything follows from it: that it failed, that it works, or that it is tried
//! again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use netloom_api::rollout::{FailureAction, RolloutPolicySpec};

use crate::{
    group::{Group, Member},
    input::{Cause, Failure, Revision},
    plan::{Evidence, Plan},
    round::Round,
    standing::{Standing, later},
    target::{Aim, Why},
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
        let worst = |group: &Group<'a>, round: &Option<Round<'a, '_>>| {
            let (node, message) = too_many(revision, group, round.as_ref())?;
            Some((node, message, retry_at(&group.policy.spec, revision.attempts().saturating_add(1), now)))
        };
        let (node, message, retry_at) =
            groups.iter().zip(rounds).filter_map(|(group, round)| worst(group, round)).min()?;
        let (node, attempts) = (node.to_owned(), revision.attempts().saturating_add(1));
        Some((revision.name.as_str(), Failure { node, message, at: now, attempts, retry_at }))
    };
    open.filter_map(|revision| failure(revision)).collect()
}

/// When a revision that has failed so often now is tried again; never by itself where a failure stops everything.
fn retry_at(spec: &RolloutPolicySpec, attempts: u32, now: Timestamp) -> Option<Timestamp> {
    match spec.on_failure {
        FailureAction::Revert => Some(later(now, spec.retry.delay(attempts))),
        FailureAction::Pause => None,
    }
}

/// What is tried again now, and when the next of them will be.
#[derive(Debug, Default)]
pub(crate) struct Retries<'a> {
    pub(crate) now: BTreeSet<&'a str>,
    pub(crate) next: Option<Timestamp>,
}

/// Revisions that failed, are still what is desired, and whose time has come. Nodes have left them before that, and
/// nobody is at anything else.
pub(crate) fn retries<'a>(
    groups: &[Group<'a>],
    aims: &[Aim<'a>],
    rounds: &[Option<Round<'a, '_>>],
    now: Timestamp,
) -> Retries<'a> {
    let mut retries = Retries::default();
    let works = |member: &Member<'_>| matches!(member.standing, Standing::Working(_));
    let is_calm = !groups.iter().flat_map(|group| &group.members).any(works)
        && rounds.iter().flatten().all(|round| round.returns.is_empty());
    if !is_calm {
        return retries;
    }
    for (group, aim) in groups.iter().zip(aims) {
        let desired = match aim.why {
            Why::Fallback(failed) => Some(failed),
            Why::Held => aim.revision,
            Why::Newest | Why::Pinned | Why::PinnedGone(_) | Why::NoRevision => None,
        };
        let Some(desired) = desired.filter(|desired| !desired.paused && !group.policy.spec.paused) else { continue };
        if !desired.asked && !is_back(desired, groups) {
            continue;
        }
        match due(desired, &group.policy.spec) {
            Some(at) if at <= now => {
                retries.now.insert(desired.name.as_str());
            }
            Some(at) => retries.next = Some(retries.next.map_or(at, |next| next.min(at))),
            None => {}
        }
    }
    retries
}

/// Whether the node that failed can be tried on again: it has left the revision and is well with what it has, or was left
/// with it. One that is silent, cannot even return or has not got back what the revision cost it may be so because of the
/// revision, and then the next node would be too; so that is for a person to decide, and so it is when the node left the
/// cluster.
fn is_back(revision: &Revision, groups: &[Group<'_>]) -> bool {
    let Some(failure) = &revision.failure else { return false };
    let mut members = groups.iter().flat_map(|group| group.members.iter().map(move |member| (group, member)));
    let Some((group, member)) = members.find(|(_, member)| member.node.name == failure.node) else { return false };
    let named = member.node.assigned.as_ref().is_some_and(|assigned| assigned.revision == revision.name);
    let well = match member.standing {
        Standing::Unassigned | Standing::Done => true,
        Standing::Failed(_) | Standing::Unwell { .. } => named,
        Standing::Working(_) => false,
    };
    member.is_able() && well && !group.policy.spec.paused
}

/// When a failed revision is tried again. A change that bears on the failure has to stand for a while, longer with each
/// failure: a link that flaps must not take its node along.
fn due(revision: &Revision, spec: &RolloutPolicySpec) -> Option<Timestamp> {
    const SHARE: u32 = 12;
    let failure = revision.failure.as_ref()?;
    if revision.asked {
        return Some(failure.at);
    }
    let early = later(failure.at, spec.retry.delay(failure.attempts) / SHARE);
    failure.retry_at.map(|at| if revision.changed { at.min(early) } else { at })
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

/// Nodes that were assigned a revision in their turn and failed on it, although it is not the target now.
fn failed_before<'a>(revision: &Revision, group: &Group<'a>) -> Vec<(&'a str, String)> {
    let given = group.members.iter().filter(|member| !revision.is_stale(member.node)).filter(|member| {
        let assigned = member.node.assigned.as_ref();
        assigned.is_some_and(|assigned| assigned.cause == Cause::Wave && assigned.revision == revision.name)
    });
    given
        .filter_map(|member| match &member.standing {
            Standing::Failed(message) => Some((member.node.name.as_str(), message.clone())),
            Standing::Unassigned | Standing::Working(_) | Standing::Done | Standing::Unwell { .. } => None,
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
        let given = aimed.iter().any(|i| rounds[*i].as_ref().is_some_and(|round| !round.given.is_empty()));
        let any = |evidence| aimed.iter().any(|i| plans[*i].evidence == evidence);
        let evidence = any(Evidence::Reported) || (any(Evidence::Untouched) && !any(Evidence::None));
        // Two rounds that end at the same moment are one.
        complete && revision.proven_at.map_or(evidence, |proven_at| given && proven_at < now)
    };
    let open = revisions.iter().filter(|revision| revision.is_valid());
    open.filter(proves).map(|revision| revision.name.as_str()).collect()
}

/// Whether a revision that is not the target any more had reached every node before the next one came:
/// then it is what nodes should return to.
fn everybody_has(revision: &Revision, groups: &[Group<'_>]) -> bool {
    let mut well = groups.iter().flat_map(|group| &group.members).filter(|member| member.is_able()).peekable();
    let named = groups.iter().flat_map(|group| &group.members).any(|member| revision.holds(member.node));
    named
        && well.peek().is_some()
        && well.all(|member| {
            member.standing == Standing::Done
                && revision.node_change(&member.node.name).is_some_and(|node_change| node_change.written)
        })
}
