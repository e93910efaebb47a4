//! What an object of a cluster says about how far it is.
//!
//! Pure: an object goes in, words and a verdict come out. An object that was changed says what was true before until
//! somebody has looked at it again, so what is reported counts only for the generation that it is reported of.

pub(crate) mod uplinks;

use netloom_api::{fabric::GROUP, hostnet::names};
use netloom_compile::reason;
use netloom_controller_core::{NODE_LOST, ROLLOUT_STOPPED};
use serde_json::Value;

/// The kinds that say how far they are; of all others nothing can be waited for.
const SPEAKING: &[(&str, &str)] = &[
    ("network.harvesterhci.io", "ClusterNetwork"),
    ("network.harvesterhci.io", "HostNetworkConfig"),
    (GROUP, "VRF"),
    (GROUP, "Network"),
    (GROUP, "Destination"),
    (GROUP, "Layer2Attachment"),
    (GROUP, "Layer2NetworkConfiguration"),
    (GROUP, "VRFRouteConfiguration"),
    (GROUP, "BGPPeering"),
    ("nmstate.io", "NodeNetConfPolicy"),
    ("nmstate.io", "NodeNetworkState"),
];
/// The conditions that sum an object up.
const SUMS: [&str; 3] = ["ready", "Ready", "Available"];
/// The reason of a node that could not have a host network.
const REFUSED: &str = "ApplyFailed";
/// The reason of an object that some of its nodes do not have yet.
const PENDING: &str = "Pending";
/// The reasons of what nobody is at: it waits for something else to be made or changed, whoever does that.
const IDLE: [&str; 12] = [
    reason::NO_UPLINK,
    reason::NO_STATIC_IP,
    reason::INVALID_NETWORK,
    reason::NO_NETWORK,
    reason::UNREADABLE,
    "NotConnected",
    reason::NO_VNI,
    reason::NO_VRF,
    reason::NETWORK_NOT_FOUND,
    reason::NO_MATCHING_DESTINATION,
    reason::INTERFACE_NOT_FOUND,
    reason::NO_SEGMENT,
];

/// The reasons of an object that some node does not get as it stands: somebody has to change it, or what it is at odds with.
const SPOILED: [&str; 7] = [
    reason::INVALID_POLICY,
    reason::CONTRADICTION,
    reason::NOT_SUPPORTED,
    reason::POLICY_CONFLICT,
    reason::DUPLICATE_VRF,
    reason::CONFLICT,
    reason::TOO_LARGE,
];

/// What an object says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectProgress {
    /// Whether everything that it asks for is in place.
    pub(crate) done: bool,
    /// Who says what: first the object itself, then each node that it is about.
    pub(crate) lines: Vec<(String, String)>,
    /// What comes of it while it is not in place.
    pub(crate) outlook: Outlook,
}

/// What comes of something that is not in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// Somebody is working on it.
    UnderWay,
    /// It is for no node, as far as anybody has looked: it is in place when that stands for a while.
    Settling,
    /// It waits for something else to be made or changed.
    Idle,
    /// A node could not have it, or it is at odds with something; which, and why.
    Failed(String),
    /// It goes.
    Leaving,
}

/// Whether objects of a kind say how far they are.
pub(crate) fn speaks(group: &str, kind: &str) -> bool {
    SPEAKING.contains(&(group, kind))
}

/// What an object says.
pub(crate) fn reported(object: &Value) -> ObjectProgress {
    let status = &object["status"];
    let generation = &object["metadata"]["generation"];
    let is_current = |of: &Value| of.get("observedGeneration").is_none_or(|observed| observed == generation);
    let nodes: Vec<(&str, &Value)> =
        status["nodeStatus"].as_object().into_iter().flatten().map(|(name, node)| (name.as_str(), node)).collect();
    let reports: Vec<(&str, Option<&Value>)> =
        nodes.iter().filter(|(_, node)| is_current(node)).map(|(name, node)| (*name, sum_of(node))).collect();
    let is_reported = |node: &String| reports.iter().any(|(name, _)| name == node);
    // What sums up does not always say of what, but is written together with what is reported of nodes.
    // Of thousands of nodes not all are listed; then that of the others counts which was counted of them.
    let counted = status.get("unlisted");
    let all_reported =
        counted.map_or_else(|| nodes_of(object).is_none_or(|nodes| nodes.iter().all(is_reported)), is_current);
    let fresh = all_reported && reports.is_empty() == nodes.is_empty();
    let sum = sum_of(status).filter(|sum| fresh && is_current(status) && is_current(sum));
    let mut lines = vec![(String::new(), words(sum))];
    lines.extend(reports.iter().map(|(node, condition)| ((*node).to_owned(), words(*condition))));
    let leaves = object["metadata"].get("deletionTimestamp").is_some();
    let outlook = if leaves { Outlook::Leaving } else { outlook(sum, &reports) };
    let rid_of_the_rest = nodes.iter().all(|(_, node)| is_current(node) || sum_of(node).is_some_and(is_lost));
    let in_place = |sum: &Value| {
        is_true(sum) || (part(sum, "reason") == PENDING && counted.is_none() && is_everywhere_else(&reports))
    };
    ObjectProgress { done: !leaves && rid_of_the_rest && sum.is_some_and(in_place), lines, outlook }
}

