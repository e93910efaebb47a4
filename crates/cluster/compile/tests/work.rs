//! Work follows what has changed, and how many different nodes there are; shown by counts, which do
//! not depend on the machine.

mod cluster;

use cluster::{Size, objects, policy};
use netloom_compile::{Compiler, Counts, Snapshot, nodestate::PolicyReport};

const SIZE: Size = Size { nodes: 1000, policies: 50, machines: 4 };

fn total(counts: Counts) -> usize {
    let Counts { objects, nodes, selections, contributions, merges } = counts;
    objects + nodes + selections + contributions + merges
}

#[test]
fn one_changed_policy_costs_a_fiftieth_of_everything() {
    let mut snapshot: Snapshot = objects(SIZE).iter().collect();
    let mut compiler = Compiler::default();
    let result = compiler.compile(&snapshot);
    let everything = compiler.counts();
    assert_eq!(result.nodes.len(), 1000);
    assert_eq!((everything.objects, everything.nodes), (50, 1000));
    // Ten zones, and of each the machines that are in it.
    assert!(everything.merges <= 40, "{everything:?}");
    assert!(everything.selections <= 50 * 10, "{everything:?}");
    assert!(everything.contributions <= 50 * 4, "{everything:?}");

    snapshot.put(&policy(7, 1400));
    let again = compiler.compile(&snapshot);
    let change = compiler.counts();
    assert_eq!((change.objects, change.nodes), (1, 0), "{change:?}");
    assert!(change.merges <= 4, "one zone, at most four kinds of machines: {change:?}");
    assert!(total(change) * 50 <= total(everything), "{change:?} after {everything:?}");
    assert_ne!(again.revision.name, result.revision.name);

    compiler.compile(&snapshot);
    assert_eq!(total(compiler.counts()), 0, "nothing has changed");
}

#[test]
fn one_changed_node_costs_no_more_than_its_class() {
    let all = objects(Size { nodes: 200, ..SIZE });
    let mut snapshot: Snapshot = all.iter().collect();
    let mut compiler = Compiler::default();
    compiler.compile(&snapshot);
    let mut state = all.iter().rfind(|object| object["kind"] == "NodeNetworkState").unwrap().clone();
    state["status"]["currentState"]["interfaces"][0]["state"] = "down".into();
    snapshot.put(&state);
    let result = compiler.compile(&snapshot);
    let counts = compiler.counts();
    assert_eq!((counts.objects, counts.selections, counts.merges), (0, 0, 1), "{counts:?}");
    assert_eq!(result.nodes.len(), 200);
}

#[test]
fn a_sign_of_life_costs_nothing() {
    let all = objects(Size { nodes: 50, ..SIZE });
    let mut snapshot: Snapshot = all.iter().collect();
    let mut compiler = Compiler::default();
    compiler.compile(&snapshot);
    let mut node = all[0].clone();
    node["metadata"]["resourceVersion"] = "77".into();
    node["status"] = serde_json::json!({"conditions": [{"type": "MemoryPressure", "status": "False"}]});
    snapshot.put(&node);
    compiler.compile(&snapshot);
    assert_eq!(total(compiler.counts()), 0);
}

#[test]
fn every_node_its_own_class_is_still_the_same_result() {
    let size = Size { nodes: 60, policies: 10, machines: 60 };
    let snapshot: Snapshot = objects(size).iter().collect();
    let mut compiler = Compiler::default();
    let result = compiler.compile(&snapshot);
    assert_eq!(compiler.counts().merges, 60);
    assert!(
        result.reports.of::<PolicyReport>().all(|(_, report)| report.conflict.is_none() && report.broken.is_empty())
    );
    let vlans = |node: &str| {
        result.nodes.get(node).unwrap().desired.document.as_ref().unwrap()["interfaces"].as_array().unwrap().len()
    };
    assert_eq!(vlans("node-00001"), 2 + 1, "two policies for all, one for the zone");
}

/// An uplink for each of ten zones, and some host networks.
fn networks(count: usize) -> Vec<serde_json::Value> {
    let group = "network.harvesterhci.io/v1beta1";
    let mut all = vec![serde_json::json!({"apiVersion": group, "kind": "ClusterNetwork", "metadata": {"name": "cn"}})];
    all.extend((0..10).map(|zone| {
        serde_json::json!({
            "apiVersion": group, "kind": "VlanConfig", "metadata": {"name": format!("uplink-{zone}")},
            "spec": {
                "clusterNetwork": "cn", "uplink": {"nics": ["eth7"]},
                "nodeSelector": {"topology.kubernetes.io/zone": format!("zone-{zone}")},
            },
        })
    }));
    all.extend((0..count).map(|number| host_network(number, "dhcp", &serde_json::json!({}))));
    all
}

fn host_network(number: usize, mode: &str, ips: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "network.harvesterhci.io/v1beta1", "kind": "HostNetworkConfig",
        "metadata": {"name": format!("host-{number:03}"), "generation": 1},
        "spec": {"clusterNetwork": "cn", "vlanID": 2 + number, "mode": mode, "ips": ips},
    })
}

#[test]
fn host_networks_are_worked_out_once_for_nodes_that_are_alike() {
    let size = Size { nodes: 100, policies: 5, machines: 4 };
    let mut snapshot: Snapshot = objects(size).iter().chain(&networks(20)).collect();
    let mut compiler = Compiler::default();
    compiler.compile(&snapshot);
    let everything = compiler.counts();
    assert_eq!(everything.objects, 5 + 30);
    let policies = 5 * 4;
    // What the nodes of a class have in common, and what they get.
    let networks = 2 * 40;
    assert!(
        everything.contributions <= policies + networks,
        "ten zones, of each the machines that are in it: {everything:?}"
    );

    compiler.compile(&snapshot);
    assert_eq!(total(compiler.counts()), 0, "nothing has changed");

    // Of a host network with fixed addresses every node has its own part, and a change of one concerns one.
    let ips = |last: u8| {
        let address = |n: usize| format!("10.{}.{}.{}/8", n / 200, n % 200, if n == 7 { last } else { 1 });
        (0..100).map(|n| (format!("node-{n:05}"), address(n).into())).collect::<serde_json::Map<_, _>>().into()
    };
    snapshot.put(&host_network(3, "static", &ips(1)));
    compiler.compile(&snapshot);
    let shared = compiler.counts().merges;
    assert_eq!(compiler.counts().contributions, 100 + shared);
    snapshot.put(&host_network(3, "static", &ips(2)));
    let before = compiler.compile(&snapshot);
    assert!(before.nodes.get("node-00007").unwrap().host_config().unwrap().addresses[0].address.0.ends_with(".2/8"));
    let change = compiler.counts();
    assert_eq!((change.objects, change.contributions, change.merges), (1, 1, 0), "{change:?}");
}
