//! What a node answers on its `NodeNetworkConfig`.

use jiff::Timestamp;
use netloom_api::fabric::{
    GROUP, NodeNetworkConfig,
    node_network_config::{ConfigStatus, HostLease, NodeNetworkConfigSpec, NodeNetworkConfigStatus},
};
use serde_json::{Value, json};

use crate::{
    Reason,
    attempt::{Attempt, Stage},
    condition::{seconds, short},
};

/// What to write; none when that stands there, or when there is nothing to say yet.
pub(crate) fn answer(
    now: Timestamp,
    config: &NodeNetworkConfig,
    attempt: &Attempt,
    (lost, leases): (&[String], Vec<HostLease>),
) -> Option<Value> {
    let refused = unsupported(&config.spec).or_else(|| lost.first().cloned());
    let (progress, error) = match (&attempt.stage, attempt.failure(), &refused) {
        // A wish that was not even begun is not taken for a bad one.
        (_, Some((failure, ..)), _) if failure.reason == Reason::OutOfReach => {
            (ConfigStatus::Provisioning, Some(failure.message.clone()))
        }
        (_, Some((failure, ..)), _) => (ConfigStatus::Invalid, Some(failure.message.clone())),
        (Stage::Reached { .. }, None, Some(why)) => (ConfigStatus::Invalid, Some(why.clone())),
        (Stage::Reached { .. }, None, None) => (ConfigStatus::Provisioned, None),
        (Stage::Untried | Stage::Running { .. } | Stage::Failed { .. }, None, _) => (ConfigStatus::Provisioning, None),
    };
    let before = config.status.clone().unwrap_or_default();
    let verdict = matches!(progress, ConfigStatus::Provisioned | ConfigStatus::Invalid);
    let after = NodeNetworkConfigStatus {
        config_status: progress,
        last_update: before
            .last_update
            .clone()
            .filter(|_| before.config_status == progress)
            .or_else(|| Some(seconds(now))),
        // While it is at work, the revision before still is what was applied last.
        last_applied_revision: if verdict {
            Some(config.spec.revision.clone())
        } else {
            before.last_applied_revision.clone()
        },
        in_place_revision: in_place(attempt, progress, refused.is_some())
            .map(str::to_owned)
            .or_else(|| before.in_place_revision.clone().filter(|_| !verdict)),
        observed_generation: if verdict { config.metadata.generation } else { before.observed_generation },
        error_message: error.map(short),
        as_number: None,
        leases,
    };
    let same = NodeNetworkConfigStatus { as_number: None, ..before } == after;
    (!same).then(|| {
        json!({
            "apiVersion": format!("{GROUP}/v1alpha1"),
            "kind": "NodeNetworkConfig",
            "metadata": {"name": config.metadata.name, "uid": config.metadata.uid},
            "status": after,
        })
    })
}

/// The revision that is in place. Of a configuration that is in place without a part of it nobody can tell what it is.
fn in_place(attempt: &Attempt, progress: ConfigStatus, partly: bool) -> Option<&str> {
    let told = attempt.in_place();
    told.filter(|_| progress != ConfigStatus::Invalid || !partly || attempt.failure().is_some())
}

/// Parts of a configuration that nothing here brings about; to say that they are in place would be a lie.
fn unsupported(spec: &NodeNetworkConfigSpec) -> Option<String> {
    let NodeNetworkConfigSpec { revision: _, digest: _, host: _, layer2s, cluster_vrf, fabric_vrfs, local_vrfs } = spec;
    let parts = [
        ("layer2s", !layer2s.is_empty()),
        ("clusterVRF", cluster_vrf.is_some()),
        ("fabricVRFs", !fabric_vrfs.is_empty()),
        ("localVRFs", !local_vrfs.is_empty()),
    ];
    let named: Vec<&str> = parts.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect();
    let named = named.join(", ");
    (!named.is_empty()).then(|| format!("spec: this agent does not bring about {named}; nothing of it is in place"))
}
