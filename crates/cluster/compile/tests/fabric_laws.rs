//! Laws of the fabric that hold for whatever people write: its order does not matter, nothing of it is lost where objects of
//! one VRF are merged, an intent is about its own nodes and no other, and a node has no more VRFs for sources than it needs.

use std::collections::{BTreeMap, BTreeSet};

use netloom_compile::{Compiled, Compiler, Snapshot, settle};
use proptest::prelude::*;
use serde_json::{Value, json};

const GROUP: &str = "network.t-caas.telekom.com/v1alpha1";

fn object(kind: &str, name: &str, labels: &Value, spec: &Value) -> Value {
    let metadata =
        json!({"name": name, "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels});
    json!({"apiVersion": GROUP, "kind": kind, "metadata": metadata, "spec": spec})
}

/// Nodes of two zones.
fn nodes() -> Vec<Value> {
    let of = |i: usize| {
        let (name, zone) = (format!("n{i}"), if i.is_multiple_of(2) { "a" } else { "b" });
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"zone": zone}}});
        let state = json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"namespace": "default", "name": name},
            "spec": {"managed": true, "nodeName": name},
            "status": {"currentState": {"interfaces": [{"name": "bond0", "type": "bond", "state": "up"}]}},
        });
        [node, state]
    };
    (0..4).flat_map(of).collect()
}

fn settled(objects: &[Value]) -> (Compiled, Snapshot) {
    let mut snapshot: Snapshot = objects.iter().collect();
    let compiled = settle(&mut Compiler::default(), &mut snapshot, &mut BTreeSet::new());
    (compiled, snapshot)
}

/// What each node gets of the fabric.
fn configs(compiled: &Compiled) -> BTreeMap<String, Value> {
    let of = |target: netloom_compile::NodeTarget<'_>| {
        (target.node.to_owned(), target.fabric_config().map_or(Value::Null, |fabric| json!(fabric)))
    };
    compiled.nodes.iter().map(of).collect()
}

/// Three VRFs, and destinations in them; some destinations overlap.
fn backbone(prefixes: &[(u8, u8)]) -> Vec<Value> {
    let vrf = |i: u32| {
        let (name, vni) = (format!("v{i}"), 10_100 + i);
        object("VRF", &name, &json!({}), &json!({"vrf": name, "vni": vni, "routeTarget": format!("64500:{vni}")}))
    };
    let destination = |(i, (vrf, net)): (usize, &(u8, u8))| {
        let spec = json!({"vrfRef": format!("v{vrf}"), "prefixes": [format!("192.0.{net}.0/24")]});
        object("Destination", &format!("d{i}"), &json!({"to": format!("t{i}")}), &spec)
    };
    (0..3).map(vrf).chain(prefixes.iter().enumerate().map(destination)).collect()
}

/// A network and its attachment, to some of the destinations, on the nodes of a zone or on all.
fn attached(i: usize, picked: &[usize], zone: Option<&str>) -> Vec<Value> {
    let vlan = 100 + i;
    let net = json!({"ipv4": {"cidr": format!("10.1.{i}.0/24")}, "vlan": vlan, "vni": 20_000 + i, "managed": true});
    let mut spec = json!({"networkRef": format!("net{i}")});
    if !picked.is_empty() {
        let values: Vec<String> = picked.iter().map(|one| format!("t{one}")).collect();
        spec["destinations"] = json!({"matchExpressions": [{"key": "to", "operator": "In", "values": values}]});
    }
    if let Some(zone) = zone {
        spec["nodeSelector"] = json!({"matchLabels": {"zone": zone}});
    }
    vec![
        object("Network", &format!("net{i}"), &json!({}), &net),
        object("Layer2Attachment", &format!("lan{i}"), &json!({}), &spec),
    ]
}

/// Destinations, and for each attachment what it picks of them and its zone.
type Wanted = (Vec<(u8, u8)>, Vec<(BTreeSet<usize>, Option<bool>)>);

fn wanted() -> impl Strategy<Value = Wanted> {
    let destinations = prop::collection::vec((0_u8..3, 0_u8..4), 1..6);
    let attachment = (prop::collection::btree_set(0_usize..6, 0..4), prop::option::of(any::<bool>()));
    (destinations, prop::collection::vec(attachment, 1..5))
}

fn objects((destinations, attachments): &Wanted) -> Vec<Value> {
    let zone = |zone: Option<bool>| zone.map(|is_a| if is_a { "a" } else { "b" });
    let one = |(i, (picked, of)): (usize, &(BTreeSet<usize>, Option<bool>))| {
        let picked: Vec<usize> = picked.iter().copied().filter(|one| *one < destinations.len()).collect();
        attached(i, &picked, zone(*of))
    };
    nodes().into_iter().chain(backbone(destinations)).chain(attachments.iter().enumerate().flat_map(one)).collect()
}

