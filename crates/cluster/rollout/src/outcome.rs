//! What is reported of revisions and policies: phases, counts, sentences and events.
//!
//! Nodes that are assigned something by this very decision count as assigned: reported before that is known, it would
//! have to be reported again a moment later. A revision that nodes neither shall have nor failed with is not counted
//! any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::{pipeline::network_config_revision::RevisionPhase, rollout::Phase};

use crate::{
    decision::{Assignment, Decision, Event, PolicyOutcome, RevisionOutcome, Subject, Terms},
    group::{Group, Member},
    history,
    input::{Cause, Failure, Revision, View},
    plan::{self, Plan},
    round::{Fate, Round},
    standing::{self, Standing},
    target::{Aim, Why},
    verdict::Retries,
};

/// Everything that is known before it is put into words.
pub(crate) struct Scene<'a, 'g, 'p> {
    pub(crate) view: &'p View<'a>,
    pub(crate) revisions: &'a [&'a Revision],
    pub(crate) groups: &'g [Group<'a>],
    pub(crate) aims: &'p [Aim<'a>],
    pub(crate) rounds: &'p [Option<Round<'a, 'g>>],
    pub(crate) plans: &'p [Plan],
    pub(crate) failures: &'p BTreeMap<&'a str, Failure>,
    pub(crate) proofs: &'p BTreeSet<&'a str>,
    pub(crate) retries: &'p Retries<'a>,
    /// Which nodes are assigned which revision now.
    pub(crate) moves: BTreeMap<&'p str, &'p Assignment>,
}

