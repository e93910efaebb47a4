//! One thing that is wrong with one field, in the words that Kubernetes uses for it.
//!
//! Clients show these texts to people and tests compare them, so the text of a [`FieldError`] is part
//! of the interface. The value is kept as the text that will be printed: an error must not keep a
//! whole object alive.

use std::fmt;

use serde_json::Value;

use crate::go_text;

/// Which kind of wrong a [`FieldError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// A thing that is named does not exist.
    NotFound,
    /// A field that must be there is not.
    Required,
    /// A value that must be unique is there twice.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value is none of those that are known.
    NotSupported,
    /// The value may not be set, or may not change.
    Forbidden,
    /// A text has too many characters.
    TooLong,
    /// A text has too few characters.
    TooShort,
    /// A list or map has too many entries.
    TooMany,
    /// A list or map has too few entries.
    TooFew,
    /// The value is not of the type of the field.
    TypeInvalid,
    /// The value breaks a rule whose words are fixed: nothing is put before them.
    Worded,
    /// The server, not the caller, is at fault.
    Internal,
}

impl Cause {
    /// The stable name that a `Status` carries in `details.causes[].reason`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid | Self::Worded => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    /// The words that the message starts with.
    fn title(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Worded => "",
            Self::Internal => "Internal error",
        }
    }

    /// Whether the message never shows the value.
    fn hides_value(self) -> bool {
        match self {
            Self::Required | Self::Forbidden | Self::TooLong | Self::TooShort | Self::Worded | Self::Internal => true,
            Self::NotFound
            | Self::Duplicate
            | Self::Invalid
            | Self::NotSupported
            | Self::TooMany
            | Self::TooFew
            | Self::TypeInvalid => false,
        }
    }
}

/// One wrong field. `Display` is the whole line: `spec.size: Invalid value: 5: must be even`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldError {
    /// Where: `spec.ports[0].name`, or `<nil>` for the object itself.
    pub path: String,
    /// What kind of wrong.
    pub cause: Cause,
    /// The value as it is printed, quotes included; `None` where the kind shows none.
    pub value: Option<String>,
    /// Why, in words; may be empty.
    pub detail: String,
}

impl FieldError {
    fn new(path: impl Into<String>, cause: Cause, value: Option<String>, detail: impl Into<String>) -> Self {
        let path = path.into();
        let path = if path.is_empty() { "<nil>".to_owned() } else { path };
        Self { path, cause, value: value.filter(|_| !cause.hides_value()), detail: detail.into() }
    }

    /// The value breaks a rule.
    pub fn invalid(path: impl Into<String>, value: &Value, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Invalid, Some(go_text::bad_value(value)), detail)
    }

    /// The value breaks a rule, in these words and no others.
    pub fn worded(path: impl Into<String>, words: impl Into<String>) -> Self {
        Self::new(path, Cause::Worded, None, words)
    }

    /// The text breaks a rule.
    pub fn invalid_text(path: impl Into<String>, value: &str, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Invalid, Some(go_text::quote(value)), detail)
    }

    /// The value has the wrong type.
    pub fn type_invalid(path: impl Into<String>, value: &Value, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::TypeInvalid, Some(go_text::bad_value(value)), detail)
    }

    /// The field must be there.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Required, None, detail)
    }

    /// The field may not be set, or may not change.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Forbidden, None, detail)
    }

    /// The value must be unique and is not.
    pub fn duplicate(path: impl Into<String>, value: &Value) -> Self {
        Self::new(path, Cause::Duplicate, Some(go_text::bad_value(value)), "")
    }

    /// The thing that the value names does not exist.
    pub fn not_found(path: impl Into<String>, value: &Value) -> Self {
        Self::new(path, Cause::NotFound, Some(go_text::bad_value(value)), "")
    }

    /// The value is none of `supported`.
    pub fn not_supported<S: AsRef<str>>(path: impl Into<String>, value: &Value, supported: &[S]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|s| go_text::quote(s.as_ref())).collect();
        let detail = if quoted.is_empty() { String::new() } else { format!("supported values: {}", quoted.join(", ")) };
        Self::new(path, Cause::NotSupported, Some(go_text::bad_value(value)), detail)
    }

    /// The text has more than `most` bytes.
    pub fn too_long(path: impl Into<String>, most: usize) -> Self {
        let unit = if most == 1 { "byte" } else { "bytes" };
        Self::new(path, Cause::TooLong, None, format!("may not be more than {most} {unit}"))
    }

    /// The list or map has `found` entries, more than `most`.
    pub fn too_many(path: impl Into<String>, found: usize, most: usize) -> Self {
        let unit = if most == 1 { "item" } else { "items" };
        Self::new(path, Cause::TooMany, Some(found.to_string()), format!("must have at most {most} {unit}"))
    }

    /// The server is at fault.
    pub fn internal(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Internal, None, detail)
    }

    /// The same error with another cause, for rules that choose theirs.
    #[must_use]
    pub fn with_cause(mut self, cause: Cause) -> Self {
        self.cause = cause;
        if cause.hides_value() {
            self.value = None;
        }
        self
    }

    /// The message without the path, as `details.causes[].message` has it.
    pub fn body(&self) -> String {
        if self.cause == Cause::Worded {
            return self.detail.clone();
        }
        let mut text = self.cause.title().to_owned();
        if let Some(value) = &self.value {
            text.push_str(": ");
            text.push_str(value);
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

impl std::error::Error for FieldError {}

/// Joins errors the way a `Status` message does: one plain, several in brackets.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut seen: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    match seen.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_those_of_kubernetes() {
        let table = [
            (FieldError::invalid("spec.x", &json!(5), "must be even"), "spec.x: Invalid value: 5: must be even"),
            (FieldError::invalid("spec.x", &json!("a\"b"), ""), r#"spec.x: Invalid value: "a\"b""#),
            (
                FieldError::invalid("spec.x", &json!({"b": 1, "a": "<"}), ""),
                r#"spec.x: Invalid value: {"a":"\u003c","b":1}"#,
            ),
            (FieldError::required("spec.x", ""), "spec.x: Required value"),
            (FieldError::required("spec.x", "why"), "spec.x: Required value: why"),
            (FieldError::forbidden("spec.x", "no"), "spec.x: Forbidden: no"),
            (FieldError::duplicate("spec.x[1]", &json!("a")), r#"spec.x[1]: Duplicate value: "a""#),
            (
                FieldError::not_supported("spec.x", &json!("c"), &["a", "b"]),
                r#"spec.x: Unsupported value: "c": supported values: "a", "b""#,
            ),
            (FieldError::too_long("spec.x", 5), "spec.x: Too long: may not be more than 5 bytes"),
            (FieldError::too_many("spec.x", 3, 1), "spec.x: Too many: 3: must have at most 1 item"),
            (FieldError::invalid("", &json!(""), "d"), r#"<nil>: Invalid value: "": d"#),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn one_error_stands_alone_and_repeats_are_given_once() {
        let error = FieldError::required("a", "");
        assert_eq!(aggregate(&[error.clone(), error.clone()]), "a: Required value");
        assert_eq!(aggregate(&[error, FieldError::required("b", "")]), "[a: Required value, b: Required value]");
    }
}
