//! A model of a cluster: revisions, nodes with agents, policies, and a clock that only tests move.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use netloom_api::{pipeline::network_config_revision::RevisionPhase, rollout::RolloutPolicySpec};
use netloom_rollout::{
    Assigned, Assignment, Cause, Decision, Node, NodeChange, Policy, Progress, Report, Revision, View, rollout,
};

/// Whoever decides: the real function, or one that a test has broken.
pub(crate) type Decider = fn(&View<'_>) -> Decision;

/// What a revision says, and where it does not work.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Content {
    /// What it says for nodes without an entry of their own.
    pub(crate) all: u64,
    /// What it says for single nodes.
    pub(crate) own: BTreeMap<String, u64>,
    /// Whether the label `class` of a node makes a difference.
    pub(crate) by_class: bool,
    /// Whether agents fail on it.
    pub(crate) bad: bool,
}

impl Content {
    pub(crate) fn new(all: u64) -> Self {
        Self { all, own: BTreeMap::new(), by_class: false, bad: false }
    }

    pub(crate) fn bad(self) -> Self {
        Self { bad: true, ..self }
    }

    pub(crate) fn by_class(self) -> Self {
        Self { by_class: true, ..self }
    }

    pub(crate) fn with(mut self, node: &str, value: u64) -> Self {
        self.own.insert(node.to_owned(), value);
        self
    }

    fn of(&self, node: &Node) -> (u64, String, bool) {
        let class = node.labels.get("class").and_then(|class| class.as_str()).unwrap_or_default();
        let value = self.own.get(&node.name).copied().unwrap_or(self.all);
        let bad = self.bad && self.own.get(&node.name).is_none_or(|own| *own != 0);
        (value, if self.by_class { class.to_owned() } else { String::new() }, bad)
    }
}

/// A node's agent and what it was given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agent {
    /// Whether it answers.
    pub(crate) dead: bool,
    /// Whether it has not specified what the node has; then nobody can work out what to tell it.
    pub(crate) unknown: bool,
    /// Whether it keeps a desired state of its own, so that no revision changes anything for it.
    pub(crate) apart: bool,
    /// What the objects of the node say.
    pub(crate) written: Option<(u64, String, bool)>,
    /// The generation that it has answered.
    pub(crate) answered: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) contents: BTreeMap<String, Content>,
    pub(crate) nodes: BTreeMap<String, Node>,
    pub(crate) agents: BTreeMap<String, Agent>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) decider: Decider,
    /// Every assignment so far.
    pub(crate) given: Vec<Assignment>,
    /// How many decisions assigned somebody something, with how many were assigned.
    pub(crate) waves: Vec<usize>,
    pub(crate) events: Vec<(&'static str, String)>,
    /// The most first nodes that any policy asked for so far.
    pub(crate) most_canaries: usize,
}

impl World {
    pub(crate) fn new(nodes: usize) -> Self {
        let mut world = Self {
            now: "2030-01-01T00:00:00Z".parse().unwrap(),
            revisions: Vec::new(),
            contents: BTreeMap::new(),
            nodes: BTreeMap::new(),
            agents: BTreeMap::new(),
            policies: Vec::new(),
            decider: rollout,
            given: Vec::new(),
            waves: Vec::new(),
            events: Vec::new(),
            most_canaries: 1,
        };
        (0..nodes).for_each(|i| world.join(&format!("n{i:04}")));
        world
    }

    pub(crate) fn join(&mut self, name: &str) {
        let conditions = BTreeSet::from(["Ready".to_owned()]);
        self.nodes.insert(name.to_owned(), Node { name: name.to_owned(), conditions, ..Node::default() });
        self.agents.insert(name.to_owned(), Agent::default());
    }

    pub(crate) fn policy(&mut self, name: &str, spec: RolloutPolicySpec) {
        self.policies.retain(|policy| policy.name != name);
        self.policies.push(Policy { name: name.to_owned(), spec, phase: None, unreadable: None });
    }

    /// Makes a content the desired one; one that was desired before becomes the newest again.
    pub(crate) fn make_desired(&mut self, name: &str, content: Content) {
        let order = self.revisions.iter().map(|revision| revision.order).max().unwrap_or_default() + 1;
        self.contents.insert(name.to_owned(), content);
        if let Some(known) = self.revisions.iter_mut().find(|revision| revision.name == name) {
            known.order = order;
            return;
        }
        self.revisions.push(Revision {
            name: name.to_owned(),
            order,
            failure: None,
            before: None,
            changed: false,
            asked: false,
            proven_at: None,
            canaries: BTreeMap::new(),
            phase: None,
            paused: false,
            node_changes: None,
        });
    }

