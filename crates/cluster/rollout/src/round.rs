//! The nodes of one policy, seen from the revision that they shall have.
//!
//! A round is everything that moves to that revision in waves: the nodes that have been assigned it and
//! those that still have to. While a revision is on its way for the first time, that is every node that
//! it changes. Once it has proved itself (`proven_at`), only nodes assigned later belong to the round: labels
//! may change, and what follows from that is tried on a few nodes first as well.

use jiff::Timestamp;
use netloom_api::rollout::RolloutPolicySpec;

use crate::{
    decision::Assignment,
    group::{Group, Member},
    input::{Cause, Revision},
    standing::{self, Standing},
};

/// How a node that was assigned the revision in this round has fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It still has time.
    Working,
    /// It reported the revision itself, and is well.
    Done,
    /// It failed, and this decides about the revision.
    Failed(String),
    /// It had the revision and was well, and is not any more: its share is used up, but after so long
    /// it says nothing about the revision.
    Lost,
}

/// Members of a group by where they are relative to a revision.
#[derive(Debug)]
pub(crate) struct Round<'a, 'g> {
    pub(crate) target: &'a Revision,
    /// Those whose objects say what the revision says.
    pub(crate) at: Vec<&'g Member<'a>>,
    /// Those that were assigned it in this round, with their fate: some of the above, and those whose labels
    /// changed before they were done. They have been tried on all the same.
    pub(crate) given: Vec<(&'g Member<'a>, Fate)>,
    /// Those that go back, without waves.
    pub(crate) returns: Vec<&'g Member<'a>>,
    /// Those that have nothing yet, while the revision has proved itself.
    pub(crate) joins: Vec<&'g Member<'a>>,
    /// Those that can take their turn.
    pub(crate) forwards: Vec<&'g Member<'a>>,
    /// Those that failed on something else: they come last, for they say little about the revision.
    pub(crate) repairs: Vec<&'g Member<'a>>,
    /// Those that have not answered about something else.
    pub(crate) elsewhere: Vec<&'g Member<'a>>,
    /// Those that cannot take anything now.
    pub(crate) away: Vec<&'g Member<'a>>,
    /// How many nodes of the round may have been assigned it after each step; the last is all.
    pub(crate) steps: Vec<usize>,
}

impl<'a, 'g> Round<'a, 'g> {
    /// `leaves` tells which revisions nodes have to leave for `target` at once.
    pub(crate) fn new(
        group: &'g Group<'a>,
        target: &'a Revision,
        leaves: &dyn Fn(&str) -> Leave,
        now: Timestamp,
    ) -> Self {
        let mut round = Self {
            target,
            at: Vec::new(),
            given: Vec::new(),
            returns: Vec::new(),
            joins: Vec::new(),
            forwards: Vec::new(),
            repairs: Vec::new(),
            elsewhere: Vec::new(),
            away: Vec::new(),
            steps: Vec::new(),
        };
        for member in &group.members {
            round.sort_in(member, leaves);
        }
        round.put_last_failed_first();
        round.lay_steps(group);
        round.settle(now);
        round
    }

    /// What a member is assigned.
    pub(crate) fn assignment(&self, member: &Member<'_>, spec: &RolloutPolicySpec, cause: Cause) -> Assignment {
        Assignment {
            node: member.node.name.clone(),
            revision: self.target.name.clone(),
            cause,
            attempt: self.target.attempts(),
            gates: standing::gates(member.node, spec, cause, member.proven),
        }
    }

    /// A revision that failed is tried again where it failed: no other node is put at risk by that.
    fn put_last_failed_first(&mut self) {
        if let Some(before) = &self.target.before {
            self.forwards.sort_by_key(|member| member.node.name != before.node);
        }
    }

    fn sort_in(&mut self, member: &'g Member<'a>, leaves: &dyn Fn(&str) -> Leave) {
        let node_change = self.target.node_change(&member.node.name);
        let written = node_change.is_some_and(|node_change| node_change.written);
        let assigned = member.node.assigned.as_ref();
        if written && assigned.is_some() {
            self.at.push(member);
        }
        // Also without a desired state, which is missing when somebody has deleted what the node says of itself: a
        // trial that is forgotten would be had again on another node.
        let stale = matches!(member.standing, Standing::Failed(_)) && self.target.is_stale(member.node);
        if !stale && self.was_assigned(member) && (written || self.is_still_tried(member)) {
            return self.given.push((member, Fate::Working));
        }
        if node_change.is_none() {
            return self.away.push(member);
        }
        let proven = self.target.proven_at.is_some();
        if let Some(assigned) = assigned {
            if written && !stale {
                return;
            }
            match leaves(&assigned.revision) {
                // A node that a bad revision made unwell is the first that must leave it.
                Leave::AtOnce if proven => return self.returns.push(member),
                Leave::WhenWell if proven && member.is_able() => return self.returns.push(member),
                Leave::AtOnce | Leave::WhenWell | Leave::InTurn => {}
            }
        }
        match &member.standing {
            _ if !member.is_able() => self.away.push(member),
            Standing::Unassigned if proven => self.joins.push(member),
            Standing::Unassigned | Standing::Done | Standing::Unwell { .. } => self.forwards.push(member),
            Standing::Working(_) => self.elsewhere.push(member),
            Standing::Failed(_) if stale => self.forwards.push(member),
            Standing::Failed(_) => self.repairs.push(member),
        }
    }

