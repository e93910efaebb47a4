//! Laws that hold for any objects: the order of arrival does not matter, a result that is written
//! gives itself again, what shares a class is what it would be alone, and what a deleted policy had
//! is as if it had never been.

use netloom_api::GroupKind;
use netloom_compile::{
    Compiled, Compiler, ObjectKey, Snapshot, compile,
    nodestate::{NodeFacts, Policy, PolicySet, desired_for},
};
use proptest::prelude::*;
use serde_json::{Value, json};

const POLICY: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetConfPolicy");

fn node(number: usize, zone: u8, tainted: bool) -> Value {
    let taints = if tainted { json!([{"key": "role", "value": "x", "effect": "NoSchedule"}]) } else { json!([]) };
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{number}"), "labels": {"zone": format!("z{zone}"), "host": format!("n{number}")}}, "spec": {"taints": taints}})
}

fn state(number: usize, hardware: u8, manual: Option<&Value>) -> Value {
    let heard = |chassis: &str, ids: &[u16]| {
        let vlans: Vec<Value> = ids.iter().map(|id| json!({"vid": id})).collect();
        json!({"enabled": true, "neighbors": [[{"chassis-id": chassis}, {"ieee-802-1-vlans": vlans}]]})
    };
    let links = match hardware {
        0 => {
            json!([{"name": "eth0", "type": "ethernet", "state": "up"}, {"name": "eth1", "type": "ethernet", "state": "up"}])
        }
        1 => {
            json!([{"name": "eth0", "type": "ethernet", "state": "up", "lldp": heard("s1", &[10])}, {"name": "eth1", "type": "ethernet", "state": "up", "lldp": heard("s1", &[10, 20])}])
        }
        _ => {
            json!([{"name": "eth0", "type": "ethernet", "state": "up"}, {"name": "eth0.5", "type": "vlan", "state": "up", "vlan": {"id": 5, "base-iface": "eth0"}}])
        }
    };
    let mut object = json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
        "metadata": {"namespace": "default", "name": format!("n{number}")},
        "spec": {"managed": true, "nodeName": format!("n{number}")},
        "status": {"currentState": {"interfaces": links}},
    });
    if let Some(manual) = manual {
        object["spec"]["desiredState"] = manual.clone();
    }
    object
}

fn node_targets() -> impl Strategy<Value = Value> {
    let mtu = prop_oneof![Just(1400), Just(9000)];
    prop_oneof![
        mtu.clone().prop_map(|mtu| json!({"desiredState": {"interfaces": [{"name": "*", "mtu": mtu}]}})),
        mtu.prop_map(
            |mtu| json!({"desiredState": {"interfaces": [{"name": "eth0", "mtu": mtu, "ipv4": {"enabled": false}}]}})
        ),
        Just(
            json!({"desiredState": {"interfaces": [{"name": "eth0.7", "type": "vlan", "state": "up", "vlan": {"base-iface": "eth0", "id": 7}}]}})
        ),
        Just(
            json!({"desiredState": {"interfaces": [{"name": "bond0", "type": "bond", "state": "up", "link-aggregation": {"mode": "active-backup", "port": ["eth0", "eth1"]}}]}})
        ),
        Just(
            json!({"desiredState": {"interfaces": [{"name": "br0", "type": "linux-bridge", "state": "up", "bridge": {"port": [{"name": "eth1"}]}}, {"name": "br0.9", "type": "vlan", "state": "up", "vlan": {"base-iface": "br0", "id": 9}}]}})
        ),
        Just(
            json!({"desiredState": {"routes": {"config": [{"destination": "198.51.100.0/24", "next-hop-interface": "eth0"}]}}})
        ),
        Just(json!({"desiredState": {"interfaces": [{"name": "eth0", "mtu": "bad"}]}})),
        Just(json!({"autoconfig": {"autoBonding": true, "autoVlan": true}})),
        Just(json!({"autoconfig": {"autoVlan": true}})),
    ]
}

prop_compose! {
    fn policies()(node_target in node_targets(), zone in prop::option::of(0_u8..3), rule in 0_u8..4, tolerant in any::<bool>(), day in 1_u8..4) -> Value {
        let mut spec = node_target;
        spec["matchRules"] = match rule {
            0 => json!([{"name": "eth*"}]),
            1 => json!([{"type": "ethernet"}]),
            2 => json!([{"name": "eth0"}, {"vlanID": 5}]),
            _ => json!([{"lldp": {"vlanIDList": [10]}}]),
        };
        if let Some(zone) = zone {
            let terms = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": [format!("z{zone}")]}]}]);
            spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
        }
        if tolerant {
            spec["tolerations"] = json!([{"operator": "Exists"}]);
        }
        json!({"apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy", "metadata": {"namespace": "default", "creationTimestamp": format!("2026-01-0{day}T00:00:00Z")}, "spec": spec})
    }
}

fn manual_parts() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        4 => Just(None),
        1 => Just(Some(json!({"interfaces": [{"name": "eth0", "mtu": 1500}]}))),
        1 => Just(Some(json!({"interfaces": [{"name": "eth1", "macAddress": "02:00:5e:00:53:01"}, {"name": "eth0", "ipv4": {"enabled": false}}]}))),
        1 => Just(Some(json!({"routes": {"config": [{"destination": "198.51.100.0/24", "next-hop-interface": "eth0"}]}}))),
    ]
}

