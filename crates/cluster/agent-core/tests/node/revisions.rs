//! How a node answers the controller.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::model::{HOUR, Rig, dummy, with_dummy};

pub(crate) fn config(rig: &mut Rig, revision: &str, digest: &str) {
    rig.write(json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkConfig",
        "metadata": {"name": "n"}, "spec": {"revision": revision, "digest": digest, "stateDigest": digest},
    }));
}

pub(crate) fn pair(rig: &mut Rig, revision: &str, digest: &str, document: &Value) {
    rig.edit(
        "NodeNetworkState",
        &json!({
            "metadata": {"annotations": {"netloom.dev/revision": revision, "netloom.dev/digest": digest}},
            "spec": {"desiredState": document},
        }),
    );
}

fn answer(rig: &Rig) -> Value {
    let status = &rig.api.get("NodeNetworkConfig", "n").unwrap()["status"];
    json!([status["configStatus"], status["lastAppliedRevision"], status["observedGeneration"]])
}

#[test]
fn a_revision_is_answered_only_when_both_objects_belong_together_and_it_is_in_place() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    rig.run_for(HOUR);
    assert_eq!(answer(&rig), json!([null, null, null]), "the desired state of the revision is not there yet");
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    assert_eq!((answer(&rig), rig.mtu("d0")), (json!(["provisioned", "r1", 1]), Some(1300)));
    // Another revision with the same content: answered again, for the generation that it has.
    config_again(&mut rig, "r2", "x2");
    rig.run();
    assert_eq!(answer(&rig), json!(["provisioned", "r1", 1]), "the old answer does not count for the new one");
    let tries = rig.count("transact");
    pair(&mut rig, "r2", "x2", &dummy("d0", 1300));
    rig.run();
    assert_eq!(answer(&rig), json!(["provisioned", "r2", 2]));
    assert_eq!(rig.count("transact"), tries + 1, "verified, not taken for granted");
    // Another one for which policies want nothing else is written to one of the two objects alone.
    rig.edit("NodeNetworkConfig", &json!({"spec": {"revision": "r2b", "digest": "y2"}}));
    rig.run();
    assert_eq!(answer(&rig), json!(["provisioned", "r2b", 3]));
    config_again(&mut rig, "r2", "x2");
    rig.run();
    // A digest that belongs to another writing is no pair: its other half is waited for.
    config_again(&mut rig, "r3", "x3");
    pair(&mut rig, "r4", "x4", &dummy("d0", 1350));
    rig.run_for(SignedDuration::from_secs(20));
    assert_eq!((answer(&rig), rig.mtu("d0")), (json!(["provisioned", "r2", 4]), Some(1300)));
    rig.run_for(SignedDuration::from_mins(1));
    assert_eq!((answer(&rig), rig.mtu("d0")), (json!(["provisioned", "r2", 4]), Some(1350)));
    assert_eq!(rig.condition("Degraded").2, "nothing is wrong");
    let writes = rig.api.writes.len();
    rig.run_for(HOUR);
    assert_eq!(rig.api.writes.len(), writes);
}

fn config_again(rig: &mut Rig, revision: &str, digest: &str) {
    rig.edit("NodeNetworkConfig", &json!({"spec": {"revision": revision, "digest": digest, "stateDigest": digest}}));
}

#[test]
fn a_revision_that_fails_is_answered_as_invalid_with_the_reason() {
    let mut rig = with_dummy();
    rig.host.cursed = Some("d1");
    config(&mut rig, "r1", "x1");
    pair(&mut rig, "r1", "x1", &dummy("d1", 1300));
    rig.run_for(SignedDuration::from_millis(10));
    assert_eq!(answer(&rig), json!(["invalid", "r1", 1]));
    let error = rig.api.get("NodeNetworkConfig", "n").unwrap()["status"]["errorMessage"].clone();
    assert!(error.as_str().unwrap().contains("d1"), "{error}");
    rig.host.cursed = None;
    rig.run_for(SignedDuration::from_secs(2));
    assert_eq!(answer(&rig), json!(["provisioned", "r1", 1]));
    assert_eq!(rig.api.get("NodeNetworkConfig", "n").unwrap()["status"]["errorMessage"], Value::Null);
}

