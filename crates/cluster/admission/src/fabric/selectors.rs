//! Whether a selector says something that labels can fulfil.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use netloom_api::fabric::selector::{LabelSelector, Operator};

use crate::Findings;

/// Checks a selector that may be there.
pub(crate) fn check(findings: &mut Findings, path: &str, selector: Option<&LabelSelector>) {
    if let Some(selector) = selector {
        crate::selector::check(path, &plain(selector), findings);
    }
}

/// The selector in the type of the Kubernetes libraries.
fn plain(selector: &LabelSelector) -> meta::LabelSelector {
    let expressions = selector.match_expressions.iter().map(|one| meta::LabelSelectorRequirement {
        key: one.key.clone(),
        operator: word(one.operator).to_owned(),
        values: Some(one.values.clone()),
    });
    meta::LabelSelector {
        match_labels: Some(selector.match_labels.clone()),
        match_expressions: Some(expressions.collect()),
    }
}

fn word(operator: Operator) -> &'static str {
    match operator {
        Operator::In => "In",
        Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
    }
}
