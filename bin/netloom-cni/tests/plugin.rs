//! The plugin as a runtime calls it: by environment and standard input, with an agent behind its socket or without.

use std::{
    io::Write as _,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

use netloom_cnispec::{Answer, Call};
use serde_json::{Value, json};

/// A folder of a test's own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("netloom-cni-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("pods")).expect("a folder");
        Self(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("cni.sock")
    }

    fn config(&self) -> Vec<u8> {
        let socket = self.socket();
        json!({
            "cniVersion": "1.1.0", "name": "netloom", "type": "netloom-cni", "agentSocket": socket.to_str(),
            "cni.dev/valid-attachments": [], "prevResult": {},
        })
        .to_string()
        .into_bytes()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn call_as(program: &Path, verb: &str, netns: &str, input: &[u8]) -> Output {
    let mut child = Command::new(program)
        .env_clear()
        .envs([("CNI_COMMAND", verb), ("CNI_CONTAINERID", "c1"), ("CNI_NETNS", netns), ("CNI_IFNAME", "eth0")])
        .envs([("CNI_PATH", "/opt/cni/bin"), ("CNI_ARGS", "K8S_POD_NAMESPACE=default;K8S_POD_NAME=a")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the plugin runs");
    // It may answer before it has read everything.
    child.stdin.take().expect("a pipe").write_all(input).ok();
    child.wait_with_output().expect("the plugin ends")
}

fn call(verb: &str, input: &[u8]) -> Output {
    call_as(Path::new(env!("CARGO_BIN_EXE_netloom-cni")), verb, "/run/netns/a", input)
}

fn code(output: &Output) -> u64 {
    assert!(!output.status.success());
    let value: Value = serde_json::from_slice(&output.stdout).expect("an error is JSON on standard output");
    assert!(value["cniVersion"].is_string() && value["msg"].is_string(), "{value}");
    value["code"].as_u64().expect("a code")
}

#[test]
fn what_the_runtime_passes_goes_to_the_agent_and_its_answer_comes_back() {
    let folder = Folder::new("served");
    let listener = UnixListener::bind(folder.socket()).expect("a socket");
    let agent = thread::spawn(move || {
        let mut calls = Vec::new();
        for ok in [true, false] {
            let (mut stream, _) = listener.accept().expect("a caller");
            calls.push(Call::receive(&mut stream).expect("a call"));
            Answer { ok, output: format!("{{\"ok\":{ok}}}") }.send(&mut stream).expect("the caller listens");
        }
        calls
    });
    let first = call("ADD", &folder.config());
    assert!(first.status.success() && first.stderr.is_empty());
    assert_eq!(String::from_utf8_lossy(&first.stdout).trim(), r#"{"ok":true}"#);
    let second = call("DEL", &folder.config());
    assert!(!second.status.success());
    let calls = agent.join().expect("the agent ends");
    assert_eq!(calls[0].config.as_bytes(), folder.config());
    assert_eq!(calls[0].variables.get("CNI_CONTAINERID"), Some("c1"));
    assert_eq!(calls[1].variables.get("CNI_COMMAND"), Some("DEL"));
}

#[test]
fn while_the_agent_is_away_only_what_is_detached_is_detached() {
    let folder = Folder::new("away");
    for (verb, expected) in [("ADD", 11), ("CHECK", 11), ("GC", 11), ("STATUS", 50)] {
        assert_eq!(code(&call(verb, &folder.config())), expected, "{verb}");
    }
    let detached = call("DEL", &folder.config());
    assert!(detached.status.success() && detached.stdout.trim_ascii().is_empty());
    std::fs::write(folder.0.join("pods/c1"), "").expect("a file");
    assert_eq!(code(&call("DEL", &folder.config())), 11);
    // Somebody is there who answers nothing.
    let listener = UnixListener::bind(folder.socket()).expect("a socket");
    let agent = thread::spawn(move || drop(listener.accept()));
    assert_eq!(code(&call("ADD", &folder.config())), 11);
    agent.join().expect("the agent ends");
}

#[test]
fn what_cannot_be_read_is_refused_without_the_agent() {
    let folder = Folder::new("bad");
    assert_eq!(code(&call("ADD", b"\xff")), 6);
    assert_eq!(code(&call("ADD", b"")), 6);
    assert_eq!(code(&call("ADD", &vec![b' '; (1 << 20) + 1])), 6);
    assert_eq!(code(&call("ADD", br#"{"cniVersion":"0.2.0","name":"n"}"#)), 1);
    assert_eq!(code(&call("ADD", br#"{"cniVersion":"1.0.0"}"#)), 7);
    assert_eq!(code(&call("", &folder.config())), 4);
    let own = call_as(Path::new(env!("CARGO_BIN_EXE_netloom-cni")), "ADD", "/proc/self/ns/net", &folder.config());
    assert_eq!(code(&own), 8);
    let versions = call("VERSION", br#"{"cniVersion":"0.4.0"}"#);
    assert!(versions.status.success());
    let versions: Value = serde_json::from_slice(&versions.stdout).expect("JSON");
    assert_eq!(versions["supportedVersions"].as_array().map(Vec::len), Some(5));
}

#[test]
fn as_fakeipam_it_gives_the_addresses_of_its_configuration() {
    let folder = Folder::new("fake");
    let program = folder.0.join("fakeipam");
    symlink(env!("CARGO_BIN_EXE_netloom-cni"), &program).expect("a link");
    let config = br#"{"cniVersion":"0.3.1","name":"n","ipam":{"type":"fakeipam","ips":[{"ipcidr":"192.0.2.5/24","version":4}]}}"#;
    let added = call_as(&program, "ADD", "/run/netns/a", config);
    assert!(added.status.success());
    let result: Value = serde_json::from_slice(&added.stdout).expect("JSON");
    assert_eq!(result["ips"], json!([{"address": "192.0.2.5/24", "version": "4"}]));
    assert_eq!(code(&call_as(&program, "ADD", "/run/netns/a", br#"{"cniVersion":"0.3.1","name":"n"}"#)), 7);
    for verb in ["DEL", "CHECK"] {
        let nothing = call_as(&program, verb, "/run/netns/a", config);
        assert!(nothing.status.success() && nothing.stdout.trim_ascii().is_empty());
    }
}
