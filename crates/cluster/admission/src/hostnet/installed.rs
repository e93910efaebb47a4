//! What the installer made for the nodes themselves, as their agents report it.

use netloom_api::{
    GroupKind, dig,
    hostnet::{MGMT, names},
};
use serde_json::Value;

/// What nodes report of their links.
pub(super) const NODE_STATUS: GroupKind<'static> = GroupKind::new("network.t-caas.telekom.com", "NodeNetworkStatus");
/// The index of what nodes report by the VLANs of `mgmt` that somebody else has an interface in.
pub(crate) const BY_INSTALLER_VLAN: &str = "installerVlan";

/// The VLANs of `mgmt` in which a node has an interface that no agent made.
pub(crate) fn installer_vlans(status: &Value) -> Vec<String> {
    interfaces(status).map(|(vlan, _)| vlan.to_string()).collect()
}

/// The interface that a node has in a VLAN of `mgmt` and that no agent made.
pub(super) fn installer_interface(status: &Value, vlan: u16) -> Option<&str> {
    interfaces(status).find(|(own, _)| *own == u64::from(vlan)).map(|(_, name)| name)
}

/// An agent says which links it made, so one that is ours is known also while it goes or comes back, and in the last
/// report of a node that is down.
fn interfaces(status: &Value) -> impl Iterator<Item = (u64, &str)> {
    let all = dig::at(status, "status.interfaces").and_then(Value::as_array).into_iter().flatten();
    let bridge = names::bridge(MGMT);
    all.filter(|link| link.get("madeBy").is_none()).filter_map(move |link| {
        let name = link.get("name")?.as_str()?;
        let stands = link.get("parent").is_some_and(|parent| *parent == bridge);
        let vlan = link.get("vlanID").and_then(Value::as_u64).filter(|_| stands);
        let named = || name.strip_prefix(&bridge)?.strip_prefix('.')?.parse().ok();
        Some((vlan.or_else(named)?, name))
    })
}
