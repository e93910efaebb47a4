//! The verbs for people, against an embedded API server that the same program runs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod embedded;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, Stdio},
};

use self::embedded::{NETLOOM, Server, ended};

/// Without a server: `validate` needs none.
fn validate(files: &[&str]) -> (i32, String) {
    ended(Command::new(NETLOOM).arg("validate").arg("-f").args(files))
}

fn example(path: &str) -> String {
    format!("{}/../../examples/objects/{path}", env!("CARGO_MANIFEST_DIR"))
}

const VRF: &str = "\
apiVersion: network.t-caas.telekom.com/v1alpha1
kind: VRF
metadata:
  name: blue
spec:
  vrf: blue
  vni: 10200
  routeTarget: 64500:10200
";

/// What is reported, but for the warning that no front end serves the kind yet.
fn without_planned(printed: &str) -> String {
    printed.split_inclusive('\n').filter(|line| !line.contains("no front end of this version serves")).collect()
}

#[test]
fn objects_are_applied_listed_and_deleted() {
    let server = Server::start("verbs-life");
    let run = |words: &[&str]| {
        let (status, printed) = server.run(words);
        (status, without_planned(&printed))
    };
    let file = server.file("vrf.yaml", VRF);
    let (status, printed) = run(&["apply", "-f", &file]);
    assert_eq!((status, printed.as_str()), (0, "VRF \"blue\" created\n"));
    assert_eq!(run(&["apply", "-f", &file]), (0, "VRF \"blue\" unchanged\n".to_owned()));
    let changed = server.file("changed.yaml", &VRF.replace("10200", "10201"));
    assert_eq!(run(&["apply", "-f", &changed]), (0, "VRF \"blue\" configured\n".to_owned()));

    let dry = |file: &str| run(&["apply", "--dry-run", "-f", file]);
    assert_eq!(dry(&changed), (0, "VRF \"blue\" unchanged (dry run)\n".to_owned()));
    assert_eq!(dry(&file), (0, "VRF \"blue\" configured (dry run)\n".to_owned()));
    let new = server.file("new.yaml", &VRF.replace("blue", "red").replace("10200", "10300"));
    assert_eq!(dry(&new), (0, "VRF \"red\" created (dry run)\n".to_owned()));

    let (status, table) = run(&["get", "vrf"]);
    assert!(status == 0 && table.starts_with("NAME") && table.contains("blue"), "{table}");
    let (status, yaml) = run(&["get", "vrfs", "blue", "-o", "yaml"]);
    assert!(status == 0 && yaml.contains("vni: 10201") && !yaml.contains("managedFields"), "{yaml}");
    let (_, all) = run(&["get", "vrfs", "blue", "-o", "json", "--show-managed-fields"]);
    assert!(all.contains("netloom-cli"), "{all}");

    assert_eq!(run(&["delete", "vrf", "blue"]), (0, "VRF \"blue\" deleted\n".to_owned()));
    let (status, printed) = run(&["get", "vrf", "blue"]);
    assert!(status == 3 && printed.contains("not found"), "{printed}");
    assert_eq!(run(&["get", "vrf"]), (0, "There are no vrfs.\n".to_owned()));
}

#[test]
fn what_the_server_refuses_is_reported_with_its_place() {
    let server = Server::start("verbs-refused");
    let file = server.file("vrf.yaml", &VRF.replace("vni: 10200", "vni: 0"));
    let (status, printed) = server.run(&["apply", "-f", &file]);
    assert_eq!(status, 3, "{printed}");
    assert!(printed.contains("vrf.yaml:7: VRF \"blue\"") && printed.contains("spec.vni"), "{printed}");
    let (status, printed) = server.run(&["get", "nonsense"]);
    assert!(status == 3 && printed.contains("no kind `nonsense`"), "{printed}");
    let unknown = server.file("unknown.yaml", &VRF.replace("vni:", "vnni:"));
    let (status, printed) = server.run(&["apply", "-f", &unknown]);
    assert!(status == 3 && printed.contains("vnni"), "{printed}");
    let kind = server.file("kind.yaml", &VRF.replace("kind: VRF", "kind: VFR"));
    let (status, printed) = server.run(&["apply", "-f", &kind]);
    assert!(status == 3 && printed.contains("no kind VFR"), "{printed}");
    let (status, printed) = server.run(&["apply", "-f", "/nowhere.yaml"]);
    assert!(status == 2 && printed.contains("/nowhere.yaml"), "{printed}");
}

