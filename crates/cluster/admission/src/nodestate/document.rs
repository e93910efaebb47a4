//! What admission finds in the nmstate document inside an object.

use netloom_api::nodestate::StateDocument;
use netloom_nmstate::errors::{Refusal, reason};
use netloom_schema::{Cause, FieldError};
use serde_json::{Value, json};

use crate::Findings;

/// The document of a policy: an interface without a name, or called `*`, stands for each interface
/// that a rule matches.
pub(super) fn check_with_templates(document: &StateDocument, path: &str, findings: &mut Findings) {
    let mut document = document.0.clone();
    if let Some(Value::Array(interfaces)) = document.get_mut("interfaces") {
        for interface in interfaces.iter_mut().filter_map(Value::as_object_mut) {
            if interface.get("name").is_none_or(|name| name == "") {
                interface.insert("name".to_owned(), json!("*"));
            }
        }
    }
    check(&document, path, findings);
}

/// Reports everything that the parser refuses, below `path`.
pub(super) fn check(document: &Value, path: &str, findings: &mut Findings) {
    let Err(error) = netloom_nmstate::parse(path, document.to_string().as_bytes()) else { return };
    for refusal in error.refusals() {
        findings.refuse(field_error(document, path, refusal));
    }
}

fn field_error(document: &Value, prefix: &str, refusal: &Refusal) -> FieldError {
    let path = if refusal.path.is_empty() { prefix.to_owned() } else { format!("{prefix}.{}", refusal.path) };
    match refusal.reason {
        reason::MISSING_KEY => FieldError::required(path, &refusal.message),
        reason::UNKNOWN_KEY | reason::NOT_SUPPORTED => FieldError::forbidden(path, &refusal.message),
        other => {
            let cause = if other == reason::DUPLICATE { Cause::Duplicate } else { Cause::Invalid };
            // A whole block in a message hides what the message says.
            match at(document, &refusal.path).filter(|value| !value.is_object() && !value.is_array()) {
                Some(value) => FieldError::invalid(path, value, &refusal.message).with_cause(cause),
                None => FieldError { path, cause, value: None, detail: refusal.message.clone() },
            }
        }
    }
}

/// The value at a path such as `interfaces[3].vlan.id`.
fn at<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|part| !part.is_empty()).try_fold(document, |value, part| {
        let (name, indexes) = part.split_once('[').unwrap_or((part, ""));
        let value = if name.is_empty() { value } else { value.get(name)? };
        indexes
            .split('[')
            .filter(|index| !index.is_empty())
            .try_fold(value, |value, index| value.get(index.strip_suffix(']')?.parse::<usize>().ok()?))
    })
}
