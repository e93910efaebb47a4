//! Maps, nested objects, free-form content and schemas that change.

use crate::world::World;
use serde_json::{Value, json};

fn structure(map_type: &str) -> Value {
    json!({"struct": {
        "type": "object", "x-kubernetes-map-type": map_type,
        "properties": {"name": {"type": "string"}, "value": {"type": "integer"}},
    }})
}

fn nested() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let keyed = |value: &Value| {
        json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": value}},
        })
    };
    json!({
        "listOfLists": keyed(&set), "listOfMaps": keyed(&texts),
        "mapOfLists": {"type": "object", "additionalProperties": set},
        "mapOfMaps": {"type": "object", "additionalProperties": texts},
    })
}

#[test]
fn inner_lists_and_maps_change_with_their_applier() {
    let cases = [
        (
            json!({"listOfLists": [{"name": "a", "value": ["b", "c"]}]}),
            json!({"listOfLists": [{"name": "a", "value": ["a", "c"]}]}),
            ".listOfLists[name=\"a\"] .listOfLists[name=\"a\"].name \
             .listOfLists[name=\"a\"].value[=\"a\"] .listOfLists[name=\"a\"].value[=\"c\"]",
        ),
        (
            json!({"listOfMaps": [{"name": "a", "value": {"b": "x", "c": "y"}}]}),
            json!({"listOfMaps": [{"name": "b", "value": {"a": "x", "c": "z"}}]}),
            ".listOfMaps[name=\"b\"] .listOfMaps[name=\"b\"].name \
             .listOfMaps[name=\"b\"].value.a .listOfMaps[name=\"b\"].value.c",
        ),
        (
            json!({"mapOfLists": {"a": ["b", "c"]}}),
            json!({"mapOfLists": {"a": ["a", "c"]}}),
            ".mapOfLists.a .mapOfLists.a[=\"a\"] .mapOfLists.a[=\"c\"]",
        ),
        (
            json!({"mapOfMaps": {"a": {"b": "x", "c": "y"}}}),
            json!({"mapOfMaps": {"b": {"a": "x", "c": "z"}}}),
            ".mapOfMaps.b .mapOfMaps.b.a .mapOfMaps.b.c",
        ),
    ];
    for (first, second, owned) in cases {
        let mut world = World::of(&nested());
        world.apply("default", first).apply("default", second.clone());
        world.is(second).owned(&[&format!("default Apply: {owned}")]);
    }
}

#[test]
fn an_object_goes_with_its_last_field() {
    World::of(&structure("granular"))
        .apply("default", json!({"struct": {"name": "a", "value": 1}}))
        .owned(&["default Apply: .struct.name .struct.value"])
        .apply("default", json!({}))
        .is(json!({}))
        .owned(&[]);
}

#[test]
fn an_object_stays_for_the_fields_of_others() {
    for last in [json!({}), json!({"struct": {}}), json!({"struct": null})] {
        let mut world = World::of(&structure("granular"));
        world.apply("default", json!({"struct": {"name": "a"}}));
        world.update("controller", json!({"struct": {"name": "a", "value": 1}}));
        world.apply("default", last);
        world.is(json!({"struct": {"value": 1}}));
    }
    World::of(&structure("granular"))
        .apply("default", json!({"struct": {"name": "a"}}))
        .update("controller", json!({"struct": {"name": "b", "value": 1}}))
        .apply("default", json!({"struct": null}))
        .is(json!({"struct": {"name": "b", "value": 1}}));
    World::of(&structure("granular"))
        .apply("default", json!({"struct": {"name": "a"}}))
        .apply("default", json!({"struct": null}))
        .is(json!({"struct": null}))
        .owned(&["default Apply: .struct"]);
}

#[test]
fn a_new_object_is_owned_by_its_creator() {
    World::of(&structure("granular"))
        .update("creator", json!({"struct": {"name": "a"}}))
        .owned(&["creator Update: .struct .struct.name"]);
}

#[test]
fn an_object_in_one_piece_is_replaced_as_one() {
    World::of(&structure("atomic"))
        .apply("one", json!({"struct": {"name": "a"}}))
        .owned(&["one Apply: .struct"])
        .conflicts("two", json!({"struct": {"value": 1}}), &["one .struct"])
        .force("two", json!({"struct": {"value": 1}}))
        .is(json!({"struct": {"value": 1}}))
        .owned(&["two Apply: .struct"]);
}

#[test]
fn keys_of_maps_are_owned_one_by_one() {
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    World::of(&json!({}))
        .apply("one", labels(json!({"a": "1", "b": "2"})))
        .owned(&["one Apply: .metadata.labels.a .metadata.labels.b"])
        .update("two", labels(json!({"a": "1", "b": "2", "c": "3"})))
        .conflicts("one", labels(json!({"c": "4"})), &["two .metadata.labels.c"])
        .apply("one", labels(json!({"a": "1"})))
        .is(labels(json!({"a": "1", "c": "3"})))
        .apply("one", json!({}))
        .is(labels(json!({"c": "3"})))
        .owned(&["two Update: .metadata.labels.c"]);
}

#[test]
fn metadata_holds_nothing_empty() {
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    World::of(&json!({}))
        .apply("one", labels(json!({"a": "1"})))
        .apply("one", labels(json!({})))
        .is(json!({}))
        .owned(&["one Apply: .metadata.labels"])
        .update("two", labels(json!({})))
        .is(json!({}))
        .owned(&["one Apply: .metadata.labels"]);
}

