//! Strategic merge patches, against answers of the reference implementation.
//!
//! `strategic.json` is a list of objects, patches, and what the Go library of Kubernetes 1.36 made of them: the patched
//! object, or null and the error. The type is one that contains itself in every way a patch can treat a field.
//! Patches whose result depends on the order of a Go map are not in it.

use netloom_patch::{MergeKeys, Strategy, strategic};
use serde_json::{Value, json};

const RECORDED: &str = include_str!("strategic.json");

/// The type of the recording, as deep as its objects are.
fn item(depth: usize) -> Value {
    if depth == 0 {
        return json!({"type": "object"});
    }
    let inner = item(depth - 1);
    let list = |strategy: &str| {
        json!({
            "type": "array", "items": inner,
            "x-kubernetes-patch-strategy": strategy, "x-kubernetes-patch-merge-key": "name",
        })
    };
    let object = |strategy: &str| {
        let mut object = inner.clone();
        object["x-kubernetes-patch-strategy"] = json!(strategy);
        object
    };
    json!({"type": "object", "properties": {
        "name": {"type": "string"}, "value": {}, "map": {"type": "object"},
        "merging": list("merge"), "retaining": list("merge,retainKeys"),
        "scalars": {"type": "array", "items": {}, "x-kubernetes-patch-strategy": "merge"},
        "plain": {"type": "array", "items": inner}, "words": {"type": "array", "items": {}},
        "inner": inner, "keep": object("retainKeys"), "replaced": object("replace"),
    }})
}

#[test]
fn the_reference_made_the_same_of_it() {
    let cases: Vec<Value> = serde_json::from_str(RECORDED).expect("the recording is JSON");
    let keys = MergeKeys::from_schema(&item(5));
    let mut wrong = Vec::new();
    for case in &cases {
        let (object, patch, wanted, error) = (&case[0], &case[1], &case[2], case[3].as_str());
        let same = match strategic(object, patch, &keys) {
            Ok(found) => error.is_none() && found == *wanted,
            Err(refused) => Some(refused.to_string().as_str()) == error,
        };
        if !same {
            let found = strategic(object, patch, &keys);
            wrong.push(format!("{object}\n  with   {patch}\n  made   {found:?}\n  wanted {wanted} {error:?}"));
        }
    }
    assert!(cases.len() > 200, "only {} cases", cases.len());
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong[..wrong.len().min(9)].join("\n"));
}

#[test]
fn refusals_have_the_codes_of_the_api() {
    let keys =
        MergeKeys::default().with("list", Strategy::MergeBy("name".to_owned())).with("numbers", Strategy::MergeScalars);
    let object = json!({"list": [{"name": "a"}], "numbers": [1]});
    let cases = [
        (json!([]), 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (json!({"$retainKeys": 5}), 400, "invalid patch format of retainKeys"),
        (json!({"$setElementOrder": []}), 400, "invalid patch format of setElementOrder list"),
        (json!({"$deleteFromPrimitiveList": [1]}), 400, "invalid patch format of primitive list"),
        (json!({"numbers": [[1]]}), 400, "list element types are not identical: [[1] [[1]]]"),
        (json!({"list": [{"value": 1}]}), 400, "map: map[value:1] does not contain declared merge key: name"),
    ];
    for (patch, code, message) in cases {
        let refused = strategic(&object, &patch, &keys).expect_err("the patch is wrong");
        assert_eq!((refused.code(), refused.answer().as_str()), (code, message), "{patch}");
    }
    let lists = strategic(&json!({"numbers": [[1]]}), &json!({"numbers": [[2]]}), &keys).expect_err("lists of lists");
    assert_eq!((lists.code(), lists.answer().as_str()), (422, netloom_patch::UNPROCESSABLE));
}
