//! What the controller asks for.

use std::collections::BTreeMap;

use netloom_machine::control::{Ask, Deed, Kind, Libvirt, Node, Scene, decide};
use serde_json::{Value, json};

use crate::{instance, machine};

const NOW: &str = "2030-01-01T00:00:00Z";

fn nodes(all: &[(&str, &str, bool)]) -> BTreeMap<String, Node> {
    let libvirt = Libvirt { migrate_in: Some("qemu+unix:///".to_owned()), migrate_data: None };
    let node = |(name, zone, has): &(&str, &str, bool)| {
        let labels = BTreeMap::from([("zone".to_owned(), (*zone).to_owned())]);
        ((*name).to_owned(), Node { labels, libvirt: has.then(|| libvirt.clone()) })
    };
    all.iter().map(node).collect()
}

fn asks(machines: &[Value], instances: &[Value], migrations: &[Value]) -> Vec<Ask> {
    decide(&Scene {
        machines: machines.iter().collect(),
        instances: instances.iter().collect(),
        migrations: migrations.iter().collect(),
        nodes: nodes(&[("n1", "a", true), ("n2", "a", true), ("n3", "b", false)]),
        now: NOW.to_owned(),
    })
}

fn of(kind: Kind, asks: &[Ask]) -> Vec<&Deed> {
    asks.iter().filter(|ask| ask.kind == kind).map(|ask| &ask.deed).collect()
}

#[test]
fn a_machine_that_is_to_run_has_an_instance_and_one_that_is_not_has_none() {
    let made = asks(&[machine(&[("blue", "", "down")])], &[], &[]);
    let [Deed::Create(created)] = of(Kind::Instance, &made)[..] else { panic!("{made:?}") };
    assert_eq!(created["metadata"]["finalizers"], json!(["netloom.dev/domain"]));
    assert_eq!(created["spec"]["domain"]["devices"]["interfaces"][0]["state"], "down");
    let mut running = machine(&[]);
    running["spec"].as_object_mut().unwrap().remove("runStrategy");
    running["spec"]["running"] = json!(true);
    assert!(matches!(of(Kind::Instance, &asks(&[running.clone()], &[], &[]))[..], [Deed::Create(_)]));
    let live = instance(&[], json!({"nodeName": "n1", "phase": "Running"}));
    running["spec"]["running"] = json!(false);
    assert!(matches!(of(Kind::Instance, &asks(&[running], &[live.clone()], &[]))[..], [Deed::Delete { .. }]));
    let mut halted = machine(&[]);
    halted["spec"]["runStrategy"] = json!("Halted");
    assert!(matches!(of(Kind::Instance, &asks(&[halted], &[live.clone()], &[]))[..], [Deed::Delete { .. }]));
    let orphaned = asks(&[], &[live], &[]);
    let machine = ("a".to_owned(), "m-1".to_owned());
    let wanted = Deed::DeleteOrphan { machine, uid: "i-1".to_owned(), resource_version: "1".to_owned() };
    assert_eq!(of(Kind::Instance, &orphaned), [&wanted], "its machine is gone");
}

