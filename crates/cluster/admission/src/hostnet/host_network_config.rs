//! The rules of `HostNetworkConfig`.
//!
//! Rules about other objects and about nodes are checked when a write touches what they speak of: a
//! node that joins later, or an uplink that goes, must not make every later edit impossible.

use std::{collections::BTreeSet, net::Ipv4Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netloom_api::{
    dig,
    hostnet::{
        CLUSTER_NETWORK, HOST_NETWORK_CONFIG, HostNetworkConfig, HostNetworkConfigSpec, MGMT, Mode, VLAN_CONFIG,
        VLAN_STATUS,
    },
};
use serde::Deserialize;
use serde_json::Value;

use super::{known_cluster_network, overlap};
use crate::{
    Admitted, Findings, Index, Operation, Review, View, Write,
    hostnet::{
        BY_CLUSTER_NETWORK,
        installed::{BY_INSTALLER_VLAN, NODE_STATUS, installer_interface},
        machines,
        nodes::{self, Names, Nodes},
        ready,
        vlan_status::BY_UNREADY_NETWORK,
    },
    selector,
};

/// The index of these objects by [`place`].
const BY_PLACE: &str = "place";
/// The index of these objects by whether they are the underlay.
pub(super) const BY_UNDERLAY: &str = "underlay";

impl Admitted for HostNetworkConfig {
    const INDEXES: &'static [Index] = &[
        Index { name: BY_CLUSTER_NETWORK, keys: cluster_network },
        Index { name: BY_PLACE, keys: places },
        Index { name: BY_UNDERLAY, keys: underlay },
    ];

    fn complete(review: &Review<'_>, object: &mut Value) {
        complete(review, object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        match (write.review.operation, &write.new) {
            (Operation::Create, Some(new)) => create(write, new, findings),
            (Operation::Update, Some(new)) => update(write, new, findings),
            (Operation::Delete, _) => delete(write, findings),
            (Operation::Create | Operation::Update | Operation::Connect, _) => {}
        }
    }
}

fn cluster_network(object: &Value) -> Vec<String> {
    dig::keys(object, "spec.clusterNetwork")
}

/// What can be taken once: a VLAN of a cluster network.
fn place(cluster_network: &str, vlan: u64) -> String {
    format!("{cluster_network}/{vlan}")
}

fn places(object: &Value) -> Vec<String> {
    let vlan = dig::at(object, "spec.vlanID").and_then(Value::as_u64);
    let both = dig::text(object, "spec.clusterNetwork").zip(vlan);
    both.map(|(network, vlan)| place(network, vlan)).into_iter().collect()
}

fn underlay(object: &Value) -> Vec<String> {
    let underlay = dig::at(object, "spec.underlay").and_then(Value::as_bool).unwrap_or_default();
    vec![underlay.to_string()]
}

/// Writes the nodes that get the interface into the annotation, when the desired state changes. After that the
/// controller keeps it true, which also knows when the object has no effect.
pub(crate) fn complete(review: &Review<'_>, object: &mut Value) {
    let Some(cluster_network) = dig::text(object, "spec.clusterNetwork") else { return };
    let selector = dig::at(object, "spec.nodeSelector").filter(|selector| !selector.is_null());
    let Ok(selector) = selector.map(LabelSelector::deserialize).transpose() else { return };
    if dig::is_terminating(object) || nodes::is_annotated(review, object) {
        return;
    }
    let nodes = Nodes::of(review.view);
    let covered = nodes.covered(review.view, cluster_network, selector.as_ref());
    nodes::annotate(object, &covered);
}

pub(crate) fn create(write: &Write<'_, HostNetworkConfig>, new: &HostNetworkConfig, findings: &mut Findings) {
    let spec = &new.spec;
    place_is_free(write, spec, findings);
    check_selector(spec, findings);
    addresses(write, spec, findings);
    if spec.underlay {
        only_underlay(write, findings);
        reaches_every_node(write.review.view, spec, findings);
    }
}

pub(crate) fn update(write: &Write<'_, HostNetworkConfig>, new: &HostNetworkConfig, findings: &mut Findings) {
    let Some(old) = write.old.as_ref().map(|old| &old.spec) else { return create(write, new, findings) };
    let spec = &new.spec;
    if !write.changes_spec() {
        return;
    }
    let moved = (&old.cluster_network, old.vlan_id) != (&spec.cluster_network, spec.vlan_id);
    let reselected = moved || old.node_selector != spec.node_selector;
    if moved {
        place_is_free(write, spec, findings);
    }
    if reselected {
        check_selector(spec, findings);
    }
    if reselected || old.mode != spec.mode || old.ips != spec.ips {
        addresses(write, spec, findings);
    }
    if spec.underlay {
        only_underlay(write, findings);
        if reselected || !old.underlay {
            reaches_every_node(write.review.view, spec, findings);
        }
    }
    if old.underlay {
        tunnels_stay(write.review.view, old, spec, findings);
    }
}

pub(crate) fn delete(write: &Write<'_, HostNetworkConfig>, findings: &mut Findings) {
    if write.old.as_ref().is_some_and(|old| old.spec.underlay) {
        findings
            .forbidden("spec.underlay", "tunnels use this interface; set underlay to false before deleting the object");
    }
}

/// The cluster network and the VLAN in it can be used, and nobody else does.
fn place_is_free(write: &Write<'_, HostNetworkConfig>, spec: &HostNetworkConfigSpec, findings: &mut Findings) {
    const NETWORK: &str = "spec.clusterNetwork";
    let view = write.review.view;
    if !(2..=4094).contains(&spec.vlan_id) {
        findings.invalid("spec.vlanID", spec.vlan_id, "must be from 2 to 4094: the uplink itself uses 0 and 1");
    }
    known_cluster_network(view, NETWORK, &spec.cluster_network, findings);
    let taken = place(&spec.cluster_network, spec.vlan_id.into());
    for other in write.others(view.lookup(HOST_NETWORK_CONFIG, BY_PLACE, &taken)) {
        let network = &spec.cluster_network;
        let why = format!("{:?} has this VLAN of cluster network {network:?} already", dig::name(&other));
        findings.duplicate("spec.vlanID", spec.vlan_id, why);
    }
    if spec.cluster_network == MGMT {
        installer_vlan(view, spec.vlan_id, findings);
    } else if let Some(network) = view.get(CLUSTER_NETWORK, None, &spec.cluster_network) {
        is_ready(view, &network, findings);
    }
}

/// A cluster network can be used when it says so and no node connected to it says otherwise.
fn is_ready(view: &dyn View, network: &Value, findings: &mut Findings) {
    const NETWORK: &str = "spec.clusterNetwork";
    let name = dig::name(network);
    let connected = view.count(VLAN_STATUS, BY_CLUSTER_NETWORK, name) > 0;
    if !connected {
        let uplinks = view.lookup(VLAN_CONFIG, BY_CLUSTER_NETWORK, name);
        let then = match uplinks.iter().find(|uplink| !dig::is_terminating(uplink)) {
            Some(uplink) => format!("wait until VlanConfig {:?} has connected one, and try again", dig::name(uplink)),
            None => "create a VlanConfig for it".to_owned(),
        };
        findings.invalid(NETWORK, name, format!("no node is connected to the cluster network; {then}"));
    }
    for status in view.lookup(VLAN_STATUS, BY_UNREADY_NETWORK, name) {
        let node = dig::text(&status, "status.node").unwrap_or_default();
        let why = format!("node {node:?} is not connected properly: VlanStatus {:?} is not ready", dig::name(&status));
        findings.invalid(NETWORK, name, why);
    }
    if ready(network) != Some("True") && connected {
        findings.invalid(NETWORK, name, "the cluster network is not ready");
    }
}

/// The interface through which the nodes themselves are reached is the installer's.
fn installer_vlan(view: &dyn View, vlan: u16, findings: &mut Findings) {
    let reports = view.lookup(NODE_STATUS, BY_INSTALLER_VLAN, &vlan.to_string());
    let taken = reports.iter().find_map(|report| Some((dig::name(report), installer_interface(report, vlan)?)));
    if let Some((node, device)) = taken {
        findings.invalid(
            "spec.vlanID",
            vlan,
            format!("node {node:?} has the interface {device:?} already, and no HostNetworkConfig made it"),
        );
    }
}

fn check_selector(spec: &HostNetworkConfigSpec, findings: &mut Findings) {
    if let Some(selector) = &spec.node_selector {
        selector::check("spec.nodeSelector", selector, findings);
    }
}

/// The addresses fit the mode, the nodes and each other.
fn addresses(write: &Write<'_, HostNetworkConfig>, spec: &HostNetworkConfigSpec, findings: &mut Findings) {
    match spec.mode {
        Mode::Dhcp if spec.ips.is_empty() => {}
        Mode::Dhcp => findings.warn("spec.ips is left unused: with mode dhcp the addresses come from the server"),
        Mode::Static if spec.ips.is_empty() => {
            findings.required("spec.ips", "mode static needs an address for each node");
        }
        Mode::Static => {
            let view = write.review.view;
            let nodes = Nodes::of(view);
            let covered = nodes.covered(view, &spec.cluster_network, spec.node_selector.as_ref());
            one_for_each(spec, &covered, findings);
            hosts_of_one_subnet(spec, findings);
            overlap::warn_of(write, spec, findings);
        }
    }
}

/// One address for each covered node, and for no other.
fn one_for_each(spec: &HostNetworkConfigSpec, covered: &Names<'_>, findings: &mut Findings) {
    for node in covered.iter().filter(|node| !spec.ips.contains_key(*node)) {
        let why = format!("node {node:?} gets the interface and has no address: add one, or do not select the node");
        findings.required(format!("spec.ips[{node}]"), why);
    }
    for (node, text) in spec.ips.iter().filter(|(node, _)| !covered.contains(node.as_str())) {
        let why = format!(
            "node {node:?} does not get the interface, so it takes no address: take this entry away, or see why: there is \
             no such node, spec.nodeSelector leaves it out, or no uplink connects it"
        );
        findings.invalid(format!("spec.ips[{node}]"), text.0.as_str(), why);
    }
}

/// All addresses are different hosts of one subnet.
fn hosts_of_one_subnet(spec: &HostNetworkConfigSpec, findings: &mut Findings) {
    let mut first: Option<(&str, Ipv4Net)> = None;
    let mut seen = BTreeSet::new();
    for (node, text) in &spec.ips {
        let path = || format!("spec.ips[{node}]");
        let address = match host_address(&text.0) {
            Ok(address) => address,
            Err(why) => {
                findings.invalid(path(), text.0.as_str(), why);
                continue;
            }
        };
        let (example, subnet) = *first.get_or_insert((node, address));
        let (own, common) = (address.trunc(), subnet.trunc());
        if own != common {
            let why =
                format!("is in {own} and the address of node {example:?} is in {common}: all must be in one subnet");
            findings.invalid(path(), text.0.as_str(), why);
        }
        if !seen.insert(address.addr()) {
            findings.duplicate(path(), text.0.as_str(), "another node has this address");
        }
    }
}

/// An IPv4 address that one host can have. A leading zero is refused: some would read the number as
/// octal.
fn host_address(text: &str) -> Result<Ipv4Net, String> {
    let net = text.parse::<Ipv4Net>().ok().filter(|net| net.to_string() == text).ok_or_else(|| {
        let why = if text.parse::<Ipv6Net>().is_ok() {
            "IPv6 is not possible here; give an IPv4 address"
        } else {
            "must be an IPv4 address with the length of its prefix, such as 192.168.1.10/24"
        };
        why.to_owned()
    })?;
    let address: Ipv4Addr = net.addr();
    if net.prefix_len() == 0 {
        return Err("the prefix must have 1 to 32 bits".to_owned());
    }
    if address.octets()[0] == 0 || address.is_loopback() || address.is_multicast() || address.is_broadcast() {
        return Err("no host in a network can have this address".to_owned());
    }
    if net.prefix_len() <= 30 && (address == net.network() || address == net.broadcast()) {
        return Err(format!(
            "is the first or last address of {}, which means the network or everybody in it",
            net.trunc()
        ));
    }
    Ok(net)
}

fn only_underlay(write: &Write<'_, HostNetworkConfig>, findings: &mut Findings) {
    let others = write.others(write.review.view.lookup(HOST_NETWORK_CONFIG, BY_UNDERLAY, "true"));
    if let Some(other) = others.iter().find(|other| !dig::is_terminating(other)) {
        findings.forbidden(
            "spec.underlay",
            format!("{:?} is the underlay already, and there can be one only", dig::name(other)),
        );
    }
}

/// Tunnels need the interface on every node that can have workload.
fn reaches_every_node(view: &dyn View, spec: &HostNetworkConfigSpec, findings: &mut Findings) {
    let nodes = Nodes::of(view);
    let workers = nodes.workers();
    let reached = nodes.reached(view, &spec.cluster_network);
    if let Some(node) = workers.without(&reached).iter().next() {
        findings.invalid(
            "spec.clusterNetwork",
            spec.cluster_network.as_str(),
            format!("does not reach node {node:?}, and the underlay must reach every node"),
        );
    }
    if let Some(node) = workers.without(&nodes.selected(spec.node_selector.as_ref())).iter().next() {
        findings.forbidden(
            "spec.nodeSelector",
            format!("leaves out node {node:?}, and the underlay must reach every node"),
        );
    }
}

/// While machines use overlay networks, their tunnels stay where they are.
fn tunnels_stay(view: &dyn View, old: &HostNetworkConfigSpec, new: &HostNetworkConfigSpec, findings: &mut Findings) {
    let kept = |(node, address)| new.ips.get(node) == Some(address);
    let changes = [
        ("spec.underlay", !new.underlay),
        ("spec.clusterNetwork", old.cluster_network != new.cluster_network),
        ("spec.vlanID", old.vlan_id != new.vlan_id),
        ("spec.mode", old.mode != new.mode),
        ("spec.ips", old.mode == Mode::Static && !old.ips.iter().all(kept)),
        ("spec.nodeSelector", old.node_selector != new.node_selector),
    ];
    if changes.iter().all(|(_, changed)| !changed) {
        return;
    }
    let users = machines::on_overlays(view);
    if users.is_empty() {
        return;
    }
    for (path, _) in changes.iter().filter(|(_, changed)| *changed) {
        findings.forbidden(
            *path,
            format!("machines use overlay networks whose tunnels are on this interface: {}", machines::some(&users)),
        );
    }
}
