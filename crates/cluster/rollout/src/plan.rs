//! What happens next to the nodes of one policy.

use jiff::Timestamp;
use netloom_api::rollout::{NodeCounts, Phase};

use crate::{
    decision::Assignment,
    group::{Group, Member},
    input::Cause,
    round::{Fate, Round},
    standing::{self, Standing},
    target::{Aim, Why},
    trial::{Stage, Trial},
};

/// What happens next, and why nothing else does.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) phase: Phase,
    /// What keeps it from going on, if anything does.
    pub(crate) obstacle: Option<String>,
    pub(crate) wave: Option<u32>,
    pub(crate) counts: NodeCounts,
    pub(crate) assignments: Vec<Assignment>,
    /// When the state of things changes by time alone.
    pub(crate) wake_at: Option<Timestamp>,
    /// Since when the first nodes are well, while they are watched.
    pub(crate) canary_since: Option<Timestamp>,
    /// Whether groups that come later may start.
    pub(crate) lets_others: bool,
    /// Whether every node that can take the target has it.
    pub(crate) complete: bool,
    /// What the nodes say for the target.
    pub(crate) evidence: Evidence,
}

/// What the nodes of a group say for a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Nothing yet.
    None,
    /// Some node of the round reported it itself.
    Reported,
    /// It changes nothing on any node, now or later.
    Untouched,
    /// There is nobody who could say anything: no node, or only nodes that keep a desired state of their own.
    Nobody,
}

/// What the whole cluster says to one group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'t> {
    pub(crate) now: Timestamp,
    /// Whether groups before this one have their first nodes behind them.
    pub(crate) turn: bool,
    /// The node that comes before all others, where the target failed before.
    pub(crate) trial: Option<&'t Trial<'t>>,
}

/// Plans for a group; `round` is none exactly when there is no target.
pub(crate) fn plan(group: &Group<'_>, aim: Aim<'_>, round: Option<&Round<'_, '_>>, setting: Setting<'_>) -> Plan {
    let deadlines = group.members.iter().filter_map(|member| deadline(&member.standing));
    let mut wake_at = deadlines.filter(|until| *until > setting.now).min();
    let Some(round) = round else { return without_target(group, aim, wake_at) };
    let soak = Soak::of(group, round, setting.now);
    // Of one that failed nobody waits for the end.
    if let Soak::Until { end, .. } = soak
        && !matches!(aim.why, Why::Held)
    {
        wake_at = Some(wake_at.map_or(end, |other| other.min(end)));
    }
    let obstacle = obstacle(group, aim, round).or_else(|| setting.trial?.obstacle(&round.target.name));
    let mut assignments = Vec::new();
    if obstacle.is_none() {
        let allotment = Allotment { group, round, setting, soaked: soak.is_over() };
        assignments = allotment.assignments();
    }
    let complete = is_complete(group, round, &soak);
    let (phase, wave) = phase(group, aim, round, &soak, obstacle.as_deref());
    Plan {
        phase,
        wave,
        counts: counts(group, round),
        wake_at,
        canary_since: soak.since(),
        lets_others: obstacle.is_some() || complete || (soak.is_over() && !round.given.is_empty()),
        complete,
        evidence: evidence(group, round),
        obstacle,
        assignments,
    }
}

/// Everything that is handed out now.
pub(crate) fn moves(plans: &[Plan]) -> Vec<Assignment> {
    plans.iter().flat_map(|plan| plan.assignments.iter().cloned()).collect()
}

fn without_target(group: &Group<'_>, aim: Aim<'_>, wake_at: Option<Timestamp>) -> Plan {
    let obstacle = match aim.why {
        Why::PinnedGone(name) => format!("revision {name}, which is asked for, is not there"),
        Why::Fallback(failed) => format!("revision {} failed and there is none to return to", failed.name),
        Why::NoRevision | Why::Newest | Why::Pinned | Why::Held => "there is no revision".to_owned(),
    };
    let total = count(group.members.len());
    let phase = match aim.why {
        // Nobody asked for anything yet: that is nothing to warn of.
        Why::NoRevision => Phase::Waiting,
        Why::PinnedGone(_) | Why::Fallback(_) | Why::Newest | Why::Pinned | Why::Held => Phase::Blocked,
    };
    Plan {
        phase,
        obstacle: Some(obstacle),
        wave: None,
        counts: NodeCounts { total, ..NodeCounts::default() },
        assignments: Vec::new(),
        wake_at,
        canary_since: None,
        lets_others: true,
        complete: false,
        evidence: Evidence::None,
    }
}

fn deadline(standing: &Standing) -> Option<Timestamp> {
    match standing {
        Standing::Working(until) | Standing::Unwell { until, .. } => Some(*until),
        Standing::Unassigned | Standing::Done | Standing::Failed(_) => None,
    }
}

/// The time for which the first nodes are watched.
#[derive(Debug)]
pub(crate) enum Soak {
    /// They do not have it yet.
    NotYet,
    /// They have it since then.
    Until { since: Timestamp, end: Timestamp },
    /// It is over, or there is none; the start is kept while only the first nodes have it.
    Over(Option<Timestamp>),
}

