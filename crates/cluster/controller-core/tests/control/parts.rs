//! What is too much for one object is frozen in parts, and parts go when nothing needs them.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use crate::{
    model::Rig,
    networks::{connected, edit, ready},
};

const REVISION: &str = "NetworkConfigRevision";
const PART: &str = "NetworkConfigRevisionPart";

/// The addresses of three nodes that are there, and of so many that may come.
fn addresses(network: u16, more: usize) -> Value {
    let there = (0..3).map(|node| (format!("n{node}"), json!(format!("10.{network}.0.{}/16", node + 10))));
    let to_come = (0..more).map(|node| {
        let name = format!("a-node-that-is-not-there-yet-{node:05}");
        (name, json!(format!("10.{network}.{}.{}/16", 1 + node / 250, 1 + node % 250)))
    });
    Value::Object(there.chain(to_come).collect::<Map<_, _>>())
}

fn host_network(rig: &mut Rig, number: u16, ips: &Value) {
    let spec = json!({"clusterNetwork": "cn1", "vlanID": 100 + number, "mode": "static", "ips": ips});
    edit(rig, "HostNetworkConfig", &format!("h{number}"), |object| object["spec"] = spec.clone());
}

/// How many host networks there are.
const NETWORKS: u16 = 4;
/// How many addresses each has for nodes that are not there: 250 KiB, so that all of them do not fit into one object.
const MORE: usize = 5000;

/// Host networks that are together more than fits into one object.
fn large() -> Rig {
    let mut rig = connected();
    for number in 0..NETWORKS {
        host_network(&mut rig, number, &addresses(number, MORE));
    }
    rig.run();
    rig
}

/// Gives one node another address in one network, and waits until it has it.
fn move_address(rig: &mut Rig, number: u16, address: &str) {
    let name = format!("h{number}");
    edit(rig, "HostNetworkConfig", &name, |object| object["spec"]["ips"]["n1"] = json!(address));
    rig.run();
    let assigned = &rig.api.get("HostNetworkConfig", &name).unwrap()["status"]["nodeStatus"]["n1"];
    assert_eq!(assigned["addresses"], json!([address]), "{assigned}");
}

fn names(rig: &Rig, kind: &str) -> BTreeSet<String> {
    rig.api.list(kind).iter().map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The parts that revisions name.
fn named(rig: &Rig) -> BTreeSet<String> {
    let revisions = rig.api.list(REVISION).into_iter();
    let parts = revisions.flat_map(|revision| revision["spec"]["parts"].as_array().cloned().unwrap_or_default());
    parts.map(|part| part.as_str().unwrap().to_owned()).collect()
}

fn newest(rig: &Rig) -> &Value {
    let sequence = |revision: &&Value| {
        revision["metadata"]["annotations"]["netloom.dev/sequence"].as_str().unwrap().parse::<u64>().unwrap()
    };
    rig.api.list(REVISION).into_iter().max_by_key(sequence).unwrap()
}

fn all_are_below_a_mebibyte(rig: &Rig) {
    for (key, object) in &rig.api.objects {
        let size = object.to_string().len();
        assert!(size < 1 << 20, "{key:?} has {size} bytes");
    }
}

#[test]
fn what_does_not_fit_into_one_object_is_kept_in_parts() {
    let mut rig = large();
    for number in 0..NETWORKS {
        assert_eq!(ready(&rig, "HostNetworkConfig", &format!("h{number}")), ("True", "Applied"));
    }
    assert!(names(&rig, PART).len() >= 2);
    assert_eq!(names(&rig, PART), named(&rig));
    all_are_below_a_mebibyte(&rig);
    rig.api.writes.clear();
    move_address(&mut rig, 2, "10.2.0.99/16");
    let written: Vec<_> = rig.api.writes.iter().filter(|write| write.0 != "status" && write.1 != "Event").collect();
    let expected = [("create", REVISION), ("apply", "NodeNetworkConfig")];
    assert_eq!(written.iter().map(|write| (write.0, write.1.as_str())).collect::<Vec<_>>(), expected, "{written:?}");
    let inline = newest(&rig)["spec"]["objects"].as_array().unwrap().len();
    assert_eq!(inline, 1, "what has changed stands in the revision");
    all_are_below_a_mebibyte(&rig);
    let before = rig.api.writes.len();
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes.len(), before, "a restart repeats nothing");
}

