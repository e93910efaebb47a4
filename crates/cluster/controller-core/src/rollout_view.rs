//! The index as a rollout sees it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use netloom_api::{
    pipeline::{
        NetworkConfigRevision, NodeNetworkConfig,
        network_config_revision::NetworkConfigRevisionStatus,
        node_network_config::{ConfigStatus, NodeNetworkConfigStatus, fabric::FabricConfig},
    },
    rollout::{RetryPolicy, RolloutPolicy, RolloutPolicySpec, RolloutPolicyStatus, annotation},
};
use netloom_compile::{NodeTarget, NodeTargets, ObjectKey, Unreadable};
use netloom_rollout::{Assigned, Cause, Failure, Node, NodeChange, Policy, Progress, Report, Revision};
use serde_json::Value;

use crate::{
    bearing,
    controller::{later, name},
    index::{Index, Mark},
    kinds::{NODE, ROLLOUT},
    policies::STATE,
    removals,
    sightings::Sightings,
};

/// The revision that was desired last.
pub(crate) fn newest(index: &Index) -> Option<&NetworkConfigRevision> {
    let all = index.snapshot().revisions.iter().map(|(_, revision)| revision.as_ref());
    all.max_by_key(|revision| (revision.sequence(), name(revision)))
}

/// Revisions of which it matters what they say now: those that nodes may be given, and those that nodes
/// were given and that have neither failed nor proved themselves.
pub(crate) fn worth_compiling(index: &Index) -> BTreeSet<String> {
    let snapshot = index.snapshot();
    let status = |revision: &NetworkConfigRevision| revision.status.clone().unwrap_or_default();
    let mut sound: Vec<&NetworkConfigRevision> = snapshot
        .revisions
        .iter()
        .map(|(_, revision)| revision.as_ref())
        .filter(|revision| !status(revision).is_invalid)
        .collect();
    sound.sort_by_key(|revision| std::cmp::Reverse((revision.sequence(), name(revision))));
    let proven = sound.iter().find(|revision| status(revision).proven_at.is_some());
    let named = snapshot.configs.iter().map(|(_, config)| config.spec.revision.clone());
    let pinned = snapshot.rollouts.iter().filter_map(|(_, policy)| policy.spec.pinned_revision.clone());
    let first = sound.first().into_iter().chain(proven).map(|revision| name(revision).to_owned());
    first.chain(named).chain(pinned).collect()
}

/// Revisions that nodes have in place while they are assigned another one, or could not have it.
pub(crate) fn left_behind(index: &Index) -> BTreeSet<String> {
    let configs = index.snapshot().configs.iter();
    configs.filter_map(|(_, config)| in_place_before(config)).map(str::to_owned).collect()
}

/// The revision that a node says to have in place, unless it is the one that it was assigned and says to have: assigned
/// that one again, after its labels changed, it has something else in place than what the revision says today.
pub(crate) fn in_place_before(config: &NodeNetworkConfig) -> Option<&str> {
    let status = config.status.as_ref()?;
    let has = match status.config_status {
        ConfigStatus::Provisioning | ConfigStatus::Provisioned | ConfigStatus::Unseen => true,
        ConfigStatus::Invalid => false,
    };
    let again = has && status.last_applied_revision.as_ref() == Some(&config.spec.revision);
    status.in_place_revision.as_deref().filter(|_| !again)
}

/// Every revision, with what it says for nodes where that was worked out.
pub(crate) fn revisions(
    now: Timestamp,
    index: &Index,
    node_targets: &BTreeMap<String, Arc<NodeTargets>>,
) -> Vec<Revision> {
    let all = index.snapshot().revisions.iter().map(|(_, revision)| revision);
    all.map(|revision| revision_of(now, index, revision, node_targets.get(name(revision)))).collect()
}

fn revision_of(
    now: Timestamp,
    index: &Index,
    revision: &NetworkConfigRevision,
    node_targets: Option<&Arc<NodeTargets>>,
) -> Revision {
    let status = revision.status.clone().unwrap_or_default();
    let annotation = |key: &str| revision.metadata.annotations.as_ref()?.get(key);
    let failed = failure(&status);
    let asks = annotation(annotation::RETRY).and_then(|number| number.parse().ok());
    let asked = failed.as_ref().is_some_and(|failed| asks == Some(failed.attempts));
    let changed = status.failed_under.as_ref().is_some_and(|then| {
        let node_target =
            node_targets.zip(failed.as_ref()).and_then(|(node_targets, failed)| node_targets.get(&failed.node));
        let message = status.failed_message.as_deref().unwrap_or_default();
        node_target.is_some_and(|node_target| bearing::of(now, index, node_target, message) != *then)
    });
    let changed = changed || failed.as_ref().is_some_and(|failed| has_by_now(index, name(revision), &failed.node));
    let (failure, before) = if status.is_invalid { (failed, None) } else { (None, failed) };
    Revision {
        name: name(revision).to_owned(),
        order: revision.sequence(),
        failure,
        before,
        changed,
        asked,
        proven_at: status.proven_at.map(|time| time.0),
        canaries: status.canaries.into_iter().map(|watch| (watch.policy, watch.healthy_since.0)).collect(),
        phase: status.phase,
        paused: annotation(annotation::PAUSED).is_some_and(|value| value == "true"),
        node_changes: node_targets.map(|node_targets| {
            let managed = node_targets.iter().filter(|node_target| is_managed(index, node_target.object));
            managed.map(|node_target| (node_target.node.to_owned(), change_of(index, node_target))).collect()
        }),
    }
}

