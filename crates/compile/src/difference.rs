//! What changes for each node between two sets of wishes.
//!
//! Wishes are compared, not hosts: what a wish means on a host is worked out there, and only there.
//! Nodes for which the same changes are in one entry, so a change of a thousand nodes is as short as
//! that of one. Pure, and equal input gives equal output.

mod reach;
mod things;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{nodestate::Desired, wishes::Wishes};

use self::things::{Thing, things};

/// What changes for some nodes, all of them in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDifference {
    /// The nodes, in the order of their names.
    pub nodes: Vec<String>,
    /// What is wanted anew, otherwise, or no longer.
    pub entries: Vec<Entry>,
    /// Networks that come into reach, and how, such as `10.0.0.0/24 over eth1`.
    pub gained: Vec<String>,
    /// Networks that go out of reach.
    pub lost: Vec<String>,
}

/// One thing that is wanted anew, otherwise, or no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is, such as `interface eth1`.
    pub thing: String,
    /// What becomes of the wish.
    pub change: Change,
    /// Its values that differ.
    pub fields: Vec<Field>,
    /// Who asks for it; for what is no longer wanted, who did. Empty for what was written by hand.
    pub policies: Vec<String>,
}

/// What becomes of the wish for a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is wanted now.
    Added,
    /// It is wanted otherwise.
    Changed,
    /// Nobody asks for it any more, so the node puts back what it found before.
    Removed,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Where it is, such as `ipv4.address`.
    pub path: String,
    /// What was wanted.
    pub before: Option<Value>,
    /// What is wanted.
    pub after: Option<Value>,
}

/// What changes from one set of wishes to the other. Nodes for which nothing does are left out.
pub fn differences(before: &Wishes, after: &Wishes) -> Vec<NodeDifference> {
    let nodes: BTreeSet<&str> = before.iter().chain(after.iter()).map(|wish| wish.node).collect();
    // Nodes that share both answers share the difference, which is then worked out once.
    let mut pairs: BTreeMap<[Option<*const Desired>; 2], usize> = BTreeMap::new();
    let mut found: Vec<NodeDifference> = Vec::new();
    for node in nodes {
        let [old, new] = [before, after].map(|wishes| wishes.get(node).map(|wish| wish.desired));
        let place = *pairs.entry([old, new].map(|desired| desired.map(Arc::as_ptr))).or_insert_with(|| {
            let difference = difference(old.map(Arc::as_ref), new.map(Arc::as_ref));
            let same = |known: &NodeDifference| known.is_same(&difference);
            found.iter().position(same).unwrap_or_else(|| {
                found.push(difference);
                found.len() - 1
            })
        });
        found[place].nodes.push(node.to_owned());
    }
    found.retain(|difference| !difference.entries.is_empty());
    found
}

impl NodeDifference {
    fn is_same(&self, other: &Self) -> bool {
        (&self.entries, &self.gained, &self.lost) == (&other.entries, &other.gained, &other.lost)
    }
}

fn difference(before: Option<&Desired>, after: Option<&Desired>) -> NodeDifference {
    let (old, new) = (wanted(before), wanted(after));
    let all: BTreeSet<&Thing> = old.keys().chain(new.keys()).collect();
    let entries = all.into_iter().filter_map(|thing| {
        let (was, is) = (old.get(thing), new.get(thing));
        let fields = fields(was, is);
        let change = match (was, is) {
            (None, _) => Change::Added,
            (Some(_), None) => Change::Removed,
            (Some(_), Some(_)) if fields.is_empty() => return None,
            (Some(_), Some(_)) => Change::Changed,
        };
        let asker = if change == Change::Removed { before } else { after };
        let policies = asker.map(|desired| thing.policies(&desired.provenance)).unwrap_or_default();
        Some(Entry { thing: thing.to_string(), change, fields, policies })
    });
    let [ways_before, ways_after] =
        [before, after].map(|desired| reach::of(desired.and_then(|one| one.document.as_ref())));
    NodeDifference {
        nodes: Vec::new(),
        entries: entries.collect(),
        gained: reach::missing(&ways_after, &ways_before),
        lost: reach::missing(&ways_before, &ways_after),
    }
}

fn wanted(desired: Option<&Desired>) -> BTreeMap<Thing, BTreeMap<String, Value>> {
    desired.and_then(|desired| desired.document.as_ref()).map(things).unwrap_or_default()
}