#[test]
fn a_node_says_which_revision_it_has_in_place_while_another_one_fails() {
    let in_place = |rig: &Rig| rig.api.get("NodeNetworkConfig", "n").unwrap()["status"]["inPlaceRevision"].clone();
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    assert_eq!(in_place(&rig), "r1");
    rig.host.cursed = Some("d1");
    config_again(&mut rig, "r2", "x2");
    pair(&mut rig, "r2", "x2", &dummy("d1", 1300));
    rig.run_for(SignedDuration::from_millis(10));
    assert_eq!((answer(&rig)[0].clone(), in_place(&rig)), (json!("invalid"), json!("r1")), "it was taken back");
    // The next one fails as well: the first one is still there.
    config_again(&mut rig, "r3", "x3");
    pair(&mut rig, "r3", "x3", &dummy("d1", 1310));
    rig.run_for(SignedDuration::from_millis(10));
    assert_eq!((answer(&rig)[1].clone(), in_place(&rig)), (json!("r3"), json!("r1")));
    // Another life begins with what was good, and knows it again.
    rig.restart();
    rig.run_for(SignedDuration::from_secs(20));
    assert_eq!((answer(&rig)[1].clone(), in_place(&rig)), (json!("r3"), json!("r1")));
    // Where what was good cannot be had either, nobody can tell what is there.
    rig.host.cursed = Some("d0");
    config_again(&mut rig, "r1", "x1");
    pair(&mut rig, "r1", "x1", &dummy("d0", 1320));
    rig.boot();
    rig.restart();
    rig.run_for(SignedDuration::from_secs(20));
    assert_eq!((answer(&rig)[0].clone(), in_place(&rig)), (json!("invalid"), Value::Null));
}

#[test]
fn a_fabric_on_a_node_that_knows_no_base_is_refused_whole() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    rig.edit("NodeNetworkConfig", &json!({"spec": {"layer2s": {"5": {"vni": 5, "vlan": 5, "mtu": 1500}}}}));
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    assert_eq!(answer(&rig)[0], "invalid");
    let error = rig.api.get("NodeNetworkConfig", "n").unwrap()["status"]["errorMessage"].to_string();
    assert!(error.contains("--base FILE"), "{error}");
    assert_eq!(rig.mtu("d0"), Some(1400), "half of a revision is none");
}

/// What the server has in the end, with the network state heard of first.
#[test]
fn a_desired_state_that_comes_before_the_other_half_of_its_pair_waits_for_it() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    pair(&mut rig, "r2", "x2", &dummy("d0", 1350));
    rig.run_for(SignedDuration::from_secs(10));
    assert_eq!(rig.mtu("d0"), Some(1300), "half of a desired state is none");
    assert_ne!(rig.state()["status"]["observedGeneration"], rig.state()["metadata"]["generation"]);
    config_again(&mut rig, "r2", "x2");
    rig.run_for(SignedDuration::from_secs(1));
    assert_eq!((answer(&rig), rig.mtu("d0")), (json!(["provisioned", "r2", 2]), Some(1350)));
}

#[test]
fn a_pair_that_is_never_completed_holds_up_nobody_for_ever() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    // The other half is written and this one never: a person changes what stands there, and gets it at once.
    config_again(&mut rig, "r2", "x2");
    rig.edit("NodeNetworkState", &json!({"spec": {"desiredState": dummy("d0", 1320)}}));
    rig.run_for(SignedDuration::from_secs(1));
    assert_eq!(rig.mtu("d0"), Some(1320));
    // This one is written and the other never, such as when it was put back from a copy.
    pair(&mut rig, "r3", "x3", &dummy("d0", 1330));
    rig.run_for(SignedDuration::from_secs(10));
    assert_eq!(rig.mtu("d0"), Some(1320));
    rig.edit("NodeNetworkState", &json!({"spec": {"desiredState": dummy("d0", 1340)}}));
    rig.run_for(SignedDuration::from_mins(1));
    assert_eq!((rig.mtu("d0"), rig.condition("Available").0.as_str()), (Some(1340), "True"));
    // Without a mark nobody waits.
    let unmarked = json!({"netloom.dev/revision": null, "netloom.dev/digest": null});
    rig.edit(
        "NodeNetworkState",
        &json!({"metadata": {"annotations": unmarked}, "spec": {"desiredState": dummy("d0", 1345)}}),
    );
    rig.run_for(SignedDuration::from_secs(1));
    assert_eq!(rig.mtu("d0"), Some(1345));
}

