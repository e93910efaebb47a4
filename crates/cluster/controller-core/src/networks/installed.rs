//! The network of the nodes themselves, `mgmt`, which the installer made: an object for it, and a `VlanConfig` for each
//! node that shows its uplink there.
//!
//! These objects follow what nodes report; nothing on a node follows them.

use std::collections::BTreeMap;

use netloom_api::hostnet::{BondOptions, GROUP, LinkAttributes, MGMT, Uplink, VlanConfigSpec, names};
use netloom_compile::{Inventory, ObjectKey, hostnet::VlanConfig};
use netloom_object::{Action, ObjectRef};
use serde_json::{Value, json};

use super::kinds::{CLUSTER_NETWORK, UPLINK};
use crate::{index::Index, work::Work};

/// The label by which a node is selected alone.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Leaves the choice to the kernel, or to who made the link.
const UNSPECIFIED: i32 = -1;
/// What a `VlanConfig` can say.
const LARGEST_MTU: u64 = 9000;

/// Asks for the objects that are missing or not true.
pub(super) fn write_statuses(index: &Index, work: &mut Work) {
    let snapshot = index.snapshot();
    let nodes = snapshot.nodes.iter().filter(|(_, node)| !node.meta.deleted);
    let mut reports: BTreeMap<&str, Option<&Inventory>> = nodes.map(|(_, node)| (node.name(), None)).collect();
    for (_, state) in snapshot.states.iter().filter(|(_, state)| !state.inventory.links.is_empty()) {
        reports.entry(&state.node_name).and_modify(|report| *report = Some(&state.inventory));
    }
    let wanted: BTreeMap<String, Option<VlanConfigSpec>> =
        reports.iter().map(|(node, report)| (mirror(node), report.and_then(|report| shown(node, report)))).collect();
    let network = ObjectKey::global(MGMT);
    if wanted.values().any(Option::is_some) && index.mark(CLUSTER_NETWORK, &network).is_none() {
        let object =
            json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "ClusterNetwork", "metadata": {"name": MGMT}});
        work.single(ObjectRef { kind: CLUSTER_NETWORK, key: network }, Action::Create { object });
        // Its uplinks are shown once it is there.
        return;
    }
    for (name, spec) in wanted.iter().filter_map(|(name, spec)| Some((name, spec.as_ref()?))) {
        show(index, name, spec, work);
    }
    for (key, known) in snapshot.iter::<VlanConfig>().filter(|(_, known)| known.spec.cluster_network == MGMT) {
        let is_mirror = key.name.starts_with(names::MGMT_VLAN_CONFIG_PREFIX);
        // Of a node that reports nothing nobody knows better.
        if is_mirror && !known.meta.deleted && !wanted.contains_key(&key.name) {
            work.delete(index, UPLINK, key);
        }
    }
}

fn mirror(node: &str) -> String {
    format!("{}{node}", names::MGMT_VLAN_CONFIG_PREFIX)
}

fn show(index: &Index, name: &str, spec: &VlanConfigSpec, work: &mut Work) {
    let key = ObjectKey::global(name);
    let target = ObjectRef { kind: UPLINK, key: key.clone() };
    match (index.mark(UPLINK, &key), index.snapshot().get::<VlanConfig>(&key)) {
        (None, _) => {
            let object = json!({
                "apiVersion": format!("{GROUP}/v1beta1"),
                "kind": "VlanConfig",
                "metadata": {"name": name, "labels": {names::CLUSTER_NETWORK: MGMT}},
                "spec": spec,
            });
            work.single(target, Action::Create { object });
        }
        // One of this name that people made for another network is theirs.
        (Some(_), Some(known)) if known.spec.cluster_network != MGMT => {}
        (Some(_), Some(known)) if known.spec == *spec || known.meta.deleted => {}
        (Some(mark), _) => {
            let patch = json!({"metadata": {"resourceVersion": mark.resource_version}, "spec": whole(spec)});
            work.single(target, Action::Patch { patch });
        }
    }
}

/// A specification as a patch has it: what a patch leaves out stays, so what is not there is named as nothing.
fn whole(spec: &VlanConfigSpec) -> Value {
    let VlanConfigSpec { description, cluster_network, node_selector, uplink } = spec;
    let Uplink { nics, link_attributes, bond_options } = uplink;
    let link = link_attributes.as_ref().map(|LinkAttributes { mtu, tx_q_len, hardware_addr }| {
        json!({"mtu": mtu, "txQLen": tx_q_len, "hardwareAddr": hardware_addr})
    });
    let bond = bond_options.as_ref().map(|BondOptions { mode, miimon }| json!({"mode": mode, "miimon": miimon}));
    json!({
        "description": description,
        "clusterNetwork": cluster_network,
        "nodeSelector": node_selector,
        "uplink": {"nics": nics, "linkAttributes": link, "bondOptions": bond},
    })
}

/// What the uplink of a node looks like; none where the installer made no bridge.
fn shown(node: &str, report: &Inventory) -> Option<VlanConfigSpec> {
    report.get(&names::bridge(MGMT)).filter(|bridge| !bridge.made)?;
    let name = names::bond(MGMT);
    let bond = report.get(&name);
    let ports = report.links.iter().filter(|(_, link)| link.controller.as_ref() == Some(&name));
    let mode = bond.and_then(|bond| bond.bond_mode.as_ref()).and_then(|mode| serde_json::from_value(json!(mode)).ok());
    let mtu = bond.and_then(|bond| bond.mtu).filter(|mtu| *mtu <= LARGEST_MTU);
    Some(VlanConfigSpec {
        description: "shows what the installer made; changes nothing".to_owned(),
        cluster_network: MGMT.to_owned(),
        node_selector: BTreeMap::from([(HOSTNAME.to_owned(), node.to_owned())]),
        uplink: Uplink {
            nics: ports.map(|(name, _)| name.clone()).collect(),
            link_attributes: bond.map(|_| LinkAttributes {
                mtu: mtu.and_then(|mtu| i32::try_from(mtu).ok()),
                tx_q_len: Some(UNSPECIFIED),
                hardware_addr: None,
            }),
            // Without a mode the server would fill one in.
            bond_options: mode.map(|mode| BondOptions { mode: Some(mode), miimon: Some(UNSPECIFIED) }),
        },
    })
}
