//! The rules of `VlanConfig`.

use std::collections::BTreeSet;

use netloom_api::{
    dig,
    hostnet::{
        CLUSTER_NETWORK, DEFAULT_MTU, HOST_NETWORK_CONFIG, MGMT, VLAN_CONFIG, VlanConfig, VlanConfigSpec, names,
    },
};
use netloom_types::IfName;
use serde_json::{Value, json};

use super::{BY_CLUSTER_NETWORK, MTUS, known_cluster_network, mtu_of, uplinks_of};
use crate::{
    Admitted, Findings, Index, Operation, Review, View, Write,
    hostnet::{
        host_network_config::BY_UNDERLAY,
        machines,
        nodes::{self, Names, Nodes, selector_of},
    },
    selector,
};

/// The index of these objects by the interfaces that they bond.
pub(super) const BY_NIC: &str = "nic";

impl Admitted for VlanConfig {
    const INDEXES: &'static [Index] =
        &[Index { name: BY_CLUSTER_NETWORK, keys: cluster_network }, Index { name: BY_NIC, keys: bonded }];

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

fn bonded(object: &Value) -> Vec<String> {
    let nics = dig::at(object, "spec.uplink.nics").and_then(Value::as_array);
    nics.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

const NETWORK: &str = "spec.clusterNetwork";

/// Writes the matching nodes into the annotation, and the cluster network into the label.
pub(crate) fn complete(review: &Review<'_>, object: &mut Value) {
    let Some(network) = dig::text(object, "spec.clusterNetwork").map(str::to_owned) else {
        return;
    };
    if network == MGMT || dig::is_terminating(object) {
        return;
    }
    if !nodes::is_annotated(review, object) {
        let nodes = Nodes::of(review.view);
        nodes::annotate(object, &nodes.with_labels(&selector_of(object)));
    }
    let before = review.old.and_then(|old| dig::at(old, "spec.clusterNetwork")).and_then(Value::as_str);
    let moved = review.operation == Operation::Create || before != Some(network.as_str());
    if moved || dig::label(object, names::CLUSTER_NETWORK).is_none() {
        set_label(object, network);
    }
}

fn set_label(object: &mut Value, network: String) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if labels.is_null() {
        *labels = json!({});
    }
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(names::CLUSTER_NETWORK.to_owned(), network.into());
    }
}

pub(crate) fn create(write: &Write<'_, VlanConfig>, new: &VlanConfig, findings: &mut Findings) {
    if is_mgmt(write.review, &new.spec, findings) {
        return;
    }
    if write.review.name.starts_with(names::MGMT_VLAN_CONFIG_PREFIX) {
        let why = format!("objects that show the uplinks of {MGMT:?} are called so; choose another name");
        findings.invalid("metadata.name", write.review.name, why);
    }
    content(write, &new.spec, findings);
}

pub(crate) fn update(write: &Write<'_, VlanConfig>, new: &VlanConfig, findings: &mut Findings) {
    let Some(old) = write.old.as_ref().map(|old| &old.spec) else { return create(write, new, findings) };
    if is_mgmt(write.review, &new.spec, findings) || is_mgmt(write.review, old, findings) {
        return;
    }
    let own = write.review.object.and_then(|object| dig::label(object, names::CLUSTER_NETWORK));
    if own.is_some_and(|own| own != new.spec.cluster_network) {
        let why = format!(
            "names the cluster network of the object, which is {:?}; it is not yours to change",
            new.spec.cluster_network
        );
        findings.invalid(format!("metadata.labels[{}]", names::CLUSTER_NETWORK), own.unwrap_or_default(), why);
    }
    if write.changes_spec() {
        content(write, &new.spec, findings);
        in_use(write.review.view, old, Some(&new.spec), findings);
    }
}

pub(crate) fn delete(write: &Write<'_, VlanConfig>, findings: &mut Findings) {
    let Some(old) = write.old.as_ref().map(|old| &old.spec) else { return };
    if !is_mgmt(write.review, old, findings) {
        in_use(write.review.view, old, None, findings);
    }
}

