//! How long a review takes with ten thousand objects in view.
//!
//! `cargo run --profile dist -p netloom-api --example admission_bench` prints one line for each figure:
//! name, value, unit. A review is what the webhook does for a request: completing and judging. Every
//! kind of write in here is an allowed one, so that all of its rules run.

#![expect(clippy::print_stdout, reason = "the figures are the output of this program")]
#![expect(clippy::disallowed_methods, reason = "measuring time is what this program is for")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use netloom_admission::{Objects, Operation, Review, User, review};
use netloom_api::GroupKind;
use serde_json::{Value, json};

const FABRIC: &str = "network.t-caas.telekom.com/v1alpha1";
const HOSTNET: &str = "network.harvesterhci.io/v1beta1";
/// How often each write is reviewed.
const TIMES: usize = 2_000;
const OBJECTS: usize = 10_000;
const NODES: usize = 500;
const CLUSTER_NETWORKS: usize = 20;

/// A write to be reviewed.
struct Case {
    operation: Operation,
    new: Value,
    old: Option<Value>,
}

fn main() -> Result<(), String> {
    let view: Objects = estate().into_iter().collect();
    if view.len() != OBJECTS {
        return Err(format!("there are {} objects, not {OBJECTS}", view.len()));
    }
    let mut all = Vec::new();
    let mut slowest = (Duration::ZERO, String::new());
    let cases = cases();
    let refused: Vec<String> = cases.iter().filter_map(|case| refusal(case, &view)).collect();
    if !refused.is_empty() {
        return Err(refused.join("\n"));
    }
    for case in cases {
        let times = measure(&case, &view);
        let p99 = percentile(times.clone(), 99);
        if p99 > slowest.0 {
            slowest = (p99, format!("{} {}", case.operation.as_str(), case.new["kind"].as_str().unwrap_or_default()));
        }
        all.extend(times);
    }
    print("p50 of all", percentile(all.clone(), 50), "");
    print("p99 of all", percentile(all, 99), "");
    print("p99 of the slowest", slowest.0, &format!(" ({})", slowest.1));
    Ok(())
}

/// Why a write is not allowed; none if it is.
fn refusal(case: &Case, view: &Objects) -> Option<String> {
    let verdict = review(&request(case, &User::new("admin", &[]), view));
    let refused = verdict.forbidden.is_some() || !verdict.errors.is_empty();
    refused.then(|| format!("{} {}: {:?}", case.new["kind"], case.new["spec"], verdict.errors))
}

/// The times of one write.
fn measure(case: &Case, view: &Objects) -> Vec<Duration> {
    let user = User::new("admin", &[]);
    let request = request(case, &user, view);
    let once = || {
        let started = Instant::now();
        black_box(review(black_box(&request)));
        started.elapsed()
    };
    (0..TIMES).map(|_| once()).collect()
}

fn request<'a>(case: &'a Case, user: &'a User, view: &'a Objects) -> Review<'a> {
    let text = |path: &str| case.new.pointer(path).and_then(Value::as_str);
    let group = text("/apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
    Review {
        operation: case.operation,
        kind: GroupKind::new(group, text("/kind").unwrap_or_default()),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name").unwrap_or_default(),
        subresource: None,
        object: Some(&case.new),
        old: case.old.as_ref(),
        user,
        dry_run: false,
        view,
    }
}

fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn print(name: &str, time: Duration, what: &str) {
    println!("{name}: {:.1} µs{what}", time.as_secs_f64() * 1e6);
}

fn object(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata(name)});
    object["spec"] = spec;
    object
}

/// With a record of who set which field, as every stored object has.
fn metadata(name: &str) -> Value {
    json!({
        "name": name, "uid": "6b6f7c1e-0000-4000-8000-000000000000", "generation": 1, "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:networkRef": {}, "f:destinations": {"f:matchLabels": {"f:zone": {}}}}}}],
    })
}

fn fabric(kind: &str, name: &str, spec: Value) -> Value {
    object(FABRIC, kind, name, spec)
}

fn zone(i: usize) -> Value {
    json!({"matchLabels": {"zone": format!("z{i}")}})
}