#[test]
fn instances_go_where_fewest_are_of_the_nodes_that_match_and_have_libvirt() {
    let placed = |instances: &[Value]| {
        let found = asks(&[], instances, &[]);
        let of = |ask: &Ask| match &ask.deed {
            Deed::Merge(patch) => patch["status"]["nodeName"].as_str().map(str::to_owned),
            _ => None,
        };
        found.iter().filter_map(of).collect::<Vec<_>>()
    };
    let free = |name: &str, status: Value| {
        let mut free = instance(&[], status);
        free["metadata"]["name"] = name.into();
        free["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        free
    };
    assert_eq!(placed(&[free("a", json!({})), free("b", json!({}))]), ["n1", "n2"]);
    assert_eq!(placed(&[free("a", json!({"nodeName": "n1", "phase": "Running"})), free("b", json!({}))]), ["n2"]);
    let mut picky = free("a", json!({}));
    picky["spec"]["nodeSelector"] = json!({"zone": "b"});
    assert_eq!(placed(&[picky.clone()]), [""; 0]);
    let told = asks(&[], &[picky], &[]);
    assert!(matches!(&told[0].deed, Deed::Merge(patch) if patch["status"]["phase"] == "Pending"));
}

#[test]
fn an_instance_is_held_until_its_domain_or_its_node_is_gone() {
    for (status, released) in [
        (json!({"nodeName": "n1", "phase": "Running"}), false),
        (json!({"nodeName": "n1", "phase": "Succeeded"}), true),
        (json!({"nodeName": "n9", "phase": "Running"}), true),
        (json!({}), true),
    ] {
        let mut going = instance(&[], status.clone());
        going["metadata"]["deletionTimestamp"] = NOW.into();
        let found = asks(&[machine(&[])], &[going], &[]);
        let merges = of(Kind::Instance, &found);
        assert_eq!(merges.len(), usize::from(released), "{status}: {merges:?}");
    }
}

#[test]
fn a_change_of_a_machine_is_one_write_of_its_instance() {
    let machine = {
        let mut machine = machine(&[("a", "", "down"), ("b", "", "down")]);
        machine["status"] = json!({"created": true, "ready": true});
        machine
    };
    let live = instance(
        &[("a", "", ""), ("b", "", "")],
        json!({"nodeName": "n1", "phase": "Running", "interfaces": [{"name": "a"}, {"name": "b"}]}),
    );
    let found = asks(&[machine], &[live], &[]);
    assert!(matches!(&found[..], [Ask { kind: Kind::Instance, deed: Deed::Patch(_), .. }]), "{found:?}");
}

fn migration(phase: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
        "metadata": {"namespace": "default", "name": "go", "uid": "g-1", "resourceVersion": "1"},
        "spec": {"vmiName": "a"}, "status": {"phase": phase},
    })
}

#[test]
fn a_migration_goes_its_way_to_one_of_two_ends() {
    let mut machine = machine(&[]);
    machine["status"] = json!({"created": true, "ready": true});
    let machines = [machine];
    let at = |status: Value| instance(&[], status);
    let phase = |asks: &[Ask]| match of(Kind::Migration, asks)[..] {
        [Deed::Status(status)] => status["status"]["phase"].as_str().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    let began = asks(&machines, &[at(json!({"nodeName": "n1", "phase": "Running"}))], &[migration("")]);
    let [Deed::Merge(patch)] = of(Kind::Instance, &began)[..] else { panic!("{began:?}") };
    assert_eq!(patch["status"]["migrationState"]["targetNode"], "n2");
    assert_eq!(phase(&began), "Running");
    let state = |more: Value| {
        let mut state = json!({"migrationUid": "g-1", "sourceNode": "n1", "targetNode": "n2"});
        for (name, value) in more.as_object().unwrap() {
            state[name] = value.clone();
        }
        state
    };
    let with =
        |node: &str, more: Value| [at(json!({"nodeName": node, "phase": "Running", "migrationState": state(more)}))];
    assert_eq!(asks(&machines, &with("n1", json!({})), &[migration("Running")]), [], "it is under way");
    let arrived = asks(&machines, &with("n1", json!({"completed": true})), &[migration("Running")]);
    let [Deed::Merge(patch)] = of(Kind::Instance, &arrived)[..] else { panic!("{arrived:?}") };
    assert_eq!(
        (&patch["status"]["nodeName"], &patch["metadata"]["labels"]["kubevirt.io/nodeName"]),
        (&json!("n2"), &json!("n2"))
    );
    assert_eq!(phase(&asks(&machines, &with("n2", json!({"completed": true})), &[migration("Running")])), "Succeeded");
    let failed = asks(&machines, &with("n1", json!({"failed": true, "failureReason": "x"})), &[migration("Running")]);
    assert_eq!((phase(&failed), of(Kind::Instance, &failed).len()), ("Failed".to_owned(), 0));
    assert_eq!(phase(&asks(&machines, &[], &[migration("")])), "Failed");
    assert_eq!(asks(&machines, &with("n2", json!({"completed": true})), &[migration("Succeeded")]), []);
}
