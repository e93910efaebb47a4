//! Kinds that others define and our rules look at: their indexes and rules.

pub(crate) use netloom_api::foreign::*;
use netloom_api::{GroupKind, dig};
use serde_json::Value;

use crate::{Findings, Index, Review, fabric, hostnet};

/// Attachments by the cluster network that carries them.
pub(crate) const BY_CLUSTER_NETWORK: &str = "clusterNetwork";
/// Attachments by the plugin that makes them.
pub(crate) const BY_TYPE: &str = "type";
/// Machines by the attachments that they use, as `namespace/name`.
pub(crate) const BY_ATTACHMENT: &str = "attachment";

const OF_ATTACHMENTS: &[Index] =
    &[Index { name: BY_CLUSTER_NETWORK, keys: cluster_network }, Index { name: BY_TYPE, keys: plugin }];
const OF_INSTANCES: &[Index] = &[Index { name: BY_ATTACHMENT, keys: attachments_of_instance }];
const OF_MACHINES: &[Index] = &[Index { name: BY_ATTACHMENT, keys: attachments_of_machine }];

/// The indexes of a foreign kind.
pub(crate) fn indexes(kind: GroupKind<'_>) -> &'static [Index] {
    match kind {
        ATTACHMENT => OF_ATTACHMENTS,
        MACHINE_INSTANCE => OF_INSTANCES,
        MACHINE => OF_MACHINES,
        _ => &[],
    }
}

/// The rules that objects of foreign kinds keep where ours depend on them.
pub(crate) fn admit(review: &Review<'_>, findings: &mut Findings) {
    if review.kind == ATTACHMENT {
        hostnet::attachment::admit(review, findings);
    }
    if review.kind == CONFIG_MAP && is_looked_at(CONFIG_MAP, review.namespace, review.name) {
        fabric::settings::admit(review, findings);
    }
}

fn cluster_network(attachment: &Value) -> Vec<String> {
    cluster_network_of(attachment).into_iter().collect()
}

fn plugin(attachment: &Value) -> Vec<String> {
    let config = plugin_config(attachment);
    config.as_ref().and_then(|config| config.get("type")?.as_str()).map(str::to_owned).into_iter().collect()
}

fn attachments_of_instance(machine: &Value) -> Vec<String> {
    attachments(machine, "spec.networks")
}

fn attachments_of_machine(machine: &Value) -> Vec<String> {
    attachments(machine, "spec.template.spec.networks")
}

/// A name without a namespace means one in the machine's own.
fn attachments(machine: &Value, networks: &str) -> Vec<String> {
    let namespace = dig::text(machine, "metadata.namespace").unwrap_or_default();
    let networks = dig::at(machine, networks).and_then(Value::as_array);
    let names = networks.into_iter().flatten().filter_map(|n| dig::text(n, "multus.networkName"));
    names.map(|name| if name.contains('/') { name.to_owned() } else { format!("{namespace}/{name}") }).collect()
}
