//! What admission asks of host networks: one file for each kind, and what they share.

pub(crate) mod attachment;
mod cluster_network;
mod host_network_config;
mod installed;
mod link_monitor;
mod machines;
mod nodes;
mod overlap;
mod vlan_config;
mod vlan_status;

use netloom_api::{
    dig,
    hostnet::{CLUSTER_NETWORK, DEFAULT_MTU, MAX_NAME, MGMT, VLAN_CONFIG},
};
use serde_json::Value;

use crate::{Findings, View};

pub(crate) use installed::{BY_INSTALLER_VLAN, installer_vlans};

/// The index of every kind here by the cluster network that its objects are of.
pub(crate) const BY_CLUSTER_NETWORK: &str = "clusterNetwork";

/// The MTUs that an uplink can have: IPv4 needs 576, and switches carry up to 9000.
const MTUS: std::ops::RangeInclusive<i64> = 576..=9000;

/// Checks the name of a cluster network that `path` refers to: short enough, and there.
fn known_cluster_network(view: &dyn View, path: &str, name: &str, findings: &mut Findings) {
    if short_enough(path, name, findings) {
        match view.get(CLUSTER_NETWORK, None, name) {
            None if name == MGMT => {
                let why = "no node has the bridge that an installer makes for it; create another cluster network";
                findings.not_found(path, name, why);
            }
            None => findings.not_found(path, name, "there is no such cluster network; create it first"),
            Some(found) if dig::is_terminating(&found) => {
                findings.not_found(path, name, "the cluster network is being deleted");
            }
            Some(_) => {}
        }
    }
}

/// Checks that devices can be named after a cluster network.
fn short_enough(path: &str, name: &str, findings: &mut Findings) -> bool {
    let fits = name.len() <= MAX_NAME;
    if !fits {
        let why = format!("has {} bytes; devices are named after it, so it may have at most {MAX_NAME}", name.len());
        findings.invalid(path, name, why);
    }
    fits
}

fn annotation<'a>(object: Option<&'a Value>, key: &str) -> Option<&'a str> {
    dig::at(object?, "metadata.annotations")?.get(key)?.as_str()
}

/// The MTU of a stored `VlanConfig`, with nothing and 0 as what the kernel makes of them.
fn mtu_of(uplink: &Value) -> i64 {
    let mtu = dig::at(uplink, "spec.uplink.linkAttributes.mtu").and_then(Value::as_i64);
    mtu.filter(|&mtu| mtu != 0).unwrap_or(DEFAULT_MTU.into())
}

/// The MTU that an annotation says, with 0 as what the kernel makes of it; none when it says no possible one.
fn uplink_mtu(text: &str) -> Option<i64> {
    let mtu = text.parse::<i64>().ok().filter(|mtu| *mtu == 0 || MTUS.contains(mtu))?;
    Some(if mtu == 0 { DEFAULT_MTU.into() } else { mtu })
}

/// The `VlanConfig`s of a cluster network that are not being deleted.
fn uplinks_of(view: &dyn View, cluster_network: &str) -> Vec<std::sync::Arc<Value>> {
    let mut uplinks = view.lookup(VLAN_CONFIG, BY_CLUSTER_NETWORK, cluster_network);
    uplinks.retain(|uplink| !dig::is_terminating(uplink));
    uplinks
}

/// What the condition `ready` of a stored object says; none when it has none.
fn ready(object: &Value) -> Option<&str> {
    let conditions = dig::at(object, "status.conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| condition.get("type").is_some_and(|kind| kind == "ready"))?
        .get("status")?
        .as_str()
}
