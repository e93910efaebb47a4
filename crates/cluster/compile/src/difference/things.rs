//! A document as the things that it asks for, each with its values.

use std::{collections::BTreeMap, fmt};

use serde_json::{Value, json};

use super::reach;
use crate::{
    digest,
    state::{Provenance, Share, leaves},
};

/// Something that a document asks for. The order is that in which users are notified.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Interface(String),
    /// A link that host networks want.
    HostLink(String),
    /// Anything else that they want; it is what it says.
    HostOther(String),
    /// A segment of the fabric, a VRF, or one of their routes and sessions.
    Fabric(String),
    /// A route or rule has no name: it is what it says, so it never changes, it comes and goes.
    Route {
        shown: String,
        digest: String,
    },
    Rule {
        shown: String,
        digest: String,
    },
    Resolver,
    HostName,
    /// A part of the document that is none of these.
    Other(String),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) | Self::HostLink(name) => write!(f, "interface {name}"),
            Self::HostOther(shown) | Self::Fabric(shown) => f.write_str(shown),
            Self::Route { shown, .. } => write!(f, "route {shown}"),
            Self::Rule { shown, .. } => write!(f, "rule {shown}"),
            Self::Resolver => f.write_str("DNS resolver"),
            Self::HostName => f.write_str("host name"),
            Self::Other(key) => f.write_str(key),
        }
    }
}

impl Thing {
    /// The policies that ask for it.
    pub(super) fn policies(&self, provenance: &Provenance) -> Vec<String> {
        let asks = |share: &Share| match self {
            Self::Interface(name) => share.interfaces.contains_key(name),
            Self::Route { digest, .. } => share.routes.contains(digest),
            Self::Rule { digest, .. } => share.rules.contains(digest),
            Self::Resolver => share.dns,
            Self::HostName => !share.hostname.is_empty(),
            Self::Other(_) | Self::HostLink(_) | Self::HostOther(_) | Self::Fabric(_) => false,
        };
        provenance.shares.iter().filter(|(_, share)| asks(share)).map(|(policy, _)| policy.to_string()).collect()
    }
}

/// Everything that a document asks for, with the values of each.
pub(super) fn things(document: &Value) -> BTreeMap<Thing, BTreeMap<String, Value>> {
    let mut all = BTreeMap::new();
    for (key, part) in document.as_object().into_iter().flatten() {
        let list = if part.is_array() { part } else { &part["config"] };
        let entries = || list.as_array().into_iter().flatten();
        match key.as_str() {
            "interfaces" => all.extend(entries().map(|entry| (interface(entry), values(entry)))),
            "routes" => all.extend(entries().map(|entry| (route(entry), BTreeMap::new()))),
            "route-rules" => all.extend(entries().map(|entry| (rule(entry), BTreeMap::new()))),
            "dns-resolver" => drop(all.insert(Thing::Resolver, values(part))),
            "hostname" => drop(all.insert(Thing::HostName, values(part))),
            other => drop(all.insert(Thing::Other(other.to_owned()), values(&json!({ other: part })))),
        }
    }
    all
}

/// The single values of an entry, without its name, which is how it is reported.
fn values(entry: &Value) -> BTreeMap<String, Value> {
    let leaves = entry.as_object().map(leaves::of).unwrap_or_default();
    leaves.into_iter().filter(|(path, _)| path != "name").map(|(path, value)| (leaves::spoken(&path), value)).collect()
}

fn interface(entry: &Value) -> Thing {
    Thing::Interface(entry["name"].as_str().unwrap_or_default().to_owned())
}

fn route(entry: &Value) -> Thing {
    let destination = entry["destination"].as_str().unwrap_or("to anywhere");
    let absent = if entry["state"] == "absent" { " (to be absent)" } else { "" };
    Thing::Route { shown: format!("{destination}{}{absent}", reach::way(entry)), digest: digest::short(entry) }
}

fn rule(entry: &Value) -> Thing {
    let shown: Vec<String> = values(entry)
        .into_iter()
        .map(|(path, value)| format!("{path} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    Thing::Rule { shown: shown.join(" "), digest: digest::short(entry) }
}
