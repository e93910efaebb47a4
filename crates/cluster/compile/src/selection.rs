//! Which nodes a policy is for: affinity and tolerations, by the rules that Kubernetes has for pods.
//!
//! Taints that the cluster puts on a node by itself when the node is in trouble, and those of a
//! cordon, are tolerated by every policy, as by the pods of a `DaemonSet`: a node that is cut off
//! for a minute must not lose its network for it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Affinity, NodeSelectorRequirement, NodeSelectorTerm, Toleration};

use crate::objects::{Node, Taint};

/// What every policy tolerates, as key and effect.
const ALWAYS: &[(&str, &str)] = &[
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/network-unavailable", "NoSchedule"),
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/not-ready", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// What a policy says about nodes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// At least one must hold; none means every node.
    required: Option<Vec<NodeSelectorTerm>>,
    tolerations: Vec<Toleration>,
}

impl Terms {
    pub(crate) fn new(affinity: Option<&Affinity>, tolerations: &[Toleration]) -> Self {
        let nodes = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
        let required = nodes.and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.clone());
        Self { required: required.map(|terms| terms.node_selector_terms), tolerations: tolerations.to_vec() }
    }

    /// Whether the policy is for the node.
    pub(crate) fn select(&self, node: &Node) -> bool {
        let chosen = self.required.as_ref().is_none_or(|terms| terms.iter().any(|term| holds(term, node)));
        chosen && node.taints.iter().filter(|taint| repels(taint)).all(|taint| self.tolerate(taint))
    }

    fn tolerate(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| tolerates(toleration, taint))
    }

    /// The labels that decide.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        let terms = self.required.iter().flatten();
        terms.flat_map(|term| term.match_expressions.iter().flatten()).map(|requirement| requirement.key.as_str())
    }

    /// Whether the name of a node decides.
    pub(crate) fn by_name(&self) -> bool {
        self.required.iter().flatten().any(|term| term.match_fields.as_ref().is_some_and(|fields| !fields.is_empty()))
    }
}

/// Everything of a node that some policies can tell apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Signature {
    labels: Vec<Option<String>>,
    taints: Vec<Taint>,
    name: Option<String>,
}

impl Signature {
    /// What policies that look at these labels, and perhaps at names, see of a node.
    pub(crate) fn of(node: &Node, labels: &BTreeSet<String>, by_name: bool) -> Self {
        Self {
            labels: labels.iter().map(|key| node.labels.get(key).cloned()).collect(),
            taints: node.taints.iter().filter(|taint| repels(taint)).cloned().collect(),
            name: by_name.then(|| node.name().to_owned()),
        }
    }
}

/// Whether a taint keeps away a policy that does not tolerate it.
fn repels(taint: &Taint) -> bool {
    let hard = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    hard && !ALWAYS.iter().any(|(key, effect)| taint.key == *key && taint.effect == *effect)
}

/// A term that asks for nothing selects nothing, as for pods.
fn holds(term: &NodeSelectorTerm, node: &Node) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let by_label = |one: &NodeSelectorRequirement| meets(one, node.labels.get(&one.key).map(String::as_str));
    let by_field = |one: &NodeSelectorRequirement| meets(one, (one.key == "metadata.name").then_some(node.name()));
    !(expressions.is_empty() && fields.is_empty()) && expressions.iter().all(by_label) && fields.iter().all(by_field)
}

