//! Units: what one asker wants of one link, route or setting, taken whole or left out whole.
//!
//! Beside the values that it writes, a unit *claims* what they imply: that its base is there, that
//! its ports have it as their controller and no addresses of their own, that nobody else has its
//! VLAN. Two units contradict each other when they claim different values for one thing.

use netloom_model::Source;
use serde_json::{Map, Value, json};

use crate::state::{
    Inventory,
    document::{is_virtual, kind_of},
    leaves::{self, Leaf},
};

/// What a unit is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Part {
    /// A link.
    Interface(String),
    /// Routes of one table to one destination.
    Routes,
    /// A policy rule.
    Rule,
    /// The resolver.
    Dns,
    /// One of the host's names.
    Hostname(String),
}

/// A thing of which there is one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) subject: String,
    pub(crate) path: String,
    pub(crate) value: Value,
}

/// What one asker wants of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) part: Part,
    /// What is written: values of the link by path, else the entries themselves.
    pub(crate) leaves: Vec<Leaf>,
    /// What follows from it.
    pub(crate) claims: Vec<Claim>,
    /// Links that must be there.
    pub(crate) needs: Vec<String>,
    /// Where the asker says so.
    pub(crate) place: String,
}

const PRESENCE: &str = "presence";
const ADDRESSES: &str = "addresses";
const AS_PORT: &str = "none, as a port";
/// What takes the frames that a link receives.
const FRAMES: &str = "taker of frames";
const TO_CONTROLLER: &str = "what it is a port of";

impl Unit {
    /// What is desired of a link.
    pub(crate) fn interface(name: &str, entry: &Map<String, Value>, place: &str, inventory: &Inventory) -> Self {
        let mut unit = Self {
            part: Part::Interface(name.to_owned()),
            leaves: leaves::of(entry),
            claims: Vec::new(),
            needs: Vec::new(),
            place: place.to_owned(),
        };
        if is_absent(entry) {
            unit.claim(name, PRESENCE, json!("absent"));
            return unit;
        }
        unit.claim(name, PRESENCE, json!("present"));
        unit.needs = refs(entry).into_iter().chain(mentions(entry)).collect();
        unit.needs.retain(|need| need != name);
        unit.needs.sort();
        unit.needs.dedup();
        for need in unit.needs.clone() {
            unit.claim(&need, PRESENCE, json!("present"));
        }
        unit.claim_ports(name, entry);
        unit.claim_vlan(name, entry, inventory);
        if ["ipv4", "ipv6"].iter().any(|family| entry.get(*family).is_some_and(wants_addresses)) {
            unit.claim(name, ADDRESSES, json!("of its own"));
        }
        unit.claim_frames(entry);
        unit
    }

    /// Routes of one key.
    pub(crate) fn routes(subject: &str, entries: Vec<Value>, place: &str) -> Self {
        let present = entries.iter().any(|entry| !is_absent_item(entry));
        let mut needs: Vec<String> = entries.iter().filter(|entry| !is_absent_item(entry)).flat_map(hops).collect();
        needs.sort();
        needs.dedup();
        let mut unit = Self {
            part: Part::Routes,
            leaves: entries.iter().map(|entry| (String::new(), entry.clone())).collect(),
            claims: Vec::new(),
            needs: needs.clone(),
            place: place.to_owned(),
        };
        if present {
            unit.claim(subject, "", Value::Array(entries));
        }
        for need in needs {
            unit.claim(&need, PRESENCE, json!("present"));
        }
        unit
    }

    /// A policy rule, which contradicts nothing.
    pub(crate) fn rule(entry: Value, place: String) -> Self {
        Self { part: Part::Rule, leaves: vec![(String::new(), entry)], claims: Vec::new(), needs: Vec::new(), place }
    }

    /// The resolver, or one of the host's names.
    pub(crate) fn setting(part: Part, value: Value, place: String) -> Self {
        let subject = match &part {
            Part::Hostname(which) => format!("hostname {which}"),
            Part::Dns | Part::Interface(_) | Part::Routes | Part::Rule => "dns-resolver".to_owned(),
        };
        let claims = vec![Claim { subject, path: String::new(), value: value.clone() }];
        Self { part, leaves: vec![(String::new(), value)], claims, needs: Vec::new(), place }
    }

