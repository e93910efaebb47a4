//! Values against schemas, accepted and refused, with the server's words.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::rules::NoRules;

fn reported(spec: &Value, value: Value, old: Option<Value>) -> Vec<String> {
    let schema = Schema::lenient(&json!({"type": "object", "properties": {"spec": spec}}));
    let object = |value: Value| json!({"spec": value});
    let old = old.map(object);
    validate(&schema, &object(value), old.as_ref(), &NoRules).iter().map(ToString::to_string).collect()
}

fn cause(spec: &Value, value: &Value) -> Vec<Cause> {
    let schema = Schema::lenient(&json!({"type": "object", "properties": {"spec": spec}}));
    validate(&schema, &json!({"spec": value}), None, &NoRules).iter().map(|e| e.cause).collect()
}

#[test]
fn types_and_bounds_have_the_server_s_words() {
    let table = [
        (
            json!({"type": "string"}),
            json!(5),
            r#"spec: Invalid value: "integer": spec in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "integer"}),
            json!("x"),
            r#"spec: Invalid value: "string": spec in body must be of type integer: "string""#,
        ),
        (
            json!({"type": "object"}),
            json!([]),
            r#"spec: Invalid value: "array": spec in body must be of type object: "array""#,
        ),
        (
            json!({"type": "string"}),
            json!(null),
            r#"spec: Invalid value: "null": spec in body must be of type string: "null""#,
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            r#"spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean""#,
        ),
        (json!({"type": "string", "maxLength": 2}), json!("abc"), "spec: Too long: may not be more than 2 bytes"),
        (
            json!({"type": "string", "minLength": 2}),
            json!("a"),
            r#"spec: Invalid value: "a": spec in body should be at least 2 chars long"#,
        ),
        (
            json!({"type": "string", "pattern": "^a$"}),
            json!("b"),
            r#"spec: Invalid value: "b": spec in body should match '^a$'"#,
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "spec: Invalid value: 0: spec in body should be greater than or equal to 1",
        ),
        (
            json!({"type": "integer", "maximum": 1}),
            json!(2),
            "spec: Invalid value: 2: spec in body should be less than or equal to 1",
        ),
        (
            json!({"type": "integer", "maximum": 1, "exclusiveMaximum": true}),
            json!(1),
            "spec: Invalid value: 1: spec in body should be less than 1",
        ),
        (
            json!({"type": "number", "minimum": 0.5}),
            json!(0.25),
            "spec: Invalid value: 0.25: spec in body should be greater than or equal to 0.5",
        ),
        (
            json!({"type": "integer", "multipleOf": 2}),
            json!(3),
            "spec: Invalid value: 3: spec in body should be a multiple of 2",
        ),
    ];
    for (schema, value, message) in table {
        assert_eq!(reported(&schema, value.clone(), None), [message], "{schema} {value}");
    }
}

#[test]
fn ranges_sizes_and_formats_have_the_server_s_words() {
    let table = [
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_i64),
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec"#,
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 1}),
            json!(["a", "b"]),
            "spec: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            json!([]),
            "spec: Invalid value: 0: spec in body should have at least 1 items",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!(["a", null]),
            r#"spec[1]: Invalid value: "null": spec[1] in body must be of type string: "null""#,
        ),
        (
            json!({"type": "object", "maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            "spec: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "object", "minProperties": 1}),
            json!({}),
            "spec: Invalid value: 0: spec in body should have at least 1 properties",
        ),
        (json!({"type": "object", "required": ["a"]}), json!({}), "spec.a: Required value"),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"a.b": 1}),
            r#"spec.a.b: Invalid value: "integer": spec.a.b in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            r#"spec: Unsupported value: "c": supported values: "a", "b""#,
        ),
        (
            json!({"type": "integer", "enum": [1, 2]}),
            json!(3),
            r#"spec: Unsupported value: 3: supported values: "1", "2""#,
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("x"),
            r#"spec: Invalid value: "x": spec in body must be of type date-time: "x""#,
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!(5),
            r#"spec: Invalid value: "int64": spec in body must be of type date: "int64""#,
        ),
        (
            json!({"type": "string", "not": {"pattern": "a"}}),
            json!("a"),
            r#"<nil>: Invalid value: "": "spec" must not validate the schema (not)"#,
        ),
    ];
    for (schema, value, message) in table {
        assert_eq!(reported(&schema, value.clone(), None), [message], "{schema} {value}");
    }
}