impl Scene<'_, '_, '_> {
    /// The decision without assignments.
    pub(crate) fn decision(&self) -> Decision {
        let revisions: Vec<RevisionOutcome> = self.revisions.iter().map(|revision| self.revision(revision)).collect();
        let policies: Vec<PolicyOutcome> = (0..self.groups.len()).map(|i| self.policy(i)).collect();
        let mut events = Vec::new();
        for (revision, outcome) in self.revisions.iter().zip(&revisions) {
            events.extend(of_revision(revision, outcome));
        }
        for (group, outcome) in self.groups.iter().zip(&policies) {
            events.extend(of_policy(group, outcome));
        }
        let mut false_claims: Vec<Event> = self.false_claims().collect();
        false_claims.sort_by(|a, b| a.subject.cmp(&b.subject));
        events.append(&mut false_claims);
        Decision {
            assignments: Vec::new(),
            revisions,
            policies,
            obsolete: history::obsolete(self),
            wake_at: self.plans.iter().filter_map(|plan| plan.wake_at).chain(self.retries.next).min(),
            terms: self.terms(),
            held_up: self.held_up(),
            at_work: self.at_work(),
            events,
        }
    }

    fn terms(&self) -> BTreeMap<String, Terms> {
        let unusual = self.groups.iter().map(|group| (group, Terms::of(&group.policy.spec)));
        let unusual = unusual.filter(|(_, terms)| *terms != Terms::default());
        unusual
            .flat_map(|(group, terms)| group.members.iter().map(move |member| (member.node.name.clone(), terms)))
            .collect()
    }

    fn at_work(&self) -> BTreeSet<String> {
        let members = self.groups.iter().flat_map(|group| &group.members);
        let working = members.filter(|member| matches!(member.standing, Standing::Working(_)));
        working.map(|member| member.node.name.clone()).collect()
    }

    fn held_up(&self) -> BTreeMap<String, Arc<str>> {
        let mut held_up: BTreeMap<String, Arc<str>> = BTreeMap::new();
        for i in 0..self.groups.len() {
            let (group, name) = (&self.groups[i], &self.groups[i].policy.name);
            // The defaults have no name, and what stops them is about a revision.
            let of = if name.is_empty() { String::new() } else { format!("RolloutPolicy {name}: ") };
            if let Some(obstacle) = self.obstacle(i) {
                let why: Arc<str> = format!("{of}{obstacle}").into();
                held_up.extend(group.members.iter().map(|member| (member.node.name.clone(), Arc::clone(&why))));
                continue;
            }
            if let Some(round) = &self.rounds[i] {
                let away = round.away.iter().map(|member| (member, member.lacks()));
                let failed = "failed on its previous revision, and comes last".to_owned();
                let repairs = round.repairs.iter().map(|member| (member, failed.clone()));
                let why = |(member, why): (&&Member<'_>, String)| {
                    (member.node.name.clone(), Arc::from(format!("the node {why}")))
                };
                held_up.extend(away.chain(repairs).map(why));
            }
        }
        held_up
    }

    /// What keeps every node of a policy from getting what is desired now.
    fn obstacle(&self, i: usize) -> Option<String> {
        let target = self.aims[i].revision.filter(|target| !self.is_newest(target));
        match (&self.plans[i].obstacle, self.aims[i].why, target) {
            (Some(obstacle), _, _) => Some(obstacle.clone()),
            (None, Why::Pinned, Some(target)) => Some(format!("its nodes are pinned to revision {}", target.name)),
            _ if self.plans[i].phase == Phase::Blocked => {
                Some("nodes failed with the desired revision, so no further nodes are assigned it".to_owned())
            }
            _ => None,
        }
    }

    fn revision(&self, revision: &Revision) -> RevisionOutcome {
        let retried = self.retries.now.contains(revision.name.as_str());
        let known = revision.failure.as_ref().filter(|_| !retried);
        let failure = known.cloned().or_else(|| self.failures.get(revision.name.as_str()).cloned());
        let aimed: Vec<usize> = (0..self.groups.len())
            .filter(|i| self.aims[*i].revision.is_some_and(|target| target.name == revision.name))
            .collect();
        let proven = self.proofs.contains(revision.name.as_str());
        let is_over = revision.proven_at.is_some() || !self.is_newest(revision);
        let counts = if aimed.is_empty() && failure.is_none() && is_over {
            Counts { total: self.groups.iter().map(|group| group.members.len()).sum(), ..Counts::default() }
        } else {
            self.count(revision, !aimed.is_empty() && failure.is_none())
        };
        let phase = self.revision_phase(revision, failure.is_some(), &aimed, counts);
        let canaries = aimed
            .iter()
            .filter(|_| failure.is_none() && !proven)
            .filter_map(|i| Some((self.groups[*i].policy.name.clone(), self.plans[*i].canary_since?)));
        let last = revision.before.as_ref().or(revision.failure.as_ref().filter(|_| retried));
        let before = last.filter(|_| failure.is_none() && !proven);
        let passed_over = if failure.is_some() { BTreeMap::new() } else { self.passed_over(&aimed) };
        let mut message = self.revision_message(phase, failure.as_ref(), &aimed, counts);
        if let Some(before) = before.filter(|_| matches!(phase, RevisionPhase::Pending | RevisionPhase::Rolling)) {
            let (number, node, why) = (before.attempts.saturating_add(1), &before.node, &before.message);
            message = format!("{message}; this is attempt {number}, the one before failed on node {node}: {why}");
        }
        if !passed_over.is_empty() {
            message = format!("{message}; passed over: {}", named(&passed_over));
        }
        RevisionOutcome {
            name: revision.name.clone(),
            phase,
            message,
            before: before.cloned(),
            passed_over,
            ready: counts.ready,
            ongoing: counts.ongoing,
            queued: counts.queued,
            apart: counts.apart,
            total: counts.total,
            proven_at: if proven { Some(self.view.now) } else { revision.proven_at },
            canaries: canaries.collect(),
            failure,
        }
    }

    /// The nodes of these groups that shall have their target and cannot take it now, with why.
    fn passed_over(&self, aimed: &[usize]) -> BTreeMap<String, String> {
        let away = aimed.iter().filter_map(|i| self.rounds[*i].as_ref()).flat_map(|round| &round.away);
        away.map(|member| (member.node.name.clone(), member.lacks())).collect()
    }

    fn is_newest(&self, revision: &Revision) -> bool {
        self.revisions.first().is_some_and(|newest| newest.name == revision.name)
    }

    fn count(&self, revision: &Revision, target: bool) -> Counts {
        let mut counts = Counts::default();
        for member in self.groups.iter().flat_map(|group| &group.members) {
            counts.total += 1;
            let same = revision.node_change(&member.node.name).is_some_and(|node_change| node_change.written);
            let given = member.node.assigned.is_some();
            if revision.passes_by(member.node) {
                counts.apart += 1;
                continue;
            }
            if self.moves.get(member.node.name.as_str()).is_some_and(|given| given.revision == revision.name) {
                counts.ongoing += 1;
                continue;
            }
            if !(revision.holds(member.node) || (same && given)) {
                counts.queued += usize::from(target);
                continue;
            }
            match member.standing {
                Standing::Done => counts.ready += 1,
                Standing::Working(_) | Standing::Unwell { .. } => counts.ongoing += 1,
                Standing::Failed(_) | Standing::Unassigned => counts.failed += 1,
            }
        }
        counts
    }

    fn revision_phase(&self, revision: &Revision, failed: bool, aimed: &[usize], counts: Counts) -> RevisionPhase {
        match (failed, aimed.is_empty()) {
            (true, _) => RevisionPhase::Failed,
            (false, true) if revision.proven_at.is_some() => RevisionPhase::Kept,
            (false, true) if self.is_newest(revision) => RevisionPhase::Pending,
            (false, true) => RevisionPhase::Superseded,
            (false, false) if aimed.iter().all(|i| self.is_through(*i)) && counts.ready > 0 => RevisionPhase::Active,
            (false, false) if counts.ready + counts.ongoing + counts.failed == 0 => RevisionPhase::Pending,
            (false, false) => RevisionPhase::Rolling,
        }
    }

    /// Whether every node of a policy that can has its target. Those that failed on something else come after it has
    /// proved itself, and it is not everywhere before.
    fn is_through(&self, i: usize) -> bool {
        let repairing = self.rounds[i].as_ref().is_some_and(Round::is_repairing);
        self.plans[i].complete && !repairing
    }

    fn revision_message(
        &self,
        phase: RevisionPhase,
        failure: Option<&Failure>,
        aimed: &[usize],
        counts: Counts,
    ) -> String {
        let Counts { ready, total, apart, .. } = counts;
        let mut obstacles: Vec<&str> = aimed.iter().filter_map(|i| self.plans[*i].obstacle.as_deref()).collect();
        // Several policies may wait for the same.
        obstacles.dedup();
        let mut progress = format!("{ready} of {total} nodes have it");
        if apart > 0 {
            progress = format!("{progress}; with a desired state of their own: {apart}");
        }
        match (phase, failure) {
            (RevisionPhase::Failed, Some(failure)) => failed(failure),
            (RevisionPhase::Superseded, _) => "another revision took its place".to_owned(),
            (RevisionPhase::Kept, _) => "nodes can return to it".to_owned(),
            _ if obstacles.is_empty() => progress,
            _ => format!("{progress}; {}", obstacles.join("; ")),
        }
    }

    fn policy(&self, i: usize) -> PolicyOutcome {
        let (group, plan) = (&self.groups[i], &self.plans[i]);
        let proven = self.revisions.iter().find(|revision| revision.is_valid() && revision.proven_at.is_some());
        let mut nodes = plan.counts.clone();
        nodes.updated = nodes.updated.saturating_add(plan::count(self.moved(i, |_| true).count()));
        PolicyOutcome {
            name: group.policy.name.clone(),
            phase: plan.phase,
            message: self.policy_message(i),
            target: self.aims[i].revision.map(|target| target.name.clone()),
            last_good: proven.map(|revision| revision.name.clone()),
            wave: plan.wave,
            nodes,
        }
    }

    /// The nodes of a policy that are assigned something now, for one of these causes.
    fn moved(&self, i: usize, is: fn(Cause) -> bool) -> impl Iterator<Item = &Member<'_>> {
        let given =
            move |member: &&Member<'_>| self.moves.get(member.node.name.as_str()).is_some_and(|given| is(given.cause));
        self.groups[i].members.iter().filter(given)
    }

    fn policy_message(&self, i: usize) -> String {
        let (plan, aim) = (&self.plans[i], &self.aims[i]);
        if let Some(obstacle) = &plan.obstacle {
            return obstacle.clone();
        }
        let Some(round) = &self.rounds[i] else { return "there is no revision".to_owned() };
        let name = &round.target.name;
        let counts = &plan.counts;
        let given = round.given.iter().filter(|(_, fate)| *fate == Fate::Working).map(|(member, _)| *member);
        let working = names(given.chain(self.moved(i, |cause| cause == Cause::Wave)));
        match plan.phase {
            Phase::Done if counts.ready < counts.total => {
                let apart = counts.total - counts.ready;
                format!("{} nodes have revision {name}; with a desired state of their own: {apart}", counts.ready)
            }
            Phase::Done => format!("all {} nodes have revision {name}", counts.total),
            Phase::Canary if working.is_empty() => format!("revision {name} is about to reach its first nodes"),
            Phase::Canary => format!("the first nodes get revision {name}: {working}"),
            Phase::Soaking => {
                let seconds = self.groups[i].policy.spec.canary.soak_seconds;
                let end = plan.canary_since.map(|since| standing::later(since, seconds));
                let end = end.map(|end| end.to_string()).unwrap_or_default();
                format!("the first nodes have revision {name} and are watched until {end}")
            }
            Phase::Wave => {
                let allowed = round.step().1;
                format!("{} of {allowed} nodes of this wave have revision {name}", round.done())
            }
            Phase::Reverting => match aim.why {
                Why::Fallback(failed) => {
                    format!("revision {} failed{}: nodes return to {name}", failed.name, on(failed))
                }
                Why::Newest | Why::Pinned | Why::Held | Why::PinnedGone(_) | Why::NoRevision => {
                    format!("nodes return to revision {name}")
                }
            },
            Phase::Paused | Phase::Blocked | Phase::Waiting => self.waiting(i, round),
        }
    }

    fn waiting(&self, i: usize, round: &Round<'_, '_>) -> String {
        let counts = &self.plans[i].counts;
        let mut parts = vec![format!("{} of {} nodes have revision {}", counts.ready, counts.total, round.target.name)];
        let failed = round.at.iter().copied().filter(|member| matches!(member.standing, Standing::Failed(_)));
        for (what, who) in [
            ("failed", names(failed)),
            ("failed on something else", names(round.repairs.iter().copied())),
            ("still applying their previous revision", names(round.elsewhere.iter().copied())),
        ] {
            if !who.is_empty() {
                parts.push(format!("{what}: {who}"));
            }
        }
        parts.extend(Self::gates(round));
        parts.join("; ")
    }

    /// What nodes must show before they can take the target, or count as well with it.
    fn gates(round: &Round<'_, '_>) -> Vec<String> {
        let mut waiting: BTreeMap<String, Vec<&Member<'_>>> = BTreeMap::new();
        for member in &round.away {
            waiting.entry(member.lacks()).or_default().push(member);
        }
        for member in &round.at {
            if let Standing::Unwell { gate, .. } = &member.standing {
                waiting.entry(format!("have it, but condition {gate} is not True")).or_default().push(member);
            }
        }
        waiting.into_iter().map(|(what, who)| format!("{what}: {}", names(who.into_iter()))).collect()
    }

    fn false_claims(&self) -> impl Iterator<Item = Event> {
        self.view.nodes.iter().filter_map(|node| {
            let claimed = standing::false_claim(node)?;
            let given = node.assigned.as_ref().map_or("none", |assigned| assigned.revision.as_str());
            Some(Event {
                subject: Subject::Node(node.name.clone()),
                warning: true,
                reason: "ReportIgnored",
                message: format!("node {} reports revision {claimed}, but was assigned {given}", node.name),
            })
        })
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    ready: usize,
    ongoing: usize,
    queued: usize,
    apart: usize,
    failed: usize,
    total: usize,
}