    /// The link that the unit is about.
    pub(crate) fn link(&self) -> Option<&str> {
        match &self.part {
            Part::Interface(name) => Some(name),
            Part::Routes | Part::Rule | Part::Dns | Part::Hostname(_) => None,
        }
    }

    /// The routes that the unit is about, as table, destination and metric.
    pub(crate) fn subject(&self) -> Option<&str> {
        self.claims.first().filter(|_| self.part == Part::Routes).map(|claim| claim.subject.as_str())
    }

    /// The MTU that the unit gives to its link.
    pub(crate) fn mtu(&self) -> Option<u64> {
        self.leaf("mtu")?.as_u64()
    }

    /// Whether the unit says that its link is a bond, be it only by what bonds alone have.
    pub(crate) fn is_bond(&self) -> bool {
        self.link().is_some()
            && self.leaves.iter().any(|(path, value)| match path.split_once(leaves::SEPARATOR) {
                Some((block, _)) => block == "link-aggregation",
                None => path == "type" && value == "bond",
            })
    }

    /// The link whose frames a VLAN or a MAC VLAN sends: its own cannot be larger.
    pub(crate) fn carrier(&self) -> Option<&str> {
        ["vlan/base-iface", "mac-vlan/base-iface", "mac-vtap/base-iface"]
            .iter()
            .find_map(|path| self.leaf(path)?.as_str())
    }

    /// The link that the unit makes its link a port of, from the port's side.
    pub(crate) fn controller(&self) -> Option<&str> {
        self.leaf("controller")?.as_str().filter(|name| !name.is_empty())
    }

    /// The list of all ports that the unit gives to its link; none when it leaves room for others.
    pub(crate) fn port_list(&self) -> Option<&Value> {
        let open = self.leaf("bridge/allow-extra-ports").or_else(|| self.leaf("link-aggregation/allow-extra-ports"));
        let lists = ["bridge/port", "link-aggregation/port", "vrf/port"];
        lists.iter().find_map(|path| self.leaf(path)).filter(|_| open != Some(&Value::Bool(true)))
    }

    /// Whether the unit wants addresses on its link.
    pub(crate) fn has_addresses(&self) -> bool {
        self.claims.iter().any(|claim| claim.path == ADDRESSES && Some(claim.subject.as_str()) == self.link())
    }

    fn leaf(&self, path: &str) -> Option<&Value> {
        self.link()?;
        self.leaves.iter().find(|(known, _)| known == path).map(|(_, value)| value)
    }

    /// Says that its link needs something to itself, such as a routing table.
    pub(crate) fn claim_alone(&mut self, subject: &str) {
        if let Some(link) = self.link().map(str::to_owned) {
            self.claim(subject, "", json!(link));
        }
    }

    /// Says for whom its link is: a configuration has one entry for each.
    pub(crate) fn claim_for(&mut self, asker: &Source) {
        if let Some(link) = self.link().map(str::to_owned) {
            self.claim(&link, "made for", json!(asker.to_string()));
        }
    }

    fn claim(&mut self, subject: &str, path: &str, value: Value) {
        self.claims.push(Claim { subject: subject.to_owned(), path: path.to_owned(), value });
    }

    /// A port of a bond or bridge has no addresses of its own, and what it receives goes there.
    pub(crate) fn claim_as_port(&mut self) {
        if let Some(link) = self.link().map(str::to_owned) {
            self.claim(&link, ADDRESSES, json!(AS_PORT));
            self.claim(&link, FRAMES, json!(TO_CONTROLLER));
        }
    }

    /// The kernel hands what a link receives to one kind of taker.
    fn claim_frames(&mut self, entry: &Map<String, Value>) {
        for (block, taker) in [("mac-vlan", "MAC VLANs"), ("mac-vtap", "MAC VLANs"), ("ipvlan", "IP VLANs")] {
            if let Some(base) = entry.get(block).and_then(|block| block.get("base-iface")?.as_str()) {
                self.claim(base, FRAMES, json!(taker));
            }
        }
    }

