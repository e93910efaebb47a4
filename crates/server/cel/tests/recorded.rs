//! What a real kube-apiserver (1.36.4) answered, compared with what this code answers.
//!
//! The files in `recorded/` are its answers: to values of many schemas, to definitions, and to updates
//! of an object that a stricter schema would no longer accept. Causes are compared whole: field, reason
//! and message. The order of causes is not: the server has none.

use netloom_cel::Cel;
use netloom_schema::{FieldError, Schema, apply_defaults, crd, decode, metadata, prune, validate};
use serde_json::{Value, json};

/// Definitions and rules where the two differ, and why.
const DIFFERENCES: [(&str, &str); 3] = [
    ("url('::').getHost() == ''", "the text of a parse error inside of the library"),
    ("cel.bind(x, self.n, x == 5)", "variables of an unknown macro are not reported one by one"),
    ("format.dns1123Label().validate(self.s).hasValue()", "the cost of rules is not estimated beforehand"),
];

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("a recorded file is JSON")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn sorted(mut causes: Vec<Value>) -> Vec<Value> {
    causes.sort_by_cached_key(Value::to_string);
    causes
}

fn causes(errors: &[FieldError]) -> Vec<Value> {
    sorted(errors.iter().map(|e| json!([e.path, e.cause.reason(), e.body()])).collect())
}

fn is_known_difference(schema: &Value) -> bool {
    let rules = list(schema, "x-kubernetes-validations");
    rules.iter().any(|rule| DIFFERENCES.iter().any(|(known, _)| rule["rule"] == *known))
}

fn of_spec(spec: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

/// The object of a request, through all steps up to validation, or why it is no request at all.
fn object(schema: &Schema, spec: &Value) -> Result<Value, String> {
    let body =
        json!({"apiVersion": "example.dev/v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec}).to_string();
    let decoded = decode::json(body.as_bytes(), decode::Limits::default());
    let mut object = decoded.map_err(|e| e.to_string())?.value;
    if let Some(error) = metadata::coerce(schema, &mut object, "", true) {
        return Err(error.detail);
    }
    prune(schema, &mut object);
    apply_defaults(schema, &mut object);
    Ok(object)
}

#[test]
fn values_get_the_same_answer() {
    let mut compared = 0;
    for group in read(include_str!("recorded/values.json")).as_array().into_iter().flatten() {
        if is_known_difference(&group["schema"]) {
            continue;
        }
        let parsed = Schema::parse_with(&of_spec(&group["schema"]), "spec.validation.openAPIV3Schema", &Cel);
        if let Some(refused) = group.get("refused") {
            let errors = parsed.expect_err("the server refused this schema");
            assert_eq!(*refused, netloom_schema::aggregate(&errors), "{}", group["schema"]);
            continue;
        }
        let schema = parsed.expect("the server accepted this schema");
        for case in list(group, "cases") {
            compared += 1;
            let made = match object(&schema, &case["value"]) {
                Ok(made) => made,
                Err(why) => {
                    let message = case.get("bad_request").and_then(Value::as_str).unwrap_or_default();
                    assert!(message.contains(&why), "{case} {why}");
                    continue;
                }
            };
            let errors = validate(&schema, &made, None, &Cel);
            let expected = sorted(list(case, "causes").to_vec());
            assert_eq!(causes(&errors), expected, "{} {}", group["schema"], case["value"]);
            if let Some(stored) = case.get("stored") {
                assert_eq!(*stored, made.get("spec").cloned().unwrap_or(Value::Null), "{}", case["value"]);
            }
        }
    }
    assert!(compared > 1_100, "{compared}");
}

#[test]
fn definitions_get_the_same_answer() {
    for case in read(include_str!("recorded/definitions.json")).as_array().into_iter().flatten() {
        let mut definition = case["definition"].clone();
        crd::default_crd(&mut definition);
        let errors = crd::check_create(&definition, &Cel);
        assert_eq!(causes(&errors), sorted(list(case, "causes").to_vec()), "{definition}");
    }
}

#[test]
fn updates_get_the_same_answer() {
    let file = read(include_str!("recorded/updates.json"));
    let schema = Schema::parse_with(&of_spec(&file["schema"]), "s", &Cel).expect("the server accepted this schema");
    let old = object(&schema, &file["old"]).expect("the server accepted the old object");
    for case in list(&file, "cases") {
        let new = object(&schema, &case["value"]).expect("an object");
        let errors = validate(&schema, &new, Some(&old), &Cel);
        assert_eq!(causes(&errors), sorted(list(case, "causes").to_vec()), "{}", case["value"]);
    }
}
