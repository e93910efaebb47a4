//! What one policy wants of the links of one node.
//!
//! A policy speaks of links that a rule matches, and of links that are made by asking for them and
//! stand on such links alone. Whether a link of the latter kind is there already makes no
//! difference: the desired state is the same before and after it is reached. Without a matched link a
//! policy wants nothing.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::nodestate::AutoConfig;
use serde_json::{Map, Value, json};

use super::{
    autoconfig::Auto,
    document::PLACE,
    policy::{PolicyContent, Prepared, Wanted},
    rules,
};
use crate::{
    contribution::StatePart,
    finding::{Finding, reason},
    resolution::{Part, Unit, hops, is_absent, is_absent_item, makes_link, refs, route_subject},
    state::{Inventory, document::kind_of, leaves},
};

/// What a policy wants of the links of a node.
///
/// Rules look at `inventory`. What a node finds out by itself goes by what it `reported`: a bond that is there stays.
/// `before` are the VLANs that the policy had there on wires that are silent now.
pub(super) fn contribute(
    policy: &Prepared,
    inventory: &Inventory,
    reported: &Inventory,
    before: Option<&BTreeSet<String>>,
) -> StatePart {
    let matched = rules::matched(&policy.rules, inventory);
    let mut work = Work { inventory, units: Vec::new(), findings: Vec::new() };
    let mut listen: BTreeSet<&str> = rules::listening(&policy.rules, inventory).collect();
    match &policy.content {
        PolicyContent::Auto(AutoConfig { auto_bonding, auto_vlan }) => {
            if *auto_bonding || *auto_vlan {
                let hears = |name: &&String| inventory.get(name).is_some_and(rules::can_hear);
                listen.extend(matched.iter().filter(hears).map(String::as_str));
            }
            let (made, findings) =
                Auto { inventory: reported, matched: &matched, before }.links(*auto_bonding, *auto_vlan);
            work.findings.extend(findings);
            for made in made {
                work.units.push(Unit::interface(&made.name, &made.entry, made.place, inventory));
            }
        }
        PolicyContent::Document(wanted) if !matched.is_empty() => work.document(wanted, &matched),
        PolicyContent::Nothing | PolicyContent::Document(_) => {}
    }
    work.listen(listen);
    StatePart { asker: policy.asker(), matched, units: work.units, findings: work.findings }
}

struct Work<'a> {
    inventory: &'a Inventory,
    units: Vec<Unit>,
    findings: Vec<Finding>,
}

