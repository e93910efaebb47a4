//! Policies that the agent merges itself.

use netloom_node::{Mode, Settings, Standing};
use serde_json::{Value, json};

use crate::{
    model::{HOUR, Rig, desire},
    revisions::pair,
};

fn policy(mtu: u64, label: &str) -> Value {
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy",
        "metadata": {"namespace": "default", "name": "p"},
        "spec": {
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [label]}]}]}}},
            "matchRules": [{"name": "eth0"}],
            "desiredState": {"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "mtu": mtu}]},
        },
    })
}

fn distributed() -> Rig {
    let mut rig = Rig::new(Settings { mode: Mode::Distributed, ..Settings::of("n") });
    rig.write(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"zone": "a"}}}));
    rig.run();
    rig
}

#[test]
fn a_distributed_agent_merges_policies_into_its_own_desired_state() {
    let mut rig = distributed();
    rig.write(policy(1400, "a"));
    rig.run();
    assert_eq!(rig.state()["spec"]["desiredState"]["interfaces"][0]["mtu"], 1400);
    assert_eq!(rig.mtu("eth0"), Some(1400));
    let writes = rig.api.writes.len();
    rig.run_for(HOUR);
    assert_eq!(rig.api.writes.len(), writes);
    rig.write(policy(1400, "b"));
    rig.run();
    assert_eq!(rig.mtu("eth0"), Some(1500), "deselected: the contribution is taken back");
    assert_eq!(rig.state()["spec"].get("desiredState"), None);
}

#[test]
fn a_distributed_agent_takes_over_from_a_controller() {
    let mut rig = distributed();
    rig.write(policy(1400, "a"));
    rig.run();
    let document = rig.state()["spec"]["desiredState"].clone();
    pair(&mut rig, "r1", "x1", &document);
    rig.run();
    assert_eq!(rig.state()["metadata"]["annotations"].get("netloom.dev/revision"), None);
    assert_eq!(rig.mtu("eth0"), Some(1400));
}

#[test]
fn a_policy_against_the_hand_is_named_on_the_node() {
    let mut rig = distributed();
    desire(&mut rig, &json!({"interfaces": [{"name": "eth0", "type": "ethernet", "mtu": 1300}]}));
    rig.run();
    rig.write(policy(1400, "a"));
    rig.run();
    assert_eq!(rig.mtu("eth0"), Some(1300));
    let (truth, reason, message) = rig.condition("Degraded");
    assert_eq!((truth.as_str(), reason.as_str()), ("True", "PolicyConflict"));
    assert!(message.contains("default/p"), "{message}");
    assert_eq!(rig.condition("Available").0, "True");
}

#[test]
fn a_client_for_policies_writes_the_wish_and_touches_nothing() {
    let mut rig = distributed();
    rig.settings.enforce = false;
    rig.restart();
    rig.write(policy(1400, "a"));
    let (effects, writes) = (rig.effects.len(), rig.api.writes.len());
    rig.run();
    assert_eq!(rig.state()["spec"]["desiredState"]["interfaces"][0]["mtu"], 1400);
    assert!(rig.effects[effects..].iter().all(|effect| *effect == "ask"));
    assert_eq!(rig.api.writes.len(), writes + 1);
    assert_eq!(rig.mtu("eth0"), Some(1500));
    assert_eq!(rig.agent.standing(), Standing::Settled);
}

#[test]
fn what_neighbours_announce_decides_and_outlives_the_agent() {
    let mut rig = distributed();
    let mut object = policy(1400, "a");
    object["spec"]["matchRules"][0]["lldp"] = json!({"vlanIDList": [10]});
    rig.write(object);
    rig.run();
    assert_eq!((rig.mtu("eth0"), rig.listening.as_slice()), (Some(1500), &["eth0".to_owned()][..]));
    rig.hear(None);
    let lldp = |rig: &Rig| {
        let all = rig.state()["status"]["currentState"]["interfaces"].as_array().unwrap().clone();
        all.iter().find(|link| link["name"] == "eth0").unwrap()["lldp"].clone()
    };
    assert_eq!(lldp(&rig), json!({"enabled": true}), "too early to say who is there");
    let neighbour = json!([{"chassis-id": "leaf"}, {"ieee-802-1-vlans": [{"vid": 10}]}]);
    rig.hear(Some(std::slice::from_ref(&neighbour)));
    assert_eq!((rig.mtu("eth0"), lldp(&rig)["neighbors"].clone()), (Some(1400), json!([neighbour])));
    rig.restart();
    rig.hear(None);
    let changes = rig.host.changes;
    rig.run_for(HOUR);
    assert_eq!((rig.mtu("eth0"), rig.host.changes), (Some(1400), changes), "nothing was taken back meanwhile");
    rig.online = false;
    rig.restart();
    rig.hear(None);
    rig.online = true;
    rig.relist();
    rig.run_for(HOUR);
    assert_eq!((rig.mtu("eth0"), rig.host.changes), (Some(1400), changes), "nor when the API is read later");
    rig.hear(Some(&[]));
    assert_eq!((rig.mtu("eth0"), lldp(&rig)["neighbors"].clone()), (Some(1500), json!([])));
}
