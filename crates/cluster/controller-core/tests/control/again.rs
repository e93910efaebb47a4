//! Signs of life of agents decide who can take a change; revisions that failed are tried again.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::model::Rig;

fn beat(rig: &mut Rig, node: &str) {
    rig.write(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"namespace": "netloom-system", "name": node},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": 180, "renewTime": rig.now.to_string()},
    }));
}

fn not_ready(rig: &mut Rig, node: &str) {
    let mut object = rig.api.get("Node", node).unwrap().clone();
    object["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    rig.write(object);
}

fn pass(rig: &mut Rig, seconds: i64) {
    rig.now = rig.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
}

/// The revision that was desired last.
fn newest(rig: &Rig) -> Value {
    let sequence = |revision: &&Value| {
        revision["metadata"]["annotations"]["netloom.dev/sequence"].as_str().unwrap().parse::<u64>().unwrap()
    };
    rig.api.list("NetworkConfigRevision").into_iter().max_by_key(sequence).unwrap().clone()
}

#[test]
fn a_node_that_is_not_ready_gets_its_configuration_when_its_agent_is_there() {
    let mut rig = Rig::new(2);
    not_ready(&mut rig, "n0");
    beat(&mut rig, "n0");
    rig.policy("jumbo", 9000);
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 2]);
    let assigned = rig.api.get("NodeNetworkConfig", "n0").unwrap().clone();
    assert_eq!(assigned["metadata"]["annotations"]["netloom.dev/gates-before"], "");
    let assigned = rig.api.get("NodeNetworkConfig", "n1").unwrap().clone();
    assert_eq!(assigned["metadata"]["annotations"]["netloom.dev/gates-before"], "Ready");
    assert_eq!(newest(&rig)["status"]["phase"], "Active");
}

#[test]
fn a_node_whose_agent_is_gone_is_named_and_gets_it_when_the_agent_is_back() {
    let mut rig = Rig::new(2);
    beat(&mut rig, "n0");
    rig.run();
    pass(&mut rig, 200);
    rig.policy("jumbo", 9000);
    rig.run();
    assert_eq!(rig.mtus(), [None, Some(9000)]);
    let status = newest(&rig)["status"].clone();
    let why = "cannot take it until its agent is back, which was not heard of for 180 s";
    assert_eq!(status["passedOver"], json!([{"node": "n0", "reason": why}]));
    assert_eq!(status["message"], format!("1 of 2 nodes have it; passed over: n0 ({why})"));
    beat(&mut rig, "n0");
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 2]);
    assert_eq!(newest(&rig)["status"]["passedOver"], Value::Null);
}

#[test]
fn renewals_are_no_reason_to_decide_anything() {
    let mut rig = Rig::new(2);
    beat(&mut rig, "n0");
    rig.policy("jumbo", 9000);
    rig.run_for(SignedDuration::from_secs(60));
    let before = rig.api.writes.len();
    for _ in 0..10 {
        beat(&mut rig, "n0");
        let turn = rig.turn();
        let end = rig.now.checked_add(SignedDuration::from_secs(180)).unwrap();
        assert_eq!((turn.chains.len(), turn.wake_at), (0, Some(end)));
        pass(&mut rig, 60);
    }
    assert_eq!(rig.api.writes.len(), before);
}

#[test]
fn a_revision_that_failed_is_tried_again_for_each_of_the_reasons() {
    let mut rig = Rig::new(3);
    rig.policy("jumbo", 9000);
    rig.run();
    rig.policy("jumbo", 9999);
    rig.run();
    let status = |rig: &Rig| newest(rig)["status"].clone();
    let next = |rig: &Rig| status(rig)["nextAttemptAt"].as_str().unwrap().parse::<Timestamp>().unwrap();
    assert_eq!((&status(&rig)["attempts"], &status(&rig)["failedNode"]), (&json!(1), &json!("n0")));
    // After a while.
    rig.now = next(&rig);
    rig.run();
    assert_eq!((&status(&rig)["attempts"], &status(&rig)["isInvalid"]), (&json!(2), &json!(true)));
    let events = rig.api.list("Event");
    assert!(events.iter().any(|event| event["reason"] == "RolloutRetried"), "{events:?}");
    // When somebody asks, once.
    let mut revision = newest(&rig);
    revision["metadata"]["annotations"]["netloom.dev/retry"] = json!("2");
    rig.write(revision);
    rig.run();
    assert_eq!(status(&rig)["attempts"], 3);
    // When a link that bears on it changes.
    let mut state = rig.api.get("NodeNetworkState", "n0").unwrap().clone();
    let links = state["status"]["currentState"]["interfaces"].as_array_mut().unwrap();
    links.push(json!({"name": "veth77", "type": "veth", "state": "up"}));
    rig.write(state.clone());
    rig.run();
    assert_eq!(status(&rig)["attempts"], 3, "a link that nobody speaks of does not");
    let links = state["status"]["currentState"]["interfaces"].as_array_mut().unwrap();
    let eth1 = links.iter_mut().find(|link| link["name"] == "eth1").unwrap();
    eth1["state"] = if eth1["state"] == "up" { json!("down") } else { json!("up") };
    rig.write(state);
    let due = next(&rig);
    rig.run();
    assert_eq!(status(&rig)["attempts"], 4);
    assert!(rig.now < due, "before its time");
    assert_eq!(rig.mtus(), [Some(9000); 3], "and no other node was ever assigned it");
}
