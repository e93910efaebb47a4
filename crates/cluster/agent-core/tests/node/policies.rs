//! Policies that the agent merges itself.

use netloom_agent_core::{Mode, Settings, Standing};
use serde_json::{Value, json};

use crate::{
    model::{HOUR, Rig, desire},
    revisions::{config, pair},
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
    // The list of links waits for its time.
    rig.run_for(rig.settings.list_pace);
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
fn only_an_agent_that_stays_says_who_merges_policies_and_takes_it_back() {
    let mark = |rig: &Rig| rig.state()["metadata"]["annotations"].get("netloom.dev/policies-merged-by").cloned();
    let mut rig = distributed();
    assert_eq!(mark(&rig), Some(json!("node")), "reported before any policy is there");
    rig.write(policy(1400, "a"));
    rig.run();
    let desired = rig.state()["spec"].clone();
    rig.settings.mode = Mode::Centralized;
    rig.settings.resident = false;
    rig.restart();
    rig.run();
    assert_eq!(mark(&rig), Some(json!("node")), "what is done once says nothing about what comes after it");
    rig.settings.resident = true;
    rig.restart();
    rig.run();
    assert_eq!((mark(&rig), &rig.state()["spec"]), (None, &desired));
    let writes = rig.api.writes.len();
    rig.run_for(HOUR);
    assert_eq!(rig.api.writes.len(), writes);
}

#[test]
fn a_node_that_merges_itself_gets_host_networks_from_the_controller_all_the_same() {
    let mut rig = distributed();
    rig.write(policy(1400, "a"));
    rig.run();
    let link = json!({"name": "c0", "type": "dummy", "mtu": 1450, "origin": {"kind": "VlanConfig", "name": "v"}});
    config(&mut rig, "r1", "x1");
    rig.edit("NodeNetworkConfig", &json!({"spec": {"host": {"links": [link]}}}));
    rig.run();
    assert_eq!((rig.mtu("c0"), rig.mtu("eth0")), (Some(1450), Some(1400)));
    let status = &rig.api.get("NodeNetworkConfig", "n").unwrap()["status"];
    assert_eq!((&status["configStatus"], &status["lastAppliedRevision"]), (&json!("provisioned"), &json!("r1")));
}

#[test]
fn a_policy_against_the_manual_part_is_named_on_the_node() {
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
fn a_client_for_policies_writes_the_desired_state_and_touches_nothing() {
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
fn a_client_for_policies_says_when_there_is_no_such_node() {
    let unknown = |objects: &[Value]| {
        let mut rig =
            Rig::new(Settings { mode: Mode::Distributed, enforce: false, resident: false, ..Settings::of("n") });
        objects.iter().cloned().for_each(|object| rig.write(object));
        rig.run();
        rig.agent.unknown().unwrap_or_default()
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    let state = json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
        "metadata": {"namespace": "default", "name": "n"}, "spec": {"managed": true, "nodeName": "n"},
    });
    assert!(unknown(&[]).starts_with("there is no Node \"n\""), "{}", unknown(&[]));
    assert!(unknown(std::slice::from_ref(&node)).contains("no NodeNetworkState yet"));
    assert_eq!(unknown(&[node, state]), "");
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

#[test]
fn a_slip_in_a_policy_takes_nothing_from_a_distributed_node() {
    let mut rig = distributed();
    rig.write(policy(1400, "a"));
    rig.run();
    let mut broken = policy(1400, "a");
    broken["spec"]["desiredState"]["interfaces"][0]["mtu"] = json!("large");
    rig.write(broken);
    rig.run();
    assert_eq!(rig.mtu("eth0"), Some(1400));
    let (truth, reason, message) = rig.condition("Degraded");
    assert_eq!((truth.as_str(), reason.as_str()), ("True", "PolicyConflict"));
    assert!(message.contains("default/p cannot be used") && message.contains("what it gave stays"), "{message}");
    rig.write(policy(1300, "a"));
    rig.run();
    assert_eq!((rig.mtu("eth0"), rig.condition("Degraded").0.as_str()), (Some(1300), "False"));
}

#[test]
fn a_state_that_lost_its_status_keeps_what_policies_gave_it() {
    let mut rig = distributed();
    rig.write(policy(1400, "a"));
    rig.run();
    let mut bare = rig.state().clone();
    bare["status"] = json!({});
    rig.write(bare);
    let changes = rig.host.changes;
    rig.run();
    assert_eq!((rig.mtu("eth0"), rig.host.changes), (Some(1400), changes), "nothing was taken back in between");
    assert_eq!(rig.state()["spec"]["desiredState"]["interfaces"][0]["mtu"], 1400);
}
