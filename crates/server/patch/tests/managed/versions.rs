//! Writers of different versions of one kind.

use crate::world::World;
use serde_json::{Value, json};

fn fields() -> Value {
    json!({"numeric": {"type": "integer"}, "string": {"type": "string"}, "bool": {"type": "boolean"}})
}

#[test]
fn an_applier_moves_between_versions() {
    World::of(&fields())
        .apply("default", json!({"numeric": 1, "string": "s"}))
        .apply("default@v2", json!({"numeric": 2, "string": "s", "bool": false}))
        .owned(&["default@v2 Apply: .bool .numeric .string"])
        .apply("default@v3", json!({"string": "s"}))
        .is(json!({"string": "s"}))
        .owned(&["default@v3 Apply: .string"]);
}

#[test]
fn an_updater_has_an_entry_for_each_version() {
    World::of(&fields())
        .update("one", json!({"numeric": 1}))
        .update("one@v2", json!({"numeric": 1, "string": "s"}))
        .owned(&["one Update: .numeric", "one@v2 Update: .string"]);
}

#[test]
fn conflicts_are_found_across_versions() {
    World::of(&fields())
        .apply("default", json!({"numeric": 1, "string": "s"}))
        .update("controller@v2", json!({"numeric": 1, "string": "theirs", "bool": true}))
        .conflicts("default", json!({"numeric": 2, "string": "mine"}), &["controller .string"])
        .force("default", json!({"numeric": 2, "string": "mine"}))
        .owned(&["default Apply: .numeric .string", "controller@v2 Update: .bool"]);
}

#[test]
fn entries_of_a_version_that_is_gone_are_dropped() {
    let mut world = World::of(&fields());
    world.update("old", json!({"numeric": 0}));
    world.update("young@v2", json!({"numeric": 0, "string": "s"}));
    world.stop_serving("v1");
    world.update("new@v3", json!({"numeric": 0, "string": "s", "bool": true}));
    world.owned(&["young@v2 Update: .string", "new@v3 Update: .bool"]);
}

#[test]
fn an_apply_of_a_version_that_is_gone_removes_nothing() {
    let mut world = World::of(&fields());
    world.apply("default", json!({"numeric": 1, "string": "s"}));
    world.stop_serving("v1");
    world.apply("default@v2", json!({"numeric": 1}));
    world.is(json!({"numeric": 1, "string": "s"})).owned(&["default@v2 Apply: .numeric"]);
}
