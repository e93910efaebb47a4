//! What a node answers on its `NodeNetworkConfig`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use netloom_api::{
    fabric::{GROUP, text::Interface},
    pipeline::{
        NodeNetworkConfig,
        node_network_config::{
            ConfigStatus, HostDrift, HostLease, NodeNetworkConfigStatus,
            host::{HostConfig, HostEntry},
        },
    },
};
use netloom_plan::Difference;
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
    (leases, drift): (Vec<HostLease>, Vec<HostDrift>),
    as_number: Option<u32>,
) -> Option<Value> {
    let (progress, error) = match (&attempt.stage, attempt.failure()) {
        // A desired state that was not even begun is not taken for a bad one.
        (_, Some((failure, ..))) if failure.reason == Reason::OutOfReach => {
            (ConfigStatus::Provisioning, Some(failure.message.clone()))
        }
        (_, Some((failure, ..))) => (ConfigStatus::Invalid, Some(failure.message.clone())),
        (Stage::Reached { .. }, None) => (ConfigStatus::Provisioned, None),
        (Stage::Untried | Stage::Running { .. } | Stage::Failed { .. }, None) => (ConfigStatus::Provisioning, None),
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
        in_place_revision: attempt
            .in_place()
            .map(str::to_owned)
            .or_else(|| before.in_place_revision.clone().filter(|_| !verdict)),
        observed_generation: if verdict { config.metadata.generation } else { before.observed_generation },
        error_message: error.map(short),
        as_number,
        leases,
        // What is to be brought about is not drift.
        drift: if progress == ConfigStatus::Provisioned { drift } else { Vec::new() },
    };
    (before != after).then(|| {
        json!({
            "apiVersion": format!("{GROUP}/v1alpha1"),
            "kind": "NodeNetworkConfig",
            "metadata": {"name": config.metadata.name, "uid": config.metadata.uid},
            "status": after,
        })
    })
}

/// Drift of what the controller has for the node, by link; other links and routes are not the controller's to tell of.
pub(crate) fn by_link(drift: &[Difference], host: &HostConfig) -> Vec<HostDrift> {
    let mut fields: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for difference in drift {
        if let Some(link) = link_of(&difference.path, host) {
            fields.entry(link).or_default().push(difference.to_string());
        }
    }
    let entry = |(link, fields): (&str, Vec<String>)| HostDrift {
        link: Interface(link.to_owned()),
        message: short(fields.join("; ")),
    };
    fields.into_iter().map(entry).collect()
}

/// The link that a path is about. Names have dots as paths do, so the longest one counts, and no property begins with a
/// number as the VLAN in the name of another link does.
fn link_of<'a>(path: &str, host: &'a HostConfig) -> Option<&'a str> {
    let is_property =
        |rest: &str| rest.strip_prefix('.').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    let is = |name: &&str| path.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || is_property(rest));
    let names = host.entries().filter_map(HostEntry::link).map(|name| name.0.as_str());
    names.filter(is).max_by_key(|name| name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_belongs_to_the_link_that_it_is_about() {
        let link = |name: &str| json!({"name": name, "type": "bridge", "origin": {"kind": "VlanConfig", "name": "u"}});
        let host = json!({"links": [link("cn1-br"), link("cn1-br.20")]});
        let host: HostConfig = serde_json::from_value(host).unwrap();
        let drift =
            ["cn1-br.20", "cn1-br.20.address", "cn1-br.mtu", "cn1-br.30.mtu", "cn1-bridge.mtu", "hostname.config"];
        let drift = drift.map(|path| Difference { path: path.to_owned(), wanted: "a".to_owned(), got: "b".to_owned() });
        let reported: Vec<(String, String)> =
            by_link(&drift, &host).into_iter().map(|one| (one.link.0, one.message)).collect();
        let of = |link: &str, message: &str| (link.to_owned(), message.to_owned());
        assert_eq!(
            reported,
            [
                of("cn1-br", "cn1-br.mtu: wanted a, got b"),
                of("cn1-br.20", "cn1-br.20: wanted a, got b; cn1-br.20.address: wanted a, got b"),
            ]
        );
    }
}
