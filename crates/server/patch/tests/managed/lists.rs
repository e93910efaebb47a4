//! Lists: sets, lists of keyed items, lists that are one piece, repeated items, and defaults of keys.

use crate::world::World;
use serde_json::{Value, json};

fn set() -> Value {
    json!({"list": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}})
}

fn keyed(keys: &[&str], item: &Value) -> Value {
    json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
        "items": {"type": "object", "properties": item},
    })
}

fn items() -> Value {
    let list = keyed(&["name"], &json!({"name": {"type": "string"}, "value": {"type": "integer"}}));
    json!({"list": list})
}

#[test]
fn items_of_a_set_are_owned_one_by_one() {
    World::of(&set())
        .apply("default", json!({"list": ["a", "c"]}))
        .apply("default", json!({"list": ["a", "c", "b"]}))
        .is(json!({"list": ["a", "c", "b"]}))
        .owned(&["default Apply: .list[=\"a\"] .list[=\"b\"] .list[=\"c\"]"]);
}

#[test]
fn items_of_others_stay_in_a_set() {
    World::of(&set())
        .apply("default", json!({"list": ["a", "c"]}))
        .update("controller", json!({"list": ["a", "c", "d"]}))
        .apply("default", json!({"list": ["a", "c", "b"]}))
        .is(json!({"list": ["a", "c", "d", "b"]}))
        .owned(&["default Apply: .list[=\"a\"] .list[=\"b\"] .list[=\"c\"]", "controller Update: .list[=\"d\"]"]);
}

#[test]
fn an_item_two_want_in_a_set_is_shared() {
    World::of(&set())
        .apply("default", json!({"list": ["a", "c"]}))
        .update("controller", json!({"list": ["a", "b", "c"]}))
        .apply("default", json!({"list": ["a", "b", "c"]}))
        .is(json!({"list": ["a", "b", "c"]}))
        .owned(&["default Apply: .list[=\"a\"] .list[=\"b\"] .list[=\"c\"]", "controller Update: .list[=\"b\"]"])
        .apply("default", json!({"list": ["a"]}))
        .is(json!({"list": ["a", "b"]}));
}

#[test]
fn the_applied_order_wins_among_applied_items() {
    let cases = [
        (json!(["a", "b", "c", "d"]), json!(["a", "d", "c", "b"]), json!(["a", "d", "c", "b"])),
        (json!(["1", "2", "3"]), json!(["x", "2"]), json!(["1", "x", "2", "3"])),
        (json!(["1", "2", "3"]), json!(["3", "1"]), json!(["2", "3", "1"])),
        (json!(["a", "b"]), json!(["b", "z"]), json!(["a", "b", "z"])),
        (json!(["a"]), json!(["z", "a"]), json!(["z", "a"])),
        (json!([]), json!(["z", "a"]), json!(["z", "a"])),
        (json!(["b", "c"]), json!(["c", "d", "b"]), json!(["c", "d", "b"])),
    ];
    for (stored, applied, wanted) in cases {
        let mut world = World::of(&set());
        world.update("other", json!({"list": stored}));
        world.apply("default", json!({"list": applied}));
        assert_eq!(world.content()["list"], wanted, "{stored} with {applied}");
    }
}

#[test]
fn a_reordering_update_keeps_ownership() {
    World::of(&set())
        .apply("default", json!({"list": ["a", "b", "c", "d"]}))
        .update("controller", json!({"list": ["a", "d", "c", "b"]}))
        .apply("default", json!({"list": ["a", "b", "c", "d"]}))
        .is(json!({"list": ["a", "b", "c", "d"]}))
        .owned(&["default Apply: .list[=\"a\"] .list[=\"b\"] .list[=\"c\"] .list[=\"d\"]"]);
}

#[test]
fn applied_items_that_are_gone_are_removed() {
    World::of(&set())
        .apply("default", json!({"list": ["a", "b", "c", "d"]}))
        .apply("default", json!({"list": ["a", "c"]}))
        .is(json!({"list": ["a", "c"]}))
        .owned(&["default Apply: .list[=\"a\"] .list[=\"c\"]"])
        .apply("default", json!({}))
        .is(json!({}));
}

#[test]
fn keyed_items_own_themselves_and_their_fields() {
    World::of(&items())
        .apply("default", json!({"list": [{"name": "a", "value": 1}]}))
        .owned(&["default Apply: .list[name=\"a\"] .list[name=\"a\"].name .list[name=\"a\"].value"])
        .apply("default", json!({"list": [{"name": "b", "value": 2}]}))
        .is(json!({"list": [{"name": "b", "value": 2}]}))
        .owned(&["default Apply: .list[name=\"b\"] .list[name=\"b\"].name .list[name=\"b\"].value"]);
}

#[test]
fn fields_of_one_item_can_have_several_owners() {
    let mut world = World::of(&items());
    world.apply("one", json!({"list": [{"name": "a"}, {"name": "b"}]}));
    world.update("two", json!({"list": [{"name": "a", "value": 1}, {"name": "b"}]}));
    world.owned(&[
        "one Apply: .list[name=\"a\"] .list[name=\"b\"] .list[name=\"a\"].name .list[name=\"b\"].name",
        "two Update: .list[name=\"a\"].value",
    ]);
    world.conflicts("one", json!({"list": [{"name": "a", "value": 9}]}), &["two .list[name=\"a\"].value"]);
    world.apply("one", json!({"list": [{"name": "b"}]}));
    world.is(json!({"list": [{"name": "b"}]})).owned(&["one Apply: .list[name=\"b\"] .list[name=\"b\"].name"]);
}

