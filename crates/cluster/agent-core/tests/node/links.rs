//! Which links a node lists for the cluster, and how often.

use jiff::SignedDuration;
use netloom_agent_core::{CompanionNews, Event, Settings};
use netloom_api::pipeline::node_network_status::NodeLibvirt;
use netloom_model::Step;
use serde_json::{Value, json};

use crate::model::{HOUR, Rig, condition, dummy, set_mtu, with_dummy};

/// The node itself, as the cluster has it.
fn node() -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
}

/// A node of the cluster whose agent has sent everything.
fn listed() -> Rig {
    let mut rig = with_dummy();
    rig.write(node());
    rig.run_for(SignedDuration::from_secs(10));
    rig
}

fn list(rig: &Rig) -> &Value {
    rig.api.get("NodeNetworkStatus", "n").unwrap()
}

fn interface(rig: &Rig, name: &str) -> Value {
    let all = list(rig)["status"]["interfaces"].as_array().unwrap();
    all.iter().find(|interface| interface["name"] == name).cloned().unwrap_or_default()
}

/// What the lane of virtual machines tells of libvirt.
fn tell(rig: &mut Rig, libvirt: Result<(), &str>) {
    let news = libvirt.map(|()| NodeLibvirt::default()).map_err(str::to_owned);
    rig.agent.take(rig.now, Event::Companion(CompanionNews::Libvirt(news)));
    rig.run_for(SignedDuration::from_secs(1));
}

/// How the list was written, each time.
fn writes(rig: &Rig) -> Vec<&'static str> {
    rig.api.writes.iter().filter(|write| write.1 == "NodeNetworkStatus").map(|write| write.0).collect()
}

fn set_up(up: bool) -> Step {
    Step::SetUp { name: "eth0".parse().unwrap(), up }
}

#[test]
fn a_node_lists_its_links_and_goes_with_its_node() {
    let rig = listed();
    let entry = interface(&rig, "d0");
    assert_eq!((&entry["type"], &entry["mtu"]), (&json!("dummy"), &json!(1400)));
    assert!(entry["index"].is_u64(), "{entry}");
    assert_eq!(interface(&rig, "eth0")["mac"], "02:00:00:00:00:01");
    assert_eq!(list(&rig)["status"]["conditions"][0]["reason"], "Reported");
    let owner = &list(&rig)["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"]),
        (&json!("Node"), &rig.api.get("Node", "n").unwrap()["metadata"]["uid"])
    );
    assert_eq!(writes(&rig), ["create", "status"]);
}

#[test]
fn a_libvirt_that_cannot_be_asked_is_told_with_the_reason_and_one_that_answers_is_there() {
    let mut rig = listed();
    assert_eq!(list(&rig)["status"]["conditions"].as_array().map(Vec::len), Some(1), "a node without machines");
    let words = ["cannot connect to libvirt at /run/x: no such file", "libvirt did not answer within 10 s"];
    for why in words {
        tell(&mut rig, Err(why));
        let told = condition(list(&rig), "LibvirtAvailable");
        assert_eq!(told, ("False".to_owned(), "LibvirtUnavailable".to_owned(), why.to_owned()));
        assert_eq!(list(&rig)["status"].get("libvirt"), None, "it gets no machines");
    }
    tell(&mut rig, Ok(()));
    assert_eq!(condition(list(&rig), "LibvirtAvailable").0, "True");
    assert_eq!(list(&rig)["status"]["libvirt"], json!({}));
    assert_eq!(condition(list(&rig), "Ready").1, "Reported");
    rig.api.writes.clear();
    tell(&mut rig, Ok(()));
    rig.run_for(HOUR);
    assert_eq!(writes(&rig), [""; 0], "nothing new");
    tell(&mut rig, Err(&"x".repeat(1 << 20)));
    assert_eq!(condition(list(&rig), "LibvirtAvailable").2.len(), 1024, "a daemon that talks does not fill the object");
}

#[test]
fn what_stands_there_is_not_reported_again() {
    let mut rig = listed();
    rig.api.writes.clear();
    rig.run_for(HOUR);
    rig.restart();
    rig.run_for(HOUR);
    rig.relist();
    rig.run_for(HOUR);
    assert_eq!(writes(&rig), [""; 0], "the host was looked at {} times", rig.count("observe"));
}

#[test]
fn a_link_that_flaps_is_listed_once_it_is_stable() {
    let mut rig = listed();
    rig.run_for(HOUR);
    rig.api.writes.clear();
    let flap = |rig: &mut Rig, up| {
        rig.meddle(&set_up(up));
        rig.run_for(SignedDuration::from_millis(100));
    };
    for index in 0..600 {
        flap(&mut rig, index % 2 == 0);
    }
    let reported = writes(&rig).len();
    assert!(reported <= 1, "{reported} times in a minute of 600 changes");
    flap(&mut rig, true);
    rig.run_for(SignedDuration::from_secs(30));
    assert_eq!(interface(&rig, "eth0")["state"], "up", "how it ended is reported");
    rig.api.writes.clear();
    rig.run_for(HOUR);
    assert_eq!(writes(&rig), [""; 0]);
}