impl Work<'_> {
    /// Asks the node to hear who is on a wire, unless the policy says something else about that.
    fn listen(&mut self, links: BTreeSet<&str>) {
        const LISTEN: &str = "lldp/enabled";
        let given: BTreeSet<String> = self
            .units
            .iter()
            .filter(|unit| unit.leaves.iter().any(|(path, _)| path == LISTEN))
            .filter_map(|unit| unit.link().map(str::to_owned))
            .collect();
        let entry = json!({"lldp": {"enabled": true}}).as_object().cloned().unwrap_or_default();
        for link in links.into_iter().filter(|link| !given.contains(*link)) {
            self.units.push(Unit::interface(link, &entry, "spec.matchRules", self.inventory));
        }
    }

    fn document(&mut self, wanted: &Wanted, matched: &[String]) {
        let known: BTreeSet<&str> = matched.iter().map(String::as_str).collect();
        for name in matched {
            self.matched_link(name, wanted);
        }
        let made = self.made_links(wanted, &known);
        let known: BTreeSet<&str> = known.into_iter().chain(made).collect();
        self.routes(wanted, &known);
        for (index, rule) in wanted.rules.iter().enumerate() {
            self.units.push(Unit::rule(rule.clone(), format!("{PLACE}.route-rules.config[{index}]")));
        }
        if let Some(dns) = &wanted.dns {
            self.units.push(Unit::setting(Part::Dns, dns.clone(), format!("{PLACE}.dns-resolver.config")));
        }
        for (key, name) in &wanted.hostname {
            let place = format!("{PLACE}.hostname.{key}");
            self.units.push(Unit::setting(Part::Hostname(key.clone()), name.clone(), place));
        }
    }

    /// The template, and over it the entry of the link's own name.
    fn matched_link(&mut self, name: &str, wanted: &Wanted) {
        let own = wanted.entries.get(name);
        let Some((index, _)) = own.or(wanted.template.as_ref()) else { return };
        let mut entry = wanted.template.as_ref().map(|(_, template)| template.clone()).unwrap_or_default();
        if let Some((_, own)) = own {
            leaves::over(&mut entry, own);
        }
        self.push(name, &entry, *index);
    }

    /// Entries of links that no rule matches, as far as they stand on links that one does.
    fn made_links<'w>(&mut self, wanted: &'w Wanted, known: &BTreeSet<&str>) -> BTreeSet<&'w str> {
        let mut open: BTreeMap<&'w str, &'w (usize, Map<String, Value>)> =
            wanted.entries.iter().map(|(name, entry)| (name.as_str(), entry)).collect();
        open.retain(|name, _| !known.contains(name));
        let mut made: BTreeSet<&'w str> = BTreeSet::new();
        loop {
            let ready = open.iter().find(|(name, (_, entry))| {
                let base = self.stands_on(name, entry);
                makes_link(entry)
                    && base.iter().all(|link| known.contains(link.as_str()) || made.contains(link.as_str()))
            });
            let Some((&name, (index, entry))) = ready else { break };
            open.remove(name);
            made.insert(name);
            self.push(name, entry, *index);
        }
        for (name, (index, entry)) in open {
            self.not_matched(name, *index, entry);
        }
        made
    }

    /// What a link is made of: as the entry says, else as it is.
    fn stands_on(&self, name: &str, entry: &Map<String, Value>) -> Vec<String> {
        let given = refs(entry);
        let Some(link) = self.inventory.get(name).filter(|_| given.is_empty()) else { return given };
        let ports = self.inventory.links.iter().filter(|(_, port)| port.controller.as_deref() == Some(name));
        link.base.iter().cloned().chain(ports.map(|(port, _)| port.clone())).collect()
    }

    fn not_matched(&mut self, name: &str, index: usize, entry: &Map<String, Value>) {
        let place = format!("{PLACE}.interfaces[{index}]");
        if makes_link(entry) {
            let base = self.stands_on(name, entry).join(", ");
            let message =
                format!("{name} stands on {base}, not all of which a rule of the policy matches: it is left out");
            self.findings.push(Finding::new(reason::MISSING_BASE, place, message));
        } else if self.inventory.get(name).is_some() {
            let message = format!("no rule of the policy matches {name}: its entry is left out");
            self.findings.push(Finding::new(reason::NOT_MATCHED, place, message));
        }
    }

    fn push(&mut self, name: &str, entry: &Map<String, Value>, index: usize) {
        let place = format!("{PLACE}.interfaces[{index}]");
        let there = self.inventory.get(name).map(|link| link.kind.as_str()).filter(|kind| *kind != "unknown");
        if let (Some(given), Some(there)) = (kind_of(entry), there)
            && given != there
            && !is_absent(entry)
        {
            let message = format!("{name} is of type {there} and the entry is for {given}: it is left out");
            self.findings.push(Finding::new(reason::CONTRADICTION, format!("{place}.type"), message));
            return;
        }
        self.units.push(Unit::interface(name, entry, &place, self.inventory));
    }

    fn routes(&mut self, wanted: &Wanted, known: &BTreeSet<&str>) {
        let mut groups: BTreeMap<String, (usize, Vec<Value>)> = BTreeMap::new();
        for (index, route) in wanted.routes.iter().enumerate() {
            let place = format!("{PLACE}.routes.config[{index}]");
            if let Some(link) = hops(route).into_iter().find(|link| !known.contains(link.as_str())) {
                if self.inventory.get(&link).is_some() {
                    let message = format!("no rule of the policy matches {link}: the route is left out");
                    self.findings.push(Finding::new(reason::NOT_MATCHED, place, message));
                }
            } else if is_absent_item(route) {
                self.units.push(Unit::routes("", vec![route.clone()], &place));
            } else {
                groups.entry(route_subject(route)).or_insert((index, Vec::new())).1.push(route.clone());
            }
        }
        for (subject, (index, mut entries)) in groups {
            entries.sort_by_key(Value::to_string);
            self.units.push(Unit::routes(&subject, entries, &format!("{PLACE}.routes.config[{index}]")));
        }
    }
}
