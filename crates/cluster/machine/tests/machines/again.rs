//! Instances that end and are made again, and what of a machine waits for that.

use std::collections::BTreeMap;

use netloom_machine::control::{Ask, Deed, Kind, Scene, decide, wake_at};
use netloom_machine::sync::needs_restart;
use serde_json::{Value, json};

use crate::{instance, machine};

fn at(second: u32) -> String {
    format!("2030-01-01T00:{:02}:{:02}Z", second / 60, second % 60)
}

/// What is asked for at a second, and when to look again.
fn asks(machine: &Value, instance: Option<&Value>, second: u32) -> (Vec<Ask>, Option<String>) {
    let scene = Scene {
        machines: vec![machine],
        instances: instance.into_iter().collect(),
        migrations: Vec::new(),
        nodes: BTreeMap::new(),
        now: at(second),
    };
    (decide(&scene), wake_at(&scene))
}

fn ended(uid: &str, born: u32) -> Value {
    let mut ended = instance(&[], json!({"nodeName": "n1", "phase": "Succeeded"}));
    ended["metadata"]["uid"] = uid.into();
    ended["metadata"]["creationTimestamp"] = at(born).into();
    ended["metadata"]["finalizers"] = json!([]);
    ended
}

/// Notes the end of an instance in the status of its machine, and says how long the next one waits.
fn note(machine: &mut Value, uid: &str, (born, died): (u32, u32)) -> u32 {
    let ended = ended(uid, born);
    let (first, _) = asks(machine, Some(&ended), died);
    let [Ask { kind: Kind::Machine, deed: Deed::Status(status), .. }] = &first[..] else { panic!("{first:?}") };
    machine["status"] = status["status"].clone();
    let (then, _) = asks(machine, Some(&ended), died);
    assert!(matches!(&then[..], [Ask { kind: Kind::Instance, deed: Deed::Delete { .. }, .. }]), "{then:?}");
    let creates = |second: u32| {
        let (asks, wake) = asks(machine, None, second);
        let made = asks.iter().any(|ask| matches!(ask.deed, Deed::Create(_)));
        assert_eq!(wake.is_some(), !made, "somebody looks when the time has come");
        made
    };
    let wait = (0..100).find(|wait| creates(died + wait)).expect("it is made again");
    assert_eq!(asks(machine, None, died).1, Some(at(died + wait)));
    wait
}

#[test]
fn an_instance_that_ends_at_once_is_made_again_later_and_later() {
    let mut machine = machine(&[]);
    let mut second = 0;
    let mut waits = Vec::new();
    for number in 0..8 {
        let wait = note(&mut machine, &format!("i-{number}"), (second, second + 1));
        second += 1 + wait;
        waits.push(wait);
    }
    // Times have no fractions, so it is a second more.
    assert_eq!(waits, [2, 3, 5, 9, 17, 33, 61, 61]);
    assert_eq!(note(&mut machine, "i-long", (second, second + 61)), 2, "it lived");
    assert_eq!(note(&mut machine, "i-next", (second, second + 60)), 3, "it did not");
    machine["spec"]["runStrategy"] = "Halted".into();
    let (off, wake) = asks(&machine, None, second);
    let [Ask { deed: Deed::Status(status), .. }] = &off[..] else { panic!("{off:?}") };
    assert_eq!((status["status"].get("startFailure"), wake), (None, None), "turned off and on it begins from nothing");
}

#[test]
fn an_instance_that_somebody_deletes_is_made_again_at_once() {
    let mut machine = machine(&[]);
    machine["status"] = json!({"created": true, "ready": false});
    let mut gone = ended("i-1", 0);
    gone["metadata"]["deletionTimestamp"] = at(5).into();
    gone["metadata"]["finalizers"] = json!(["netloom.dev/domain"]);
    let (asked, _) = asks(&machine, Some(&gone), 5);
    assert!(asked.iter().all(|ask| ask.kind == Kind::Instance), "{asked:?}");
    let (asked, wake) = asks(&machine, None, 5);
    assert!(asked.iter().any(|ask| matches!(ask.deed, Deed::Create(_))) && wake.is_none(), "{asked:?}");
}

/// The machine and the instance as they are, and what waits for a restart.
type Case = (&'static str, fn(&mut Value, &mut Value), &'static [&'static str]);

#[test]
fn a_restart_is_required_for_what_is_left_over_and_for_nothing_else() {
    fn nic<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
        let at = if object["kind"] == "VirtualMachine" { "/spec/template/spec" } else { "/spec" };
        let nics = object.pointer_mut(&format!("{at}/domain/devices/interfaces")).unwrap().as_array_mut().unwrap();
        nics.iter_mut().find(|nic| nic["name"] == name).unwrap()
    }
    fn template(machine: &mut Value) -> &mut Value {
        &mut machine["spec"]["template"]
    }
    let cases: &[Case] = &[
        ("nothing", |_, _| {}, &[]),
        ("a state", |machine, _| nic(machine, "blue")["state"] = json!("down"), &[]),
        ("another model", |machine, _| nic(machine, "blue")["model"] = json!("e1000"), &["interface blue"]),
        (
            "another model of one that goes",
            |machine, _| {
                nic(machine, "blue")["model"] = json!("e1000");
                nic(machine, "blue")["state"] = json!("absent");
            },
            &[],
        ),
        (
            "another model of one that is going and comes again",
            |machine, instance| {
                nic(machine, "blue")["model"] = json!("e1000");
                nic(instance, "blue")["state"] = json!("absent");
            },
            &[],
        ),
        (
            "one that is going and comes again in a way that cannot be plugged in",
            |machine, instance| {
                nic(machine, "blue")["masquerade"] = json!({});
                nic(instance, "blue")["state"] = json!("absent");
            },
            &["interface blue"],
        ),
        (
            "another network",
            |machine, _| template(machine)["spec"]["networks"][1]["multus"]["networkName"] = json!("red"),
            &["interface blue"],
        ),
        (
            "cores",
            |machine, _| template(machine)["spec"]["domain"]["cpu"] = json!({"cores": 2}),
            &["spec.template.spec.domain.cpu.cores"],
        ),
        ("nothing in other words", |machine, _| template(machine)["spec"]["nodeSelector"] = json!({}), &[]),
        (
            "another base",
            |machine, _| template(machine)["metadata"] = json!({"annotations": {"netloom.dev/base": "big"}}),
            &["annotation netloom.dev/base"],
        ),
        (
            "the same base, named by the machine",
            |machine, instance| {
                machine["metadata"]["annotations"] = json!({"netloom.dev/base": "big"});
                instance["metadata"]["annotations"] = json!({"netloom.dev/base": "big"});
            },
            &[],
        ),
        ("another annotation", |machine, _| template(machine)["metadata"] = json!({"annotations": {"note": "x"}}), &[]),
    ];
    for (what, change, wanted) in cases {
        let nics = [("default", "masquerade", ""), ("blue", "bridge", "")];
        let status =
            json!({"phase": "Running", "nodeName": "n1", "interfaces": [{"name": "default"}, {"name": "blue"}]});
        let (mut machine, mut instance) = (machine(&nics), instance(&nics, status));
        change(&mut machine, &mut instance);
        assert_eq!(needs_restart(&machine, &instance), *wanted, "{what}");
        instance["status"]["phase"] = "Succeeded".into();
        let (asked, _) = asks(&machine, Some(&instance), 0);
        let waits = asked
            .iter()
            .any(|ask| matches!(&ask.deed, Deed::Status(status) if status.to_string().contains("RestartRequired")));
        assert!(!waits, "{what}: the next one has it all");
    }
}
