//! Defaults must be values that the schema itself would accept, with nothing in them that it does not
//! know.

use serde_json::{Value, json};

use super::Schema;
use crate::{
    field_error::{FieldError, aggregate},
    metadata,
    paths::child,
    prune::prune_part,
    rules::{Place, Rules},
    validate::{check_embedded, validate_part},
};

/// All defaults that are wrong.
pub(super) fn check(schema: &Schema, path: &str, rules: &dyn Rules) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let around = Around { steps: Vec::new(), inside_meta: false };
    node(schema, path, true, &around, rules, &mut errors);
    errors
}

/// The way from the nearest object to a place, to build that object around a default.
struct Around {
    steps: Vec<Option<String>>,
    inside_meta: bool,
}

impl Around {
    fn below(&self, step: Option<String>, meta: bool) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { steps, inside_meta: self.inside_meta || meta }
    }

    fn object(&self, focus: &Value) -> Value {
        let mut value = focus.clone();
        for step in self.steps.iter().rev() {
            value = match step {
                Some(name) => json!({ name.as_str(): value }),
                None => json!([value]),
            };
        }
        if let Value::Object(fields) = &mut value {
            fields.entry("apiVersion").or_insert_with(|| json!("validation/v1"));
            fields.entry("kind").or_insert_with(|| json!("Validation"));
        }
        value
    }
}

fn node(schema: &Schema, path: &str, root: bool, around: &Around, rules: &dyn Rules, errors: &mut Vec<FieldError>) {
    if !schema.has_defaults {
        return;
    }
    let is_object = root || schema.is_embedded();
    let fresh = Around { steps: Vec::new(), inside_meta: false };
    let around = if is_object { &fresh } else { around };
    if let Some(default) = schema.default_value() {
        let at = child(path, "default");
        let found = if around.inside_meta {
            inside_metadata(schema, default, &at, around)
        } else {
            plain(schema, default, &at, root, rules)
        };
        errors.extend(found);
    }
    if let Some(items) = schema.items() {
        node(items, &child(path, "items"), false, &around.below(None, false), rules, errors);
    }
    for (name, property) in schema.properties() {
        let meta = is_object && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
        let below = around.below(Some(name.clone()), meta);
        node(property, &format!("{path}.properties[{name}]"), false, &below, rules, errors);
    }
}

fn plain(schema: &Schema, default: &Value, at: &str, root: bool, rules: &dyn Rules) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_object = root || schema.is_embedded();
    let mut pruned = default.clone();
    if prune_part(schema, &mut pruned) {
        errors.push(FieldError::invalid(at, default, "must not have unknown fields"));
    }
    if let Some(error) = metadata::coerce(schema, &mut default.clone(), at, is_object) {
        errors.push(error);
        return errors;
    }
    let mut found = check_embedded(schema, default, at, is_object);
    if found.is_empty() {
        found = validate_part(schema, default, at);
    }
    if found.is_empty() && schema.has_rules() {
        let place = Place { path: at, is_object: root };
        found = rules.evaluate(schema, default, Some(default), place);
        if found.is_empty() {
            found = rules.evaluate(schema, default, None, place);
        }
    }
    errors.extend(found);
    errors
}

/// A default inside of metadata must make valid metadata.
fn inside_metadata(schema: &Schema, default: &Value, at: &str, around: &Around) -> Vec<FieldError> {
    let mut object = around.object(default);
    let why = |text: String| format!("must result in valid metadata: {text}");
    let free = Schema::anything();
    if let Some(error) = metadata::coerce(&free, &mut object, "", true) {
        return vec![FieldError::invalid(at, default, why(error.to_string()))];
    }
    let wrong = check_embedded(&free, &object, "", true);
    if !wrong.is_empty() {
        return vec![FieldError::invalid(at, default, why(aggregate(&wrong)))];
    }
    validate_part(schema, default, at)
}
