//! What a review looks at when much is stored: few objects, however many there are.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use netloom_api::{GroupKind, fabric::GROUP};
use serde_json::{Value, json};

use super::table::{labelled, object};
use crate::{Objects, Operation, Review, User, View, review};

/// A view that counts the objects that it hands out.
struct Counting {
    objects: Objects,
    handed_out: AtomicUsize,
}

impl Counting {
    fn of(objects: Vec<Value>) -> Self {
        Self { objects: objects.into_iter().collect(), handed_out: AtomicUsize::new(0) }
    }

    fn handed(&self, found: Vec<Arc<Value>>) -> Vec<Arc<Value>> {
        self.handed_out.fetch_add(found.len(), Ordering::Relaxed);
        found
    }

    /// How many objects the review of a new object looks at.
    fn cost_of(&self, object: &Value) -> usize {
        self.handed_out.store(0, Ordering::Relaxed);
        review(&Review {
            operation: Operation::Create,
            kind: GroupKind::new(GROUP, object["kind"].as_str().unwrap()),
            namespace: None,
            name: object["metadata"]["name"].as_str().unwrap(),
            subresource: None,
            object: Some(object),
            old: None,
            user: &User::new("admin", &[]),
            dry_run: false,
            view: self,
        });
        self.handed_out.load(Ordering::Relaxed)
    }
}

impl View for Counting {
    fn get(&self, kind: GroupKind<'_>, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        self.handed_out.fetch_add(1, Ordering::Relaxed);
        self.objects.get(kind, namespace, name)
    }

    fn list(&self, kind: GroupKind<'_>) -> Vec<Arc<Value>> {
        self.handed(self.objects.list(kind))
    }

    fn lookup(&self, kind: GroupKind<'_>, index: &str, key: &str) -> Vec<Arc<Value>> {
        self.handed(self.objects.lookup(kind, index, key))
    }

    fn count(&self, kind: GroupKind<'_>, index: &str, key: &str) -> usize {
        self.objects.count(kind, index, key)
    }
}

fn zone(i: usize) -> Value {
    json!({"matchLabels": {"zone": format!("z{i}")}})
}

/// Ten thousand objects of an estate with a thousand of everything.
fn estate() -> Vec<Value> {
    let mut objects = Vec::new();
    for i in 0..1000 {
        let (name, net, other) = (format!("o{i}"), format!("n{i}"), format!("m{i}"));
        let (high, low) = (i / 256, i % 256);
        let route = json!([{"cidr": format!("10.{high}.{low}.0/24"), "action": "permit"}]);
        objects.push(object(
            "VRF",
            &name,
            json!({"vrf": format!("v{i}"), "vni": 1000 + i, "routeTarget": format!("1:{i}")}),
        ));
        let destination = object("Destination", &name, json!({"vrfRef": name, "prefixes": ["10.0.0.0/8"]}));
        objects.push(labelled(destination, json!({"zone": format!("z{i}"), "all": "yes"})));
        objects.push(object(
            "Network",
            &net,
            json!({"ipv4": {"cidr": format!("10.{high}.{low}.0/24")}, "vlan": i + 1, "vni": 10_000 + i}),
        ));
        objects.push(object("Network", &other, json!({"ipv4": {"cidr": format!("11.{high}.{low}.0/24")}})));
        objects.push(object(
            "Layer2Attachment",
            &name,
            json!({"networkRef": net, "interfaceName": format!("i{i}"), "destinations": zone(i)}),
        ));
        objects.push(object("Inbound", &name, json!({"networkRef": net, "count": 2, "destinations": zone(i)})));
        objects.push(object("Outbound", &name, json!({"networkRef": net, "addresses": {"ipv4": [format!("10.{high}.{low}.9"), format!("10.{high}.{low}.10")]}, "destinations": zone(i)})));
        objects.push(object("PodNetwork", &name, json!({"networkRef": other, "destinations": zone(i)})));
        objects.push(object(
            "Layer2NetworkConfiguration",
            &name,
            json!({"id": 2000 + i, "mtu": 1500, "vni": 20_000 + i}),
        ));
        objects.push(object(
            "VRFRouteConfiguration",
            &name,
            json!({"vrf": format!("w{i}"), "seq": 1, "import": route, "export": []}),
        ));
    }
    objects
}

/// A write of each kind that takes part in the estate.
fn writes() -> Vec<Value> {
    vec![
        object("VRF", "new", json!({"vrf": "new", "vni": 5, "routeTarget": "2:2"})),
        labelled(
            object("Destination", "new", json!({"vrfRef": "o7", "prefixes": ["10.9.0.0/16"]})),
            json!({"zone": "z7"}),
        ),
        object("Network", "new", json!({"ipv4": {"cidr": "12.0.0.0/24"}, "vlan": 4000, "vni": 4000})),
        object("Layer2Attachment", "new", json!({"networkRef": "m7", "interfaceRef": "bond0"})),
        object(
            "Inbound",
            "new",
            json!({"networkRef": "n7", "addresses": {"ipv4": ["10.0.7.77"]}, "destinations": zone(7)}),
        ),
        object("Outbound", "new", json!({"networkRef": "n7", "count": 3, "destinations": zone(7)})),
        object("Layer2NetworkConfiguration", "new", json!({"id": 4001, "mtu": 1500, "vni": 4001})),
        object(
            "VRFRouteConfiguration",
            "new",
            json!({"vrf": "v7", "seq": 1, "import": [], "export": [], "nodeSelector": {"matchLabels": {"a": "b"}}}),
        ),
    ]
}

#[test]
fn a_review_looks_at_few_of_ten_thousand_objects() {
    let objects = estate();
    assert_eq!(objects.len(), 10_000);
    let view = Counting::of(objects);
    for object in writes() {
        let cost = view.cost_of(&object);
        assert!(cost <= 40, "{}: {cost}", object["kind"]);
    }
}

#[test]
fn ten_thousand_users_of_one_network_are_not_looked_at() {
    let inbound = |name: &str| object("Inbound", name, json!({"networkRef": "n", "count": 1}));
    let mut objects: Vec<Value> = (0..10_000).map(|i| inbound(&format!("i{i}"))).collect();
    objects.push(object("Network", "n", json!({"ipv4": {"cidr": "10.0.0.0/8"}})));
    let view = Counting::of(objects);
    assert!(view.cost_of(&inbound("new")) <= 5);
}
