//! What holds for any object and any order of writes.

use netloom_patch::fields::{Element, Set};
use netloom_patch::managed::{Manager, Shape, apply, update};
use netloom_patch::{MergeKeys, Strategy as MergeStrategy, json_patch, merge_patch, strategic};
use netloom_schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

fn schema() -> Schema {
    let item = json!({"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}});
    Schema::lenient(&json!({"type": "object", "properties": {
        "scalar": {"type": "integer"},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item,
        },
        "plain": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "piece": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "free": {"x-kubernetes-preserve-unknown-fields": true},
    }}))
}

fn name() -> impl Strategy<Value = String> {
    "[a-d]"
}

/// Any JSON, a few levels deep, with names that often meet.
fn anything() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("metadata".to_owned()),
        Just("managedFields".to_owned()),
        Just("list".to_owned()),
        Just("set".to_owned()),
        Just("name".to_owned()),
        Just("$patch".to_owned()),
        Just("$retainKeys".to_owned()),
        Just("$setElementOrder/list".to_owned()),
        Just("$deleteFromPrimitiveList/set".to_owned()),
        Just("op".to_owned()),
        Just("path".to_owned()),
        Just("f:a".to_owned()),
        Just("k:{\"name\":1}".to_owned()),
        Just("v:1".to_owned()),
        Just(".".to_owned()),
        name(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| json!(float)),
        name().prop_map(Value::from),
        prop_oneof![Just("replace"), Just("delete"), Just("merge"), Just("add"), Just("/list/0"), Just("Apply")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map(key.clone(), inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Content that fits the schema.
fn content() -> impl Strategy<Value = Value> {
    let texts = || prop::collection::btree_map(name(), name(), 0..3).prop_map(|map| json!(map));
    let set = prop::collection::btree_set(name(), 0..4).prop_map(|set| json!(set)).prop_shuffle_list();
    let list = prop::collection::btree_map(name(), prop::option::of(0..3), 0..4).prop_map(|items| {
        let items = items.into_iter().map(|(name, value)| match value {
            Some(value) => json!({"name": name, "value": value}),
            None => json!({"name": name}),
        });
        Value::Array(items.collect())
    });
    let fields = (
        prop::option::of((0..3).prop_map(Value::from)),
        prop::option::of(set),
        prop::option::of(list),
        prop::option::of(prop::collection::vec(name(), 0..3).prop_map(|list| json!(list))),
        prop::option::of(texts()),
        prop::option::of(texts()),
        prop::option::of(anything()),
    );
    fields.prop_map(|(scalar, set, list, plain, map, piece, free)| {
        let mut object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "one"}});
        let fields = [
            ("scalar", scalar),
            ("set", set),
            ("list", list),
            ("plain", plain),
            ("map", map),
            ("piece", piece),
            ("free", free),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                object[name] = value;
            }
        }
        object
    })
}

/// The value without nulls, empty lists and empty objects.
fn without_empty(value: &Value) -> Value {
    let empty = |value: &Value| matches!(value.to_string().as_str(), "null" | "[]" | "{}");
    match value {
        Value::Array(items) => items.iter().map(without_empty).filter(|item| !empty(item)).collect(),
        Value::Object(map) => {
            let fields = map.iter().map(|(name, inner)| (name.clone(), without_empty(inner)));
            fields.filter(|(_, inner)| !empty(inner)).collect()
        }
        scalar => scalar.clone(),
    }
}

trait ShuffleList {
    fn prop_shuffle_list(self) -> BoxedStrategy<Value>;
}

impl<S: Strategy<Value = Value> + 'static> ShuffleList for S {
    fn prop_shuffle_list(self) -> BoxedStrategy<Value> {
        self.prop_map(|list| list.as_array().cloned().unwrap_or_default()).prop_shuffle().prop_map(Value::Array).boxed()
    }
}

#[derive(Clone, Debug)]
enum Write {
    Update(u8, Value),
    Apply(u8, Value),
    Force(u8, Value),
}

fn write() -> impl Strategy<Value = Write> {
    (0..3_u8, 0..3_u8, content()).prop_map(|(kind, who, object)| match kind {
        0 => Write::Update(who, object),
        1 => Write::Apply(who, object),
        _ => Write::Force(who, object),
    })
}

fn manager(who: u8) -> Manager<'static> {
    let name = ["one", "two", "three"][usize::from(who)];
    Manager { name, api_version: "v1", subresource: "", time: "2030-01-01T00:00:00Z" }
}

/// The object after some writes; refused ones change nothing.
fn play(shape: &Shape<'_>, writes: &[Write]) -> Option<Value> {
    let mut live: Option<Value> = None;
    for write in writes {
        match write {
            Write::Update(who, object) => {
                let mut new = object.clone();
                update(live.as_ref(), &mut new, &manager(*who), shape);
                live = Some(new);
            }
            Write::Apply(who, object) => {
                live = apply(live.as_ref(), object, &manager(*who), false, shape).ok().or(live);
            }
            Write::Force(who, object) => {
                live = apply(live.as_ref(), object, &manager(*who), true, shape).ok().or(live);
            }
        }
    }
    live
}

