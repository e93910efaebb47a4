//! Which node gets which revision next.
//!
//! ```text
//! revisions, nodes with their reports, policies, time --rollout--> assignments, statuses, events, next look
//! ```
//!
//! [`rollout`] is a pure function of live objects: it stores nothing, counts nothing up and reads no
//! clock. Whoever calls it again with the same objects gets the same decision, so a restart at any
//! moment loses and repeats nothing. What must be remembered is part of the objects: that a revision
//! failed, when it had proved itself, since when its first nodes are well, and for each node what it was
//! assigned, when and why.
//!
//! # Who counts as done
//!
//! A node is done with a revision when all of this holds:
//!
//! - its objects say what the revision says for it;
//! - its own report names the revision *and* the generation that its object has now, so that the answer
//!   to an earlier desired state never counts for a later one, nor does a report of what it was never assigned;
//! - it shows the conditions that the policy asks for and that it showed when it was assigned.
//!
//! A revision that changes nothing for a node is not written to it. The node then goes on naming the
//! older revision, and its report of that one is a report about exactly the content that the newer one
//! has for it: so it counts, and only then. A node that failed on the older name, or has not answered,
//! is not done with the newer one either.
//!
//! # Who can take a change
//!
//! A node whose agent is there, by the signs of life that the agent itself gives; conditions of its `Node` say nothing
//! about that. A node that cannot is passed over, and named with its reason.
//!
//! # What holds in every decision
//!
//! - Verdicts come first: a decision that finds a revision failed or proved tells no node anything. The
//!   next one, which sees the verdict in the object, does.
//! - No decision makes more nodes of a policy busy than `maxUnavailable` allows.
//! - Only nodes assigned in their turn ([`Cause::Wave`]) decide about a revision, and only until it has proved
//!   itself. What fails later holds up others and is reported, but does not take back what works elsewhere.
//! - A revision that failed is assigned to no node until it is tried again: when somebody asks, when what bears on the
//!   failure changes, or after a delay that doubles with each failure. Then one node is assigned it, the one that
//!   failed, and no other node of any policy before that one has it.
//! - How long a node may take is counted on the deciding clock alone, from when it knows what the node was assigned.

mod decision;
mod group;
mod history;
mod input;
mod outcome;
mod plan;
mod round;
mod standing;
mod target;
mod trial;
mod verdict;

pub use decision::{Assignment, Decision, Event, PolicyOutcome, RevisionOutcome, Subject, Terms};
pub use input::{Assigned, Cause, Failure, Liveness, Node, NodeChange, Policy, Progress, Report, Revision, View};

use crate::{
    plan::{Plan, Setting},
    round::{Leave, Round},
    target::{Aim, Why},
};

/// Decides what happens next.
pub fn rollout(view: &View<'_>) -> Decision {
    let defaults = Policy::of_defaults();
    let mut revisions: Vec<&Revision> = view.revisions.iter().collect();
    revisions.sort_by(|a, b| (b.order, &b.name).cmp(&(a.order, &a.name)));
    let groups = group::divide(view, &defaults);
    let aims: Vec<Aim<'_>> = groups.iter().map(|group| target::aim(group.policy, &revisions)).collect();
    let rounds: Vec<Option<Round<'_, '_>>> = groups
        .iter()
        .zip(&aims)
        .map(|(group, aim)| Some(Round::new(group, aim.revision?, &|named| leave(named, aim, &revisions), view.now)))
        .collect();
    let mut plans: Vec<Plan> = Vec::new();
    let mut turn = true;
    for ((group, aim), round) in groups.iter().zip(&aims).zip(&rounds) {
        let trial = aim.revision.and_then(|target| trial::of(target, &groups, &aims, &rounds, view.now));
        let setting = Setting { now: view.now, turn, trial: trial.as_ref() };
        let plan = plan::plan(group, *aim, round.as_ref(), setting);
        turn &= plan.lets_others;
        plans.push(plan);
    }
    let failures = verdict::failures(&revisions, &groups, &rounds, view.now);
    let proofs = verdict::proofs(&revisions, &groups, &aims, &rounds, &plans, view.now);
    let retries = verdict::retries(&groups, &aims, &rounds, view.now);
    let is_judged = !failures.is_empty() || !proofs.is_empty() || !retries.now.is_empty();
    let moves = if is_judged { Vec::new() } else { plan::moves(&plans) };
    let scene = outcome::Scene {
        view,
        revisions: &revisions,
        groups: &groups,
        aims: &aims,
        rounds: &rounds,
        plans: &plans,
        failures: &failures,
        proofs: &proofs,
        retries: &retries,
        moves: moves
            .iter()
            .filter(|given| !view.refused.contains(&given.node))
            .map(|given| (given.node.as_str(), given))
            .collect(),
    };
    let mut decision = scene.decision();
    let is_settled = !is_judged && moves.is_empty();
    decision.assignments = if is_settled { history::renames(&scene) } else { moves };
    decision
}

/// When nodes leave the revision that they name for the target.
fn leave(named: &str, aim: &Aim<'_>, revisions: &[&Revision]) -> Leave {
    let failed = revisions.iter().any(|revision| revision.name == named && !revision.is_valid());
    match aim.why {
        _ if failed => Leave::AtOnce,
        Why::Pinned => Leave::WhenWell,
        Why::Newest | Why::Fallback(_) | Why::Held | Why::PinnedGone(_) | Why::NoRevision => Leave::InTurn,
    }
}
