//! A document on its way from objects to the parser: entries, each with who asked for it.

use std::collections::{BTreeMap, BTreeSet};

use netloom_compile::{ObjectKey, nodestate::Provenance};
use netloom_model::{Origin, Source};
use netloom_types::IfName;
use serde_json::{Map, Value, json};

use crate::objects::POLICY;

/// An entry of a list, and who asked for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    /// Who asked for a part of it, by its path in the entry, where that is another place.
    pub(crate) parts: BTreeMap<String, Origin>,
}

impl Entry {
    pub(crate) fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin, parts: BTreeMap::new() }
    }

    /// Who asked for the part at a path, such as `ipv4.dhcp`.
    pub(crate) fn origin_of(&self, path: &str) -> Origin {
        let own = || Origin { path: format!("{}.{path}", self.origin.path).into(), ..self.origin.clone() };
        self.parts.get(path).cloned().unwrap_or_else(own)
    }
}

/// A document by its entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Entries {
    /// By the order in which they stand.
    pub(crate) interfaces: Vec<Entry>,
    pub(crate) routes: Vec<Entry>,
    pub(crate) rules: Vec<Entry>,
    /// Everything else, by key.
    pub(crate) rest: Map<String, Value>,
}

impl Entries {
    /// Takes a document apart. What has another form than a document stays in one piece, for the parser
    /// to refuse.
    pub(crate) fn of(source: &Source, document: &Value) -> Self {
        let mut entries = Self::default();
        for (key, value) in document.as_object().into_iter().flatten() {
            let list = match key.as_str() {
                "interfaces" => Some((&mut entries.interfaces, value, "interfaces".to_owned())),
                "routes" | "route-rules" => only_config(value).map(|config| {
                    let into = if key == "routes" { &mut entries.routes } else { &mut entries.rules };
                    (into, config, format!("{key}.config"))
                }),
                _ => None,
            };
            match list.and_then(|(into, value, path)| Some((into, value.as_array()?, path))) {
                Some((into, items, path)) => into.extend(items.iter().enumerate().map(|(index, value)| {
                    let path = format!("spec.desiredState.{path}[{index}]");
                    Entry::new(value.clone(), Origin::new(source.clone(), path, 0))
                })),
                None => {
                    entries.rest.insert(key.clone(), value.clone());
                }
            }
        }
        entries
    }

    /// The document, and who asked for the entry, or the part of one, at each path of it.
    pub(crate) fn document(&self) -> (Value, BTreeMap<String, Origin>) {
        let mut document = self.rest.clone();
        let mut origins = BTreeMap::new();
        let mut list = |path: &str, entries: &[Entry]| {
            for (index, entry) in entries.iter().enumerate() {
                origins.insert(format!("{path}[{index}]"), entry.origin.clone());
                let parts =
                    entry.parts.iter().map(|(part, origin)| (format!("{path}[{index}].{part}"), origin.clone()));
                origins.extend(parts);
            }
            entries.iter().map(|entry| entry.value.clone()).collect::<Vec<_>>()
        };
        let lists =
            [("routes", list("routes.config", &self.routes)), ("route-rules", list("route-rules.config", &self.rules))];
        for (key, items) in lists {
            if !items.is_empty() {
                document.insert(key.to_owned(), json!({ "config": items }));
            }
        }
        let interfaces = list("interfaces", &self.interfaces);
        if !interfaces.is_empty() {
            document.insert("interfaces".to_owned(), interfaces.into());
        }
        (document.into(), origins)
    }

    /// Names the policies that a document was merged from, beside each link that they have a part in.
    pub(crate) fn name_policies(&mut self, provenance: &Provenance) {
        for entry in &mut self.interfaces {
            let Some(name) = entry.value["name"].as_str() else { continue };
            let asking = provenance.shares.iter().filter(|(_, share)| share.interfaces.contains_key(name));
            let source = |key: &ObjectKey| Source::object((POLICY.group, POLICY.kind), &key.namespace, &key.name);
            entry.origin = entry.origin.clone().beside(asking.map(|(policy, _)| Origin::new(source(policy), "", 0)));
        }
    }

    /// Takes the wishes for neighbour discovery out: they are for the agent, not for the host. What is no
    /// such wish stays, for the parser to refuse.
    pub(crate) fn take_listening(&mut self) -> BTreeSet<IfName> {
        let mut links = BTreeSet::new();
        for entry in &mut self.interfaces {
            let Some(interface) = entry.value.as_object_mut() else { continue };
            let Some(enabled) = interface.get("lldp").and_then(listening) else { continue };
            interface.remove("lldp");
            let name = interface.get("name").and_then(Value::as_str).and_then(|name| name.parse::<IfName>().ok());
            links.extend(name.filter(|_| enabled));
        }
        links
    }
}

/// The list below a block that has nothing else.
fn only_config(block: &Value) -> Option<&Value> {
    let block = block.as_object()?;
    block.get("config").filter(|_| block.len() == 1)
}

/// `enabled` of a block that has only keys of its kind; `neighbors` is a report, and no wish.
fn listening(block: &Value) -> Option<bool> {
    let block = block.as_object()?;
    let known = block.keys().all(|key| key == "enabled" || key == "neighbors");
    block.get("enabled").filter(|_| known)?.as_bool()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_put_together_as_it_was() {
        let document = json!({
            "hostname": {"running": "a"},
            "routes": {"config": [{"destination": "0.0.0.0/0"}]},
            "route-rules": {"config": [{"priority": 5}]},
            "interfaces": [{"name": "a"}, {"name": "b"}],
        });
        let (same, origins) = Entries::of(&"x".into(), &document).document();
        assert_eq!(same, document);
        assert_eq!(origins["interfaces[1]"].path.as_ref(), "spec.desiredState.interfaces[1]");
        for odd in [json!({"interfaces": 5}), json!({"routes": {"config": [], "odd": 1}}), json!({"x": []})] {
            assert_eq!(Entries::of(&"x".into(), &odd).document().0, odd, "what is no document reaches the parser");
        }
    }

    #[test]
    fn listening_is_taken_out_and_anything_else_of_that_name_stays() {
        let mut entries = Entries::of(
            &"x".into(),
            &json!({"interfaces": [
                {"name": "a", "lldp": {"enabled": true}},
                {"name": "b", "lldp": {"enabled": false, "neighbors": []}},
                {"name": "c", "lldp": true},
                {"name": "d", "lldp": {"enabled": true, "odd": 1}},
            ]}),
        );
        let links = entries.take_listening();
        assert_eq!(links.iter().map(IfName::as_str).collect::<Vec<_>>(), ["a"]);
        let left: Vec<bool> = entries.interfaces.iter().map(|entry| entry.value.get("lldp").is_some()).collect();
        assert_eq!(left, [false, false, true, true]);
    }
}