    pub(crate) fn revision(&mut self, name: &str) -> &mut Revision {
        self.revisions.iter_mut().find(|revision| revision.name == name).unwrap()
    }

    pub(crate) fn label(&mut self, node: &str, class: &str) {
        self.nodes.get_mut(node).unwrap().labels.insert("class".to_owned(), class.into());
    }

    pub(crate) fn ready(&mut self, node: &str, ready: bool) {
        let conditions = &mut self.nodes.get_mut(node).unwrap().conditions;
        if ready {
            conditions.insert("Ready".to_owned())
        } else {
            conditions.remove("Ready")
        };
    }

    /// Somebody deletes the network state of a node: what it reported, and what it was assigned with it.
    pub(crate) fn delete_state(&mut self, node: &str) {
        let agent = self.agents.get_mut(node).unwrap();
        (agent.unknown, agent.written) = (true, None);
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    }

    fn seen(&self) -> Vec<Revision> {
        let mut revisions = self.revisions.clone();
        for revision in &mut revisions {
            let content = &self.contents[&revision.name];
            let node_change = |node: &Node| {
                let agent = &self.agents[&node.name];
                let written = match &agent.written {
                    Some(written) => agent.apart || *written == content.of(node),
                    None => false,
                };
                NodeChange { written, apart: agent.apart, ..NodeChange::default() }
            };
            let known = self.nodes.values().filter(|node| !self.agents[&node.name].unknown);
            revision.node_changes = Some(known.map(|node| (node.name.clone(), node_change(node))).collect());
        }
        revisions
    }

    /// The decision on what is there now, the same whatever order it is given in.
    pub(crate) fn decision(&self) -> Decision {
        let revisions = self.seen();
        let nodes: Vec<Node> = self.nodes.values().cloned().collect();
        let view = View {
            now: self.now,
            revisions: &revisions,
            nodes: &nodes,
            policies: &self.policies,
            refused: &BTreeSet::new(),
        };
        let decision = (self.decider)(&view);
        let (mut revisions, mut nodes, mut policies) = (revisions.clone(), nodes.clone(), self.policies.clone());
        revisions.reverse();
        nodes.reverse();
        policies.reverse();
        let other = (self.decider)(&View {
            now: self.now,
            revisions: &revisions,
            nodes: &nodes,
            policies: &policies,
            refused: &BTreeSet::new(),
        });
        assert_eq!(decision, other, "the order of arrival makes a difference");
        self.check(&decision);
        decision
    }

    /// Decides and carries out, until nothing is left to do at this moment.
    pub(crate) fn settle(&mut self) {
        for _ in 0..50 {
            let decision = self.decision();
            if self.carry_out(&decision, usize::MAX) == 0 {
                return;
            }
        }
        panic!("the same moment brings ever new decisions: {:?}", self.decision());
    }

    /// Carries out as much of a decision as `most` writes allow, as one that is killed would. Gives back how
    /// many it were.
    pub(crate) fn carry_out(&mut self, decision: &Decision, most: usize) -> usize {
        let mut written = 0;
        let mut may = || {
            let go = written < most;
            written += usize::from(go);
            go
        };
        for outcome in &decision.revisions {
            let revision = self.revisions.iter_mut().find(|revision| revision.name == outcome.name).unwrap();
            let differs = revision.failure != outcome.failure
                || revision.before != outcome.before
                || revision.proven_at != outcome.proven_at
                || revision.canaries != outcome.canaries
                || revision.phase != Some(outcome.phase);
            if differs && may() {
                revision.failure.clone_from(&outcome.failure);
                revision.before.clone_from(&outcome.before);
                revision.proven_at = outcome.proven_at;
                revision.canaries.clone_from(&outcome.canaries);
                revision.phase = Some(outcome.phase);
            }
        }
        let given: Vec<&Assignment> = decision.assignments.iter().filter(|_| may()).collect();
        if !given.is_empty() {
            self.waves.push(given.len());
        }
        for assignment in given {
            self.write(assignment);
        }
        for policy in &mut self.policies {
            policy.phase = decision.policies.iter().find(|outcome| outcome.name == policy.name).map(|o| o.phase);
        }
        self.events.extend(decision.events.iter().map(|event| (event.reason, event.message.clone())));
        for name in &decision.obsolete {
            if may() {
                self.revisions.retain(|revision| revision.name != *name);
            }
        }
        written
    }

