//! What is reported about host networks, and when.

use jiff::SignedDuration;
use netloom_api::GroupKind;
use serde_json::{Value, json};

use crate::model::Rig;

const HOST_NETWORK: GroupKind<'static> = GroupKind::new("network.harvesterhci.io", "HostNetworkConfig");
const UPLINK: GroupKind<'static> = GroupKind::new("network.harvesterhci.io", "VlanConfig");
const NODE: GroupKind<'static> = GroupKind::new("", "Node");
const MATCHED: &str = "network.harvesterhci.io/matched-nodes";

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "network.harvesterhci.io/v1beta1", "kind": kind,
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec,
    })
}

/// Three nodes, all connected to one cluster network.
pub(super) fn connected() -> Rig {
    let mut rig = Rig::new(3);
    rig.write(object("ClusterNetwork", "cn1", &json!({})));
    rig.write(object("VlanConfig", "u", &json!({"clusterNetwork": "cn1", "uplink": {"nics": ["eth1"]}})));
    rig
}

pub(super) fn host_network(rig: &mut Rig, mode: &str, ips: &Value) {
    let mut spec = json!({"clusterNetwork": "cn1", "vlanID": 20, "mode": mode});
    if !ips.is_null() {
        spec["ips"] = ips.clone();
    }
    edit(rig, "HostNetworkConfig", "h", |object| object["spec"] = spec.clone());
}

/// Changes an object, or makes it.
pub(super) fn edit(rig: &mut Rig, kind: &str, name: &str, change: impl Fn(&mut Value)) {
    let mut known = rig.api.get(kind, name).cloned().unwrap_or_else(|| object(kind, name, &json!({})));
    change(&mut known);
    rig.write(known);
}

/// What a person's deletion does while somebody holds the object.
fn delete_host_network(rig: &mut Rig) {
    edit(rig, "HostNetworkConfig", "h", |object| {
        object["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    });
}

pub(super) fn addresses() -> Value {
    json!({"n0": "192.0.2.10/24", "n1": "192.0.2.11/24", "n2": "192.0.2.12/24"})
}

pub(super) fn ready<'a>(rig: &'a Rig, kind: &str, name: &str) -> (&'a str, &'a str) {
    let condition = &rig.api.get(kind, name).unwrap()["status"]["conditions"][0];
    (condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap())
}

pub(super) fn entry<'a>(rig: &'a Rig, node: &str) -> &'a Value {
    &rig.api.get("HostNetworkConfig", "h").unwrap()["status"]["nodeStatus"][node]
}

fn writes(rig: &Rig, kind: &str) -> usize {
    rig.api.writes.iter().filter(|write| write.1 == kind).count()
}

#[test]
fn what_policies_want_is_not_written_again_for_another_address() {
    let mut rig = connected();
    rig.policy("jumbo", 9000);
    host_network(&mut rig, "static", &addresses());
    rig.run();
    rig.api.writes.clear();
    let mut moved = addresses();
    moved["n1"] = json!("192.0.2.99/24");
    host_network(&mut rig, "static", &moved);
    rig.run();
    assert_eq!(entry(&rig, "n1")["addresses"], json!(["192.0.2.99/24"]));
    let written: Vec<_> = rig.api.writes.iter().filter(|write| write.0 != "status" && write.1 != "Event").collect();
    let expected = [("create", "NetworkConfigRevision"), ("apply", "NodeNetworkConfig")];
    assert_eq!(written.iter().map(|write| (write.0, write.1.as_str())).collect::<Vec<_>>(), expected, "{written:?}");
    // Another desired state of policies is.
    rig.policy("jumbo", 8000);
    rig.run();
    assert_eq!(rig.mtus(), [Some(8000); 3]);
}

#[test]
fn fixed_addresses_are_assigned_once_all_nodes_have_them() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"));
    let assigned = entry(&rig, "n1");
    assert_eq!((&assigned["interface"], &assigned["addresses"]), (&json!("cn1-br.20"), &json!(["192.0.2.11/24"])));
    assert_eq!(
        (&assigned["clusterNetwork"], &assigned["vlanID"], &assigned["mode"]),
        (&json!("cn1"), &json!(20), &json!("static"))
    );
    assert_eq!(
        assigned["observedGeneration"],
        rig.api.get("HostNetworkConfig", "h").unwrap()["metadata"]["generation"]
    );
    assert_eq!(
        rig.api.get("HostNetworkConfig", "h").unwrap()["metadata"]["annotations"][MATCHED],
        r#"["n0","n1","n2"]"#
    );
    let before = rig.api.writes.len();
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes.len(), before, "a restart repeats nothing");
}

#[test]
fn one_changed_address_is_one_node() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    rig.api.writes.clear();
    let mut ips = addresses();
    ips["n1"] = json!("192.0.2.99/24");
    host_network(&mut rig, "static", &ips);
    rig.run();
    assert_eq!(entry(&rig, "n1")["addresses"], json!(["192.0.2.99/24"]));
    let assigned: Vec<&str> =
        rig.api.writes.iter().filter(|write| write.1 == "NodeNetworkConfig").map(|write| write.2.as_str()).collect();
    assert_eq!(assigned, ["n1"], "the others are assigned nothing");
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"));
}

#[test]
fn uplinks_and_cluster_networks_say_what_nodes_reported() {
    let mut rig = connected();
    rig.run();
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("True", "Connected"));
    let statuses = rig.api.list("VlanStatus");
    assert_eq!(statuses.len(), 3);
    let status = statuses.iter().find(|status| status["status"]["node"] == "n0").unwrap();
    assert_eq!(status["status"]["vlanConfig"], "u");
    assert_eq!(status["status"]["conditions"][0]["status"], "True");
    assert_eq!(status["metadata"]["labels"]["network.harvesterhci.io/clusternetwork"], "cn1");
    assert_eq!(status["metadata"]["ownerReferences"][0]["name"], "u");
    let label = |rig: &Rig, node: &str| {
        rig.api.get("Node", node).unwrap()["metadata"]["labels"]["network.harvesterhci.io/cn1"].clone()
    };
    assert_eq!(label(&rig, "n0"), "true");
    let monitor = rig.api.get("LinkMonitor", "cn1").unwrap();
    assert_eq!(monitor["spec"]["targetLinkRule"]["nameRule"], "cn1(-br|-bo)");

    rig.remove(UPLINK, "u");
    rig.run();
    assert_eq!(rig.api.list("VlanStatus").len(), 0);
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("False", "NotConnected"));
    assert_eq!(label(&rig, "n0"), Value::Null);
    assert!(rig.api.get("NodeNetworkConfig", "n0").unwrap()["spec"].get("host").is_none());
}