fn destination(name: &str, vrf: usize, zone: usize) -> Value {
    let mut object = fabric("Destination", name, json!({"vrfRef": format!("o{vrf}"), "prefixes": ["10.0.0.0/8"]}));
    object["metadata"]["labels"] = json!({"zone": format!("z{zone}"), "all": "yes"});
    object
}

/// Objects of every kind that rules look at.
fn estate() -> Vec<Value> {
    let mut objects = hosts();
    let mut i = 0;
    while objects.len() + 20 <= OBJECTS {
        objects.extend(tenant(i));
        i += 1;
    }
    let rest = OBJECTS - objects.len();
    objects.extend((0..rest).map(|i| {
        let cidr = format!("12.{}.{}.0/24", i / 256, i % 256);
        fabric("Network", &format!("spare{i}"), json!({"ipv4": {"cidr": cidr}, "vlan": 4010 + i}))
    }));
    objects
}

/// Ten objects that belong together.
fn tenant(i: usize) -> Vec<Value> {
    let (name, net, other) = (format!("o{i}"), format!("n{i}"), format!("m{i}"));
    let (high, low) = (i / 256, i % 256);
    let addresses = json!({"ipv4": [format!("10.{high}.{low}.9"), format!("10.{high}.{low}.10")]});
    let route = json!([{"cidr": format!("10.{high}.{low}.0/24"), "action": "permit"}]);
    vec![
        fabric("VRF", &name, json!({"vrf": format!("v{i}"), "vni": 1000 + i, "routeTarget": format!("1:{i}")})),
        destination(&name, i, i),
        fabric(
            "Network",
            &net,
            json!({"ipv4": {"cidr": format!("10.{high}.{low}.0/24")}, "vlan": i + 1, "vni": 10_000 + i}),
        ),
        fabric("Network", &other, json!({"ipv4": {"cidr": format!("11.{high}.{low}.0/24")}})),
        fabric(
            "Layer2Attachment",
            &name,
            json!({"networkRef": net, "interfaceName": format!("i{i}"), "destinations": zone(i)}),
        ),
        fabric("Inbound", &name, json!({"networkRef": net, "count": 2, "destinations": zone(i)})),
        fabric("Outbound", &name, json!({"networkRef": net, "addresses": addresses, "destinations": zone(i)})),
        fabric("PodNetwork", &name, json!({"networkRef": other, "destinations": zone(i)})),
        fabric("Layer2NetworkConfiguration", &name, json!({"id": 2000 + i, "mtu": 1500, "vni": 20_000 + i})),
        fabric(
            "VRFRouteConfiguration",
            &name,
            json!({"vrf": format!("w{i}"), "seq": 1, "import": route, "export": []}),
        ),
    ]
}

fn uplink(name: &str, network: usize, nic: usize) -> Value {
    object(
        HOSTNET,
        "VlanConfig",
        name,
        json!({"clusterNetwork": format!("cluster-{network}"), "uplink": {"nics": [format!("eth{nic}")]}}),
    )
}

fn host_network(name: &str, network: usize, vlan: usize) -> Value {
    let spec = json!({"clusterNetwork": format!("cluster-{network}"), "vlanID": vlan, "mode": "dhcp"});
    object(HOSTNET, "HostNetworkConfig", name, spec)
}

fn state(node: usize) -> Value {
    let mut state = object("nmstate.io/v1", "NodeNetworkState", &format!("node{node}"), json!({}));
    state["metadata"]["namespace"] = json!("default");
    let interface = |i: usize| json!({"name": format!("eth{i}"), "type": "ethernet", "state": "up", "mtu": 1500});
    let interfaces: Vec<Value> = (0..16).map(interface).collect();
    state["spec"] =
        json!({"managed": true, "nodeName": format!("node{node}"), "desiredState": {"interfaces": interfaces}});
    state
}