    fn write(&mut self, assignment: &Assignment) {
        let node = self.nodes.get_mut(&assignment.node).unwrap();
        let agent = self.agents.get_mut(&assignment.node).unwrap();
        agent.written = Some(self.contents[&assignment.revision].of(node));
        let generation = node.assigned.as_ref().map_or(1, |assigned| assigned.generation + 1);
        let (revision, cause) = (assignment.revision.clone(), assignment.cause);
        node.assigned = Some(Assigned {
            revision,
            generation,
            since: self.now,
            known_since: self.now,
            cause,
            attempt: assignment.attempt,
            gates: Some(assignment.gates.clone()),
        });
        self.given.push(assignment.clone());
    }

    /// Whether the agent has something to answer.
    pub(crate) fn has_work(&self, node: &str) -> bool {
        let (assigned, agent) = (self.nodes[node].assigned.as_ref(), &self.agents[node]);
        !agent.dead && !agent.unknown && assigned.is_some_and(|assigned| assigned.generation > agent.answered)
    }

    /// The agent does what it was assigned and says how it went.
    pub(crate) fn answer(&mut self, node: &str) {
        if !self.has_work(node) {
            return;
        }
        let agent = self.agents.get_mut(node).unwrap();
        let assigned = self.nodes[node].assigned.clone().unwrap();
        agent.answered = assigned.generation;
        let bad = agent.written.as_ref().is_some_and(|written| written.2);
        let progress = if bad { Progress::Failed("link eth0 did not come up".to_owned()) } else { Progress::Done };
        let report = Report { revision: assigned.revision, generation: Some(assigned.generation), progress };
        self.nodes.get_mut(node).unwrap().report = Some(report);
    }

    /// Whether nothing is waited for then but another attempt at what failed.
    fn is_retry(&self, moment: Timestamp) -> bool {
        let newest = self.revisions.iter().max_by_key(|revision| revision.order);
        let pinned = |revision: &&Revision| {
            self.policies.iter().any(|policy| policy.spec.pinned_revision.as_ref() == Some(&revision.name))
        };
        let mut desired = self.revisions.iter().filter(pinned).chain(newest);
        desired.any(|revision| revision.failure.as_ref().is_some_and(|failure| failure.retry_at == Some(moment)))
    }

    /// All agents answer, time passes, until nobody has anything to do but to try again what failed. Gives back how often they answered.
    pub(crate) fn run(&mut self) -> usize {
        let mut rounds = 0;
        for _ in 0..10_000 {
            self.settle();
            let names: Vec<String> = self.nodes.keys().filter(|name| self.has_work(name)).cloned().collect();
            if names.is_empty() {
                match self.decision().wake_at {
                    Some(wake_at) if !self.is_retry(wake_at) => self.now = wake_at,
                    Some(_) | None => return rounds,
                }
            } else {
                rounds += 1;
                for name in &names {
                    self.answer(name);
                }
            }
        }
        panic!("it never ends: {:?}", self.decision());
    }

    /// Whether the node reported itself what the revision says for it.
    pub(crate) fn has(&self, node: &str, revision: &str) -> bool {
        let (node, agent) = (&self.nodes[node], &self.agents[node]);
        let (Some(assigned), Some(report)) = (&node.assigned, &node.report) else { return false };
        let same = agent.written.as_ref() == Some(&self.contents[revision].of(node));
        let named = assigned.revision == revision;
        (if agent.apart { named } else { same })
            && report.generation == Some(assigned.generation)
            && report.revision == assigned.revision
            && report.progress == Progress::Done
    }

    pub(crate) fn all_have(&self, revision: &str) -> bool {
        self.nodes.keys().all(|node| self.has(node, revision))
    }

    pub(crate) fn ever_assigned(&self, revision: &str) -> BTreeSet<&str> {
        let given = self.given.iter().filter(|assignment| assignment.revision == revision);
        given.map(|assignment| assignment.node.as_str()).collect()
    }

    fn policy_of(&self, node: &Node) -> Option<&Policy> {
        self.policies.iter().find(|policy| {
            let selector = policy.spec.node_selector.as_ref();
            selector.is_none_or(|selector| netloom_api::selector::matches(selector, Some(&node.labels)))
        })
    }

