//! Applies that are refused, and the words for it.

use crate::world::World;
use netloom_patch::managed::{ApplyError, Manager, Shape, apply};
use netloom_schema::Schema;
use serde_json::{Value, json};

fn fields() -> Value {
    json!({
        "number": {"type": "integer"}, "text": {"type": "string"}, "flag": {"type": "boolean"},
        "object": {"type": "object", "properties": {"a": {"type": "string"}}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "id"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "id": {"type": "integer"}}},
        },
        "plain": {"type": "array", "items": {"type": "string"}},
    })
}

#[test]
fn a_configuration_that_does_not_fit_is_refused_in_words() {
    let cases = [
        (json!({"other": 1}), ".other: field not declared in schema"),
        (json!({"object": {"b": 1}}), ".object.b: field not declared in schema"),
        (json!({"metadata": {"other": 1}}), ".metadata.other: field not declared in schema"),
        (json!({"number": "5"}), ".number: expected numeric (int or float), got string"),
        (json!({"text": 5}), ".text: expected string, got &value.valueUnstructured{Value:5}"),
        (json!({"flag": "x"}), ".flag: expected boolean, got &{x}"),
        (json!({"object": 7}), ".object: expected map, got &{7}"),
        (json!({"set": "a"}), ".set: expected list, got &{a}"),
        (json!({"set": ["a", "a"]}), ".set: duplicate entries for key [=\"a\"]"),
        (json!({"set": [{}]}), ".set: element 0: associative list without keys has an element that's a map type"),
        (json!({"set": [[]]}), ".set: element 0: not supported: associative list with lists as elements"),
        (
            json!({"set": [null]}),
            ".set: element 0: associative list without keys has an element that's an explicit null",
        ),
        (json!({"list": [null]}), ".list: element 0: associative list with keys may not have a null element"),
        (json!({"list": [1]}), ".list: element 0: associative list with keys may not have non-map elements"),
        (
            json!({"list": [{}]}),
            ".list: element 0: associative list with keys has an element that omits all key fields \
             [\"name\" \"id\"] (and doesn't have default values for any key fields)",
        ),
        (json!({"list": [{"name": "a"}, {"name": "a"}]}), ".list: duplicate entries for key [name=\"a\"]"),
        (
            json!({"list": [{"name": 5, "id": 1}]}),
            ".list[id=1,name=5].name: expected string, got &value.valueUnstructured{Value:5}",
        ),
        (json!({"plain": ["a", 1]}), ".plain[1]: expected string, got &value.valueUnstructured{Value:1}"),
        (
            json!({"number": "5", "text": true}),
            "errors:\n  .number: expected numeric (int or float), got string\n  \
             .text: expected string, got &value.valueUnstructured{Value:true}",
        ),
    ];
    for (content, wanted) in cases {
        let refused = World::of(&fields()).refused("one", content.clone());
        let prefix = "failed to create typed patch object (/one; /v1, Kind=Thing): ";
        assert_eq!(refused.to_string(), format!("{prefix}{wanted}"), "{content}");
        assert_eq!((refused.code(), refused.reason()), (400, "ApplyDoesNotFit"));
    }
}

#[test]
fn null_fits_everywhere_but_in_lists() {
    let nothing = json!({
        "number": null, "text": null, "flag": null, "object": null, "set": null, "list": null, "plain": null,
    });
    World::of(&fields()).apply("one", nothing.clone()).is(nothing);
}

#[test]
fn the_request_must_be_for_this_endpoint() {
    let schema = Schema::lenient(&json!({"type": "object", "properties": {}}));
    let shape = Shape::new(&schema, "Thing");
    let manager = Manager { name: "me", api_version: "g.io/v1", subresource: "", time: "2030-01-01T00:00:00Z" };
    let cases = [
        (json!({"apiVersion": "g.io/v2", "kind": "Thing"}), "invalid object type: g.io/v2, Kind=Thing"),
        (json!({"apiVersion": "g.io/v1", "kind": "Other"}), "invalid object type: g.io/v1, Kind=Other"),
        (json!({"apiVersion": "v1", "kind": "Thing"}), "invalid object type: /v1, Kind=Thing"),
        (json!({}), "invalid object type: /, Kind="),
        (json!(null), "invalid object type: /, Kind="),
        (
            json!({"apiVersion": "g.io/v1", "kind": "Thing", "metadata": {"managedFields": []}}),
            "metadata.managedFields must be nil",
        ),
    ];
    for (config, wanted) in cases {
        let refused = apply(None, &config, &manager, false, &shape);
        assert_eq!(refused, Err(ApplyError::BadRequest(wanted.to_owned())), "{config}");
    }
}

#[test]
fn a_refused_apply_names_namespace_and_group() {
    let schema = Schema::lenient(&json!({"type": "object", "properties": {}}));
    let shape = Shape::new(&schema, "Thing");
    let manager = Manager { name: "me", api_version: "g.io/v1", subresource: "", time: "2030-01-01T00:00:00Z" };
    let config = json!({
        "apiVersion": "g.io/v1", "kind": "Thing", "metadata": {"name": "n", "namespace": "ns"}, "spec": {},
    });
    let refused = apply(None, &config, &manager, false, &shape).expect_err("the schema has no spec");
    assert_eq!(
        refused.to_string(),
        "failed to create typed patch object (ns/n; g.io/v1, Kind=Thing): .spec: field not declared in schema"
    );
}
