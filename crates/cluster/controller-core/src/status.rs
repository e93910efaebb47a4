//! What is reported about revisions and rollouts, and to people.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use netloom_api::{
    GroupKind,
    condition::{Conditions, Observation},
    fabric::GROUP,
    pipeline::network_config_revision::{CanaryWatch, NetworkConfigRevisionStatus, PassedOver, RevisionPhase},
    rollout::{Phase, RolloutPolicyStatus},
};
use netloom_compile::{NodeTargets, ObjectKey};
use netloom_object::{Action, ObjectRef};
use netloom_rollout::{Decision, Event, PolicyOutcome, RevisionOutcome, Subject};
use serde_json::{Value, json};

use crate::{
    bearing,
    index::Index,
    kinds::{NODE, REVISION, ROLLOUT},
    parts,
    work::Work,
};

/// How many nodes that are passed over a revision names: an object has bounds, and nobody reads more.
const MOST_PASSED_OVER: usize = 100;

pub(crate) const EVENT: GroupKind<'static> = GroupKind::new("events.k8s.io", "Event");

/// Asks for the status of every revision that differs.
pub(crate) fn of_revisions(
    now: Timestamp,
    index: &Index,
    (decision, node_targets): (&Decision, &BTreeMap<String, Arc<NodeTargets>>),
    work: &mut Work,
) {
    for outcome in &decision.revisions {
        let key = ObjectKey::global(outcome.name.as_str());
        let Some(revision) = index.snapshot().revisions.get(&key) else { continue };
        let before = revision.status.clone().unwrap_or_default();
        let mut after = revision_status(now, outcome, &before);
        after.failed_under = before.failed_under.clone().filter(|_| is_same_attempt(&before, &after));
        if let Some(failure) = outcome.failure.as_ref().filter(|_| after.failed_under.is_none()) {
            let node_target = node_targets.get(&outcome.name).and_then(|node_targets| node_targets.get(&failure.node));
            after.failed_under = node_target.map(|node_target| bearing::of(now, index, node_target, &failure.message));
        }
        if let Some(missing) = parts::missing(index, revision) {
            after.message = Some(missing);
        }
        if after != before {
            work.status(index, REVISION, &key, &after);
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
        let before: RolloutPolicyStatus = mark.status_as().cloned().unwrap_or_default();
        let after = rollout_status(now, outcome, mark.generation, &before);
        if after != before {
            work.status(index, ROLLOUT, &key, &after);
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
    let reported = [("Ready", outcome.phase == Phase::Done), ("Progressing", moving), ("Degraded", bad)];
    let conditions = reported.map(|(kind, holds)| {
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
