//! What somebody wrote into a node's desired state manually: everything that the record of
//! provenance does not name.
//!
//! It is kept as it was written, has precedence over every policy and is never taken away.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    document::{canonical, list},
    inventory::{Inventory, Link},
    leaves,
    provenance::Provenance,
};
use crate::{
    digest,
    finding::{Finding, reason},
    key::ObjectKey,
    resolution::{Part, Unit, is_absent_item, makes_link, route_subject},
};

/// The place of a node's desired state in its object.
const PLACE: &str = "spec.desiredState";

/// The part of a desired state that no policy has asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manual {
    /// The desired state without what came from policies, as it was written.
    pub(crate) rest: Map<String, Value>,
    /// The same in units.
    pub(crate) units: Vec<Unit>,
    /// Entries by link, in today's spelling; more than one where a link is replaced by another.
    pub(crate) entries: BTreeMap<String, Vec<Map<String, Value>>>,
    /// VLANs that policies had on links whose neighbours are silent now.
    before: BTreeMap<ObjectKey, BTreeSet<String>>,
    /// Whether policies have asked for something while the node says nothing of its links, such as in an object that
    /// was put back without its status.
    unreported: bool,
    /// Why no node can read it.
    refused: Vec<Finding>,
    /// What is odd about it and stops nothing.
    notes: Vec<Finding>,
}

impl Manual {
    /// Takes from a desired state what policies have asked for.
    pub fn split(desired: Option<&Value>, provenance: Option<&str>, inventory: &Inventory) -> Self {
        let mut manual = Self::default();
        let record = provenance.map_or_else(|| Ok(Provenance::default()), Provenance::decode);
        let record = record.unwrap_or_else(|why| {
            let message = format!(
                "the record of what came from policies cannot be read, so all of the desired state counts as written manually: {why}"
            );
            manual.notes.push(Finding::new(reason::UNREADABLE_PROVENANCE, "metadata.annotations", message));
            Provenance::default()
        });
        manual.before = silent_vlans(&record, inventory);
        manual.unreported = inventory.links.is_empty() && !record.is_empty();
        let Some(desired) = desired else { return manual };
        let rest = without(desired, &record);
        match canonical(PLACE, &rest) {
            Ok(read) => manual.take(&read, inventory),
            Err(findings) => manual.refuse(desired, findings),
        }
        match rest {
            Value::Object(rest) => manual.rest = rest,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
        }
        manual
    }

    /// The desired state without what came from policies; none when nothing is left.
    pub fn written(&self) -> Option<Value> {
        (!self.rest.is_empty()).then(|| Value::Object(self.rest.clone()))
    }

    /// The places in the object are those that its author sees.
    fn refuse(&mut self, desired: &Value, findings: Vec<Finding>) {
        let found = canonical(PLACE, desired).err().unwrap_or(findings);
        let invalid = |finding: Finding| Finding { reason: reason::INVALID_DESIRED_STATE, ..finding };
        self.refused = found.into_iter().map(invalid).collect();
    }

    fn take(&mut self, read: &Value, inventory: &Inventory) {
        for (index, entry) in list(read, "/interfaces").into_iter().enumerate() {
            let Some(mut entry) = entry.as_object().cloned() else { continue };
            let Some(Value::String(name)) = entry.remove("name") else { continue };
            let place = format!("{PLACE}.interfaces[{index}]");
            self.units.push(Unit::interface(&name, &entry, &place, inventory));
            self.entries.entry(name).or_default().push(entry);
        }
        let mut routes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let place = format!("{PLACE}.routes");
        for route in list(read, "/routes/config") {
            if is_absent_item(route) {
                self.units.push(Unit::routes("", vec![route.clone()], &place));
            } else {
                routes.entry(route_subject(route)).or_default().push(route.clone());
            }
        }
        for rule in list(read, "/route-rules/config") {
            self.units.push(Unit::rule(rule.clone(), format!("{PLACE}.route-rules")));
        }
        for (subject, mut entries) in routes {
            entries.sort_by_key(Value::to_string);
            self.units.push(Unit::routes(&subject, entries, &place));
        }
        if let Some(dns) = read.pointer("/dns-resolver/config") {
            self.units.push(Unit::setting(Part::Dns, dns.clone(), format!("{PLACE}.dns-resolver")));
        }
        for (key, name) in read.get("hostname").and_then(Value::as_object).into_iter().flatten() {
            self.units.push(Unit::setting(Part::Hostname(key.clone()), name.clone(), format!("{PLACE}.hostname")));
        }
    }

