//! The seam to the language of `x-kubernetes-validations`.
//!
//! This crate knows where rules stand and when they run; what an expression means is the business of
//! whoever implements [`Rules`].

use serde_json::Value;

use crate::{FieldError, Schema};

/// Checks and runs the validation rules of a schema.
pub trait Rules: Send + Sync {
    /// Checks every rule of a definition's schema when the definition is written: that it is an
    /// expression, and that it uses the old value only where there can be one. `path` is the path of
    /// the schema in the definition.
    fn check(&self, schema: &Schema, path: &str) -> Vec<FieldError>;

    /// Runs every rule of the schema on a value that has its shape. `place` says where the value
    /// stands.
    fn evaluate(&self, schema: &Schema, new: &Value, old: Option<&Value>, place: Place<'_>) -> Vec<FieldError>;
}

/// Where the value of a run of rules stands.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The path of the value; empty for a whole object.
    pub path: &'a str,
    /// Whether the value is a whole object, so that rules see its `apiVersion`, `kind` and names.
    pub is_object: bool,
}

/// No rules: nothing is checked and nothing refused. For kinds whose schema has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRules;

impl Rules for NoRules {
    fn check(&self, _: &Schema, _: &str) -> Vec<FieldError> {
        Vec::new()
    }

    fn evaluate(&self, _: &Schema, _: &Value, _: Option<&Value>, _: Place<'_>) -> Vec<FieldError> {
        Vec::new()
    }
}
