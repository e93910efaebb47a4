//! Network states that no agent answers for: what is reported of them, and that they are taken up again.

use jiff::SignedDuration;
use netloom_api::GroupKind;
use netloom_object::Action;
use serde_json::json;

use crate::model::Rig;

const STATE: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetworkState");

/// What the agent reported.
const AGENTS: [&str; 2] = ["Managed Managed", "Degraded Degraded"];
const ORPHANED: &str = "Orphaned NodeNotFound";

/// A network state with conditions that its agent reported.
fn state(name: &str, node: &str) -> serde_json::Value {
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind, "status": status, "reason": kind, "message": "",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        })
    };
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
        "metadata": {"namespace": "default", "name": name}, "spec": {"managed": true, "nodeName": node},
        "status": {
            "currentState": {"interfaces": [{"name": "eth1", "type": "ethernet", "state": "up"}]},
            "conditions": [condition("Managed", "True"), condition("Degraded", "False")],
        },
    })
}

fn conditions(rig: &Rig, name: &str) -> Vec<String> {
    let conditions = rig.api.get("NodeNetworkState", name).unwrap()["status"]["conditions"].clone();
    let words = |condition: &serde_json::Value| {
        format!("{} {}", condition["type"].as_str().unwrap(), condition["reason"].as_str().unwrap())
    };
    conditions.as_array().into_iter().flatten().map(words).collect()
}

fn node(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

#[test]
fn states_without_an_agent_are_assigned_what_is_wrong() {
    let mut rig = Rig::new(2);
    rig.write(state("second", "n0"));
    rig.write(state("ghost", "n7"));
    rig.policy("jumbo", 9000);
    rig.run();
    assert_eq!(conditions(&rig, "second"), [&AGENTS[..], &["Conflict Conflict"]].concat());
    assert_eq!(conditions(&rig, "ghost"), [&AGENTS[..], &[ORPHANED]].concat());
    assert_eq!(conditions(&rig, "n0"), [""; 0]);
    let before = rig.api.writes.len();
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes.len(), before);
}

#[test]
fn a_state_whose_node_comes_back_is_no_orphan_and_is_assigned_what_the_others_have() {
    let mut rig = Rig::new(2);
    rig.write(state("n7", "n7"));
    rig.policy("jumbo", 9000);
    rig.run();
    assert!(conditions(&rig, "n7").contains(&ORPHANED.to_owned()));
    rig.write(node("n7"));
    rig.run();
    assert_eq!(conditions(&rig, "n7"), AGENTS, "the agent's own are as they were");
    assert_eq!(rig.mtus(), [Some(9000), Some(9000), Some(9000)]);
}

#[test]
fn a_refused_status_does_not_keep_an_object_from_its_assignment() {
    let mut rig = Rig::new(2);
    rig.write(json!({
        "apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "at-once"},
        "spec": {"canary": {"soakSeconds": 0}, "waves": ["100%"], "maxUnavailable": "100%"},
    }));
    rig.write(state("n7", "n7"));
    rig.policy("jumbo", 9000);
    rig.run();
    rig.refuses = Some(|request| request.target.kind == STATE && matches!(request.action, Action::ApplyStatus { .. }));
    rig.write(node("n7"));
    rig.run_for(SignedDuration::from_mins(10));
    assert!(rig.refused > 0 && conditions(&rig, "n7").contains(&ORPHANED.to_owned()));
    rig.policy("jumbo", 8000);
    rig.run_for(SignedDuration::from_secs(2));
    assert_eq!(rig.mtus(), [Some(8000), Some(8000), Some(8000)]);
    rig.refuses = None;
    rig.run();
    assert_eq!(conditions(&rig, "n7"), AGENTS);
}
