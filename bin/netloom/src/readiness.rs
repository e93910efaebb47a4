//! What an object of a cluster says about how far it is.
//!
//! Pure: an object goes in, words and a verdict come out. An object that was changed says what was true before until
//! somebody has looked at it again, so what is said counts only for the generation that it is said of.

use serde_json::Value;

/// The kinds that say how far they are; of all others nothing can be waited for.
const SPEAKING: &[(&str, &str)] = &[
    ("network.harvesterhci.io", "ClusterNetwork"),
    ("network.harvesterhci.io", "HostNetworkConfig"),
    ("nmstate.io", "NodeNetConfPolicy"),
    ("nmstate.io", "NodeNetworkState"),
];
/// The conditions that sum an object up.
const SUMS: [&str; 3] = ["ready", "Ready", "Available"];

/// What an object says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// Whether everything that it asks for is in place.
    pub(crate) done: bool,
    /// Who says what: first the object itself, then each node that it is about.
    pub(crate) lines: Vec<(String, String)>,
}

/// Whether objects of a kind say how far they are.
pub(crate) fn speaks(group: &str, kind: &str) -> bool {
    SPEAKING.contains(&(group, kind))
}

/// What an object says.
pub(crate) fn said(object: &Value) -> Said {
    let status = &object["status"];
    let generation = &object["metadata"]["generation"];
    let is_current = |of: &Value| of.get("observedGeneration").is_none_or(|observed| observed == generation);
    let sum = sum_of(status);
    let nodes: Vec<(&String, &Value)> = status["nodeStatus"].as_object().into_iter().flatten().collect();
    let current = is_current(status) && sum.is_some_and(is_current) && nodes.iter().all(|(_, node)| is_current(node));
    let mut lines = vec![(String::new(), words(sum))];
    for (node, told) in nodes.into_iter().filter(|(_, node)| is_current(node)) {
        lines.push((node.clone(), words(sum_of(told))));
    }
    Said { done: current && sum.is_some_and(|sum| sum["status"] == "True"), lines }
}

/// The condition that sums something up.
fn sum_of(status: &Value) -> Option<&Value> {
    let conditions = status["conditions"].as_array()?;
    conditions.iter().find(|condition| SUMS.iter().any(|kind| condition["type"] == *kind))
}

fn words(condition: Option<&Value>) -> String {
    let Some(condition) = condition else { return "nothing is said yet".to_owned() };
    let part = |key: &str| condition[key].as_str().unwrap_or_default();
    let verdict = if part("status") == "True" { "ready" } else { "not ready" };
    let why: Vec<&str> = [part("reason"), part("message")].into_iter().filter(|text| !text.is_empty()).collect();
    if why.is_empty() { verdict.to_owned() } else { format!("{verdict}: {}", why.join(", ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn network(generation: u32, observed: u32, ready: &str) -> Value {
        json!({
            "metadata": {"generation": generation},
            "status": {
                "conditions": [{"type": "ready", "status": ready, "reason": "Pending", "message": "1 of 2 nodes"}],
                "nodeStatus": {
                    "n1": {"observedGeneration": observed, "conditions": [{"type": "ready", "status": "True"}]},
                },
            },
        })
    }

    #[test]
    fn what_was_said_of_an_earlier_generation_does_not_count() {
        assert!(said(&network(2, 2, "True")).done);
        assert!(!said(&network(2, 2, "False")).done);
        let stale = said(&network(2, 1, "True"));
        assert!(!stale.done);
        assert_eq!(stale.lines.len(), 1, "the node has not looked at it");
    }

    #[test]
    fn each_node_has_a_line() {
        let said = said(&network(1, 1, "False"));
        let line = |who: &str, what: &str| (who.to_owned(), what.to_owned());
        assert_eq!(said.lines, [line("", "not ready: Pending, 1 of 2 nodes"), line("n1", "ready")]);
    }

    #[test]
    fn an_object_that_nobody_looked_at_is_not_done() {
        let said = said(&json!({"metadata": {"generation": 1}}));
        assert_eq!(said, Said { done: false, lines: vec![(String::new(), "nothing is said yet".to_owned())] });
        assert!(speaks("nmstate.io", "NodeNetConfPolicy") && !speaks("", "ConfigMap"));
    }
}
