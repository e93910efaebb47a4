//! What the rules have found, while they run and when they are done.

use netloom_schema::{Cause, FieldError};
use serde_json::Value;

/// The answer to a write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReviewResult {
    /// The broken rules; none means that the write is taken, unless it is forbidden.
    pub errors: Vec<FieldError>,
    /// Why this user may not do this at all.
    pub forbidden: Option<String>,
    /// What the user should know although nothing stops the write.
    pub warnings: Vec<String>,
    /// What to change in the object before it is stored, as a JSON patch.
    pub patch: Option<Value>,
}

impl ReviewResult {
    /// Whether the write is taken.
    pub fn is_allowed(&self) -> bool {
        self.errors.is_empty() && self.forbidden.is_none()
    }
}

/// Collects what rules find.
#[derive(Debug, Default)]
pub struct Findings {
    errors: Vec<FieldError>,
    forbidden: Option<String>,
    warnings: Vec<String>,
}

impl Findings {
    /// The value is not one that the rule takes.
    pub fn invalid(&mut self, path: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) {
        self.errors.push(FieldError::invalid(path, &value.into(), detail));
    }

    /// The value breaks a rule whose words are fixed.
    pub fn worded(&mut self, path: impl Into<String>, words: impl Into<String>) {
        self.errors.push(FieldError::worded(path, words));
    }

    /// The value must be given and is not.
    pub fn required(&mut self, path: impl Into<String>, detail: impl Into<String>) {
        self.errors.push(FieldError::required(path, detail));
    }

    /// The field may not be there, or not be changed, as things are.
    pub fn forbidden(&mut self, path: impl Into<String>, detail: impl Into<String>) {
        self.errors.push(FieldError::forbidden(path, detail));
    }

    /// The value is there already, here or in another object.
    pub fn duplicate(&mut self, path: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) {
        self.errors.push(FieldError::invalid(path, &value.into(), detail).with_cause(Cause::Duplicate));
    }

    /// The thing that the value names does not exist.
    pub fn not_found(&mut self, path: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) {
        self.errors.push(FieldError::invalid(path, &value.into(), detail).with_cause(Cause::NotFound));
    }

    /// The value is none of `supported`.
    pub fn not_supported(&mut self, path: impl Into<String>, value: impl Into<Value>, supported: &[&str]) {
        self.errors.push(FieldError::not_supported(path, &value.into(), supported));
    }

    /// Any other broken rule.
    pub fn refuse(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// The user may not do this, whatever the object says.
    pub fn forbid(&mut self, reason: impl Into<String>) {
        self.forbidden.get_or_insert(reason.into());
    }

    /// The write is taken, and the user gets this warning.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// Whether no rule has been broken so far.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty() && self.forbidden.is_none()
    }
}

impl From<Findings> for ReviewResult {
    fn from(findings: Findings) -> Self {
        let Findings { errors, forbidden, warnings } = findings;
        Self { errors, forbidden, warnings, patch: None }
    }
}