impl Soak {
    pub(crate) fn of(group: &Group<'_>, round: &Round<'_, '_>, now: Timestamp) -> Self {
        let seconds = group.policy.spec.canary.soak_seconds;
        if round.given.len() > round.steps[0] {
            return Self::Over(None);
        }
        if round.given.is_empty() || !round.past_canary() {
            return Self::NotYet;
        }
        if seconds == 0 {
            return Self::Over(None);
        }
        let since = round.target.canaries.get(&group.policy.name).copied().unwrap_or(now);
        let end = standing::later(since, seconds);
        if now < end { Self::Until { since, end } } else { Self::Over(Some(since)) }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Over(_))
    }

    fn since(&self) -> Option<Timestamp> {
        match self {
            Self::NotYet => None,
            Self::Until { since, .. } => Some(*since),
            Self::Over(since) => *since,
        }
    }
}

/// What keeps every node of the group from getting anything.
pub(crate) fn obstacle(group: &Group<'_>, aim: Aim<'_>, round: &Round<'_, '_>) -> Option<String> {
    let spec = &group.policy.spec;
    let name = &round.target.name;
    if let Some(why) = &group.policy.unreadable {
        return Some(format!("the policy cannot be read, so its nodes stay as they are: {why}"));
    }
    if spec.paused {
        return Some("the policy is paused".to_owned());
    }
    if round.target.paused {
        return Some(format!("revision {name} is paused"));
    }
    if let Why::Held = aim.why {
        return Some(format!("revision {name} failed; nodes that have it keep it"));
    }
    // What was begun under one limit is not left half done under another; returns are never limited.
    let limits = spec.limits.as_ref().filter(|_| !round.forwards.is_empty() && round.given.is_empty())?;
    let most = limits.max_affected_nodes.as_ref().map(|share| share.of(group.members.len()));
    let affected = round.steps.last().copied().unwrap_or_default();
    if let Some(most) = most.filter(|most| affected > *most) {
        return Some(format!("revision {name} changes {affected} nodes, and limits.maxAffectedNodes allows {most}"));
    }
    let mut node_changes =
        round.forwards.iter().filter_map(|member| Some((member, round.target.node_change(&member.node.name)?)));
    let most = limits.max_deletions?;
    let (member, node_change) = node_changes.find(|(_, node_change)| node_change.removals > most)?;
    let (node, removals) = (&member.node.name, node_change.removals);
    Some(format!(
        "revision {name} takes {removals} links and addresses from node {node}, and limits.maxDeletions allows {most}"
    ))
}

/// Whether nothing is left to do for the target before it has proved itself, or since.
fn is_complete(group: &Group<'_>, round: &Round<'_, '_>, soak: &Soak) -> bool {
    let tolerated = usize::try_from(group.policy.spec.tolerated_failures).unwrap_or(usize::MAX);
    let proven = round.target.proven_at.is_some();
    let untried = !proven && round.done() == 0 && !round.repairs.is_empty();
    round.is_idle()
        && !untried
        && round.working() == 0
        && (round.given.is_empty() || soak.is_over())
        && (proven || round.failed().count() <= tolerated)
}

fn evidence(group: &Group<'_>, round: &Round<'_, '_>) -> Evidence {
    let untouched = round.given.is_empty() && round.away.is_empty() && round.repairs.is_empty();
    let mut asked = round.at.iter().filter(|member| !round.target.is_apart(member.node)).peekable();
    match round.done() {
        0 if untouched && asked.peek().is_none() && round.at.len() == group.members.len() => Evidence::Nobody,
        // What changes nothing works where what there is works, and that must be so somewhere.
        0 if untouched && asked.any(|member| member.standing == Standing::Done) => Evidence::Untouched,
        0 => Evidence::None,
        _ => Evidence::Reported,
    }
}

/// What can be handed out.
struct Allotment<'a, 'g, 'r> {
    group: &'r Group<'a>,
    round: &'r Round<'a, 'g>,
    setting: Setting<'r>,
    soaked: bool,
}

