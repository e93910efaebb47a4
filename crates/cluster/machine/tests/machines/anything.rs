//! Objects that may have anything in them, anywhere: nothing panics, and nothing of it reaches other machines.

use std::collections::BTreeMap;

use netloom_machine::{
    control::{Node, Scene, decide},
    domain::{Plugins, base, instance as domain_of},
    lane::Lane,
    rules::{broken, warnings},
    spec::InstanceSpec,
    sync::{needs_restart, to_instance, to_machine},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    fake::{BASE, Fake, Folder},
    instance, machine,
};

const PLACES: &[&str] = &[
    "/metadata",
    "/metadata/annotations",
    "/metadata/finalizers",
    "/metadata/ownerReferences",
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/deletionTimestamp",
    "/spec",
    "/spec/domain",
    "/spec/domain/devices",
    "/spec/domain/devices/interfaces",
    "/spec/domain/devices/interfaces/0",
    "/spec/domain/devices/interfaces/0/name",
    "/spec/domain/devices/interfaces/0/state",
    "/spec/networks",
    "/spec/networks/0",
    "/spec/template",
    "/spec/template/spec",
    "/spec/template/spec/networks",
    "/spec/template/spec/domain",
    "/spec/runStrategy",
    "/status",
    "/status/interfaces",
    "/status/interfaces/0",
    "/status/conditions",
    "/status/phase",
    "/status/nodeName",
    "/status/migrationState",
    "/status/migrationState/targetNode",
];

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("absent")),
        Just(json!("n1")),
        Just(json!({"name": "blue"})),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}|name|state", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Puts a value where there is something, or beside it.
fn put(object: &mut Value, place: &str, value: &Value) {
    if let Some(there) = object.pointer_mut(place) {
        *there = value.clone();
    } else if let Some((parent, field)) = place.rsplit_once('/')
        && let Some(Value::Object(fields)) = object.pointer_mut(parent)
    {
        fields.insert(field.to_owned(), value.clone());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_in_an_object_makes_anything_panic(changes in prop::collection::vec((0..PLACES.len(), anything()), 1..5)) {
        let status = json!({"nodeName": "n1", "phase": "Running", "interfaces": [{"name": "blue"}]});
        let (mut machine, mut live) = (machine(&[("blue", "", "down")]), instance(&[("blue", "", "")], status));
        let good = {
            let mut good = instance(&[("red", "", "down")], json!({"nodeName": "n1", "phase": "Scheduled"}));
            good["metadata"]["name"] = "good".into();
            good
        };
        for (place, value) in &changes {
            put(&mut machine, PLACES[*place], value);
            put(&mut live, PLACES[*place], value);
        }
        to_instance(&machine, &live);
        to_machine(&machine, &live);
        needs_restart(&machine, &live);
        domain_of(&live, &Plugins::new()).ok();
        base(&live).ok();
        if let Ok(spec) = serde_json::from_value::<InstanceSpec>(live["spec"].clone()) {
            broken(&spec, "spec");
            warnings(&spec);
        }
        let nodes = BTreeMap::from([("n1".to_owned(), Node::default())]);
        let scene = Scene { machines: vec![&machine], instances: vec![&live, &good], migrations: vec![&live], nodes, now: String::new() };
        decide(&scene);
        let mut lane = Lane::new("n1", Plugins::new());
        lane.listed(vec![live, good]);
        let mut fake = Fake::default();
        lane.turn(0, "", &mut fake, &Folder(Some(BASE))).unwrap();
        prop_assert!(fake.domains["default_good"].1, "others go on");
    }
}