#[test]
fn what_is_reported_of_an_uplink_names_the_generation_that_it_is_reported_of() {
    let mut rig = connected();
    rig.run();
    let of = |rig: &Rig, node: &str| {
        let statuses = rig.api.list("VlanStatus");
        let status = &statuses.iter().find(|status| status["status"]["node"] == node).unwrap()["status"];
        (status["observedGeneration"].as_i64().unwrap(), status["conditions"][0]["status"].clone())
    };
    assert_eq!(of(&rig, "n2"), (1, json!("True")));
    rig.refuses = Some(|request| (request.target.kind.kind, &*request.target.key.name) == ("NodeNetworkConfig", "n2"));
    edit(&mut rig, "VlanConfig", "u", |object| object["spec"]["uplink"]["linkAttributes"] = json!({"mtu": 9000}));
    rig.run_for(SignedDuration::from_mins(5));
    assert_eq!(of(&rig, "n0"), (2, json!("True")));
    assert_eq!(of(&rig, "n2"), (2, json!("Unknown")), "it has what was wanted before");
    rig.refuses = None;
    rig.run();
    assert_eq!(of(&rig, "n2"), (2, json!("True")));
}

#[test]
fn an_uplink_says_of_a_node_that_it_leaves_how_far_that_is() {
    let mut rig = connected();
    for node in ["n0", "n1"] {
        edit(&mut rig, "Node", node, |object| object["metadata"]["labels"] = json!({"zone": "a"}));
    }
    rig.run();
    let of = |rig: &Rig| {
        let statuses = rig.api.list("VlanStatus");
        let status = statuses.iter().find(|status| status["status"]["node"] == "n2")?;
        let reported = &status["status"]["conditions"][0];
        Some((reported["status"].as_str().unwrap().to_owned(), reported["reason"].as_str().unwrap().to_owned()))
    };
    let assigned = |truth: &str, reason: &str| Some((truth.to_owned(), reason.to_owned()));
    assert_eq!(of(&rig), assigned("True", "Applied"));
    rig.refuses = Some(|request| (request.target.kind.kind, &*request.target.key.name) == ("NodeNetworkConfig", "n2"));
    edit(&mut rig, "VlanConfig", "u", |object| object["spec"]["nodeSelector"] = json!({"zone": "a"}));
    rig.run_for(SignedDuration::from_mins(5));
    assert_eq!(of(&rig), assigned("Unknown", "Pending"));
    let ready = |rig: &mut Rig, is: &str| {
        edit(rig, "Node", "n2", |object| object["status"]["conditions"][0]["status"] = json!(is));
    };
    ready(&mut rig, "Unknown");
    rig.run_for(SignedDuration::from_mins(5));
    assert_eq!(of(&rig), assigned("Unknown", netloom_controller_core::NODE_LOST));
    rig.refuses = None;
    ready(&mut rig, "True");
    rig.run();
    assert_eq!(of(&rig), None);
}

#[test]
fn an_uplink_that_breaks_a_rule_says_that_what_it_wanted_before_stands() {
    let mut rig = connected();
    rig.run();
    edit(&mut rig, "VlanConfig", "u", |object| object["spec"]["uplink"]["nics"] = json!(["no such name"]));
    rig.run();
    let statuses = rig.api.list("VlanStatus");
    for status in statuses.iter().map(|status| &status["status"]) {
        let reported = &status["conditions"][0];
        assert_eq!((&status["observedGeneration"], &reported["status"]), (&json!(2), &json!("True")));
        assert_ne!(reported["reason"], "Applied");
        assert!(reported["message"].as_str().unwrap().ends_with("its last good version stays in effect"), "{reported}");
    }
    assert_eq!(statuses.len(), 3);
}

#[test]
fn a_host_network_without_uplink_waits_for_one() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let uplink = rig.api.get("VlanConfig", "u").unwrap().clone();
    rig.remove(UPLINK, "u");
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("False", "NoUplink"));
    assert_eq!(entry(&rig, "n2")["conditions"][0]["reason"], "NoUplink");
    assert_eq!(rig.api.get("HostNetworkConfig", "h").unwrap()["metadata"]["annotations"][MATCHED], "[]");
    rig.write(uplink);
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"));
}

#[test]
fn a_deleted_host_network_waits_for_every_node_that_has_it() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let finalizers = |rig: &Rig| rig.api.get("HostNetworkConfig", "h").unwrap()["metadata"]["finalizers"].clone();
    assert_eq!(finalizers(&rig), json!([netloom_controller_core::HOST_NETWORK_FINALIZER]));
    rig.refuses = Some(|request| (request.target.kind.kind, &*request.target.key.name) == ("NodeNetworkConfig", "n2"));
    delete_host_network(&mut rig);
    rig.run_for(SignedDuration::from_mins(10));
    assert_eq!(
        finalizers(&rig),
        json!([netloom_controller_core::HOST_NETWORK_FINALIZER]),
        "one node was not assigned yet"
    );
    let left: Vec<&String> =
        rig.api.get("HostNetworkConfig", "h").unwrap()["status"]["nodeStatus"].as_object().unwrap().keys().collect();
    assert_eq!(left, ["n2"]);
    // A node that is gone holds nothing up.
    rig.remove(NODE, "n2");
    rig.run();
    assert_eq!(finalizers(&rig), json!([]));
    rig.remove(HOST_NETWORK, "h");
    rig.run();
}

