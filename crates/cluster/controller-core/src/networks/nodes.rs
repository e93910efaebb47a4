//! What is written on nodes: a label for each cluster network that they are connected to, and the interface that tunnels
//! of overlay networks use.
//!
//! Nodes change all the time for reasons that have nothing to do with networks, so these patches are not tied to a
//! version: each names one key, and says the same whoever writes it.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::hostnet::{MGMT, names};
use netloom_compile::{
    Compiled, Inventory, Link, Node, ObjectKey,
    hostnet::{ClusterNetwork, HostNetworkConfig},
};
use netloom_object::{Action, ObjectRef};
use serde_json::{Map, Value, json};

use super::{
    hosts,
    kinds::HOST_NETWORK,
    uplinks::{Connection, Connections},
};
use crate::{
    answers::{NodeAnswer, Progress},
    index::Index,
    kinds::NODE,
    work::Work,
};

/// Asks for labels and annotations that are not true.
pub(super) fn write_statuses(
    index: &Index,
    compiled: &Compiled,
    answers: &BTreeMap<&str, NodeAnswer<'_>>,
    connections: &Connections,
    work: &mut Work,
) {
    let tunnels = Tunnels::of(index, compiled);
    let inventories: BTreeMap<&str, &Inventory> =
        index.snapshot().states.iter().map(|(_, state)| (state.node_name.as_str(), state.inventory.as_ref())).collect();
    for (key, node) in index.snapshot().nodes.iter().filter(|(_, node)| !node.meta.deleted) {
        let mut metadata = Map::new();
        let labels = labels(index, node, connections);
        if !labels.is_empty() {
            metadata.insert("labels".to_owned(), labels.into());
        }
        let reported =
            index.mark(NODE, key).and_then(|mark| mark.notes.get(names::TUNNEL_INTERFACE)).map(String::as_str);
        let wanted = tunnels.interface(key, answers, inventories.get(node.name()).copied(), reported);
        if wanted.as_deref() != reported {
            metadata.insert("annotations".to_owned(), json!({names::TUNNEL_INTERFACE: wanted}));
        }
        if !metadata.is_empty() {
            let target = ObjectRef { kind: NODE, key: key.clone() };
            work.single(target, Action::Patch { patch: json!({"metadata": metadata}) });
        }
    }
}

/// Labels that come, or go. A node that could not have another uplink keeps the label with the one that it has, and so does
/// one of which nobody can tell; one that shall not be connected any more loses it before the network.
fn labels(index: &Index, node: &Node, connections: &Connections) -> Map<String, Value> {
    let mut changes = Map::new();
    let networks = index.snapshot().iter::<ClusterNetwork>();
    let there: BTreeSet<&str> = networks.map(|(key, _)| key.name.as_str()).collect();
    // A network may go together with its uplinks, and while nobody is there to see it.
    for network in there.iter().copied().chain(named_by(node)) {
        let connection = connections.get(network).and_then(|nodes| nodes.get(node.name()));
        let connected = connection.is_some_and(Connection::is_connected);
        let wanted = there.contains(network) && (connected || network == MGMT);
        if wanted != is_labelled(node, network) {
            changes.insert(names::node_label(network), if wanted { json!("true") } else { Value::Null });
        }
    }
    changes.extend(uplink_label(node, connections));
    changes
}

/// The label that names the uplink of a node, where it is not true. There is one for all networks, so it names that of the
/// first of them; a name that no label can hold is left out. It stays while it is to be seen which uplink that is.
fn uplink_label(node: &Node, connections: &Connections) -> Option<(String, Value)> {
    let own = || connections.values().filter_map(|nodes| nodes.get(node.name()));
    let reported = node.labels.get(names::VLAN_CONFIG).map(String::as_str);
    // One that moves to another network is to be seen there.
    let is_moving =
        |connection: &Connection| connection.is_open() && names::label_value(&connection.uplink) == reported;
    let first = own().find(|connection| connection.is_connected());
    if first.map_or_else(|| own().any(is_moving), Connection::is_kept) {
        return None;
    }
    let wanted = first.and_then(|connection| names::label_value(&connection.uplink));
    (wanted != reported).then(|| (names::VLAN_CONFIG.to_owned(), json!(wanted)))
}