/// Every text in a value, wherever it stands.
fn texts(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_objects_does_not_matter(wanted in wanted(), seed in any::<u64>()) {
        let objects = objects(&wanted);
        let (compiled, snapshot) = settled(&objects);
        let mut turned: Vec<(u64, Value)> = objects.into_iter().enumerate()
            .map(|(i, object)| (seed.wrapping_mul(2 * i as u64 + 1).rotate_left(17), object)).collect();
        turned.sort_by_key(|(place, _)| *place);
        let turned: Vec<Value> = turned.into_iter().map(|(_, object)| object).collect();
        let (other, after) = settled(&turned);
        prop_assert_eq!(other.objects(&after, None), compiled.objects(&snapshot, None));
    }

    #[test]
    fn an_intent_changes_only_the_nodes_that_it_selects(wanted in wanted()) {
        let before = objects(&wanted);
        let more = attached(50, &[], Some("b"));
        let (one, _) = settled(&before);
        let (two, _) = settled(&[before, more].concat());
        let (one, two) = (configs(&one), configs(&two));
        for node in ["n0", "n2"] {
            prop_assert_eq!(&one[node], &two[node]);
        }
        for node in ["n1", "n3"] {
            prop_assert!(two[node]["layer2s"]["150"].is_object(), "{}", two[node]);
        }
    }

    #[test]
    fn merging_loses_nothing(items in prop::collection::vec((0_u8..3, 1_u16..9, 0_u8..250), 1..8)) {
        let mut all = nodes();
        let mut said = BTreeSet::new();
        for (i, (vrf, seq, net)) in items.iter().enumerate() {
            let at = |block: u8| format!("10.{block}.{net}.0/24");
            let mut one = |block: u8| {
                // One source has one VRF, and one way out of it.
                let net = if block == 4 { format!("10.4.{i}.0/24") } else { at(block) };
                said.insert(net.clone());
                net
            };
            let spec = json!({
                "vrf": format!("v{vrf}"), "vni": 10_100 + u32::from(*vrf), "routeTarget": format!("64500:{}", 10_100 + u32::from(*vrf)),
                "seq": seq,
                "import": [{"cidr": one(1), "action": "permit", "le": 32}],
                "export": [{"cidr": one(2), "action": "deny"}],
                "aggregate": [one(3)],
                "sbrPrefixes": [one(4)],
                "communities": [format!("64500:{}", 100 + i)],
            });
            said.insert(format!("64500:{}", 100 + i));
            all.push(object("VRFRouteConfiguration", &format!("o{i}"), &json!({}), &spec));
        }
        let (compiled, _) = settled(&all);
        for (node, config) in configs(&compiled) {
            let mut found = BTreeSet::new();
            texts(&config, &mut found);
            let lost: Vec<_> = said.difference(&found).collect();
            prop_assert!(lost.is_empty(), "{node} has nothing of {lost:?}");
        }
    }

    #[test]
    fn a_node_has_no_more_vrfs_for_sources_than_sets_of_vrfs_that_sources_need(wanted in wanted()) {
        let (destinations, attachments) = &wanted;
        let (compiled, _) = settled(&objects(&wanted));
        for (node, config) in configs(&compiled) {
            let zone = matches!(node.as_str(), "n0" | "n2");
            let mut needed: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
            for (picked, _) in attachments.iter().filter(|(_, of)| of.is_none_or(|of| of == zone)) {
                let picked: BTreeSet<usize> = picked.iter().copied().filter(|one| *one < destinations.len()).collect();
                if !picked.is_empty() {
                    needed.insert(picked);
                }
            }
            let made = config["localVRFs"].as_object().map_or(0, serde_json::Map::len);
            prop_assert!(made <= needed.len(), "{node}: {made} for {needed:?}");
            let used: BTreeSet<&str> = config["clusterVRF"]["policyRoutes"].as_array().into_iter().flatten()
                .filter_map(|route| route["nextHop"]["vrf"].as_str()).collect();
            let local: BTreeSet<&str> =
                config["localVRFs"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            prop_assert_eq!(used, local, "each is there for a source");
        }
    }
}

/// The configuration of a node is one object of a server, which stores none above 1 MiB.
#[test]
fn what_makes_the_configuration_of_a_node_too_large_is_left_out_and_says_so() {
    let routes = |number: u32, items: u32| {
        let item = |i: u32| json!({"cidr": format!("10.{number}.{}.{}/32", i / 250, i % 250), "action": "permit"});
        let export: Vec<Value> = (0..items).map(item).collect();
        let vni = 10_100 + number;
        let spec = json!({
            "vrf": format!("v{number}"), "vni": vni, "routeTarget": format!("64500:{vni}"), "seq": 10, "import": [],
            "export": export,
        });
        let mut object = object("VRFRouteConfiguration", &format!("r{number}"), &json!({}), &spec);
        object["metadata"]["creationTimestamp"] = json!(format!("2026-01-0{number}T00:00:00Z"));
        object
    };
    let objects: Vec<Value> = [routes(3, 3), routes(2, 2000), routes(1, 2000)].into_iter().chain(nodes()).collect();
    let (compiled, snapshot) = settled(&objects);
    let n0 = &configs(&compiled)["n0"];
    assert!(n0.to_string().len() < 1 << 20, "{}", n0.to_string().len());
    assert!(!n0["fabricVRFs"]["v1"].is_null(), "the oldest stays");
    assert!(n0["fabricVRFs"]["v2"].is_null());
    let written = compiled.objects(&snapshot, None);
    let ready = |name: &str| {
        let object =
            written.iter().find(|one| one["metadata"]["name"] == name && one["kind"] == "VRFRouteConfiguration");
        object.map(|one| one["status"]["conditions"][0].clone()).unwrap_or_default()
    };
    let reasons = ["r1", "r2"].map(|name| ready(name)["reason"].clone());
    assert_eq!(reasons, [Value::Null, json!("TooLarge")], "{}", ready("r2"));
}
