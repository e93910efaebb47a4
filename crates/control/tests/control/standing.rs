//! What nodes are said to have while something changes, and when something is wrong.

use serde_json::{Value, json};

use crate::{
    model::Rig,
    networks::{connected, edit, ready},
};

/// Gives packets of the uplink another size, which every node has to be told.
fn resize(rig: &mut Rig, mtu: u32) {
    edit(rig, "VlanConfig", "u", |object| object["spec"]["uplink"]["linkAttributes"] = json!({"mtu": mtu}));
}

/// What the labels of a node say: whether it is connected, and by what.
fn labels(rig: &Rig, node: &str) -> (Value, Value) {
    let labels = &rig.api.get("Node", node).unwrap()["metadata"]["labels"];
    let of = |name: &str| labels[format!("network.harvesterhci.io/{name}")].clone();
    (of("cn1"), of("vlanconfig"))
}

/// The labels of a node that the uplink connects.
fn by_uplink() -> (Value, Value) {
    (json!("true"), json!("u"))
}

/// The `VlanStatus` of a node.
fn connection<'a>(rig: &'a Rig, node: &str) -> (&'a str, &'a str) {
    ready(rig, "VlanStatus", &netloom_api::hostnet::names::vlan_status("cn1", node))
}

fn rollout(rig: &mut Rig, spec: &Value) {
    edit(rig, "RolloutPolicy", "all", |object| {
        object["apiVersion"] = json!("netloom.dev/v1alpha1");
        object["spec"] = spec.clone();
    });
}

#[test]
fn a_node_that_cannot_have_another_uplink_stays_connected_by_the_one_it_has() {
    // A failure that is tolerated stays, and one that is not is followed by the way back.
    for tolerated in [0, 5] {
        let mut rig = connected();
        rollout(&mut rig, &json!({"canary": {"soakSeconds": 0}, "waves": ["100%"], "toleratedFailures": tolerated}));
        rig.run();
        rig.api.writes.clear();
        rig.refusing.insert("n0".to_owned());
        rig.refused_mtu = Some(9000);
        resize(&mut rig, 9000);
        rig.run();
        assert_ne!(connection(&rig, "n0").0, "True", "it has not what is wanted now");
        let nodes: Vec<_> = rig.api.writes.iter().filter(|write| write.1 == "Node").collect();
        assert!(nodes.is_empty(), "nothing was ever said against it: {nodes:?}");
        assert_eq!(labels(&rig, "n0"), by_uplink());
        assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("True", "Connected"));
    }
}

#[test]
fn a_node_is_connected_while_a_card_of_its_uplink_is_left() {
    let mut rig = connected();
    rig.run();
    edit(&mut rig, "VlanConfig", "u", |object| object["spec"]["uplink"]["nics"] = json!(["eth1", "eth2"]));
    rig.run();
    assert_eq!(connection(&rig, "n0"), ("False", "NoLink"));
    assert_eq!(labels(&rig, "n0"), by_uplink());
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("True", "Connected"));
    edit(&mut rig, "VlanConfig", "u", |object| object["spec"]["uplink"]["nics"] = json!(["eth2"]));
    rig.run();
    assert_eq!(labels(&rig, "n0"), (Value::Null, Value::Null), "a bond without a card connects nobody");
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("False", "NotConnected"));
}

#[test]
fn a_node_that_was_never_connected_is_not_for_the_lack_of_an_answer() {
    let mut rig = connected();
    resize(&mut rig, 9000);
    rig.refusing.extend(["n0", "n1", "n2"].map(str::to_owned));
    rig.refused_mtu = Some(9000);
    rig.run();
    assert_eq!(labels(&rig, "n0"), (Value::Null, Value::Null));
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("False", "NotConnected"));
}

#[test]
fn a_cluster_network_is_ready_while_its_uplink_waits_to_be_changed() {
    let mut rig = connected();
    rig.run();
    rig.api.writes.clear();
    rollout(&mut rig, &json!({"paused": true}));
    resize(&mut rig, 9000);
    rig.run();
    assert_eq!(connection(&rig, "n0"), ("Unknown", "Pending"));
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("True", "Connected"));
    rollout(&mut rig, &json!({}));
    rig.run();
    assert_eq!(connection(&rig, "n0"), ("True", "Applied"));
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("True", "Connected"));
}