#[test]
fn parts_that_no_revision_names_are_removed_and_an_older_revision_still_works() {
    let mut rig = large();
    let first = newest(&rig)["metadata"]["name"].as_str().unwrap().to_owned();
    let of_first = named(&rig);
    edit(&mut rig, "RolloutPolicy", "all", |policy| {
        policy["apiVersion"] = json!("netloom.dev/v1alpha1");
        policy["spec"] = json!({"revisionHistoryLimit": 2, "pinnedRevision": first});
    });
    rig.run();
    edit(&mut rig, "RolloutPolicy", "all", |policy| policy["spec"] = json!({"revisionHistoryLimit": 3}));
    // Each round changes more than fits into a revision, so parts are recreated.
    for round in 0..4_u8 {
        for number in 0..NETWORKS {
            let mut ips = addresses(number, MORE);
            ips["n1"] = json!(format!("10.{number}.0.{}/16", 100 + round));
            host_network(&mut rig, number, &ips);
        }
        rig.run();
        rig.run_for(SignedDuration::from_hours(2));
        all_are_below_a_mebibyte(&rig);
        assert_eq!(names(&rig, PART), named(&rig), "round {round}: what nobody names is gone");
    }
    assert!(rig.api.writes.iter().any(|write| write.0 == "delete" && write.1 == PART));
    assert!(!names(&rig, REVISION).contains(&first));
    // A part of the uplink alone is as it was, and still needed.
    assert!(of_first.intersection(&names(&rig, PART)).count() < 2, "the first revision went with its parts");
    let oldest = names(&rig, REVISION).into_iter().find(|name| *name != newest(&rig)["metadata"]["name"]).unwrap();
    let frozen = rig.api.get(REVISION, &oldest).unwrap().clone();
    edit(&mut rig, "RolloutPolicy", "all", |policy| policy["spec"]["pinnedRevision"] = json!(oldest));
    rig.run();
    let assigned = rig.api.get("NodeNetworkConfig", "n1").unwrap();
    assert_eq!(assigned["spec"]["revision"], json!(oldest));
    assert_eq!(assigned["status"]["lastAppliedRevision"], json!(oldest));
    let parts = frozen["spec"]["parts"].as_array().unwrap();
    let parts = parts.iter().map(|part| rig.api.get(PART, part.as_str().unwrap()).unwrap());
    let of_h3 = |object: &Value| {
        let hosts = object["spec"]["objects"].as_array().cloned().unwrap_or_default();
        hosts.into_iter().find(|one| one["name"] == "h3").map(|one| one["spec"]["ips"]["n1"].clone())
    };
    let wanted = of_h3(&frozen).or_else(|| parts.rev().find_map(of_h3)).unwrap();
    let addresses = assigned["spec"]["host"]["addresses"].as_array().unwrap();
    assert!(addresses.iter().any(|entry| entry["address"] == wanted), "{wanted}: {addresses:?}");
}

