//! `netloom plan` from outside: against files, and against an embedded API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod embedded;

use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use self::embedded::{NETLOOM, Server, ended};

/// Two nodes with the same two links.
fn site() -> String {
    let node = |name: &str| {
        format!(
            "---
apiVersion: v1
kind: Node
metadata: {{name: {name}}}
---
apiVersion: nmstate.io/v1
kind: NodeNetworkState
metadata: {{name: {name}}}
spec: {{managed: true, nodeName: {name}}}
status:
  currentState:
    interfaces:
    - {{name: eth0, type: ethernet, state: up}}
    - {{name: eth1, type: ethernet, state: up}}
"
        )
    };
    node("n1") + &node("n2")
}

fn policy(name: &str, interface: &str) -> String {
    format!(
        "---
apiVersion: nmstate.io/v1
kind: NodeNetConfPolicy
metadata: {{name: {name}}}
spec:
  matchRules: [{{name: eth1}}]
  desiredState: {{interfaces: [{{name: eth1, {interface}}}]}}
"
    )
}

/// Files of one test.
fn files(name: &str, texts: &[(&str, &str)]) -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let write = |(file, text): &(&str, &str)| {
        let path = folder.join(file);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    texts.iter().map(write).collect()
}

fn plan(words: &[&str]) -> (i32, String) {
    ended(Command::new(NETLOOM).arg("plan").args(words))
}

#[test]
fn files_are_compared_with_files() {
    let old = policy("jumbo", "mtu: 9000");
    let new = policy("jumbo", "mtu: 1400, ipv4: {enabled: true, address: [{ip: 10.0.1.7, prefix-length: 24}]}");
    let paths = files("plan-files", &[("site.yaml", &site()), ("old.yaml", &old), ("new.yaml", &new)]);
    let [site, old, new] = &paths[..] else { panic!("{paths:?}") };
    assert_eq!(
        plan(&["-f", old, "--against", site]),
        (3, "n1, n2\n  + interface eth1: mtu 9000 (default/jumbo)\nPlan: 2 of 2 nodes touched; 2 to add, 0 to change, 0 to remove.\n".to_owned())
    );
    let (status, said) = plan(&["-f", new, "--against", site, old]);
    assert_eq!(status, 3, "{said}");
    assert!(said.starts_with("n1, n2\n  ~ interface eth1: ") && said.contains("mtu 9000 -> 1400"), "{said}");
    assert!(said.contains("    reaches 10.0.1.0/24 over eth1\n"), "{said}");
    assert_eq!(plan(&["-f", old, "--against", site, old]), (0, "Nothing would change for 2 nodes.\n".to_owned()));

    let (status, said) = plan(&["-f", old, "--against", site, "--node", "n2", "-o", "json"]);
    let data: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((status, &data["groups"][0]["nodes"]), (3, &serde_json::json!(["n2"])), "{said}");
    assert_eq!(data["groups"][0]["changes"][0]["fields"][0]["after"], 9000);
}

#[test]
fn what_would_go_wrong_is_said() {
    let first = policy("a", "mtu: 9000").replace("{name: a}", "{name: a, creationTimestamp: \"2026-01-01T00:00:00Z\"}");
    let paths =
        files("plan-trouble", &[("site.yaml", &site()), ("first.yaml", &first), ("b.yaml", &policy("b", "mtu: 1400"))]);
    let [site, first, second] = &paths[..] else { panic!("{paths:?}") };
    let (status, said) = plan(&["-f", second, "--against", site, first]);
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains("warning: NodeNetConfPolicy \"default/b\": PolicyConflict: ")
            && said.contains("Nothing would change"),
        "{said}"
    );
    assert_eq!(said.matches("PolicyConflict").count(), 1, "said once: {said}");
    let (_, said) = plan(&["-f", second, "--against", site, first, second]);
    assert!(said.contains("NodeNetConfPolicy \"default/b\": PolicyConflict: "), "also when it is so already: {said}");
    let (_, said) = plan(&["-f", second, "--against", site, "--node", "n1"]);
    assert!(said.contains("Plan: 1 of 1 node touched"), "{said}");
    let (status, said) = plan(&["-f", second, "--against", site, "--node", "n9"]);
    assert!(status == 3 && said.contains("there is no node \"n9\""), "{said}");
    let refused = files("plan-refused", &[("refused.yaml", &policy("b", "mtu: large"))]);
    let (status, said) = plan(&["-f", &refused[0], "--against", site]);
    assert!(status == 3 && said.contains("refused.yaml") && said.contains("mtu"), "{said}");
    assert!(said.contains("nothing is planned") && !said.contains("Nothing would change"), "{said}");
    let (status, said) = plan(&["--revision", "abc", "--against", site]);
    assert!(status == 3 && said.contains("there is no NetworkConfigRevision \"abc\"; there is none"), "{said}");
    let (status, said) = plan(&["--against", site]);
    assert!(status == 2 && said.contains("--filename"), "{said}");
}

