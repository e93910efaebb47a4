//! What is asked of a node's configuration, as the things that users are notified of.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::pipeline::node_network_config::host::{HostConfig, HostEntry};
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
