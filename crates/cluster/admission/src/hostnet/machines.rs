//! Virtual machines and the attachments that they use, as far as a change could cut them off.

use std::{collections::BTreeSet, sync::Arc};

use netloom_api::{
    dig,
    hostnet::names,
    machine::{INSTANCE, MACHINE},
};
use serde_json::Value;

use crate::{
    View,
    foreign::{self, ATTACHMENT},
    hostnet::nodes::Names,
    machine::BY_ATTACHMENT,
};

/// The running machines on `nodes` that use an attachment of the cluster network, as `namespace/name`.
pub(super) fn running_on(view: &dyn View, cluster_network: &str, nodes: &Names<'_>) -> BTreeSet<String> {
    let attachments = view.lookup(ATTACHMENT, foreign::BY_CLUSTER_NETWORK, cluster_network);
    let machines = attachments.iter().flat_map(|attachment| users(view, attachment, &[INSTANCE]));
    let here = |machine: &Arc<Value>| dig::text(machine, "status.nodeName").is_some_and(|node| nodes.contains(node));
    machines.filter(here).filter_map(|machine| foreign::full_name(&machine)).collect()
}

/// The machines that use an attachment of the cluster network, running or not.
pub(super) fn of_cluster_network(view: &dyn View, cluster_network: &str) -> BTreeSet<String> {
    let attachments = view.lookup(ATTACHMENT, foreign::BY_CLUSTER_NETWORK, cluster_network);
    names_of_users(view, &attachments)
}

/// The machines that use any overlay network, running or not.
pub(super) fn on_overlays(view: &dyn View) -> BTreeSet<String> {
    let overlays = view.lookup(ATTACHMENT, foreign::BY_TYPE, foreign::OVERLAY);
    names_of_users(view, &overlays)
}

/// The platform's own attachments on a cluster network, as `namespace/name`.
pub(super) fn system_attachments(view: &dyn View, cluster_network: &str) -> BTreeSet<String> {
    let attachments = view.lookup(ATTACHMENT, foreign::BY_CLUSTER_NETWORK, cluster_network);
    attachments.iter().filter(|attachment| is_system(attachment)).filter_map(|a| foreign::full_name(a)).collect()
}

fn is_system(attachment: &Value) -> bool {
    let annotations = dig::at(attachment, "metadata.annotations");
    let marked =
        names::SYSTEM_ATTACHMENTS.iter().any(|key| annotations.and_then(|a| a.get(*key)).is_some_and(|v| v == "true"));
    let named = names::SYSTEM_ATTACHMENT_PREFIXES.iter().any(|prefix| dig::name(attachment).starts_with(prefix));
    dig::text(attachment, "metadata.namespace") == Some(names::SYSTEM_NAMESPACE) && (marked || named)
}

fn names_of_users(view: &dyn View, attachments: &[Arc<Value>]) -> BTreeSet<String> {
    let users = attachments.iter().flat_map(|attachment| users(view, attachment, &[MACHINE, INSTANCE]));
    users.filter_map(|machine| foreign::full_name(&machine)).collect()
}

fn users(view: &dyn View, attachment: &Value, kinds: &[netloom_api::GroupKind<'static>]) -> Vec<Arc<Value>> {
    let Some(name) = foreign::full_name(attachment) else { return Vec::new() };
    kinds.iter().flat_map(|kind| view.lookup(*kind, BY_ATTACHMENT, &name)).collect()
}

/// A few names of many, for a message.
pub(super) fn some(names: &BTreeSet<String>) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
