//! `managedFields` as it is stored: times, order, limits, resets, and what was there before the first apply.

use crate::world::World;
use netloom_patch::managed::{Manager, Shape, apply, scale, update, valid};
use netloom_schema::Schema;
use serde_json::{Value, json};

fn fields() -> Value {
    json!({"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}})
}

fn times(world: &World) -> Vec<String> {
    let show =
        |entry: &Value| format!("{} {}", entry["manager"], entry["time"].as_str().unwrap_or("-")).replace('"', "");
    world.entries().iter().map(show).collect()
}

#[test]
fn an_entry_has_every_field_it_should() {
    let mut world = World::of(&fields());
    world.update("me/status", json!({"a": "x"}));
    let wanted = json!([{
        "manager": "me", "operation": "Update", "apiVersion": "v1", "time": "2030-01-01T00:00:01Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}, "subresource": "status",
    }]);
    assert_eq!(Value::Array(world.entries()), wanted);
}

#[test]
fn the_time_of_an_entry_is_that_of_its_last_change() {
    let mut world = World::of(&fields());
    world.apply("one", json!({"a": "x"}));
    assert_eq!(times(&world), ["one 2030-01-01T00:00:01Z"]);
    world.apply("one", json!({"a": "x"}));
    assert_eq!(times(&world), ["one 2030-01-01T00:00:01Z"], "nothing changed");
    world.apply("one", json!({"a": "y"}));
    assert_eq!(times(&world), ["one 2030-01-01T00:00:03Z"]);
    world.apply("two", json!({"a": "y"}));
    assert_eq!(times(&world), ["two -", "one 2030-01-01T00:00:03Z"], "shared ownership carries no time");
    world.update("three", json!({"a": "y"}));
    assert_eq!(times(&world).len(), 2, "an update without change leaves no entry");
    world.update("three", json!({"a": "y", "b": "z"}));
    world.update("three", json!({"a": "y", "b": "z", "c": "z"}));
    assert_eq!(times(&world)[2], "three 2030-01-01T00:00:07Z");
    world.owned(&["two Apply: .a", "one Apply: .a", "three Update: .b .c"]);
}

#[test]
fn appliers_come_first_then_the_oldest() {
    let mut world = World::of(&fields());
    world.update("u", json!({"a": "x"})).apply("z", json!({"b": "x"})).apply("y", json!({"c": "x"}));
    world.update("b", json!({"a": "y", "b": "x", "c": "x"}));
    assert_eq!(times(&world), ["z 2030-01-01T00:00:02Z", "y 2030-01-01T00:00:03Z", "b 2030-01-01T00:00:04Z"]);
}

#[test]
fn what_the_server_keeps_for_itself_is_nobodys() {
    let mut world = World::of(&fields());
    let metadata = json!({
        "name": "one", "namespace": "ns", "uid": "u", "generation": 1, "resourceVersion": "5",
        "creationTimestamp": "2030-01-01T00:00:00Z", "selfLink": "/x",
    });
    world.update("one", json!({"metadata": metadata}));
    world.owned(&[]);
    let mut world = World::of(&fields());
    world.apply("one", json!({}));
    world.owned(&[]);
}

#[test]
fn an_untracked_object_stays_untracked_until_it_is_applied() {
    let mut world = World::of(&fields());
    world.object = Some(json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "one"}, "a": "x", "b": "x"}));
    world.update("one", json!({"a": "x", "b": "y"})).owned(&[]);
    world.apply("two", json!({"a": "x"}));
    world.owned(&["two Apply: .a", "before-first-apply Update: .a .b"]);
    assert_eq!(times(&world), ["two -", "before-first-apply 2030-01-01T00:00:02Z"]);
    world.conflicts("two", json!({"b": "mine"}), &["before-first-apply .b"]);
}