#[test]
fn a_cluster_is_asked_and_nothing_is_written() {
    let server = Server::start("plan-cluster");
    let site = server.file("site.yaml", &site());
    assert_eq!(server.run(&["apply", "-f", &site]).0, 0);
    let file = server.file("policy.yaml", &policy("jumbo", "mtu: 9000"));
    // Nobody has reported links yet, as the status of an object is not applied with it.
    let (status, said) = server.run(&["plan", "-f", &file]);
    assert_eq!(status, 0, "{said}");
    assert_eq!(
        server.run(&["get", "nodenetconfpolicies", "-A"]),
        (0, "There are no nodenetconfpolicies.\n".to_owned())
    );
    let hand = "
apiVersion: nmstate.io/v1
kind: NodeNetworkState
metadata: {name: n1}
spec: {managed: true, nodeName: n1, desiredState: {interfaces: [{name: eth0, type: ethernet, mtu: 1400}]}}
";
    let hand = server.file("hand.yaml", hand);
    let (status, said) = server.run(&["plan", "-f", &hand]);
    assert_eq!(status, 3, "{said}");
    assert!(said.starts_with("n1\n  + interface eth0: ") && said.contains("mtu 1400"), "{said}");
    assert!(said.contains("(by hand)\nPlan: 1 of 2 nodes touched; 1 to add"), "{said}");
}

#[test]
fn a_card_that_no_node_has_is_told_before_anything_is_applied() {
    let uplink = "---
apiVersion: network.harvesterhci.io/v1beta1
kind: ClusterNetwork
metadata: {name: two}
---
apiVersion: network.harvesterhci.io/v1beta1
kind: VlanConfig
metadata: {name: wrong-card}
spec: {clusterNetwork: two, uplink: {nics: [eth9]}}
";
    let paths = files("plan-card", &[("site.yaml", &site()), ("uplink.yaml", uplink)]);
    let (_, said) = plan(&["-f", &paths[1], "--against", &paths[0]]);
    let wanted = "VlanConfig \"wrong-card\": NoLink: ";
    assert!(said.contains(wanted) && said.contains("the node has no link eth9"), "{said}");
}

/// Two nodes that an uplink connects to a cluster network, and a host network there.
fn connected() -> String {
    let object = |kind: &str, name: &str, spec: &str, status: &str| {
        format!(
            "---
apiVersion: network.harvesterhci.io/v1beta1
kind: {kind}
metadata: {{name: {name}, creationTimestamp: \"2026-01-01T00:00:00Z\"}}
spec: {{{spec}}}
status: {{{status}}}
"
        )
    };
    let network = object("ClusterNetwork", "lan", "", "conditions: [{type: ready, status: \"True\"}]");
    let uplink = object("VlanConfig", "up", "clusterNetwork: lan, uplink: {nics: [eth1]}", "");
    let host = object("HostNetworkConfig", "storage", "clusterNetwork: lan, vlanID: 20, mode: dhcp", "");
    site() + &network + &uplink + &host
}

#[test]
fn what_would_go_with_an_object_is_told_before_it_is_deleted() {
    let paths = files("plan-delete", &[("site.yaml", &connected()), ("policy.yaml", &policy("jumbo", "mtu: 9000"))]);
    let [site, policy] = &paths[..] else { panic!("{paths:?}") };
    let (status, said) = plan(&["--delete", "hnc/storage", "--against", site]);
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("  - interface lan-br.20: ") && said.contains(" 0 to add"), "{said}");
    assert!(said.contains("  ~ interface lan-bo: vlans [\"1\",\"20\"] -> [\"1\"]"), "the uplink stays: {said}");
    let with_group = plan(&["--delete", "hnc.network.harvesterhci.io/storage", "--against", site]);
    assert_eq!(with_group, (status, said));
    // Kinds have several names, and what is applied at the same time is planned too.
    let words = ["--delete", "HostNetworkConfig/storage", "vlanconfigs/up", "-f", policy, "--against", site];
    let (status, said) = plan(&words);
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("  - interface lan-bo: ") && said.contains("  + interface eth1: mtu 9000"), "{said}");
    // In a namespace.
    let (status, said) = plan(&["--delete", "nodenetconfpolicy/default/jumbo", "--against", site, policy]);
    assert!(status == 3 && said.contains("  - interface eth1: mtu 9000"), "{said}");
}

#[test]
fn a_deletion_that_cannot_be_is_not_planned() {
    let site = &files("plan-delete-not", &[("site.yaml", &connected())])[0];
    let (status, said) = plan(&["--delete", "clusternetwork/lan", "--against", site]);
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("ClusterNetwork \"lan\": ") && said.contains("a server would refuse this"), "{said}");
    let (status, said) = plan(&["--delete", "hnc/storge", "--against", site]);
    assert!(status == 3 && said.contains("there is no such HostNetworkConfig; there are storage"), "{said}");
    for (word, why) in [
        ("nodenetworkstate/n1", "what goes with objects of kind \"nodenetworkstate\" is not planned"),
        ("hnc/prod/storage", "objects of kind HostNetworkConfig have no namespace"),
    ] {
        let (status, said) = plan(&["--delete", word, "--against", site]);
        assert!(status == 2 && said.contains(why), "{said}");
    }
    let (status, said) = plan(&["--delete", "storage", "--against", site]);
    assert!(status == 2 && said.contains("write KIND/NAME"), "{said}");
}