    fn lay_steps(&mut self, group: &Group<'_>) {
        let others = [&self.forwards, &self.repairs, &self.elsewhere, &self.away];
        let all = self.given.len() + others.map(Vec::len).iter().sum::<usize>();
        let spec = &group.policy.spec;
        // What failed before is tried again on one node, however many are first otherwise.
        let first = if self.target.before.is_some() { 1 } else { spec.canary.nodes.of(all) };
        let shares = std::iter::once(first).chain(spec.waves.iter().map(|share| share.of(all))).map(|it| it.min(all));
        // A wave that is smaller than the one before, which percentages of few nodes give, adds nothing.
        self.steps.clear();
        for step in shares.chain([all]) {
            if self.steps.last().is_none_or(|last| *last < step) {
                self.steps.push(step);
            }
        }
        if self.steps.is_empty() {
            self.steps.push(0);
        }
    }

    fn settle(&mut self, now: Timestamp) {
        let first = self.given.len() <= self.steps[0];
        for (member, given) in &mut self.given {
            *given = fate(&member.standing, first, now);
        }
    }

    /// Whether a node whose desired state changed under it still counts for what it was assigned before.
    fn is_still_tried(&self, member: &Member<'_>) -> bool {
        match member.standing {
            Standing::Working(_) => true,
            Standing::Failed(_) => self.target.proven_at.is_none(),
            Standing::Unassigned | Standing::Done | Standing::Unwell { .. } => false,
        }
    }

    fn was_assigned(&self, member: &Member<'_>) -> bool {
        member.node.assigned.as_ref().is_some_and(|assigned| {
            assigned.revision == self.target.name
                && assigned.cause == Cause::Wave
                && self.target.proven_at.is_none_or(|proven_at| assigned.since >= proven_at)
        })
    }

    /// How many of those that were assigned it have not settled.
    pub(crate) fn working(&self) -> usize {
        self.given.iter().filter(|(_, fate)| *fate == Fate::Working).count()
    }

    /// How many of those that were assigned it are done.
    pub(crate) fn done(&self) -> usize {
        self.given.iter().filter(|(_, fate)| *fate == Fate::Done).count()
    }

    /// The nodes that failed in this round, with what was wrong there.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (&'a str, &str)> {
        self.given.iter().filter_map(|(member, fate)| match fate {
            Fate::Failed(message) => Some((member.node.name.as_str(), message.as_str())),
            Fate::Working | Fate::Done | Fate::Lost => None,
        })
    }

    /// Whether the first nodes have answered, or as many of them as there are.
    pub(crate) fn past_canary(&self) -> bool {
        let settled = self.given.len() - self.working();
        settled >= self.steps[0] || (self.forwards.is_empty() && self.working() == 0)
    }

    /// The step that runs: its number, and how many nodes may have been assigned the revision in it.
    pub(crate) fn step(&self) -> (usize, usize) {
        let settled = self.given.len() - self.working();
        let number = self.steps.iter().position(|step| *step > settled).unwrap_or(self.steps.len() - 1);
        (number, self.steps[number])
    }

    /// Whether nodes that failed on something else shall have the revision, or are applying it.
    pub(crate) fn is_repairing(&self) -> bool {
        let mut at_work = self.at.iter().filter(|member| matches!(member.standing, Standing::Working(_)));
        let given = |member: &Member<'_>| member.node.assigned.as_ref().map(|assigned| assigned.cause);
        !self.repairs.is_empty() || at_work.any(|member| given(member).is_some_and(Cause::follows_failure))
    }

    /// Whether the revision changes anything on any node of the group that could still be assigned.
    pub(crate) fn is_idle(&self) -> bool {
        self.returns.is_empty() && self.joins.is_empty() && self.forwards.is_empty() && self.elsewhere.is_empty()
    }
}

/// When a node leaves the revision that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Now, well or not.
    AtOnce,
    /// Now, if it is well.
    WhenWell,
    /// When its turn comes.
    InTurn,
}

fn fate(standing: &Standing, first: bool, now: Timestamp) -> Fate {
    match standing {
        Standing::Done => Fate::Done,
        Standing::Working(_) => Fate::Working,
        Standing::Failed(message) => Fate::Failed(message.clone()),
        Standing::Unwell { until, .. } if now < *until => Fate::Working,
        Standing::Unwell { gate, .. } if first => Fate::Failed(format!("reported it and then lost condition {gate}")),
        Standing::Unwell { .. } | Standing::Unassigned => Fate::Lost,
    }
}
