//! Virtual machines in the control loop: what waits for time, and what is only done once the server was asked.

use std::sync::Arc;

use jiff::SignedDuration;
use netloom_api::machine::MACHINE;
use netloom_object::Change;
use serde_json::{Value, json};

use crate::model::Rig;

fn machine() -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"namespace": "default", "name": "a"},
        "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {}}}},
    })
}

fn instance(machine: &Value, phase: &str) -> Value {
    let owner = json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "a", "uid": machine["metadata"]["uid"],
    });
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"namespace": "default", "name": "a", "ownerReferences": [owner]},
        "spec": {"domain": {}}, "status": {"phase": phase, "nodeName": "n0"},
    })
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

#[test]
fn an_instance_whose_machine_was_not_heard_of_stays_and_one_whose_machine_is_gone_goes() {
    let mut rig = Rig::new(1);
    rig.run();
    let machine = rig.api.store(machine());
    rig.write(instance(&machine, "Running"));
    rig.run_for(seconds(5));
    assert!(rig.api.get("VirtualMachineInstance", "a").is_some(), "the server has its machine");
    rig.index.take(rig.now, Change::Put(Arc::new(machine)));
    rig.run();
    assert!(rig.api.get("VirtualMachineInstance", "a").is_some());
    rig.remove(MACHINE, "a");
    rig.run();
    assert!(rig.api.get("VirtualMachineInstance", "a").is_none());
}

#[test]
fn an_instance_that_ended_is_made_again_when_its_time_has_come() {
    let mut rig = Rig::new(1);
    let machine = rig.api.store(machine());
    rig.index.take(rig.now, Change::Put(Arc::new(machine.clone())));
    let mut ended = instance(&machine, "Succeeded");
    ended["metadata"]["creationTimestamp"] = json!(rig.now.to_string());
    rig.write(ended);
    rig.run_for(seconds(1));
    assert!(rig.api.get("VirtualMachineInstance", "a").is_none(), "it is gone");
    assert_eq!(rig.api.get("VirtualMachine", "a").unwrap()["status"]["startFailure"]["consecutiveFailCount"], 1);
    rig.run_for(seconds(2));
    let again = rig.api.get("VirtualMachineInstance", "a").expect("nothing happened but that time went by");
    assert_eq!(again["status"]["phase"], "Pending");
}
