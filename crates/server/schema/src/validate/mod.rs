//! Values against their schema, with the messages of the real server.
//!
//! The order is the server's: types and bounds, then embedded objects, then the uniqueness of sets and
//! map lists, then validation rules, which run only if nothing before makes them pointless. On update,
//! what did not change is not refused.

mod embedded;
mod lists;
mod numbers;
mod outcome;
mod walk;

use serde_json::Value;

use crate::{
    Schema,
    correlate::Old,
    field_error::{Cause, FieldError},
    rules::{Place, Rules},
};

pub use self::lists::check_lists;

/// Checks a whole object against its schema. With an old object, errors in parts that did not change
/// are left out.
pub fn validate(schema: &Schema, new: &Value, old: Option<&Value>, rules: &dyn Rules) -> Vec<FieldError> {
    let correlated = old.map(|value| Old { value, schema });
    let mut errors = walk::check(schema, new, correlated, "");
    around(schema, new, old, rules, &mut errors);
    errors
}

/// Checks an object that was written through its `status` subresource: only `status` is compared with
/// its schema, but rules see all of it.
pub fn validate_status(schema: &Schema, new: &Value, old: Option<&Value>, rules: &dyn Rules) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let (Some(status), Some(part)) = (new.get("status"), schema.properties().get("status")) {
        let correlated = old.and_then(|o| o.get("status")).map(|value| Old { value, schema: part });
        errors = walk::check(part, status, correlated, "status");
    }
    around(schema, new, old, rules, &mut errors);
    errors
}

/// Checks a value that is not a whole object; `path` is where errors say they are.
pub(crate) fn validate_part(schema: &Schema, value: &Value, path: &str) -> Vec<FieldError> {
    walk::check(schema, value, None, path)
}

pub(crate) use self::embedded::check as check_embedded;

fn around(schema: &Schema, new: &Value, old: Option<&Value>, rules: &dyn Rules, errors: &mut Vec<FieldError>) {
    if schema.has_embedded {
        errors.extend(embedded::check(schema, new, "", false));
    }
    if schema.has_list_rules && old.is_none_or(|old| check_lists(schema, old, "").is_empty()) {
        errors.extend(check_lists(schema, new, ""));
    }
    if !schema.has_rules() {
        return;
    }
    if errors.iter().any(|e| makes_rules_pointless(e.cause)) {
        let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        errors.push(FieldError::invalid("", &Value::Null, why));
        return;
    }
    errors.extend(rules.evaluate(schema, new, old, Place { path: "", is_object: true }));
}

fn makes_rules_pointless(cause: Cause) -> bool {
    match cause {
        Cause::NotSupported | Cause::Required | Cause::TooLong | Cause::TooMany | Cause::TypeInvalid => true,
        Cause::NotFound
        | Cause::Duplicate
        | Cause::Invalid
        | Cause::Forbidden
        | Cause::TooShort
        | Cause::TooFew
        | Cause::Worded
        | Cause::Internal => false,
    }
}

#[cfg(test)]
mod tests;
