//! The `scale` subresource: where a kind keeps its numbers.

use serde_json::Value;

use super::text;
use crate::field_error::FieldError;

/// Paths of the numbers of `scale`, each with the dot that it starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// How many there should be.
    pub spec_replicas: String,
    /// How many there are.
    pub status_replicas: String,
    /// Which selector finds them, if the kind tells.
    pub label_selector: Option<String>,
}

impl ScalePaths {
    pub(super) fn read(json: &Value) -> Option<Self> {
        json.as_object()?;
        Some(Self {
            spec_replicas: text(json, "specReplicasPath").to_owned(),
            status_replicas: text(json, "statusReplicasPath").to_owned(),
            label_selector: Some(text(json, "labelSelectorPath")).filter(|p| !p.is_empty()).map(str::to_owned),
        })
    }

    /// The value at one of the paths.
    pub fn value<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
        path.trim_start_matches('.').split('.').try_fold(object, |value, name| value.get(name))
    }
}

/// What is wrong with the paths of a definition.
pub(super) fn check_paths(scale: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, under) in [("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")] {
        let (at, given) = (format!("{path}.scale.{name}"), text(scale, name));
        if given.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if let Some(error) = simple_path_error(given, &at) {
            errors.push(error);
        } else if !given.starts_with(under) {
            let why = format!("should be a json path under {}", under.trim_end_matches('.'));
            errors.push(FieldError::invalid_text(at, given, why));
        }
    }
    let (at, given) = (format!("{path}.scale.labelSelectorPath"), text(scale, "labelSelectorPath"));
    if !given.is_empty() {
        if let Some(error) = simple_path_error(given, &at) {
            errors.push(error);
        } else if !given.starts_with(".spec.") && !given.starts_with(".status.") {
            errors.push(FieldError::invalid_text(at, given, "should be a json path under either .spec or .status"));
        }
    }
    errors
}

pub(super) fn simple_path_error(given: &str, at: &str) -> Option<FieldError> {
    (!given.starts_with('.')).then(|| FieldError::invalid_text(at, given, "must be a simple json path starting with ."))
}

/// Checks the numbers of an object whose kind has a `scale` subresource.
pub fn check_scale(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for path in [&paths.spec_replicas, &paths.status_replicas] {
        let Some(value) = ScalePaths::value(object, path) else { continue };
        match value.as_i64() {
            None => errors.push(FieldError::invalid(
                path.as_str(),
                &Value::from(0),
                format!(
                    "{path} accessor error: {} is of the type {}, expected int64",
                    crate::go_text::plain(value),
                    go_type(value)
                ),
            )),
            Some(count) if count < 0 => {
                errors.push(FieldError::invalid(path.as_str(), value, "should be a non-negative integer"));
            }
            Some(count) if count > i64::from(i32::MAX) => {
                let why = format!("should be less than or equal to {}", i32::MAX);
                errors.push(FieldError::invalid(path.as_str(), value, why));
            }
            Some(_) => {}
        }
    }
    if let Some(path) = &paths.label_selector
        && let Some(value) = ScalePaths::value(object, path).filter(|v| !v.is_string())
    {
        let why = format!(
            "{path} accessor error: {} is of the type {}, expected string",
            crate::go_text::plain(value),
            go_type(value)
        );
        errors.push(FieldError::invalid_text(path.as_str(), "", why));
    }
    errors
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
