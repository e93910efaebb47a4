//! Affinity and tolerations, by the rules that Kubernetes has for pods.

use k8s_openapi::api::core::v1::{Affinity, NodeSelectorRequirement, NodeSelectorTerm, Toleration};
use netloom_schema::names;

use crate::Findings;

const REQUIRED: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// Checks the terms that select nodes, and warns of those that cannot.
pub(super) fn affinity(affinity: &Affinity, findings: &mut Findings) {
    if affinity.pod_affinity.is_some() {
        findings.warn("spec.affinity.podAffinity means nothing here: a policy selects nodes, not places for pods");
    }
    if affinity.pod_anti_affinity.is_some() {
        findings.warn("spec.affinity.podAntiAffinity means nothing here: a policy selects nodes, not places for pods");
    }
    let Some(nodes) = &affinity.node_affinity else { return };
    if nodes.preferred_during_scheduling_ignored_during_execution.as_ref().is_some_and(|terms| !terms.is_empty()) {
        findings.warn("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution means nothing here: a node is selected or it is not");
    }
    let Some(required) = &nodes.required_during_scheduling_ignored_during_execution else { return };
    if required.node_selector_terms.is_empty() {
        findings.required(REQUIRED, "at least one term must select nodes");
    }
    for (i, term) in required.node_selector_terms.iter().enumerate() {
        self::term(&format!("{REQUIRED}[{i}]"), term, findings);
    }
}

fn term(path: &str, term: &NodeSelectorTerm, findings: &mut Findings) {
    for (i, requirement) in term.match_expressions.iter().flatten().enumerate() {
        let path = format!("{path}.matchExpressions[{i}]");
        for why in names::qualified(&requirement.key) {
            findings.invalid(format!("{path}.key"), requirement.key.as_str(), why);
        }
        values(&path, requirement, findings);
    }
    for (i, requirement) in term.match_fields.iter().flatten().enumerate() {
        let path = format!("{path}.matchFields[{i}]");
        if requirement.key != "metadata.name" {
            findings.not_supported(format!("{path}.key"), requirement.key.as_str(), &["metadata.name"]);
        }
        if !["In", "NotIn"].contains(&requirement.operator.as_str()) {
            findings.not_supported(format!("{path}.operator"), requirement.operator.as_str(), &["In", "NotIn"]);
        } else if requirement.values.as_ref().is_none_or(|values| values.len() != 1) {
            findings.required(format!("{path}.values"), "must be one name");
        }
    }
}

fn values(path: &str, requirement: &NodeSelectorRequirement, findings: &mut Findings) {
    let values = requirement.values.as_deref().unwrap_or_default();
    let place = format!("{path}.values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => findings.required(place, "operators In and NotIn compare with values"),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            findings.forbidden(place, "operators Exists and DoesNotExist compare with nothing");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        "Gt" | "Lt" => match values {
            [one] if one.parse::<i64>().is_ok() => {}
            [one] => {
                findings.invalid(
                    format!("{place}[0]"),
                    one.as_str(),
                    "operators Gt and Lt compare with a whole number",
                );
            }
            _ => findings.required(place, "operators Gt and Lt compare with exactly one number"),
        },
        other => findings.not_supported(format!("{path}.operator"), other, OPERATORS),
    }
}

/// Checks tolerations.
pub(super) fn tolerations(tolerations: &[Toleration], findings: &mut Findings) {
    for (i, toleration) in tolerations.iter().enumerate() {
        self::toleration(&format!("spec.tolerations[{i}]"), toleration, findings);
    }
}

fn toleration(path: &str, toleration: &Toleration, findings: &mut Findings) {
    let key = toleration.key.as_deref().unwrap_or_default();
    let operator = toleration.operator.as_deref().filter(|word| !word.is_empty()).unwrap_or("Equal");
    let value = toleration.value.as_deref().unwrap_or_default();
    if !key.is_empty() {
        for why in names::qualified(key) {
            findings.invalid(format!("{path}.key"), key, why);
        }
    } else if operator != "Exists" {
        findings.invalid(
            format!("{path}.operator"),
            operator,
            "must be Exists when no key is given, which tolerates every taint",
        );
    }
    match operator {
        "Equal" => {
            for why in names::label_value(value) {
                findings.invalid(format!("{path}.value"), value, why);
            }
        }
        "Exists" if !value.is_empty() => {
            findings.invalid(format!("{path}.value"), value, "must be empty when the operator is Exists");
        }
        "Exists" => {}
        other => findings.not_supported(format!("{path}.operator"), other, &["Equal", "Exists"]),
    }
    match toleration.effect.as_deref().unwrap_or_default() {
        "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
        other => {
            findings.not_supported(format!("{path}.effect"), other, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
    }
    if toleration.toleration_seconds.is_some() && toleration.effect.as_deref() != Some("NoExecute") {
        findings.invalid(
            format!("{path}.effect"),
            toleration.effect.as_deref().unwrap_or_default(),
            "must be NoExecute when tolerationSeconds is set",
        );
    }
}