/// Whether this is about the installer's uplink; only the controller keeps objects that show it.
fn is_mgmt(review: &Review<'_>, spec: &VlanConfigSpec, findings: &mut Findings) -> bool {
    let mgmt = spec.cluster_network == MGMT;
    if mgmt && !review.user.is_controller() {
        findings.forbidden(
            NETWORK,
            format!("the uplink of {MGMT:?} is made by the installer; its VlanConfigs only show it"),
        );
    }
    mgmt
}

fn content(write: &Write<'_, VlanConfig>, spec: &VlanConfigSpec, findings: &mut Findings) {
    let view = write.review.view;
    known_cluster_network(view, NETWORK, &spec.cluster_network, findings);
    selector::check_labels("spec.nodeSelector", &spec.node_selector, findings);
    mtu(write, spec, findings);
    hardware_address(spec, findings);
    let nodes = Nodes::of(view);
    let own = nodes.with_labels(&spec.node_selector);
    overlap(write, spec, &nodes, &own, findings);
    nics(write, spec, &nodes, &own, findings);
}

fn mtu(write: &Write<'_, VlanConfig>, spec: &VlanConfigSpec, findings: &mut Findings) {
    const PATH: &str = "spec.uplink.linkAttributes.mtu";
    let given = spec.uplink.link_attributes.as_ref().and_then(|link| link.mtu).map_or(0, i64::from);
    if given != 0 && !MTUS.contains(&given) {
        return findings.invalid(PATH, given, "must be 0 or from 576 to 9000");
    }
    let own = if given == 0 { DEFAULT_MTU.into() } else { given };
    let others = write.others(uplinks_of(write.review.view, &spec.cluster_network));
    if let Some(other) = others.iter().find(|other| mtu_of(other) != own) {
        let why = format!(
            "{:?} has {}: all VlanConfigs of cluster network {:?} have the same",
            dig::name(other),
            mtu_of(other),
            spec.cluster_network
        );
        findings.invalid(PATH, own, why);
    }
}

fn hardware_address(spec: &VlanConfigSpec, findings: &mut Findings) {
    let Some(link) = &spec.uplink.link_attributes else { return };
    let Some(text) = link.hardware_addr.as_deref() else { return };
    let path = "spec.uplink.linkAttributes.hardwareAddr";
    match link.hardware_address() {
        None => findings.invalid(path, text, "must be six bytes, as 02:00:5e:00:00:01 or in Base64"),
        Some(address) if address.is_multicast() || address.is_zero() => {
            findings.invalid(path, text, format!("{address} is not the address of one station"));
        }
        Some(_) => {}
    }
}

/// A node has one uplink into a cluster network.
fn overlap(
    write: &Write<'_, VlanConfig>,
    spec: &VlanConfigSpec,
    nodes: &Nodes,
    own: &Names<'_>,
    findings: &mut Findings,
) {
    for other in write.others(uplinks_of(write.review.view, &spec.cluster_network)) {
        let theirs = nodes.with_labels(&selector_of(&other));
        let both: BTreeSet<String> = own.and(&theirs).map(str::to_owned).collect();
        if !both.is_empty() {
            findings.forbidden(
                "spec.nodeSelector",
                format!(
                    "{:?} connects to {:?} already: {}",
                    dig::name(&other),
                    spec.cluster_network,
                    machines::some(&both)
                ),
            );
        }
    }
}

