//! Whether label selectors are valid.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
pub(crate) use netloom_api::selector::{label, matches};
use netloom_schema::names;

use crate::Findings;

const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist"];

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
