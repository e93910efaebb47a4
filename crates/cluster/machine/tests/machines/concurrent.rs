//! Somebody else writes between what the controller has seen and what it writes: its patch is refused where it would
//! undo that, is decided again, and in the end everybody's changes are there.

use netloom_machine::control::{Deed, Kind};
use serde_json::{Value, json};

use crate::{
    machine,
    world::{Conflict, World, running},
};

const STATES: [&str; 4] = ["", "up", "down", "absent"];
const NIC: &str = "/spec/domain/devices/interfaces/0";

/// Something that another writer does to an instance, whether it touches NICs, and whether it is there.
type Edit = (&'static str, bool, fn(&mut Value), fn(&Value) -> bool);

const EDITS: [Edit; 4] = [
    (
        "a field of the same NIC",
        true,
        |instance| instance.pointer_mut(NIC).unwrap()["acpiIndex"] = json!(7),
        |instance| instance.pointer(NIC).unwrap()["acpiIndex"] == 7,
    ),
    (
        "another NIC",
        true,
        |instance| {
            let nics = instance.pointer_mut("/spec/domain/devices/interfaces").unwrap();
            nics.as_array_mut().unwrap().push(json!({"name": "red", "bridge": {}}));
            let networks = instance.pointer_mut("/spec/networks").unwrap();
            networks.as_array_mut().unwrap().push(json!({"name": "red", "multus": {"networkName": "red"}}));
        },
        |instance| {
            let is_red = |place: &str| instance.pointer(place).is_some_and(|one| one["name"] == "red");
            is_red("/spec/domain/devices/interfaces/1") && is_red("/spec/networks/1")
        },
    ),
    (
        "its status",
        false,
        |instance| instance["status"]["interfaces"][0]["ipAddress"] = json!("192.0.2.1"),
        |instance| instance["status"]["interfaces"][0]["ipAddress"] == "192.0.2.1",
    ),
    (
        "a label",
        false,
        |instance| instance["metadata"]["labels"]["tier"] = json!("front"),
        |instance| instance["metadata"]["labels"]["tier"] == "front",
    ),
];

fn after(before: &'static str, asked: &'static str) -> &'static str {
    if before == "absent" { "absent" } else { asked }
}

fn state(world: &World) -> &str {
    let nic = world.get(Kind::Instance).and_then(|instance| instance.pointer(NIC)).unwrap();
    nic["state"].as_str().unwrap_or_default()
}

fn cluster(before: &str, asked: &str) -> World {
    let mut machine = machine(&[("blue", "bridge", asked)]);
    machine["status"] = json!({"created": true, "ready": true});
    World::with([(Kind::Machine, machine), (Kind::Instance, running(&[("blue", "bridge", before)]))])
}

#[test]
fn each_of_the_sixteen_transitions_outlives_another_writer_of_the_instance_and_so_does_what_that_wrote() {
    for (before, asked) in STATES.iter().flat_map(|before| STATES.map(|asked| (*before, asked))) {
        for (what, touches_nics, change, is_there) in EDITS {
            let name = format!("{before:?} -> {asked:?} beside a change of {what}");
            let mut world = cluster(before, asked);
            let decided = world.asks();
            assert_eq!(decided.len(), usize::from(before != after(before, asked)), "{name}: {decided:?}");
            world.edit(Kind::Instance, change);
            for ask in &decided {
                assert!(matches!(ask.deed, Deed::Patch(_)), "{name}: {decided:?}");
                let wrote = world.carry(ask);
                assert_eq!(wrote, if touches_nics { Err(Conflict) } else { Ok(()) }, "{name}");
                let instance = world.get(Kind::Instance).unwrap();
                assert!(is_there(instance), "{name}: it undoes what somebody else did");
            }
            world.settle();
            assert_eq!(state(&world), after(before, asked), "{name}");
            assert!(is_there(world.get(Kind::Instance).unwrap()), "{name}");
        }
    }
}

/// Two controllers for a moment: the second one's patch changes nothing that the first one's has not.
#[test]
fn each_of_the_sixteen_transitions_is_made_once_by_two_controllers() {
    for (before, asked) in STATES.iter().flat_map(|before| STATES.map(|asked| (*before, asked))) {
        let mut world = cluster(before, asked);
        let (one, other) = (world.asks(), world.asks());
        assert!(one.iter().all(|ask| world.carry(ask) == Ok(())), "{before} {asked}");
        assert!(other.iter().all(|ask| world.carry(ask) == Err(Conflict)), "{before} {asked}");
        assert_eq!((state(&world), world.asks()), (after(before, asked), vec![]), "{before} {asked}");
    }
}

/// The machine asks for something else by the time its instance is written.
#[test]
fn each_of_the_sixteen_transitions_is_followed_by_the_next_one() {
    for (before, asked) in STATES.iter().flat_map(|before| STATES.map(|asked| (*before, asked))) {
        for later in STATES {
            let mut world = cluster(before, asked);
            let decided = world.asks();
            let place = "/spec/template/spec/domain/devices/interfaces/0";
            world.edit(Kind::Machine, |machine| machine.pointer_mut(place).unwrap()["state"] = later.into());
            for ask in &decided {
                assert_eq!(world.carry(ask), Ok(()));
            }
            world.settle();
            assert_eq!(state(&world), after(after(before, asked), later), "{before} {asked} {later}");
        }
    }
}

/// A NIC that is gone is taken out of the instance and of the machine, and what others wrote meanwhile stays in both.
#[test]
fn what_is_cleared_after_an_unplug_is_only_what_was_unplugged() {
    let nics = [("blue", "bridge", "absent")];
    let mut machine = machine(&nics);
    machine["status"] = json!({"created": true, "ready": true});
    let mut gone = running(&nics);
    gone["status"]["interfaces"] = json!([]);
    let mut world = World::with([(Kind::Machine, machine), (Kind::Instance, gone)]);
    for (kind, prefix) in [(Kind::Instance, ""), (Kind::Machine, "/spec/template")] {
        let decided = world.asks();
        assert!(matches!(&decided[..], [ask] if ask.kind == kind), "{decided:?}");
        let list = format!("{prefix}/spec/domain/devices/interfaces");
        world.edit(kind, |object| object.pointer_mut(&list).unwrap()[0]["acpiIndex"] = json!(7));
        assert_eq!(world.carry(&decided[0]), Err(Conflict));
        world.edit(kind, |object| {
            let nics = object.pointer_mut(&list).unwrap().as_array_mut().unwrap();
            nics.push(json!({"name": "red", "bridge": {}}));
            let networks = object.pointer_mut(&format!("{prefix}/spec/networks")).unwrap().as_array_mut().unwrap();
            networks.push(json!({"name": "red", "multus": {"networkName": "red"}}));
        });
        let decided = world.asks();
        assert_eq!(world.carry(decided.iter().find(|ask| ask.kind == kind).unwrap()), Ok(()));
        let names = |list: &str| {
            let all = world.get(kind).unwrap().pointer(list).unwrap().as_array().unwrap();
            all.iter().map(|one| one["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!((names(&list), names(&format!("{prefix}/spec/networks"))), (vec![json!("red")], vec![json!("red")]));
    }
}