#[test]
fn what_fits_is_accepted() {
    let table = [
        (json!({"type": "integer"}), json!(1)),
        (json!({"type": "number"}), json!(1)),
        (json!({"type": "number"}), json!(1.5)),
        (json!({"type": "number", "minimum": 0.5}), json!(0)),
        (json!({"type": "string", "nullable": true}), json!(null)),
        (json!({"type": "string", "maxLength": 2}), json!("éé")),
        (json!({"type": "string", "format": "unheard-of"}), json!("x")),
        (json!({"type": "number", "enum": [1.0]}), json!(1)),
        (json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}), json!("50%")),
        (json!({"x-kubernetes-int-or-string": true}), json!(5)),
        (json!({"x-kubernetes-preserve-unknown-fields": true}), json!({"a": [1]})),
        (json!({"type": "object", "additionalProperties": true}), json!({"a": 1})),
    ];
    for (schema, value) in table {
        assert_eq!(reported(&schema, value.clone(), None), Vec::<String>::new(), "{schema} {value}");
    }
}

#[test]
fn of_several_schemas_the_nearest_explains() {
    let two = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(reported(&two, json!({"a": "x"}), None), Vec::<String>::new());
    assert_eq!(
        reported(&two, json!({}), None),
        [
            r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid"#,
            "spec.a: Required value",
        ]
    );
    assert_eq!(
        reported(&two, json!({"a": "x", "b": "y"}), None),
        [
            r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives"#
        ]
    );
    let any = json!({"type": "string", "anyOf": [{"pattern": "^a"}, {"pattern": "^b"}]});
    assert_eq!(
        reported(&any, json!("c"), None),
        [
            r#"<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)"#,
            r#"spec: Invalid value: "c": spec in body should match '^a'"#,
        ]
    );
    let all = json!({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "b$"}]});
    assert_eq!(
        reported(&all, json!("ac"), None),
        [
            r#"spec: Invalid value: "ac": spec in body should match 'b$'"#,
            r#"<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)"#,
        ]
    );
}

#[test]
fn sets_and_map_lists_hold_everything_once() {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    assert_eq!(reported(&set, json!(["a", "b", "a", "a"]), None), [r#"spec[2]: Duplicate value: "a""#]);
    let map = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "l": {"type": "integer"}}}});
    assert_eq!(reported(&map, json!([{"k": "a", "l": 1}, {"k": "a", "l": 2}]), None), Vec::<String>::new());
    assert_eq!(
        reported(&map, json!([{"k": "a", "l": 1}, {"k": "a", "l": 1}]), None),
        [r#"spec[1]: Duplicate value: {"k":"a","l":1}"#]
    );
    let nested = json!({"type": "object", "additionalProperties": set});
    assert_eq!(reported(&nested, json!({"x": ["a", "a"]}), None), [r#"spec[x][1]: Duplicate value: "a""#]);
    assert_eq!(
        reported(&set, json!(["a", "a", "b"]), Some(json!(["a", "a"]))),
        Vec::<String>::new(),
        "it was so before"
    );
}

#[test]
fn what_did_not_change_is_not_refused() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}}},
        "plain": {"type": "array", "items": {"type": "string", "maxLength": 1}},
        "need": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}, "y": {"type": "string"}}},
    }});
    let old = json!({"a": "long", "list": [{"k": "1", "v": "long"}, {"k": "2"}], "plain": ["long"], "need": {}});
    let table = [
        (json!({"a": "long"}), vec![]),
        (json!({"a": "longer"}), vec!["spec.a: Too long: may not be more than 1 bytes"]),
        (json!({"list": [{"k": "2", "v": "b"}, {"k": "1", "v": "long"}]}), vec![]),
        (json!({"list": [{"k": "3", "v": "long"}]}), vec!["spec.list[0].v: Too long: may not be more than 1 bytes"]),
        (json!({"plain": ["long"]}), vec![]),
        (json!({"plain": ["long", "b"]}), vec!["spec.plain[0]: Too long: may not be more than 1 bytes"]),
        (json!({"need": {}}), vec![]),
        (json!({"need": {"y": "1"}}), vec!["spec.need.x: Required value"]),
    ];
    for (new, expected) in table {
        let expected: Vec<String> = expected.into_iter().map(|e: &str| e.replace("1 bytes", "1 byte")).collect();
        assert_eq!(reported(&schema, new.clone(), Some(old.clone())), expected, "{new}");
    }
}