#[test]
fn a_node_that_joins_without_an_address_says_so_and_the_others_stay_ready() {
    let mut rig = connected();
    host_network(&mut rig, "static", &json!({"n0": "192.0.2.10/24", "n1": "192.0.2.11/24"}));
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("False", "Pending"));
    assert_eq!(entry(&rig, "n2")["conditions"][0]["reason"], "NoStaticIP");
    assert_eq!(entry(&rig, "n0")["conditions"][0]["status"], "True");
    let condition = &rig.api.get("HostNetworkConfig", "h").unwrap()["status"]["conditions"][0];
    assert_eq!(condition["message"], "2 of 3 nodes are ready");
}

#[test]
fn leases_and_what_is_wrong_with_them_are_assigned() {
    let mut rig = connected();
    host_network(&mut rig, "dhcp", &Value::Null);
    rig.run();
    assert_eq!(entry(&rig, "n0")["conditions"][0]["message"], "the node asks for a lease");
    let lease = json!({
        "link": "cn1-br.20", "address": "192.0.2.77/24", "server": "192.0.2.1",
        "acquired": "2030-01-01T00:00:00Z", "renewAt": "2030-01-01T00:30:00Z", "expiresAt": "2030-01-01T01:00:00Z",
        "nameServers": ["192.0.2.53"], "domain": "example.org",
    });
    let mut failing = lease.clone();
    failing["problem"] = json!({"reason": "DHCPNoOffer", "message": "no server answers"});
    for (node, lease) in [("n0", lease), ("n1", failing)] {
        edit(&mut rig, "NodeNetworkConfig", node, |object| object["status"]["leases"] = json!([lease]));
    }
    edit(&mut rig, "NodeNetworkConfig", "n2", |object| {
        let problem = json!({"reason": "DHCPNak", "message": "the server took the address back"});
        object["status"]["leases"] = json!([{"link": "cn1-br.20", "problem": problem}]);
    });
    rig.api.writes.clear();
    rig.run();
    assert_eq!(writes(&rig, "HostNetworkConfig"), 1, "what three nodes report is one write");
    let assigned = entry(&rig, "n0");
    assert_eq!(assigned["addresses"], json!(["192.0.2.77/24"]));
    assert_eq!(assigned["lease"]["server"], "192.0.2.1");
    assert_eq!(assigned["lease"]["expiresAt"], "2030-01-01T01:00:00Z");
    assert_eq!(assigned["lease"]["nameServers"], json!(["192.0.2.53"]));
    assert_eq!(assigned["lease"]["domain"], "example.org");
    let verdict = |node: &str| {
        let condition = &entry(&rig, node)["conditions"][0];
        (condition["status"].as_str().unwrap().to_owned(), condition["reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(verdict("n0"), ("True".to_owned(), "Applied".to_owned()));
    assert_eq!(verdict("n1"), ("True".to_owned(), "DHCPNoOffer".to_owned()), "the address is still there");
    assert_eq!(verdict("n2"), ("False".to_owned(), "DHCPNak".to_owned()));
}

#[test]
fn a_label_that_changes_moves_the_uplink_and_the_annotations() {
    let mut rig = connected();
    edit(&mut rig, "VlanConfig", "u", |object| object["spec"]["nodeSelector"] = json!({"zone": "a"}));
    host_network(&mut rig, "dhcp", &Value::Null);
    edit(&mut rig, "Node", "n1", |object| object["metadata"]["labels"] = json!({"zone": "a"}));
    rig.run();
    let matched = |rig: &Rig, kind: &str, name: &str| {
        rig.api.get(kind, name).unwrap()["metadata"]["annotations"][MATCHED].clone()
    };
    assert_eq!(matched(&rig, "VlanConfig", "u"), r#"["n1"]"#);
    assert_eq!(matched(&rig, "HostNetworkConfig", "h"), r#"["n1"]"#);
    edit(&mut rig, "Node", "n1", |object| object["metadata"]["labels"] = json!({}));
    edit(&mut rig, "Node", "n2", |object| object["metadata"]["labels"] = json!({"zone": "a"}));
    rig.run();
    assert_eq!(matched(&rig, "VlanConfig", "u"), r#"["n2"]"#);
    assert_eq!(matched(&rig, "HostNetworkConfig", "h"), r#"["n2"]"#);
    let nodes = rig.api.get("HostNetworkConfig", "h").unwrap()["status"]["nodeStatus"].as_object().unwrap();
    assert_eq!(nodes.keys().collect::<Vec<_>>(), ["n2"]);
}

#[test]
fn a_network_that_a_node_cannot_have_is_taken_back_everywhere() {
    let mut rig = connected();
    rig.run();
    rig.refusing.insert("n0".to_owned());
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let failed = rig.api.list("NetworkConfigRevision").into_iter().find(|one| one["status"]["isInvalid"] == true);
    assert!(failed.is_some(), "a host network goes through the same rollout as a policy");
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("False", "Pending"));
    let assigned = |node: &str| rig.api.get("NodeNetworkConfig", node).unwrap()["spec"]["host"]["addresses"].clone();
    assert_eq!(["n0", "n1", "n2"].map(assigned), [Value::Null, Value::Null, Value::Null]);
    let name = failed.unwrap()["metadata"]["name"].as_str().unwrap();
    for node in ["n0", "n1", "n2"] {
        let message = entry(&rig, node)["conditions"][0]["message"].as_str().unwrap();
        assert!(message.contains(name) && message.contains("n0 failed"), "{node} waits for nothing else: {message}");
    }
}

#[test]
fn a_host_network_says_what_keeps_a_node_from_it() {
    let mut rig = connected();
    edit(&mut rig, "Node", "n1", |node| node["status"]["conditions"][0]["status"] = json!("False"));
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let message = |rig: &Rig| entry(rig, "n1")["conditions"][0]["message"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        message(&rig),
        "the node cannot take it: its agent gives no sign of life, and condition Ready is not True"
    );
    edit(&mut rig, "Node", "n1", |node| node["status"]["conditions"][0]["status"] = json!("True"));
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"));
    rig.write(json!({
        "apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "all"},
        "spec": {"paused": true},
    }));
    let mut ips = addresses();
    ips["n1"] = json!("192.0.2.99/24");
    host_network(&mut rig, "static", &ips);
    rig.run();
    assert_eq!(message(&rig), "RolloutPolicy all: the policy is paused");
    let kept = rig.api.list("NetworkConfigRevision").into_iter().find(|one| one["status"]["phase"] == "Kept").unwrap();
    let kept = kept["metadata"]["name"].as_str().unwrap().to_owned();
    edit(&mut rig, "RolloutPolicy", "all", |policy| policy["spec"] = json!({"pinnedRevision": kept}));
    rig.run();
    assert_eq!(message(&rig), format!("RolloutPolicy all: its nodes are pinned to revision {kept}"));
}

#[test]
fn a_node_that_cannot_be_assigned_does_not_count_as_assigned_and_nobody_says_so_twice() {
    let mut rig = connected();
    rig.run();
    rig.refuses = Some(|request| request.target.kind.kind == "NodeNetworkConfig");
    host_network(&mut rig, "static", &addresses());
    rig.run_for(SignedDuration::from_secs(5));
    assert!(rig.refused > 3, "it is asked for again");
    assert_eq!(entry(&rig, "n0")["conditions"][0]["message"], "the node waits for its turn");
    let revision =
        rig.api.list("NetworkConfigRevision").into_iter().find(|one| one["status"]["phase"] != "Kept").unwrap();
    assert_eq!((&revision["status"]["phase"], &revision["status"]["ongoing"]), (&json!("Pending"), &json!(0)));
    let writes = rig.api.writes.len();
    rig.run_for(SignedDuration::from_mins(10));
    assert_eq!(rig.api.writes.len(), writes, "what is refused again is nothing new");
    rig.refuses = None;
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"));
}

#[test]
fn a_host_network_is_held_before_a_node_is_assigned() {
    let mut rig = connected();
    rig.run();
    rig.api.writes.clear();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let first = |kind: &str| rig.api.writes.iter().position(|write| write.1 == kind).unwrap();
    let held = first("HostNetworkConfig");
    assert_eq!(rig.api.writes[held].0, "patch", "the finalizer");
    let revision = first("NetworkConfigRevision");
    assert!(held < first("NodeNetworkConfig") && revision < first("NodeNetworkConfig"));
    // What is written in one turn is under way at the same time: the node is assigned in a later one.
    assert!(held < revision, "{:?}", rig.api.writes);
}

#[test]
fn tunnels_use_the_underlay_where_it_is_in_place() {
    let mut rig = with_installed_network();
    assert_eq!(tunnel(&rig), "mgmt-br.5");
    host_network(&mut rig, "static", &addresses());
    edit(&mut rig, "HostNetworkConfig", "h", |object| object["spec"]["underlay"] = json!(true));
    rig.run();
    assert_eq!(tunnel(&rig), "cn1-br.20");
    edit(&mut rig, "HostNetworkConfig", "h", |object| object["spec"]["underlay"] = json!(false));
    rig.run();
    assert_eq!(tunnel(&rig), "mgmt-br.5");
}

#[test]
fn what_the_installer_made_is_shown_and_follows_the_node() {
    let mut rig = Rig::new(2);
    rig.run();
    assert!(rig.api.get("ClusterNetwork", "mgmt").is_none(), "no node has a bridge of the installer");
    let links = |mode: &str, ports: &[&str]| {
        let mut links = vec![
            json!({"name": "mgmt-br", "type": "linux-bridge", "state": "up", "bridge": {"port": [{"name": "mgmt-bo"}]}}),
            json!({"name": "mgmt-bo", "type": "bond", "state": "up", "mtu": 1500, "controller": "mgmt-br",
                   "link-aggregation": {"mode": mode, "port": ports}}),
        ];
        links.extend(ports.iter().map(|port| json!({"name": port, "type": "ethernet", "state": "up"})));
        json!(links)
    };
    let report = |rig: &mut Rig, links: &Value| {
        edit(rig, "NodeNetworkState", "n0", |object| object["status"]["currentState"]["interfaces"] = links.clone());
        rig.run();
    };
    report(&mut rig, &links("active-backup", &["eth0"]));
    assert_eq!(ready(&rig, "ClusterNetwork", "mgmt"), ("True", "Connected"));
    let shown = |rig: &Rig| rig.api.get("VlanConfig", "mgmt-vlanconfig-n0").unwrap()["spec"]["uplink"].clone();
    assert_eq!(
        shown(&rig),
        json!({"nics": ["eth0"], "linkAttributes": {"mtu": 1500, "txQLen": -1},
               "bondOptions": {"mode": "active-backup", "miimon": -1}})
    );
    assert!(rig.api.get("VlanConfig", "mgmt-vlanconfig-n1").is_none());
    report(&mut rig, &links("802.3ad", &["eth0", "eth9"]));
    assert_eq!(shown(&rig)["nics"], json!(["eth0", "eth9"]));
    assert_eq!(shown(&rig)["bondOptions"]["mode"], "802.3ad");
    assert!(rig.api.get("NodeNetworkConfig", "n0").is_none_or(|config| config["spec"].get("host").is_none()));
    rig.remove(NODE, "n0");
    rig.run();
    assert!(rig.api.get("VlanConfig", "mgmt-vlanconfig-n0").is_none(), "it goes with its node");
}

#[test]
fn a_cluster_network_says_how_large_its_packets_are_and_which_vlans_it_carries() {
    let mut rig = connected();
    let attachment = |name: &str, vlans: &Value| {
        let config = json!({"type": "bridge", "bridge": "cn1-br", "vlan": 0, "vlanTrunk": vlans});
        json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"namespace": "default", "name": name}, "spec": {"config": config.to_string()},
        })
    };
    rig.write(attachment("a", &json!([{"id": 20}, {"minID": 5, "maxID": 7}])));
    rig.run();
    let reported = |rig: &Rig, name: &str| {
        let annotations = &rig.api.get("ClusterNetwork", "cn1").unwrap()["metadata"]["annotations"];
        annotations[format!("network.harvesterhci.io/{name}")].clone()
    };
    assert_eq!(
        ["uplink-mtu", "mtu-source-vc", "vlan-id-set-str"].map(|name| reported(&rig, name)),
        ["1500", "u", "5,6,7,20"].map(|text| json!(text))
    );
    assert_eq!(
        reported(&rig, "vlan-id-set-str-hash"),
        "fd5fcb3ddf0c1c4b357e32a76fcc0af6c818bbd0a7818401920b68fa76b21319"
    );
    edit(&mut rig, "VlanConfig", "u", |object| object["spec"]["uplink"]["linkAttributes"] = json!({"mtu": 9000}));
    rig.run();
    assert_eq!(reported(&rig, "uplink-mtu"), "9000");
    rig.remove(UPLINK, "u");
    rig.run();
    assert_eq!([reported(&rig, "uplink-mtu"), reported(&rig, "mtu-source-vc")], [Value::Null, Value::Null]);
    let before = rig.api.writes.len();
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes.len(), before, "what is true is not written again");
}

#[test]
fn links_are_listed_where_a_monitor_asks_for_them_and_only_on_a_change() {
    let mut rig = connected();
    let report = |mac: &str, seen: &str| {
        json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkStatus", "metadata": {"name": "n0"},
            "spec": {}, "status": {"lastUpdated": seen, "interfaces": [
                {"name": "lo", "type": "loopback", "state": "up", "index": 1},
                {"name": "eth1", "mac": mac, "state": "up", "index": 2, "controller": "cn1-bo"},
                {"name": "cn1-bo", "type": "bond", "state": "down", "index": 3, "promiscuous": true},
            ]},
        })
    };
    rig.write(report("02:00:00:00:00:01", "2030-01-01T00:00:00Z"));
    rig.run();
    let listed =
        |rig: &Rig, name: &str| rig.api.get("LinkMonitor", name).unwrap()["status"]["linkStatus"]["n0"].clone();
    let card = json!([{"name": "eth1", "index": 2, "type": "device", "mac": "02:00:00:00:00:01", "promiscuous": false, "state": "up", "masterIndex": 3}]);
    assert_eq!(listed(&rig, "nic"), card);
    let bond = json!([{"name": "cn1-bo", "index": 3, "type": "bond", "promiscuous": true, "state": "down"}]);
    assert_eq!(listed(&rig, "cn1"), bond);
    rig.api.writes.clear();
    rig.write(report("02:00:00:00:00:01", "2030-01-01T00:01:00Z"));
    rig.run();
    assert_eq!(writes(&rig, "LinkMonitor"), 0, "that it looked again is no change");
    rig.write(report("02:00:00:00:00:02", "2030-01-01T00:02:00Z"));
    rig.run();
    assert_eq!(writes(&rig, "LinkMonitor"), 1, "only the list that has changed");
    edit(&mut rig, "NodeNetworkState", "n0", |object| object["spec"]["managed"] = json!(false));
    rig.run();
    assert_eq!(listed(&rig, "nic"), Value::Null, "nobody keeps the list of a node true that is left alone");
}

