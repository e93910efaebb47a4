//! One more front end, all the way: its object is compiled, planned, compared with what others want, brought onto a
//! simulated host, reported in its status, and found again from the link that it made.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use netloom_agent_core::{DesiredState, Leases, prepare};
use netloom_compile::{
    Compiler, FrontEnd, ObjectRef, Snapshot,
    difference::{ChangeKind, differences},
    hostnet::HostNetworks,
    nodestate::NodePolicies,
};
use netloom_controller_core::{Controller, Index, Leadership, Settings};
use netloom_front_end_test::Beacons;
use netloom_kernel_sim::SimHost;
use netloom_model::Ownership;
use netloom_object::{Action, Answer, Change, Request, with_late};
use netloom_plan::Options;
use netloom_types::{IfName, MacAddr};
use serde_json::{Value, json};

/// Those of the program with one between them.
const FRONT_ENDS: &[&dyn FrontEnd] = &[&HostNetworks, &Beacons, &NodePolicies];

fn beacon(name: &str, day: u8, link: &str, mtu: u32) -> Value {
    json!({
        "apiVersion": "beacons.example/v1", "kind": "Beacon",
        "metadata": {"name": name, "generation": 1, "creationTimestamp": format!("2030-01-0{day}T00:00:00Z")},
        "spec": {"rack": "a", "link": link, "address": "192.0.2.9/32", "mtu": mtu},
    })
}

fn policy(mtu: u32) -> Value {
    let wanted = json!({"interfaces": [{"name": "beacon0", "type": "dummy", "state": "up", "mtu": mtu}]});
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy", "metadata": {"namespace": "default", "name": "p"},
        "spec": {"matchRules": [{"name": "eth0"}], "desiredState": wanted},
    })
}

/// A server that takes everything, a controller, and one node with a simulated kernel.
struct Cluster {
    objects: BTreeMap<ObjectRef, Value>,
    index: Index,
    controller: Controller,
    version: u64,
    host: SimHost,
    owned: Ownership,
    now: Timestamp,
}

impl Cluster {
    fn new() -> Self {
        let mut host = SimHost::new();
        host.add_ethernet("eth0".parse().expect("a name"), MacAddr::new([2, 0, 0, 0, 0, 1]));
        let mut cluster = Self {
            objects: BTreeMap::new(),
            index: Index::of(FRONT_ENDS),
            controller: Controller::of(Settings::default(), FRONT_ENDS),
            version: 0,
            host,
            owned: Ownership::default(),
            now: "2030-02-01T00:00:00Z".parse().expect("a time"),
        };
        for kind in cluster.index.kinds().all().to_vec() {
            cluster.index.take(cluster.now, Change::Listed { kind, objects: Vec::new() });
        }
        cluster.write(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"rack": "a"}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }));
        let links = json!([{"name": "eth0", "type": "ethernet", "state": "up"}]);
        cluster.write(json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"namespace": "default", "name": "n1"},
            "spec": {"managed": true, "nodeName": "n1"}, "status": {"currentState": {"interfaces": links}},
        }));
        cluster
    }

    fn write(&mut self, mut object: Value) {
        let Some(target) = self.index.kinds().reference(&object) else { return };
        self.version += 1;
        let before = self.objects.get(&target);
        let changed = before.is_none_or(|before| before["spec"] != object["spec"]);
        let generation = before.and_then(|before| before["metadata"]["generation"].as_u64()).unwrap_or_default();
        object["metadata"]["generation"] = json!(generation + u64::from(changed));
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if object["metadata"].get("uid").is_none() {
            object["metadata"]["uid"] = json!(format!("u{}", self.version));
        }
        self.objects.insert(target, object.clone());
        self.index.take(self.now, Change::Put(Arc::new(object)));
    }

    fn get(&self, kind: &str, name: &str) -> &Value {
        let found = self.objects.iter().find(|(object, _)| object.kind.kind == kind && object.key.name == name);
        found.map_or(&Value::Null, |(_, object)| object)
    }

    fn remove(&mut self, kind: &str, name: &str) {
        let mut gone = self.get(kind, name).clone();
        self.version += 1;
        gone["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.retain(|object, _| (object.kind.kind, object.key.name.as_str()) != (kind, name));
        self.index.take(self.now, Change::Gone(Arc::new(gone)));
    }

    fn perform(&mut self, request: &Request) {
        let known = self.objects.get(&request.target).cloned();
        let before = known.clone().unwrap_or_default();
        let merged = |patch: &Value| netloom_patch::merge_patch(&before, patch).expect("a merge patch");
        match &request.action {
            Action::Create { object } => self.write(object.clone()),
            Action::Apply { object, late } => {
                // The controller is the only one who applies these, so what it leaves out goes.
                let sent = with_late(object, late.as_ref());
                let mut stored = merged(&sent);
                stored["spec"] = sent["spec"].clone();
                self.write(stored);
            }
            Action::ApplyStatus { object } | Action::Patch { patch: object } => self.write(merged(object)),
            Action::PatchTested { .. } | Action::Absent { .. } => panic!("it asks for no such thing: {request:?}"),
            Action::Delete { .. } => self.remove(request.target.kind.kind, &request.target.key.name.clone()),
        }
    }

    /// The node has what it is assigned.
    fn apply(&mut self) {
        let mut config = self.get("NodeNetworkConfig", "n1").clone();
        let (revision, generation) = (config["spec"]["revision"].clone(), config["metadata"]["generation"].clone());
        if config.is_null() || config["status"]["observedGeneration"] == generation {
            return;
        }
        let host = config["spec"]["host"].clone();
        let desired: DesiredState = serde_json::from_value(json!({
            "uid": "u", "generation": 1, "source": "NodeNetworkState default/n1", "document": null,
            "config": {"name": "n1", "generation": generation, "revision": revision, "host": host},
        }))
        .expect("a desired state");
        let wanted = prepare(desired, None).expect("a configuration without faults").resolve(
            self.host.observed(),
            &self.owned,
            &Leases::new(),
            self.now,
        );
        let planned =
            netloom_plan::plan(&wanted.expect("a host state"), self.host.observed(), &self.owned, &Options::default());
        let planned = planned.expect("a plan");
        for step in &planned.plan.steps {
            self.host.apply(&step.step).expect("a step that the host takes");
        }
        self.owned = planned.ownership;
        config["status"] = json!({
            "configStatus": "provisioned", "lastAppliedRevision": revision, "inPlaceRevision": revision,
            "observedGeneration": generation,
        });
        self.write(config);
    }

    /// Until nobody has anything to do.
    fn run(&mut self) {
        for _ in 0..60 {
            self.now = self.now.checked_add(SignedDuration::from_mins(10)).expect("a time");
            let turn = self.controller.decide(self.now, &self.index, Leadership::Leading { until: Timestamp::MAX });
            for request in turn.chains.into_iter().flat_map(|chain| chain.0) {
                self.perform(&request);
                self.controller.answered(self.now, request.id, &Answer::Done);
            }
            self.apply();
        }
    }

    fn ready(&self, name: &str) -> (String, String, String) {
        let text = |key: &str| {
            let condition = &self.get("Beacon", name)["status"]["conditions"][0];
            condition[key].as_str().unwrap_or_default().to_owned()
        };
        (text("status"), text("reason"), text("message"))
    }
}

