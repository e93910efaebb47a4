//! JSON and merge patches, against answers of a real API server.
//!
//! `patches.json` is a list of: kind of patch, the free-form part of an object, a patch of the object, and that part as
//! kube-apiserver 1.36.4 answered it, or null and code and message. Patches that made the real server drop the
//! connection, which a `test` of a list with a null in it does, are not in it.

use netloom_patch::{UNPROCESSABLE, json_patch, merge_patch};
use serde_json::{Value, json};

const RECORDED: &str = include_str!("patches.json");

#[test]
fn a_real_server_made_the_same_of_it() {
    let cases: Vec<Value> = serde_json::from_str(RECORDED).expect("the recording is JSON");
    let mut wrong = Vec::new();
    for case in &cases {
        let (patch, wanted, refusal) = (&case[2], &case[3], &case[4]);
        let object = json!({"spec": {"free": case[1]}});
        let found = match case[0].as_str() {
            Some("merge") => merge_patch(&object, patch),
            _ => json_patch(&object, patch),
        };
        let same = match &found {
            Ok(patched) if refusal.is_null() => patched["spec"].get("free").unwrap_or(&Value::Null) == wanted,
            // Refused later, by decoding or validation.
            Ok(_) => refusal[1] != UNPROCESSABLE,
            Err(error) => refusal[0] == error.code() && refusal[1] == error.answer(),
        };
        if !same {
            wrong.push(format!("{} with {patch}\n  made   {found:?}\n  wanted {wanted} {refusal}", case[1]));
        }
    }
    assert!(cases.len() > 100, "only {} cases", cases.len());
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong[..wrong.len().min(9)].join("\n"));
}