#[test]
fn the_oldest_of_many_updates_become_ancient() {
    let names: Vec<String> = (0..14).map(|number| format!("field{number}")).collect();
    let fields: Value = names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let mut world = World::of(&fields);
    let mut content = json!({});
    for (number, name) in names.iter().enumerate() {
        content[name] = json!("x");
        world.update(&format!("updater{number}"), content.clone());
        assert_eq!(world.entries().len(), (number + 1).min(10));
    }
    let oldest = &world.owners()[0];
    assert_eq!(oldest, "ancient-changes Update: .field0 .field1 .field2 .field3 .field4");
    assert_eq!(times(&world)[0], "ancient-changes 2030-01-01T00:00:05Z");
    world.apply("applier", json!({"field0": "x"}));
    assert_eq!(world.entries().len(), 11, "appliers do not count");
}

#[test]
fn ancient_changes_are_kept_by_version() {
    let names: Vec<String> = (0..13).map(|number| format!("field{number}")).collect();
    let fields: Value = names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let mut world = World::of(&fields);
    let mut content = json!({});
    for (number, name) in names.iter().enumerate() {
        content[name] = json!("x");
        let version = if number % 2 == 0 { "v1" } else { "v2" };
        world.update(&format!("updater{number}@{version}"), content.clone());
    }
    let ancient: Vec<String> = world.owners().into_iter().filter(|entry| entry.starts_with("ancient")).collect();
    assert_eq!(
        ancient,
        ["ancient-changes@v2 Update: .field1 .field3", "ancient-changes Update: .field0 .field2 .field4"]
    );
}

/// An update that carries these `managedFields`, and the entries afterwards.
fn with_sent(sent: &Value) -> Vec<String> {
    let mut world = World::of(&fields());
    world.apply("one", json!({"a": "x"}));
    world.update("two", json!({"a": "x", "b": "y", "metadata": {"managedFields": sent}}));
    world.owners()
}

