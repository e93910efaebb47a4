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
    let (status, printed) = plan(&["-f", new, "--against", site, old]);
    assert_eq!(status, 3, "{printed}");
    assert!(printed.starts_with("n1, n2\n  ~ interface eth1: ") && printed.contains("mtu 9000 -> 1400"), "{printed}");
    assert!(printed.contains("    reaches 10.0.1.0/24 over eth1\n"), "{printed}");
    assert_eq!(plan(&["-f", old, "--against", site, old]), (0, "Nothing would change for 2 nodes.\n".to_owned()));

    let (status, printed) = plan(&["-f", old, "--against", site, "--node", "n2", "-o", "json"]);
    let data: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((status, &data["groups"][0]["nodes"]), (3, &serde_json::json!(["n2"])), "{printed}");
    assert_eq!(data["groups"][0]["changes"][0]["fields"][0]["after"], 9000);
}

#[test]
fn what_would_go_wrong_is_reported() {
    let first = policy("a", "mtu: 9000").replace("{name: a}", "{name: a, creationTimestamp: \"2026-01-01T00:00:00Z\"}");
    let paths =
        files("plan-trouble", &[("site.yaml", &site()), ("first.yaml", &first), ("b.yaml", &policy("b", "mtu: 1400"))]);
    let [site, first, second] = &paths[..] else { panic!("{paths:?}") };
    let (status, printed) = plan(&["-f", second, "--against", site, first]);
    assert_eq!(status, 0, "{printed}");
    assert!(
        printed.contains("warning: NodeNetConfPolicy \"default/b\": PolicyConflict: ")
            && printed.contains("Nothing would change"),
        "{printed}"
    );
    assert_eq!(printed.matches("PolicyConflict").count(), 1, "stated once: {printed}");
    let (_, printed) = plan(&["-f", second, "--against", site, first, second]);
    assert!(
        printed.contains("NodeNetConfPolicy \"default/b\": PolicyConflict: "),
        "also when it is so already: {printed}"
    );
    let (_, printed) = plan(&["-f", second, "--against", site, "--node", "n1"]);
    assert!(printed.contains("Plan: 1 of 1 node touched"), "{printed}");
    let (status, printed) = plan(&["-f", second, "--against", site, "--node", "n9"]);
    assert!(status == 3 && printed.contains("there is no node \"n9\""), "{printed}");
    let refused = files("plan-refused", &[("refused.yaml", &policy("b", "mtu: large"))]);
    let (status, printed) = plan(&["-f", &refused[0], "--against", site]);
    assert!(status == 3 && printed.contains("refused.yaml") && printed.contains("mtu"), "{printed}");
    assert!(printed.contains("nothing is planned") && !printed.contains("Nothing would change"), "{printed}");
    let (status, printed) = plan(&["--revision", "abc", "--against", site]);
    assert!(status == 3 && printed.contains("there is no NetworkConfigRevision \"abc\"; there is none"), "{printed}");
    let (status, printed) = plan(&["--against", site]);
    assert!(status == 2 && printed.contains("--filename"), "{printed}");
}

#[test]
fn a_cluster_is_asked_and_nothing_is_written() {
    let server = Server::start("plan-cluster");
    let site = server.file("site.yaml", &site());
    assert_eq!(server.run(&["apply", "-f", &site]).0, 0);
    let file = server.file("policy.yaml", &policy("jumbo", "mtu: 9000"));
    // Nobody has reported links yet, as the status of an object is not applied with it.
    let (status, printed) = server.run(&["plan", "-f", &file]);
    assert_eq!(status, 0, "{printed}");
    assert_eq!(
        server.run(&["get", "nodenetconfpolicies", "-A"]),
        (0, "There are no nodenetconfpolicies.\n".to_owned())
    );
    let manual = "
apiVersion: nmstate.io/v1
kind: NodeNetworkState
metadata: {name: n1}
spec: {managed: true, nodeName: n1, desiredState: {interfaces: [{name: eth0, type: ethernet, mtu: 1400}]}}
";
    let manual = server.file("hand.yaml", manual);
    let (status, printed) = server.run(&["plan", "-f", &manual]);
    assert_eq!(status, 3, "{printed}");
    assert!(printed.starts_with("n1\n  + interface eth0: ") && printed.contains("mtu 1400"), "{printed}");
    assert!(printed.contains("(manual)\nPlan: 1 of 2 nodes touched; 1 to add"), "{printed}");
}

