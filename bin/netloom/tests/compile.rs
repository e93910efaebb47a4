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
