//! What is reported of an instance: from its live domain to the fields of its status that are ours.
//!
//! A status has other writers too: a guest's agent adds interfaces, another plugin says what is ready. Their entries stay,
//! and of an entry that several write only our part changes.

use std::collections::BTreeMap;

use netloom_domain::{Attachment, Domain, Instance};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    json::{list, named, text},
    spec::Network,
};

/// Where an instance is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It has a node, and its domain does not run yet.
    Scheduled,
    /// Its domain runs.
    Running,
    /// Its domain ended as it should.
    Succeeded,
    /// Its domain broke, or cannot be.
    Failed,
}

impl Phase {
    /// The word in a status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "Scheduled",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

/// Whether an instance has ended.
pub fn has_ended(instance: &Value) -> bool {
    ["Succeeded", "Failed"].contains(&text(instance, "/status/phase"))
}

/// Whether the links of an instance are as they should be.
pub const LINKS: &str = "LinkStateSynced";
/// Whether its domain could be made and looked at.
pub const SYNCHRONIZED: &str = "Synchronized";

/// What is to be reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<'a> {
    /// Where it is in its life.
    pub phase: Phase,
    /// What was asked for.
    pub wanted: Option<&'a Instance>,
    /// The domain as it runs; none where there is none.
    pub live: Option<&'a Domain>,
    /// What libvirt said of NICs that could not be brought to what was asked for.
    pub nics: &'a BTreeMap<String, String>,
    /// What is wrong with the domain as a whole.
    pub trouble: Option<&'a str>,
}

/// The status with what is reported; `now` is the time of conditions that change.
pub fn reported(instance: &Value, report: &Report<'_>, now: &str) -> Value {
    let mut status = instance.get("status").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
    status["phase"] = report.phase.as_str().into();
    let interfaces = interfaces(instance, report);
    if interfaces.is_empty() {
        drop(status.as_object_mut().map(|fields| fields.remove("interfaces")));
    } else {
        status["interfaces"] = interfaces.into();
    }
    let mut conditions = list(instance, "/status/conditions").to_vec();
    let failed: Vec<String> = report.nics.iter().map(|(nic, why)| format!("{nic}: {why}")).collect();
    if report.live.is_some() {
        let (truth, reason) = if failed.is_empty() { ("True", "InSync") } else { ("False", "NotInSync") };
        put(&mut conditions, LINKS, truth, reason, &failed.join("; "), now);
    }
    match report.trouble {
        Some(why) => put(&mut conditions, SYNCHRONIZED, "False", "SyncFailed", why, now),
        None => conditions.retain(|condition| text(condition, "/type") != SYNCHRONIZED),
    }
    if !conditions.is_empty() {
        status["conditions"] = conditions.into();
    }
    status
}

/// How many characters a message may have: what libvirt says or a document has in it does not fill the object.
const MOST_WORDS: usize = 8192;

/// A condition in the place of that of its type; its time stays while its truth does.
pub(crate) fn put(conditions: &mut Vec<Value>, kind: &str, truth: &str, reason: &str, message: &str, now: &str) {
    let known = conditions.iter().position(|condition| text(condition, "/type") == kind);
    let since = known.map(|at| &conditions[at]).filter(|known| text(known, "/status") == truth);
    let since = since.map_or(now, |known| text(known, "/lastTransitionTime")).to_owned();
    let end = message.char_indices().nth(MOST_WORDS).map_or(message.len(), |(end, _)| end);
    let condition = json!({
        "type": kind, "status": truth, "reason": reason, "message": &message[..end], "lastTransitionTime": since,
    });
    match known {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

const DOMAIN: &str = "domain";

fn interfaces(instance: &Value, report: &Report<'_>) -> Vec<Value> {
    let before = list(instance, "/status/interfaces");
    if report.live.is_none() && report.phase == Phase::Running {
        // It runs and could not be looked at: what is not reported any more would count as unplugged.
        return before.to_vec();
    }
    let mut found: Vec<Value> = Vec::new();
    let nics = report.wanted.map(|wanted| wanted.nics.as_slice()).unwrap_or_default();
    for nic in nics {
        let known = named(before, &nic.name).cloned();
        let live = report.live.and_then(|live| live.interface(&nic.name));
        let Some(live) = live.filter(|_| nic.attachment != Attachment::Elsewhere) else {
            found.extend(known.and_then(without_domain));
            continue;
        };
        let mut entry = known.unwrap_or_else(|| json!({}));
        entry["name"] = nic.name.as_str().into();
        entry["mac"] = live.mac.clone().unwrap_or_else(|| nic.mac.to_string()).into();
        if let Some(tap) = &live.tap {
            entry["podInterfaceName"] = tap.as_str().into();
        }
        entry["infoSource"] = with_domain(text(&entry, "/infoSource")).into();
        entry["queueCount"] = live.queues.into();
        entry["linkState"] = live.link.as_str().into();
        found.push(entry);
    }
    let known = |entry: &&Value| nics.iter().any(|nic| nic.name == text(entry, "/name"));
    found.extend(before.iter().filter(|entry| !known(entry)).cloned().filter_map(without_domain));
    let first = primary(instance);
    found.sort_by_key(|entry| first.as_deref() != Some(text(entry, "/name")));
    found
}

/// The network by which an instance is reached first.
fn primary(instance: &Value) -> Option<String> {
    let networks = list(instance, "/spec/networks").iter().filter_map(|network| Network::deserialize(network).ok());
    networks.into_iter().find(Network::is_default).map(|network| network.name)
}

fn sources(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|source| !source.is_empty()).collect()
}

fn with_domain(before: &str) -> String {
    let others = sources(before).into_iter().filter(|source| *source != DOMAIN);
    [DOMAIN].into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

/// What others say of an interface that is not in the domain; none where nobody else does.
fn without_domain(mut entry: Value) -> Option<Value> {
    let said = text(&entry, "/infoSource").to_owned();
    let others: Vec<&str> = sources(&said).into_iter().filter(|source| *source != DOMAIN).collect();
    if others.is_empty() && said.contains(DOMAIN) {
        return None;
    }
    if let Some(fields) = entry.as_object_mut() {
        if said.contains(DOMAIN) {
            fields.insert("infoSource".to_owned(), others.join(", ").into());
            fields.remove("queueCount");
        }
        fields.remove("linkState");
    }
    Some(entry)
}

/// The merge patch that makes the status of an instance another one, where it differs; tied to the version that was read.
pub fn patch(instance: &Value, status: &Value) -> Option<Value> {
    let before = instance.get("status").cloned().unwrap_or_else(|| json!({}));
    let mut difference = serde_json::Map::new();
    let (Some(old), Some(new)) = (before.as_object(), status.as_object()) else { return None };
    for (key, value) in new {
        if old.get(key) != Some(value) {
            difference.insert(key.clone(), value.clone());
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        difference.insert(key.clone(), Value::Null);
    }
    let version = text(instance, "/metadata/resourceVersion");
    (!difference.is_empty()).then(|| json!({"metadata": {"resourceVersion": version}, "status": difference}))
}