fn meets(requirement: &NodeSelectorRequirement, found: Option<&str>) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    let listed = |text: &str| values.iter().any(|value| value == text);
    let numbers = || Some((found?.parse::<i64>().ok()?, values.first()?.parse::<i64>().ok()?));
    match requirement.operator.as_str() {
        "In" => found.is_some_and(listed),
        "NotIn" => !found.is_some_and(listed),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => numbers().is_some_and(|(found, wanted)| found > wanted),
        "Lt" => numbers().is_some_and(|(found, wanted)| found < wanted),
        _ => false,
    }
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = toleration.key.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let same_effect = effect.is_empty() || effect == taint.effect;
    let same_key = key.is_empty() || key == taint.key;
    let same_value = match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => !key.is_empty() && toleration.value.as_deref().unwrap_or_default() == taint.value,
        "Exists" => true,
        _ => false,
    };
    same_effect && same_key && same_value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        key::{Meta, ObjectKey},
        snapshot::plain,
    };

    fn node(labels: &[(&str, &str)], taints: &[(&str, &str, &str)]) -> Node {
        let own = |text: &str| text.to_owned();
        Node {
            meta: Meta { key: ObjectKey::global("n1"), ..Meta::default() },
            labels: labels.iter().map(|(key, value)| (own(key), own(value))).collect(),
            taints: taints
                .iter()
                .map(|(key, value, effect)| Taint { key: own(key), value: own(value), effect: own(effect) })
                .collect(),
            ready: true,
            lost: false,
        }
    }

    fn terms(terms: &serde_json::Value, tolerations: &serde_json::Value) -> Terms {
        let affinity: Affinity = plain(&json!({
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
        }))
        .unwrap();
        Terms::new(Some(&affinity), &plain::<Vec<Toleration>>(tolerations).unwrap())
    }

    #[test]
    fn terms_are_alternatives_and_their_parts_all_hold() {
        let it = node(&[("zone", "a"), ("slots", "12")], &[]);
        let table = [
            (json!([]), false, "no term"),
            (json!([{}]), false, "a term that asks for nothing"),
            (json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}]), true, "in"),
            (json!([{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}]), false, "not in"),
            (
                json!([{"matchExpressions": [{"key": "rack", "operator": "NotIn", "values": ["a"]}]}]),
                true,
                "not there is not in",
            ),
            (
                json!([{"matchExpressions": [{"key": "zone", "operator": "Exists"}, {"key": "rack", "operator": "DoesNotExist"}]}]),
                true,
                "both",
            ),
            (
                json!([{"matchExpressions": [{"key": "zone", "operator": "Exists"}, {"key": "rack", "operator": "Exists"}]}]),
                false,
                "one of both",
            ),
            (
                json!([{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]),
                true,
                "the second term",
            ),
            (
                json!([{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}]),
                false,
                "by name",
            ),
            (json!([{"matchExpressions": [{"key": "slots", "operator": "Gt", "values": ["9"]}]}]), true, "as numbers"),
            (json!([{"matchExpressions": [{"key": "slots", "operator": "Lt", "values": ["9"]}]}]), false, "as numbers"),
            (json!([{"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["9"]}]}]), false, "no number"),
            (
                json!([{"matchExpressions": [{"key": "zone", "operator": "Like", "values": ["a"]}]}]),
                false,
                "no operator",
            ),
        ];
        for (asked, selected, why) in table {
            assert_eq!(terms(&asked, &json!([])).select(&it), selected, "{why}: {asked}");
        }
        assert!(Terms::default().select(&it), "no affinity is for every node");
    }

    #[test]
    fn taints_keep_away_what_does_not_tolerate_them() {
        let all = json!([{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]);
        let tainted = node(&[("zone", "a")], &[("role", "storage", "NoSchedule")]);
        let table = [
            (json!([]), false),
            (json!([{"key": "role", "operator": "Exists"}]), true),
            (json!([{"key": "role", "value": "storage"}]), true),
            (json!([{"key": "role", "value": "compute"}]), false),
            (json!([{"operator": "Exists"}]), true),
            (json!([{"value": "storage"}]), false),
            (json!([{"key": "role", "operator": "Exists", "effect": "NoExecute"}]), false),
            (json!([{"key": "role", "operator": "Exists", "effect": "NoSchedule"}]), true),
        ];
        for (tolerations, selected) in table {
            assert_eq!(terms(&all, &tolerations).select(&tainted), selected, "{tolerations}");
        }
        let soft = node(&[("zone", "a")], &[("role", "storage", "PreferNoSchedule")]);
        assert!(terms(&all, &json!([])).select(&soft));
    }

    #[test]
    fn a_node_in_trouble_keeps_its_network() {
        let lost = node(
            &[],
            &[
                ("node.kubernetes.io/unreachable", "", "NoExecute"),
                ("node.kubernetes.io/unschedulable", "", "NoSchedule"),
            ],
        );
        assert!(Terms::default().select(&lost));
        let (well, labels) = (node(&[], &[]), BTreeSet::new());
        assert_eq!(Signature::of(&lost, &labels, false), Signature::of(&well, &labels, false));
    }
}