#[test]
fn monitors_go_by_the_types_that_the_kernel_has() {
    let mut rig = connected();
    rig.write(json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkStatus", "metadata": {"name": "n0"},
        "spec": {}, "status": {"interfaces": [
            {"name": "eth1", "type": "ethernet", "state": "up", "index": 2},
            {"name": "cn1-br", "type": "linux-bridge", "state": "up", "index": 3},
            {"name": "mac0", "type": "mac-vlan", "state": "lowerlayerdown", "index": 4},
        ]},
    }));
    rig.write(object("LinkMonitor", "bridges", &json!({"targetLinkRule": {"typeRule": "^bridge$"}})));
    rig.write(object("LinkMonitor", "macs", &json!({"targetLinkRule": {"typeRule": "^macvlan$"}})));
    rig.run();
    let listed = |name: &str| {
        let links = rig.api.get("LinkMonitor", name).unwrap()["status"]["linkStatus"]["n0"].clone();
        let one = |link: &Value| format!("{} {} {}", link["name"], link["type"], link["state"]);
        links.as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(listed("nic"), [r#""eth1" "device" "up""#]);
    assert_eq!(listed("bridges"), [r#""cn1-br" "bridge" "up""#]);
    assert_eq!(listed("macs"), [r#""mac0" "macvlan" "unknown""#]);
}

#[test]
fn nothing_is_left_of_a_node_that_left() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    for node in ["n0", "n1", "n2"] {
        rig.write(json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkStatus",
            "metadata": {"name": node}, "spec": {},
            "status": {"interfaces": [{"name": "eth1", "type": "ethernet", "state": "up", "index": 2}]},
        }));
    }
    rig.run();
    let owner = |kind: &str| rig.api.get(kind, "n2").unwrap()["metadata"]["ownerReferences"][0]["uid"].clone();
    assert_eq!(owner("NodeNetworkConfig"), rig.api.get("Node", "n2").unwrap()["metadata"]["uid"], "it goes by itself");
    let names_it = |rig: &Rig| {
        let assigned = |kind: &&str| rig.api.list(kind).iter().any(|object| object.to_string().contains("n2"));
        ["VlanConfig", "HostNetworkConfig", "VlanStatus", "LinkMonitor"]
            .into_iter()
            .filter(assigned)
            .collect::<Vec<_>>()
    };
    assert_eq!(names_it(&rig), ["VlanConfig", "HostNetworkConfig", "VlanStatus", "LinkMonitor"]);
    // The addresses are what people wrote, and stay for the day on which it comes back.
    rig.remove(NODE, "n2");
    rig.run();
    let gone = |kind: &str| rig.api.list(kind).iter().all(|object| !object["status"].to_string().contains("n2"));
    for kind in ["VlanStatus", "HostNetworkConfig", "LinkMonitor", "ClusterNetwork"] {
        assert!(gone(kind), "{kind}: {:?}", rig.api.list(kind));
    }
    for (kind, name) in [("VlanConfig", "u"), ("HostNetworkConfig", "h")] {
        let matched = &rig.api.get(kind, name).unwrap()["metadata"]["annotations"][MATCHED];
        assert_eq!(matched, r#"["n0","n1"]"#, "{kind}");
    }
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"), "nobody waits for it");
    rig.api.writes.clear();
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes, [], "and that is the end of it");
}

#[test]
fn a_node_that_left_for_good_holds_no_deleted_network() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    rig.remove(NODE, "n2");
    delete_host_network(&mut rig);
    rig.run();
    assert_eq!(rig.api.get("HostNetworkConfig", "h").unwrap()["metadata"]["finalizers"], json!([]));
}

#[test]
fn a_node_that_is_switched_off_holds_no_deleted_network_and_loses_it_when_it_is_back() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let ready = |rig: &mut Rig, is: &str| {
        edit(rig, "Node", "n2", |object| object["status"]["conditions"][0]["status"] = json!(is));
    };
    let links = |rig: &Rig| rig.api.get("NodeNetworkConfig", "n2").unwrap()["spec"]["host"]["links"].to_string();
    ready(&mut rig, "False");
    delete_host_network(&mut rig);
    rig.run();
    let held = json!([netloom_controller_core::HOST_NETWORK_FINALIZER]);
    assert_eq!(rig.api.get("HostNetworkConfig", "h").unwrap()["metadata"]["finalizers"], held, "it is alive");
    ready(&mut rig, "Unknown");
    rig.run();
    assert_eq!(rig.api.get("HostNetworkConfig", "h").unwrap()["metadata"]["finalizers"], json!([]));
    rig.remove(HOST_NETWORK, "h");
    rig.run();
    assert!(links(&rig).contains("cn1-br.20"), "nobody assigned it: {}", links(&rig));
    ready(&mut rig, "True");
    rig.run();
    assert!(!links(&rig).contains("cn1-br.20"), "{}", links(&rig));
}

#[test]
fn a_controller_that_is_killed_at_any_write_ends_at_the_same() {
    let story = |lives: Option<usize>| {
        let mut rig = connected();
        host_network(&mut rig, "static", &addresses());
        rig.lives = lives;
        rig.run();
        let done = rig.lives.is_none();
        delete_host_network(&mut rig);
        rig.run();
        let hosts: Vec<Value> =
            rig.api.list("NodeNetworkConfig").into_iter().map(|config| config["spec"]["host"].clone()).collect();
        let finalizers = rig.api.get("HostNetworkConfig", "h").unwrap()["metadata"]["finalizers"].clone();
        (done, (hosts, finalizers))
    };
    let (_, wanted) = story(None);
    assert_eq!(wanted.1, json!([]));
    for lives in 0.. {
        let (killed, found) = story(Some(lives));
        assert_eq!(found, wanted, "killed before write {lives}");
        if !killed {
            return;
        }
    }
}

#[test]
fn what_a_node_is_reported_to_have_stands_while_it_is_at_something_else_and_nothing_more() {
    // Whether the network says that the node has it, before and after the node is assigned something else.
    for reported in ["True", "False"] {
        let mut rig = connected();
        host_network(&mut rig, "static", &addresses());
        rig.run();
        edit(&mut rig, "NodeNetworkConfig", "n1", |config| {
            config["status"]["configStatus"] = json!("provisioning");
            config["spec"]["revision"] = json!("next");
        });
        edit(&mut rig, "HostNetworkConfig", "h", |network| {
            network["status"]["nodeStatus"]["n1"]["conditions"][0]["status"] = json!(reported);
        });
        let connection = netloom_api::hostnet::names::vlan_status("cn1", "n1");
        edit(&mut rig, "VlanStatus", &connection, |status| {
            status["status"]["conditions"][0]["status"] = json!(reported);
        });
        rig.now = rig.now.checked_add(jiff::SignedDuration::from_secs(1)).unwrap();
        let turn = rig.turn();
        assert!(rig.carry_out(&turn));
        assert_eq!(entry(&rig, "n1")["conditions"][0]["status"], reported);
        let connected = ready(&rig, "VlanStatus", &connection).0;
        assert_eq!(connected == "True", reported == "True", "{connected}");
    }
}

/// Another host network, beside the usual one.
fn second_host_network(rig: &mut Rig) {
    let ips = json!({"n0": "192.0.3.1/24", "n1": "192.0.3.2/24", "n2": "192.0.3.3/24"});
    let spec = json!({"clusterNetwork": "cn1", "vlanID": 30, "mode": "static", "ips": ips});
    rig.write(object("HostNetworkConfig", "h2", &spec));
}

#[test]
fn what_a_node_has_stands_when_it_cannot_have_something_else() {
    // A failure that is tolerated stays, and one that is not is followed by the way back.
    for tolerated in [0, 5] {
        let mut rig = connected();
        rig.write(json!({
            "apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "all"},
            "spec": {"canary": {"soakSeconds": 0}, "waves": ["100%"], "toleratedFailures": tolerated},
        }));
        host_network(&mut rig, "static", &addresses());
        rig.run();
        rig.api.writes.clear();
        rig.refusing.insert("n0".to_owned());
        rig.refused_address = Some("192.0.3.");
        second_host_network(&mut rig);
        rig.run();
        assert_eq!(ready(&rig, "HostNetworkConfig", "h2").0, "False");
        assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"));
        assert_eq!(entry(&rig, "n0")["addresses"], json!(["192.0.2.10/24"]));
        let of = |kind: &str| writes(&rig, kind);
        assert_eq!((of("VlanStatus"), of("Node")), (0, 0), "{:?}", rig.api.writes);
        let reported =
            rig.api.writes.iter().filter(|write| (write.1.as_str(), write.2.as_str()) == ("HostNetworkConfig", "h"));
        assert_eq!(reported.count(), 0, "nothing was ever reported against it");
    }
}

#[test]
fn an_uplink_that_moves_to_another_network_leaves_nothing_reported_of_the_first() {
    let mut rig = connected();
    rig.write(object("ClusterNetwork", "cn2", &json!({})));
    rig.run();
    edit(&mut rig, "VlanConfig", "u", |object| object["spec"]["clusterNetwork"] = json!("cn2"));
    rig.run();
    let networks: Vec<&Value> =
        rig.api.list("VlanStatus").into_iter().map(|status| &status["status"]["clusterNetwork"]).collect();
    assert_eq!(networks, ["cn2", "cn2", "cn2"]);
    assert_eq!(ready(&rig, "ClusterNetwork", "cn1"), ("False", "NotConnected"));
    assert_eq!(ready(&rig, "ClusterNetwork", "cn2"), ("True", "Connected"));
    let labels = &rig.api.get("Node", "n0").unwrap()["metadata"]["labels"];
    assert_eq!(
        (&labels["network.harvesterhci.io/cn1"], &labels["network.harvesterhci.io/cn2"]),
        (&Value::Null, &json!("true"))
    );
}

#[test]
fn an_object_without_effect_says_so_although_the_server_writes_nodes_onto_it() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    rig.run();
    let mut other =
        object("HostNetworkConfig", "other", &json!({"clusterNetwork": "cn1", "vlanID": 20, "mode": "dhcp"}));
    other["metadata"]["creationTimestamp"] = json!("2026-02-01T00:00:00Z");
    rig.write(other);
    let annotation =
        |rig: &Rig| rig.api.get("HostNetworkConfig", "other").unwrap()["metadata"]["annotations"][MATCHED].clone();
    assert_eq!(annotation(&rig), r#"["n0","n1","n2"]"#, "the server does not know yet");
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "other").0, "False");
    assert_eq!(annotation(&rig), "[]");
    assert_eq!(ready(&rig, "HostNetworkConfig", "h"), ("True", "Applied"));
}