    /// Why no node can read it; empty when a node can.
    pub fn refused(&self) -> &[Finding] {
        &self.refused
    }

    /// What is odd about it and stops nothing.
    pub fn notes(&self) -> &[Finding] {
        &self.notes
    }

    /// Whether nothing was written manually.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.refused.is_empty()
    }

    /// The links that there are without policies, of those that a node reports: those that its agent made for the
    /// desired state are there for policies, unless somebody asks for them here. What is `leaving` was made for host
    /// networks that do not want it any more: a policy that matched it would keep it.
    pub(crate) fn found(&self, inventory: &Arc<Inventory>, leaving: &BTreeSet<&str>) -> Arc<Inventory> {
        let asked = |name: &str| self.entries.get(name).is_some_and(|entries| entries.iter().any(makes_link));
        let goes = |name: &str, link: &Link| (link.desired || leaving.contains(name)) && !asked(name);
        if !inventory.links.iter().any(|(name, link)| goes(name, link)) {
            return inventory.clone();
        }
        let found = inventory.links.iter().filter(|(name, link)| !goes(name, link));
        Arc::new(Inventory { links: found.map(|(name, link)| (name.clone(), link.clone())).collect() })
    }

    /// VLANs that a policy had on links whose neighbours are silent now.
    pub(crate) fn before(&self, policy: &ObjectKey) -> Option<&BTreeSet<String>> {
        self.before.get(policy)
    }

    /// Whether what policies want of the node cannot be known, although they wanted something before.
    pub(crate) fn is_unreported(&self) -> bool {
        self.unreported
    }

    /// All that distinguishes it from others, as a text.
    pub(crate) fn identity(&self) -> String {
        let unreported = if self.unreported { "unreported" } else { "" };
        if self.is_empty() && self.before.is_empty() {
            return unreported.to_owned();
        }
        format!("{unreported}{}{:?}{:?}", Value::Object(self.rest.clone()), self.before, self.refused)
    }
}

/// The desired state without what the record names.
fn without(desired: &Value, record: &Provenance) -> Value {
    let mut rest = desired.clone();
    if record.is_empty() {
        return rest;
    }
    let Some(fields) = rest.as_object_mut() else { return rest };
    if let Some(Value::Array(interfaces)) = fields.get_mut("interfaces") {
        interfaces.retain_mut(|entry| !is_used_up(entry, record));
    }
    let (mut routes, mut rules, mut hostnames, mut dns) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), false);
    for share in record.shares.values() {
        routes.extend(&share.routes);
        rules.extend(&share.rules);
        hostnames.extend(&share.hostname);
        dns |= share.dns;
    }
    for (block, gone) in [("routes", &routes), ("route-rules", &rules)] {
        if let Some(Value::Array(items)) = fields.get_mut(block).and_then(|block| block.get_mut("config")) {
            items.retain(|item| !gone.contains(&digest::short(item)));
        }
    }
    if let Some(Value::Object(names)) = fields.get_mut("hostname") {
        names.retain(|key, _| !hostnames.contains(key));
    }
    if let (true, Some(Value::Object(resolver))) = (dns, fields.get_mut("dns-resolver")) {
        resolver.remove("config");
    }
    for (block, list) in [("routes", "config"), ("route-rules", "config")] {
        if let Some(Value::Object(inner)) = fields.get_mut(block) {
            inner.retain(|key, value| key != list || value.as_array().is_none_or(|items| !items.is_empty()));
        }
    }
    fields.retain(|_, value| match value {
        Value::Object(inner) => !inner.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    });
    rest
}

/// Takes from an entry what the record names; says whether nothing is left but its name.
fn is_used_up(entry: &mut Value, record: &Provenance) -> bool {
    let Some(fields) = entry.as_object_mut() else { return false };
    let Some(name) = fields.get("name").and_then(Value::as_str).map(str::to_owned) else { return false };
    let mut named = false;
    for paths in record.shares.values().filter_map(|share| share.interfaces.get(&name)) {
        named = true;
        for path in paths {
            leaves::take(fields, path);
        }
    }
    named && fields.keys().all(|key| key == "name")
}