#[test]
fn what_machines_use_is_not_planned_away() {
    let machine = "---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {namespace: default, name: vms, labels: {network.harvesterhci.io/clusternetwork: lan, network.harvesterhci.io/type: L2VlanNetwork}}
spec: {config: '{\"type\": \"bridge\", \"bridge\": \"lan-br\", \"vlan\": 30}'}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {namespace: default, name: db}
spec: {networks: [{name: lan, multus: {networkName: default/vms}}]}
status: {nodeName: n1}
";
    let paths = files("plan-machines", &[("site.yaml", &connected()), ("machine.yaml", machine)]);
    for word in ["vlanconfig/up", "net-attach-def/vms"] {
        let (status, said) = plan(&["--delete", word, "--against", &paths[0], &paths[1]]);
        assert!(status == 3 && said.contains("a server would refuse this"), "{word}: {said}");
        assert!(said.contains("db"), "{word}: {said}");
        assert!(!said.contains("nothing is planned for objects of these kinds"), "{said}");
    }
}

#[test]
fn what_is_for_nobody_and_what_is_held_back_is_told() {
    let nobody = policy("nobody", "mtu: 9000").replace("{name: eth1}]", "{name: eth77}]");
    let uplink = "---
apiVersion: network.harvesterhci.io/v1beta1
kind: VlanConfig
metadata: {name: nowhere}
spec: {clusterNetwork: lan, nodeSelector: {rack: zzz}, uplink: {nics: [eth0]}}
";
    let held = "---
apiVersion: netloom.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: slow}
spec: {paused: true}
---
apiVersion: netloom.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: back}
spec: {pinnedRevision: 3f2a9c01bd}
";
    let texts = [("site.yaml", connected()), ("held.yaml", held.to_owned()), ("new.yaml", nobody + uplink)];
    let texts = texts.each_ref().map(|(name, text)| (*name, text.as_str()));
    let paths = files("plan-nobody", &texts);
    let (_, said) = plan(&["-f", &paths[2], "--against", &paths[0], &paths[1]]);
    for wanted in [
        "NodeNetConfPolicy \"default/nobody\": NoMatchingInterface: ",
        "VlanConfig \"nowhere\": NoMatchingNode: no node is selected",
        "RolloutPolicy \"slow\" is paused: ",
        "RolloutPolicy \"back\" pins its nodes to revision 3f2a9c01bd: ",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn what_failed_before_is_told_with_what_would_come_on_top_of_it() {
    let paths = files("plan-failed", &[("site.yaml", &site()), ("policy.yaml", &policy("jumbo", "mtu: 9000"))]);
    let [site, policy] = &paths[..] else { panic!("{paths:?}") };
    let (_, compiled) = ended(Command::new(NETLOOM).args(["compile", "-f", site, policy]));
    let revision = compiled.split("---\n").find(|text| text.contains("kind: NetworkConfigRevision")).unwrap();
    let failed = "status: {phase: Failed, failedNode: n2, failedMessage: the kernel refused it}\n";
    let failed = &files("plan-failed", &[("failed.yaml", &format!("{revision}{failed}"))])[0];
    let (status, said) = plan(&["-f", policy, "--against", site, policy, failed]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("failed on n2 and is taken back from nodes (the kernel refused it)"), "{said}");
    let (_, said) = plan(&["-f", policy, "--against", site, failed]);
    assert!(!said.contains("failed on n2"), "nobody wants that one any more: {said}");
}

#[test]
fn objects_come_from_standard_input() {
    let site = &files("plan-piped", &[("site.yaml", &site())])[0];
    let mut planning = Command::new(NETLOOM)
        .args(["plan", "-f", "-", "--against", site])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    planning.stdin.take().unwrap().write_all(policy("jumbo", "mtu: 9000").as_bytes()).unwrap();
    let said = String::from_utf8(planning.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.starts_with("n1, n2\n  + interface eth1: mtu 9000"), "{said}");
}

#[test]
fn what_a_server_would_warn_of_is_said() {
    let objects = format!("{}/../../examples/objects/hostnet", env!("CARGO_MANIFEST_DIR"));
    let network = "{apiVersion: network.harvesterhci.io/v1beta1, kind: HostNetworkConfig, metadata: {name: leased}, spec: \
                   {clusterNetwork: cluster-1, vlanID: 2099, mode: dhcp, ips: {node1: 10.0.0.1/24}}}\n";
    let file = &files("plan-warned", &[("leased.yaml", network)])[0];
    let (_, said) = plan(&["-f", file, "--against", &objects]);
    assert!(said.contains("leased.yaml:1: HostNetworkConfig \"leased\": spec.ips is left unused"), "{said}");
}