fn attachment(number: usize) -> Value {
    let network = number % CLUSTER_NETWORKS;
    let config = json!({"cniVersion": "0.3.1", "type": "bridge", "bridge": format!("cluster-{network}-br"),
        "vlan": 100 + number / CLUSTER_NETWORKS, "ipam": {}});
    let mut object = object(
        "k8s.cni.cncf.io/v1",
        "NetworkAttachmentDefinition",
        &format!("net{number}"),
        json!({"config": config.to_string()}),
    );
    object["metadata"]["namespace"] = json!("default");
    object["metadata"]["labels"] = json!({"network.harvesterhci.io/clusternetwork": format!("cluster-{network}")});
    object
}

/// Nodes, their uplinks and what is attached to them.
fn hosts() -> Vec<Value> {
    let mut objects = Vec::new();
    for i in 0..NODES {
        let mut node = object("v1", "Node", &format!("node{i}"), json!({"podCIDR": "10.0.0.0/24"}));
        node["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": format!("z{}", i % 3)});
        node["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}], "images": ["a", "b", "c"]});
        objects.extend([node, state(i)]);
    }
    // One more than those with uplinks, for a new uplink.
    for i in 0..=CLUSTER_NETWORKS {
        let mut network = object(HOSTNET, "ClusterNetwork", &format!("cluster-{i}"), json!({}));
        network["status"] = json!({"conditions": [{"type": "ready", "status": "True"}]});
        objects.push(network);
    }
    for i in 0..CLUSTER_NETWORKS {
        objects.extend([uplink(&format!("uplink-{i}"), i, i), host_network(&format!("host-{i}"), i, 2000)]);
        objects.extend((0..NODES / 10).map(|node| vlan_status(i, node)));
    }
    objects.extend((0..NODES).map(attachment));
    objects
}

fn vlan_status(network: usize, node: usize) -> Value {
    json!({
        "apiVersion": HOSTNET, "kind": "VlanStatus", "metadata": metadata(&format!("cluster-{network}-node{node}")),
        "status": {"clusterNetwork": format!("cluster-{network}"), "vlanConfig": format!("uplink-{network}"),
            "node": format!("node{node}"), "conditions": [{"type": "ready", "status": "True"}]},
    })
}

/// A new object of each kind, and a change of one that is there.
fn cases() -> Vec<Case> {
    let new = |new: Value| Case { operation: Operation::Create, new, old: None };
    let changed = |old: Value, path: &str, value: Value| {
        let mut new = old.clone();
        if let Some(place) = new.pointer_mut(path) {
            *place = value;
        }
        Case { operation: Operation::Update, new, old: Some(old) }
    };
    let addresses = json!({"ipv4": ["10.0.7.77"]});
    let some = tenant(7);
    vec![
        new(fabric("VRF", "new", json!({"vrf": "new", "vni": 5, "routeTarget": "2:2"}))),
        new(destination("new", 7, 7)),
        new(fabric("Network", "new", json!({"ipv4": {"cidr": "13.0.0.0/24"}, "vlan": 4000, "vni": 4000}))),
        new(fabric("Layer2Attachment", "new", json!({"networkRef": "spare0", "interfaceRef": "bond0"}))),
        new(fabric("Inbound", "new", json!({"networkRef": "n7", "addresses": addresses, "destinations": zone(7)}))),
        new(fabric("Outbound", "new", json!({"networkRef": "n7", "count": 3, "destinations": zone(7)}))),
        new(fabric("Layer2NetworkConfiguration", "new", json!({"id": 4001, "mtu": 1500, "vni": 4001}))),
        new(fabric("VRFRouteConfiguration", "new", json!({"vrf": "x7", "seq": 1, "import": [], "export": []}))),
        new(host_network("new", 7, 2001)),
        new(uplink("new", CLUSTER_NETWORKS, 100)),
        new(attachment(NODES + 7)),
        new(state(NODES + 7)),
        changed(some[1].clone(), "/spec/prefixes", json!(["10.0.0.0/8", "192.168.0.0/16"])),
        changed(some[5].clone(), "/spec/count", json!(3)),
        changed(state(7), "/spec/managed", json!(false)),
        changed(host_network("host-7", 7, 2000), "/spec/vlanID", json!(2002)),
    ]
}
