//! When to decide, and what then follows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use netloom_api::{pipeline::NetworkConfigRevision, rollout::annotation};
use netloom_compile::{Compiled, Compiler, FrontEnd, Layout, NodeTargets, ObjectKey};
use netloom_object::{Action, Answer, Chain, ObjectRef, Request, RequestId};
use netloom_rollout::{Decision, View, rollout};
use serde_json::json;

use crate::{
    assign,
    front_end::{Assigned, FrontEnds, Scene},
    generated,
    index::Index,
    kinds::{CONFIG, REVISION},
    parts,
    policies::STATE,
    rollout_view,
    sightings::Sightings,
    status,
    work::Work,
    write_backoff::{Part, WriteBackoff},
};

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// A decision waits until nothing has changed for so long.
    pub quiet: SignedDuration,
    /// But not longer than so long after the first change.
    pub longest: SignedDuration,
    /// The time after a refused write of an object before the next one; it doubles with each.
    pub retry_first: SignedDuration,
    /// The most that it grows to.
    pub retry_most: SignedDuration,
}

impl Default for Settings {
    /// People type slower than 20 ms and watch slower than 200 ms.
    fn default() -> Self {
        Self {
            quiet: SignedDuration::from_millis(20),
            longest: SignedDuration::from_millis(200),
            retry_first: SignedDuration::from_millis(100),
            retry_most: SignedDuration::from_secs(60),
        }
    }
}

/// Whether this one may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leadership {
    /// Another one does.
    Following,
    /// This one does, until then at the latest.
    Leading {
        /// When the lease ends unless it is renewed.
        until: Timestamp,
    },
}

/// What to do now, and when to ask again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControllerActions {
    /// What to ask of the API. Chains do not depend on each other.
    pub chains: Vec<Chain>,
    /// When to ask again although nothing has changed.
    pub wake_at: Option<Timestamp>,
}

/// Decides, one turn after the other.
#[derive(Debug, Clone, Default)]
pub struct Controller {
    settings: Settings,
    front_ends: FrontEnds,
    compiler: Compiler,
    /// Requests under way, and what they are about.
    outstanding: BTreeMap<RequestId, (ObjectRef, Part)>,
    last_id: u64,
    /// The change of the index that was decided on last; none before the first time.
    handled: Option<u64>,
    /// When a change was first seen that is not decided on.
    dirty_since: Option<Timestamp>,
    /// When time alone makes a difference.
    wake_at: Option<Timestamp>,
    /// When that was.
    decided_at: Option<Timestamp>,
    /// Events that were asked for. A restart asks again, and the server knows them by their names.
    announced: BTreeSet<ObjectRef>,
    write_backoff: WriteBackoff,
    sightings: Sightings,
}

