//! Clients, which do once what the agent does all the time.

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
    let file = site.server.file("policy.yaml", &objects.replace("65000", "64000"));
    assert_eq!(site.server.run(&["apply", "-f", &file]).0, 0);
    let (status, text) = site.server.run(&["client", "policy", "--centralized"]);
    assert_eq!((status, mtu()), (0, 64000.into()), "{text}");
}