/// Whether every node has it but those that the cluster has lost: they get it when they are back, and nobody knows when that
/// is.
fn is_everywhere_else(nodes: &[(&str, Option<&Value>)]) -> bool {
    let count = |is: fn(&Value) -> bool| nodes.iter().filter(|(_, reported)| reported.is_some_and(is)).count();
    let (has, lost) = (count(is_true), count(is_lost));
    has > 0 && lost > 0 && has + lost == nodes.len()
}

fn is_lost(condition: &Value) -> bool {
    part(condition, "reason") == NODE_LOST
}

/// The nodes that an object of host networks is for, once somebody has reported so.
fn nodes_of(object: &Value) -> Option<Vec<String>> {
    let text = object["metadata"]["annotations"].get(names::MATCHED_NODES)?.as_str()?;
    serde_json::from_str(text).ok()
}

fn is_true(condition: &Value) -> bool {
    condition["status"] == "True"
}

/// What comes of something, from what sums it up and what is reported of nodes.
fn outlook(sum: Option<&Value>, nodes: &[(&str, Option<&Value>)]) -> Outlook {
    let open = nodes.iter().filter_map(|(node, condition)| Some((*node, condition.filter(|one| !is_true(one))?)));
    let mut failed = open.clone().filter(|(_, condition)| is_failure(condition));
    if let Some((node, condition)) = failed.next() {
        return Outlook::Failed(format!("{node}: {}", part(condition, "message")));
    }
    let is_spoiled = |sum: &Value| SPOILED.contains(&part(sum, "reason")) || is_failure(sum);
    let spoiled = sum.filter(|sum| !is_true(sum) && is_spoiled(sum));
    if let Some(sum) = spoiled {
        return Outlook::Failed(part(sum, "message").to_owned());
    }
    let mut reasons = open.map(|(_, condition)| condition).chain(sum.filter(|sum| !is_true(sum)));
    let idle = reasons.any(|condition| IDLE.contains(&part(condition, "reason")));
    if idle { Outlook::Idle } else { Outlook::UnderWay }
}

/// Whether a node, or one before it, could not have something.
fn is_failure(condition: &Value) -> bool {
    part(condition, "reason") == REFUSED || tells_of_failure(condition)
}

/// Whether something was not assigned to a node because another one could not have it.
fn tells_of_failure(condition: &Value) -> bool {
    part(condition, "reason") == ROLLOUT_STOPPED
}

fn part<'a>(condition: &'a Value, key: &str) -> &'a str {
    condition[key].as_str().unwrap_or_default()
}

/// The words of what sums an object up, for whichever version of it.
pub(crate) fn message(object: &Value) -> &str {
    sum_of(&object["status"]).map(|sum| part(sum, "message")).unwrap_or_default()
}

/// The condition that sums something up.
fn sum_of(status: &Value) -> Option<&Value> {
    let conditions = status["conditions"].as_array()?;
    conditions.iter().find(|condition| SUMS.iter().any(|kind| condition["type"] == *kind))
}