    /// Whether the node is changing, failed or not well, as a person would count it.
    pub(crate) fn is_busy(&self, node: &Node) -> bool {
        let Some(assigned) = &node.assigned else { return false };
        let defaults = vec!["Ready".to_owned()];
        let gates = self.policy_of(node).map_or(&defaults, |policy| &policy.spec.health_gates);
        let answered = node.report.as_ref().is_some_and(|report| {
            report.generation == Some(assigned.generation)
                && report.revision == assigned.revision
                && report.progress == Progress::Done
        });
        let before = |gate: &&String| assigned.gates.as_ref().is_none_or(|before| before.contains(*gate));
        !answered || gates.iter().filter(before).any(|gate| !node.conditions.contains(gate))
    }

    /// What must hold of every decision, whatever happened before.
    fn check(&self, decision: &Decision) {
        self.check_share(decision);
        let failed: BTreeSet<&str> =
            self.revisions.iter().filter(|r| r.failure.is_some()).map(|r| r.name.as_str()).collect();
        let mut given = BTreeSet::new();
        for Assignment { node, revision, cause, attempt, .. } in &decision.assignments {
            assert!(given.insert(node), "{node} is assigned two things at once");
            assert!(!failed.contains(revision.as_str()), "{node} is assigned {revision}, which failed");
            let assigned = self.nodes[node].assigned.as_ref();
            if assigned.is_some_and(|assigned| assigned.revision == *revision && assigned.attempt < *attempt) {
                continue;
            }
            let named = assigned.map(|assigned| assigned.revision.as_str());
            let same = self.agents[node].written.as_ref() == Some(&self.contents[revision].of(&self.nodes[node]));
            assert!(named != Some(revision) || !same, "{node} is assigned {revision} again");
            assert!(!same || *cause == Cause::Rename, "{node} is assigned what it has");
        }
        for outcome in &decision.revisions {
            if let Some(stored) = self.revisions.iter().find(|revision| revision.name == outcome.name) {
                let retried = outcome.failure.is_none() && outcome.before == stored.failure;
                assert!(stored.failure.is_none() || outcome.failure == stored.failure || retried, "a verdict is kept");
                assert!(stored.proven_at <= outcome.proven_at, "a proof is kept");
            }
            let ready = self.nodes.values().filter(|node| self.has(&node.name, &outcome.name) && !self.is_busy(node));
            let is_over = matches!(outcome.phase, RevisionPhase::Kept | RevisionPhase::Superseded);
            let ready = if is_over { 0 } else { ready.count() };
            assert_eq!(outcome.ready, ready, "{}: who reported it", outcome.name);
            assert_eq!(outcome.total, self.nodes.len());
        }
        for name in &decision.obsolete {
            let names = |node: &Node| node.assigned.as_ref().is_some_and(|assigned| assigned.revision == *name);
            assert!(!self.nodes.values().any(names), "{name} goes although a node names it");
            assert!(decision.policies.iter().all(|policy| policy.target.as_ref() != Some(name)));
        }
        let verdicts = decision.revisions.iter().filter(|outcome| {
            let stored = self.revisions.iter().find(|revision| revision.name == outcome.name).unwrap();
            stored.failure != outcome.failure || stored.proven_at != outcome.proven_at
        });
        assert!(verdicts.count() == 0 || decision.assignments.is_empty(), "verdicts come first");
        self.check_bad();
    }

    /// Never more nodes busy than the policy allows.
    fn check_share(&self, decision: &Decision) {
        let given: BTreeSet<&str> = decision.assignments.iter().map(|assignment| assignment.node.as_str()).collect();
        let mut of_policy: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
        for node in self.nodes.values() {
            let name = self.policy_of(node).map_or("", |policy| &policy.name);
            let (total, busy, more) = of_policy.entry(name).or_default();
            *total += 1;
            *busy += usize::from(self.is_busy(node));
            *more += usize::from(given.contains(node.name.as_str()) && !self.is_busy(node));
        }
        for (name, (total, busy, more)) in of_policy {
            let policy = self.policies.iter().find(|policy| policy.name == name);
            let most = policy.map(|policy| policy.spec.clone()).unwrap_or_default().max_unavailable.of(total);
            assert!(more == 0 || busy + more <= most, "{busy} and {more} more nodes are busy, {most} are allowed");
        }
    }

    /// A content that fails everywhere never goes past the first nodes.
    fn check_bad(&self) {
        for (name, content) in &self.contents {
            if content.bad && content.own.is_empty() {
                let given = self.ever_assigned(name);
                let most = self.most_canaries;
                assert!(given.len() <= most, "bad revision {name} reached {given:?}");
            }
        }
    }
}
