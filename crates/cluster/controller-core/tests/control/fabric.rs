//! What is reported about objects of the fabric, what holds them, and what an attachment costs.

use netloom_api::GroupKind;
use netloom_controller_core::ControllerActions;
use serde_json::{Value, json};

use crate::model::Rig;

const GROUP: &str = "network.t-caas.telekom.com";
const ATTACHMENT: GroupKind<'static> = GroupKind::new(GROUP, "Layer2Attachment");
const SEGMENT: GroupKind<'static> = GroupKind::new(GROUP, "Layer2NetworkConfiguration");

fn object(kind: &str, name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind, "metadata": {"name": name}});
    object["spec"] = spec;
    object
}

fn labelled(mut object: Value, labels: Value) -> Value {
    object["metadata"]["labels"] = labels;
    object
}

fn attachment(selector: &Value) -> Value {
    let selected =
        json!({"networkRef": "net", "destinations": {"matchLabels": {"to": "red"}}, "nodeSelector": selector});
    object("Layer2Attachment", "lan", selected)
}

/// A cluster with a VRF, a network and a destination.
fn rig(nodes: usize) -> Rig {
    let mut rig = Rig::new(nodes);
    rig.write(object("VRF", "red", json!({"vrf": "red", "vni": 10100, "routeTarget": "64500:10100"})));
    let net = json!({"ipv4": {"cidr": "10.1.12.0/24"}, "vlan": 2012, "vni": 12012, "managed": true});
    rig.write(object("Network", "net", net));
    let to = object("Destination", "dc", json!({"vrfRef": "red", "prefixes": ["192.0.2.0/24"]}));
    rig.write(labelled(to, json!({"to": "red"})));
    rig
}

/// Status, reason and message of `Ready`.
fn ready(rig: &Rig, kind: &str, name: &str) -> [String; 3] {
    let object = rig.api.get(kind, name).unwrap();
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.into_iter().find(|one| one["type"] == "Ready").unwrap_or_default();
    ["status", "reason", "message"].map(|key| ready[key].as_str().unwrap_or_default().to_owned())
}

fn written(rig: &Rig, verbs: impl Fn(&str) -> bool) -> Vec<String> {
    let writes = rig.api.writes.iter().filter(|write| verbs(write.0) && write.1 != "Event");
    writes.map(|(verb, kind, name)| format!("{verb} {kind} {name}")).collect()
}

fn finalizers(rig: &Rig, kind: &str, name: &str) -> Value {
    rig.api.get(kind, name).unwrap()["metadata"]["finalizers"].clone()
}

#[test]
fn an_attachment_is_ready_when_every_node_has_it_and_not_before() {
    let mut rig = rig(2);
    rig.run();
    rig.write(attachment(&json!({})));
    let mut before = Vec::new();
    for _ in 0..200 {
        let turn = rig.turn();
        if turn == ControllerActions::default() {
            break;
        }
        rig.step(&turn);
        let [status, reason, message] = ready(&rig, "Layer2Attachment", "lan");
        let nodes = rig.api.list("NodeNetworkConfig");
        let done = nodes
            .iter()
            .filter(|node| !node["spec"]["layer2s"].is_null() && node["status"]["configStatus"] == "provisioned");
        assert!(status != "True" || done.count() == 2, "{status} {reason}: {message}");
        if !before.contains(&reason) {
            before.push(reason);
        }
    }
    rig.run();
    assert_eq!(ready(&rig, "Layer2Attachment", "lan"), ["True", "Applied", "nodes that have it: 2"]);
    assert!(before.iter().any(|reason| reason == "Pending"), "{before:?}");
    let low = rig.api.list("Layer2NetworkConfiguration")[0]["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(ready(&rig, "Layer2NetworkConfiguration", &low), ["True", "Applied", "nodes that have it: 2"]);
    assert_eq!(ready(&rig, "VRF", "red"), ["True", "Usable", "objects that use it: 1"]);
    assert_eq!(rig.api.get("Network", "net").unwrap()["status"]["referenceCount"], 1);
    let writes = rig.api.writes.len();
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes.len(), writes, "a restart writes nothing");
}

#[test]
fn an_attachment_to_some_nodes_costs_these_nodes_and_a_few_writes_more() {
    for (selected, all) in [(10, 100), (100, 100)] {
        let mut rig = rig(all);
        for i in 0..selected {
            let mut node = rig.api.get("Node", &format!("n{i}")).unwrap().clone();
            node["metadata"]["labels"] = json!({"zone": "a"});
            rig.write(node);
        }
        // Nodes that were never assigned anything are written to twice, once and for all.
        let net = json!({"ipv4": {"cidr": "10.9.0.0/24"}, "vlan": 900, "vni": 10900, "managed": true});
        rig.write(object("Network", "before", net));
        rig.write(object("Layer2Attachment", "before", json!({"networkRef": "before"})));
        rig.run();
        rig.api.writes.clear();
        rig.write(attachment(&json!({"matchLabels": {"zone": "a"}})));
        rig.run();
        let writes = written(&rig, |verb| verb != "status");
        assert!(writes.len() <= selected + 8, "{}: {writes:#?}", writes.len());
        let touched = rig.api.writes.iter().filter(|write| write.1 == "NodeNetworkConfig" && write.0 != "status");
        assert_eq!(touched.count(), selected, "no other node is touched");
    }
}