#[test]
fn its_link_comes_onto_the_host_and_its_object_is_reported_so() {
    let mut cluster = Cluster::new();
    cluster.write(beacon("b", 1, "beacon0", 1400));
    cluster.run();
    let link: IfName = "beacon0".parse().unwrap();
    let made = &cluster.host.observed().host.links[&link];
    assert_eq!(made.attrs.int(netloom_model::Attr::Mtu), Some(1400));
    assert_eq!(cluster.ready("b"), ("True".to_owned(), "Applied".to_owned(), "nodes that have it: 1".to_owned()));
    // Who asks why the link is there is led to the object and the field.
    let alias = made.alias.as_ref().map(netloom_model::Alias::owners).unwrap_or_default();
    assert_eq!(alias.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Beacon b"]);
    let claim = &cluster.owned.claims[&netloom_model::ClaimKey::Link(link)];
    assert_eq!(
        claim.origins.iter().map(|(_, origin)| origin.to_string()).collect::<Vec<_>>(),
        ["Beacon b (spec.link)"]
    );
    cluster.remove("Beacon", "b");
    cluster.run();
    assert!(!cluster.host.observed().host.links.contains_key(&link), "it goes with its object");
}

fn snapshot(objects: &[Value]) -> Snapshot {
    let mut cluster = Cluster::new();
    for object in objects {
        cluster.write(object.clone());
    }
    cluster.index.snapshot().clone()
}

#[test]
fn a_plan_says_what_it_would_change_and_who_asks() {
    let (before, after) = (snapshot(&[]), snapshot(&[beacon("b", 1, "beacon0", 1400)]));
    let mut compiler = Compiler::new(FRONT_ENDS);
    let found = differences(&compiler.compile(&before).nodes, &compiler.compile(&after).nodes);
    let [difference] = &found[..] else { panic!("{found:?}") };
    let [entry] = &difference.entries[..] else { panic!("{difference:?}") };
    assert_eq!((entry.thing.as_str(), entry.change), ("interface beacon0", ChangeKind::Added));
    assert_eq!(entry.policies, ["Beacon b"]);
    assert_eq!(difference.nodes, ["n1"]);
}

#[test]
fn the_older_of_two_has_the_link_and_a_policy_gives_way_to_both() {
    let mut cluster = Cluster::new();
    cluster.write(beacon("young", 2, "beacon0", 9000));
    cluster.write(beacon("old", 1, "beacon0", 1400));
    cluster.write(policy(1280));
    cluster.run();
    let link: IfName = "beacon0".parse().unwrap();
    assert_eq!(cluster.host.observed().host.links[&link].attrs.int(netloom_model::Attr::Mtu), Some(1400));
    assert_eq!(cluster.ready("old").0, "True");
    let (status, reason, message) = cluster.ready("young");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Conflict"));
    assert!(message.contains("beacon0 mtu: Beacon old wants 1400, Beacon young wants 9000"), "{message}");
    let refused = &cluster.get("NodeNetConfPolicy", "p")["status"]["conditions"][0];
    assert_eq!(refused["reason"], "PolicyConflict", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("Beacon old wants 1400"), "{refused}");
}

#[test]
fn what_somebody_else_made_is_left_alone() {
    let mut cluster = Cluster::new();
    cluster.write(beacon("b", 1, "eth0", 1400));
    cluster.run();
    let (status, reason, message) = cluster.ready("b");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NoName"), "{message}");
}
