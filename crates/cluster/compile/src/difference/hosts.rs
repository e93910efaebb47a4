//! What is asked of a node's configuration, as the things that users are notified of.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::pipeline::node_network_config::{
    fabric::{FabricConfig, FabricEntry},
    host::{EntryOrigin, HostConfig, HostEntry},
};
use serde_json::{Value, json};

use super::things::Thing;
use crate::state::leaves;

/// What is wanted of one thing, and who asks for it.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) values: BTreeMap<String, Value>,
    askers: BTreeSet<String>,
}

impl Asked {
    /// Who asks, in order.
    pub(super) fn askers(&self) -> Vec<String> {
        self.askers.iter().cloned().collect()
    }
}

/// Everything that is asked for.
pub(super) fn things(config: Option<&HostConfig>) -> BTreeMap<Thing, Asked> {
    let mut all: BTreeMap<Thing, Asked> = BTreeMap::new();
    for entry in config.into_iter().flat_map(HostConfig::entries) {
        let thing = match (entry, entry.link()) {
            (HostEntry::Route(route), _) => Thing::HostOther(format!("route {}", shown(&json!(route)))),
            (HostEntry::Rule(rule), _) => Thing::HostOther(format!("rule {}", shown(&json!(rule)))),
            (_, link) => Thing::HostLink(link.map(|link| link.0.clone()).unwrap_or_default()),
        };
        let asked = all.entry(thing).or_default();
        asked.askers.insert(entry.origin().source().to_string());
        match entry {
            HostEntry::Link(link) => asked.values.extend(values(&json!(link))),
            HostEntry::Address(address) => add(&mut asked.values, "addresses", json!(address.address)),
            HostEntry::Dhcp(lease) => {
                let values = values(&json!(lease)).into_iter();
                asked.values.extend(values.map(|(path, value)| (format!("dhcp.{path}"), value)));
            }
            HostEntry::BridgeVlan(vlan) => {
                let end = if vlan.max == vlan.min { String::new() } else { format!("-{}", vlan.max) };
                add(&mut asked.values, "vlans", json!(format!("{}{end}", vlan.min)));
            }
            HostEntry::Route(_) | HostEntry::Rule(_) => {}
        }
    }
    all
}

/// The same of segments and VRFs.
pub(super) fn fabric_things(config: Option<&FabricConfig>) -> BTreeMap<Thing, Asked> {
    let mut all: BTreeMap<Thing, Asked> = BTreeMap::new();
    for entry in config.into_iter().flat_map(|config| config.view().entries()) {
        let (thing, said) = fabric_thing(entry);
        let asked = all.entry(Thing::Fabric(thing)).or_default();
        asked.askers.extend(entry.origin().map(EntryOrigin::source).map(|source| source.to_string()));
        asked.values.extend(said);
    }
    all
}

/// What an entry is about, and what it says of that.
fn fabric_thing(entry: FabricEntry<'_>) -> (String, BTreeMap<String, Value>) {
    match entry {
        FabricEntry::Layer2(layer2) => {
            let mut said = values(&json!(layer2));
            said.retain(|path, _| path != "nodeInterface" && !path.starts_with("nodeInterface."));
            (format!("segment {}", layer2.bridge()), said)
        }
        FabricEntry::NodeInterface(vlan, own) => {
            (format!("interface vlan.{vlan}"), BTreeMap::from([("addresses".to_owned(), json!(own.ip_addresses))]))
        }
        FabricEntry::NodeRoute(vlan, route) => {
            (format!("route {} via {} over vlan.{vlan}", &*route.destination, &*route.gateway), BTreeMap::new())
        }
        FabricEntry::Vrf(name, vni, _) => {
            let said = vni.map(|vni| ("vni".to_owned(), json!(vni)));
            (format!("VRF {name}"), said.into_iter().collect())
        }
        FabricEntry::Import(vrf, import) => {
            (format!("routes of VRF {} in VRF {vrf}", import.from_vrf), BTreeMap::new())
        }
        FabricEntry::Item(vrf, of, item) => {
            let prefix = item.matcher.prefix.as_ref().map_or("all prefixes", |prefix| &prefix.prefix.0);
            let shown = if of == "evpn" { "announced by".to_owned() } else { format!("from VRF {of} in") };
            (format!("{prefix} {shown} VRF {vrf}"), values(&json!(item)))
        }
        FabricEntry::StaticRoute(vrf, route) => {
            (format!("route {} in VRF {vrf}", &*route.prefix), values(&json!(route)))
        }
        FabricEntry::PolicyRoute(vrf, route) => {
            (format!("traffic {} in VRF {vrf}", shown(&json!(route.traffic_match))), values(&json!(route.next_hop)))
        }
        FabricEntry::Peer(vrf, peer) => {
            let with = peer.address.as_ref().map(|one| &one.0).or(peer.listen_range.as_ref().map(|range| &range.0));
            let mut said = values(&json!(peer));
            // Nobody is shown a password.
            said.entry("password".to_owned()).and_modify(|password| *password = json!("…"));
            (format!("BGP session with {} in VRF {vrf}", with.map_or("nobody", String::as_str)), said)
        }
    }
}

/// The addresses as a document has them, for who reads documents.
pub(super) fn document(config: Option<&HostConfig>) -> Value {
    let addresses = config.into_iter().flat_map(|config| &config.addresses).filter_map(|address| {
        let (ip, length) = address.address.0.split_once('/')?;
        let family = if ip.contains(':') { "ipv6" } else { "ipv4" };
        let length: u8 = length.parse().ok()?;
        Some(json!({"name": address.link, family: {"enabled": true, "address": [{"ip": ip, "prefix-length": length}]}}))
    });
    json!({"interfaces": addresses.collect::<Vec<_>>()})
}

fn add(values: &mut BTreeMap<String, Value>, path: &str, value: Value) {
    match values.entry(path.to_owned()).or_insert_with(|| json!([])) {
        Value::Array(list) => list.push(value),
        other => *other = value,
    }
}

/// The single values of an entry, without how it is called and who asks.
fn values(entry: &Value) -> BTreeMap<String, Value> {
    let leaves = entry.as_object().map(leaves::of).unwrap_or_default();
    let spoken = leaves.into_iter().map(|(path, value)| (leaves::spoken(&path), value));
    let is_name = |path: &str| path == "name" || path == "link" || path == "origin" || path.starts_with("origin.");
    spoken.filter(|(path, _)| !is_name(path)).collect()
}

fn shown(entry: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let words = values(entry).into_iter().map(|(path, value)| format!("{path} {}", text(&value)));
    words.collect::<Vec<_>>().join(" ")
}