fn link(name: &str, kind: &str, mtu: u64) -> Value {
    json!({"name": name, "type": kind, "mtu": mtu,
        "origin": {"kind": "VlanConfig", "name": "v", "path": "spec.uplink"}})
}

#[test]
fn the_controllers_links_and_the_desired_state_are_one_desired_state_and_the_former_have_precedence() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    let address = json!({"link": "c0", "address": "192.0.2.9/24", "origin": {"kind": "VlanConfig", "name": "v"}});
    rig.edit(
        "NodeNetworkConfig",
        &json!({"spec": {"host": {
            "links": [link("c0", "dummy", 1400), link("d0", "dummy", 1350)], "addresses": [address],
        }}}),
    );
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    // Although the desired state is the older object: nodes must not differ by what was written first there.
    assert_eq!((rig.mtu("c0"), rig.mtu("d0")), (Some(1400), Some(1350)));
    let made = &rig.host.sim.observed().links[&"c0".parse().unwrap()];
    assert_eq!(made.alias.as_ref().unwrap().as_str(), "netloom VlanConfig.network.harvesterhci.io v");
    assert_eq!(made.addresses[0].ip.to_string(), "192.0.2.9");
    assert_eq!(answer(&rig)[0], "provisioned");
    let (degraded, reason, reported) = rig.condition("Degraded");
    assert_eq!((degraded.as_str(), reason.as_str()), ("True", "PolicyConflict"), "who loses is reported");
    assert!(reported.contains("d0.mtu") && reported.contains("1300") && reported.contains("1350"), "{reported}");
    // The controller takes its links away, and they go; the desired state stays.
    rig.edit("NodeNetworkConfig", &json!({"spec": {"host": null, "digest": "x2", "stateDigest": "x2"}}));
    rig.run();
    assert_eq!(rig.mtu("c0"), Some(1400), "half of a pair takes nothing away");
    pair(&mut rig, "r1", "x2", &dummy("d0", 1300));
    rig.run();
    assert_eq!((rig.mtu("c0"), rig.mtu("d0")), (None, Some(1300)));
    assert_eq!(answer(&rig)[0], "provisioned");
}

#[test]
fn a_node_that_leaves_the_cluster_takes_back_what_the_controller_gave_and_keeps_its_own() {
    let given = || {
        let mut rig = with_dummy();
        rig.write(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
        config(&mut rig, "r1", "x1");
        rig.edit("NodeNetworkConfig", &json!({"spec": {"host": {"links": [link("c0", "dummy", 1400)]}}}));
        pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
        rig.run();
        assert_eq!((rig.mtu("c0"), rig.mtu("d0")), (Some(1400), Some(1300)));
        rig
    };
    let mut rig = given();
    rig.delete("NodeNetworkConfig");
    rig.run_for(HOUR);
    assert_eq!(rig.mtu("c0"), Some(1400), "the controller recreates it");
    let leave = |rig: &mut Rig| {
        rig.delete("Node");
        rig.delete("NodeNetworkConfig");
        rig.run_for(SignedDuration::from_mins(4));
        assert_eq!((rig.mtu("c0"), rig.mtu("d0")), (Some(1400), Some(1300)), "the Node may be deleted by mistake");
    };
    let join = |rig: &mut Rig| {
        rig.write(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
        config(rig, "r1", "x1");
        rig.edit("NodeNetworkConfig", &json!({"spec": {"host": {"links": [link("c0", "dummy", 1400)]}}}));
    };
    let mut rig = given();
    leave(&mut rig);
    join(&mut rig);
    rig.run_for(HOUR);
    assert_eq!((rig.mtu("c0"), rig.mtu("d0")), (Some(1400), Some(1300)), "it was, and is there again in time");
    leave(&mut rig);
    rig.run_for(SignedDuration::from_mins(2));
    assert_eq!((rig.mtu("c0"), rig.mtu("d0")), (None, Some(1300)));
    rig.run_for(HOUR);
    assert_eq!((rig.mtu("c0"), rig.mtu("d0")), (None, Some(1300)));
    // It joins again, and is given the same.
    join(&mut rig);
    rig.run();
    assert_eq!((rig.mtu("c0"), rig.mtu("d0")), (Some(1400), Some(1300)));
}
