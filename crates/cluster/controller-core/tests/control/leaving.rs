//! An uplink that is deleted goes when nodes have released it, and not before.

use jiff::SignedDuration;
use netloom_controller_core::UPLINK_FINALIZER;
use serde_json::{Value, json};

use crate::{
    model::Rig,
    networks::{connected, edit, ready},
};

/// What a person's deletion does while somebody holds the object.
fn delete(rig: &mut Rig) {
    edit(rig, "VlanConfig", "u", |object| object["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z"));
}

fn finalizers(rig: &Rig) -> Value {
    rig.api.get("VlanConfig", "u").unwrap()["metadata"]["finalizers"].clone()
}

/// The nodes of which it is reported that they have the uplink, with why they do not release it.
fn reported(rig: &Rig) -> Vec<(String, String)> {
    let statuses = rig.api.list("VlanStatus");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    statuses.iter().map(|one| (text(&one["status"]["node"]), text(&one["status"]["conditions"][0]["reason"]))).collect()
}

fn assigned(node: &str, reason: &str) -> (String, String) {
    (node.to_owned(), reason.to_owned())
}

/// A second network with addresses that no node can have any more, so that no other revision succeeds.
fn failing() -> Rig {
    let mut rig = connected();
    let other = json!({"clusterNetwork": "cn2", "uplink": {"nics": ["eth2"]}});
    edit(&mut rig, "ClusterNetwork", "cn2", |_| {});
    edit(&mut rig, "VlanConfig", "v", |object| object["spec"] = other.clone());
    rig.run();
    let wanted = json!({"clusterNetwork": "cn2", "vlanID": 20, "mode": "static", "ips": {
        "n0": "192.0.3.10/24", "n1": "192.0.3.11/24", "n2": "192.0.3.12/24",
    }});
    edit(&mut rig, "HostNetworkConfig", "h", |object| object["spec"] = wanted.clone());
    rig.run();
    rig.refusing.extend(["n0", "n1", "n2"].map(str::to_owned));
    rig.refused_address = Some("192.0.3.");
    rig
}

#[test]
fn a_deleted_uplink_waits_for_every_node_that_has_it() {
    let mut rig = connected();
    edit(&mut rig, "VlanConfig", "u", |object| object["metadata"]["finalizers"] = json!(["example.org/other"]));
    rig.run();
    assert_eq!(finalizers(&rig), json!(["example.org/other", UPLINK_FINALIZER]));
    rig.refuses = Some(|request| (request.target.kind.kind, &*request.target.key.name) == ("NodeNetworkConfig", "n2"));
    delete(&mut rig);
    rig.run_for(SignedDuration::from_mins(10));
    assert_eq!(finalizers(&rig), json!(["example.org/other", UPLINK_FINALIZER]), "one node was not assigned yet");
    assert_eq!(reported(&rig), [assigned("n2", "Pending")]);
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("False", "NotConnected"));
    rig.refuses = None;
    rig.run_for(SignedDuration::from_mins(10));
    assert_eq!((finalizers(&rig), reported(&rig)), (json!(["example.org/other"]), Vec::new()));
    let writes = rig.api.writes.len();
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes.len(), writes, "what others hold is theirs");
}

#[test]
fn a_node_that_is_lost_holds_no_uplink() {
    let mut rig = connected();
    rig.run();
    edit(&mut rig, "Node", "n2", |object| object["status"]["conditions"][0]["status"] = json!("Unknown"));
    delete(&mut rig);
    rig.run();
    assert_eq!(
        (finalizers(&rig), reported(&rig)),
        (json!([]), vec![assigned("n2", netloom_controller_core::NODE_LOST)])
    );
}

#[test]
fn an_uplink_that_nodes_cannot_release_is_there_to_say_so() {
    let mut rig = failing();
    delete(&mut rig);
    rig.run_for(SignedDuration::from_mins(5));
    assert_eq!(finalizers(&rig), json!([UPLINK_FINALIZER]));
    let statuses = rig.api.list("VlanStatus");
    let of = statuses.iter().filter(|one| one["status"]["vlanConfig"] == "u");
    let conditions: Vec<&Value> = of.map(|one| &one["status"]["conditions"][0]).collect();
    let reasons: Vec<(&Value, &Value)> =
        conditions.iter().map(|condition| (&condition["status"], &condition["reason"])).collect();
    let (failed, waits) = ((&json!("False"), &json!("ApplyFailed")), (&json!("Unknown"), &json!("RolloutStopped")));
    assert_eq!(reasons, [failed, waits, waits], "the first has tried it");
    for condition in conditions {
        let reported = condition["message"].as_str().unwrap();
        assert!(reported.contains("the driver takes at most 9000"), "{reported}");
    }
}

#[test]
fn a_node_that_cannot_release_an_uplink_and_stays_so_says_that_it_failed() {
    let mut rig = failing();
    edit(&mut rig, "RolloutPolicy", "stay", |object| {
        object["apiVersion"] = json!("netloom.dev/v1alpha1");
        object["spec"] = json!({"onFailure": "Pause"});
    });
    delete(&mut rig);
    rig.run_for(SignedDuration::from_mins(5));
    assert_eq!(finalizers(&rig), json!([UPLINK_FINALIZER]));
    let reported = reported(&rig);
    assert_eq!(reported.iter().filter(|(_, reason)| reason == "ApplyFailed").count(), 1, "{reported:?}");
}

#[test]
fn a_node_that_is_left_alone_holds_no_uplink() {
    let mut rig = connected();
    rig.run();
    edit(&mut rig, "NodeNetworkState", "n2", |object| object["spec"]["managed"] = json!(false));
    delete(&mut rig);
    rig.run();
    assert_eq!(finalizers(&rig), json!([]), "{:?}", reported(&rig));
}

#[test]
fn an_object_that_came_to_show_the_installers_uplink_goes_all_the_same() {
    let mut rig = Rig::new(1);
    let uplink = json!({"clusterNetwork": "mgmt", "uplink": {"nics": ["eth0"]}});
    edit(&mut rig, "VlanConfig", "u", |object| {
        object["metadata"]["finalizers"] = json!([UPLINK_FINALIZER]);
        object["spec"] = uplink.clone();
    });
    rig.run();
    delete(&mut rig);
    rig.run();
    assert_eq!(finalizers(&rig), json!([]));
}

#[test]
fn what_shows_the_installers_uplink_is_not_held() {
    let mut rig = Rig::new(1);
    let uplink = json!({"clusterNetwork": "mgmt", "uplink": {"nics": ["eth0"]}});
    edit(&mut rig, "VlanConfig", "mgmt-vlanconfig-n0", |object| object["spec"] = uplink.clone());
    rig.run();
    let shown = rig.api.get("VlanConfig", "mgmt-vlanconfig-n0").unwrap();
    assert_eq!(shown["metadata"].get("finalizers"), None);
}
