//! What a `RolloutPolicy` must keep: steps that grow, and revisions that exist.

use netloom_api::{
    GroupKind, dig,
    rollout::{Probing, RolloutPolicy, RolloutPolicySpec, Share},
};
use netloom_probing::ProbeTiming;
use serde_json::Value;

use crate::{Admitted, Findings, View, Write, selector};

const REVISION: GroupKind<'static> = GroupKind::new("network.t-caas.telekom.com", "NetworkConfigRevision");
const SELF: GroupKind<'static> = GroupKind::new("netloom.dev", "RolloutPolicy");

impl Admitted for RolloutPolicy {
    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        let spec = &new.spec;
        for (path, node_selector) in
            [("spec.nodeSelector", &spec.node_selector), ("spec.canary.nodeSelector", &spec.canary.node_selector)]
        {
            if let Some(node_selector) = node_selector {
                selector::check(path, node_selector, findings);
            }
        }
        share("spec.canary.nodes", &spec.canary.nodes, findings);
        share("spec.maxUnavailable", &spec.max_unavailable, findings);
        if let Some(most) = spec.limits.as_ref().and_then(|limits| limits.max_affected_nodes.as_ref()) {
            share("spec.limits.maxAffectedNodes", most, findings);
        }
        waves_grow(&spec.waves, findings);
        if spec.retry.most_seconds < spec.retry.first_seconds {
            let most = i64::from(spec.retry.most_seconds);
            findings.invalid("spec.retry.mostSeconds", most, "must not be less than firstSeconds");
        }
        if let Some(key) = &spec.zone_key {
            for why in netloom_schema::names::qualified(key) {
                findings.invalid("spec.zoneKey", key.as_str(), why);
            }
        }
        for (i, gate) in spec.health_gates.iter().enumerate() {
            for why in netloom_schema::names::qualified(gate) {
                findings.invalid(format!("spec.healthGates[{i}]"), gate.as_str(), why);
            }
        }
        long_watched(spec, findings);
        pinned(write, spec, findings);
        same_priority(write, spec, findings);
    }
}

fn share(path: &str, share: &Share, findings: &mut Findings) {
    let valid = match share {
        Share::Nodes(nodes) => *nodes > 0,
        Share::Percent(_) => share.percent().is_some(),
    };
    if !valid {
        findings.invalid(path, share.to_value(), "must be at least 1, or a percentage from 1% to 100%");
    }
}

/// A wave that is no larger than the one before would change nothing.
fn waves_grow(waves: &[Share], findings: &mut Findings) {
    for (i, wave) in waves.iter().enumerate() {
        let path = format!("spec.waves[{i}]");
        share(&path, wave, findings);
        let grows = match (i.checked_sub(1).map(|before| &waves[before]), wave) {
            (Some(Share::Nodes(before)), Share::Nodes(now)) => before < now,
            (Some(before @ Share::Percent(_)), Share::Percent(_)) => before.percent() < wave.percent(),
            (None | Some(_), _) => true,
        };
        if !grows {
            findings.invalid(path, wave.to_value(), "must be larger than the wave before it");
        }
    }
}

/// A node that may still be waiting when it counts as silent would fail good changes.
fn long_watched(spec: &RolloutPolicySpec, findings: &mut Findings) {
    let given = spec.probes.map(Probing::times).unwrap_or_default();
    let watched = ProbeTiming::default().with(given).watched().as_secs();
    if watched > u64::from(spec.timeout_seconds) {
        findings.warn(format!(
            "a node may watch a change for {watched} seconds, and counts as failed after spec.timeoutSeconds, which are {}",
            spec.timeout_seconds
        ));
    }
}

fn pinned(write: &Write<'_, RolloutPolicy>, spec: &RolloutPolicySpec, findings: &mut Findings) {
    let before = write.old.as_ref().and_then(|old| old.spec.pinned_revision.as_ref());
    let Some(name) = spec.pinned_revision.as_ref().filter(|name| Some(*name) != before) else { return };
    if write.review.view.get(REVISION, None, name).is_none() {
        findings.not_found(
            "spec.pinnedRevision",
            name.as_str(),
            "there is no such revision; it may have been removed with the history",
        );
    }
}

/// Two policies of one priority that can select the same node are taken, and the user is warned.
fn same_priority(write: &Write<'_, RolloutPolicy>, spec: &RolloutPolicySpec, findings: &mut Findings) {
    let view: &dyn View = write.review.view;
    for other in write.others(view.list(SELF)) {
        let priority = dig::at(&other, "spec.priority").and_then(Value::as_i64).unwrap_or_default();
        let theirs = dig::at(&other, "spec.nodeSelector").cloned().unwrap_or_default();
        let ours = serde_json::to_value(&spec.node_selector).unwrap_or_default();
        if priority == i64::from(spec.priority) && theirs == ours {
            let name = dig::name(&other);
            findings.warn(format!(
                "{name:?} has the same selector and priority: for each node the first name of both wins"
            ));
        }
    }
}
