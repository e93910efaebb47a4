//! What is said of an uplink: a `VlanConfig` has no status, and a `VlanStatus` for each of its nodes tells how that one is
//! connected.
//!
//! Pure. A `VlanStatus` does not say of which generation it is, so it counts once the newest revision has the uplink as it is
//! now, and is sure once all nodes have that revision.

use netloom_api::{
    fabric::{NetworkConfigRevision, network_config_revision::RevisionPhase},
    hostnet::{MGMT, VlanConfigSpec},
};
use serde_json::Value;

use super::{Outlook, Said, is_true, nodes_of, part, sum_of, tells_of_failure, words};

/// Whether an object is an uplink that nodes are told of; those of the installer only show what is there.
pub(crate) fn is_told(group: &str, kind: &str, object: &Value) -> bool {
    (group, kind) == ("network.harvesterhci.io", "VlanConfig") && object["spec"]["clusterNetwork"] != MGMT
}

/// What `VlanStatus`es say of an uplink; without revisions, of whichever version of it.
pub(crate) fn said(uplink: &Value, statuses: &[&Value], revisions: Option<&[&Value]>) -> Said {
    let own = |what: &str| (String::new(), what.to_owned());
    let Some(nodes) = nodes_of(uplink) else { return open(own("nothing is said yet")) };
    if nodes.is_empty() {
        return Said { done: true, lines: vec![own("no node is selected")], outlook: Outlook::UnderWay };
    }
    let phase = revisions.map(|revisions| phase(uplink, revisions));
    if phase == Some(None) {
        return open(own("nothing is said yet"));
    }
    let told = |node: &String| {
        let status = statuses.iter().find(|status| is_about(status, uplink, node));
        (node.clone(), status.and_then(|status| sum_of(&status["status"])))
    };
    let told: Vec<(String, Option<&Value>)> = nodes.iter().map(told).collect();
    let connected = told.iter().filter(|(_, ready)| ready.is_some_and(is_true)).count();
    let mut lines = vec![own(&format!("{connected} of {} nodes are connected", nodes.len()))];
    lines.extend(told.iter().map(|(node, ready)| (node.clone(), words(*ready))));
    let everywhere = connected == nodes.len();
    let failed = told.iter().find_map(|(node, ready)| Some((node, ready.filter(|ready| is_failure(ready))?)));
    let outlook = match failed {
        Some((node, why)) => Outlook::Failed(format!("{node}: {}, {}", part(why, "reason"), part(why, "message"))),
        None if everywhere => Outlook::Settling,
        None => Outlook::UnderWay,
    };
    Said { done: everywhere && phase == Some(Some(RevisionPhase::Active)), lines, outlook }
}

fn open(line: (String, String)) -> Said {
    Said { done: false, lines: vec![line], outlook: Outlook::UnderWay }
}

fn is_about(status: &Value, uplink: &Value, node: &str) -> bool {
    let status = &status["status"];
    status["node"] == node
        && status["vlanConfig"] == uplink["metadata"]["name"]
        && status["clusterNetwork"] == uplink["spec"]["clusterNetwork"]
}

/// What a node is at is not known to be so; what is known not to be so stays like that.
fn is_failure(ready: &Value) -> bool {
    ready["status"] == "False" || tells_of_failure(ready)
}

/// How far the newest revision is, where it has an uplink as it is now.
fn phase(uplink: &Value, revisions: &[&Value]) -> Option<RevisionPhase> {
    let read = |one: &&Value| serde_json::from_value::<NetworkConfigRevision>((*one).clone()).ok();
    let newest = revisions.iter().filter_map(read).max_by_key(NetworkConfigRevision::sequence)?;
    let frozen = newest.spec.vlan_configs.iter().find(|one| uplink["metadata"]["name"] == *one.name.0)?;
    let spec = |spec: &Value| serde_json::from_value::<VlanConfigSpec>(spec.clone()).ok();
    newest.status?.phase.filter(|_| spec(&frozen.spec.0) == spec(&uplink["spec"]))
}

#[cfg(test)]
mod tests {
    use netloom_api::{hostnet::names, rollout::annotation};
    use serde_json::json;

    use super::*;

    fn uplink(nodes: &str, mtu: u32) -> Value {
        json!({
            "metadata": {"name": "up", "annotations": {names::MATCHED_NODES: nodes}},
            "spec": spec(mtu),
        })
    }

