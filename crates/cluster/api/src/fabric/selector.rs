//! Label selectors: their shape, whether they match, and whether two can match the same labels.
//!
//! The last question is asked of node selectors. It is answered from the selectors alone, so that
//! the answer does not depend on which nodes are there at the moment: two selectors are apart only
//! when they contradict each other on some key.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dig;

/// Picks objects by their labels; all that is specified must hold, and a selector that says nothing picks
/// everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Labels that must be there with exactly these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further conditions on single labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<Requirement>,
}

/// One condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requirement {
    /// The label that is looked at.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// How the label is compared with `values`.
    pub operator: Operator,
    /// The values to compare with: at least one for `In` and `NotIn`, none for the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// The label is there and has one of the values.
    In,
    /// The label is not there, or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
}

impl LabelSelector {
    /// Whether the labels of `object` are picked.
    pub fn matches(&self, object: &Value) -> bool {
        self.match_labels.iter().all(|(key, value)| dig::label(object, key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.holds(dig::label(object, &requirement.key)))
    }

    /// Whether these labels are picked.
    pub fn picks(&self, labels: &BTreeMap<String, String>) -> bool {
        let label = |key: &str| labels.get(key).map(String::as_str);
        self.match_labels.iter().all(|(key, value)| label(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.holds(label(&requirement.key)))
    }

    /// Whether some set of labels could be picked by both.
    pub fn meets(&self, other: &Self) -> bool {
        let mut demands: BTreeMap<&str, Demand<'_>> = BTreeMap::new();
        for selector in [self, other] {
            for (key, value) in &selector.match_labels {
                demands.entry(key).or_default().one_of([value.as_str()].into());
            }
            for requirement in &selector.match_expressions {
                demands.entry(&requirement.key).or_default().add(requirement);
            }
        }
        demands.values().all(Demand::can_hold)
    }

    /// The label pair under which the selector is found: every object that it picks carries it.
    ///
    /// `None` for a selector without an exact pair; such ones are kept under a key of their own.
    pub fn anchor(&self) -> Option<String> {
        self.match_labels.iter().next().map(|(key, value)| pair(key, value))
    }
}

/// Whether two optional node selectors can pick the same node; no selector picks every node.
pub fn nodes_meet(one: Option<&LabelSelector>, other: Option<&LabelSelector>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.meets(other),
        (one, other) => {
            let everything = LabelSelector::default();
            one.or(other).is_none_or(|selector| selector.meets(&everything))
        }
    }
}

/// A label pair as one text; `=` cannot be part of a key.
pub fn pair(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

/// All label pairs of an object.
pub fn pairs(object: &Value) -> Vec<String> {
    let labels = object.get("metadata").and_then(|meta| meta.get("labels")).and_then(Value::as_object);
    labels.into_iter().flatten().filter_map(|(key, value)| value.as_str().map(|value| pair(key, value))).collect()
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.iter().any(|one| one == value));
        match self.operator {
            Operator::In => listed(),
            Operator::NotIn => !listed(),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

/// Everything that is asked of one label.
#[derive(Default)]
struct Demand<'a> {
    present: bool,
    absent: bool,
    allowed: Option<BTreeSet<&'a str>>,
    barred: BTreeSet<&'a str>,
}

impl<'a> Demand<'a> {
    fn one_of(&mut self, values: BTreeSet<&'a str>) {
        self.present = true;
        self.allowed = Some(match self.allowed.take() {
            Some(allowed) => allowed.intersection(&values).copied().collect(),
            None => values,
        });
    }

    fn add(&mut self, requirement: &'a Requirement) {
        let values = || requirement.values.iter().map(String::as_str);
        match requirement.operator {
            Operator::In => self.one_of(values().collect()),
            Operator::NotIn => self.barred.extend(values()),
            Operator::Exists => self.present = true,
            Operator::DoesNotExist => self.absent = true,
        }
    }

    fn can_hold(&self) -> bool {
        let value_left = self.allowed.as_ref().is_none_or(|allowed| allowed.difference(&self.barred).next().is_some());
        !(self.present && self.absent) && value_left
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selector(value: Value) -> LabelSelector {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_selector_matches_as_kubernetes_says() {
        let object = json!({"metadata": {"labels": {"zone": "a", "role": "worker"}}});
        let bare = json!({"metadata": {}});
        let cases = [
            (json!({}), true, true),
            (json!({"matchLabels": {"zone": "a"}}), true, false),
            (json!({"matchLabels": {"zone": "b"}}), false, false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}), true, false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}), false, true),
            (json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}), true, false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}), false, true),
        ];
        for (given, on_object, on_bare) in cases {
            let picked = selector(given.clone());
            assert_eq!((picked.matches(&object), picked.matches(&bare)), (on_object, on_bare), "{given}");
            let labels = [("zone", "a"), ("role", "worker")].map(|(key, value)| (key.to_owned(), value.to_owned()));
            assert_eq!(picked.picks(&labels.into()), on_object, "{given}");
        }
    }

    #[test]
    fn two_selectors_are_apart_only_when_they_contradict_each_other() {
        let zone_a = json!({"matchLabels": {"zone": "a"}});
        let cases = [
            (json!({"matchLabels": {"zone": "b"}}), false),
            (json!({"matchLabels": {"role": "worker"}}), true),
            (json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}), true),
            (json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "c"]}]}), false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}), false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["b"]}]}), true),
            (json!({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}), false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}), true),
        ];
        for (other, expected) in cases {
            let (one, two) = (selector(zone_a.clone()), selector(other.clone()));
            assert_eq!(one.meets(&two), expected, "{other}");
            assert_eq!(two.meets(&one), expected, "{other}");
        }
        assert!(nodes_meet(None, Some(&selector(zone_a))));
        assert!(nodes_meet(None, None));
    }
}
