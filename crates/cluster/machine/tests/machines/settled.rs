//! What an instance says of where it is: put right whoever changed it, and whatever became of the migration.

use std::collections::BTreeMap;

use netloom_machine::control::{Ask, Deed, Kind, Libvirt, Node, Scene, decide};
use serde_json::{Value, json};

use crate::{instance, machine};

const NOW: &str = "2030-01-01T00:00:00Z";

fn asks(instances: &[Value], migrations: &[Value]) -> Vec<Ask> {
    let libvirt = Libvirt { migrate_in: Some("qemu+unix:///".to_owned()), migrate_data: None };
    let node = |name: &str| (name.to_owned(), Node { labels: BTreeMap::new(), libvirt: Some(libvirt.clone()) });
    let mut machine = machine(&[]);
    machine["status"] = json!({"created": true, "ready": true});
    let asks = decide(&Scene {
        machines: vec![&machine],
        instances: instances.iter().collect(),
        migrations: migrations.iter().collect(),
        nodes: ["n1", "n2", "n3"].map(node).into(),
        now: NOW.to_owned(),
    });
    asks.into_iter().filter(|ask| ask.kind != Kind::Machine).collect()
}

/// The one merge patch of an instance that is asked for, without the version that it is tied to.
fn merge(asks: &[Ask]) -> Option<Value> {
    let mut found = asks.iter().filter(|ask| ask.kind == Kind::Instance).map(|ask| match &ask.deed {
        Deed::Merge(patch) => patch.clone(),
        other => panic!("{other:?}"),
    });
    let mut patch = found.next()?;
    assert_eq!(found.next(), None);
    assert_eq!(patch["metadata"]["resourceVersion"], "1");
    patch["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    Some(patch)
}

fn migrating(node: &str, more: &[&str]) -> Value {
    let mut state = json!({"migrationUid": "g-1", "sourceNode": "n1", "targetNode": "n2"});
    for field in more {
        state[*field] = json!(true);
    }
    instance(&[], json!({"nodeName": node, "phase": "Running", "migrationState": state}))
}

fn going(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = NOW.into();
    object
}

#[test]
fn who_has_arrived_is_at_the_new_node_whatever_became_of_the_migration() {
    let there = json!({"metadata": {"labels": {"kubevirt.io/nodeName": "n2"}}, "status": {"nodeName": "n2"}});
    let migration = |phase: &str| {
        json!({
            "metadata": {"namespace": "default", "name": "go", "uid": "g-1", "resourceVersion": "1"},
            "spec": {"vmiName": "a"}, "status": {"phase": phase},
        })
    };
    let arrived = migrating("n1", &["completed"]);
    for migrations in [vec![], vec![going(migration("Running"))], vec![migration("Failed")]] {
        assert_eq!(merge(&asks(std::slice::from_ref(&arrived), &migrations)), Some(there.clone()), "{migrations:?}");
    }
    let mut next = migration("");
    next["metadata"]["uid"] = "g-2".into();
    assert_eq!(merge(&asks(&[arrived.clone()], &[next])), Some(there.clone()), "one after the other");
    // Its agent at the old node leaves it to the new one to end it.
    assert_eq!(merge(&asks(&[going(arrived)], &[])), Some(there));
    for still in [migrating("n1", &[]), migrating("n1", &["failed"]), migrating("n1", &["completed", "failed"])] {
        assert_eq!(merge(&asks(&[still], &[])), None);
    }
}

#[test]
fn label_and_finalizer_are_put_back() {
    let label = |node: &str| json!({"labels": {"kubevirt.io/nodeName": node}});
    let mut bare = instance(&[], json!({"nodeName": "n2", "phase": "Running"}));
    assert_eq!(merge(&asks(std::slice::from_ref(&bare), &[])), None);
    let meta = bare["metadata"].as_object_mut().unwrap();
    meta.remove("ownerReferences");
    meta["finalizers"] = json!(["other/one"]);
    let held = json!({"metadata": {"finalizers": ["other/one", "netloom.dev/domain"]}});
    assert_eq!(merge(&asks(std::slice::from_ref(&bare), &[])), Some(held));
    bare["metadata"]["labels"] = json!({"kubevirt.io/nodeName": "n1"});
    bare["metadata"]["finalizers"] = json!(["netloom.dev/domain"]);
    assert_eq!(merge(&asks(std::slice::from_ref(&bare), &[])), Some(json!({"metadata": label("n2")})));
    assert_eq!(merge(&asks(&[going(bare.clone())], &[])), Some(json!({"metadata": label("n2")})), "its agent ends it");
    // As an administrator makes one who has a node in mind.
    let meta = bare["metadata"].as_object_mut().unwrap();
    meta.remove("labels");
    meta.remove("finalizers");
    bare["status"] = json!({"nodeName": "n3"});
    let both = json!({"labels": {"kubevirt.io/nodeName": "n3"}, "finalizers": ["netloom.dev/domain"]});
    assert_eq!(merge(&asks(std::slice::from_ref(&bare), &[])), Some(json!({"metadata": both})));
    bare["status"]["phase"] = "Succeeded".into();
    assert_eq!(
        merge(&asks(std::slice::from_ref(&bare), &[])),
        Some(json!({"metadata": label("n3")})),
        "nothing to hold"
    );
    bare["metadata"]["deletionTimestamp"] = NOW.into();
    bare["status"] = json!({});
    assert_eq!(merge(&asks(&[bare], &[])), None);
}

#[test]
fn an_instance_counts_at_the_node_that_it_moves_to() {
    let placed = |others: &[Value], migrations: &[Value]| {
        let mut fresh = instance(&[], json!({}));
        fresh["metadata"]["name"] = "b".into();
        fresh["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        let all: Vec<Value> = others.iter().cloned().chain([fresh]).collect();
        let asks = asks(&all, migrations);
        let found = asks.iter().find_map(|ask| match &ask.deed {
            Deed::Merge(patch) if ask.name == "b" => patch["status"]["nodeName"].as_str().map(str::to_owned),
            _ => None,
        });
        found.expect("it is placed")
    };
    assert_eq!(placed(&[migrating("n1", &[])], &[]), "n3");
    assert_eq!(placed(&[migrating("n1", &["failed"])], &[]), "n2", "it does not go there any more");
    let begins = json!({
        "metadata": {"namespace": "default", "name": "go", "uid": "g-2", "resourceVersion": "1"}, "spec": {"vmiName": "a"},
    });
    assert_eq!(placed(&[instance(&[], json!({"nodeName": "n1", "phase": "Running"}))], &[begins]), "n3");
}