fn fields(before: Option<&BTreeMap<String, Value>>, after: Option<&BTreeMap<String, Value>>) -> Vec<Field> {
    let empty = BTreeMap::new();
    let (before, after) = (before.unwrap_or(&empty), after.unwrap_or(&empty));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let field = |path: &String| Field {
        path: path.clone(),
        before: before.get(path).cloned(),
        after: after.get(path).cloned(),
    };
    paths.into_iter().map(field).filter(|field| field.before != field.after).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Compiler, Snapshot};

    fn node(name: &str) -> [Value; 2] {
        let links = json!([{"name": "eth1", "type": "ethernet", "state": "up"}]);
        [
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"name": name}}}),
            json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"namespace": "default", "name": name},
                "spec": {"managed": true, "nodeName": name}, "status": {"currentState": {"interfaces": links}},
            }),
        ]
    }

    fn policy(name: &str, desired: &Value) -> Value {
        json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy", "metadata": {"namespace": "default", "name": name},
            "spec": {"matchRules": [{"name": "eth1"}], "desiredState": desired},
        })
    }

    fn compared(before: &[Value], after: &[Value]) -> Vec<NodeDifference> {
        let nodes = ["n1", "n2", "n3"].map(node);
        let wishes = |policies: &[Value]| {
            let snapshot: Snapshot = nodes.iter().flatten().chain(policies).collect();
            Compiler::default().compile(&snapshot).wishes
        };
        differences(&wishes(before), &wishes(after))
    }

    fn field(path: &str, before: Option<Value>, after: Option<Value>) -> Field {
        Field { path: path.to_owned(), before, after }
    }

    #[test]
    fn nodes_with_the_same_changes_are_one_entry() {
        let mtu = |value: u16| policy("a", &json!({"interfaces": [{"name": "eth1", "mtu": value}]}));
        let found = compared(&[mtu(1400)], &[mtu(9000)]);
        let entry = Entry {
            thing: "interface eth1".to_owned(),
            change: Change::Changed,
            fields: vec![field("mtu", Some(json!(1400)), Some(json!(9000)))],
            policies: vec!["default/a".to_owned()],
        };
        let nodes = ["n1", "n2", "n3"].map(str::to_owned).to_vec();
        assert_eq!(found, [NodeDifference { nodes, entries: vec![entry], gained: Vec::new(), lost: Vec::new() }]);
        assert_eq!(compared(&[mtu(1400)], &[mtu(1400)]), []);
    }

    #[test]
    fn what_comes_and_goes_is_told_with_who_asked_and_what_it_reaches() {
        let addressed = |ip: &str| {
            json!({
                "interfaces": [{"name": "eth1", "ipv4": {"enabled": true, "address": [{"ip": ip, "prefix-length": 24}]}}],
                "routes": {"config": [
                    {"destination": "10.9.0.0/16", "next-hop-address": "10.0.1.1", "next-hop-interface": "eth1"},
                ]},
            })
        };
        let found = compared(&[], &[policy("a", &addressed("10.0.1.7"))]);
        let [difference] = &found[..] else { panic!("{found:?}") };
        let things: Vec<_> = difference.entries.iter().map(|entry| (entry.thing.as_str(), entry.change)).collect();
        let route = "route 10.9.0.0/16 via 10.0.1.1 over eth1";
        assert_eq!(things, [("interface eth1", Change::Added), (route, Change::Added)]);
        assert!(difference.entries.iter().all(|entry| entry.policies == ["default/a"]), "{difference:?}");
        assert_eq!(difference.gained, ["10.0.1.0/24 over eth1", "10.9.0.0/16 via 10.0.1.1 over eth1"]);
        assert_eq!(difference.lost, [""; 0]);

        let back = compared(&[policy("a", &addressed("10.0.1.7"))], &[]);
        let things: Vec<_> = back[0].entries.iter().map(|entry| (entry.thing.as_str(), entry.change)).collect();
        assert_eq!(things, [("interface eth1", Change::Removed), (route, Change::Removed)]);
        assert!(back[0].entries.iter().all(|entry| entry.policies == ["default/a"]), "{back:?}");
        assert_eq!(back[0].lost, difference.gained);

        // Another address of the same network reaches what the first one did.
        let moved = compared(&[policy("a", &addressed("10.0.1.7"))], &[policy("a", &addressed("10.0.1.8"))]);
        assert_eq!((&moved[0].gained[..], &moved[0].lost[..]), (&[][..], &[][..]));
    }
}
