//! From a machine to its instance.

use netloom_machine::sync::{needs_restart, to_instance, to_machine};
use serde_json::{Value, json};

use crate::{instance, machine};

/// The state that a NIC has after a patch whose tests hold; none where it is gone.
fn states(object: &Value, patch: Option<&Value>, prefix: &str) -> Vec<(String, String)> {
    let mut object = object.clone();
    for operation in patch.and_then(Value::as_array).into_iter().flatten() {
        let (path, value) = (operation["path"].as_str().unwrap(), &operation["value"]);
        match operation["op"].as_str().unwrap() {
            "test" => assert_eq!(object.pointer(path), Some(value), "{path}"),
            "add" => {
                let (parent, field) = path.rsplit_once('/').unwrap();
                object.pointer_mut(parent).unwrap()[field] = value.clone();
            }
            other => panic!("{other}"),
        }
    }
    let nics = object.pointer(&format!("{prefix}/spec/domain/devices/interfaces")).cloned().unwrap_or_default();
    let all = nics.as_array().cloned().unwrap_or_default();
    let state = |nic: &Value| nic["state"].as_str().unwrap_or_default().to_owned();
    all.iter().map(|nic| (nic["name"].as_str().unwrap().to_owned(), state(nic))).collect()
}

fn running(nics: &[&str]) -> Value {
    let interfaces: Vec<Value> = nics.iter().map(|name| json!({"name": name})).collect();
    json!({"phase": "Running", "nodeName": "n1", "interfaces": interfaces})
}

#[test]
fn all_sixteen_transitions_end_as_they_should_and_none_needs_a_restart() {
    let all = ["", "up", "down", "absent"];
    for before in all {
        for wanted in all {
            let (machine, instance) =
                (machine(&[("blue", "", wanted)]), instance(&[("blue", "", before)], running(&["blue"])));
            let patch = to_instance(&machine, &instance);
            let after = if before == "absent" { "absent" } else { wanted };
            assert_eq!(
                states(&instance, patch.as_ref(), ""),
                [("blue".to_owned(), after.to_owned())],
                "{before} {wanted}"
            );
            assert_eq!(patch.is_some(), before != after, "{before} {wanted}");
            assert_eq!(needs_restart(&machine, &instance), [""; 0], "{before} {wanted}");
            // Somebody else changes the instance meanwhile: the test of the patch does not hold any more.
            if let Some(patch) = patch {
                let mut edited = instance.clone();
                edited["spec"]["domain"]["devices"]["interfaces"][0]["model"] = json!("e1000");
                let tests = patch.as_array().unwrap().iter().filter(|operation| operation["op"] == "test");
                let holds = |test: &Value| edited.pointer(test["path"].as_str().unwrap()) == Some(&test["value"]);
                assert!(!tests.into_iter().all(holds), "{before} {wanted}");
            }
        }
    }
}

#[test]
fn what_is_new_is_plugged_in_where_it_can_be() {
    let instance = instance(&[("default", "masquerade", "")], running(&["default"]));
    for (binding, state, plugged) in [
        ("", "down", true),
        ("bridge", "", true),
        ("sriov", "", true),
        ("masquerade", "", false),
        ("plugin:p", "", false),
        ("bridge", "absent", false),
    ] {
        let machine = machine(&[("default", "masquerade", ""), ("blue", binding, state)]);
        let patch = to_instance(&machine, &instance);
        assert_eq!(patch.is_some(), plugged, "{binding} {state}");
        assert_eq!(states(&instance, patch.as_ref(), "").len(), 1 + usize::from(plugged));
        let restarts = !plugged && state != "absent";
        assert_eq!(needs_restart(&machine, &instance), if restarts { vec!["interface blue"] } else { Vec::new() });
    }
}

#[test]
fn what_was_unplugged_goes_from_the_instance_and_then_from_the_machine() {
    let machine = machine(&[("default", "", ""), ("blue", "", "absent")]);
    let asked = instance(&[("default", "", ""), ("blue", "", "absent")], running(&["default", "blue"]));
    assert_eq!(to_instance(&machine, &asked), None, "it is still there");
    assert_eq!(to_machine(&machine, &asked), None);
    let gone = instance(&[("default", "", ""), ("blue", "", "absent")], running(&["default"]));
    let patch = to_instance(&machine, &gone).expect("it is gone");
    assert_eq!(states(&gone, Some(&patch), "").len(), 1);
    let cleared = instance(&[("default", "", "")], running(&["default"]));
    let patch = to_machine(&machine, &cleared).expect("it is gone from the instance too");
    assert_eq!(states(&machine, Some(&patch), "/spec/template").len(), 1);
    let early = instance(&[("default", "", ""), ("blue", "", "absent")], json!({"phase": "Scheduled"}));
    assert_eq!(to_instance(&machine, &early), None, "nobody has reported anything yet");
}

#[test]
fn what_does_not_reach_a_running_instance_is_told() {
    let (mut machine, instance) = (machine(&[("blue", "", "")]), instance(&[("blue", "", "")], running(&["blue"])));
    machine["spec"]["template"]["spec"]["domain"]["cpu"] = json!({"cores": 2});
    assert_eq!(needs_restart(&machine, &instance), ["spec.template.spec.domain.cpu.cores"]);
    let removed = crate::machine(&[]);
    assert_eq!(needs_restart(&removed, &instance), ["interface blue"]);
    let mut other = crate::machine(&[("blue", "", "down")]);
    other["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0]["model"] = json!("e1000");
    assert_eq!(needs_restart(&other, &instance), ["interface blue"]);
}

#[test]
fn an_instance_without_lists_gets_them() {
    let machine = machine(&[("blue", "", "")]);
    let mut bare = instance(&[], running(&[]));
    bare["spec"] = json!({"domain": {}});
    let patch = to_instance(&machine, &bare).unwrap();
    assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/resourceVersion", "value": "1"}));
    assert_eq!(states(&bare, Some(&patch), "").len(), 1);
}
