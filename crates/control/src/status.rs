//! What is told about revisions and policies, and to people.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use netloom_api::{
    admission::GroupKind,
    condition::{Condition, Conditions, Observation, Truth},
    fabric::{
        GROUP, NetworkConfigRevision,
        network_config_revision::{CanaryWatch, NetworkConfigRevisionStatus, PassedOver, RevisionPhase},
    },
    nodestate::NodeNetConfPolicyStatus,
    rollout::{Phase, RolloutPolicyStatus},
};
use netloom_compile::{Compiled, Frozen, ObjectKey, StateReport, Verdict, Wishes, reason};
use netloom_object::{Action, ObjectRef};
use netloom_rollout::{Decision, Event, PolicyOutcome, RevisionOutcome, Subject};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    bearing,
    controller::Work,
    index::{Index, NODE, POLICY, REVISION, ROLLOUT, STATE},
    parts,
};

/// How many nodes that are passed over a revision names: an object has bounds, and nobody reads more.
const MOST_PASSED_OVER: usize = 100;

pub(crate) const EVENT: GroupKind<'static> = GroupKind::new("events.k8s.io", "Event");

/// Asks for the status of every policy of node states that differs.
pub(crate) fn of_policies(now: Timestamp, index: &Index, compiled: &Compiled, work: &mut Work) {
    let trial = Trial::of(index, compiled);
    for (key, report) in &compiled.policies {
        let Some(mark) = index.mark(POLICY, key) else { continue };
        let before: NodeNetConfPolicyStatus =
            mark.status.as_ref().and_then(|status| serde_json::from_value(status.clone()).ok()).unwrap_or_default();
        let mut conditions = Conditions::default();
        for mut verdict in report.verdicts() {
            if verdict.kind == "Ready" && verdict.status == Truth::True && trial.has_failed(key) {
                (verdict.status, verdict.reason, verdict.message) =
                    (Truth::False, reason::ROLLOUT_FAILED, trial.words());
            }
            let Verdict { kind, status, reason, message } = verdict;
            let seen = Observation::new(kind, status, reason, message);
            conditions.0.push(seen.at(now, report.generation, &before.conditions));
        }
        let matched_nodes = Some(count(report.matched_nodes));
        let after = NodeNetConfPolicyStatus { observed_generation: report.generation, conditions, matched_nodes };
        if after != before {
            work.status(index, (POLICY, "nmstate.io/v1"), key, &after);
        }
    }
}

/// What became of the revision that has all policies as they are now.
struct Trial<'a> {
    failed: Option<(&'a NetworkConfigRevision, Frozen<'a>)>,
    /// What nodes had before: a policy that was so already is not to blame.
    good: Option<(&'a NetworkConfigRevision, Frozen<'a>)>,
}

impl<'a> Trial<'a> {
    fn of(index: &'a Index, compiled: &Compiled) -> Self {
        let revisions = &index.snapshot().revisions;
        let status = |revision: &NetworkConfigRevision| revision.status.clone().unwrap_or_default();
        let wished = revisions.get(&ObjectKey::global(compiled.revision.name.as_str())).map(AsRef::as_ref);
        let proven = revisions.iter().map(|(_, revision)| revision.as_ref()).filter(|revision| {
            let status = status(revision);
            !status.is_invalid && status.proven_at.is_some()
        });
        let with_content = |revision: &'a NetworkConfigRevision| (revision, index.snapshot().frozen(revision));
        Self {
            failed: wished.filter(|revision| status(revision).is_invalid).map(with_content),
            good: proven.max_by_key(|revision| revision.sequence()).map(with_content),
        }
    }

    /// Whether a policy came with the revision that failed, or was changed by it.
    fn has_failed(&self, policy: &ObjectKey) -> bool {
        let frozen = |revision: &Frozen<'a>| Some(&revision.policy(&policy.namespace, &policy.name)?.spec);
        let good = self.good.as_ref().and_then(|(_, good)| frozen(good));
        self.failed.as_ref().is_some_and(|(_, failed)| frozen(failed) != good)
    }

    fn words(&self) -> String {
        let failed = self.failed.as_ref().map(|(revision, _)| *revision);
        let status = failed.and_then(|failed| failed.status.clone()).unwrap_or_default();
        let name = failed.map(crate::controller::name).unwrap_or_default();
        let (node, why) = (status.failed_node.unwrap_or_default(), status.failed_message.unwrap_or_default());
        format!("revision {name}, which brought this version of the policy, failed on node {node}: {why}")
    }
}

