//! Several appliers of one object: each keeps what it still applies, and nobody's fields go by accident.

use crate::world::World;
use serde_json::{Value, json};

fn items() -> Value {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    json!({"list": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": set}},
    }})
}

fn named(names: &[&str]) -> Value {
    let items: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"list": items})
}

#[test]
fn an_item_stays_as_long_as_one_applies_it() {
    World::of(&items())
        .apply("one", named(&["a", "b", "c"]))
        .apply("two@v2", named(&["c", "d"]))
        .apply("one@v3", named(&["a"]))
        .is(named(&["a", "c", "d"]))
        .owned(&[
            "one@v3 Apply: .list[name=\"a\"] .list[name=\"a\"].name",
            "two@v2 Apply: .list[name=\"c\"] .list[name=\"d\"] .list[name=\"c\"].name .list[name=\"d\"].name",
        ]);
}

#[test]
fn an_item_of_two_loses_only_what_one_gave_it() {
    World::of(&items())
        .apply("one", json!({"list": [{"name": "a"}, {"name": "b", "value": ["c"]}]}))
        .apply("two@v2", json!({"list": [{"name": "b", "value": ["d"]}]}))
        .apply("one@v3", named(&["a"]))
        .is(json!({"list": [{"name": "a"}, {"name": "b", "value": ["d"]}]}));
}

#[test]
fn what_a_controller_added_to_a_shared_item_stays() {
    World::of(&items())
        .apply("one", json!({"list": [{"name": "a"}, {"name": "b", "value": ["c"]}]}))
        .apply("two@v2", json!({"list": [{"name": "b", "value": ["d"]}]}))
        .update("controller@v2", json!({"list": [{"name": "a"}, {"name": "b", "value": ["c", "d", "e"]}]}))
        .apply("one@v3", named(&["a"]))
        .is(json!({"list": [{"name": "a"}, {"name": "b", "value": ["d", "e"]}]}))
        .owned(&[
            "one@v3 Apply: .list[name=\"a\"] .list[name=\"a\"].name",
            "two@v2 Apply: .list[name=\"b\"] .list[name=\"b\"].name .list[name=\"b\"].value[=\"d\"]",
            "controller@v2 Update: .list[name=\"b\"].value[=\"e\"]",
        ]);
}

#[test]
fn what_a_controller_added_to_an_item_goes_with_the_item() {
    World::of(&items())
        .apply("one", json!({"list": [{"name": "a"}, {"name": "b", "value": ["c"]}]}))
        .apply("two@v2", json!({"list": [{"name": "a", "value": ["b"]}]}))
        .update("controller@v2", json!({"list": [{"name": "a", "value": ["b"]}, {"name": "b", "value": ["c", "d"]}]}))
        .apply("one@v3", named(&["a"]))
        .is(json!({"list": [{"name": "a", "value": ["b"]}]}));
}

#[test]
fn a_shared_scalar_outlives_one_of_its_appliers() {
    let fields = json!({"field": {"type": "string"}, "other": {"type": "string"}});
    World::of(&fields)
        .apply("one", json!({"field": "x"}))
        .apply("two", json!({"field": "x", "other": "y"}))
        .apply("one", json!({}))
        .is(json!({"field": "x", "other": "y"}))
        .apply("two", json!({"other": "y"}))
        .is(json!({"other": "y"}));
}

#[test]
fn an_updater_that_shares_a_field_keeps_it_alive() {
    World::of(&json!({"field": {"type": "string"}, "other": {"type": "string"}}))
        .update("updater", json!({"field": "x", "other": "y"}))
        .apply("one", json!({"field": "x"}))
        .owned(&["one Apply: .field", "updater Update: .field .other"])
        .apply("one", json!({}))
        .is(json!({"field": "x", "other": "y"}))
        .owned(&["updater Update: .field .other"]);
}

#[test]
fn nested_keys_without_values_stay_for_their_other_applier() {
    let mut inner = json!({"type": "object", "additionalProperties": {"type": "object"}});
    for _ in 0..3 {
        inner = json!({"type": "object", "additionalProperties": inner});
    }
    World::of(&json!({"map": inner}))
        .apply("one", json!({"map": {"a": {"b": null}, "c": {"d": null}}}))
        .apply("two@v2", json!({"map": {"a": null, "c": {"d": null}}}))
        .update(
            "controller@v3",
            json!({"map": {
                "a": {"b": {"c": null}}, "c": {"d": {"e": {"f": null}}},
            }}),
        )
        .apply("one@v3", json!({}))
        .is(json!({"map": {"a": null, "c": {"d": {"e": {"f": null}}}}}));
}

#[test]
fn ignored_fields_belong_to_nobody() {
    let fields = json!({"spec": {"type": "string"}, "status": {"type": "object", "properties": {
        "deep": {"type": "string"}, "flat": {"type": "string"},
    }}});
    let mut world = World::of(&fields);
    world.ignore(&["status"]);
    world.update("one", json!({"spec": "x", "status": {"flat": "f"}})).owned(&["one Update: .spec"]);
    world.apply("two", json!({"spec": "x", "status": {"flat": "g"}}));
    world.owned(&["one Update: .spec", "two Apply: .spec"]);
    let mut world = World::of(&fields);
    world.ignore(&["status.deep"]);
    world.update("one", json!({"spec": "x", "status": {"flat": "f", "deep": "d"}}));
    world.owned(&["one Update: .spec .status .status.flat"]);
}

#[test]
fn an_ignored_field_is_not_taken_from_its_owner() {
    let fields = json!({"spec": {"type": "string"}, "status": {"type": "string"}});
    let mut world = World::of(&fields);
    world.update("kubelet/status", json!({"spec": "x", "status": "s"}));
    world.ignore(&["status"]);
    world.update("one", json!({"spec": "y", "status": "t"}));
    world.owned(&["kubelet/status Update: .status", "one Update: .spec"]);
    world.apply("one", json!({"spec": "y", "status": "u"}));
    world.owned(&["kubelet/status Update: .status", "one Apply: .spec", "one Update: .spec"]);
}
