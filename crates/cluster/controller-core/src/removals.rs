//! How much of a node's network a desired state takes away.
//!
//! Counted are links that the node would lose and addresses that go, as `limits.maxDeletions` has them. A link of
//! hardware that a desired state no longer names stays and gets its old values back, so it does not count.

use std::collections::BTreeSet;

use netloom_api::pipeline::node_network_config::{
    Layer2,
    fabric::FabricView,
    host::{HostConfig, HostEntry, HostLinkKind},
};
use netloom_compile::NodeState;
use serde_json::Value;

/// Links and addresses that go when a node's desired state becomes `after`.
pub(crate) fn count(state: &NodeState, after: Option<&Value>) -> u32 {
    let before = state.desired.as_ref();
    let (wanted, gone) = (links(after, false), links(after, true));
    let dropped = links(before, false).into_iter().filter(|(name, kind)| {
        let hardware = *kind == "ethernet" || *kind == "loopback";
        !hardware && !wanted.iter().any(|(kept, _)| kept == name) && !gone.iter().any(|(gone, _)| gone == name)
    });
    let removed = gone.iter().filter(|(name, _)| state.inventory.links.contains_key(*name));
    let kept = addresses(after);
    let lost = addresses(before).into_iter().filter(|address| !kept.contains(address));
    u32::try_from(dropped.count() + removed.count() + lost.count()).unwrap_or(u32::MAX)
}

/// Links that an agent made and addresses that go when what host networks want becomes `after`.
pub(crate) fn of_host(before: Option<&HostConfig>, after: Option<&HostConfig>) -> u32 {
    let gone = had(before).difference(&had(after)).count();
    u32::try_from(gone).unwrap_or(u32::MAX)
}

/// Segments and VRFs that go when the fabric part of a configuration becomes `after`.
pub(crate) fn of_fabric(before: Option<FabricView<'_>>, after: Option<FabricView<'_>>) -> u32 {
    let had = |view: Option<FabricView<'_>>| -> BTreeSet<String> {
        let segments = view.into_iter().flat_map(|view| view.layer2s.values()).map(Layer2::bridge);
        segments.chain(view.into_iter().flat_map(FabricView::vrfs).map(|(name, ..)| name.to_owned())).collect()
    };
    u32::try_from(had(before).difference(&had(after)).count()).unwrap_or(u32::MAX)
}

/// Links that an agent made, and their addresses; which one a server lends makes no difference.
fn had(host: Option<&HostConfig>) -> BTreeSet<(&str, Option<&str>)> {
    let one = |entry| match entry {
        HostEntry::Link(link) if link.kind != HostLinkKind::Existing => Some((link.name.0.as_str(), None)),
        HostEntry::Address(one) => Some((one.link.0.as_str(), Some(one.address.0.as_str()))),
        HostEntry::Dhcp(dhcp) => Some((dhcp.link.0.as_str(), Some(""))),
        HostEntry::Link(_) | HostEntry::Route(_) | HostEntry::Rule(_) | HostEntry::BridgeVlan(_) => None,
    };
    host.into_iter().flat_map(HostConfig::entries).filter_map(one).collect()
}

fn interfaces(document: Option<&Value>) -> impl Iterator<Item = &Value> {
    document.and_then(|document| document.get("interfaces")?.as_array()).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Names and types of the links that a document wants, or wants gone.
fn links(document: Option<&Value>, absent: bool) -> BTreeSet<(&str, &str)> {
    let wanted = interfaces(document).filter(|link| (text(link, "state") == "absent") == absent);
    wanted.map(|link| (text(link, "name"), text(link, "type"))).collect()
}

/// Addresses with the names of their links.
fn addresses(document: Option<&Value>) -> BTreeSet<(&str, &str, u64)> {
    let mut found = BTreeSet::new();
    for link in interfaces(document).filter(|link| text(link, "state") != "absent") {
        for family in ["ipv4", "ipv6"] {
            let all = link.get(family).and_then(|family| family.get("address")?.as_array());
            found.extend(all.into_iter().flatten().map(|address| {
                let length = address.get("prefix-length").and_then(Value::as_u64).unwrap_or_default();
                (text(link, "name"), text(address, "ip"), length)
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use netloom_compile::Inventory;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_node_loses_is_counted() {
        let address = json!({"enabled": true, "address": [{"ip": "192.0.2.1", "prefix-length": 24}]});
        let before = json!({"interfaces": [
            {"name": "eth1", "type": "ethernet", "mtu": 9000},
            {"name": "eth1.7", "type": "vlan", "ipv4": address},
            {"name": "br0", "type": "linux-bridge"},
        ]});
        let report = json!({"interfaces": [{"name": "dummy0", "type": "dummy", "state": "up"}]});
        let state = NodeState {
            desired: Some(before.clone()),
            inventory: Arc::new(Inventory::read(&report)),
            ..NodeState::default()
        };
        let without = json!({"interfaces": [{"name": "eth1.7", "type": "vlan"}]});
        let absent = |name: &str| json!({"interfaces": [{"name": name, "state": "absent"}]});
        for (after, wanted, why) in [
            (Some(before), 0, "nothing changes"),
            (Some(without), 2, "a bridge and an address"),
            (None, 3, "a bridge, a VLAN and its address; hardware stays"),
            (Some(absent("dummy0")), 4, "the same, and a link that was there before"),
            (Some(absent("nobody")), 3, "what is not there cannot go"),
            (Some(absent("br0")), 2, "one that is not reported yet is not there"),
        ] {
            assert_eq!(count(&state, after.as_ref()), wanted, "{why}");
        }
    }

    #[test]
    fn what_host_networks_take_away_is_counted() {
        let origin = json!({"kind": "HostNetworkConfig", "name": "h"});
        let host: HostConfig = serde_json::from_value(json!({
            "links": [
                {"name": "eth1", "type": "existing", "controller": "c-bo", "origin": origin},
                {"name": "c-bo", "type": "bond", "bondMode": "active-backup", "origin": origin},
            ],
            "addresses": [{"link": "c-br.5", "address": "192.0.2.1/24", "origin": origin}],
            "dhcp": [{"link": "c-br.6", "family": "ipv4", "origin": origin}],
        }))
        .unwrap();
        assert_eq!(of_host(Some(&host), None), 3, "a bond, an address and a lease; the card stays");
        assert_eq!(of_host(None, Some(&host)), 0);
        assert_eq!(of_host(Some(&host), Some(&host)), 0);
    }
}