/// Asks for the conditions of network states that no agent writes: a second object for one node, and an
/// object for a node that is not there. All others are the agents' own.
pub(crate) fn of_states(now: Timestamp, index: &Index, compiled: &Compiled, work: &mut Work) {
    for (key, state) in index.snapshot().states.iter() {
        let before = &state.status.conditions;
        let verdicts = compiled.states.get(key).map(StateReport::verdicts).unwrap_or_default();
        let wanted = verdicts.iter().filter(|verdict| is_ours(verdict.kind, verdict.reason));
        let after: Vec<Condition> = wanted
            .map(|Verdict { kind, status, reason, message }| {
                Observation::new(*kind, *status, *reason, message).at(now, state.meta.generation, before)
            })
            .collect();
        let known = before.0.iter().filter(|condition| is_ours(&condition.kind, &condition.reason));
        if !known.eq(&after) {
            work.status(index, (STATE, "nmstate.io/v1"), key, &json!({"conditions": after}));
        }
    }
}

fn is_ours(kind: &str, reason: &str) -> bool {
    kind == "Conflict" || reason == reason::NODE_NOT_FOUND
}

/// Asks for the status of every revision that differs.
pub(crate) fn of_revisions(
    now: Timestamp,
    index: &Index,
    (decision, wishes): (&Decision, &BTreeMap<String, Arc<Wishes>>),
    work: &mut Work,
) {
    for outcome in &decision.revisions {
        let key = ObjectKey::global(outcome.name.as_str());
        let Some(revision) = index.snapshot().revisions.get(&key) else { continue };
        let before = revision.status.clone().unwrap_or_default();
        let mut after = revision_status(now, outcome, &before);
        after.failed_under = before.failed_under.clone().filter(|_| is_same_attempt(&before, &after));
        if let Some(failure) = outcome.failure.as_ref().filter(|_| after.failed_under.is_none()) {
            let wish = wishes.get(&outcome.name).and_then(|wishes| wishes.get(&failure.node));
            after.failed_under = wish.map(|wish| bearing::of(now, index, wish, &failure.message));
        }
        if let Some(missing) = parts::missing(index, revision) {
            after.message = Some(missing);
        }
        if after != before {
            work.status(index, (REVISION, &format!("{GROUP}/v1alpha1")), &key, &after);
        }
    }
}

/// Whether two versions of a status speak of the same failure.
fn is_same_attempt(before: &NetworkConfigRevisionStatus, after: &NetworkConfigRevisionStatus) -> bool {
    after.attempts > 0 && before.attempts == after.attempts
}

fn revision_status(
    now: Timestamp,
    outcome: &RevisionOutcome,
    before: &NetworkConfigRevisionStatus,
) -> NetworkConfigRevisionStatus {
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let everywhere = outcome.phase == RevisionPhase::Active && outcome.ready + outcome.apart == outcome.total;
    let ready = Observation::new("Ready", everywhere, revision_word(outcome.phase), &outcome.message);
    // While it is tried again, it still says how the last attempt failed.
    let failure = outcome.failure.as_ref().or(outcome.before.as_ref());
    let attempts = failure.map_or(0, |failure| failure.attempts);
    let known = before.failed_at.clone().filter(|_| before.attempts.max(1) == attempts);
    let passed_over = outcome.passed_over.iter().take(MOST_PASSED_OVER);
    let canaries = outcome
        .canaries
        .iter()
        .map(|(policy, since)| CanaryWatch { policy: policy.clone(), healthy_since: MicroTime(*since) });
    NetworkConfigRevisionStatus {
        is_invalid: outcome.failure.is_some(),
        ready: number(outcome.ready),
        ongoing: number(outcome.ongoing),
        queued: number(outcome.queued),
        total: number(outcome.total),
        failed_node: failure.map(|failure| failure.node.clone()),
        failed_message: failure.map(|failure| failure.message.clone()),
        // Kept as it stands: the server cuts it to whole seconds.
        failed_at: failure.map(|failure| known.unwrap_or(Time(failure.at))),
        attempts,
        next_attempt_at: outcome.failure.as_ref().and_then(|failure| failure.retry_at).map(MicroTime),
        failed_under: None,
        passed_over: passed_over
            .map(|(node, reason)| PassedOver { node: node.clone(), reason: reason.clone() })
            .collect(),
        conditions: Conditions(vec![ready.at(now, None, &before.conditions)]),
        phase: Some(outcome.phase),
        message: Some(outcome.message.clone()),
        proven_at: outcome.proven_at.map(MicroTime),
        canaries: canaries.collect(),
    }
}

/// Asks for the status of every rollout policy that differs.
pub(crate) fn of_rollouts(now: Timestamp, index: &Index, decision: &Decision, work: &mut Work) {
    for outcome in decision.policies.iter().filter(|outcome| !outcome.name.is_empty()) {
        let key = ObjectKey::global(outcome.name.as_str());
        let Some(mark) = index.mark(ROLLOUT, &key) else { continue };
        let before: RolloutPolicyStatus = mark.status_as();
        let after = rollout_status(now, outcome, mark.generation, &before);
        if after != before {
            work.status(index, (ROLLOUT, "netloom.dev/v1alpha1"), &key, &after);
        }
    }
}

