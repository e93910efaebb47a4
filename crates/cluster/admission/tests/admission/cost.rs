//! What a review costs when much is stored.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{Cluster, node, refusals, with};

const API: &str = "network.harvesterhci.io/v1beta1";

/// Ten thousand objects: nodes, cluster networks, uplinks, reports, host networks, states, machines.
fn stored() -> Vec<Value> {
    let mut objects: Vec<Value> =
        (0..500).map(|i| node(&format!("node{i}"), &json!({"zone": format!("z{}", i % 10)}))).collect();
    for i in 0..20 {
        let name = format!("cn{i}");
        let ready = json!([{"type": "ready", "status": "True"}]);
        objects.push(json!({"apiVersion": API, "kind": "ClusterNetwork", "metadata": {"name": name}, "status": {"conditions": ready}}));
        objects.push(json!({
            "apiVersion": API, "kind": "VlanConfig", "metadata": {"name": format!("vc{i}")},
            "spec": {"clusterNetwork": name, "uplink": {"nics": [format!("eth{i}")]}},
        }));
        for j in 0..200 {
            objects.push(json!({
                "apiVersion": API, "kind": "VlanStatus", "metadata": {"name": format!("cn{i}-node{j}")},
                "status": {"clusterNetwork": name, "node": format!("node{j}"), "conditions": ready},
            }));
        }
        for j in 0..100 {
            objects.push(json!({
                "apiVersion": API, "kind": "HostNetworkConfig", "metadata": {"name": format!("hnc{i}-{j}")},
                "spec": {"clusterNetwork": name, "vlanID": j + 2, "mode": "dhcp"},
            }));
        }
    }
    for i in 0..1500 {
        objects.push(json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": format!("vm{i}"), "namespace": "default"},
            "spec": {"networks": [{"multus": {"networkName": "net"}}]}, "status": {"nodeName": format!("node{}", i % 500)},
        }));
    }
    for i in objects.len()..10_000 {
        objects.push(json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"name": format!("state{i}"), "namespace": "default"},
            "spec": {"managed": true, "nodeName": format!("state{i}")},
        }));
    }
    objects
}

/// Prints the median and the worst of fifty; only a release build says something about the bound.
#[test]
fn a_review_stays_cheap_with_ten_thousand_objects_in_view() {
    let objects = stored();
    assert_eq!(objects.len(), 10_000);
    let host_network = json!({
        "apiVersion": API, "kind": "HostNetworkConfig", "metadata": {"name": "new"},
        "spec": {"clusterNetwork": "cn7", "vlanID": 3000, "mode": "dhcp"},
    });
    let ips: serde_json::Map<String, Value> =
        (0..500).map(|i| (format!("node{i}"), json!(format!("10.0.{}.{}/16", i / 250, i % 250 + 1)))).collect();
    let rows = [
        ("HostNetworkConfig, dhcp", host_network.clone()),
        (
            "HostNetworkConfig, 500 fixed addresses",
            with(&host_network, &[("/spec/mode", json!("static")), ("/spec/ips", ips.into())]),
        ),
        (
            "VlanConfig",
            json!({
                "apiVersion": API, "kind": "VlanConfig", "metadata": {"name": "vc7"},
                "spec": {"clusterNetwork": "cn7", "uplink": {"nics": ["eth7", "eth99"]}},
            }),
        ),
        (
            "NodeNetworkState",
            json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"name": "n", "namespace": "default"},
                "spec": {"managed": true, "nodeName": "n", "desiredState": {"interfaces": [{"name": "eth1", "mtu": 9000}]}},
            }),
        ),
    ];
    let cluster = Cluster::new(objects);
    for (what, object) in rows {
        let mut times: Vec<Duration> = (0..50).map(|_| timed(&cluster, &object)).collect();
        times.sort_unstable();
        println!("admission of {what}: median {:?}, worst {:?}", times[25], times[49]);
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn timed(cluster: &Cluster, object: &Value) -> Duration {
    let start = std::time::Instant::now();
    let verdict = cluster.create(object);
    let time = start.elapsed();
    assert_eq!(refusals(&verdict), [""; 0]);
    time
}