    fn claim_ports(&mut self, name: &str, entry: &Map<String, Value>) {
        let bare = matches!(kind_of(entry), Some("bond" | "linux-bridge"));
        for port in ports(entry) {
            self.claim(&port, "controller", json!(name));
            if bare {
                self.claim(&port, ADDRESSES, json!(AS_PORT));
                self.claim(&port, FRAMES, json!(TO_CONTROLLER));
            }
        }
    }

    /// One base carries each VLAN once.
    fn claim_vlan(&mut self, name: &str, entry: &Map<String, Value>, inventory: &Inventory) {
        let block = entry.get("vlan");
        let known = inventory.get(name).filter(|link| link.kind == "vlan");
        let base = block.and_then(|vlan| vlan.get("base-iface")?.as_str()).or_else(|| known?.base.as_deref());
        let id = block.and_then(|vlan| vlan.get("id")?.as_u64()).or_else(|| known?.vlan.map(u64::from));
        let protocol = block.and_then(|vlan| vlan.get("protocol")?.as_str()).unwrap_or("802.1q");
        if let (Some(base), Some(id)) = (base, id) {
            self.claim(&format!("VLAN {id} ({protocol}) on {base}"), "", json!(name));
        }
    }
}

/// Whether a block of addresses wants any: one that lists some, or asks for a lease, need not say more.
fn wants_addresses(ip: &Value) -> bool {
    let lists = ip["dhcp"] == true || ip["address"].as_array().is_some_and(|list| !list.is_empty());
    ip["enabled"] == true || (lists && ip["enabled"] != false)
}

/// Whether an entry says that its link shall go.
pub(crate) fn is_absent(entry: &Map<String, Value>) -> bool {
    entry.get("state").is_some_and(|state| state == "absent")
}

pub(crate) fn is_absent_item(entry: &Value) -> bool {
    entry.get("state").is_some_and(|state| state == "absent")
}

/// The links that a new link is made of: its base and its ports.
pub(crate) fn refs(entry: &Map<String, Value>) -> Vec<String> {
    let blocks = entry.values().filter_map(Value::as_object);
    let bases = blocks.filter_map(|block| block.get("base-iface")?.as_str()).filter(|base| !base.is_empty());
    bases.map(str::to_owned).chain(ports(entry)).collect()
}

/// Links that an entry mentions beside.
fn mentions(entry: &Map<String, Value>) -> Vec<String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|name| !name.is_empty());
    let mirrors = entry.get("mirrors").and_then(Value::as_array).into_iter().flatten();
    let targets = mirrors.filter_map(|mirror| mirror.get("to")?.as_str());
    [text("controller"), text("copy-mac-from")].into_iter().flatten().chain(targets).map(str::to_owned).collect()
}

fn ports(entry: &Map<String, Value>) -> Vec<String> {
    let lists =
        ["bridge", "link-aggregation", "vrf"].iter().filter_map(|block| entry.get(*block)?.get("port")?.as_array());
    lists.flatten().filter_map(port_name).map(str::to_owned).collect()
}

fn port_name(port: &Value) -> Option<&str> {
    port.as_str().or_else(|| port.get("name")?.as_str())
}

/// Whether a list of ports has this one.
pub(crate) fn lists(list: &Value, port: &str) -> bool {
    list.as_array().into_iter().flatten().filter_map(port_name).any(|name| name == port)
}

/// The links that a route needs.
pub(crate) fn hops(route: &Value) -> Vec<String> {
    let text = |key: &str| route.get(key).and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned);
    [text("next-hop-interface"), text("vrf-name")].into_iter().flatten().collect()
}

/// What makes two routes the same one: table, destination and metric.
pub(crate) fn route_subject(route: &Value) -> String {
    let word = |key: &str| route.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let table = word("vrf-name").or_else(|| word("table-id").filter(|table| table != "0")).unwrap_or("254".to_owned());
    let metric = word("metric").map(|metric| format!(" metric {metric}")).unwrap_or_default();
    format!("route {} table {table}{metric}", word("destination").unwrap_or_default())
}

/// Whether an entry is for a link that is made by asking for it.
pub(crate) fn makes_link(entry: &Map<String, Value>) -> bool {
    kind_of(entry).is_some_and(is_virtual)
}
