//! `ConfigMap` and `Secret`: keys, sizes, and contents that may be sealed.

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use netloom_schema::FieldError;
use serde_json::{Map, Value, json};

use super::{
    columns::{made, name},
    json::{entries, object, set_default, size, text, truth},
};

/// How much one of these may hold, keys not counted.
const MOST_BYTES: usize = 1024 * 1024;
const SEALED: &str = "field is immutable when `immutable` is set";

/// Text beside the data is folded into it, as is done with everything that clients send.
pub(super) fn default_secret(secret: &mut Value) {
    let texts = secret.as_object_mut().and_then(|map| map.remove("stringData"));
    if let (Some(Value::Object(texts)), Some(data)) = (texts, object(secret, "data")) {
        for (key, value) in texts {
            let value = value.as_str().unwrap_or_default();
            data.insert(key, STANDARD.encode(value).into());
        }
    }
    if let Some(map) = secret.as_object_mut() {
        set_default(map, "type", "Opaque");
        if map.get("data").and_then(Value::as_object).is_some_and(Map::is_empty) {
            map.remove("data");
        }
    }
}

pub(super) fn validate_secret(secret: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut bytes = 0;
    for (key, value) in entries(secret, &["data"]) {
        check_key("data", key, &mut errors);
        match STANDARD.decode(value) {
            Ok(content) => bytes += content.len(),
            Err(error) => {
                errors.push(FieldError::invalid(format!("data[{key}]"), &json!("<redacted>"), error.to_string()));
            }
        }
    }
    if bytes > MOST_BYTES {
        errors.push(FieldError::too_long("data", MOST_BYTES));
    }
    let has = |key: &str| secret["data"].get(key).is_some();
    for key in required_keys(secret) {
        if !has(key) {
            errors.push(FieldError::required(format!("data[{key}]"), ""));
        }
    }
    let basic = text(secret, &["type"]) == "kubernetes.io/basic-auth";
    if basic && !has("username") && !has("password") {
        errors.extend(["username", "password"].map(|key| FieldError::required(format!("data[{key}]"), "")));
    }
    if let Some(old) = old {
        if old.get("type") != secret.get("type") {
            errors.push(FieldError::invalid("type", &secret["type"], "field is immutable"));
        }
        errors.extend(unsealed(secret, old, &["data"]));
    }
    errors
}

pub(super) fn validate_config_map(map: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut bytes = 0;
    for (key, value) in entries(map, &["data"]) {
        check_key("data", key, &mut errors);
        if map["binaryData"].get(key).is_some() {
            let why = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(format!("data[{key}]"), &json!(key), why));
        }
        bytes += value.len();
    }
    for (key, value) in entries(map, &["binaryData"]) {
        check_key("binaryData", key, &mut errors);
        bytes += STANDARD.decode(value).map_or(value.len(), |content| content.len());
    }
    if bytes > MOST_BYTES {
        // No field is too long, all of them together are: a real server writes that place so.
        errors.push(FieldError::too_long("[]", MOST_BYTES));
    }
    errors.extend(old.into_iter().flat_map(|old| unsealed(map, old, &["data", "binaryData"])));
    errors
}

pub(super) fn secret_cells(secret: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(secret), text(secret, &["type"]).into(), size(secret, &["data"]).into(), made(secret, now)]
}

pub(super) fn config_map_cells(map: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(map), (size(map, &["data"]) + size(map, &["binaryData"])).into(), made(map, now)]
}

/// Keys that must be there for a secret to be of its type.
fn required_keys(secret: &Value) -> &'static [&'static str] {
    match text(secret, &["type"]) {
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    }
}

/// What was changed although the stored object is sealed.
fn unsealed(new: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    if !truth(old, &["immutable"]) {
        return Vec::new();
    }
    let broken = (!truth(new, &["immutable"])).then_some("immutable");
    let changed = fields.iter().copied().filter(|field| new.get(field) != old.get(field));
    broken.into_iter().chain(changed).map(|field| FieldError::forbidden(field, SEALED)).collect()
}

fn check_key(field: &str, key: &str, errors: &mut Vec<FieldError>) {
    let mut complain = |why: &str| errors.push(FieldError::invalid(format!("{field}[{key}]"), &json!(key), why));
    if key.len() > 253 {
        complain("must be no more than 253 bytes");
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || !key.chars().all(allowed) {
        complain(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        );
    }
    match key {
        "." => complain("must not be '.'"),
        ".." => complain("must not be '..'"),
        key if key.starts_with("..") => complain("must not start with '..'"),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_data() {
        let mut secret = json!({"stringData": {"a": "b"}, "data": {"a": "x", "c": "ZA=="}});
        default_secret(&mut secret);
        assert_eq!(secret, json!({"type": "Opaque", "data": {"a": "Yg==", "c": "ZA=="}}));
        let mut empty = json!({});
        default_secret(&mut empty);
        assert_eq!(empty, json!({"type": "Opaque"}));
    }

    #[test]
    fn keys_of_a_type_are_required() {
        let errors = validate_secret(&json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}), None);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), ["data[tls.key]: Required value"]);
        assert_eq!(validate_secret(&json!({"type": "kubernetes.io/basic-auth"}), None).len(), 2);
        assert!(validate_secret(&json!({"type": "Opaque"}), None).is_empty());
    }

    #[test]
    fn a_type_does_not_change() {
        let (old, new) = (json!({"type": "a"}), json!({"type": "b"}));
        assert_eq!(validate_secret(&new, Some(&old))[0].path, "type");
    }

    #[test]
    fn a_sealed_map_stays() {
        let old = json!({"immutable": true, "data": {"a": "1"}});
        assert!(validate_config_map(&old, Some(&old)).is_empty());
        let new = json!({"data": {"a": "2"}});
        let paths: Vec<_> = validate_config_map(&new, Some(&old)).into_iter().map(|error| error.path).collect();
        assert_eq!(paths, ["immutable", "data"]);
    }

    #[test]
    fn keys_are_checked() {
        for (key, bad) in [("a.b-C_1", false), ("a/b", true), ("..x", true), (".", true), ("", true)] {
            let errors = validate_config_map(&json!({"data": {key: ""}}), None);
            assert_eq!(!errors.is_empty(), bad, "{key}: {errors:?}");
        }
        let both = json!({"data": {"a": ""}, "binaryData": {"a": ""}});
        assert_eq!(validate_config_map(&both, None).len(), 1);
    }
}