/// How a revision failed, or did before it is tried again now.
fn failure(status: &NetworkConfigRevisionStatus) -> Option<Failure> {
    if !status.is_invalid && status.attempts == 0 {
        return None;
    }
    let at = status.failed_at.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    // One that an earlier version gave up is tried once more.
    let first = || later(at, SignedDuration::from_secs(RetryPolicy::default().first_seconds.into()));
    let retry_at = status.next_attempt_at.as_ref().map(|time| time.0);
    Some(Failure {
        node: status.failed_node.clone().unwrap_or_default(),
        message: status.failed_message.clone().unwrap_or_default(),
        at,
        attempts: status.attempts.max(1),
        retry_at: retry_at.or_else(|| (status.attempts == 0).then(first)),
    })
}

/// Whether a node that failed on a revision, and was left with it, has brought it about by itself since.
fn has_by_now(index: &Index, revision: &str, node: &str) -> bool {
    let config = index.snapshot().configs.get(&ObjectKey::global(node));
    config.filter(|config| config.spec.revision == revision && has_answered(config)).is_some_and(|config| {
        config.status.as_ref().is_some_and(|status| status.config_status == ConfigStatus::Provisioned)
    })
}

/// A node whose state is not managed neither acts nor reports, so it cannot take part.
fn is_managed(index: &Index, state: &ObjectKey) -> bool {
    index.snapshot().states.get(state).is_some_and(|state| state.managed)
}

fn change_of(index: &Index, node_target: NodeTarget<'_>) -> NodeChange {
    let snapshot = index.snapshot();
    let config = snapshot.configs.get(&ObjectKey::global(node_target.node));
    let state = snapshot.states.get(node_target.object);
    let stays = stays(index, node_target);
    let written = config.zip(state).is_some_and(|(config, state)| {
        let content = stays || node_target.is_content_of(state);
        is_paired(index, config, node_target) && content && node_target.is_config_of(config)
    });
    let removals = match state {
        Some(state) if !written && is_limited(index) => {
            let given = config.and_then(|config| config.spec.host.as_ref());
            let of_target = if stays { 0 } else { removals::count(state, node_target.desired.document.as_ref()) };
            let fabric = config.map(|config| config.spec.fabric());
            let wanted = node_target.fabric_config().map(FabricConfig::view);
            let of_host = removals::of_host(given, node_target.host_config());
            of_target + of_host + removals::of_fabric(fabric, wanted)
        }
        Some(_) | None => 0,
    };
    NodeChange { written, removals, apart: stays }
}

/// Whether anybody asks how much goes: it takes longer than all the rest.
fn is_limited(index: &Index) -> bool {
    let limits = |policy: &RolloutPolicy| policy.spec.limits.as_ref().is_some_and(|it| it.max_deletions.is_some());
    index.snapshot().rollouts.iter().any(|(_, policy)| limits(policy))
}

/// Whether the network state of a node is not ours to write: what stands there manually cannot be read, or the node
/// merges policies itself and each of us would undo what the other writes.
pub(crate) fn stays(index: &Index, node_target: NodeTarget<'_>) -> bool {
    let merges = || index.snapshot().states.get(node_target.object).is_some_and(|state| state.merges_itself);
    !node_target.desired.held.is_empty() || merges()
}

/// Whether somebody merged policies into the network state of a node without a revision, as the node itself does or a
/// client. That may be newer than what the node was assigned, so only its turn takes it back.
pub(crate) fn is_merged_elsewhere(index: &Index, config: &NodeNetworkConfig, node_target: NodeTarget<'_>) -> bool {
    let state = index.snapshot().states.get(node_target.object);
    let apart = state.is_some_and(|state| {
        state.revision.is_none() && state.provenance.is_some() && !node_target.is_content_of(state)
    });
    apart && has_answered(config)
}

/// Whether a node has answered what it was assigned last.
pub(crate) fn has_answered(config: &NodeNetworkConfig) -> bool {
    config.status.as_ref().is_some_and(|status| {
        status.last_applied_revision.as_ref() == Some(&config.spec.revision)
            && status.observed_generation == config.metadata.generation
    })
}

/// Whether both objects of a node belong together: they are written one after the other.
pub(crate) fn is_paired(index: &Index, config: &NodeNetworkConfig, node_target: NodeTarget<'_>) -> bool {
    if stays(index, node_target) {
        return true;
    }
    config.spec.belongs_to(digest_of_state(index, node_target))
}