#[test]
fn a_card_that_no_node_has_is_reported_before_anything_is_applied() {
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
    let (_, printed) = plan(&["-f", &paths[1], "--against", &paths[0]]);
    let wanted = "VlanConfig \"wrong-card\": NoLink: ";
    assert!(printed.contains(wanted) && printed.contains("the node has no link eth9"), "{printed}");
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
fn what_would_go_with_an_object_is_reported_before_it_is_deleted() {
    let paths = files("plan-delete", &[("site.yaml", &connected()), ("policy.yaml", &policy("jumbo", "mtu: 9000"))]);
    let [site, policy] = &paths[..] else { panic!("{paths:?}") };
    let (status, printed) = plan(&["--delete", "hnc/storage", "--against", site]);
    assert_eq!(status, 3, "{printed}");
    assert!(printed.contains("  - interface lan-br.20: ") && printed.contains(" 0 to add"), "{printed}");
    assert!(printed.contains("  ~ interface lan-bo: vlans [\"1\",\"20\"] -> [\"1\"]"), "the uplink stays: {printed}");
    let with_group = plan(&["--delete", "hnc.network.harvesterhci.io/storage", "--against", site]);
    assert_eq!(with_group, (status, printed));
    // Kinds have several names, and what is applied at the same time is planned too.
    let words = ["--delete", "HostNetworkConfig/storage", "vlanconfigs/up", "-f", policy, "--against", site];
    let (status, printed) = plan(&words);
    assert_eq!(status, 3, "{printed}");
    assert!(
        printed.contains("  - interface lan-bo: ") && printed.contains("  + interface eth1: mtu 9000"),
        "{printed}"
    );
    // In a namespace.
    let (status, printed) = plan(&["--delete", "nodenetconfpolicy/default/jumbo", "--against", site, policy]);
    assert!(status == 3 && printed.contains("  - interface eth1: mtu 9000"), "{printed}");
}

#[test]
fn a_deletion_that_cannot_be_is_not_planned() {
    let site = &files("plan-delete-not", &[("site.yaml", &connected())])[0];
    let (status, printed) = plan(&["--delete", "clusternetwork/lan", "--against", site]);
    assert_eq!(status, 3, "{printed}");
    assert!(
        printed.contains("ClusterNetwork \"lan\": ") && printed.contains("a server would refuse this"),
        "{printed}"
    );
    let (status, printed) = plan(&["--delete", "hnc/storge", "--against", site]);
    assert!(status == 3 && printed.contains("there is no such HostNetworkConfig; there are storage"), "{printed}");
    for (word, why) in [
        ("nodenetworkstate/n1", "what goes with objects of kind \"nodenetworkstate\" is not planned"),
        ("hnc/prod/storage", "objects of kind HostNetworkConfig have no namespace"),
    ] {
        let (status, printed) = plan(&["--delete", word, "--against", site]);
        assert!(status == 2 && printed.contains(why), "{printed}");
    }
    let (status, printed) = plan(&["--delete", "storage", "--against", site]);
    assert!(status == 2 && printed.contains("write KIND/NAME"), "{printed}");
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
        let (status, printed) = plan(&["--delete", word, "--against", &paths[0], &paths[1]]);
        assert!(status == 3 && printed.contains("a server would refuse this"), "{word}: {printed}");
        assert!(printed.contains("db"), "{word}: {printed}");
        assert!(!printed.contains("nothing is planned for objects of these kinds"), "{printed}");
    }
}

