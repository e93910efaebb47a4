//! Kinds that others define and our rules look at: their indexes and rules.

use netloom_api::GroupKind;
pub(crate) use netloom_api::foreign::*;
use serde_json::Value;

use crate::{Findings, Index, Review, fabric, hostnet};

/// Attachments by the cluster network that carries them.
pub(crate) const BY_CLUSTER_NETWORK: &str = "clusterNetwork";
/// Attachments by the plugin that makes them.
pub(crate) const BY_TYPE: &str = "type";

const OF_ATTACHMENTS: &[Index] =
    &[Index { name: BY_CLUSTER_NETWORK, keys: cluster_network }, Index { name: BY_TYPE, keys: plugin }];

/// The indexes of a foreign kind.
pub(crate) fn indexes(kind: GroupKind<'_>) -> &'static [Index] {
    match kind {
        ATTACHMENT => OF_ATTACHMENTS,
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