#[test]
fn what_is_reported_twice_is_refused_before_anything_is_sent() {
    let server = Server::start("verbs-twice");
    let red = VRF.replace("blue", "red").replace("10200", "10300");
    assert_eq!(server.run(&["apply", "-f", &server.file("red.yaml", &red)]).0, 0);
    let both = format!("{}---\n{VRF}  vni: 10201\n", red.replace("10300", "10301"));
    let twice = server.file("twice.yaml", &both);
    let (status, found) = validate(&[&twice]);
    assert_eq!(status, 3, "{found}");
    let why = without_planned(&found).lines().take(2).collect::<Vec<_>>().join("\n");
    assert!(why.contains("key \"vni\" already set in map"), "{why}");
    for words in [&["apply"][..], &["apply", "--dry-run"], &["plan"], &["delete"]] {
        let (status, printed) = server.run(&[words, &["-f", &twice]].concat());
        assert!(status == 3 && printed.contains(&why), "{words:?}: {status} {printed}");
    }
    let (_, left) = server.run(&["get", "vrf", "-o", "yaml"]);
    assert!(left.contains("vni: 10300") && !left.contains("blue"), "{left}");
}

#[test]
fn an_object_that_something_holds_is_not_called_deleted() {
    let server = Server::start("verbs-held");
    let held = VRF.replace("  name: blue\n", "  name: blue\n  finalizers: [example.org/hold]\n");
    assert_eq!(server.run(&["apply", "-f", &server.file("held.yaml", &held)]).0, 0);
    let leaving = "VRF \"blue\" is being deleted; held by example.org/hold\n";
    for _ in 0..2 {
        assert_eq!(server.run(&["delete", "vrf", "blue"]), (0, leaving.to_owned()));
    }
    let (status, printed) = server.run(&["delete", "vrf", "blue", "--wait", "--timeout", "1"]);
    assert_eq!(status, 1, "{printed}");
    assert!(printed.contains("VRF \"blue\" is not gone after 1 seconds; held by example.org/hold. "), "{printed}");
    let mut waiting = Command::new(NETLOOM)
        .args(["delete", "vrf", "blue", "--wait"])
        .env("KUBECONFIG", server.folder.join("kubeconfig"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(waiting.stderr.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    assert_eq!(line, leaving);
    let (status, warned) = server.run(&["apply", "-f", &server.file("free.yaml", VRF)]);
    assert!(status == 0 && warned.contains("is being deleted, and this goes with it; apply it again"), "{warned}");
    line.clear();
    printed.read_line(&mut line).unwrap();
    assert_eq!((waiting.wait().unwrap().code(), line.as_str()), (Some(0), "VRF \"blue\" deleted\n"));
}

#[test]
fn what_the_server_warns_of_is_reported() {
    let server = Server::start("verbs-warned");
    let nowhere = "\
apiVersion: network.t-caas.telekom.com/v1alpha1
kind: Destination
metadata:
  name: nowhere
spec:
  vrfRef: blue
  prefixes: []
";
    let unserved = "\
apiVersion: network.t-caas.telekom.com/v1alpha1
kind: MirrorTarget
metadata:
  name: far
spec:
  type: l3gre
  destinationIP: 192.0.2.200
  destinationVrf: blue
  sourceLoopback: lo.mir
";
    let both = server.file("both.yaml", &format!("{VRF}---\n{nowhere}---\n{unserved}"));
    let (_, found) = validate(&[&both]);
    let why = "spec.prefixes is empty: nothing is reachable through this destination";
    assert!(found.contains(&format!("Destination \"nowhere\": warning: {why}")), "{found}");
    let warning = format!("Destination \"nowhere\": {why}\n");
    for verb in ["plan", "apply"] {
        let (_, printed) = server.run(&[verb, "-f", &both]);
        assert!(
            printed.contains("MirrorTarget \"far\": no front end of this version serves this kind"),
            "{verb}: {printed}"
        );
        let printed = without_planned(&printed);
        let line = printed.split_inclusive('\n').find(|line| line.starts_with("warning: ")).unwrap_or_default();
        assert!(line.contains("both.yaml:") && line.ends_with(&warning), "{verb}: {printed}");
    }
}

#[test]
fn a_wait_that_is_interrupted_says_what_goes_on() {
    let server = Server::start("verbs-interrupted");
    // Nobody is there who says that it is in place.
    let network = "apiVersion: network.harvesterhci.io/v1beta1\nkind: ClusterNetwork\nmetadata: {name: lan}\n";
    // Whoever runs the tests may have been asked not to listen to it.
    let mut waiting = Command::new("env")
        .args(["--default-signal=INT", NETLOOM, "apply", "--wait", "-f", &server.file("network.yaml", network)])
        .env("KUBECONFIG", server.folder.join("kubeconfig"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(waiting.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(printed.next().unwrap(), "ClusterNetwork \"lan\" created");
    assert_eq!(printed.next().unwrap(), "ClusterNetwork \"lan\": nothing is reported yet");
    let process = nix::unistd::Pid::from_raw(waiting.id().try_into().unwrap());
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGINT).unwrap();
    let left: Vec<String> = printed.collect();
    assert_eq!(left, ["interrupted: what was applied stays, and goes on without being watched"]);
    assert_eq!(waiting.wait().unwrap().signal(), Some(2), "a shell makes 130 of it");
}

#[test]
fn a_list_of_kubeconfigs_is_read_as_one() {
    let server = Server::start("verbs-listed");
    let own = server.folder.join("kubeconfig").display().to_string();
    let get = |files: &str| ended(Command::new(NETLOOM).args(["get", "vrf"]).env("KUBECONFIG", files));
    assert_eq!(get(&format!("/nonexistent:{own}")).0, 0);
    let (status, printed) = get("/nonexistent");
    assert!(status == 2 && printed.contains("cannot read the kubeconfig /nonexistent: No such file"), "{printed}");
    assert!(printed.contains("--kubeconfig FILE or KUBECONFIG"), "{printed}");
}

#[test]
fn an_empty_kubeconfig_variable_counts_as_unset() {
    let server = Server::start("verbs-unset");
    let home = server.folder.join("home");
    fs::create_dir_all(home.join(".kube")).unwrap();
    fs::copy(server.folder.join("kubeconfig"), home.join(".kube/config")).unwrap();
    let run = |files: &str, words: &[&str]| {
        ended(Command::new(NETLOOM).args(words).env("KUBECONFIG", files).env("HOME", &home))
    };
    for words in
        [["get", "vrf"].as_slice(), &["gen", "kubeconfig", "--controller"], &["get", "vrf", "--kubeconfig", ""]]
    {
        for files in ["", ":"] {
            let (status, printed) = run(files, words);
            assert_eq!(status, 0, "KUBECONFIG={files} netloom {words:?}: {printed}");
        }
    }
    let (status, printed) = run("", &["rollout", "retry", "0123456789"]);
    assert!(status == 3 && printed.contains("there is no NetworkConfigRevision"), "{printed}");
    fs::remove_dir_all(home.join(".kube")).unwrap();
    let (status, printed) = run("", &["get", "vrf"]);
    assert!(status == 2 && printed.contains("no cluster is known"), "{printed}");
}

#[test]
fn a_server_that_is_not_there_is_named_with_its_address() {
    let mut server = Server::start("verbs-gone");
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let (status, printed) = server.run(&["get", "vrf"]);
    assert_eq!(status, 2, "{printed}");
    for word in ["cannot reach https://127.0.0.1:", "kubeconfig)", "onnection refused", "is the server running?"] {
        assert!(printed.contains(word), "{word:?} in {printed}");
    }
}

#[test]
fn files_are_checked_against_the_cluster() {
    let server = Server::start("verbs-against");
    let first = server.file("vrf.yaml", VRF);
    assert_eq!(server.run(&["apply", "-f", &first]).0, 0);
    let kubeconfig = server.folder.join("kubeconfig").display().to_string();
    let second = server.file("second.yaml", &VRF.replace("blue", "red"));
    assert_eq!(validate(&[&second]).0, 0, "alone it is fine");
    let (status, printed) = server.run(&["validate", "-f", &second, "--kubeconfig", &kubeconfig]);
    assert!(status == 3 && printed.contains("second.yaml:7: VRF \"red\""), "{printed}");
    assert_eq!(server.run(&["validate", "-f", &first, "--kubeconfig", &kubeconfig]).0, 0, "itself is no other object");
}

#[test]
fn the_help_of_apply_lists_every_exit_status() {
    let (status, printed) = ended(Command::new(NETLOOM).args(["apply", "--help"]));
    assert_eq!(status, 0, "{printed}");
    let (_, exits) = printed.split_once("Exit status: ").unwrap();
    for number in ["0 done", "1 with --wait", "2 wrong usage", "3 refused"] {
        assert!(exits.contains(number), "{number}: {exits}");
    }
}

#[test]
fn a_reference_out_of_the_files_says_where_was_looked_and_how_to_give_the_rest() {
    let server = Server::start("verbs-reference");
    let uplink = server.file(
        "uplink.yaml",
        "apiVersion: network.harvesterhci.io/v1beta1\nkind: VlanConfig\nmetadata: {name: a}\nspec:\n  clusterNetwork: \
         storage\n  uplink: {nics: [eth1]}\n",
    );
    let (status, printed) = validate(&[&uplink]);
    assert_eq!(status, 3, "{printed}");
    for words in ["there is no such cluster network", "only the given files were looked at", "--kubeconfig FILE"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let kubeconfig = server.folder.join("kubeconfig").display().to_string();
    let (status, printed) = server.run(&["validate", "-f", &uplink, "--kubeconfig", &kubeconfig]);
    assert!(status == 3 && printed.contains("there is no such cluster network"), "{printed}");
    assert!(!printed.contains("given files"), "the cluster was looked at: {printed}");
    let network = "apiVersion: network.harvesterhci.io/v1beta1\nkind: ClusterNetwork\nmetadata: {name: storage}\n";
    let (status, printed) = validate(&[&uplink, &server.file("network.yaml", network)]);
    assert!(!printed.contains("there is no such cluster network"), "{status} {printed}");
}

#[test]
fn an_object_without_a_namespace_meets_itself_in_the_cluster() {
    let server = Server::start("verbs-namespace");
    let state = server.file(
        "state.yaml",
        "apiVersion: nmstate.io/v1\nkind: NodeNetworkState\nmetadata:\n  name: node1\nspec:\n  nodeName: node1\n  managed: false\n",
    );
    assert_eq!(server.run(&["apply", "-f", &state]).0, 0);
    let kubeconfig = server.folder.join("kubeconfig").display().to_string();
    let (status, printed) = server.run(&["validate", "-f", &state, "--kubeconfig", &kubeconfig]);
    assert!(status == 0 && !printed.contains("warning"), "{printed}");
}

#[test]
fn a_controller_without_a_cluster_stops_when_asked_to() {
    let mut server = Server::start("verbs-controller");
    // Its keys stand in for those of a webhook; it is gone before the controller asks it anything.
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let keys = server.folder.join("data/pki");
    let mut controller = Command::new(NETLOOM)
        .args(["controller", "--webhook-listen", "127.0.0.1:0", "--webhook-cert"])
        .arg(keys.join("ca.crt"))
        .arg("--webhook-key")
        .arg(keys.join("ca.key"))
        .arg("--webhook-client-ca")
        .arg(keys.join("ca.crt"))
        .env("KUBECONFIG", server.folder.join("kubeconfig"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut printed = BufReader::new(controller.stdout.take().unwrap());
    printed.read_line(&mut line).unwrap();
    assert!(line.starts_with("webhook https://127.0.0.1:"), "{line}");
    let process = nix::unistd::Pid::from_raw(controller.id().try_into().unwrap());
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(controller.wait().unwrap().success());
}

#[test]
fn every_example_is_accepted() {
    let (status, printed) = validate(&[&example("")]);
    assert_eq!(status, 0, "{printed}");
}

#[test]
fn files_are_checked_against_each_other() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verbs-each-other");
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let both = file("both.yaml", &format!("{VRF}---\n{}", VRF.replace("blue", "red")));
    let (status, printed) = validate(&[&both]);
    assert!(status == 3 && printed.contains("both.yaml:16: VRF \"red\": spec.vni"), "{printed}");
    for (text, words) in [
        (VRF.replace("vni:", "vnni:"), "one.yaml:7: VRF \"blue\": spec.vnni: unknown field; did you mean vni?"),
        (
            VRF.replace("VRF", "VFR"),
            "one.yaml:2: VFR \"blue\": network.t-caas.telekom.com has no kind VFR; did you mean VRF?",
        ),
        (VRF.replace("v1alpha1", "v9"), "has version v1alpha1, not v9"),
        (VRF.replace("name: blue", "name: Blue!"), "one.yaml:4: VRF \"Blue!\": metadata.name"),
        (format!("{VRF}spec: {{}}\n"), "already set in map"),
        ("just: text\n".to_owned(), "not a Kubernetes object"),
        ("a: [".to_owned(), "one.yaml:1: not YAML"),
        ("interfaces: []\n".to_owned(), "`netloom state diff"),
    ] {
        let (status, printed) = validate(&[&file("one.yaml", &text)]);
        assert!(status == 3 && printed.contains(words), "{words}: {status} {printed}");
    }
    let twice = file("twice.yaml", &format!("{VRF}---\n{VRF}"));
    let (status, printed) = validate(&[&twice]);
    assert!(status == 3 && printed.contains("twice.yaml:13: VRF \"blue\": the same object is in"), "{printed}");
    let (status, printed) = ended(Command::new(NETLOOM).args(["validate", "-o", "json", "-f", &both]));
    assert!(status == 3 && printed.contains("\"field\": \"spec."), "{printed}");
}

#[test]
fn files_without_objects_are_not_what_was_meant() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verbs-empty");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("notes.txt"), VRF).unwrap();
    let folder = folder.display().to_string();
    for verb in ["validate", "compile"] {
        let (status, printed) = ended(Command::new(NETLOOM).args([verb, "-f", &folder]));
        assert!(
            status == 3 && printed.contains(&format!("there is no object in {folder}")),
            "{verb}: {status} {printed}"
        );
        let (status, printed) = ended(Command::new(NETLOOM).args([verb, "-f", "/nowhere"]));
        assert!(status == 2 && printed.contains("/nowhere"), "{verb}: {status} {printed}");
    }
}

#[test]
fn what_is_no_object_is_a_finding_among_others() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verbs-mixed");
    fs::create_dir_all(&folder).unwrap();
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n";
    for (name, text) in [
        ("a-text.yaml", "just: text\n".to_owned()),
        ("b-torn.yaml", "a:\n  b: [\n".to_owned()),
        ("c-other.yaml", deployment.to_owned()),
        ("d-vrf.yaml", VRF.replace("  vrf: blue\n", "")),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let folder = folder.display().to_string();
    let (status, printed) = validate(&[&folder]);
    assert_eq!(status, 3, "{printed}");
    for words in [
        "a-text.yaml:1: not a Kubernetes object",
        "b-torn.yaml:2: not YAML",
        "d-vrf.yaml:5: VRF \"blue\": spec.vrf: Required value",
        "1 object checked, 1 object of other kinds not checked, 3 reasons to refuse.",
    ] {
        assert!(printed.contains(words), "{words:?} in {printed}");
    }
    assert!(!printed.contains("<nil>"), "{printed}");
    let (status, printed) = ended(Command::new(NETLOOM).args(["validate", "-o", "json", "-f", &folder]));
    assert!(status == 3 && printed.contains("a-text.yaml") && printed.contains("spec.vrf"), "{printed}");
}

#[test]
fn what_apply_refuses_is_reported_with_the_line_of_the_field() {
    let server = Server::start("verbs-line");
    let host = |spec: &str| {
        format!(
            "apiVersion: network.harvesterhci.io/v1beta1\nkind: HostNetworkConfig\nmetadata:\n  name: h\nspec:\n{spec}"
        )
    };
    for (name, text, wanted) in [
        (
            "field.yaml",
            host("  clusterNetwork: lan\n  mode: dhcp\n  vlanId: 7\n"),
            "field.yaml:8: HostNetworkConfig \"h\": spec.vlanId: unknown field; did you mean vlanID?",
        ),
        (
            "kind.yaml",
            host("  mode: dhcp\n").replace("HostNetworkConfig", "HostNetworkConfg"),
            "has no kind HostNetworkConfg; did you mean HostNetworkConfig?",
        ),
        (
            "rule.yaml",
            host("  mode: dhcp\n  vlanID: 7\n  clusterNetwork: nowhere\n"),
            "rule.yaml:8: HostNetworkConfig \"h\": ",
        ),
        (
            "policy.yaml",
            "apiVersion: nmstate.io/v1\nkind: NodeNetConfPolicy\nmetadata: {name: p}\nspec:\n  matchRules: [{name: eth0}]\n  \
             desiredState:\n    interfaces:\n    - name: eth0\n      mtu: large\n"
                .to_owned(),
            "policy.yaml:9: NodeNetConfPolicy \"p\": ",
        ),
    ] {
        let file = server.file(name, &text);
        let (status, printed) = server.run(&["apply", "-f", &file]);
        assert_eq!(status, 3, "{printed}");
        assert!(printed.contains(wanted), "{wanted}: {printed}");
    }
}
