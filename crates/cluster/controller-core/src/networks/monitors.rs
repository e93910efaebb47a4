//! Which links of nodes are listed: `LinkMonitor`s that every cluster has, and what they list.
//!
//! A monitor is written when its list has changed, whatever else a node reports.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::{
    condition::Truth,
    hostnet::{ClusterNetworkStatus, GROUP, LinkMonitorSpec, LinkMonitorStatus, LinkState, LinkStatus, names},
    pipeline::{NodeNetworkStatus, node_network_status::NodeInterface},
};
use netloom_compile::{
    Node, ObjectKey,
    hostnet::{ClusterNetwork, LinkMonitor},
};
use netloom_object::{Action, ObjectRef};
use regex::Regex;
use serde_json::{Value, json};

use super::kinds::{CLUSTER_NETWORK, MONITOR};
use crate::{index::Index, work::Work};

/// What a physical interface is called as a type.
const CARD: &str = "device";

/// The most bytes of a list; with who manages its fields it stays below 1 MiB.
const MOST: usize = 700 << 10;

/// Asks for monitors that are missing, and for lists that are not true.
pub(super) fn write_statuses(index: &Index, work: &mut Work) {
    let snapshot = index.snapshot();
    let networks = snapshot.iter::<ClusterNetwork>().filter(|(_, network)| !network.meta.deleted);
    let mut wanted: Vec<(String, Value, Option<Value>)> = Vec::new();
    for (key, _) in networks {
        let Some(mark) = index.mark(CLUSTER_NETWORK, key) else { continue };
        let mut reported = mark.status_as::<ClusterNetworkStatus>().into_iter().flat_map(|status| &status.conditions);
        if reported.any(|condition| condition.kind == "ready" && condition.status == Truth::True) {
            let rule = json!({"nameRule": format!("{}(-br|-bo)", key.name)});
            let owner = json!({
                "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ClusterNetwork", "name": key.name, "uid": mark.uid,
            });
            wanted.push((key.name.clone(), rule, Some(owner)));
        }
    }
    if !snapshot.has_none::<ClusterNetwork>() {
        wanted.push((names::MONITOR_OF_CARDS.to_owned(), json!({"typeRule": CARD}), None));
    }
    for (name, rule, owner) in wanted {
        let key = ObjectKey::global(name);
        if index.mark(MONITOR, &key).is_none() {
            let object = json!({
                "apiVersion": format!("{GROUP}/v1beta1"),
                "kind": "LinkMonitor",
                "metadata": {"name": key.name, "ownerReferences": owner.into_iter().collect::<Vec<_>>()},
                "spec": {"targetLinkRule": rule},
            });
            work.single(ObjectRef { kind: MONITOR, key }, Action::Create { object });
        }
    }
    for (key, monitor) in snapshot.iter::<LinkMonitor>().filter(|(_, monitor)| !monitor.meta.deleted) {
        let Some(mark) = index.mark(MONITOR, key) else { continue };
        let before: LinkMonitorStatus = mark.status_as().cloned().unwrap_or_default();
        let Some(after) = listed(index, &monitor.spec) else { continue };
        if after != before {
            work.status(index, MONITOR, key, &after);
        }
    }
}

/// The links of every node that the monitor is for; none when its rules cannot be read, which admission refuses.
fn listed(index: &Index, spec: &LinkMonitorSpec) -> Option<LinkMonitorStatus> {
    let rule = &spec.target_link_rule;
    let (kind, name) = (Regex::new(&rule.type_rule).ok()?, Regex::new(&rule.name_rule).ok()?);
    let snapshot = index.snapshot();
    let selected = |node: &Node| spec.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
    // A node that is left alone reports nothing, so what it listed before need not be so any more.
    let alone: BTreeSet<&str> =
        snapshot.states.iter().filter(|(_, state)| !state.managed).map(|(_, state)| state.node_name.as_str()).collect();
    let listed = |node: &Node| !node.meta.deleted && selected(node) && !alone.contains(node.name());
    let nodes = snapshot.nodes.iter().filter(|(_, node)| listed(node));
    let fits = |link: &LinkStatus| kind.is_match(&link.kind) && name.is_match(&link.name);
    let (mut link_status, mut room, mut unlisted) = (BTreeMap::new(), MOST, 0);
    for (key, _) in nodes {
        let Some(report) = snapshot.statuses.get(key) else { continue };
        if room == 0 {
            unlisted += 1;
            continue;
        }
        let links: Vec<LinkStatus> = links(report).into_iter().filter(fits).collect();
        room = room.saturating_sub(serde_json::to_string(&links).map_or(0, |text| text.len()) + key.name.len());
        if room == 0 {
            unlisted += 1;
        } else {
            link_status.insert(key.name.clone(), links);
        }
    }
    Some(LinkMonitorStatus { link_status, unlisted_nodes: Some(unlisted).filter(|unlisted| *unlisted > 0) })
}

fn links(report: &NodeNetworkStatus) -> Vec<LinkStatus> {
    let interfaces = report.status.as_ref().map(|status| status.interfaces.as_slice()).unwrap_or_default();
    let index_of = |name: &str| interfaces.iter().find(|one| one.name == name).and_then(|one| one.index);
    let link = |one: &NodeInterface| LinkStatus {
        name: one.name.clone(),
        index: one.index.unwrap_or_default(),
        kind: kernel_word(one.kind.as_deref()).to_owned(),
        mac: one.mac.clone().unwrap_or_default(),
        promiscuous: one.promiscuous,
        state: match one.state.as_str() {
            "up" => LinkState::Up,
            "down" => LinkState::Down,
            _ => LinkState::Unknown,
        },
        master_index: one.controller.as_deref().and_then(index_of),
    };
    interfaces.iter().filter(|one| one.kind.as_deref() != Some("loopback") && one.name != "lo").map(link).collect()
}

/// What the kernel and those who write rules for monitors call a type.
fn kernel_word(kind: Option<&str>) -> &str {
    match kind {
        None | Some("ethernet") => CARD,
        Some("linux-bridge") => "bridge",
        Some("mac-vlan") => "macvlan",
        Some("mac-vtap") => "macvtap",
        Some(other) => other,
    }
}