#[test]
fn what_comes_and_goes_within_five_seconds_is_reported_twice_at_most() {
    let mut rig = listed();
    rig.api.writes.clear();
    for up in [false, true, false, true] {
        rig.meddle(&set_up(up));
        rig.run_for(SignedDuration::from_millis(700));
    }
    rig.run_for(HOUR);
    assert!(writes(&rig).len() <= 2, "that something was, and that it is as before: {:?}", writes(&rig));
}

#[test]
fn a_list_that_somebody_changes_or_deletes_is_made_true_again() {
    let mut rig = listed();
    rig.run_for(HOUR);
    rig.edit("NodeNetworkStatus", &json!({"status": {"interfaces": [{"name": "x", "state": "up"}]}}));
    rig.run_for(SignedDuration::from_secs(10));
    assert_eq!(interface(&rig, "d0")["mtu"], 1400);
    assert_eq!(interface(&rig, "x"), Value::Null);
    rig.run_for(HOUR);
    rig.delete("NodeNetworkStatus");
    rig.run_for(SignedDuration::from_secs(10));
    assert_eq!(interface(&rig, "d0")["mtu"], 1400);
}

#[test]
fn a_node_that_is_none_of_the_cluster_lists_nothing() {
    let mut rig = with_dummy();
    rig.run_for(HOUR);
    assert_eq!(writes(&rig), [""; 0]);
    rig.write(node());
    rig.run_for(HOUR);
    assert_eq!(writes(&rig), ["create", "status"]);
    // The node leaves, and its list with it.
    rig.delete("Node");
    rig.delete("NodeNetworkStatus");
    rig.run_for(HOUR);
    assert!(rig.api.get("NodeNetworkStatus", "n").is_none(), "nobody recreates it");
}

#[test]
fn a_node_that_is_left_alone_lists_nothing() {
    let mut rig = listed();
    rig.edit("NodeNetworkState", &json!({"spec": {"managed": false}}));
    rig.run();
    rig.api.writes.clear();
    rig.host.sim.apply(&Step::DeleteLink { name: "d0".parse().unwrap() }).unwrap();
    rig.meddle(&set_up(false));
    rig.run_for(HOUR);
    assert_eq!(writes(&rig), [""; 0]);
    rig.edit("NodeNetworkState", &json!({"spec": {"managed": true, "desiredState": dummy("d0", 1300)}}));
    rig.run_for(SignedDuration::from_secs(10));
    assert_eq!(interface(&rig, "d0")["mtu"], 1300);
}

#[test]
fn who_looks_once_leaves_no_list() {
    let mut rig = Rig::new(Settings { resident: false, ..Settings::of("n") });
    rig.write(node());
    rig.run_for(HOUR);
    assert_eq!(writes(&rig), [""; 0]);
}

#[test]
fn a_server_that_refuses_is_reported_later_and_only_the_last() {
    let mut rig = listed();
    rig.api.writes.clear();
    rig.online = false;
    for mtu in [1300, 1200, 1100] {
        rig.meddle(&set_mtu("eth0", mtu));
        rig.run_for(SignedDuration::from_mins(2));
    }
    assert_eq!(writes(&rig), [""; 0]);
    rig.online = true;
    rig.relist();
    rig.run_for(SignedDuration::from_mins(5));
    assert_eq!(writes(&rig), ["status"]);
    assert_eq!(interface(&rig, "eth0")["mtu"], 1100);
}

#[test]
fn a_flap_costs_two_writes_of_the_nodes_own_objects_at_most() {
    for (flaps, down, up) in [(1, 3, 60), (10, 3, 3), (10, 1, 4), (10, 8, 8), (10, 20, 20), (20, 30, 30)] {
        let mut rig = listed();
        rig.run_for(HOUR);
        rig.meddle(&set_up(true));
        rig.run_for(HOUR);
        rig.api.writes.clear();
        for _ in 0..flaps {
            rig.meddle(&set_up(false));
            rig.run_for(SignedDuration::from_secs(down));
            rig.meddle(&set_up(true));
            rig.run_for(SignedDuration::from_secs(up));
        }
        rig.run_for(HOUR);
        let own = rig.api.writes.iter().filter(|write| write.1.starts_with("NodeNetwork")).count();
        assert!(own <= 2 * flaps, "{own} writes for {flaps} flaps of {down} s and {up} s: {:?}", rig.api.writes);
        assert_eq!(interface(&rig, "eth0")["state"], "up", "how it ended is reported");
    }
}