#[test]
fn a_deleted_object_is_in_no_revision_although_its_part_had_it() {
    let mut rig = large();
    edit(&mut rig, "HostNetworkConfig", "h1", |object| {
        object["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    });
    rig.run();
    let assigned = rig.api.get("NodeNetworkConfig", "n1").unwrap();
    let links = assigned["spec"]["host"]["links"].as_array().unwrap();
    assert!(links.iter().all(|link| link["name"] != "cn1-br.101"));
    assert!(links.iter().any(|link| link["name"] == "cn1-br.102"));
    all_are_below_a_mebibyte(&rig);
}

#[test]
fn an_object_that_is_too_large_by_itself_is_assigned_so_and_the_others_go_on() {
    let mut rig = connected();
    host_network(&mut rig, 1, &addresses(1, 10));
    host_network(&mut rig, 2, &addresses(2, 20_000));
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h1"), ("True", "Applied"));
    assert_eq!(ready(&rig, "HostNetworkConfig", "h2"), ("False", "TooLarge"));
    let message = rig.api.get("HostNetworkConfig", "h2").unwrap()["status"]["conditions"][0]["message"].clone();
    let message = message.as_str().unwrap();
    assert!(message.contains("split it into several objects; it has no effect"), "{message}");
    // One that was good and grows too large stays as it was.
    host_network(&mut rig, 1, &addresses(1, 20_000));
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h1"), ("False", "TooLarge"));
    let assigned = rig.api.get("NodeNetworkConfig", "n1").unwrap();
    assert_eq!(assigned["spec"]["host"]["addresses"][0]["address"], "10.1.0.11/16");
    host_network(&mut rig, 2, &addresses(2, 10));
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h2"), ("True", "Applied"));
}

#[test]
fn whoever_takes_over_half_way_goes_on_with_the_same_parts() {
    let whole = large();
    let made = |rig: &Rig| rig.api.writes.iter().filter(|write| write.0 == "create" && write.1 == PART).count();
    let first = whole.api.writes.iter().position(|write| write.1 == PART).unwrap();
    for lives in first..first + 4 {
        let mut rig = connected();
        for number in 0..NETWORKS {
            host_network(&mut rig, number, &addresses(number, MORE));
        }
        rig.lives = Some(lives);
        rig.run();
        assert_eq!(made(&rig), made(&whole), "killed after {lives} writes");
        assert_eq!(names(&rig, PART), names(&whole, PART));
        assert_eq!(named(&rig), named(&whole));
    }
}

#[test]
fn a_revision_with_a_part_that_is_not_there_reaches_nobody_and_says_so() {
    let mut rig = large();
    let (kept, part) = (newest(&rig)["metadata"]["name"].clone(), named(&rig).into_iter().next().unwrap());
    move_address(&mut rig, 2, "10.2.0.99/16");
    let assigned = || ["n0", "n1", "n2"];
    let before: Vec<Value> =
        assigned().iter().map(|node| rig.api.get("NodeNetworkConfig", node).unwrap()["spec"].clone()).collect();
    let removed = rig.api.objects.iter().find(|(key, _)| key.0 == PART && key.2 == part).map(|(key, _)| key.clone());
    rig.api.objects.remove(&removed.unwrap());
    rig.restart();
    edit(&mut rig, "RolloutPolicy", "all", |policy| {
        policy["apiVersion"] = json!("netloom.dev/v1alpha1");
        policy["spec"] = json!({"pinnedRevision": kept});
    });
    rig.run();
    let after: Vec<Value> =
        assigned().iter().map(|node| rig.api.get("NodeNetworkConfig", node).unwrap()["spec"].clone()).collect();
    assert_eq!(after, before, "what cannot be read is sent to nobody");
    let message = &rig.api.get(REVISION, kept.as_str().unwrap()).unwrap()["status"]["message"];
    assert!(message.as_str().unwrap().contains(&part), "{message}");
}

#[test]
fn a_part_that_cannot_be_made_keeps_no_node_from_leaving_what_failed() {
    let mut rig = connected();
    rig.policy("jumbo", 9000);
    rig.run();
    rig.policy("jumbo", 9999);
    while rig.mtus()[0] != Some(9999) {
        let turn = rig.turn();
        rig.step(&turn);
    }
    let bad = newest(&rig)["metadata"]["name"].as_str().unwrap().to_owned();
    rig.refuses = Some(|request| request.target.kind.kind == PART);
    for number in 0..NETWORKS {
        host_network(&mut rig, number, &addresses(number, MORE));
    }
    rig.run_for(SignedDuration::from_secs(50));
    assert!(rig.refused > 1, "it is asked for again");
    assert_eq!(newest(&rig)["metadata"]["name"], bad, "the next revision is not there");
    assert_eq!(rig.api.get(REVISION, &bad).unwrap()["status"]["phase"], "Failed");
    assert_eq!(rig.mtus(), [Some(9000); 3]);
    // And when it can be made, nodes get the next one.
    rig.refuses = None;
    rig.policy("jumbo", 8000);
    rig.run();
    assert_eq!(rig.mtus(), [Some(8000); 3]);
    assert_eq!(ready(&rig, "HostNetworkConfig", "h0"), ("True", "Applied"));
}
