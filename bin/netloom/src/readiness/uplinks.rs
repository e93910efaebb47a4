//! What is reported of an uplink: a `VlanConfig` has no status, and a `VlanStatus` for each of its nodes tells how that
//! one is connected.
//!
//! Pure. What a `VlanStatus` says counts only for the generation of the uplink that it is reported of.

use netloom_api::hostnet::MGMT;
use serde_json::Value;

use super::{ObjectProgress, Outlook, is_true, nodes_of, part, sum_of, tells_of_failure, words};

/// The reason of a node that has what is wanted.
const APPLIED: &str = "Applied";

/// Whether an object is an uplink that nodes are assigned; those of the installer only show what is there.
pub(crate) fn is_reported(group: &str, kind: &str, object: &Value) -> bool {
    (group, kind) == ("network.harvesterhci.io", "VlanConfig") && object["spec"]["clusterNetwork"] != MGMT
}

/// What `VlanStatus`es say of an uplink.
pub(crate) fn reported(uplink: &Value, statuses: &[&Value]) -> ObjectProgress {
    let own = |what: String| (String::new(), what);
    if uplink["metadata"].get("deletionTimestamp").is_some() {
        return ObjectProgress {
            done: false,
            lines: vec![own("is being deleted".to_owned())],
            outlook: Outlook::Leaving,
        };
    }
    let Some(nodes) = nodes_of(uplink) else {
        return ObjectProgress { done: false, lines: vec![own(words(None))], outlook: Outlook::UnderWay };
    };
    let statuses: Vec<&Value> = statuses.iter().map(|status| &status["status"]).collect();
    let reports: Vec<(&String, NodeReport<'_>)> =
        nodes.iter().map(|node| (node, NodeReport::of(uplink, node, &statuses))).collect();
    let left = left_by(uplink, &nodes, &statuses);
    let connected = reports.iter().filter(|(_, reports)| reports.is_connected()).count();
    let mut lines = vec![own(match nodes.len() {
        0 => "no node is selected".to_owned(),
        nodes => format!("{connected} of {nodes} nodes are connected"),
    })];
    lines.extend(reports.iter().map(|(node, reports)| ((*node).clone(), reports.words())));
    lines.extend(left.iter().map(|(node, network, ready)| (format!("{node} in {network}"), not_rid(*ready))));
    let lost = reports.iter().filter(|(_, reports)| reports.is_lost()).count();
    // What is reported of nobody else is not in place.
    let everywhere = connected + lost == nodes.len() && (connected > 0 || nodes.is_empty()) && left.is_empty();
    // Nobody says of which generation it is that there are no nodes.
    let outlook = if everywhere && nodes.is_empty() { Outlook::Settling } else { outlook(&reports, &left) };
    ObjectProgress { done: everywhere && !nodes.is_empty(), lines, outlook }
}

/// What is reported of one node that the uplink is for.
enum NodeReport<'a> {
    /// Its condition, once there is one of this uplink as it is now.
    Ready(Option<&'a Value>),
    /// Another uplink connects the node to the same network.
    ByOther(&'a str),
}

impl<'a> NodeReport<'a> {
    fn of(uplink: &Value, node: &str, statuses: &[&'a Value]) -> Self {
        let mut all = statuses.iter().filter(|status| status["node"] == node && is_of_network(status, uplink));
        let Some(status) = all.next() else { return Self::Ready(None) };
        if !is_of(status, uplink) {
            return Self::ByOther(status["vlanConfig"].as_str().unwrap_or_default());
        }
        let current = status["observedGeneration"] == uplink["metadata"]["generation"];
        Self::Ready(sum_of(status).filter(|_| current))
    }

    fn is_connected(&self) -> bool {
        matches!(self, Self::Ready(Some(ready)) if is_true(ready) && !is_failure(ready))
    }

    /// Whether nobody knows, and nobody waits: the node gets it when it is back.
    fn is_lost(&self) -> bool {
        matches!(self, Self::Ready(Some(ready)) if super::is_lost(ready))
    }

    fn words(&self) -> String {
        match self {
            Self::Ready(ready) => words(*ready),
            Self::ByOther(other) => format!("not by this one, but connected by VlanConfig {other:?}"),
        }
    }
}

fn is_of(status: &Value, uplink: &Value) -> bool {
    status["vlanConfig"] == uplink["metadata"]["name"]
}

fn is_of_network(status: &Value, uplink: &Value) -> bool {
    status["clusterNetwork"] == uplink["spec"]["clusterNetwork"]
}

/// A node, a network, and the condition of what is left there of an uplink.
type Left<'a> = (&'a str, &'a str, Option<&'a Value>);

/// Where something is left that the uplink does not want there any more: a `VlanStatus` goes when its node has released
/// it. One that the cluster has lost is not waited for.
fn left_by<'a>(uplink: &Value, nodes: &[String], statuses: &[&'a Value]) -> Vec<Left<'a>> {
    let is_wanted =
        |status: &Value| is_of_network(status, uplink) && nodes.iter().any(|node| status["node"] == node.as_str());
    let left = statuses.iter().filter(|status| is_of(status, uplink) && !is_wanted(status));
    let left = left.map(|status| (text(status, "node"), text(status, "clusterNetwork"), sum_of(status)));
    left.filter(|(_, _, ready)| !ready.is_some_and(super::is_lost)).collect()
}

