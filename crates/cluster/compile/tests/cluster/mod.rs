//! A made-up cluster: racks of a few kinds of machines, and policies for all of it or for a zone.

use serde_json::{Value, json};

/// How large the cluster is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// The number of nodes.
    pub(crate) nodes: usize,
    /// The number of policies.
    pub(crate) policies: usize,
    /// In how many ways the links of nodes differ.
    pub(crate) machines: usize,
}

/// The zones that nodes are in.
const ZONES: usize = 10;

/// All objects of the cluster.
pub(crate) fn objects(size: Size) -> Vec<Value> {
    let nodes = (0..size.nodes).flat_map(|number| [node(number), state(number, size.machines)]);
    nodes.chain((0..size.policies).map(|number| policy(number, 9000))).collect()
}

fn node(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": format!("node-{number:05}"),
            "labels": {
                "kubernetes.io/hostname": format!("node-{number:05}"),
                "topology.kubernetes.io/zone": format!("zone-{}", number % ZONES),
                "rack": format!("rack-{}", number / 40),
            },
        },
    })
}

fn state(number: usize, machines: usize) -> Value {
    let ethernet = |port: usize| {
        let neighbour = json!([{"type": 1, "chassis-id": format!("leaf-{}", port % 2)}, {"type": 127, "ieee-802-1-vlans": [{"vid": 10}]}]);
        json!({
            "name": format!("eth{port}"), "type": "ethernet", "state": "up", "mtu": 9216,
            "mac-address": format!("02:00:00:{:02x}:{:02x}:{port:02x}", number / 256, number % 256),
            "ipv4": {"enabled": false}, "ipv6": {"enabled": true, "address": [{"ip": format!("fe80::{number:x}:{port:x}"), "prefix-length": 64}]},
            "lldp": {"enabled": true, "neighbors": [neighbour]},
        })
    };
    let mut links: Vec<Value> = (0..8).map(ethernet).collect();
    links.push(json!({"name": "lo", "type": "loopback", "state": "up", "ipv4": {"enabled": true, "address": [{"ip": "127.0.0.1", "prefix-length": 8}]}}));
    links.push(json!({"name": format!("dummy{}", number % machines), "type": "dummy", "state": "up"}));
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
        "metadata": {"namespace": "netloom", "name": format!("node-{number:05}"), "generation": 1, "resourceVersion": format!("{}", number + 1)},
        "spec": {"managed": true, "nodeName": format!("node-{number:05}")},
        "status": {"currentState": {"interfaces": links}},
    })
}

/// One policy: a VLAN of its own and an MTU for one of the wires. Every fifth is for all nodes, the
/// others for one zone.
pub(crate) fn policy(number: usize, mtu: u32) -> Value {
    let wire = format!("eth{}", number % 8);
    let vlan = json!({"name": format!("{wire}.{}", 100 + number), "type": "vlan", "state": "up", "vlan": {"base-iface": wire, "id": 100 + number}, "mtu": mtu});
    let mut spec = json!({"matchRules": [{"name": wire, "type": "ethernet"}], "desiredState": {"interfaces": [vlan]}});
    if !number.is_multiple_of(5) {
        let zone = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [format!("zone-{}", number % ZONES)]});
        spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}});
    }
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy",
        "metadata": {"namespace": "netloom", "name": format!("policy-{number:03}"), "generation": mtu, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": spec,
    })
}
