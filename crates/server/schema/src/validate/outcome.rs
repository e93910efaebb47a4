//! What checking one value against one schema gave.

use serde_json::Value;

use crate::field_error::FieldError;

/// Errors, and how much of the schema the value met: where one of several schemas must hold and none
/// does, the errors of the one that came closest are shown.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) errors: Vec<FieldError>,
    pub(super) matches: usize,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    pub(super) fn add(&mut self, other: Outcome) {
        self.errors.extend(other.errors);
        self.matches += other.matches;
    }

    /// Like [`Outcome::add`], for outcomes about the same value, which may say the same thing.
    pub(super) fn merge(&mut self, other: Outcome) {
        for error in other.errors {
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
        self.matches += other.matches;
    }
}

/// Where errors say they are: `base` is the place of the walk, `path` the place of the value in it.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) base: &'a str,
    pub(super) path: &'a str,
}

impl At<'_> {
    /// The path of the error itself.
    pub(super) fn full(self) -> String {
        let path = self.path.strip_prefix('.').unwrap_or(self.path);
        match (self.base.is_empty(), path.is_empty()) {
            (true, _) => path.to_owned(),
            (false, true) => self.base.to_owned(),
            (false, false) => format!("{}.{path}", self.base),
        }
    }

    /// An error that repeats the path in its words.
    pub(super) fn invalid(self, value: &Value, what: &str) -> FieldError {
        FieldError::invalid(self.full(), value, format!("{} in body {what}", self.path))
    }

    pub(super) fn wrong_type(self, wanted: &str, found: &str) -> FieldError {
        let detail = format!("{} in body must be of type {wanted}: {}", self.path, crate::go_text::quote(found));
        FieldError::type_invalid(self.full(), &Value::from(found), detail)
    }

    /// An error that the server reports for the whole object.
    pub(super) fn of_the_whole(self, detail: String) -> FieldError {
        FieldError::invalid(self.base, &Value::from(""), detail)
    }
}