#[test]
fn metadata_has_a_shape_of_its_own() {
    let reference = |controller: bool| json!({"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": "u", "controller": controller});
    World::of(&json!({}))
        .apply("one", json!({"metadata": {"finalizers": ["x"], "ownerReferences": [reference(true)]}}))
        .owned(&["one Apply: .metadata.finalizers[=\"x\"] .metadata.ownerReferences[uid=\"u\"]"])
        .update("two", json!({"metadata": {"finalizers": ["x", "y"], "ownerReferences": [reference(false)]}}))
        .owned(&[
            "one Apply: .metadata.finalizers[=\"x\"]",
            "two Update: .metadata.finalizers[=\"y\"] .metadata.ownerReferences[uid=\"u\"]",
        ]);
}

#[test]
fn an_embedded_object_has_metadata_too() {
    World::of(&json!({"template": {
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    }}))
    .apply("one", json!({"template": {"kind": "Pod", "metadata": {"finalizers": ["x"]}, "spec": {"list": [1]}}}))
    .owned(&["one Apply: .template.kind .template.spec .template.metadata.finalizers[=\"x\"] .template.spec.list"]);
}

#[test]
fn free_form_objects_merge_and_free_form_lists_do_not() {
    World::free_form()
        .apply("one", json!({"a": 1, "list": ["a", "b"], "map": {"x": 1}}))
        .owned(&["one Apply: .a .list .map .map.x"])
        .apply("two", json!({"map": {"y": {"deep": true}}}))
        .is(json!({"a": 1, "list": ["a", "b"], "map": {"x": 1, "y": {"deep": true}}}))
        .conflicts("two", json!({"list": ["a"]}), &["one .list"])
        .apply("one", json!({"a": 1}))
        .is(json!({"a": 1, "map": {"y": {"deep": true}}}))
        .owned(&["one Apply: .a", "two Apply: .map .map.y .map.y.deep"]);
}

#[test]
fn a_free_form_value_may_change_its_kind() {
    let values = [json!(1), json!("text"), json!({"a": 1}), json!({}), json!([1]), json!([]), json!(null), json!(true)];
    for before in &values {
        for after in &values {
            let mut world = World::free_form();
            world.apply("one", json!({"v": before})).force("two", json!({"v": after}));
            let merged = match (before, after) {
                // Null over an object asks for nothing, and an empty object adds nothing.
                (Value::Object(map), Value::Null) if !map.is_empty() => before,
                (Value::Object(map), Value::Object(other)) if other.is_empty() && !map.is_empty() => before,
                (_, after) => after,
            };
            assert_eq!(world.content()["v"], *merged, "{before} then {after}");
        }
    }
}

#[test]
fn numbers_and_texts_mix_where_the_schema_lets_them() {
    World::of(&json!({"port": {"x-kubernetes-int-or-string": true}, "at": {"type": "string", "format": "date-time"}}))
        .apply("one", json!({"port": 80, "at": "2030-01-01T00:00:00Z"}))
        .apply("one", json!({"port": "http"}))
        .is(json!({"port": "http"}))
        .owned(&["one Apply: .port"]);
}

#[test]
fn unknown_fields_are_kept_where_the_schema_preserves_them() {
    let fields = json!({"struct": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"known": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }});
    World::of(&fields)
        .apply("one", json!({"struct": {"known": {"a": 1, "beside": 2}, "unknown": {"b": 1}}}))
        .owned(&["one Apply: .struct.unknown .struct.known.a .struct.known.beside .struct.unknown.b"]);
}

#[test]
fn ownership_follows_a_schema_that_makes_an_object_one_piece() {
    World::of(&structure("granular"))
        .apply("one", json!({"struct": {"value": 1}}))
        .changed(&structure("atomic"))
        .conflicts("two", json!({"struct": {"name": "n"}}), &["one .struct"])
        .force("two", json!({"struct": {"name": "n"}}))
        .is(json!({"struct": {"name": "n"}}))
        .owned(&["two Apply: .struct"]);
    World::of(&structure("granular"))
        .apply("one", json!({"struct": {"value": 1}}))
        .force("two", json!({"struct": {"value": 2}}))
        .changed(&structure("atomic"))
        .conflicts("three", json!({"struct": {"name": "n"}}), &["two .struct"]);
}

#[test]
fn ownership_follows_a_schema_that_splits_an_object() {
    World::of(&structure("atomic"))
        .apply("one", json!({"struct": {"value": 1}}))
        .changed(&structure("granular"))
        .apply("two", json!({"struct": {"name": "n"}}))
        .is(json!({"struct": {"name": "n", "value": 1}}))
        .owned(&["one Apply: .struct", "two Apply: .struct.name"]);
}

#[test]
fn ownership_follows_a_list_that_becomes_one_piece() {
    let list =
        |kind: &str| json!({"list": {"type": "array", "x-kubernetes-list-type": kind, "items": {"type": "string"}}});
    World::of(&list("set"))
        .apply("one", json!({"list": ["a"]}))
        .changed(&list("atomic"))
        .conflicts("two", json!({"list": ["b"]}), &["one .list"])
        .apply("one", json!({"list": ["a", "c"]}))
        .is(json!({"list": ["a", "c"]}))
        .owned(&["one Apply: .list"]);
}
