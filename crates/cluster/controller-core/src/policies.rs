//! What is reported about policies of node states, and about network states that no agent answers for.

use netloom_api::{
    GroupKind,
    condition::{Condition, Conditions, Observation, Truth},
    nodestate::NodeNetConfPolicyStatus,
    pipeline::NetworkConfigRevision,
    rollout::annotation,
};
use netloom_compile::{
    Compiled, Frozen, ObjectKey, Report, StateReport, UntimedCondition, nodestate::PolicyReport, reason,
};
use netloom_object::ObjectRef;
use serde_json::json;

use crate::{
    front_end::{Assigned, FrontEndStatus, Scene},
    index::Index,
    kept::Kept,
    kinds::{Row, StatusPath},
    work::Work,
};

pub(crate) const POLICY: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetConfPolicy");
pub(crate) const STATE: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetworkState");

const ROWS: &[Row] = &[
    Row {
        reported: Some(StatusPath::Subresource),
        status: Some(Kept::read::<NodeNetConfPolicyStatus>),
        frozen: true,
        ..Row::followed(POLICY, "v1")
    },
    Row { reported: Some(StatusPath::Subresource), notes: &[annotation::DIGEST], ..Row::followed(STATE, "v1") },
];

/// The front end of node states.
#[derive(Debug)]
pub(crate) struct Policies;

impl FrontEndStatus for Policies {
    fn name(&self) -> &'static str {
        "node-policies"
    }

    fn kinds(&self) -> Vec<Row> {
        ROWS.to_vec()
    }

    fn prepare(&self, scene: Scene<'_>, work: &mut Work) {
        tell_policies(scene, work);
        tell_states(scene, work);
    }

    /// What nodes have of a policy they say themselves, in their network states.
    fn report(&self, _scene: Scene<'_>, _assigned: Assigned<'_>, _work: &mut Work) {}
}

/// Asks for the status of every policy of node states that differs.
fn tell_policies(Scene { now, index, compiled }: Scene<'_>, work: &mut Work) {
    let trial = Trial::of(index, compiled);
    for (ObjectRef { key, .. }, report) in compiled.reports.of::<PolicyReport>() {
        let Some(mark) = index.mark(POLICY, key) else { continue };
        let before: NodeNetConfPolicyStatus = mark.status_as().cloned().unwrap_or_default();
        let mut conditions = Conditions::default();
        for mut verdict in report.verdicts() {
            if verdict.kind == "Ready" && verdict.status == Truth::True && trial.has_failed(key) {
                (verdict.status, verdict.reason, verdict.message) =
                    (Truth::False, reason::ROLLOUT_FAILED, trial.words());
            }
            let UntimedCondition { kind, status, reason, message } = verdict;
            let seen = Observation::new(kind, status, reason, message);
            conditions.0.push(seen.at(now, report.generation, &before.conditions));
        }
        let matched_nodes = Some(u32::try_from(report.matched_nodes).unwrap_or(u32::MAX));
        let after = NodeNetConfPolicyStatus { observed_generation: report.generation, conditions, matched_nodes };
        if after != before {
            work.status(index, POLICY, key, &after);
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
        let desired = revisions.get(&ObjectKey::global(compiled.revision.name.as_str())).map(AsRef::as_ref);
        let proven = revisions.iter().map(|(_, revision)| revision.as_ref()).filter(|revision| {
            let status = status(revision);
            !status.is_invalid && status.proven_at.is_some()
        });
        let with_content = |revision: &'a NetworkConfigRevision| (revision, index.snapshot().frozen(revision));
        Self {
            failed: desired.filter(|revision| status(revision).is_invalid).map(with_content),
            good: proven.max_by_key(|revision| revision.sequence()).map(with_content),
        }
    }

    /// Whether a policy came with the revision that failed, or was changed by it.
    fn has_failed(&self, policy: &ObjectKey) -> bool {
        let frozen = |revision: &Frozen<'a>| Some(&revision.get(POLICY, policy)?.spec);
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
fn tell_states(Scene { now, index, compiled }: Scene<'_>, work: &mut Work) {
    for (key, state) in index.snapshot().states.iter() {
        let before = &state.status.conditions;
        let report: Option<&StateReport> = compiled.reports.get(&ObjectRef { kind: STATE, key: key.clone() });
        let verdicts = report.map(Report::verdicts).unwrap_or_default();
        let wanted = verdicts.iter().filter(|verdict| is_ours(verdict.kind));
        let after: Vec<Condition> = wanted
            .map(|UntimedCondition { kind, status, reason, message }| {
                Observation::new(kind, *status, *reason, message).at(now, state.meta.generation, before)
            })
            .collect();
        let known = before.0.iter().filter(|condition| is_ours(&condition.kind));
        if !known.eq(&after) {
            work.status(index, STATE, key, &json!({"conditions": after}));
        }
    }
}

fn is_ours(kind: &str) -> bool {
    [StateReport::CONFLICT, StateReport::ORPHANED].contains(&kind)
}