#[test]
fn causes_are_the_server_s() {
    let table = [
        (json!({"type": "string"}), json!(5), Cause::TypeInvalid),
        (json!({"type": "string", "format": "date"}), json!("x"), Cause::TypeInvalid),
        (json!({"type": "string", "enum": ["a"]}), json!("x"), Cause::NotSupported),
        (json!({"type": "string", "pattern": "a"}), json!("x"), Cause::Invalid),
        (json!({"type": "object", "required": ["a"]}), json!({}), Cause::Required),
        (json!({"type": "string", "maxLength": 0}), json!("x"), Cause::TooLong),
        (json!({"type": "array", "items": {"type": "string"}, "maxItems": 0}), json!(["x"]), Cause::TooMany),
    ];
    for (schema, value, expected) in table {
        assert_eq!(cause(&schema, &value), [expected], "{schema}");
    }
}

#[test]
fn status_is_checked_below_its_own_path() {
    let schema = Schema::lenient(&json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object"}, "status": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}}));
    let reported = |object: Value| {
        validate_status(&schema, &object, None, &NoRules).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(reported(json!({"status": {"n": 1}})), Vec::<String>::new());
    assert_eq!(reported(json!({"status": {}})), ["status.n: Required value"]);
    assert_eq!(
        reported(json!({"status": {"n": "x"}})),
        [r#"status.n: Invalid value: "string": n in body must be of type integer: "string""#]
    );
}

#[test]
fn embedded_objects_are_objects() {
    let schema =
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(
        reported(&schema, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Any_Name"}}), None),
        Vec::<String>::new()
    );
    assert_eq!(
        reported(&schema, json!({"kind": ""}), None),
        ["spec.apiVersion: Required value", "spec.kind: Invalid value: \"\": must not be empty"]
    );
    assert_eq!(
        reported(&schema, json!({"apiVersion": "a/b/c", "kind": "Pod"}), None),
        ["spec.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c"]
    );
}

#[test]
fn rules_wait_until_the_shape_is_right() {
    let schema = json!({"type": "object", "required": ["a"], "x-kubernetes-validations": [{"rule": "true"}]});
    assert_eq!(
        reported(&schema, json!({}), None),
        [
            "spec.a: Required value",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
        ]
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c0-9]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        let key = prop_oneof![
            "[a-c]",
            Just("type".to_owned()),
            Just("properties".to_owned()),
            Just("items".to_owned()),
            Just("additionalProperties".to_owned()),
            Just("x-kubernetes-list-type".to_owned()),
            Just("anyOf".to_owned()),
            Just("not".to_owned()),
            Just("default".to_owned()),
            Just("enum".to_owned()),
            Just("metadata".to_owned())
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..5).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_schema_and_no_value_break_the_walks(schema in any_value(), value in any_value(), old in any_value()) {
        let _ = Schema::parse(&schema, "s");
        let schema = Schema::lenient(&schema);
        let mut object = value.clone();
        crate::prune(&schema, &mut object);
        crate::apply_defaults(&schema, &mut object);
        let _ = validate(&schema, &object, None, &NoRules);
        // What did not change is never refused.
        let same = validate(&schema, &object, Some(&object), &NoRules);
        let structural: Vec<_> = same.iter().filter(|e| !e.path.starts_with("apiVersion") && !e.path.starts_with("kind")).collect();
        prop_assert!(structural.is_empty() || !check_embedded(&schema, &object, "", false).is_empty(), "{structural:?}");
        let _ = validate(&schema, &object, Some(&old), &NoRules);
    }
}