impl Controller {
    /// One that has decided nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// The same for these front ends, in the order of their precedence.
    pub fn of(settings: Settings, front_ends: &[&'static dyn FrontEnd]) -> Self {
        let compiler = Compiler::new(front_ends);
        Self { settings, front_ends: FrontEnds::of(front_ends), compiler, ..Self::default() }
    }

    /// What to do now.
    pub fn decide(&mut self, now: Timestamp, index: &Index, leadership: Leadership) -> ControllerActions {
        let leads = matches!(leadership, Leadership::Leading { until } if now < until);
        if !leads || !index.is_whole() || !self.outstanding.is_empty() {
            return ControllerActions::default();
        }
        match self.due(now, index) {
            Some(due) if due <= now => {}
            wake_at => return ControllerActions { chains: Vec::new(), wake_at },
        }
        self.handled = Some(index.changes().0);
        self.dirty_since = None;
        self.wake_at = None;
        self.decided_at = Some(now);
        let compiled = self.compiler.compile(index.snapshot());
        let mut work = Work::default();
        let node_targets = self.node_targets(index, &compiled, rollout_view::worth_compiling(index));
        let mut left = rollout_view::left_behind(index);
        left.retain(|revision| !node_targets.contains_key(revision));
        let mut earlier = self.node_targets(index, &compiled, left);
        earlier
            .extend(node_targets.iter().map(|(revision, node_targets)| (revision.clone(), Arc::clone(node_targets))));
        let (front_ends, scene) = (self.front_ends.clone(), Scene { now, index, compiled: &compiled });
        let mut awaited = Vec::new();
        for front_end in front_ends.iter() {
            awaited.extend(generated::generate(index, front_end, &compiled, &mut work));
            front_end.prepare(scene, &mut work);
        }
        // What a server refuses does not keep everything else from the nodes.
        let complete = awaited.iter().all(|target| self.write_backoff.knows(target));
        let (frozen, layout) = if complete { freeze(index, &compiled, &mut work).unzip() } else { (None, None) };
        parts::collect(now, index, layout.flatten().as_ref(), &mut work);
        // What is reported of what nodes have waits for the revision: then it is known who is assigned it. A revision
        // that cannot be made must not keep those that can from being taken back or finished.
        if frozen.is_none_or(|targets| targets.iter().any(|target| self.write_backoff.knows(target))) {
            let decision = self.roll(now, index, &node_targets, &mut work);
            for front_end in front_ends.iter() {
                front_end.report(scene, Assigned { earlier: &earlier, decision: &decision }, &mut work);
            }
        }
        self.wake_at = [self.wake_at, work.next_turn()].into_iter().flatten().min();
        let mut turn = self.send(now, work);
        if turn.chains.is_empty() {
            turn.wake_at = [turn.wake_at, index.signs().next_end(now)].into_iter().flatten().min();
        }
        turn
    }

    /// Takes note of the answer to a request.
    pub fn answered(&mut self, now: Timestamp, request: RequestId, answer: &Answer) {
        let Some(written) = self.outstanding.remove(&request) else { return };
        match answer {
            Answer::Refused | Answer::Denied => {
                self.announced.remove(&written.0);
                self.write_backoff.refused(now, written, &self.settings);
                self.wake_when_backoff_ends(now);
            }
            Answer::Done => self.write_backoff.done(&written),
            Answer::Skipped => {}
        }
    }

    /// When the next decision is due.
    fn due(&mut self, now: Timestamp, index: &Index) -> Option<Timestamp> {
        let (changes, changed_at) = index.changes();
        let dirty = match (self.handled, changed_at) {
            (None, _) => Some(now),
            (Some(handled), Some(changed_at)) if handled != changes => {
                let since = *self.dirty_since.get_or_insert(changed_at);
                Some(later(changed_at, self.settings.quiet).min(later(since, self.settings.longest)))
            }
            (Some(_), _) => None,
        };
        let silence = self.decided_at.and_then(|then| index.signs().next_end(then));
        [dirty, self.wake_at, silence].into_iter().flatten().min()
    }

    /// Brings revisions to nodes. Says what was decided, but for nodes whose objects could not be written last time.
    fn roll(
        &mut self,
        now: Timestamp,
        index: &Index,
        node_targets: &BTreeMap<String, Arc<NodeTargets>>,
        work: &mut Work,
    ) -> Decision {
        let revisions = rollout_view::revisions(now, index, node_targets);
        self.sightings.note(now, index);
        let nodes = rollout_view::nodes(now, index, &self.sightings);
        let policies = rollout_view::policies(index);
        let refused = self.refused(index);
        let view = View { now, revisions: &revisions, nodes: &nodes, policies: &policies, refused: &refused };
        let mut decision = rollout(&view);
        status::events(now, index, &decision, work);
        status::of_revisions(now, index, (&decision, node_targets), work);
        status::of_rollouts(now, index, &decision, work);
        for assignment in &decision.assignments {
            if let Some(node_targets) = node_targets.get(&assignment.revision) {
                let terms = decision.terms.get(&assignment.node).copied().unwrap_or_default();
                assign::assign(now, index, node_targets, assignment, terms, work);
            }
        }
        let assigned: BTreeSet<&str> = decision.assignments.iter().map(|assignment| assignment.node.as_str()).collect();
        assign::finish(now, index, node_targets, &decision, work);
        assign::terms(index, &decision.terms, &assigned, work);
        for name in &decision.obsolete {
            work.delete(index, REVISION, &ObjectKey::global(name.as_str()));
        }
        self.wake_at = decision.wake_at;
        decision.assignments.retain(|assignment| !refused.contains(&assignment.node));
        decision
    }

    /// Nodes one of whose objects could not be written the last time.
    fn refused(&self, index: &Index) -> BTreeSet<String> {
        let configs = self.write_backoff.targets().filter(|target| target.kind == CONFIG);
        let states = self.write_backoff.targets().filter(|target| target.kind == STATE);
        let nodes = states.filter_map(|target| index.snapshot().states.get(&target.key)).map(|state| &state.node_name);
        configs.map(|target| target.key.name.clone()).chain(nodes.cloned()).collect()
    }

    /// What these revisions, and the one that is wanted now, say for each node.
    fn node_targets(
        &mut self,
        index: &Index,
        compiled: &Compiled,
        revisions: BTreeSet<String>,
    ) -> BTreeMap<String, Arc<NodeTargets>> {
        let snapshot = index.snapshot();
        let mut node_targets = BTreeMap::from([(compiled.revision.name.clone(), compiled.nodes.clone())]);
        for name in revisions {
            let Some(revision) = snapshot.revisions.get(&ObjectKey::global(name.as_str())) else { continue };
            if !node_targets.contains_key(&name)
                && let Some(found) = self.compiler.node_targets(snapshot, revision)
            {
                node_targets.insert(name, found);
            }
        }
        node_targets
    }

    fn send(&mut self, now: Timestamp, mut work: Work) -> ControllerActions {
        // Enough for the events that a cluster has at one time; they are only asked for once more.
        const MOST: usize = 4096;
        let wanted = work.0.iter().flatten().map(|(target, action)| (target, Part::of(action)));
        self.write_backoff.retain(&wanted.collect());
        let waits = |target: &ObjectRef, action: &Action| self.write_backoff.holds(now, target, Part::of(action));
        work.0.retain(|chain| chain.iter().all(|(target, action)| !waits(target, action)));
        if self.announced.len() > MOST {
            self.announced.clear();
        }
        let announced = &mut self.announced;
        work.0.retain(|chain| match chain.as_slice() {
            [(target, Action::Create { .. })] if target.kind == status::EVENT => announced.insert(target.clone()),
            _ => true,
        });
        let mut number = |(target, action): (ObjectRef, Action)| {
            self.last_id += 1;
            let id = RequestId(self.last_id);
            self.outstanding.insert(id, (target.clone(), Part::of(&action)));
            Request { id, target, action }
        };
        let chains: Vec<Chain> =
            work.0.into_iter().map(|chain| Chain(chain.into_iter().map(&mut number).collect())).collect();
        self.wake_when_backoff_ends(now);
        let wake_at = self.wake_at.filter(|_| chains.is_empty());
        ControllerActions { chains, wake_at }
    }

    fn wake_when_backoff_ends(&mut self, now: Timestamp) {
        self.wake_at = [self.wake_at, self.write_backoff.ends_after(now)].into_iter().flatten().min();
    }
}

/// Makes the candidate a revision, or the newest one again. Says what has to be written for that, parts included, when
/// there was something to do.
fn freeze(index: &Index, compiled: &Compiled, work: &mut Work) -> Option<(Vec<ObjectRef>, Option<Layout>)> {
    let candidate = &compiled.revision;
    let revisions = &index.snapshot().revisions;
    let newest = rollout_view::newest(index);
    let empty = candidate.is_empty();
    if newest.is_some_and(|newest| name(newest) == candidate.name) || (empty && revisions.is_empty()) {
        return None;
    }
    let sequence = newest.map_or(0, NetworkConfigRevision::sequence) + 1;
    let annotations = json!({annotation::SEQUENCE: sequence.to_string()});
    let key = ObjectKey::global(candidate.name.as_str());
    let target = ObjectRef { kind: REVISION, key: key.clone() };
    if let Some(known) = revisions.get(&key) {
        let version = known.metadata.resource_version.clone().unwrap_or_default();
        let patch = json!({"metadata": {"annotations": annotations, "resourceVersion": version}});
        work.single(target.clone(), Action::Patch { patch });
        return Some((vec![target], None));
    }
    let layout = candidate.lay_out(index.snapshot());
    let chain = parts::creation(index, &layout, &candidate.name, annotations);
    let targets = chain.iter().map(|(target, _)| target.clone()).collect();
    work.0.push(chain);
    Some((targets, Some(layout)))
}

pub(crate) fn name(revision: &NetworkConfigRevision) -> &str {
    revision.metadata.name.as_deref().unwrap_or_default()
}

pub(crate) fn later(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}