/// Whether the label of a node says that it is connected to a cluster network.
pub(super) fn is_labelled(node: &Node, network: &str) -> bool {
    node.labels.get(&names::node_label(network)).is_some_and(|value| value == "true")
}

/// The cluster networks that the labels of a node name.
pub(super) fn named_by(node: &Node) -> impl Iterator<Item = &str> {
    let networks = node.labels.iter().filter(|(_, value)| *value == "true");
    networks.filter_map(|(label, _)| names::network_of_node_label(label))
}

/// Which interfaces tunnels use.
struct Tunnels<'a> {
    /// The host network that says so, and what its interface is called.
    underlay: Option<Underlay<'a>>,
    /// Every interface that a host network has or had: one that a tunnel used is not kept when it is the underlay no more.
    ours: BTreeSet<&'a str>,
    /// Whether the platform has a network for the nodes themselves, whose interface tunnels use by default.
    by_default: bool,
}

/// The host network that tunnels use.
struct Underlay<'a> {
    name: &'a str,
    interface: &'a str,
    /// The nodes that it is for.
    nodes: &'a BTreeSet<String>,
}

impl<'a> Tunnels<'a> {
    fn of(index: &'a Index, compiled: &'a Compiled) -> Self {
        let snapshot = index.snapshot();
        let reports = || super::reports(compiled, HOST_NETWORK);
        let underlay = reports().find_map(|(name, report)| {
            let interface = report.interface.as_deref().filter(|_| report.underlay)?;
            Some(Underlay { name, interface, nodes: &report.matched })
        });
        let now = reports().filter_map(|(_, report)| report.interface.as_deref());
        // Nothing is compiled of what is being deleted, and only the interface of now of what moves.
        let before = snapshot.iter::<HostNetworkConfig>().flat_map(|(key, _)| hosts::interfaces(index, key));
        Self {
            underlay,
            ours: now.chain(before).collect(),
            by_default: snapshot.get::<ClusterNetwork>(&ObjectKey::global(MGMT)).is_some(),
        }
    }

    /// The interface that tunnels of a node shall use; none when there is nothing to say. An interface counts once the
    /// node has reported to have it and its address, and as long as the object is for the node: a lease that ends moves no
    /// tunnel, since the address may be back before anybody has moved.
    fn interface(
        &self,
        node: &ObjectKey,
        answers: &BTreeMap<&str, NodeAnswer<'_>>,
        inventory: Option<&Inventory>,
        reported: Option<&str>,
    ) -> Option<String> {
        if let Some(Underlay { name, interface, nodes }) = &self.underlay
            && nodes.contains(&node.name)
        {
            let answer = answers.get(node.name.as_str());
            let object = ObjectRef { kind: HOST_NETWORK, key: ObjectKey::global(*name) };
            let has = answer.is_some_and(|answer| {
                answer.was_assigned(&object)
                    && answer.progress(&object, false) == Progress::Done
                    && answer.has_address(interface)
            });
            if has || reported == Some(interface) {
                return Some((*interface).to_owned());
            }
        }
        let hosted =
            |reported: &str| inventory.is_some_and(|known| known.get(reported).is_some_and(|link| link.hosted));
        let kept = reported.filter(|reported| !self.ours.contains(reported) && !hosted(reported));
        let stale = reported.is_some() && kept.is_none();
        let installed = inventory.and_then(installed);
        installed.filter(|_| stale || (self.by_default && reported.is_none())).or_else(|| kept.map(str::to_owned))
    }
}

/// The interface by which the node itself is reached on the network of the installer.
fn installed(inventory: &Inventory) -> Option<String> {
    let bridge = names::bridge(MGMT);
    let is = |name: &String, link: &Link| name.starts_with(&bridge) && link.has_ipv4 && !link.made;
    inventory.links.iter().find(|(name, link)| is(name, link)).map(|(name, _)| name.clone())
}
