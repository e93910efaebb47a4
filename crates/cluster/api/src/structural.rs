//! From a derived definition to the manifest that a real server takes without a warning.
//!
//! The derive gives nearly the right schema. What is put right here is the same for every kind:
//!
//! - `nullable` goes: absent and null mean the same to us, and a server then drops the null;
//! - number formats that Kubernetes does not know become ones that it does, with their range;
//! - empty defaults go: they say nothing and would show up in every object;
//! - a label selector is written as a whole, as in Kubernetes' own kinds;
//! - descriptions are one line for each paragraph;
//! - whole numbers are written as such;
//! - a `status` field stays where the kind has no subresource for it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Number, Value, json};

/// The definition as JSON, ready for a server or a file.
///
/// # Panics
/// Never: the type is made of strings, numbers, lists and maps with text keys.
pub(crate) fn manifest(crd: &CustomResourceDefinition, status_subresource: bool) -> Value {
    let mut manifest = serde_json::to_value(crd).expect("a definition has no value that JSON lacks");
    if let Some(top) = manifest.as_object_mut() {
        top.remove("status");
    }
    if let Some(version) = manifest.pointer_mut("/spec/versions/0").and_then(Value::as_object_mut) {
        if !status_subresource {
            version.remove("subresources");
        }
        if let Some(schema) = version.get_mut("schema").and_then(|s| s.get_mut("openAPIV3Schema")) {
            tidy(schema);
        }
    }
    manifest
}

/// Puts a schema and all schemas below it right.
fn tidy(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.remove("nullable");
    if map.get("default").is_some_and(says_nothing) {
        map.remove("default");
    }
    number(map);
    if is_label_selector(map) {
        map.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
    }
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = unwrapped(text);
    }
    if let Some(Value::Array(required)) = map.get_mut("required") {
        required.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(tidy);
    }
    for key in ["items", "additionalProperties", "not"] {
        if let Some(inner) = map.get_mut(key) {
            tidy(inner);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(inner)) = map.get_mut(key) {
            inner.iter_mut().for_each(tidy);
        }
    }
}

fn says_nothing(default: &Value) -> bool {
    match default {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// A label selector is one value: half of somebody's and half of another's would mean neither.
fn is_label_selector(map: &Map<String, Value>) -> bool {
    let properties = map.get("properties").and_then(Value::as_object);
    properties
        .is_some_and(|all| all.len() == 2 && all.contains_key("matchLabels") && all.contains_key("matchExpressions"))
}

/// Bounds as whole numbers, and a format that Kubernetes knows.
fn number(map: &mut Map<String, Value>) {
    for key in ["minimum", "maximum", "multipleOf", "default"] {
        if let Some(Value::Number(number)) = map.get_mut(key)
            && let Some(whole) = whole(number)
        {
            *number = whole;
        }
    }
    let known = match map.get("format").and_then(Value::as_str) {
        Some("uint8" | "uint16" | "int8" | "int16") => "int32",
        Some("uint32") => {
            map.entry("maximum").or_insert(json!(u32::MAX));
            "int64"
        }
        Some("uint" | "uint64" | "int") => "int64",
        _ => return,
    };
    map.insert("format".to_owned(), known.into());
}

/// The same number without a fraction, when it has none and is small enough to be exact.
fn whole(number: &Number) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value = number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() <= EXACT)?;
    format!("{value:.0}").parse::<i64>().ok().map(Number::from)
}

/// Lines of one paragraph joined; paragraphs stay apart.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|part| part.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_schema_becomes_structural() {
        let mut schema = json!({"type": "object", "required": ["b", "a"], "properties": {
            "a": {"type": "integer", "format": "uint16", "minimum": 2.0, "maximum": 4094.0, "nullable": true, "default": 7.0},
            "b": {"type": "integer", "format": "uint32", "minimum": 0.0},
            "c": {"type": "array", "default": [], "items": {"type": "string", "nullable": true}},
            "d": {"type": "string", "description": "One\ntwo.\n\nThree\nfour.", "default": null},
            "e": {"type": "number", "minimum": 0.5},
        }});
        tidy(&mut schema);
        let wanted = json!({"type": "object", "required": ["a", "b"], "properties": {
            "a": {"type": "integer", "format": "int32", "minimum": 2, "maximum": 4094, "default": 7},
            "b": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 4_294_967_295_u32},
            "c": {"type": "array", "items": {"type": "string"}},
            "d": {"type": "string", "description": "One two.\n\nThree four."},
            "e": {"type": "number", "minimum": 0.5},
        }});
        assert_eq!(schema, wanted);
    }
}
