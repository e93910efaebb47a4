//! The rules that make a schema structural: every field has one type, reported in one place.
//!
//! Runs on the JSON, because half of the rules are about what may not be written inside `allOf`,
//! `anyOf`, `oneOf` and `not`.

use serde_json::{Map, Value};

use crate::{field_error::FieldError, paths::child, pattern::Pattern};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

type Fields = Map<String, Value>;

/// Whether a schema is made of words that a structural schema can hold at all. One that is not is not
/// looked at any further: what stands in the way is reported elsewhere.
pub(super) fn is_readable(schema: &Value) -> bool {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Some(fields) = schema.as_object() else { continue };
        let foreign = ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];
        if foreign.iter().any(|name| fields.get(*name).is_some_and(|value| !is_nothing(value)))
            || fields.get("items").is_some_and(Value::is_array)
            || fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false))
        {
            return false;
        }
        open.extend(["items", "additionalProperties", "not"].iter().filter_map(|name| fields.get(*name)));
        open.extend(object(fields, "properties").into_iter().flatten().map(|(_, property)| property));
        let junctors = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|name| fields.get(name)?.as_array());
        open.extend(junctors.flatten());
    }
    true
}

/// All that keeps the schema from being structural, in the order of the messages.
pub(super) fn check(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(fields) = schema.as_object() {
        node(fields, Level::Root, path, 0, &mut errors);
        complete(fields, schema, path, path, &mut errors);
    }
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

pub(super) fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(fields: &Fields, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn object<'a>(fields: &'a Fields, name: &str) -> Option<&'a Fields> {
    fields.get(name).and_then(Value::as_object)
}

fn key(path: &str, name: &str) -> String {
    format!("{path}.properties[{name}]")
}

fn node(fields: &Fields, level: Level, path: &str, depth: usize, errors: &mut Vec<FieldError>) {
    if depth > 100 {
        errors.push(FieldError::forbidden(path, "must not be nested deeper than 100 levels"));
        return;
    }
    let kind = text(fields, "type");
    if kind == "array" && !fields.contains_key("items") {
        errors.push(FieldError::required(child(path, "items"), "must be specified"));
    }
    if let Some(items) = object(fields, "items") {
        node(items, Level::Item, &child(path, "items"), depth + 1, errors);
    }
    for (name, property) in object(fields, "properties").into_iter().flatten() {
        if let Some(property) = property.as_object() {
            node(property, Level::Field, &key(path, name), depth + 1, errors);
        }
    }
    if let Some(additional) = fields.get("additionalProperties") {
        let at = child(path, "additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&at, "must not be used at the root"));
        }
        if let Some(additional) = additional.as_object() {
            node(additional, Level::Field, &at, depth + 1, errors);
        }
    }
    extensions(fields, path, errors);
    let skip_any_of = is_int_or_string(fields.get("anyOf"));
    let skip_first_all_of = fields
        .get("allOf")
        .and_then(Value::as_array)
        .and_then(|l| l.first())
        .is_some_and(|f| is_int_or_string(f.get("anyOf")));
    values(fields, skip_any_of, skip_first_all_of, path, depth, errors);
    types(fields, level, path, errors);
    meta(fields, level, path, errors);
}

fn extensions(fields: &Fields, path: &str, errors: &mut Vec<FieldError>) {
    if !flag(fields, "x-kubernetes-int-or-string") {
        return;
    }
    for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if flag(fields, name) {
            let why = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(child(path, name), &Value::Bool(true), why));
        }
    }
}

fn types(fields: &Fields, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let kind = text(fields, "type");
    let embedded = flag(fields, "x-kubernetes-embedded-resource");
    let preserve = flag(fields, "x-kubernetes-preserve-unknown-fields");
    let at = child(path, "type");
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => FieldError::required(&at, why),
            kind => FieldError::invalid_text(&at, kind, why),
        });
    } else if kind.is_empty() && !flag(fields, "x-kubernetes-int-or-string") && !preserve {
        errors.push(FieldError::required(
            &at,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
    if embedded && fields.contains_key("additionalProperties") {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(child(path, "additionalProperties"), why));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid_text(&at, kind, "must be object at the root"));
    }
    if embedded && !preserve && object(fields, "properties").is_none_or(Map::is_empty) {
        let why =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(child(path, "properties"), why));
    }
}

