//! The rules of `ClusterNetwork`.

use std::collections::BTreeSet;

use netloom_api::{
    dig,
    hostnet::{ClusterNetwork, HOST_NETWORK_CONFIG, MGMT, VLAN_CONFIG, names},
};
use serde_json::Value;

use super::{annotation, mtu_of, short_enough, uplink_mtu, uplinks_of};
use crate::{
    Admitted, Findings, Operation, Review, View, Write,
    foreign::{self, ATTACHMENT},
    hostnet::{BY_CLUSTER_NETWORK, machines},
};

impl Admitted for ClusterNetwork {
    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        match write.review.operation {
            Operation::Create => create(write.review, findings),
            Operation::Update => update(write.review, findings),
            Operation::Delete => delete(write.review, findings),
            Operation::Connect => {}
        }
    }
}

const MTU_PATH: &str = "metadata.annotations[network.harvesterhci.io/uplink-mtu]";

pub(crate) fn create(review: &Review<'_>, findings: &mut Findings) {
    short_enough("metadata.name", review.name, findings);
    if review.name == names::MONITOR_OF_CARDS {
        let why = "the LinkMonitor of physical interfaces is called so, and that of the cluster network would be too";
        findings.invalid("metadata.name", review.name, why);
    }
    if names::network_of_node_label(&names::node_label(review.name)).is_none() {
        let why = "nodes with the cluster network would have a label that means something else; choose another name";
        findings.invalid("metadata.name", review.name, why);
    }
    if annotation(review.object, names::UPLINK_MTU).is_some() && !review.user.is_controller() {
        findings.forbidden(MTU_PATH, "is made from the VlanConfigs of the cluster network; leave it out");
    }
}

pub(crate) fn update(review: &Review<'_>, findings: &mut Findings) {
    let (new, old) = (annotation(review.object, names::UPLINK_MTU), annotation(review.old, names::UPLINK_MTU));
    if review.name == MGMT && new.is_none() && old.is_some() {
        return mgmt_mtu(review.view, findings);
    }
    let Some(text) = new.filter(|_| new != old) else { return };
    let Some(mtu) = uplink_mtu(text) else {
        return findings.invalid(MTU_PATH, text, "must be 0 or a whole number from 576 to 9000");
    };
    if review.name == MGMT {
        mgmt_mtu(review.view, findings);
        return;
    }
    for uplink in uplinks_of(review.view, review.name) {
        if mtu_of(&uplink) != mtu {
            findings.invalid(
                MTU_PATH,
                text,
                format!("VlanConfig {:?} has MTU {}; change it there", dig::name(&uplink), mtu_of(&uplink)),
            );
        }
    }
}

/// The packets of those who use the management network must keep their size.
fn mgmt_mtu(view: &dyn View, findings: &mut Findings) {
    let system = machines::system_attachments(view, MGMT);
    if !system.is_empty() {
        findings.forbidden(MTU_PATH, format!("the platform's own networks use {MGMT}: {}", machines::some(&system)));
    }
    let users = machines::of_cluster_network(view, MGMT);
    if !users.is_empty() {
        findings.forbidden(MTU_PATH, format!("machines use {MGMT}: {}", machines::some(&users)));
    }
}

pub(crate) fn delete(review: &Review<'_>, findings: &mut Findings) {
    const NAME: &str = "metadata.name";
    if review.name == MGMT {
        return findings.forbidden(NAME, "the nodes themselves are reached through this cluster network; it stays");
    }
    let left = [
        ("VlanConfigs", review.view.lookup(VLAN_CONFIG, BY_CLUSTER_NETWORK, review.name)),
        ("HostNetworkConfigs", review.view.lookup(HOST_NETWORK_CONFIG, BY_CLUSTER_NETWORK, review.name)),
        ("attachments", review.view.lookup(ATTACHMENT, foreign::BY_CLUSTER_NETWORK, review.name)),
    ];
    let full = |object: &Value| foreign::full_name(object).unwrap_or_else(|| dig::name(object).to_owned());
    for (what, objects) in left {
        // What is deleted and waits for nodes to release it does not need the network for that.
        let staying = objects.iter().filter(|object| !dig::is_terminating(object));
        let names: BTreeSet<String> = staying.map(|object| full(object)).collect();
        if !names.is_empty() {
            findings.forbidden(NAME, format!("{what} of the cluster network are left: {}", machines::some(&names)));
        }
    }
}