fn text<'a>(status: &'a Value, key: &str) -> &'a str {
    status[key].as_str().unwrap_or_default()
}

fn not_rid(ready: Option<&Value>) -> String {
    let why = ready.map(|ready| part(ready, "message")).filter(|why| !why.is_empty());
    format!("not removed yet: {}", why.unwrap_or("nothing is reported yet"))
}

fn outlook(reports: &[(&String, NodeReport<'_>)], left: &[Left<'_>]) -> Outlook {
    let failed = reports.iter().find_map(|(node, reports)| match reports {
        NodeReport::Ready(Some(ready)) if is_failure(ready) => Some((node.as_str(), *ready)),
        NodeReport::Ready(_) | NodeReport::ByOther(_) => None,
    });
    let stuck =
        || left.iter().find_map(|(node, _, ready)| Some((*node, ready.filter(|ready| tells_of_failure(ready))?)));
    if let Some((node, why)) = failed.or_else(stuck) {
        return Outlook::Failed(format!("{node}: {}, {}", part(why, "reason"), part(why, "message")));
    }
    let displaced = reports.iter().any(|(_, reports)| matches!(reports, NodeReport::ByOther(_)));
    if displaced { Outlook::Idle } else { Outlook::UnderWay }
}

/// What a node is at is not known to be so; what is known not to be so stays like that. A node that is connected by what the
/// uplink wanted before, because it breaks a rule now, says which.
fn is_failure(ready: &Value) -> bool {
    match ready["status"].as_str() {
        Some("True") => part(ready, "reason") != APPLIED,
        Some("False") => true,
        Some(_) | None => tells_of_failure(ready),
    }
}

#[cfg(test)]
mod tests {
    use netloom_api::hostnet::names;
    use netloom_controller_core::{NODE_LOST, ROLLOUT_STOPPED};
    use serde_json::json;

    use super::*;

    fn uplink(nodes: &str) -> Value {
        json!({
            "metadata": {"name": "up", "generation": 2, "annotations": {names::MATCHED_NODES: nodes}},
            "spec": {"clusterNetwork": "lan", "uplink": {"nics": ["eth1"]}},
        })
    }

    fn status(node: &str, network: &str, uplink: &str, ready: &str, reason: &str) -> Value {
        let condition = json!({"type": "ready", "status": ready, "reason": reason, "message": "so"});
        json!({"status": {"node": node, "clusterNetwork": network, "vlanConfig": uplink, "observedGeneration": 2,
            "conditions": [condition]}})
    }

    fn of(nodes: &str, statuses: &[Value]) -> ObjectProgress {
        reported(&uplink(nodes), &statuses.iter().collect::<Vec<_>>())
    }

    #[test]
    fn an_uplink_is_in_place_when_each_of_its_nodes_is_connected_by_it() {
        let n1 = status("n1", "lan", "up", "True", "Applied");
        let both = r#"["n1","n2"]"#;
        assert!(of(both, &[n1.clone(), status("n2", "lan", "up", "True", "Applied")]).done);
        let others = [status("n2", "wan", "up", "True", "Applied"), status("n2", "lan", "up", "Unknown", "Pending")];
        for other in others {
            let reported = of(both, &[n1.clone(), other.clone()]);
            assert_eq!((reported.done, &reported.outlook), (false, &Outlook::UnderWay), "{other}");
            assert_eq!(reported.lines[0].1, "1 of 2 nodes are connected");
            assert_eq!(reported.lines[1], ("n1".to_owned(), "ready: Applied, so".to_owned()));
        }
        let failed = of(both, &[n1, status("n2", "lan", "up", "False", "NoLink")]).outlook;
        assert_eq!(failed, Outlook::Failed("n2: NoLink, so".to_owned()));
    }

    #[test]
    fn an_uplink_is_in_place_when_nodes_that_it_left_are_rid_of_it() {
        let n1 = status("n1", "lan", "up", "True", "Applied");
        let n2 = |ready: &str, reason: &str| status("n2", "lan", "up", ready, reason);
        for other in [n2("Unknown", "Pending"), status("n1", "wan", "up", "Unknown", "Pending")] {
            let reported = of(r#"["n1"]"#, &[n1.clone(), other]);
            assert_eq!((reported.done, &reported.outlook), (false, &Outlook::UnderWay));
            assert_eq!(reported.lines[2].1, "not removed yet: so");
            assert_ne!(reported.lines[1].0, reported.lines[2].0, "both are reported");
        }
        assert_eq!(of("[]", &[n2("Unknown", "Pending")]).outlook, Outlook::UnderWay, "selecting nobody takes time too");
        assert!(of(r#"["n1"]"#, &[n1.clone(), n2("Unknown", NODE_LOST)]).done);
        assert!(of(r#"["n1"]"#, &[n1.clone(), status("n2", "lan", "other", "True", "Applied")]).done);
        let stuck = n2("Unknown", ROLLOUT_STOPPED);
        assert!(matches!(of(r#"["n1"]"#, &[n1, stuck]).outlook, Outlook::Failed(_)));
    }

    #[test]
    fn an_uplink_that_is_being_deleted_is_not_waited_for() {
        let uplink = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "generation": 2}});
        let reported = reported(&uplink, &[]);
        assert_eq!((reported.done, reported.outlook), (false, Outlook::Leaving));
    }

    #[test]
    fn a_node_that_is_lost_is_not_waited_for() {
        let both = r#"["n1","n2"]"#;
        let lost = |node: &str| status(node, "lan", "up", "Unknown", NODE_LOST);
        assert!(of(both, &[status("n1", "lan", "up", "True", "Applied"), lost("n2")]).done);
        assert!(!of(both, &[lost("n1"), lost("n2")]).done, "nobody is known to have it");
        assert!(!of(both, &[status("n1", "lan", "up", "Unknown", "Pending"), lost("n2")]).done);
    }

    #[test]
    fn a_node_that_another_uplink_connects_is_reported() {
        let reported = of(r#"["n1"]"#, &[status("n1", "lan", "older", "True", "Applied")]);
        assert_eq!((reported.done, reported.outlook), (false, Outlook::Idle));
        assert_eq!(reported.lines[1].1, r#"not by this one, but connected by VlanConfig "older""#);
    }

    #[test]
    fn a_node_that_has_what_was_wanted_before_does_not_count() {
        let reported = of(r#"["n1"]"#, &[status("n1", "lan", "up", "True", "InvalidNetwork")]);
        assert_eq!((reported.done, reported.outlook), (false, Outlook::Failed("n1: InvalidNetwork, so".to_owned())));
    }

    #[test]
    fn an_uplink_of_no_node_is_in_place_when_that_stands() {
        let reported = of("[]", &[]);
        assert!(
            !reported.done && reported.outlook == Outlook::Settling && reported.lines[0].1 == "no node is selected",
            "{reported:?}"
        );
        let mut unseen = uplink("[]");
        unseen["metadata"]["annotations"] = json!({});
        let reported = super::reported(&unseen, &[]);
        assert!(
            !reported.done && reported.lines[0].1 == "nothing is reported yet",
            "nobody has looked for its nodes: {reported:?}"
        );
    }

    #[test]
    fn what_was_reported_of_the_uplink_before_does_not_count() {
        for (ready, reason) in [("True", "Applied"), ("False", "NoLink")] {
            let mut before = status("n1", "lan", "up", ready, reason);
            before["status"]["observedGeneration"] = json!(1);
            let reported = of(r#"["n1"]"#, &[before]);
            assert_eq!((reported.done, reported.outlook), (false, Outlook::UnderWay));
            assert_eq!(reported.lines[1].1, "nothing is reported yet");
        }
    }

    #[test]
    fn the_uplinks_of_the_installer_are_not_assigned_to_nodes() {
        let of = |network: &str| {
            is_reported("network.harvesterhci.io", "VlanConfig", &json!({"spec": {"clusterNetwork": network}}))
        };
        assert!(of("lan") && !of("mgmt"));
    }
}
