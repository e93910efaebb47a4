//! `netloom compile` from outside: the same results as the library's scenarios, for files.

use std::{
    path::Path,
    process::{Command, Output},
};

fn compile(scenario: &str, more: &[&str]) -> Output {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/compile")).join(scenario);
    Command::new(env!("CARGO_BIN_EXE_netloom"))
        .arg("compile")
        .arg("-f")
        .args([folder.join("nodes.yaml"), folder.join("input.yaml")])
        .args(more)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the program prints text")
}

#[test]
fn it_prints_what_the_controller_would_write() {
    for scenario in ["conflict-older-wins", "auto-both", "bad-unreadable", "hand-kept", "hand-bad", "two-states"] {
        let output = compile(scenario, &[]);
        let wanted = std::fs::read_to_string(format!(
            "{}/../../scenarios/compile/{scenario}/expect/stream.yaml",
            env!("CARGO_MANIFEST_DIR")
        ))
        .expect("the scenario has its expectation");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), wanted.as_str()), "{scenario}");
    }
}

#[test]
fn one_node_and_its_document() {
    let output = compile("conflict-older-wins", &["--node", "n2", "--host"]);
    let printed = text(&output.stdout);
    assert!(printed.contains("name: n2\n") && !printed.contains("name: n1\n"), "{printed}");
    let document =
        "---\n# The nmstate document of n2.\ninterfaces:\n- name: eth0\n  mtu: 9000\n- name: eth1\n  mtu: 1400\n";
    assert!(printed.ends_with(document), "{printed}");
    let json: serde_json::Value =
        serde_json::from_slice(&compile("conflict-older-wins", &["--node", "n2", "--host", "-o", "json"]).stdout)
            .expect("JSON was asked for");
    assert_eq!(json["hosts"]["n2"]["interfaces"][0]["mtu"], 9000);
    assert_eq!(json["kind"], "List");
}

#[test]
fn a_node_that_is_not_there_is_refused() {
    let output = compile("match-name", &["--node", "nobody"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no node \"nobody\""), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_node_that_reported_nothing_is_mentioned() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile-silent");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let file = folder.join("node.yaml");
    std::fs::write(&file, "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n").expect("a file for the test");
    let output = Command::new(env!("CARGO_BIN_EXE_netloom")).args(["compile", "-f"]).arg(&file).output();
    let output = output.expect("the program runs");
    assert_eq!(output.status.code(), Some(0));
    let remarks = text(&output.stderr);
    assert!(remarks.contains("without a NodeNetworkState") && remarks.contains("n1"), "{remarks}");
}

/// Scenarios with a base file, and what comes of them on nodes: the document, and what FRR runs with. `NETLOOM_BLESS=1`
/// writes it again.
#[test]
fn a_fabric_is_printed_as_each_node_has_it() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/compile"));
    let mut names: Vec<String> = std::fs::read_dir(root)
        .expect("there are scenarios")
        .map(|entry| entry.expect("a folder").file_name().into_string().expect("a name"))
        .filter(|name| root.join(name).join("base.yaml").exists())
        .collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let base = root.join(&name).join("base.yaml");
        let output = compile(&name, &["--host", "--frr", "--base", base.to_str().expect("a path")]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        let printed = text(&output.stdout);
        let found = &printed[printed.find("# The nmstate document of").expect("a document")..];
        let file = root.join(&name).join("expect/nodes.yaml");
        if std::env::var_os("NETLOOM_BLESS").is_some_and(|value| !value.is_empty() && value != "0") {
            std::fs::write(&file, found).expect("a file can be written");
        }
        let wanted = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(found, wanted, "{}; NETLOOM_BLESS=1 writes it again", file.display());
    }
}

