//! What changes for each node between two sets of desired states.
//!
//! Desired states are compared, not hosts: what one means on a host is worked out there, and only there.
//! Nodes for which the same changes are in one entry, so a change of a thousand nodes is as short as
//! that of one. Pure, and equal input gives equal output.

mod hosts;
mod reach;
mod things;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    contribution::HostPart,
    node_target::{NodeTarget, NodeTargets},
    resolution::Desired,
};

use self::things::{Thing, things};

/// What changes for some nodes, all of them in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDifference {
    /// The nodes, in the order of their names.
    pub nodes: Vec<String>,
    /// What is newly wanted, otherwise, or no longer.
    pub entries: Vec<Entry>,
    /// Networks that come into reach, and how, such as `10.0.0.0/24 over eth1`, or for a segment `10.0.0.0/24 by VRF red, from
    /// 10.4.0.0/24`.
    pub gained: Vec<String>,
    /// Networks that go out of reach.
    pub lost: Vec<String>,
}

/// One thing that is newly wanted, otherwise, or no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is, such as `interface eth1`.
    pub thing: String,
    /// What becomes of the desired state.
    pub change: ChangeKind,
    /// Its values that differ.
    pub fields: Vec<Field>,
    /// Who asks for it; for what is no longer wanted, who did. Empty for what was written manually. Policies are named,
    /// objects of other kinds by kind and name.
    pub policies: Vec<String>,
}

/// What becomes of what is desired of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
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