/// Whether the network state of a node has what is desired, by whichever revision it was written.
pub(crate) fn has_state(index: &Index, node_target: NodeTarget<'_>) -> bool {
    let content = index.snapshot().states.get(node_target.object).is_some_and(|state| node_target.is_content_of(state));
    content && digest_of_state(index, node_target) == node_target.state_digest()
}

fn digest_of_state<'a>(index: &'a Index, node_target: NodeTarget<'_>) -> &'a str {
    index
        .mark(STATE, node_target.object)
        .and_then(|mark| mark.notes.get(annotation::DIGEST))
        .map(String::as_str)
        .unwrap_or_default()
}

/// Every node that stays, with what it was assigned and what it answered.
pub(crate) fn nodes(now: Timestamp, index: &Index, sightings: &Sightings) -> Vec<Node> {
    let snapshot = index.snapshot();
    let nodes = snapshot.nodes.iter().filter(|(_, node)| !node.meta.deleted);
    nodes
        .map(|(key, node)| {
            let config = snapshot.configs.get(key).filter(|config| !config.spec.revision.is_empty());
            Node {
                name: node.name().to_owned(),
                labels: node.labels.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect(),
                conditions: index.mark(NODE, key).map(|mark| mark.conditions.clone()).unwrap_or_default(),
                assigned: config.map(|config| assigned(config, sightings.since(node.name()))),
                report: config.and_then(|config| config.status.as_ref()).and_then(report),
                agent: index.signs().liveness(now, node.name()),
            }
        })
        .collect()
}

fn assigned(config: &NodeNetworkConfig, known_since: Option<Timestamp>) -> Assigned {
    let annotation = |key: &str| config.metadata.annotations.as_ref()?.get(key);
    let written = annotation(annotation::ASSIGNED_AT).and_then(|time| time.parse().ok());
    let created = config.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let since = written.or(created).unwrap_or(Timestamp::UNIX_EPOCH);
    Assigned {
        revision: config.spec.revision.clone(),
        generation: config.metadata.generation.unwrap_or_default(),
        since,
        known_since: known_since.unwrap_or(since),
        cause: cause(config),
        attempt: config.spec.attempt,
        gates: gates_before(config),
    }
}

/// The conditions that the node showed when it was assigned; none where that was not written down.
pub(crate) fn gates_before(config: &NodeNetworkConfig) -> Option<BTreeSet<String>> {
    let gates = config.metadata.annotations.as_ref()?.get(annotation::GATES_BEFORE)?;
    Some(gates.split(',').filter(|gate| !gate.is_empty()).map(str::to_owned).collect())
}

/// Why a node was assigned what it was assigned.
pub(crate) fn cause(config: &NodeNetworkConfig) -> Cause {
    let word = config.metadata.annotations.as_ref().and_then(|all| all.get(annotation::ASSIGNED_FOR));
    word.and_then(|word| Cause::parse(word)).unwrap_or_default()
}

fn report(status: &NodeNetworkConfigStatus) -> Option<Report> {
    let progress = match status.config_status {
        // An agent that is at work still names the revision before. That is no claim, it is no answer yet.
        ConfigStatus::Unseen | ConfigStatus::Provisioning => return None,
        ConfigStatus::Provisioned => Progress::Done,
        ConfigStatus::Invalid => Progress::Failed(status.error_message.clone().unwrap_or_default()),
    };
    let revision = status.last_applied_revision.clone().unwrap_or_default();
    Some(Report { revision, generation: status.observed_generation, progress })
}

/// Every rollout policy.
pub(crate) fn policies(index: &Index) -> Vec<Policy> {
    let rollouts = &index.snapshot().rollouts;
    let all = rollouts.iter().filter(|(_, policy)| policy.metadata.deletion_timestamp.is_none());
    let readable = all.map(|(key, policy)| Policy {
        name: key.name.clone(),
        spec: policy.spec.clone(),
        phase: policy.status.as_ref().and_then(|status| status.phase),
        unreadable: None,
    });
    let unreadable = rollouts.unreadable().filter(|object| !object.meta.deleted).map(|object| held(index, object));
    readable.chain(unreadable).collect()
}

/// A policy that cannot be read. The nodes that it selects are those that it can be seen to select; when not even that
/// can be seen it may be any, and none of those that no other policy names moves.
fn held(index: &Index, object: &Unreadable) -> Policy {
    let mark = index.mark(ROLLOUT, &object.meta.key);
    let spec = mark.and_then(|mark| mark.spec.as_ref());
    let part = |name: &str| spec.and_then(|spec| spec.get(name)).cloned();
    let node_selector = part("nodeSelector").and_then(|value| serde_json::from_value(value).ok());
    let priority = part("priority").and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
    Policy {
        name: object.meta.key.name.clone(),
        spec: RolloutPolicySpec { node_selector, priority, ..RolloutPolicySpec::default() },
        phase: mark.and_then(Mark::status_as::<RolloutPolicyStatus>).and_then(|status| status.phase),
        unreadable: Some(object.why.clone()),
    }
}