impl<'a, 'g> Allotment<'a, 'g, '_> {
    fn assignments(&self) -> Vec<Assignment> {
        let budget = self.group.policy.spec.max_unavailable.of(self.group.members.len());
        let busy = self.group.members.iter().filter(|member| member.standing.is_busy()).count();
        let mut room = budget.saturating_sub(busy);
        let mut chosen = Vec::new();
        self.take(&self.round.returns, Cause::Return, &mut room, &mut chosen);
        self.take(&self.round.joins, Cause::Join, &mut room, &mut chosen);
        if self.round.target.proven_at.is_some() {
            self.take(&self.round.repairs, Cause::Repair, &mut room, &mut chosen);
        }
        self.take(&self.in_turn(room), Cause::Wave, &mut room, &mut chosen);
        chosen
    }

    /// Takes members while there is room; one that is busy anyway needs none.
    fn take(&self, members: &[&'g Member<'a>], cause: Cause, room: &mut usize, chosen: &mut Vec<Assignment>) {
        for member in members {
            if !member.standing.is_busy() {
                let Some(left) = room.checked_sub(1) else { continue };
                *room = left;
            }
            chosen.push(self.round.assignment(member, &self.group.policy.spec, cause));
        }
    }

    /// Those whose turn it is.
    fn in_turn(&self, room: usize) -> Vec<&'g Member<'a>> {
        let round = self.round;
        let proven = round.target.proven_at.is_some();
        let alone = match self.setting.trial {
            Some(Trial { stage: Stage::Held(_) | Stage::Runs, .. }) => return Vec::new(),
            Some(Trial { node, stage: Stage::Next }) => Some(*node),
            Some(Trial { stage: Stage::Passed, .. }) | None => None,
        };
        let waits = !proven && alone.is_none() && !self.has_begun() && !self.setting.turn;
        if blocked_by_failures(self.group, round) || waits {
            return Vec::new();
        }
        let allowed = match (round.past_canary() && !round.given.is_empty(), self.soaked) {
            (false, _) => round.steps[0],
            (true, true) => round.step().1,
            (true, false) => return Vec::new(),
        };
        let free = allowed.saturating_sub(round.given.len());
        if let Some(alone) = alone {
            let candidates = round.forwards.iter().chain(&round.repairs).copied();
            return candidates.filter(|member| member.node.name == alone).take(free).collect();
        }
        // Nodes that failed on something else are tried first only when nobody else can be: when there
        // is no other node, or when they use up what the policy allows.
        // One that is busy anyway needs no room.
        let busy = |member: &&&Member<'_>| member.standing.is_busy();
        let nobody_else = round.forwards.is_empty()
            || (room == 0 && round.working() == 0 && round.forwards.iter().find(busy).is_none());
        if !proven && nobody_else && round.done() == 0 && round.elsewhere.is_empty() {
            return round.repairs.iter().copied().take(free).collect();
        }
        let zone = self.zone();
        let mut left = room;
        let fits = |member: &&Member<'_>| {
            let is_busy = member.standing.is_busy();
            let fits = is_busy || left > 0;
            left = left.saturating_sub(usize::from(!is_busy));
            fits
        };
        round.forwards.iter().copied().filter(|member| zone == Some(member.zone)).filter(fits).take(free).collect()
    }

    /// Whether a node was assigned it in the turn of the group; that on which it is tried again does not wait for that.
    fn has_begun(&self) -> bool {
        let tried = self.setting.trial.map(|trial| trial.node);
        self.round.given.iter().any(|(member, _)| Some(member.node.name.as_str()) != tried)
    }

    /// The zone that is at work, else that of the next node.
    fn zone(&self) -> Option<&'a str> {
        let working = self.round.given.iter().find(|(_, fate)| *fate == Fate::Working);
        working.map(|(member, _)| member).or(self.round.forwards.first()).map(|member| member.zone)
    }
}

/// Whether failures of a revision that has proved itself keep further nodes from what follows from it.
fn blocked_by_failures(group: &Group<'_>, round: &Round<'_, '_>) -> bool {
    let tolerated = usize::try_from(group.policy.spec.tolerated_failures).unwrap_or(usize::MAX);
    round.failed().count() > tolerated && !round.forwards.is_empty()
}

fn phase(
    group: &Group<'_>,
    aim: Aim<'_>,
    round: &Round<'_, '_>,
    soak: &Soak,
    obstacle: Option<&str>,
) -> (Phase, Option<u32>) {
    let spec = &group.policy.spec;
    let moving = !round.forwards.is_empty() || round.working() > 0;
    let at_work = round.at.iter().any(|member| matches!(member.standing, Standing::Working(_)));
    let fallback = matches!(aim.why, Why::Fallback(_));
    if spec.paused || round.target.paused || matches!(aim.why, Why::Held) {
        return (Phase::Paused, None);
    }
    if obstacle.is_some() || blocked_by_failures(group, round) {
        return (Phase::Blocked, None);
    }
    if !round.returns.is_empty() || (fallback && (moving || at_work)) {
        return (Phase::Reverting, None);
    }
    match soak {
        Soak::Until { .. } => return (Phase::Soaking, None),
        Soak::NotYet if moving => return (Phase::Canary, None),
        Soak::Over(_) if moving => {
            let number = round.step().0.max(1);
            return (Phase::Wave, Some(count(number)));
        }
        Soak::NotYet | Soak::Over(_) => {}
    }
    let ready = round.at.iter().filter(|member| member.standing == Standing::Done).count();
    (if ready == group.members.len() { Phase::Done } else { Phase::Waiting }, None)
}

fn counts(group: &Group<'_>, round: &Round<'_, '_>) -> NodeCounts {
    let given = || round.at.iter().filter(|member| !round.target.passes_by(member.node));
    let at = |wanted: fn(&Standing) -> bool| count(given().filter(|member| wanted(&member.standing)).count());
    let unwell = at(|standing| matches!(standing, Standing::Unwell { .. }));
    NodeCounts {
        total: count(group.members.len()),
        updated: count(given().count()),
        ready: at(|standing| *standing == Standing::Done),
        failed: at(|standing| matches!(standing, Standing::Failed(_))),
        unavailable: count(round.away.len()).saturating_add(unwell),
    }
}

pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
