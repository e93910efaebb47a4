//! Clients, which do once what the agent does all the time.

use serde_json::Value;

use crate::site::{Site, bridge};

#[test]
fn a_client_does_once_what_the_agent_does_and_ends_by_the_outcome() {
    let Some(site) = Site::new("client") else { return };
    let state = site.folder().join("state").display().to_string();
    let client =
        || site.server.run(&["client", "state", "--host", "node-a", "--netns", &site.node.0, "--state-dir", &state]);
    let (status, text) = client();
    assert_eq!(status, 0, "{text}");
    assert!(site.state().unwrap()["status"]["currentState"].to_string().contains("lo"));
    site.desire(&bridge(1400));
    let (status, text) = client();
    assert_eq!((status, site.node.mtu("d0")), (0, Some(1400)), "{text}");
    assert!(site.is_available());
    site.desire("{interfaces: [{name: eth7, type: ethernet, mtu: 1400}]}");
    let (status, text) = client();
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("eth7"), "{text}");
    assert!(site.condition("Degraded").is_some_and(|(status, _)| status == "True"), "reported all the same");
}

#[test]
fn both_ways_to_merge_policies_come_to_the_same() {
    let Some(site) = Site::new("ways") else { return };
    assert_eq!(site.node.ip("link add w0 up type veth peer name w1").0, 0);
    let folder = site.folder().join("state").display().to_string();
    let report = || {
        let words = ["client", "state", "--host", "node-a", "--netns", &site.node.0, "--state-dir", &folder];
        let (status, text) = site.server.run(&words);
        assert_eq!(status, 0, "{text}");
    };
    report();
    let policy = |name: &str, zone: &str, rest: &str| {
        format!(
            "---\napiVersion: nmstate.io/v1\nkind: NodeNetConfPolicy\nmetadata: {{name: {name}, namespace: default}}\n\
             spec: {{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: \
             [{{matchExpressions: [{{key: zone, operator: In, values: [{zone}]}}]}}]}}}}}}, {rest}}}\n"
        )
    };
    let objects = [
        "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {zone: a}}\n".to_owned(),
        policy(
            "first",
            "a",
            "matchRules: [{name: w0}], desiredState: {interfaces: [{name: w0, mtu: 1400}, \
            {name: w0.10, type: vlan, vlan: {base-iface: w0, id: 10}}]}",
        ),
        policy("second", "a", "matchRules: [{type: veth}], desiredState: {interfaces: [{mtu: 1300}]}"),
        policy(
            "third",
            "a",
            "matchRules: [{name: \"w*\", lldp: {vlanIDList: [7]}}], desiredState: {interfaces: [{mtu: 1200}]}",
        ),
        policy("elsewhere", "b", "matchRules: [{name: lo}], desiredState: {interfaces: [{name: lo, mtu: 60000}]}"),
    ];
    let file = site.server.file("policies.yaml", &objects.concat());
    let (status, text) = site.server.run(&["apply", "-f", &file]);
    assert_eq!(status, 0, "{text}");
    let merged = || {
        let state = site.state().unwrap();
        (state["spec"]["desiredState"].clone(), state["metadata"]["annotations"]["netloom.dev/provenance"].clone())
    };
    let (status, text) = site.server.run(&["client", "policy", "--host", "node-a"]);
    assert_eq!(status, 0, "{text}");
    let distributed = merged();
    let wanted = distributed.0.to_string();
    for part in ["1400", "1300", "w0.10", "lldp"] {
        assert!(wanted.contains(part), "{part} in {wanted}");
    }
    assert!(!wanted.contains("1200") && !wanted.contains("60000"), "{wanted}");
    let (status, text) = site.server.run(&["client", "policy", "--centralized"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("written: 0, unchanged: 1"), "one takes over from the other: {text}");
    assert_eq!(site.server.run(&["delete", "nodenetworkstates", "node-a"]).0, 0);
    report();
    assert_eq!(merged().0, Value::Null);
    let (status, text) = site.server.run(&["client", "policy", "--centralized"]);
    assert_eq!(status, 0, "{text}");
    assert_eq!(merged(), distributed);
    let (status, text) = site.server.run(&["client", "policy", "--host", "node-a"]);
    assert_eq!((status, merged()), (0, distributed), "{text}");
}

#[test]
fn policies_are_merged_once_for_one_node_or_for_all() {
    let Some(site) = Site::new("policy") else { return };
    let state = site.folder().join("state").display().to_string();
    let (status, text) =
        site.server.run(&["client", "state", "--host", "node-a", "--netns", &site.node.0, "--state-dir", &state]);
    assert_eq!(status, 0, "{text}");
    let objects = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n---\n\
         apiVersion: nmstate.io/v1\nkind: NodeNetConfPolicy\nmetadata: {name: p, namespace: default}\n\
         spec: {matchRules: [{name: lo}], desiredState: {interfaces: [{name: lo, state: up, mtu: 65000}]}}\n";
    let file = site.server.file("policy.yaml", objects);
    assert_eq!(site.server.run(&["apply", "-f", &file]).0, 0);
    let mtu = || site.state().unwrap()["spec"]["desiredState"]["interfaces"][0]["mtu"].clone();
    let (status, text) = site.server.run(&["client", "policy", "--host", "node-a"]);
    assert_eq!((status, mtu()), (0, 65000.into()), "{text}");
    let (status, text) = site.server.run(&["client", "policy", "--host", "node-aa"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("there is no Node \"node-aa\""), "{text}");
    let file = site.server.file("policy.yaml", &objects.replace("65000", "64000"));
    assert_eq!(site.server.run(&["apply", "-f", &file]).0, 0);
    let (status, text) = site.server.run(&["client", "policy", "--centralized"]);
    assert_eq!((status, mtu()), (0, 64000.into()), "{text}");
}