/// What changes from one set of desired states to the other. Nodes for which nothing does are left out.
pub fn differences(before: &NodeTargets, after: &NodeTargets) -> Vec<NodeDifference> {
    let nodes: BTreeSet<&str> = before.iter().chain(after.iter()).map(|node_target| node_target.node).collect();
    // Nodes that share both answers share the difference, which is then worked out once.
    let mut pairs: BTreeMap<[Option<Answers>; 2], usize> = BTreeMap::new();
    let mut found: Vec<NodeDifference> = Vec::new();
    for node in nodes {
        let [old, new] = [before, after].map(|node_targets| node_targets.get(node));
        let place = *pairs
            .entry([old, new].map(|node_target| node_target.map(|node_target| answers(&node_target))))
            .or_insert_with(|| {
                let difference = difference(old.as_ref(), new.as_ref());
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

/// Which answers a desired state is made of.
type Answers = (*const Desired, Option<*const HostPart>);

fn answers(node_target: &NodeTarget<'_>) -> Answers {
    (Arc::as_ptr(node_target.desired), node_target.host.map(Arc::as_ptr))
}

impl NodeDifference {
    fn is_same(&self, other: &Self) -> bool {
        (&self.entries, &self.gained, &self.lost) == (&other.entries, &other.gained, &other.lost)
    }
}

fn difference(before: Option<&NodeTarget<'_>>, after: Option<&NodeTarget<'_>>) -> NodeDifference {
    let mut entries =
        of_documents(before.map(|node_target| &**node_target.desired), after.map(|node_target| &**node_target.desired));
    entries.extend(of_hosts(before, after, |target| hosts::things(target.host_config())));
    entries.extend(of_hosts(before, after, |target| hosts::fabric_things(target.fabric_config())));
    let [ways_before, ways_after] = [before, after].map(|node_target| {
        let mut ways = reach::of(node_target.and_then(|node_target| node_target.desired.document.as_ref()));
        ways.extend(reach::of(Some(&hosts::document(node_target.and_then(NodeTarget::host_config)))));
        ways.extend(reach::of_fabric(node_target.and_then(NodeTarget::fabric_config)));
        ways
    });
    NodeDifference {
        nodes: Vec::new(),
        entries,
        gained: reach::missing(&ways_after, &ways_before),
        lost: reach::missing(&ways_before, &ways_after),
    }
}

fn of_documents(before: Option<&Desired>, after: Option<&Desired>) -> Vec<Entry> {
    let (old, new) = (wanted(before), wanted(after));
    let all: BTreeSet<&Thing> = old.keys().chain(new.keys()).collect();
    let entries = all.into_iter().filter_map(|thing| {
        let (change, fields) = change(old.get(thing), new.get(thing))?;
        let asker = if change == ChangeKind::Removed { before } else { after };
        let policies = asker.map(|desired| thing.policies(&desired.provenance)).unwrap_or_default();
        Some(Entry { thing: thing.to_string(), change, fields, policies })
    });
    entries.collect()
}

fn of_hosts(
    before: Option<&NodeTarget<'_>>,
    after: Option<&NodeTarget<'_>>,
    things: impl Fn(&NodeTarget<'_>) -> BTreeMap<Thing, hosts::Asked>,
) -> Vec<Entry> {
    let [old, new] = [before, after].map(|node_target| node_target.map(&things).unwrap_or_default());
    let all: BTreeSet<&Thing> = old.keys().chain(new.keys()).collect();
    let entries = all.into_iter().filter_map(|thing| {
        let (was, is) = (old.get(thing), new.get(thing));
        let (change, fields) = change(was.map(|asked| &asked.values), is.map(|asked| &asked.values))?;
        let policies = is.or(was).map(hosts::Asked::askers).unwrap_or_default();
        Some(Entry { thing: thing.to_string(), change, fields, policies })
    });
    entries.collect()
}

/// What becomes of a thing; none when it stays as it is.
fn change(
    was: Option<&BTreeMap<String, Value>>,
    is: Option<&BTreeMap<String, Value>>,
) -> Option<(ChangeKind, Vec<Field>)> {
    let fields = fields(was, is);
    let change = match (was, is) {
        (None, _) => ChangeKind::Added,
        (Some(_), None) => ChangeKind::Removed,
        (Some(_), Some(_)) if fields.is_empty() => return None,
        (Some(_), Some(_)) => ChangeKind::Changed,
    };
    Some((change, fields))
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
        let node_targets = |policies: &[Value]| {
            let snapshot: Snapshot = nodes.iter().flatten().chain(policies).collect();
            Compiler::default().compile(&snapshot).nodes
        };
        differences(&node_targets(before), &node_targets(after))
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
            change: ChangeKind::Changed,
            fields: vec![field("mtu", Some(json!(1400)), Some(json!(9000)))],
            policies: vec!["default/a".to_owned()],
        };
        let nodes = ["n1", "n2", "n3"].map(str::to_owned).to_vec();
        assert_eq!(found, [NodeDifference { nodes, entries: vec![entry], gained: Vec::new(), lost: Vec::new() }]);
        assert_eq!(compared(&[mtu(1400)], &[mtu(1400)]), []);
    }

    #[test]
    fn what_comes_and_goes_is_assigned_with_who_asked_and_what_it_reaches() {
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
        assert_eq!(things, [("interface eth1", ChangeKind::Added), (route, ChangeKind::Added)]);
        assert!(difference.entries.iter().all(|entry| entry.policies == ["default/a"]), "{difference:?}");
        assert_eq!(difference.gained, ["10.0.1.0/24 over eth1", "10.9.0.0/16 via 10.0.1.1 over eth1"]);
        assert_eq!(difference.lost, [""; 0]);

        let back = compared(&[policy("a", &addressed("10.0.1.7"))], &[]);
        let things: Vec<_> = back[0].entries.iter().map(|entry| (entry.thing.as_str(), entry.change)).collect();
        assert_eq!(things, [("interface eth1", ChangeKind::Removed), (route, ChangeKind::Removed)]);
        assert!(back[0].entries.iter().all(|entry| entry.policies == ["default/a"]), "{back:?}");
        assert_eq!(back[0].lost, difference.gained);

        // Another address of the same network reaches what the first one did.
        let moved = compared(&[policy("a", &addressed("10.0.1.7"))], &[policy("a", &addressed("10.0.1.8"))]);
        assert_eq!((&moved[0].gained[..], &moved[0].lost[..]), (&[][..], &[][..]));
    }

    #[test]
    fn what_a_segment_reaches_is_what_its_destinations_say() {
        let object = |kind: &str, name: &str, labels: Value, spec: Value| {
            json!({
                "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": kind,
                "metadata": {"name": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec,
            })
        };
        let with = |prefix: &str| {
            [
                object("VRF", "red", json!({}), json!({"vrf": "red", "vni": 10100, "routeTarget": "64500:10100"})),
                object("Destination", "d", json!({"to": "d"}), json!({"vrfRef": "red", "prefixes": [prefix]})),
                object("Network", "n", json!({}), json!({"ipv4": {"cidr": "10.4.0.0/24"}, "vlan": 104, "vni": 20104})),
                object(
                    "Layer2Attachment",
                    "a",
                    json!({}),
                    json!({
                        "networkRef": "n", "interfaceName": "net104", "mtu": 1400,
                        "destinations": {"matchLabels": {"to": "d"}},
                    }),
                ),
            ]
        };
        let targets = |objects: &[Value]| {
            let mut snapshot: Snapshot = node("n1").iter().chain(objects).collect();
            crate::settle(&mut Compiler::default(), &mut snapshot, &mut BTreeSet::new()).nodes
        };
        let made = differences(&targets(&[]), &targets(&with("203.0.113.0/24")));
        let [made] = &made[..] else { panic!("{made:?}") };
        let wanted = ["203.0.113.0/24 by VRF red, from 10.4.0.0/24", "all of VRF red, from 10.4.0.0/24"];
        assert_eq!(made.gained, wanted);
        let edited = differences(&targets(&with("203.0.113.0/24")), &targets(&with("198.51.100.0/24")));
        assert_eq!(edited[0].gained, ["198.51.100.0/24 by VRF red, from 10.4.0.0/24"]);
        assert_eq!(edited[0].lost, ["203.0.113.0/24 by VRF red, from 10.4.0.0/24"]);
    }

    #[test]
    fn an_edited_host_network_is_assigned_for_the_nodes_that_it_concerns() {
        let hostnet = |kind: &str, name: &str, spec: Value| {
            json!({
                "apiVersion": "network.harvesterhci.io/v1beta1", "kind": kind,
                "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec,
            })
        };
        let uplink = [
            hostnet("ClusterNetwork", "cn1", json!({})),
            hostnet("VlanConfig", "u", json!({"clusterNetwork": "cn1", "uplink": {"nics": ["eth1"]}})),
        ];
        let with = |second: &str| {
            let ips = json!({"n1": "192.0.2.11/24", "n2": second, "n3": "192.0.2.13/24"});
            let host = json!({"clusterNetwork": "cn1", "vlanID": 20, "mode": "static", "ips": ips});
            [&uplink[..], &[hostnet("HostNetworkConfig", "h", host)]].concat()
        };
        let made = compared(&uplink, &with("192.0.2.12/24"));
        let things = |one: &NodeDifference| {
            one.entries
                .iter()
                .map(|entry| (entry.thing.clone(), entry.change, entry.policies.clone()))
                .collect::<Vec<_>>()
        };
        let both = vec!["HostNetworkConfig h".to_owned(), "VlanConfig u".to_owned()];
        assert_eq!(
            things(&made[0]),
            [
                ("interface cn1-bo".to_owned(), ChangeKind::Changed, both.clone()),
                ("interface cn1-br".to_owned(), ChangeKind::Changed, both),
                ("interface cn1-br.20".to_owned(), ChangeKind::Added, vec!["HostNetworkConfig h".to_owned()]),
            ]
        );
        assert_eq!(made[0].entries[1].fields, [field("vlans", Some(json!(["1"])), Some(json!(["1", "20"])))]);
        assert_eq!(made[0].gained, ["192.0.2.0/24 over cn1-br.20"]);

        let edited = compared(&with("192.0.2.12/24"), &with("192.0.2.99/24"));
        let [only] = &edited[..] else { panic!("{edited:?}") };
        assert_eq!(only.nodes, ["n2"], "the others keep what they have");
        let moved = field("addresses", Some(json!(["192.0.2.12/24"])), Some(json!(["192.0.2.99/24"])));
        assert_eq!(only.entries[0].fields, [moved]);
        assert_eq!(only.entries[0].policies, ["HostNetworkConfig h"]);
        assert_eq!((&only.gained[..], &only.lost[..]), (&[][..], &[][..]));
    }
}