/// Objects have texts as `apiVersion` and `kind`, and their `metadata` is the server's.
fn meta(fields: &Fields, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let Some(properties) = object(fields, "properties") else { return };
    let is_object = level == Level::Root || flag(fields, "x-kubernetes-embedded-resource");
    let kind_of = |name: &str| properties.get(name).map(|p| p.get("type").and_then(Value::as_str).unwrap_or_default());
    for name in ["kind", "apiVersion"] {
        if let Some(kind) = kind_of(name).filter(|kind| is_object && *kind != "string") {
            errors.push(FieldError::invalid_text(child(&key(path, name), "type"), kind, "must be string"));
        }
    }
    if let Some(kind) = kind_of("metadata").filter(|kind| is_object && *kind != "object") {
        errors.push(FieldError::invalid_text(child(&key(path, "metadata"), "type"), kind, "must be object"));
    }
    if level == Level::Root
        && let Some(metadata) = properties.get("metadata").and_then(Value::as_object)
        && !restricts_names_only(metadata)
    {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(key(path, "metadata"), why));
    }
}

fn restricts_names_only(metadata: &Fields) -> bool {
    metadata.iter().all(|(name, value)| match name.as_str() {
        "type" | "default" => true,
        "properties" => value.as_object().is_none_or(|p| p.keys().all(|name| name == "name" || name == "generateName")),
        _ => is_nothing(value),
    })
}

/// What Go would not tell from a field that is not there.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, which is allowed beside int-or-string.
fn is_int_or_string(any_of: Option<&Value>) -> bool {
    let Some([first, second]) = any_of.and_then(Value::as_array).map(Vec::as_slice) else { return false };
    let only = |value: &Value, kind: &str| value.as_object().is_some_and(|f| f.len() == 1 && text(f, "type") == kind);
    only(first, "integer") && only(second, "string")
}

fn list<'a>(fields: &'a Fields, name: &str) -> impl Iterator<Item = (usize, &'a Fields)> {
    let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    list.enumerate().filter_map(|(i, value)| value.as_object().map(|fields| (i, fields)))
}

fn values(
    fields: &Fields,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &str,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (i, part) in list(fields, "anyOf") {
            nested(part, false, &format!("{path}.anyOf[{i}]"), depth + 1, errors);
        }
    }
    for (i, part) in list(fields, "allOf") {
        nested(part, skip_first_all_of && i == 0, &format!("{path}.allOf[{i}]"), depth + 1, errors);
    }
    for (i, part) in list(fields, "oneOf") {
        nested(part, false, &format!("{path}.oneOf[{i}]"), depth + 1, errors);
    }
    if let Some(part) = object(fields, "not") {
        nested(part, false, &child(path, "not"), depth + 1, errors);
    }
    let pattern = text(fields, "pattern");
    if let Some(error) = Pattern::new(pattern).error() {
        let why = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid_text(child(path, "pattern"), pattern, why));
    }
}

/// What may not be given inside of a junctor, with the words for it.
const FORBIDDEN: [(&str, &str); 13] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

fn nested(fields: &Fields, skip_any_of: bool, path: &str, depth: usize, errors: &mut Vec<FieldError>) {
    if depth > 100 {
        errors.push(FieldError::forbidden(path, "must not be nested deeper than 100 levels"));
        return;
    }
    values(fields, skip_any_of, false, path, depth, errors);
    if let Some(items) = object(fields, "items") {
        nested(items, false, &child(path, "items"), depth + 1, errors);
    }
    for (name, property) in object(fields, "properties").into_iter().flatten() {
        if let Some(property) = property.as_object() {
            nested(property, false, &key(path, name), depth + 1, errors);
        }
        if name == "metadata" {
            errors.push(FieldError::forbidden(key(path, name), "must not be specified in a nested context"));
        }
    }
    for (name, why) in FORBIDDEN {
        let reported = match name {
            "default" => fields.get(name).is_some_and(|value| !value.is_null()),
            "additionalProperties" => {
                fields.get(name).is_some_and(|value| value.is_object() || *value == Value::Bool(true))
            }
            _ => fields.get(name).is_some_and(|value| !is_nothing(value)),
        };
        if reported {
            errors.push(FieldError::forbidden(child(path, name), why));
        }
    }
}

