//! The entries of what is wanted of a host, typed, each with who asked for it.

use std::collections::{BTreeMap, BTreeSet};

use netloom_compile::{ObjectKey, Provenance};
use netloom_model::{Origin, Source};
use netloom_nmstate::{Document, Interface, RouteEntry, RuleEntry};
use netloom_types::IfName;

use crate::objects::POLICY;

/// An entry, and who asked for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
    /// Who asked for a part of it, by its path in the entry, where that is another place.
    pub(crate) parts: BTreeMap<String, Origin>,
}

impl<T> Entry<T> {
    pub(crate) fn new(value: T, origin: Origin) -> Self {
        Self { value, origin, parts: BTreeMap::new() }
    }

    /// Who asked for the part at a path, such as `ipv4.dhcp`.
    pub(crate) fn origin_of(&self, path: &str) -> Origin {
        let own = || Origin { path: format!("{}.{path}", self.origin.path).into(), ..self.origin.clone() };
        self.parts.get(path).cloned().unwrap_or_else(own)
    }
}

/// Everything that is wanted, by its entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Entries {
    /// By the order in which they stand.
    pub(crate) interfaces: Vec<Entry<Interface>>,
    pub(crate) routes: Vec<Entry<RouteEntry>>,
    pub(crate) rules: Vec<Entry<RuleEntry>>,
    /// Everything else.
    pub(crate) rest: Document,
}

impl Entries {
    /// Takes the desired state of a node apart.
    pub(crate) fn of(document: Document) -> Self {
        fn entries<T>(source: &Source, list: &str, values: Vec<T>) -> Vec<Entry<T>> {
            let place = |index| Origin::new(source.clone(), format!("spec.desiredState.{list}[{index}]"), 0);
            values.into_iter().enumerate().map(|(index, value)| Entry::new(value, place(index))).collect()
        }
        let (rest, interfaces, routes, rules) = document.into_entries();
        let source = rest.source();
        Self {
            interfaces: entries(source, INTERFACES, interfaces),
            routes: entries(source, ROUTES, routes),
            rules: entries(source, RULES, rules),
            rest,
        }
    }

    /// All of it in one, and who asked for the entry, or the part of one, at each path of it.
    pub(crate) fn document(self) -> (Document, BTreeMap<String, Origin>) {
        fn values<T>(list: &str, entries: Vec<Entry<T>>, origins: &mut BTreeMap<String, Origin>) -> Vec<T> {
            let value = |(index, entry): (usize, Entry<T>)| {
                let parts = entry.parts.into_iter().map(|(part, origin)| (format!("{list}[{index}].{part}"), origin));
                origins.extend(parts);
                origins.insert(format!("{list}[{index}]"), entry.origin);
                entry.value
            };
            entries.into_iter().enumerate().map(value).collect()
        }
        let mut origins = BTreeMap::new();
        let interfaces = values(INTERFACES, self.interfaces, &mut origins);
        let routes = values(ROUTES, self.routes, &mut origins);
        let rules = values(RULES, self.rules, &mut origins);
        (self.rest.with_entries(interfaces, routes, rules), origins)
    }

    /// Names the policies that a document was merged from, beside each link that they have a part in.
    pub(crate) fn name_policies(&mut self, provenance: &Provenance) {
        for entry in &mut self.interfaces {
            let name = entry.value.name.as_str();
            let asking = provenance.shares.iter().filter(|(_, share)| share.interfaces.contains_key(name));
            let source = |key: &ObjectKey| Source::object((POLICY.group, POLICY.kind), &key.namespace, &key.name);
            entry.origin = entry.origin.clone().beside(asking.map(|(policy, _)| Origin::new(source(policy), "", 0)));
        }
    }

    /// Takes the requests for neighbour discovery out: they are for the agent, not for the host.
    pub(crate) fn take_listening(&mut self) -> BTreeSet<IfName> {
        let desired_states = self.interfaces.iter_mut().map(|entry| (entry.value.name, entry.value.lldp.take()));
        desired_states.filter(|(_, enabled)| *enabled == Some(true)).map(|(name, _)| name).collect()
    }
}

/// Where the entries stand in a document.
const INTERFACES: &str = "interfaces";
const ROUTES: &str = "routes.config";
const RULES: &str = "route-rules.config";

#[cfg(test)]
mod tests {
    use netloom_nmstate::parse;

    use super::*;

    #[test]
    fn a_document_is_put_together_as_it_was() {
        let text = r#"{"hostname": {"running": "a"}, "interfaces": [{"name": "a"}, {"name": "b"}],
            "routes": {"config": [{"destination": "0.0.0.0/0", "next-hop-interface": "a"}]},
            "route-rules": {"config": [{"priority": 5, "route-table": 7}]}}"#;
        let document = parse("x", text.as_bytes()).unwrap();
        let (same, origins) = Entries::of(document.clone()).document();
        assert_eq!(same, document);
        assert_eq!(origins["interfaces[1]"].path.as_ref(), "spec.desiredState.interfaces[1]");
        assert_eq!(origins["routes.config[0]"].path.as_ref(), "spec.desiredState.routes.config[0]");
    }

    #[test]
    fn listening_is_taken_out() {
        let text = r#"{"interfaces": [{"name": "a", "lldp": {"enabled": true}},
            {"name": "b", "lldp": {"enabled": false, "neighbors": []}}, {"name": "c"}]}"#;
        let mut entries = Entries::of(parse("x", text.as_bytes()).unwrap());
        let links = entries.take_listening();
        assert_eq!(links.iter().map(IfName::as_str).collect::<Vec<_>>(), ["a"]);
        assert!(entries.interfaces.iter().all(|entry| entry.value.lldp.is_none()));
    }
}
