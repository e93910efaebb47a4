//! What nodes are reported to have while something changes, and when something is wrong.

use jiff::SignedDuration;
use netloom_api::GroupKind;
use netloom_controller_core::NODE_LOST;
use serde_json::{Value, json};

use crate::{
    model::Rig,
    networks::{addresses, connected, edit, entry, host_network, ready, tunnel, with_installed_network},
};

/// Gives packets of the uplink another size, which every node has to be assigned.
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

/// What the host network says of a node.
fn reported<'a>(rig: &'a Rig, node: &str) -> (&'a str, &'a str) {
    let condition = &entry(rig, node)["conditions"][0];
    (condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap())
}

/// A node reports a lease, with what is wrong with it.
fn lease(rig: &mut Rig, node: &str, address: &str, problem: Option<&str>) {
    let mut lease = json!({
        "link": "cn1-br.20", "address": address, "server": "192.0.2.1", "acquired": "2030-01-01T00:00:00Z",
    });
    if let Some(reason) = problem {
        lease["problem"] = json!({"reason": reason, "message": "so it is"});
    }
    edit(rig, "NodeNetworkConfig", node, |object| object["status"]["leases"] = json!([lease]));
}

/// A node could not have something else than what its revision says.
fn fails(rig: &mut Rig, node: &str) {
    edit(rig, "NodeNetworkConfig", node, |object| {
        let revision = object["spec"]["revision"].clone();
        object["status"]["configStatus"] = json!("invalid");
        object["status"]["errorMessage"] = json!("the address is taken");
        object["status"]["inPlaceRevision"] = revision;
    });
}

/// The controller looks once, before anybody acts on it.
fn look(rig: &mut Rig) {
    rig.now = rig.now.checked_add(SignedDuration::from_secs(1)).unwrap();
    let turn = rig.turn();
    assert!(rig.carry_out(&turn));
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
        assert!(nodes.is_empty(), "nothing was ever reported against it: {nodes:?}");
        assert_eq!(labels(&rig, "n0"), by_uplink());
        assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("True", "Connected"));
    }
}