#[test]
fn a_client_may_edit_or_reset_the_entries() {
    assert!(with_sent(&json!([{}])).is_empty(), "one empty entry forgets everything");
    let stored = ["one Apply: .a", "two Update: .b"];
    assert_eq!(with_sent(&json!([])), stored, "an empty list is ignored");
    assert_eq!(with_sent(&json!(null)), stored);
    let entry = json!({"manager": "three", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"});
    let with = |name: &str, value: Value| {
        let mut entry = entry.clone();
        entry[name] = value;
        json!([entry])
    };
    assert_eq!(with_sent(&with("fieldsV1", json!({"f:a": {}}))), ["three Apply: .a", "two Update: .b"]);
    let invalid = [
        with("operation", json!("Guess")),
        with("apiVersion", json!("")),
        with("fieldsType", json!("FieldsV2")),
        with("fieldsType", json!("")),
        with("fieldsV1", json!({"a": {}})),
        with("fieldsV1", json!({"f:a": 5})),
        with("fieldsV1", json!({"k:[]": {}})),
        with("time", json!("yesterday")),
        with("manager", json!(5)),
        json!([5]),
        json!("x"),
        json!([{}, {}]),
    ];
    for sent in invalid {
        assert!(valid(&sent).is_err(), "{sent}");
        assert_eq!(with_sent(&sent), stored, "invalid entries are ignored: {sent}");
    }
}

#[test]
fn an_empty_list_resets_the_entries_of_a_builtin_kind() {
    let schema = Schema::lenient(&json!({"type": "object", "properties": fields()}));
    let manager = Manager { name: "me", api_version: "v1", subresource: "", time: "2030-01-01T00:00:00Z" };
    let object = |entries: Value| json!({"metadata": {"name": "x", "managedFields": entries}, "a": "b"});
    let live = object(json!([entry("one", "Apply", "v1", json!({"f:a": {}}))]));
    for (builtin, kept) in [(true, false), (false, true)] {
        let mut new = object(json!([]));
        update(Some(&live), &mut new, &manager, &Shape::new(&schema, "Thing").builtin(builtin));
        assert_eq!(new["metadata"].get("managedFields").is_some(), kept);
    }
}

#[test]
fn nobody_edits_the_entries_through_a_subresource() {
    let mut world = World::of(&fields());
    world.apply("one", json!({"a": "x"}));
    world.update("two/status", json!({"a": "x", "b": "y", "metadata": {"managedFields": [{}]}}));
    world.owned(&["one Apply: .a", "two/status Update: .b"]);
}

#[test]
fn an_entry_without_fields_owns_nothing_and_goes() {
    let entry = json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"});
    assert_eq!(with_sent(&json!([entry])), ["two Update: .b"]);
}

#[test]
fn invalid_entries_are_reported_apart() {
    let entry = |operation: &str, version: &str, kind: &str| json!([{"operation": operation, "apiVersion": version, "fieldsType": kind}]);
    let cases = [
        (entry("RandomOperation", "v1", "FieldsV1"), "operation must be `Apply` or `Update`"),
        (entry("Apply", "", "FieldsV1"), "apiVersion must not be empty"),
        (entry("Apply", "v1", ""), "missing fieldsType in managed fields entry 0"),
        (entry("Apply", "v1", "FieldsV9"), "invalid fieldsType \"FieldsV9\" in managed fields entry 0"),
    ];
    for (entries, wanted) in cases {
        assert_eq!(valid(&entries), Err(wanted.to_owned()));
    }
    assert_eq!(valid(&entry("Update", "v1", "FieldsV1")), Ok(()));
}

#[test]
fn a_nameless_writer_is_unknown() {
    let mut world = World::of(&fields());
    world.update("", json!({"a": "x"})).owned(&["unknown Update: .a"]);
}

#[test]
fn times_are_stored_in_whole_seconds_of_utc() {
    let entry = json!([{
        "manager": "three", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "time": "2029-12-31T22:00:00.5-02:00", "fieldsV1": {"f:a": {}},
    }]);
    let mut world = World::of(&fields());
    world.apply("one", json!({"a": "x"}));
    world.update("two", json!({"a": "x", "b": "y", "metadata": {"managedFields": entry}}));
    assert_eq!(times(&world), ["three 2030-01-01T00:00:00Z", "two 2030-01-01T00:00:02Z"]);
}

#[test]
fn a_blank_object_of_a_builtin_kind_is_owned_by_nobody() {
    let schema = Schema::lenient(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"a": {"type": "string"}}},
    }}));
    let manager = Manager { name: "me", api_version: "v1", subresource: "", time: "2030-01-01T00:00:00Z" };
    let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"a": "b"}});
    let blank = json!({"metadata": {}, "spec": {}});
    for (shape, wanted) in [
        (Shape::new(&schema, "Thing"), json!({"f:spec": {".": {}, "f:a": {}}})),
        (Shape::new(&schema, "Thing").blank(&blank), json!({"f:spec": {"f:a": {}}})),
    ] {
        let mut created = object.clone();
        update(None, &mut created, &manager, &shape);
        assert_eq!(created["metadata"]["managedFields"][0]["fieldsV1"], wanted);
        let applied = apply(None, &object, &manager, false, &shape).expect("nobody else is there");
        assert_eq!(applied["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:spec": {"f:a": {}}}));
    }
}