#[test]
fn the_fabric_of_a_node_needs_no_network_state_but_a_base_file() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/compile/fabric-seed-6-1"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile-without-state");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let nodes = folder.join("nodes.yaml");
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: node1, labels: {worker-group: wg1}}\n";
    std::fs::write(&nodes, node).expect("a file for the test");
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
        command.args(["compile", "-f"]).arg(root.join("input.yaml")).arg(&nodes).args(more);
        command.output().expect("the program runs")
    };
    let base = format!("node1={}", root.join("base.yaml").display());
    let output = run(&["--frr", "--base", &base]);
    let printed = text(&output.stdout);
    let wanted = std::fs::read_to_string(root.join("expect/nodes.yaml")).expect("the scenario has its expectation");
    let frr = &wanted[wanted.find("# What FRR runs with on node1.").expect("FRR of the node")..];
    let frr = frr.split("---\n").next().expect("one document");
    assert!(printed.contains(frr), "{printed}\n{}", text(&output.stderr));
    assert!(!printed.contains("kind: NodeNetworkState"), "{printed}");
    let refused = run(&["--frr", "--base", &base.replace("node1=", "node7=")]);
    let why = text(&refused.stderr);
    assert!(refused.status.code() == Some(3) && why.contains("no base file for nodes with a fabric: node1"), "{why}");
    let documents = run(&["--host"]);
    assert!(text(&documents.stderr).contains("without the fabric"), "{}", text(&documents.stderr));
    let alone = run(&["--base", &base]);
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone.stderr));
}

/// A folder with files of one test, and the program's answer about them.
fn domains(name: &str, machine: &str, more: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let base = "<domain type='qemu'><memory unit='MiB'>96</memory><vcpu>3</vcpu><os><type>hvm</type></os>\
                <devices><serial type='null'/></devices></domain>";
    for (file, text) in
        [("vm.yaml", machine), ("base.xml", base), ("nics.xml", "<domain><devices><interface/></devices></domain>")]
    {
        std::fs::write(folder.join(file), text).expect("a file for the test");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    command
        .current_dir(&folder)
        .args(["compile", "-f", "vm.yaml", "--domain"])
        .args(more)
        .output()
        .expect("the program runs")
}

/// A machine with a NIC on a bridge that is down, and one of a plugin.
const MACHINE: &str = "
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Halted
  template:
    spec:
      domain: {devices: {interfaces: [{name: blue, bridge: {}, state: down}, {name: red, binding: {name: mine}}]}}
      networks: [{name: blue, multus: {networkName: blue}}, {name: red, multus: {networkName: red}}]
";

#[test]
fn a_machine_is_printed_as_its_domain() {
    let output = domains("compile-domain", MACHINE, &[]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(printed.contains("<name>default_web</name>"), "a server puts it into default: {printed}");
    assert!(printed.contains("ua-blue") && printed.contains("<link state='down'/>"), "{printed}");
    assert!(!printed.contains("ua-red"), "a plugin that nobody named owns its part: {printed}");

    let output = domains("compile-domain-base", MACHINE, &["--base", "base.xml", "--binding", "mine=tap,link-refresh"]);
    let printed = text(&output.stdout);
    for part in ["<domain type='qemu'>", "<vcpu>3</vcpu>", "<serial type='null'/>", "ua-blue", "ua-red"] {
        assert!(printed.replace('"', "'").contains(part), "{part}: {printed}");
    }
}

#[test]
fn a_domain_that_cannot_be_is_refused_in_words() {
    let bad = MACHINE.replace("{name: blue, multus: {networkName: blue}}, ", "");
    for (machine, words, status, why) in [
        (MACHINE, &["--base", "nics.xml"][..], 2, "--base nics.xml: "),
        (MACHINE, &["--base", "none.xml"][..], 2, "--base none.xml: "),
        (MACHINE, &["--base", "base.xml", "--base", "base.xml"][..], 2, "more than once"),
        (MACHINE, &["--binding", "mine=bridge"][..], 2, "expected NAME=tap"),
        (&bad, &[][..], 3, "web: failed to find network blue"),
        ("{apiVersion: v1, kind: Node, metadata: {name: n1}}", &[][..], 3, "no virtual machine in the files"),
    ] {
        let output = domains("compile-domain-bad", machine, words);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(why) && output.stdout.is_empty(), "{words:?}: {}", text(&output.stderr));
    }
    let alone =
        Command::new(env!("CARGO_BIN_EXE_netloom")).args(["compile", "-f", "vm.yaml", "--binding", "a=tap"]).output();
    let alone = alone.expect("the program runs");
    assert_eq!(alone.status.code(), Some(2), "only a domain has plugins: {}", text(&alone.stderr));
}