/// The interface that tunnels of a node use, in a cluster where the installer made a network for the nodes.
pub(super) fn tunnel(rig: &Rig) -> &Value {
    &rig.api.get("Node", "n0").unwrap()["metadata"]["annotations"]["ovn.kubernetes.io/tunnel_interface"]
}

/// A cluster in which the installer made a network for the nodes themselves.
pub(super) fn with_installed_network() -> Rig {
    let mut rig = connected();
    rig.write(object("ClusterNetwork", "mgmt", &json!({})));
    let links = json!([
        {"name": "eth1", "type": "ethernet", "state": "up"},
        {"name": "mgmt-br", "type": "linux-bridge", "state": "up"},
        {"name": "mgmt-br.5", "type": "vlan", "state": "up", "vlan": {"id": 5, "base-iface": "mgmt-br"},
         "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.200", "prefix-length": 24}]}},
    ]);
    for node in ["n0", "n1", "n2"] {
        edit(&mut rig, "NodeNetworkState", node, |object| {
            object["status"]["currentState"]["interfaces"] = links.clone();
        });
    }
    rig.run();
    rig
}

fn with_tunnels() -> Rig {
    let mut rig = with_installed_network();
    host_network(&mut rig, "static", &addresses());
    edit(&mut rig, "HostNetworkConfig", "h", |object| object["spec"]["underlay"] = json!(true));
    rig.run();
    assert_eq!(tunnel(&rig), "cn1-br.20");
    rig
}

