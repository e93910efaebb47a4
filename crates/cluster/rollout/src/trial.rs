//! Where a revision that failed is tried again: on the node that failed, before any other node is assigned it, whatever
//! policies the two follow. No other node is put at risk by trying again.

use jiff::Timestamp;

use crate::{
    group::{Group, Member},
    input::Revision,
    plan::{self, Soak},
    round::{Fate, Round},
    target::Aim,
};

/// The node that comes first, and how far it is.
#[derive(Debug, Clone)]
pub(crate) struct Trial<'a> {
    pub(crate) node: &'a str,
    pub(crate) stage: Stage,
}

/// How far the trial is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The node is assigned it next.
    Next,
    /// The node cannot be assigned it, for this reason.
    Held(String),
    /// The node was assigned it in this attempt, and is applying it or watched.
    Runs,
    /// The node has it, and others may be assigned.
    Passed,
}

/// The trial of a revision, for every group whose target it is. None for one that did not fail before, and where the
/// node that failed left the cluster or has nothing to take from it any more.
pub(crate) fn of<'a>(
    target: &'a Revision,
    groups: &[Group<'a>],
    aims: &[Aim<'a>],
    rounds: &[Option<Round<'a, '_>>],
    now: Timestamp,
) -> Option<Trial<'a>> {
    let node = target.before.as_ref().filter(|_| target.proven_at.is_none())?.node.as_str();
    let ((group, aim), round) = groups.iter().zip(aims).zip(rounds).find(|((group, aim), _)| {
        let aimed = aim.revision.is_some_and(|aimed| aimed.name == target.name);
        aimed && group.members.iter().any(|member| member.node.name == node)
    })?;
    let round = round.as_ref()?;
    let is_it = |member: &&&Member<'_>| member.node.name == node;
    let stage = if let Some((_, fate)) = round.given.iter().find(|(member, _)| member.node.name == node) {
        let is_over = *fate != Fate::Working && Soak::of(group, round, now).is_over();
        if is_over { Stage::Passed } else { Stage::Runs }
    } else if let Some(obstacle) = plan::obstacle(group, *aim, round) {
        Stage::Held(format!("is held up: {obstacle}"))
    } else if let Some(member) = round.away.iter().find(is_it) {
        Stage::Held(format!("{}: {}", member.lacks(), member.remedy()))
    } else if [&round.forwards, &round.repairs, &round.elsewhere].into_iter().flatten().any(|member| is_it(&member)) {
        Stage::Next
    } else {
        return None;
    };
    Some(Trial { node, stage })
}

impl Trial<'_> {
    /// What keeps every other node from being assigned it, when that does not pass by itself.
    pub(crate) fn obstacle(&self, revision: &str) -> Option<String> {
        let Self { node, stage: Stage::Held(why) } = self else { return None };
        Some(format!("revision {revision} is tried again on node {node} first, where it failed, and that node {why}"))
    }
}