#[test]
fn a_machine_that_runs_is_planned_nic_by_nic() {
    let spec = |state: &str, cores: u32| {
        format!(
            "{{domain: {{cpu: {{cores: {cores}}}, devices: {{interfaces: [{{name: blue, bridge: {{}}, state: {state}}}]}}}}, \
             networks: [{{name: blue, multus: {{networkName: blue}}}}]}}"
        )
    };
    let object = |kind: &str, spec: &str| {
        format!(
            "---\napiVersion: kubevirt.io/v1\nkind: {kind}\nmetadata: {{namespace: default, name: web}}\nspec: {spec}\n"
        )
    };
    let machine =
        |spec: &str| object("VirtualMachine", &format!("{{runStrategy: Always, template: {{spec: {spec}}}}}"));
    let running = machine(&spec("down", 1)) + &object("VirtualMachineInstance", &spec("down", 1));
    let paths = files(
        "plan-links",
        &[("site.yaml", &connected()), ("running.yaml", &running), ("new.yaml", &machine(&spec("up", 2)))],
    );
    let (status, printed) = plan(&["-f", &paths[2], "--against", &paths[0], &paths[1]]);
    assert_eq!(status, 3, "{printed}");
    for line in ["machine default/web:", "interface blue gets its link while it runs", "cpu.cores waits until"] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}

#[test]
fn what_is_for_nobody_and_what_is_held_back_is_reported() {
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
    let (_, printed) = plan(&["-f", &paths[2], "--against", &paths[0], &paths[1]]);
    for wanted in [
        "NodeNetConfPolicy \"default/nobody\": NoMatchingInterface: ",
        "VlanConfig \"nowhere\": NoMatchingNode: no node is selected",
        "RolloutPolicy \"slow\" is paused: ",
        "RolloutPolicy \"back\" pins its nodes to revision 3f2a9c01bd: ",
    ] {
        assert!(printed.contains(wanted), "{wanted}: {printed}");
    }
}

#[test]
fn what_failed_before_is_reported_with_what_would_come_on_top_of_it() {
    let paths = files("plan-failed", &[("site.yaml", &site()), ("policy.yaml", &policy("jumbo", "mtu: 9000"))]);
    let [site, policy] = &paths[..] else { panic!("{paths:?}") };
    let (_, compiled) = ended(Command::new(NETLOOM).args(["compile", "-f", site, policy]));
    let revision = compiled.split("---\n").find(|text| text.contains("kind: NetworkConfigRevision")).unwrap();
    let failed = "status: {phase: Failed, failedNode: n2, failedMessage: the kernel refused it}\n";
    let failed = &files("plan-failed", &[("failed.yaml", &format!("{revision}{failed}"))])[0];
    let (status, printed) = plan(&["-f", policy, "--against", site, policy, failed]);
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("failed on n2 and is taken back from nodes (the kernel refused it)"), "{printed}");
    let (_, printed) = plan(&["-f", policy, "--against", site, failed]);
    assert!(!printed.contains("failed on n2"), "nobody wants that one any more: {printed}");
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
    let printed = String::from_utf8(planning.wait_with_output().unwrap().stdout).unwrap();
    assert!(printed.starts_with("n1, n2\n  + interface eth1: mtu 9000"), "{printed}");
}

#[test]
fn what_a_server_would_warn_of_is_reported() {
    let objects = format!("{}/../../examples/objects/hostnet", env!("CARGO_MANIFEST_DIR"));
    let network = "{apiVersion: network.harvesterhci.io/v1beta1, kind: HostNetworkConfig, metadata: {name: leased}, spec: \
                   {clusterNetwork: cluster-1, vlanID: 2099, mode: dhcp, ips: {node1: 10.0.0.1/24}}}\n";
    let file = &files("plan-warned", &[("leased.yaml", network)])[0];
    let (_, printed) = plan(&["-f", file, "--against", &objects]);
    assert!(printed.contains("leased.yaml:1: HostNetworkConfig \"leased\": spec.ips is left unused"), "{printed}");
}