/// An interface can be in one bond only.
fn nics(write: &Write<'_, VlanConfig>, spec: &VlanConfigSpec, nodes: &Nodes, own: &Names<'_>, findings: &mut Findings) {
    if spec.uplink.nics.is_empty() {
        findings.warn(
            "spec.uplink.nics is empty: the bond has no interface, so nothing reaches the cluster network from \
                       outside of the node",
        );
    }
    for (i, nic) in spec.uplink.nics.iter().enumerate() {
        let path = format!("spec.uplink.nics[{i}]");
        if let Err(error) = nic.parse::<IfName>() {
            findings.invalid(path.as_str(), nic.as_str(), error.to_string());
        }
        if let Some(why) = no_port(write.review.view, nic, &spec.cluster_network) {
            findings.invalid(path.as_str(), nic.as_str(), why);
        }
        if spec.uplink.nics[..i].contains(nic) {
            findings.duplicate(path.as_str(), nic.as_str(), "is listed twice");
        }
        for other in write.others(write.review.view.lookup(VLAN_CONFIG, BY_NIC, nic)) {
            let theirs = nodes_of(&other, nodes);
            // Two uplinks into one cluster network are refused as a whole.
            let elsewhere =
                dig::at(&other, "spec.clusterNetwork").is_none_or(|network| *network != spec.cluster_network);
            if let Some(node) = own.and(&theirs).next().filter(|_| elsewhere && !dig::is_terminating(&other)) {
                findings.duplicate(
                    path.as_str(),
                    nic.as_str(),
                    format!("{:?} has it in its bond on node {node:?}", dig::name(&other)),
                );
            }
        }
    }
}

/// Why a link can be in no bond on any node, as far as its name tells.
fn no_port(view: &dyn View, nic: &str, own: &str) -> Option<String> {
    if nic == "lo" {
        return Some("is how a node talks to itself; name interfaces that lead out of it".to_owned());
    }
    let network = nic.strip_suffix("-bo").or_else(|| nic.strip_suffix("-br"))?;
    let known = network == own || view.get(CLUSTER_NETWORK, None, network).is_some();
    known.then(|| format!("is made for cluster network {network:?}; name interfaces that nodes have without it"))
}

/// The nodes of another uplink; an object that shows the installer's is named after its one node.
fn nodes_of<'a>(uplink: &'a Value, nodes: &'a Nodes) -> Names<'a> {
    match dig::name(uplink).strip_prefix(names::MGMT_VLAN_CONFIG_PREFIX) {
        Some(node) => Names::one(node),
        None => nodes.with_labels(&selector_of(uplink)),
    }
}

/// Refuses to take an uplink away from those who use it; `new` is none when all of it goes.
fn in_use(view: &dyn View, old: &VlanConfigSpec, new: Option<&VlanConfigSpec>, findings: &mut Findings) {
    let nodes = Nodes::of(view);
    let before = nodes.with_labels(&old.node_selector);
    let (path, affected) = match new {
        None => (NETWORK, before),
        Some(new) if new.cluster_network != old.cluster_network => (NETWORK, before),
        Some(new) if new.uplink != old.uplink => ("spec.uplink", before),
        Some(new) => ("spec.nodeSelector", before.without(&nodes.with_labels(&new.node_selector))),
    };
    if affected.is_empty() {
        return;
    }
    let running = machines::running_on(view, &old.cluster_network, &affected);
    if !running.is_empty() {
        findings.forbidden(
            path,
            format!(
                "machines that use cluster network {:?} must be stopped first: {}",
                old.cluster_network,
                machines::some(&running)
            ),
        );
    }
    let system = machines::system_attachments(view, &old.cluster_network);
    if !system.is_empty() {
        findings.forbidden(
            path,
            format!(
                "the platform's own networks use cluster network {:?}: {}",
                old.cluster_network,
                machines::some(&system)
            ),
        );
    }
    let underlay = view.lookup(HOST_NETWORK_CONFIG, BY_UNDERLAY, "true");
    let here = underlay
        .iter()
        .find(|one| dig::at(one, "spec.clusterNetwork").is_some_and(|network| *network == old.cluster_network));
    if let Some(underlay) = here {
        let users = machines::on_overlays(view);
        if !users.is_empty() {
            findings.forbidden(
                path,
                format!(
                    "machines use overlay networks whose tunnels are on {:?}: {}",
                    dig::name(underlay),
                    machines::some(&users)
                ),
            );
        }
    }
}