#[test]
fn tunnels_leave_an_interface_that_goes() {
    // With its uplink.
    let mut rig = with_tunnels();
    rig.remove(UPLINK, "u");
    rig.run();
    assert_eq!(tunnel(&rig), "mgmt-br.5");
    // With the object, which was the underlay a moment ago.
    let mut rig = with_tunnels();
    edit(&mut rig, "HostNetworkConfig", "h", |object| {
        object["spec"]["underlay"] = json!(false);
        object["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    });
    rig.run();
    assert_eq!(tunnel(&rig), "mgmt-br.5");
}

#[test]
fn tunnels_leave_an_interface_that_moves_when_it_is_the_underlay_no_more() {
    let mut rig = with_tunnels();
    edit(&mut rig, "HostNetworkConfig", "h", |object| {
        object["spec"]["underlay"] = json!(false);
        object["spec"]["vlanID"] = json!(30);
    });
    rig.run();
    assert_eq!(tunnel(&rig), "mgmt-br.5");
}

#[test]
fn tunnels_stay_where_they_are_while_the_underlay_is_written_wrongly() {
    let mut rig = with_tunnels();
    edit(&mut rig, "HostNetworkConfig", "h", |object| object["spec"]["vlanID"] = json!(4095));
    rig.run();
    assert_eq!(ready(&rig, "HostNetworkConfig", "h").0, "False");
    assert_eq!(tunnel(&rig), "cn1-br.20", "its last good version stays in effect");
}

#[test]
fn a_node_loses_the_label_of_a_network_that_went_with_its_uplink() {
    let mut rig = connected();
    rig.run();
    let label =
        |rig: &Rig| rig.api.get("Node", "n0").unwrap()["metadata"]["labels"]["network.harvesterhci.io/cn1"].clone();
    assert_eq!(label(&rig), "true");
    rig.remove(UPLINK, "u");
    rig.remove(GroupKind::new("network.harvesterhci.io", "ClusterNetwork"), "cn1");
    rig.run();
    assert_eq!(label(&rig), Value::Null);
}

#[test]
fn a_witness_is_connected_to_the_network_of_the_nodes_and_to_no_other() {
    let mut rig = connected();
    edit(&mut rig, "Node", "n0", |node| {
        node["metadata"]["labels"]["node-role.harvesterhci.io/witness"] = json!("true");
    });
    rig.run();
    edit(&mut rig, "NodeNetworkState", "n0", |state| {
        let links = state["status"]["currentState"]["interfaces"].as_array_mut().unwrap();
        links.push(json!({"name": "mgmt-br", "type": "linux-bridge", "state": "up"}));
    });
    rig.run();
    let label = |node: &str, network: &str| {
        rig.api.get("Node", node).unwrap()["metadata"]["labels"][format!("network.harvesterhci.io/{network}")].clone()
    };
    assert_eq!((label("n0", "mgmt"), label("n0", "cn1")), (json!("true"), Value::Null));
    assert_eq!((label("n1", "mgmt"), label("n1", "cn1")), (json!("true"), json!("true")));
}

#[test]
fn an_uplink_that_is_called_like_one_of_the_installer_is_its_owners() {
    let mut rig = connected();
    rig.run();
    edit(&mut rig, "NodeNetworkState", "n0", |state| {
        let links = state["status"]["currentState"]["interfaces"].as_array_mut().unwrap();
        links.push(json!({"name": "mgmt-br", "type": "linux-bridge", "state": "up"}));
    });
    // Such names are refused where anybody asks; what nodes may still have of one is held all the same.
    rig.write(object("ClusterNetwork", "cn2", &json!({})));
    for name in ["mgmt-vlanconfig-n0", "mgmt-vlanconfig-nobody"] {
        let selector = json!({"kubernetes.io/hostname": name});
        let spec = json!({"clusterNetwork": "cn2", "nodeSelector": selector, "uplink": {"nics": ["eth2"]}});
        rig.write(object("VlanConfig", name, &spec));
    }
    rig.run();
    for name in ["mgmt-vlanconfig-n0", "mgmt-vlanconfig-nobody"] {
        let uplink = rig.api.get("VlanConfig", name).unwrap();
        assert_eq!(uplink["spec"]["clusterNetwork"], "cn2", "{name}");
        assert_eq!(uplink["metadata"]["finalizers"], json!(["netloom.dev/uplink"]), "{name} is held");
    }
}

#[test]
fn what_shows_the_uplink_of_the_installer_follows_it_at_once_and_whole() {
    let mut rig = Rig::new(1);
    rig.run();
    let report = |rig: &mut Rig, links: &Value| {
        rig.api.writes.clear();
        edit(rig, "NodeNetworkState", "n0", |object| object["status"]["currentState"]["interfaces"] = links.clone());
        rig.run_for(SignedDuration::from_secs(20));
        rig.api.get("VlanConfig", "mgmt-vlanconfig-n0").unwrap()["spec"]["uplink"].clone()
    };
    let bridge =
        json!({"name": "mgmt-br", "type": "linux-bridge", "state": "up", "bridge": {"port": [{"name": "mgmt-bo"}]}});
    let bond = |mtu: u32| {
        json!({"name": "mgmt-bo", "type": "bond", "state": "up", "mtu": mtu, "controller": "mgmt-br",
               "link-aggregation": {"mode": "802.3ad", "port": ["eth0"]}})
    };
    let shown = report(&mut rig, &json!([bridge, bond(1500)]));
    assert_eq!((&shown["linkAttributes"]["mtu"], &shown["bondOptions"]["mode"]), (&json!(1500), &json!("802.3ad")));
    let shown = report(&mut rig, &json!([bridge, bond(9216)]));
    assert_eq!(
        (&shown["linkAttributes"]["mtu"], writes(&rig, "VlanConfig")),
        (&Value::Null, 1),
        "more than it can say"
    );
    let shown = report(&mut rig, &json!([bridge]));
    assert_eq!((shown, writes(&rig, "VlanConfig")), (json!({"nics": []}), 1));
}

#[test]
fn a_deletion_that_fails_says_why() {
    let mut rig = connected();
    host_network(&mut rig, "static", &addresses());
    second_host_network(&mut rig);
    rig.run();
    // What is left of the networks cannot be had any more.
    rig.refusing.extend(["n0", "n1", "n2"].map(str::to_owned));
    rig.refused_address = Some("192.0.3.");
    delete_host_network(&mut rig);
    rig.run_for(SignedDuration::from_mins(5));
    let held = rig.api.get("HostNetworkConfig", "h").unwrap();
    let reported = held["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(reported.starts_with("is being deleted; nodes that still have it: 3; rollout of revision "), "{reported}");
    assert!(reported.contains("n0 failed (eth1: the driver takes at most 9000)"), "{reported}");
    let reported = entry(&rig, "n2")["conditions"][0]["message"].as_str().unwrap();
    assert!(reported.contains("rollout of revision"), "{reported}");
}

#[test]
fn a_node_says_which_uplink_it_has() {
    let mut rig = connected();
    let long = "u".repeat(64);
    rig.write(object("ClusterNetwork", "cn2", &json!({})));
    rig.write(object("VlanConfig", &long, &json!({"clusterNetwork": "cn2", "uplink": {"nics": ["eth2"]}})));
    rig.run();
    let label = |rig: &Rig| {
        rig.api.get("Node", "n0").unwrap()["metadata"]["labels"]["network.harvesterhci.io/vlanconfig"].clone()
    };
    assert_eq!(label(&rig), "u");
    let status = rig.api.get("VlanStatus", &netloom_api::hostnet::names::vlan_status("cn2", "n0")).unwrap();
    assert_eq!(
        status["metadata"]["labels"]["network.harvesterhci.io/vlanconfig"],
        Value::Null,
        "it is too long for one"
    );
    rig.remove(UPLINK, "u");
    rig.run();
    assert_eq!(label(&rig), Value::Null);
}

#[test]
fn attachments_of_overlays_say_which_network_carries_their_tunnels() {
    let mut rig = with_tunnels();
    let attachment = |name: &str, labels: &Value| {
        json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"namespace": "default", "name": name, "labels": labels},
            "spec": {"config": json!({"type": "kube-ovn", "provider": format!("{name}.default.ovn")}).to_string()},
        })
    };
    rig.write(attachment("ours", &json!({"network.harvesterhci.io/type": "OverlayNetwork"})));
    rig.write(attachment("others", &json!({})));
    rig.run();
    let label = |rig: &Rig, name: &str| {
        let object = rig.api.get("NetworkAttachmentDefinition", name).unwrap();
        object["metadata"]["labels"]["network.harvesterhci.io/clusternetwork"].clone()
    };
    assert_eq!((label(&rig, "ours"), label(&rig, "others")), (json!("cn1"), Value::Null));
    edit(&mut rig, "HostNetworkConfig", "h", |object| object["spec"]["underlay"] = json!(false));
    rig.run();
    assert_eq!((label(&rig, "ours"), label(&rig, "others")), (json!("mgmt"), Value::Null));
}