fn words(condition: Option<&Value>) -> String {
    let Some(condition) = condition else { return "nothing is reported yet".to_owned() };
    let verdict = if is_true(condition) { "ready" } else { "not ready" };
    let why: Vec<&str> =
        [part(condition, "reason"), part(condition, "message")].into_iter().filter(|text| !text.is_empty()).collect();
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
    fn what_was_reported_of_an_earlier_generation_does_not_count() {
        assert!(reported(&network(2, 2, "True")).done);
        assert!(!reported(&network(2, 2, "False")).done);
        let stale = reported(&network(2, 1, "True"));
        assert!(!stale.done);
        let unspecified = [(String::new(), "nothing is reported yet".to_owned())];
        assert_eq!(stale.lines, unspecified, "neither the node nor who sums up has looked at it");
        let mut policy = json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1}});
        policy["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        assert_eq!(reported(&policy).lines, unspecified);
    }

    #[test]
    fn what_sums_up_counts_when_it_has_every_node_that_the_object_is_for() {
        let mut network = network(2, 2, "True");
        network["metadata"]["annotations"] = json!({names::MATCHED_NODES: r#"["n1","n2"]"#});
        let before = reported(&network);
        assert_eq!(
            (before.done, before.lines[0].1.as_str()),
            (false, "nothing is reported yet"),
            "n2 was just selected"
        );
        network["status"]["nodeStatus"]["n2"] = network["status"]["nodeStatus"]["n1"].clone();
        assert!(reported(&network).done);
        network["status"]["nodeStatus"]["n3"] = json!({"observedGeneration": 1});
        let after = reported(&network);
        assert_eq!((after.done, after.lines.len()), (false, 3), "n3 has not released it");
        network["status"]["nodeStatus"] = json!({});
        network["metadata"]["annotations"] = json!({names::MATCHED_NODES: "[]"});
        assert!(reported(&network).done, "it is for nobody");
    }

    #[test]
    fn a_node_that_is_lost_is_not_waited_for() {
        let lost = |observed: u32| {
            let condition = json!({"type": "ready", "status": "Unknown", "reason": NODE_LOST});
            json!({"observedGeneration": observed, "conditions": [condition]})
        };
        let mut network = network(2, 2, "False");
        network["status"]["nodeStatus"]["n2"] = lost(2);
        assert!(reported(&network).done, "n1 has it");
        let mut broken = network.clone();
        broken["status"]["conditions"][0]["reason"] = json!(reason::INVALID_NETWORK);
        network["status"]["nodeStatus"]["n3"] = lost(1);
        assert!(reported(&network).done, "n3 loses it when it is back");
        network["status"]["nodeStatus"]["n1"]["conditions"][0]["status"] = json!("False");
        assert_eq!((reported(&network).done, reported(&network).outlook), (false, Outlook::UnderWay));
        network["status"]["nodeStatus"]["n1"] = lost(2);
        assert!(!reported(&network).done, "nobody is known to have it");
        assert!(!reported(&broken).done, "what they have is not what is wanted");
    }

    #[test]
    fn each_node_has_a_line() {
        let reported = reported(&network(1, 1, "False"));
        let line = |who: &str, what: &str| (who.to_owned(), what.to_owned());
        assert_eq!(reported.lines, [line("", "not ready: Pending, 1 of 2 nodes"), line("n1", "ready")]);
    }

    #[test]
    fn an_object_that_nobody_looked_at_is_not_done() {
        let reported = reported(&json!({"metadata": {"generation": 1}}));
        let lines = vec![(String::new(), "nothing is reported yet".to_owned())];
        assert_eq!(reported, ObjectProgress { done: false, lines, outlook: Outlook::UnderWay });
        assert!(speaks("nmstate.io", "NodeNetConfPolicy") && !speaks("", "ConfigMap"));
    }

    #[test]
    fn what_a_node_could_not_have_is_reported_apart_from_what_it_is_at() {
        let outlook = |reason: &str, message: &str| {
            let mut network = network(1, 1, "False");
            network["status"]["nodeStatus"]["n1"]["conditions"] =
                json!([{"type": "ready", "status": "False", "reason": reason, "message": message}]);
            reported(&network).outlook
        };
        let failed = |why: &str| Outlook::Failed(format!("n1: {why}"));
        assert_eq!(outlook("Pending", "the node is applying the configuration"), Outlook::UnderWay);
        assert_eq!(outlook("NoOffer", "nobody answers"), Outlook::UnderWay, "the node asks again");
        assert_eq!(outlook("ApplyFailed", "no such link"), failed("no such link"));
        assert_eq!(outlook(ROLLOUT_STOPPED, "revision r failed on n0"), failed("revision r failed on n0"));
        for reason in IDLE {
            assert_eq!(outlook(reason, "something else is missing"), Outlook::Idle);
        }
        let mut stale = network(2, 1, "False");
        stale["status"]["nodeStatus"]["n1"]["conditions"][0] =
            json!({"type": "ready", "status": "False", "reason": "ApplyFailed"});
        assert_eq!(reported(&stale).outlook, Outlook::UnderWay, "it is reported for an earlier generation");
    }

    #[test]
    fn a_policy_that_is_at_odds_with_something_has_failed() {
        let policy = |observed: u32, reason: &str| {
            let ready = json!({"type": "Ready", "status": "False", "reason": reason, "message": "why",
                "observedGeneration": observed});
            reported(&json!({"metadata": {"generation": 2}, "status": {"conditions": [ready]}})).outlook
        };
        for reason in SPOILED {
            assert_eq!(policy(2, reason), Outlook::Failed("why".to_owned()));
            assert_eq!(policy(1, reason), Outlook::UnderWay, "it is reported for an earlier generation");
        }
        assert_eq!(policy(2, reason::MISSING_BASE), Outlook::UnderWay, "another policy may make it");
    }

    #[test]
    fn what_goes_is_not_in_place() {
        let mut leaving = network(1, 1, "True");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let reported = reported(&leaving);
        assert_eq!((reported.done, reported.outlook), (false, Outlook::Leaving));
    }
}
