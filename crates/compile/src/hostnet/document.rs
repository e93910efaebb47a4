//! What `NodeNetworkConfig.spec.host` says, as entries of a document.
//!
//! Nodes carry it out, and policies are held against it before: both must read it in the same way.

use std::collections::BTreeMap;

use netloom_api::fabric::node_network_config::host::{
    HostAddress, HostDhcp, HostLink, HostLinkKind, HostRoute, HostRule, IpFamily,
};
use serde_json::{Map, Value, json};

/// A link as an entry of a document.
pub fn interface(link: &HostLink) -> Value {
    let HostLink {
        name,
        kind,
        up,
        mtu,
        tx_queue_length,
        alt_names,
        mac_address,
        controller,
        base,
        vlan_id,
        vxlan,
        table,
        bond_mode,
        options,
        vlan_filtering,
        origin: _,
    } = link;
    let base = base.as_ref().map(|base| &base.0);
    let mut entry = Fields::default();
    entry.put("name", Some(&name.0));
    entry.put("type", word(*kind));
    entry.put("state", Some(if *up { "up" } else { "down" }));
    entry.put("mtu", *mtu);
    entry.put("tx-queue-length", *tx_queue_length);
    let further: Vec<Value> = alt_names.iter().map(|name| json!({"name": name})).collect();
    entry.put("alt-names", (!further.is_empty()).then_some(further));
    entry.put("mac-address", mac_address.as_ref().map(|mac| &mac.0));
    entry.put("controller", controller.as_ref().map(|controller| &controller.0));
    match kind {
        HostLinkKind::Vlan => entry.put("vlan", Some(json!({"id": vlan_id, "base-iface": base}))),
        HostLinkKind::Vrf => entry.put("vrf", Some(json!({"route-table-id": table}))),
        HostLinkKind::Vxlan => {
            let mut block = Fields::default();
            block.put("base-iface", base);
            if let Some(vxlan) = vxlan {
                block.put("id", Some(vxlan.vni));
                block.put("local", vxlan.local.as_ref().map(|ip| &ip.0));
                block.put("remote", vxlan.remote.as_ref().map(|ip| &ip.0));
                block.put("destination-port", vxlan.port);
                block.put("learning", vxlan.learning);
            }
            entry.put("vxlan", Some(block.0));
        }
        HostLinkKind::Bond => {
            let mut block = Fields::default();
            block.put("mode", bond_mode.as_ref());
            block.put("options", said(options));
            entry.put("link-aggregation", Some(block.0));
        }
        HostLinkKind::Bridge => {
            let mut all = Fields(said(options).unwrap_or_default());
            all.put("vlan-filtering", *vlan_filtering);
            entry.put("bridge", Some(json!({"options": all.0})));
        }
        HostLinkKind::Dummy | HostLinkKind::Existing => {}
    }
    entry.0.into()
}

fn word(kind: HostLinkKind) -> Option<&'static str> {
    Some(match kind {
        HostLinkKind::Existing => return None,
        HostLinkKind::Bond => "bond",
        HostLinkKind::Bridge => "linux-bridge",
        HostLinkKind::Vlan => "vlan",
        HostLinkKind::Vxlan => "vxlan",
        HostLinkKind::Vrf => "vrf",
        HostLinkKind::Dummy => "dummy",
    })
}

/// Options are written as text; a document tells numbers and switches apart from words.
fn said(options: &BTreeMap<String, String>) -> Option<Map<String, Value>> {
    let value = |text: &String| match text.as_str() {
        "true" => json!(true),
        "false" => json!(false),
        _ => text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number)),
    };
    (!options.is_empty()).then(|| options.iter().map(|(key, text)| (key.clone(), value(text))).collect())
}

/// Adds an address; gives its path in the entry.
pub fn add_address(interface: &mut Value, address: &HostAddress) -> String {
    let (ip, length) = address.address.0.split_once('/').unwrap_or((&address.address.0, ""));
    let family = if ip.contains(':') { "ipv6" } else { "ipv4" };
    let length = length.parse::<u64>().map_or_else(|_| json!(length), |length| json!(length));
    // Others may have addresses on what is there already, such as the one that the node is reached by. What is made
    // here has those that are said here.
    let ours = interface.get("type").is_some();
    let block = &mut interface[family];
    block["enabled"] = json!(true);
    block["allow-extra-address"] = json!(!ours);
    let item = json!({"ip": ip, "prefix-length": length});
    let at = block["address"].as_array().map_or(0, Vec::len);
    match block.get_mut("address").and_then(Value::as_array_mut) {
        Some(list) => list.push(item),
        None => block["address"] = json!([item]),
    }
    format!("{family}.address[{at}]")
}

/// Adds the wish for a lease; gives its path in the entry.
pub fn add_lease(interface: &mut Value, lease: &HostDhcp) -> String {
    let HostDhcp { link: _, family, table, metric, routes, gateway, origin: _ } = lease;
    // As for addresses: what others have on a link that is there already stays.
    let ours = interface.get("type").is_some();
    let mut block = Fields::default();
    block.put("enabled", Some(true));
    block.put("dhcp", Some(true));
    block.put("allow-extra-address", Some(!ours));
    block.put("auto-route-table-id", *table);
    block.put("auto-route-metric", *metric);
    block.put("auto-routes", *routes);
    block.put("auto-gateway", *gateway);
    for (key, value) in block.0 {
        interface[family_word(*family)][key] = value;
    }
    format!("{}.dhcp", family_word(*family))
}

fn family_word(family: IpFamily) -> &'static str {
    match family {
        IpFamily::Ipv4 => "ipv4",
        IpFamily::Ipv6 => "ipv6",
    }
}

/// A route as an entry of a document.
pub fn route(route: &HostRoute) -> Value {
    let HostRoute { destination, gateway, link, table, metric, source, origin: _ } = route;
    let mut entry = Fields::default();
    entry.put("destination", Some(&destination.0));
    entry.put("next-hop-address", gateway.as_ref().map(|ip| &ip.0));
    entry.put("next-hop-interface", link.as_ref().map(|link| &link.0));
    entry.put("route-type", (gateway.is_none() && link.is_none()).then_some("blackhole"));
    entry.put("table-id", *table);
    entry.put("metric", *metric);
    entry.put("source", source.as_ref().map(|ip| &ip.0));
    entry.0.into()
}

/// A rule as an entry of a document.
pub fn rule(rule: &HostRule) -> Value {
    let HostRule { family, priority, from, to, iif, mark, table, origin: _ } = rule;
    let mut entry = Fields::default();
    entry.put("family", Some(family_word(*family)));
    entry.put("priority", Some(*priority));
    entry.put("ip-from", from.as_ref().map(|net| &net.0));
    entry.put("ip-to", to.as_ref().map(|net| &net.0));
    entry.put("iif", iif.as_ref().map(|link| &link.0));
    entry.put("fwmark", *mark);
    entry.put("route-table", Some(*table));
    entry.0.into()
}

/// A block of a document that is being written.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, key: &str, value: Option<impl serde::Serialize>) {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), json!(value));
        }
    }
}