fn rollout_status(
    now: Timestamp,
    outcome: &PolicyOutcome,
    generation: Option<i64>,
    before: &RolloutPolicyStatus,
) -> RolloutPolicyStatus {
    let moving = matches!(outcome.phase, Phase::Canary | Phase::Soaking | Phase::Wave | Phase::Reverting);
    let bad = matches!(outcome.phase, Phase::Blocked | Phase::Reverting) || outcome.nodes.failed > 0;
    let reason = phase_word(outcome.phase);
    let said = [("Ready", outcome.phase == Phase::Done), ("Progressing", moving), ("Degraded", bad)];
    let conditions = said.map(|(kind, holds)| {
        Observation::new(kind, holds, reason, &outcome.message).at(now, generation, &before.conditions)
    });
    RolloutPolicyStatus {
        observed_generation: generation,
        conditions: Conditions(conditions.to_vec()),
        phase: Some(outcome.phase),
        target_revision: outcome.target.clone(),
        last_good_revision: outcome.last_good.clone(),
        wave: outcome.wave,
        nodes: Some(outcome.nodes.clone()),
    }
}

impl Work {
    /// A status is tied to the version that was looked at as well: one that was decided on long ago, by a
    /// process that was stopped meanwhile, must not take back what was said since.
    fn status(
        &mut self,
        index: &Index,
        (kind, version): (GroupKind<'static>, &str),
        key: &ObjectKey,
        status: &impl Serialize,
    ) {
        let mut object = json!({
            "apiVersion": version, "kind": kind.kind, "metadata": {"name": key.name}, "status": status,
        });
        if !key.namespace.is_empty() {
            object["metadata"]["namespace"] = json!(key.namespace);
        }
        if let Some(known) = index.mark(kind, key) {
            object["metadata"]["resourceVersion"] = json!(known.resource_version);
        }
        self.single(ObjectRef { kind, key: key.clone() }, Action::ApplyStatus { object });
    }
}

/// Asks for the events of a decision. Their names are made of what they say, so that the same event is
/// never there twice, whoever asks again.
pub(crate) fn events(now: Timestamp, index: &Index, decision: &Decision, work: &mut Work) {
    for event in &decision.events {
        let (kind, version, name) = match &event.subject {
            Subject::Revision(name) => (REVISION, format!("{GROUP}/v1alpha1"), name),
            Subject::Policy(name) => (ROLLOUT, "netloom.dev/v1alpha1".to_owned(), name),
            Subject::Node(name) => (NODE, "v1".to_owned(), name),
        };
        let Some(mark) = index.mark(kind, &ObjectKey::global(name.as_str())) else { continue };
        let regarding = json!({"apiVersion": version, "kind": kind.kind, "name": name, "uid": mark.uid});
        let generation = mark.generation.unwrap_or_default();
        let key = ObjectKey::new("default", format!("{name}.{:016x}", fingerprint(event, &mark.uid, generation)));
        let object = object(now, event, &key, &regarding);
        work.single(ObjectRef { kind: EVENT, key }, Action::Create { object });
    }
}

fn object(now: Timestamp, event: &Event, key: &ObjectKey, regarding: &Value) -> Value {
    // The server takes at most a kilobyte.
    let note: String = event.message.chars().take(1000).collect();
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": key.namespace, "name": key.name},
        "eventTime": MicroTime(now),
        "reportingController": "netloom.dev/controller",
        "reportingInstance": crate::MANAGER,
        "action": "Rollout",
        "reason": event.reason,
        "type": if event.warning { "Warning" } else { "Normal" },
        "regarding": regarding,
        "note": note,
    })
}

/// Everything that tells two events apart.
fn fingerprint(event: &Event, uid: &str, generation: i64) -> u64 {
    let generation = generation.to_string();
    hash(&[uid, generation.as_str(), event.reason, event.message.as_str()])
}

/// FNV-1a.
pub(crate) fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn revision_word(phase: RevisionPhase) -> &'static str {
    match phase {
        RevisionPhase::Pending => "Pending",
        RevisionPhase::Rolling => "Rolling",
        RevisionPhase::Active => "Active",
        RevisionPhase::Failed => "Failed",
        RevisionPhase::Superseded => "Superseded",
        RevisionPhase::Kept => "Kept",
    }
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Done => "Done",
        Phase::Canary => "Canary",
        Phase::Soaking => "Soaking",
        Phase::Wave => "Wave",
        Phase::Reverting => "Reverting",
        Phase::Paused => "Paused",
        Phase::Waiting => "Waiting",
        Phase::Blocked => "Blocked",
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
