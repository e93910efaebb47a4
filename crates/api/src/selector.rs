//! Label selectors, as far as rules need them: whether one is valid, and what it matches.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use netloom_schema::names;
use serde_json::{Map, Value};

use crate::admission::Findings;

const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist"];

/// Whether the labels are those that a selector asks for; a requirement that cannot be read matches
/// nothing.
pub fn matches(selector: &LabelSelector, labels: Option<&Map<String, Value>>) -> bool {
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| label(labels, key) == Some(value));
    equal && selector.match_expressions.iter().flatten().all(|expression| holds(expression, labels))
}

fn holds(expression: &LabelSelectorRequirement, labels: Option<&Map<String, Value>>) -> bool {
    let found = label(labels, &expression.key);
    let listed = |text: &str| expression.values.iter().flatten().any(|value| value == text);
    match expression.operator.as_str() {
        "In" => found.is_some_and(listed),
        "NotIn" => !found.is_some_and(listed),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        _ => false,
    }
}

pub(crate) fn label<'a>(labels: Option<&'a Map<String, Value>>, key: &str) -> Option<&'a str> {
    labels?.get(key)?.as_str()
}

/// Checks that keys and values can be those of labels.
pub fn check_labels(path: &str, labels: &BTreeMap<String, String>, findings: &mut Findings) {
    for (key, value) in labels {
        for why in names::qualified(key) {
            findings.invalid(path, key.as_str(), why);
        }
        for why in names::label_value(value) {
            findings.invalid(format!("{path}[{key}]"), value.as_str(), why);
        }
    }
}

/// Checks a label selector.
pub fn check(path: &str, selector: &LabelSelector, findings: &mut Findings) {
    if let Some(labels) = &selector.match_labels {
        check_labels(&format!("{path}.matchLabels"), labels, findings);
    }
    for (i, expression) in selector.match_expressions.iter().flatten().enumerate() {
        check_expression(&format!("{path}.matchExpressions[{i}]"), expression, findings);
    }
}

fn check_expression(path: &str, expression: &LabelSelectorRequirement, findings: &mut Findings) {
    let values = expression.values.as_deref().unwrap_or_default();
    for why in names::qualified(&expression.key) {
        findings.invalid(format!("{path}.key"), expression.key.as_str(), why);
    }
    match expression.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            findings.required(format!("{path}.values"), "operators In and NotIn compare with values");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            findings.forbidden(format!("{path}.values"), "operators Exists and DoesNotExist compare with nothing");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => findings.not_supported(format!("{path}.operator"), other, OPERATORS),
    }
    for (i, value) in values.iter().enumerate() {
        for why in names::label_value(value) {
            findings.invalid(format!("{path}.values[{i}]"), value.as_str(), why);
        }
    }
}
