//! Whatever an object says, a review answers.

use std::sync::LazyLock;

use netloom_api::kinds;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{cluster::Cluster, examples::examples};

static EXAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| examples().into_iter().map(|(_, object)| object).collect());

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u32..5000).prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("192.168.1.1/24")),
        Just(json!("::/0")),
        Just(json!("mgmt")),
        Just(json!("100%")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z/.-]{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Puts `value` at one of the places below `object`, chosen by `at`.
fn disturb(object: &mut Value, at: usize, value: Value) {
    let mut places = Vec::new();
    collect(object, String::new(), &mut places);
    places.retain(|place| {
        !["/kind", "/apiVersion", "/metadata", "/metadata/name", "/metadata/namespace"].contains(&place.as_str())
    });
    if let Some(place) = places.get(at % places.len().max(1))
        && let Some(found) = object.pointer_mut(place)
    {
        *found = value;
    }
}

fn collect(value: &Value, place: String, places: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (key, child) in children {
        collect(child, format!("{place}/{key}"), places);
    }
    if !place.is_empty() {
        places.push(place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_disturbed_example_is_judged(which in any::<prop::sample::Index>(), at in any::<usize>(), value in values()) {
        let mut object = which.get(&EXAMPLES).clone();
        disturb(&mut object, at, value);
        let cluster = Cluster::new(EXAMPLES.clone());
        for verdict in [cluster.create(&object), cluster.update(&object), cluster.delete(&object)] {
            prop_assert!(verdict.errors.iter().all(|error| !error.path.is_empty()));
        }
        // What is stored may be just as odd.
        let odd = Cluster::new([object.clone()]);
        odd.update(&object);
        odd.delete(&object);
    }

    #[test]
    fn any_value_is_judged_as_any_kind(which in any::<prop::sample::Index>(), spec in values(), status in values()) {
        let kind = which.get(kinds());
        let object = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": "x"}, "spec": spec, "status": status});
        let cluster = Cluster::new([object.clone()]);
        for verdict in [cluster.create(&object), cluster.update(&object), cluster.delete(&object)] {
            prop_assert!(verdict.patch.is_none_or(|patch| patch.is_array()));
        }
    }
}
