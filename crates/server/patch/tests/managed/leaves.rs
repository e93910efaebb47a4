//! Objects of plain fields: who sets a field owns it, and what is no longer applied goes.

use crate::world::World;
use netloom_patch::managed::ApplyError;
use serde_json::{Value, json};

fn fields() -> Value {
    json!({
        "numeric": {"type": "integer"},
        "string": {"type": "string"},
        "bool": {"type": "boolean"},
    })
}

#[test]
fn applying_more_owns_more() {
    World::of(&fields())
        .apply("default", json!({"numeric": 1, "string": "s"}))
        .apply("default", json!({"numeric": 2, "string": "s", "bool": false}))
        .is(json!({"numeric": 2, "string": "s", "bool": false}))
        .owned(&["default Apply: .bool .numeric .string"]);
}

#[test]
fn an_update_of_other_fields_does_not_conflict() {
    World::of(&fields())
        .apply("default", json!({"numeric": 1, "string": "s"}))
        .update("controller", json!({"numeric": 1, "string": "s", "bool": true}))
        .apply("default", json!({"numeric": 2, "string": "s"}))
        .is(json!({"numeric": 2, "string": "s", "bool": true}))
        .owned(&["default Apply: .numeric .string", "controller Update: .bool"]);
}

#[test]
fn a_changed_field_of_another_manager_conflicts_until_forced() {
    let mine = json!({"numeric": 2, "string": "mine"});
    World::of(&fields())
        .apply("default", json!({"numeric": 1, "string": "s"}))
        .update("controller", json!({"numeric": 1, "string": "theirs", "bool": true}))
        .owned(&["default Apply: .numeric", "controller Update: .bool .string"])
        .conflicts("default", mine.clone(), &["controller .string"])
        .force("default", mine)
        .is(json!({"numeric": 2, "string": "mine", "bool": true}))
        .owned(&["default Apply: .numeric .string", "controller Update: .bool"]);
}

#[test]
fn the_same_value_is_shared() {
    World::of(&fields())
        .apply("one", json!({"numeric": 1, "string": "s"}))
        .apply("two", json!({"string": "s"}))
        .owned(&["one Apply: .numeric .string", "two Apply: .string"])
        .apply("one", json!({"numeric": 1}))
        .is(json!({"numeric": 1, "string": "s"}))
        .owned(&["one Apply: .numeric", "two Apply: .string"])
        .apply("two", json!({}))
        .is(json!({"numeric": 1}))
        .owned(&["one Apply: .numeric"]);
}

#[test]
fn what_is_no_longer_applied_is_removed() {
    World::of(&fields())
        .apply("default", json!({"numeric": 1, "string": "s", "bool": false}))
        .apply("default", json!({"string": "s"}))
        .is(json!({"string": "s"}))
        .owned(&["default Apply: .string"])
        .apply("default", json!({}))
        .is(json!({}))
        .owned(&[]);
}

#[test]
fn an_applier_does_not_remove_what_it_only_updated() {
    World::of(&fields())
        .update("default", json!({"numeric": 1}))
        .apply("default", json!({"string": "s"}))
        .is(json!({"numeric": 1, "string": "s"}))
        .owned(&["default Apply: .string", "default Update: .numeric"]);
}

#[test]
fn an_update_that_removes_everything_leaves_no_entry() {
    World::of(&fields())
        .update("controller", json!({"string": "s"}))
        .update("controller", json!({}))
        .is(json!({}))
        .owned(&[]);
}

#[test]
fn removing_a_field_by_update_takes_it_from_the_applier() {
    World::of(&fields())
        .apply("default", json!({"numeric": 1, "string": "s"}))
        .update("controller", json!({"numeric": 1}))
        .owned(&["default Apply: .numeric"])
        .apply("default", json!({"numeric": 1, "string": "s"}))
        .is(json!({"numeric": 1, "string": "s"}));
}

#[test]
fn null_is_a_value_of_its_own() {
    World::of(&json!({"struct": {"type": "object", "properties": fields()}}))
        .apply("default", json!({"struct": null}))
        .is(json!({"struct": null}))
        .owned(&["default Apply: .struct"]);
}

#[test]
fn messages_count_and_group_the_conflicts() {
    let mut world = World::of(&fields());
    world.update("a\"b", json!({"numeric": 1, "string": "s"}));
    world.apply("other", json!({"bool": true}));
    let one = world.refused("me", json!({"numeric": 2}));
    assert_eq!(one.to_string(), "Apply failed with 1 conflict: conflict with \"a\\\"b\" using v1: .numeric");
    assert_eq!((one.code(), one.reason()), (409, "ApplyConflicts"));
    let many = world.refused("me", json!({"numeric": 2, "string": "t", "bool": false}));
    assert_eq!(
        many.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"a\\\"b\" using v1:\n- .numeric\n- .string\n\
         conflicts with \"other\":\n- .bool"
    );
    let ApplyError::Conflicts(conflicts) = many else { panic!("conflicts") };
    let messages: Vec<String> = conflicts.causes().into_iter().map(|cause| cause.message).collect();
    let updater = "conflict with \"a\\\"b\" using v1";
    assert_eq!(messages, [updater, updater, "conflict with \"other\""]);
}

#[test]
fn a_subresource_shows_in_the_message() {
    let mut world = World::of(&fields());
    world.update("scaler/scale", json!({"numeric": 1}));
    let refused = world.refused("me", json!({"numeric": 2}));
    assert_eq!(
        refused.to_string(),
        "Apply failed with 1 conflict: conflict with \"scaler\" with subresource \"scale\" using v1: .numeric"
    );
}
