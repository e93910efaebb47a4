//! The rules about single words of a schema: which are refused, and which need which others.

use serde_json::{Map, Value};

use super::{
    list_rules,
    structural::{flag, text},
};
use crate::{field_error::FieldError, paths::child};

type Fields = Map<String, Value>;

/// What holds at one place of a schema because of the places above it.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    root: bool,
    inside_metadata: bool,
    /// Why no default may stand here.
    no_default: Option<&'a str>,
    depth: usize,
}

/// All words of the schema that may not stand where they stand.
pub(super) fn check(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, path, Place { root: true, ..Place::default() }, &mut errors);
    errors
}

fn node(schema: &Value, path: &str, place: Place<'_>, errors: &mut Vec<FieldError>) {
    let Some(fields) = schema.as_object().filter(|_| place.depth <= 100) else { return };
    words(fields, path, place, errors);
    let below = Place { root: false, depth: place.depth + 1, ..place };
    if let Some(additional) = fields.get("additionalProperties") {
        if fields.get("properties").and_then(Value::as_object).is_some_and(|p| !p.is_empty())
            && additional != &Value::Bool(true)
        {
            let why = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(child(path, "additionalProperties"), why));
        }
        let mut below = below;
        if place.inside_metadata {
            below.no_default = Some("inside additionalProperties applying to object metadata");
        }
        node(additional, &child(path, "additionalProperties"), below, errors);
    }
    for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_object = place.root || flag(fields, "x-kubernetes-embedded-resource");
        let meta = is_object && matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
        let reason = format!("in top-level {name}");
        let below = Place {
            inside_metadata: below.inside_metadata || meta,
            no_default: if meta && place.root { Some(reason.as_str()) } else { below.no_default },
            ..below
        };
        node(property, &format!("{path}.properties[{name}]"), below, errors);
    }
    if let Some(not) = fields.get("not") {
        node(not, &child(path, "not"), below, errors);
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        for (i, part) in fields.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            node(part, &format!("{path}.{name}[{i}]"), below, errors);
        }
    }
    if let Some(items) = fields.get("items") {
        node(items, &child(path, "items"), below, errors);
    }
    list_rules::check(fields, path, errors);
    validation_rules(schema, fields, path, errors);
}

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

fn words(fields: &Fields, path: &str, place: Place<'_>, errors: &mut Vec<FieldError>) {
    let kind = text(fields, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(child(path, "type"), &Value::from(kind), &TYPES));
    }
    if let (Some(default), Some(reason)) = (fields.get("default"), place.no_default)
        && !default.is_null()
    {
        errors.push(FieldError::forbidden(child(path, "default"), format!("must not be set {reason}")));
    }
    for name in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        if fields.get(name).is_some_and(|v| !v.is_null()) {
            errors.push(FieldError::forbidden(child(path, name), format!("{name} is not supported")));
        }
    }
    if kind == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(child(path, "type"), why));
    }
    if fields.get("items").is_some_and(Value::is_array) {
        errors.push(FieldError::forbidden(child(path, "items"), "items must be a schema object and not an array"));
    }
    if place.inside_metadata && flag(fields, "x-kubernetes-embedded-resource") {
        let at = child(path, "x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(at, "must not be used inside of resource meta"));
    }
    if flag(fields, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(child(path, "uniqueItems"), why));
    }
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if fields.get(preserve) == Some(&Value::Bool(false)) {
        errors.push(FieldError::invalid(child(path, preserve), &Value::Bool(false), "must be true or undefined"));
    }
}

const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// The form of each entry of `x-kubernetes-validations`; what its expressions mean is checked later.
fn validation_rules(schema: &Value, fields: &Fields, path: &str, errors: &mut Vec<FieldError>) {
    let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    for (i, rule) in rules.enumerate() {
        let Some(rule) = rule.as_object() else { continue };
        let at = |name: &str| format!("{path}.x-kubernetes-validations[{i}].{name}");
        let breaks = |text: &str| text.contains(['\n', '\r']);
        let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
        if expression.is_empty() {
            errors.push(FieldError::required(at("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(FieldError::invalid_text(at("message"), message, "must be non-empty if specified"));
        } else if breaks(message.trim()) {
            errors.push(FieldError::invalid_text(at("message"), message, "must not contain line breaks"));
        } else if breaks(expression) && message.trim().is_empty() {
            errors.push(FieldError::required(at("message"), "message must be specified if rule contains line breaks"));
        }
        let message_expression = text(rule, "messageExpression");
        if !message_expression.is_empty() && message_expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(at("messageExpression"), why));
        }
        if let Some(reason) = rule.get("reason").and_then(Value::as_str)
            && !REASONS.contains(&reason)
        {
            errors.push(FieldError::not_supported(at("reason"), &Value::from(reason), &REASONS));
        }
        let field_path = text(rule, "fieldPath");
        if !field_path.is_empty() {
            if field_path.trim().is_empty() {
                errors.push(FieldError::invalid_text(at("fieldPath"), field_path, "must be non-empty if specified"));
            }
            if breaks(field_path) {
                errors.push(FieldError::invalid_text(at("fieldPath"), field_path, "must not contain line breaks"));
            }
            if crate::field_path::resolve(field_path, &super::Schema::lenient(schema)).is_err() {
                errors.push(FieldError::invalid_text(at("fieldPath"), field_path, "must be a valid path"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reported(field: &Value) -> Vec<String> {
        let schema = json!({"type": "object", "properties": {"f": field}});
        check(&schema, "s").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_word_has_its_refusal() {
        let table = [
            (
                json!({"type": "text"}),
                "s.properties[f].type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            ),
            (
                json!({"type": "array", "items": [{"type": "string"}]}),
                "s.properties[f].items: Forbidden: items must be a schema object and not an array",
            ),
            (json!({"$ref": "#/x"}), "s.properties[f].$ref: Forbidden: $ref is not supported"),
            (
                json!({"uniqueItems": true}),
                "s.properties[f].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ),
            (
                json!({"properties": {"a": {}}, "additionalProperties": false}),
                "s.properties[f].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ),
            (
                json!({"x-kubernetes-preserve-unknown-fields": false}),
                "s.properties[f].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
            ),
            (
                json!({"x-kubernetes-validations": [{"rule": " "}]}),
                "s.properties[f].x-kubernetes-validations[0].rule: Required value: rule is not specified",
            ),
            (
                json!({"x-kubernetes-validations": [{"rule": "a\nb"}]}),
                "s.properties[f].x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks",
            ),
            (
                json!({"x-kubernetes-validations": [{"rule": "a", "message": "a\nb"}]}),
                "s.properties[f].x-kubernetes-validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
            ),
            (
                json!({"x-kubernetes-validations": [{"rule": "a", "reason": "No"}]}),
                "s.properties[f].x-kubernetes-validations[0].reason: Unsupported value: \"No\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
            ),
            (
                json!({"properties": {"a": {}}, "x-kubernetes-validations": [{"rule": "a", "fieldPath": ".b"}]}),
                "s.properties[f].x-kubernetes-validations[0].fieldPath: Invalid value: \".b\": must be a valid path",
            ),
        ];
        for (field, message) in table {
            assert_eq!(reported(&field), [message], "{field}");
        }
        assert_eq!(reported(&json!({"type": "string"})), Vec::<String>::new());
    }

    #[test]
    fn metadata_has_no_defaults() {
        let schema = json!({"properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}}});
        let errors = check(&schema, "s");
        assert_eq!(
            errors[0].to_string(),
            "s.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata"
        );
    }
}