#[test]
fn what_is_used_is_held_and_let_go_with_its_last_user() {
    let mut rig = rig(1);
    rig.run();
    assert_eq!(finalizers(&rig, "VRF", "red"), json!(["netloom.dev/vrf-in-use"]), "the destination uses it");
    assert_eq!(finalizers(&rig, "Network", "net"), Value::Null);
    rig.write(attachment(&json!({})));
    rig.run();
    assert_eq!(finalizers(&rig, "Network", "net"), json!(["netloom.dev/network-in-use"]));
    assert_eq!(finalizers(&rig, "Destination", "dc"), json!(["netloom.dev/destination-in-use"]));
    let revisions = rig.api.list("NetworkConfigRevision").len();
    let mut net = rig.api.get("Network", "net").unwrap().clone();
    net["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    rig.write(net);
    rig.run();
    let [status, reason, message] = ready(&rig, "Network", "net");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "InUse"));
    assert!(message.contains("Layer2Attachment \"lan\""), "{message}");
    assert_eq!(ready(&rig, "Layer2Attachment", "lan")[0], "True", "it stays in effect");
    assert_eq!(rig.api.list("NetworkConfigRevision").len(), revisions, "no node is changed");
    rig.remove(ATTACHMENT, "lan");
    rig.run();
    let left = finalizers(&rig, "Network", "net");
    assert!(left.is_null() || left == json!([]), "{left}");
}

#[test]
fn what_was_generated_comes_back_when_it_is_edited_or_deleted() {
    let mut rig = rig(1);
    rig.write(attachment(&json!({})));
    rig.run();
    let before = rig.api.list("Layer2NetworkConfiguration")[0].clone();
    let name = before["metadata"]["name"].as_str().unwrap().to_owned();
    let mut edited = before.clone();
    edited["spec"]["mtu"] = json!(9000);
    rig.write(edited);
    rig.run();
    assert_eq!(rig.api.get("Layer2NetworkConfiguration", &name).unwrap()["spec"], before["spec"]);
    rig.remove(SEGMENT, &name);
    rig.run();
    assert_eq!(rig.api.get("Layer2NetworkConfiguration", &name).unwrap()["spec"], before["spec"]);
    rig.remove(ATTACHMENT, "lan");
    rig.run();
    assert!(rig.api.get("Layer2NetworkConfiguration", &name).is_none(), "gone with its intent");
}

#[test]
fn intents_and_manual_objects_of_one_segment_exclude_each_other() {
    let manual = object("Layer2NetworkConfiguration", "mine", json!({"id": 2012, "mtu": 1500, "vni": 12012}));
    let mut rig = rig(1);
    rig.write(manual);
    rig.write(attachment(&json!({})));
    rig.run();
    let [status, reason, message] = ready(&rig, "Layer2Attachment", "lan");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Conflict"), "{message}");
    assert!(message.contains("Layer2NetworkConfiguration \"mine\""), "{message}");
    assert_eq!(ready(&rig, "Layer2NetworkConfiguration", "mine")[0], "True");
    rig.remove(SEGMENT, "mine");
    rig.run();
    assert_eq!(ready(&rig, "Layer2Attachment", "lan")[0], "True", "it comes when the other one goes");
}

#[test]
fn the_operator_configuration_is_followed_and_a_bad_one_changes_nothing() {
    let config = |text: &str| netloom_api::fabric::operator::OperatorConfig::config_map(text);
    let mut rig = Rig::new(1);
    rig.write(object("VRFRouteConfiguration", "red", json!({"vrf": "red", "seq": 1, "import": [], "export": []})));
    rig.run();
    assert_eq!(ready(&rig, "VRFRouteConfiguration", "red")[1], "NoVNI");
    rig.write(config("vnimap: {red: 10100}"));
    rig.run();
    assert_eq!(ready(&rig, "VRFRouteConfiguration", "red")[0], "True");
    let vni = |rig: &Rig| rig.api.get("NodeNetworkConfig", "n0").unwrap()["spec"]["fabricVRFs"]["red"]["vni"].clone();
    assert_eq!(vni(&rig), 10100);
    let revisions = rig.api.list("NetworkConfigRevision").len();
    let mut bad = rig.api.get("ConfigMap", "netloom-config").unwrap().clone();
    bad["data"]["config.yaml"] = json!("vnimap: {red: 10200}\nvniRanges: {}");
    rig.write(bad);
    rig.run();
    let note = |rig: &Rig| {
        rig.api.get("ConfigMap", "netloom-config").unwrap()["metadata"]["annotations"]["netloom.dev/not-in-effect"]
            .clone()
    };
    let said = note(&rig);
    let text = said.as_str().unwrap();
    assert!(text.contains("unknown field `vniRanges`") && text.contains("its last good version stays"), "{text}");
    assert_eq!((vni(&rig), rig.api.list("NetworkConfigRevision").len()), (json!(10100), revisions));
    rig.restart();
    rig.run();
    assert_eq!((vni(&rig), note(&rig)), (json!(10100), said), "nor does a restart");
    let mut good = rig.api.get("ConfigMap", "netloom-config").unwrap().clone();
    good["data"]["config.yaml"] = json!("vnimap: {red: 10200}");
    rig.write(good);
    rig.run();
    assert_eq!((vni(&rig), note(&rig)), (json!(10200), Value::Null));
}