fn element() -> impl Strategy<Value = Element> {
    let scalar =
        || prop_oneof![any::<i64>().prop_map(Value::from), "\\PC{0,6}".prop_map(Value::from), Just(json!(1.5))];
    prop_oneof![
        "\\PC{0,6}".prop_map(Element::Field),
        prop::collection::btree_map("[a-z<>\"]{1,3}", scalar(), 1..3)
            .prop_map(|keys| Element::key(keys.into_iter().collect())),
        scalar().prop_map(Element::Value),
        any::<i64>().prop_map(Element::Index),
    ]
}

fn set() -> impl Strategy<Value = Set> {
    prop::collection::vec(prop::collection::vec(element(), 1..4), 0..8).prop_map(|paths| paths.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_set_survives_its_json_form(set in set()) {
        prop_assert_eq!(Set::from_json(&set.to_json()), Ok(set));
    }

    #[test]
    fn the_algebra_of_sets_holds(left in set(), right in set()) {
        let both = left.intersection(&right);
        prop_assert_eq!(left.difference(&right).union(&both), left.clone());
        prop_assert_eq!(left.union(&right), right.union(&left));
        prop_assert_eq!(left.union(&right).difference(&left), right.difference(&left));
        prop_assert!(left.difference(&left).is_empty());
        for path in left.paths() {
            prop_assert!(left.has(&path));
            prop_assert_eq!(both.has(&path), right.has(&path));
        }
    }

    #[test]
    fn applying_twice_changes_nothing(writes in prop::collection::vec(write(), 0..5), config in content()) {
        let schema = schema();
        let shape = Shape::new(&schema, "Thing");
        let live = play(&shape, &writes);
        // What is applied empty does not settle: nobody owns an empty list, a map that loses its content by it becomes
        // null, which validation then refuses, and an object that nobody owns anything of is not tracked.
        let mut config = without_empty(&config);
        config["scalar"] = json!(7);
        let settled = |object: &Value| !object.to_string().contains("null");
        if let Some(once) = apply(live.as_ref(), &config, &manager(0), true, &shape).ok().filter(settled) {
            let later = Manager { time: "2031-01-01T00:00:00Z", ..manager(0) };
            let twice = apply(Some(&once), &config, &later, false, &shape);
            prop_assert_eq!(twice, Ok(once));
        }
    }

    #[test]
    fn what_is_applied_is_there_and_owned(writes in prop::collection::vec(write(), 0..5), scalar in 0..9, text in name()) {
        let schema = schema();
        let shape = Shape::new(&schema, "Thing");
        let live = play(&shape, &writes);
        let config = json!({
            "apiVersion": "v1", "kind": "Thing", "metadata": {"name": "one"},
            "scalar": scalar, "map": {"x": text}, "list": [{"name": text}],
        });
        let after = apply(live.as_ref(), &config, &manager(2), true, &shape).expect("force has no conflicts");
        prop_assert_eq!(&after["scalar"], &config["scalar"]);
        prop_assert_eq!(&after["map"]["x"], &config["map"]["x"]);
        let entries = after["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let mine = entries.iter().find(|entry| entry["manager"] == "three" && entry["operation"] == "Apply");
        let mine = Set::from_json(&mine.expect("the applier has an entry")["fieldsV1"]).expect("a set");
        prop_assert!(mine.has(&[Element::field("scalar")]));
        prop_assert!(mine.has(&[Element::field("map"), Element::field("x")]));
    }

    #[test]
    fn an_update_then_the_same_by_apply_keeps_ownership(object in content()) {
        let schema = schema();
        let shape = Shape::new(&schema, "Thing");
        let mut created = object.clone();
        update(None, &mut created, &manager(0), &shape);
        let applied = apply(Some(&created), &object, &manager(0), false, &shape);
        prop_assert!(applied.is_ok() || created["metadata"]["managedFields"].is_null(), "{applied:?}");
        if let Ok(applied) = applied {
            let updates = |object: &Value| {
                let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
                entries.into_iter().filter(|entry| entry["operation"] == "Update").collect::<Vec<_>>()
            };
            prop_assert_eq!(updates(&created), updates(&applied));
        }
    }

    #[test]
    fn nothing_panics(first in anything(), second in anything(), third in anything()) {
        let schema = schema();
        let shape = Shape::new(&schema, "Thing").ignoring(&["free"]);
        let keys = MergeKeys::default()
            .with("list", MergeStrategy::MergeBy("name".to_owned()))
            .with("set", MergeStrategy::MergeScalars);
        let _ = json_patch(&first, &second);
        let _ = merge_patch(&first, &second);
        let _ = strategic(&first, &second, &keys);
        let _ = Set::from_json(&first);
        let mut new = second.clone();
        update(Some(&first), &mut new, &manager(0), &shape);
        let mut config = third.clone();
        if let Value::Object(fields) = &mut config {
            fields.insert("apiVersion".to_owned(), json!("v1"));
            fields.insert("kind".to_owned(), json!("Thing"));
        }
        let _ = apply(Some(&new), &config, &manager(1), true, &shape);
    }
}