/// Fields that a junctor of the root talks about must be declared outside of it. The server asks this
/// only of junctors at the root of the schema.
fn complete(junctors: &Fields, schema: &Value, path: &str, given_at: &str, errors: &mut Vec<FieldError>) {
    if let Some(part) = object(junctors, "not") {
        declared(part, Some(schema), path, &child(given_at, "not"), errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (i, part) in list(junctors, name) {
            declared(part, Some(schema), path, &format!("{given_at}.{name}[{i}]"), errors);
        }
    }
}

fn declared(part: &Fields, schema: Option<&Value>, path: &str, given_at: &str, errors: &mut Vec<FieldError>) {
    let Some(schema) = schema.filter(|s| s.is_object()) else {
        errors.push(FieldError::required(path, format!("because it is defined in {given_at}")));
        return;
    };
    complete(part, schema, path, given_at, errors);
    if let Some(items) = object(part, "items") {
        declared(items, schema.get("items"), &child(path, "items"), &child(given_at, "items"), errors);
    }
    for (name, property) in object(part, "properties").into_iter().flatten() {
        let Some(property) = property.as_object() else { continue };
        let shape = schema.get("properties").and_then(|p| p.get(name));
        declared(property, shape, &key(path, name), &key(given_at, name), errors);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reported(schema: &Value) -> Vec<String> {
        check(schema, "s").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_structural_schema_has_nothing_to_say() {
        let schema = json!({
            "type": "object",
            "properties": {
                "spec": {"type": "object", "required": ["a"], "properties": {
                    "a": {"type": "array", "items": {"type": "string"}},
                    "b": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "c": {"type": "object", "additionalProperties": {"type": "string"}},
                    "d": {"x-kubernetes-preserve-unknown-fields": true},
                    "e": {"type": "string", "anyOf": [{"pattern": "a"}, {"maxLength": 2}]},
                }},
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}},
            },
            "oneOf": [{"required": ["spec"]}, {"properties": {"spec": {"required": ["a"]}}}],
        });
        assert_eq!(reported(&schema), Vec::<String>::new());
    }

    #[test]
    fn every_rule_has_its_words() {
        let field = |field: Value| json!({"type": "object", "properties": {"f": field}});
        let table = [
            (json!({}), "s.type: Required value: must not be empty at the root"),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "s.type: Invalid value: \"array\": must be object at the root",
            ),
            (field(json!({})), "s.properties[f].type: Required value: must not be empty for specified object fields"),
            (field(json!({"type": "array"})), "s.properties[f].items: Required value: must be specified"),
            (
                field(json!({"type": "array", "items": {}})),
                "s.properties[f].items.type: Required value: must not be empty for specified array items",
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "s.additionalProperties: Forbidden: must not be used at the root",
            ),
            (
                field(json!({"type": "string", "anyOf": [{"type": "string"}]})),
                "s.properties[f].anyOf[0].type: Forbidden: must be empty to be structural",
            ),
            (
                field(json!({"type": "string", "not": {"description": "x"}})),
                "s.properties[f].not.description: Forbidden: must be empty to be structural",
            ),
            (
                field(json!({"type": "string", "pattern": "("})),
                "s.properties[f].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
            ),
            (
                field(
                    json!({"type": "string", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
                ),
                "s.properties[f].type: Invalid value: \"string\": must be object if x-kubernetes-embedded-resource is true",
            ),
            (
                field(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
                "s.properties[f].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            ),
            (
                field(json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true})),
                "s.properties[f].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
            ),
            (
                json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ),
            (
                json!({"type": "object", "properties": {"kind": {"type": "integer"}}}),
                "s.properties[kind].type: Invalid value: \"integer\": must be string",
            ),
            (
                json!({"type": "object", "anyOf": [{"properties": {"x": {"minLength": 1}}}]}),
                "s.properties[x]: Required value: because it is defined in s.anyOf[0].properties[x]",
            ),
        ];
        for (schema, message) in table {
            assert_eq!(reported(&schema), [message], "{schema}");
        }
    }

    #[test]
    fn foreign_words_end_the_look() {
        assert!(is_readable(&json!({"type": "object", "properties": {"a": {"type": "string"}}})));
        assert!(!is_readable(&json!({"type": "object", "properties": {"a": {"$ref": "#/x"}}})));
        assert!(!is_readable(&json!({"type": "array", "items": [{"type": "string"}]})));
        assert!(!is_readable(&json!({"anyOf": [{"patternProperties": {"a": {}}}]})));
    }

    #[test]
    fn junctors_below_the_root_need_no_declaration_outside() {
        let schema = json!({"type": "object", "properties": {
            "f": {"type": "object", "anyOf": [{"properties": {"x": {"minLength": 1}}}]},
        }});
        assert_eq!(reported(&schema), Vec::<String>::new());
    }
}