/// The first few names, and how many more there are.
fn names<'m, 'a: 'm>(members: impl Iterator<Item = &'m Member<'a>>) -> String {
    const SHOWN: usize = 3;
    let mut all: Vec<&str> = members.map(|member| member.node.name.as_str()).collect();
    all.sort_unstable();
    let more = all.len().saturating_sub(SHOWN);
    let shown = all[..all.len().min(SHOWN)].join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// The first few nodes with their reasons, and how many more there are.
fn named(nodes: &BTreeMap<String, String>) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = nodes.iter().take(SHOWN).map(|(node, why)| format!("{node} ({why})")).collect();
    match nodes.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What failed, and how often.
fn failed(failure: &Failure) -> String {
    // When it is tried next is a field of its own.
    let Failure { node, message, at: _, attempts, retry_at: _ } = failure;
    match attempts {
        0 | 1 => format!("node {node}: {message}"),
        _ => format!("node {node}: {message}; this was attempt {attempts}"),
    }
}

fn on(failed: &Revision) -> String {
    failed
        .failure
        .as_ref()
        .map_or_else(String::new, |failure| format!(" on node {} ({})", failure.node, failure.message))
}

/// An event for a revision whose phase is not the one that its status says.
fn of_revision(revision: &Revision, outcome: &RevisionOutcome) -> Option<Event> {
    if revision.failure.is_some() && outcome.failure.is_none() {
        let message = format!("revision {}: {}", outcome.name, outcome.message);
        let subject = Subject::Revision(outcome.name.clone());
        return Some(Event { subject, warning: false, reason: "RolloutRetried", message });
    }
    if revision.phase == Some(outcome.phase) {
        return None;
    }
    let (reason, warning) = match outcome.phase {
        RevisionPhase::Rolling => ("RolloutStarted", false),
        RevisionPhase::Active => ("RolloutDone", false),
        RevisionPhase::Failed => ("RolloutFailed", true),
        RevisionPhase::Superseded => ("RolloutSuperseded", false),
        RevisionPhase::Pending | RevisionPhase::Kept => return None,
    };
    let message = format!("revision {}: {}", outcome.name, outcome.message);
    Some(Event { subject: Subject::Revision(outcome.name.clone()), warning, reason, message })
}

/// An event for a policy whose phase is not the one that its status says.
fn of_policy(group: &Group<'_>, outcome: &PolicyOutcome) -> Option<Event> {
    let before = group.policy.phase;
    if outcome.name.is_empty() || before == Some(outcome.phase) {
        return None;
    }
    let (reason, warning) = match outcome.phase {
        Phase::Paused => ("RolloutPaused", false),
        Phase::Blocked => ("RolloutBlocked", true),
        Phase::Reverting => ("RolloutReverting", true),
        Phase::Done | Phase::Canary | Phase::Soaking | Phase::Wave | Phase::Waiting
            if matches!(before, Some(Phase::Paused | Phase::Blocked)) =>
        {
            ("RolloutResumed", false)
        }
        Phase::Done | Phase::Canary | Phase::Soaking | Phase::Wave | Phase::Waiting => return None,
    };
    Some(Event { subject: Subject::Policy(outcome.name.clone()), warning, reason, message: outcome.message.clone() })
}