#[test]
fn a_list_in_one_piece_belongs_to_one() {
    let fields = json!({"list": {"type": "array", "items": {"type": "string"}}});
    World::of(&fields)
        .apply("one", json!({"list": ["a", "b"]}))
        .owned(&["one Apply: .list"])
        .conflicts("two", json!({"list": ["a"]}), &["one .list"])
        .apply("two", json!({"list": ["a", "b"]}))
        .owned(&["one Apply: .list", "two Apply: .list"])
        .force("two", json!({"list": ["c"]}))
        .is(json!({"list": ["c"]}))
        .owned(&["two Apply: .list"]);
}

fn ports() -> Value {
    let port = json!({
        "port": {"type": "integer"}, "name": {"type": "string"},
        "protocol": {"type": "string", "default": "TCP"},
    });
    json!({"ports": keyed(&["port", "protocol"], &port)})
}

#[test]
fn an_absent_key_reads_as_its_default() {
    let tcp = ".ports[port=80,protocol=\"TCP\"]";
    World::of(&ports())
        .apply("default", json!({"ports": [{"port": 80}]}))
        .is(json!({"ports": [{"port": 80}]}))
        .owned(&[&format!("default Apply: {tcp} {tcp}.port")]);
    let mut world = World::of(&ports());
    world.apply("one", json!({"ports": [{"port": 80, "protocol": "TCP", "name": "foo"}]}));
    world.conflicts("two", json!({"ports": [{"port": 80, "name": "bar"}]}), &[&format!("one {tcp}.name")]);
    World::of(&ports())
        .apply("default", json!({"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}))
        .is(json!({"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}));
}

#[test]
fn an_absent_key_without_default_is_left_out() {
    let item = ".ports[protocol=\"TCP\"]";
    World::of(&ports())
        .apply("default", json!({"ports": [{"protocol": "TCP", "name": "A"}]}))
        .owned(&[&format!("default Apply: {item} {item}.name {item}.protocol")]);
}

fn repeated() -> Value {
    let item = json!({"name": {"type": "string"}, "one": {"type": "integer"}, "two": {"type": "integer"}});
    json!({
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
        "list": keyed(&["name"], &item), "unrelated": {"type": "integer"},
    })
}

#[test]
fn repeated_items_of_a_set_are_one_member() {
    World::of(&repeated())
        .update("one", json!({"set": [1, 1, 3]}))
        .owned(&["one Update: .set .set[=1] .set[=3]"])
        .update("two", json!({"set": [1, 3]}))
        .owned(&["one Update: .set .set[=3]", "two Update: .set[=1]"])
        .update("three", json!({"set": [1, 1, 3]}))
        .owned(&["one Update: .set .set[=3]", "three Update: .set[=1]"]);
}

#[test]
fn applying_a_repeated_item_makes_it_one() {
    World::of(&repeated())
        .update("updater", json!({"set": [1, 1, 3, 4]}))
        .conflicts("applier", json!({"set": [1]}), &["updater .set[=1]"])
        .force("applier", json!({"set": [1]}))
        .is(json!({"set": [1, 3, 4]}))
        .owned(&["updater Update: .set .set[=3] .set[=4]", "applier Apply: .set[=1]"]);
    World::of(&repeated())
        .update("updater", json!({"set": [1, 1, 3, 4]}))
        .apply("applier", json!({"set": [5]}))
        .is(json!({"set": [1, 1, 3, 4, 5]}))
        .owned(&["updater Update: .set .set[=1] .set[=3] .set[=4]", "applier Apply: .set[=5]"]);
}

#[test]
fn repeated_keyed_items_are_one_piece() {
    let twice = json!({"list": [{"name": "a", "one": 1}, {"name": "a", "one": 2}, {"name": "b", "one": 3}]});
    let mut world = World::of(&repeated());
    world.update("one", twice.clone());
    let b = ".list[name=\"b\"].name .list[name=\"b\"].one";
    world.owned(&[&format!("one Update: .list .list[name=\"a\"] .list[name=\"b\"] {b}")]);
    world.update("two", json!({"list": [{"name": "a", "one": 1}, {"name": "a", "one": 4}, {"name": "b", "one": 3}]}));
    world.owned(&[&format!("one Update: .list .list[name=\"b\"] {b}"), "two Update: .list[name=\"a\"]"]);
    let mut world = World::of(&repeated());
    world.update("one", twice.clone()).apply("two", json!({"unrelated": 5}));
    assert_eq!(world.content()["list"], twice["list"]);
    world.conflicts("two", json!({"list": [{"name": "a", "one": 9}]}), &["one .list[name=\"a\"]"]);
    world.force("two", json!({"list": [{"name": "a", "one": 9}]}));
    assert_eq!(world.content()["list"], json!([{"name": "a", "one": 9}, {"name": "b", "one": 3}]));
}

#[test]
fn an_empty_list_is_not_an_absent_one() {
    World::of(&items())
        .apply("default", json!({"list": []}))
        .is(json!({"list": []}))
        .owned(&[])
        .update("other", json!({"list": [{"name": "a"}]}))
        .is(json!({"list": [{"name": "a"}]}));
}