#[test]
fn a_node_is_connected_while_a_card_of_its_uplink_is_left() {
    for was_whole in [true, false] {
        let mut rig = connected();
        if was_whole {
            rig.run();
        }
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
fn a_node_does_not_name_an_uplink_that_is_gone_for_one_that_it_cannot_have() {
    let mut rig = connected();
    rig.run();
    rollout(&mut rig, &json!({"canary": {"soakSeconds": 0}, "waves": ["100%"], "toleratedFailures": 5}));
    rig.refusing.insert("n0".to_owned());
    rig.refused_mtu = Some(9000);
    edit(&mut rig, "ClusterNetwork", "cn2", |_| {});
    edit(&mut rig, "VlanConfig", "v", |object| {
        let uplink = json!({"nics": ["eth1"], "linkAttributes": {"mtu": 9000}});
        object["spec"] = json!({"clusterNetwork": "cn2", "uplink": uplink});
    });
    rig.remove(GroupKind::new("network.harvesterhci.io", "VlanConfig"), "u");
    rig.run();
    assert_eq!(labels(&rig, "n0"), (Value::Null, Value::Null));
    assert_eq!(labels(&rig, "n1"), (Value::Null, json!("v")));
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

#[test]
fn of_a_node_that_is_lost_only_what_it_had_last_is_known() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let heard_of = |rig: &mut Rig, is: &str| {
        edit(rig, "Node", "n2", |object| object["status"]["conditions"][0]["status"] = json!(is));
        rig.run();
    };
    heard_of(&mut rig, "Unknown");
    assert_eq!((reported(&rig, "n2"), connection(&rig, "n2")), (("Unknown", NODE_LOST), ("Unknown", NODE_LOST)));
    assert_eq!(entry(&rig, "n2")["addresses"], json!(["192.0.2.12/24"]));
    assert_eq!(labels(&rig, "n2"), by_uplink());
    let whole = &rig.api.get("HostNetworkConfig", "h").unwrap()["status"]["conditions"][0];
    assert_eq!(
        (&whole["status"], &whole["reason"], &whole["message"]),
        (&json!("False"), &json!("Pending"), &json!("2 of 3 nodes are ready"))
    );
    heard_of(&mut rig, "True");
    assert_eq!((reported(&rig, "n2"), connection(&rig, "n2")), (("True", "Applied"), ("True", "Applied")));
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"));
}

#[test]
fn the_lease_of_a_node_that_is_lost_is_the_one_it_had_last() {
    let mut rig = connected();
    host_network(&mut rig, "dhcp", &Value::Null);
    rig.run();
    lease(&mut rig, "n2", "192.0.2.77/24", None);
    rig.run();
    edit(&mut rig, "Node", "n2", |object| object["status"]["conditions"][0]["status"] = json!("Unknown"));
    rig.run();
    let assigned = entry(&rig, "n2");
    assert_eq!(
        (&assigned["addresses"], &assigned["lease"]["server"]),
        (&json!(["192.0.2.77/24"]), &json!("192.0.2.1"))
    );
    assert_eq!(reported(&rig, "n2"), ("Unknown", NODE_LOST));
}

#[test]
fn tunnels_wait_for_the_address_of_the_underlay() {
    let mut rig = with_installed_network();
    host_network(&mut rig, "dhcp", &Value::Null);
    edit(&mut rig, "HostNetworkConfig", "h", |object| object["spec"]["underlay"] = json!(true));
    rig.run();
    assert_eq!(tunnel(&rig), "mgmt-br.5", "the node asks for a lease");
    lease(&mut rig, "n0", "192.0.2.77/24", None);
    rig.run();
    assert_eq!(tunnel(&rig), "cn1-br.20");
    let lost = json!([{"link": "cn1-br.20", "problem": {"reason": "DHCPExpired", "message": "its lease has ended"}}]);
    edit(&mut rig, "NodeNetworkConfig", "n0", |object| object["status"]["leases"] = lost.clone());
    rig.run();
    assert_eq!(tunnel(&rig), "cn1-br.20", "a server that is away for a while moves no tunnel");
}

#[test]
fn an_address_that_a_node_could_not_set_is_not_there() {
    let mut rig = connected();
    host_network(&mut rig, "dhcp", &Value::Null);
    rig.run();
    for node in ["n0", "n1", "n2"] {
        lease(&mut rig, node, "192.0.2.77/24", None);
    }
    rig.run();
    lease(&mut rig, "n0", "192.0.2.88/24", None);
    fails(&mut rig, "n0");
    fails(&mut rig, "n1");
    look(&mut rig);
    assert_eq!(reported(&rig, "n0"), ("False", "ApplyFailed"), "{}", entry(&rig, "n0"));
    assert_eq!(entry(&rig, "n0").get("addresses"), None);
    assert_eq!(reported(&rig, "n1"), ("True", "Applied"), "what it could not have was something else");
    look(&mut rig);
    assert_eq!(reported(&rig, "n0"), ("False", "ApplyFailed"));
}

#[test]
fn a_lease_on_a_link_that_is_down_is_of_no_use() {
    let mut rig = connected();
    host_network(&mut rig, "dhcp", &Value::Null);
    rig.run();
    for (node, reason) in [("n0", "LinkDown"), ("n1", "NoSocket"), ("n2", "DHCPNotRenewed")] {
        lease(&mut rig, node, "192.0.2.77/24", Some(reason));
    }
    rig.run();
    assert_eq!(reported(&rig, "n0"), ("False", "LinkDown"));
    assert_eq!(entry(&rig, "n0")["addresses"], json!(["192.0.2.77/24"]), "it is there nevertheless");
    assert_eq!(reported(&rig, "n1"), ("False", "NoSocket"));
    assert_eq!(reported(&rig, "n2"), ("True", "DHCPNotRenewed"), "a server that is away for a while costs nothing");
    // The node has it all the same, so it has it when it could not have something else meanwhile.
    fails(&mut rig, "n0");
    lease(&mut rig, "n0", "192.0.2.77/24", None);
    look(&mut rig);
    assert_eq!(reported(&rig, "n0"), ("True", "Applied"), "{}", entry(&rig, "n0"));
}

#[test]
fn drift_that_is_left_is_assigned_where_it_is() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let drift = |rig: &mut Rig, drift: &Value| {
        edit(rig, "NodeNetworkConfig", "n1", |object| object["status"]["drift"] = drift.clone());
        rig.run();
    };
    drift(&mut rig, &json!([{"link": "cn1-br.20", "message": "cn1-br.20.address: wanted 192.0.2.11/24, got none"}]));
    assert_eq!(reported(&rig, "n1"), ("False", "Drifted"));
    assert_eq!(entry(&rig, "n1").get("addresses"), None);
    let whole = &rig.api.get("HostNetworkConfig", "h").unwrap()["status"]["conditions"][0];
    assert_eq!(whole["message"], "2 of 3 nodes are ready");
    let invalid = rig.api.list("NetworkConfigRevision").iter().any(|one| one["status"]["isInvalid"] == true);
    assert!(!invalid, "nobody takes the revision for a bad one");
    drift(&mut rig, &json!([{"link": "eth9", "message": "eth9.mtu: wanted 1500, got 1400"}]));
    assert_eq!(reported(&rig, "n1"), ("True", "Applied"));
}