prop_compose! {
    fn clusters()(
        nodes in prop::collection::vec((0_u8..3, 0_u8..3, prop::bool::weighted(0.2), manual_parts()), 1..6),
        policies in prop::collection::vec(policies(), 0..6),
    ) -> Vec<Value> {
        let mut objects = Vec::new();
        for (number, (zone, hardware, tainted, manual)) in nodes.into_iter().enumerate() {
            objects.push(node(number, zone, tainted));
            objects.push(state(number, hardware, manual.as_ref()));
        }
        for (number, mut policy) in policies.into_iter().enumerate() {
            policy["metadata"]["name"] = json!(format!("p{number}"));
            objects.push(policy);
        }
        objects
    }
}

/// The objects after the result was written to them.
fn written(objects: &[Value], snapshot: &Snapshot, compiled: &Compiled) -> Vec<Value> {
    let mut all = objects.to_vec();
    for object in all.iter_mut().filter(|object| object["kind"] == "NodeNetworkState") {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if let Some(node_target) = compiled.nodes.get(&name).filter(|node_target| node_target.desired.held.is_empty()) {
            let new = node_target.object(snapshot, &compiled.revision.name);
            object["metadata"]["annotations"] = new["metadata"]["annotations"].clone();
            object["spec"] = new["spec"].clone();
        }
    }
    all.extend(compiled.revision.lay_out(&Snapshot::default()).objects(&compiled.revision.name));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_arrival_does_not_matter((objects, shuffled) in clusters().prop_flat_map(|objects| (Just(objects.clone()), Just(objects).prop_shuffle()))) {
        let (a, b): (Snapshot, Snapshot) = (objects.iter().collect(), shuffled.iter().collect());
        let (x, y) = (compile(&a).objects(&a, None), compile(&b).objects(&b, None));
        prop_assert_eq!(netloom_yaml::print_stream(&x), netloom_yaml::print_stream(&y));
    }

    #[test]
    fn what_is_written_compiles_to_itself(objects in clusters()) {
        let before: Snapshot = objects.iter().collect();
        let first = compile(&before);
        let after: Snapshot = written(&objects, &before, &first).iter().collect();
        let second = compile(&after);
        prop_assert_eq!(&second.revision, &first.revision);
        for node_target in second.nodes.iter() {
            prop_assert!(node_target.is_written(&after, &second.revision.name), "{}: {:?} then {:?}", node_target.node, first.nodes.get(node_target.node).unwrap().desired, node_target.desired);
        }
    }

    #[test]
    fn a_node_in_a_class_is_what_it_is_alone(objects in clusters()) {
        let snapshot: Snapshot = objects.iter().collect();
        let compiled = compile(&snapshot);
        let policies = PolicySet::live(&snapshot);
        for node_target in compiled.nodes.iter() {
            let node = snapshot.nodes.get(&ObjectKey::global(node_target.node)).unwrap();
            let state = snapshot.states.get(node_target.object).unwrap();
            prop_assert_eq!(&desired_for(NodeFacts { node, state, host: None }, &policies), node_target.desired.as_ref());
        }
    }

    #[test]
    fn a_compiler_with_a_past_gives_what_a_fresh_one_gives(first in clusters(), second in clusters()) {
        let mut compiler = Compiler::default();
        let mut snapshot: Snapshot = first.iter().collect();
        compiler.compile(&snapshot);
        for objects in second.chunks(4) {
            for object in objects {
                snapshot.put(object);
            }
            let (old, new) = (compiler.compile(&snapshot), compile(&snapshot));
            prop_assert_eq!(old.objects(&snapshot, None), new.objects(&snapshot, None));
        }
    }

    #[test]
    fn a_deleted_policy_leaves_nothing(objects in clusters(), extra in policies()) {
        let without: Snapshot = objects.iter().collect();
        let wanted = compile(&without);
        let mut all = objects.clone();
        let mut extra = extra;
        extra["metadata"]["name"] = json!("extra");
        all.push(extra);
        let with: Snapshot = all.iter().collect();
        let mut after: Snapshot = written(&all, &with, &compile(&with)).iter().collect();
        after.remove(POLICY, &ObjectKey::new("default", "extra"));
        let found = compile(&after);
        for node_target in found.nodes.iter() {
            let wanted = wanted.nodes.get(node_target.node).unwrap();
            prop_assert_eq!(&node_target.desired.provenance, &wanted.desired.provenance);
            prop_assert_eq!(spelled(node_target.desired.document.as_ref()), spelled(wanted.desired.document.as_ref()));
        }
    }

    #[test]
    fn a_frozen_revision_means_what_its_policies_meant(objects in clusters()) {
        let snapshot: Snapshot = objects.iter().collect();
        let mut compiler = Compiler::default();
        let result = compiler.compile(&snapshot);
        let mut later = snapshot.clone();
        for object in result.revision.lay_out(&snapshot).objects(&result.revision.name) {
            later.put(&object);
        }
        for key in snapshot.iter::<Policy>().map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            later.remove(POLICY, &key);
        }
        let revision = later.revisions.get(&ObjectKey::global(&result.revision.name)).unwrap().clone();
        let merges = compiler.counts().merges;
        let node_targets = compiler.node_targets(&later, &revision).unwrap();
        for node_target in node_targets.iter() {
            prop_assert_eq!(node_target.desired, result.nodes.get(node_target.node).unwrap().desired);
        }
        prop_assert_eq!(compiler.counts().merges, merges, "the answers were there already");
    }
}

/// A document in one spelling, whatever hand wrote parts of it.
fn spelled(document: Option<&Value>) -> Option<String> {
    let text = document?.to_string();
    let read = netloom_nmstate::parse("test", text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"));
    Some(read.to_yaml())
}