/// VLANs that policies have asked for on links on whose wire nobody speaks now. A switch that
/// restarts must not take the VLANs of its nodes with it.
fn silent_vlans(record: &Provenance, inventory: &Inventory) -> BTreeMap<ObjectKey, BTreeSet<String>> {
    let is_silent = |name: &str, paths: &BTreeSet<String>| {
        let base = name.rsplit_once('.').map(|(base, _)| base);
        let wires = base.map(|base| wires(base, inventory)).unwrap_or_default();
        paths.contains("vlan/id") && !wires.is_empty() && wires.iter().all(|link| link.neighbours.is_empty())
    };
    let mut before = BTreeMap::new();
    for (policy, share) in &record.shares {
        let names: BTreeSet<String> = share
            .interfaces
            .iter()
            .filter(|(name, paths)| is_silent(name, paths))
            .map(|(name, _)| name.clone())
            .collect();
        if !names.is_empty() {
            before.insert(policy.clone(), names);
        }
    }
    before
}

/// The link itself, or the ports of a bond.
fn wires<'a>(base: &str, inventory: &'a Inventory) -> Vec<&'a super::inventory::Link> {
    let ports: Vec<_> = inventory.links.values().filter(|link| link.controller.as_deref() == Some(base)).collect();
    if ports.is_empty() { inventory.get(base).into_iter().collect() } else { ports }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(paths: &[(&str, &[&str])]) -> String {
        let mut provenance = Provenance::default();
        let share = provenance.share(&ObjectKey::new("d", "p"));
        for (link, paths) in paths {
            share.interfaces.insert((*link).to_owned(), paths.iter().map(|path| (*path).to_owned()).collect());
        }
        share.routes.insert(digest::short(&json!({"destination": "192.0.2.0/24", "next-hop-interface": "eth0"})));
        share.dns = true;
        share.hostname.insert("running".to_owned());
        provenance.encode().unwrap()
    }

    #[test]
    fn what_policies_asked_for_is_taken_away_and_the_rest_stays_as_written() {
        let desired = json!({
            "interfaces": [
                {"name": "eth0", "mtu": 9000, "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.1", "prefix-length": 24}]}},
                {"name": "eth0.7", "type": "vlan", "state": "up", "vlan": {"id": 7, "base-iface": "eth0"}},
                {"name": "eth1", "macAddress": "00:00:5e:00:53:01"},
            ],
            "routes": {"config": [
                {"destination": "192.0.2.0/24", "next-hop-interface": "eth0"},
                {"destination": "198.51.100.0/24", "next-hop-interface": "eth0"},
            ]},
            "hostname": {"running": "a"},
            "dns-resolver": {"config": {"server": ["192.0.2.53"]}},
        });
        let record = record(&[("eth0", &["mtu"]), ("eth0.7", &["type", "state", "vlan/id", "vlan/base-iface"])]);
        let manual = Manual::split(Some(&desired), Some(&record), &Inventory::default());
        let wanted = json!({
            "interfaces": [
                {"name": "eth0", "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.1", "prefix-length": 24}]}},
                {"name": "eth1", "macAddress": "00:00:5e:00:53:01"},
            ],
            "routes": {"config": [{"destination": "198.51.100.0/24", "next-hop-interface": "eth0"}]},
        });
        assert_eq!(Value::Object(manual.rest.clone()), wanted);
        assert_eq!(manual.entries.keys().collect::<Vec<_>>(), ["eth0", "eth1"]);
        assert!(manual.refused().is_empty() && manual.notes().is_empty());
    }

    #[test]
    fn without_a_record_everything_is_manually() {
        let desired = json!({"interfaces": [{"name": "eth0", "mtu": 9000}]});
        let manual = Manual::split(Some(&desired), Some("{"), &Inventory::default());
        assert_eq!(Value::Object(manual.rest.clone()), desired);
        assert_eq!(manual.notes()[0].reason, reason::UNREADABLE_PROVENANCE);
    }

    #[test]
    fn a_desired_state_that_no_node_can_read_says_where() {
        let desired = json!({"interfaces": [{"name": "eth0"}, {"name": "eth1", "mtu": "many"}]});
        let manual = Manual::split(Some(&desired), None, &Inventory::default());
        assert_eq!(
            (manual.refused()[0].reason, manual.refused()[0].path.as_str()),
            (reason::INVALID_DESIRED_STATE, "spec.desiredState.interfaces[1].mtu")
        );
    }
}