    fn spec(mtu: u32) -> Value {
        json!({"clusterNetwork": "lan", "uplink": {"nics": ["eth1"], "linkAttributes": {"mtu": mtu}}})
    }

    fn status(node: &str, network: &str, uplink: &str, ready: &str, reason: &str) -> Value {
        let condition = json!({"type": "ready", "status": ready, "reason": reason, "message": "so"});
        json!({"status": {"node": node, "clusterNetwork": network, "vlanConfig": uplink, "conditions": [condition]}})
    }

    fn revision(sequence: u8, mtu: u32, status: &Value) -> Value {
        json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NetworkConfigRevision",
            "metadata": {"name": "r", "annotations": {annotation::SEQUENCE: sequence.to_string()}},
            "spec": {"revision": "a".repeat(64), "vlanConfigs": [{"name": "up", "spec": spec(mtu)}]},
            "status": status,
        })
    }

    fn of(nodes: &str, statuses: &[Value]) -> Said {
        let active = revision(1, 1500, &json!({"phase": "Active"}));
        said(&uplink(nodes, 1500), &statuses.iter().collect::<Vec<_>>(), Some(&[&active]))
    }

    #[test]
    fn an_uplink_is_in_place_when_each_of_its_nodes_is_connected_by_it() {
        let n1 = status("n1", "lan", "up", "True", "Applied");
        let both = r#"["n1","n2"]"#;
        assert!(of(both, &[n1.clone(), status("n2", "lan", "up", "True", "Applied")]).done);
        let others = [
            status("n2", "wan", "up", "True", "Applied"),
            status("n2", "lan", "other", "True", "Applied"),
            status("n2", "lan", "up", "Unknown", "Pending"),
        ];
        for other in others {
            let said = of(both, &[n1.clone(), other.clone()]);
            assert_eq!((said.done, &said.outlook), (false, &Outlook::UnderWay), "{other}");
            assert_eq!(said.lines[0].1, "1 of 2 nodes are connected");
            assert_eq!(said.lines[1], ("n1".to_owned(), "ready: Applied, so".to_owned()));
        }
        let failed = of(both, &[n1, status("n2", "lan", "up", "False", "NoLink")]).outlook;
        assert_eq!(failed, Outlook::Failed("n2: NoLink, so".to_owned()));
    }

    #[test]
    fn an_uplink_of_no_node_is_in_place() {
        let said = of("[]", &[]);
        assert!(said.done && said.lines[0].1 == "no node is selected", "{said:?}");
        assert!(!said_of_nobody().done, "nobody has looked for its nodes");
    }

    fn said_of_nobody() -> Said {
        said(&json!({"metadata": {"name": "up"}, "spec": spec(1500)}), &[], None)
    }

    #[test]
    fn what_is_said_counts_once_the_newest_revision_has_the_uplink_as_it_is() {
        let ready = status("n1", "lan", "up", "True", "Applied");
        let said = |revisions: Option<&[&Value]>| {
            let said = said(&uplink(r#"["n1"]"#, 9000), &[&ready], revisions);
            (said.done, said.outlook, said.lines.len() > 1)
        };
        let new = |status: &Value| revision(2, 9000, status);
        let (old, unsaid) = (revision(1, 1500, &json!({"phase": "Active"})), new(&json!({})));
        let (rolling, active) = (new(&json!({"phase": "Rolling"})), new(&json!({"phase": "Active"})));
        for before in [&[][..], &[&old], &[&old, &unsaid]] {
            assert_eq!(said(Some(before)), (false, Outlook::UnderWay, false));
        }
        assert_eq!(said(Some(&[&rolling, &old])), (false, Outlook::Settling, true));
        assert_eq!(said(None), (false, Outlook::Settling, true), "revisions may not be read");
        assert_eq!(said(Some(&[&active, &old])), (true, Outlook::Settling, true));
    }

    #[test]
    fn the_uplinks_of_the_installer_are_not_told_to_nodes() {
        let of = |network: &str| {
            is_told("network.harvesterhci.io", "VlanConfig", &json!({"spec": {"clusterNetwork": network}}))
        };
        assert!(of("lan") && !of("mgmt"));
    }
}