#[test]
fn an_object_that_does_not_fit_loses_its_entries() {
    let mut world = World::of(&fields());
    world.apply("one", json!({"a": "x"}));
    world.update("two", json!({"a": 5, "b": "y"}));
    assert!(world.entries().is_empty(), "{:?}", world.entries());
    // From then on it is not tracked, until it fits again and is applied.
    world.update("two", json!({"a": "y", "b": "y"}));
    assert!(world.entries().is_empty(), "{:?}", world.entries());
    world.apply("one", json!({"a": "y"}));
    assert_eq!(world.owners().len(), 2, "{:?}", world.owners());
}

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[test]
fn kubectl_takes_over_what_it_applied_from_the_client() {
    let last =
        json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "one"}, "a": "x", "b": "y"}).to_string();
    let created = json!({"metadata": {"annotations": {ANNOTATION: last}}, "a": "x", "b": "changed since"});
    let mut world = World::of(&fields());
    world.update("kubectl-client-side-apply", created);
    world.conflicts("other", json!({"a": "new"}), &["kubectl-client-side-apply .a"]);
    world.apply("kubectl", json!({"a": "new"}));
    let written = "{\"a\":\"new\",\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"one\"}}\n";
    assert_eq!(world.content()["metadata"]["annotations"][ANNOTATION], written);
    world.conflicts("kubectl", json!({"a": "new", "b": "new"}), &["kubectl-client-side-apply .b"]);
}

const PATHS: scale::ReplicasPaths<'static> = &[("g.io/v1", Some(".spec.replicas")), ("g.io/v2", None)];

/// An object with these entries.
fn with_entries(entries: &Value) -> Value {
    json!({"metadata": {"name": "x", "managedFields": entries}})
}

fn entry(manager: &str, operation: &str, version: &str, fields: Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": version, "time": "2030-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": fields,
    })
}

#[test]
fn the_scale_shows_who_owns_the_replicas() {
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    let both = json!({"f:spec": {"f:replicas": {}, "f:other": {}}});
    let parent = json!([
        entry("applier", "Apply", "g.io/v1", both.clone()),
        entry("unrelated", "Update", "g.io/v1", json!({"f:spec": {"f:other": {}}})),
        entry("cannot", "Update", "g.io/v2", replicas.clone()),
        entry("gone", "Update", "g.io/v0", replicas.clone()),
    ]);
    let scaled = scale::to_scale(&with_entries(&parent), PATHS);
    assert_eq!(scaled, Some(json!([entry("applier", "Apply", "autoscaling/v1", replicas.clone())])));
    assert_eq!(scale::to_scale(&with_entries(&json!([])), PATHS), None);
    let unchanged =
        scale::to_parent(&with_entries(&parent), &with_entries(&scaled.unwrap_or_default()), "g.io/v1", PATHS);
    let kept = [&parent[0], &parent[1], &parent[2]].map(|entry| entry["manager"].clone());
    let found = unchanged.unwrap_or_default();
    let found: Vec<Value> = found.as_array().into_iter().flatten().map(|entry| entry["manager"].clone()).collect();
    assert_eq!(found.len(), kept.len(), "the entry of the version that is gone is dropped");
}

#[test]
fn scaling_takes_the_replicas_from_their_owner() {
    let both = json!({"f:spec": {"f:replicas": {}, "f:other": {}}});
    let parent = json!([entry("applier", "Apply", "g.io/v1", both)]);
    let schema = scale::schema();
    let shape = Shape::new(schema, "Scale").blank(&json!({"spec": {}, "status": {}}));
    let scale_of = |replicas: u64, fields: Option<Value>| {
        json!({
            "apiVersion": scale::API_VERSION, "kind": "Scale", "metadata": {"name": "x", "managedFields": fields},
            "spec": {"replicas": replicas},
        })
    };
    let live = scale_of(1, scale::to_scale(&with_entries(&parent), PATHS));
    let mut new = scale_of(2, None);
    let manager =
        Manager { name: "hpa", api_version: scale::API_VERSION, subresource: "scale", time: "2030-01-01T00:00:09Z" };
    update(Some(&live), &mut new, &manager, &shape);
    let after = scale::to_parent(&with_entries(&parent), &new, "g.io/v1", PATHS);
    let wanted = json!([
        entry("applier", "Apply", "g.io/v1", json!({"f:spec": {"f:other": {}}})),
        {
            "manager": "hpa", "operation": "Update", "apiVersion": "g.io/v1", "subresource": "scale",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        },
    ]);
    assert_eq!(after, Some(wanted), "an entry made through the scale carries no time");
}
