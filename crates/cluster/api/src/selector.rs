//! What label selectors match.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::{Map, Value};

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

/// The value of a label.
pub fn label<'a>(labels: Option<&'a Map<String, Value>>, key: &str) -> Option<&'a str> {
    labels?.get(key)?.as_str()
}
