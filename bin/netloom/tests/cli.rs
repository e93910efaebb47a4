//! The built program from outside: exit statuses, messages, formats and bad input. Reads the machine
//! that it runs on, changes nothing on it.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A folder that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("a file for the test");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn netloom(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-state");
    command.args(args).env("NETLOOM_STATE_DIR", state).env_remove("SSH_CONNECTION").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    netloom(args).output().expect("the program starts")
}

fn run_with(args: &[&str], input: &[u8]) -> Output {
    let mut child = netloom(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The program may refuse before it has read everything.
    child.stdin.take().expect("it is piped").write_all(input).ok();
    child.wait_with_output().expect("the program ends")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the program prints UTF-8")
}

#[track_caller]
fn expect(output: &Output, status: i32) {
    let (out, err) = (text(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "out: {out}\nerr: {err}");
}

/// A refusal: status 3, nothing on standard output, and every one of `words` in the first line.
#[track_caller]
fn expect_refused(output: &Output, words: &[&str]) {
    expect(output, 3);
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    let message = text(&output.stderr).lines().find(|line| line.starts_with("netloom: ")).unwrap_or_default();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {:?}", text(&output.stderr));
    }
}

#[test]
fn wrong_usage_has_status_2_and_help_has_0() {
    for args in [
        &[][..],
        &["state"],
        &["frobnicate"],
        &["state", "show", "--no-such-option"],
        &["state", "show", "--json", "-o", "yaml"],
        &["state", "set"],
        &["state", "set", "-", "--timeout", "0"],
        &["state", "set", "-", "--dry-run", "--no-commit"],
        &["state", "set", "-", "--protect", "example.org"],
        &["state", "set", "-", "--probe", "ping:192.0.2.1", "--no-probe"],
        &["gen", "completions", "cmd.exe"],
        &["state", "format", "-", "-o", "table"],
        &["state", "revert", "-", "-o", "table"],
        &["compile", "-f", "-", "-o", "table"],
    ] {
        expect(&run(args), 2);
    }
    for args in [&["--help"][..], &["-V"], &["state", "--help"], &["state", "set", "-h"], &["help", "state"]] {
        expect(&run(args), 0);
    }
}

#[test]
fn the_first_help_names_the_verbs_and_the_exit_statuses() {
    let help = run(&["--help"]);
    for word in ["state", "version", "gen", "Exit status:", "refused before anything was touched"] {
        assert!(text(&help.stdout).contains(word), "{word:?} in {}", text(&help.stdout));
    }
    let help = run(&["state", "--help"]);
    for verb in ["show", "set", "diff", "revert", "format", "commit", "rollback", "watch", "explain"] {
        assert!(text(&help.stdout).contains(&format!("\n  {verb}")), "{verb}");
    }
    assert!(!text(&help.stdout).contains("guard"));
}

#[test]
fn the_version_comes_in_three_formats() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(text(&run(&["version"]).stdout), format!("netloom {version}\n"));
    assert_eq!(text(&run(&["version", "-o", "yaml"]).stdout), format!("version: {version}\n"));
    assert!(text(&run(&["version", "--json"]).stdout).contains(&format!("\"version\": \"{version}\"")));
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["gen", "completions", shell]);
        expect(&output, 0);
        assert!(text(&output.stdout).contains("rollback"), "{shell}");
    }
}

const DOCUMENT: &str = "\
interfaces:
  - name: nl-bond.5
    type: vlan
    state: up
    vlan: { base-iface: nl-bond, id: 5 }
";

#[test]
fn a_document_has_one_canonical_form() {
    let first = run_with(&["state", "format", "-"], DOCUMENT.as_bytes());
    expect(&first, 0);
    let second = run_with(&["state", "format", "-"], &first.stdout);
    assert_eq!(text(&first.stdout), text(&second.stdout));
    let json = run_with(&["state", "format", "-", "--json"], DOCUMENT.as_bytes());
    expect(&json, 0);
    assert!(text(&json.stdout).trim_start().starts_with('{'), "{}", text(&json.stdout));
    let back = run_with(&["state", "format", "-"], &json.stdout);
    assert_eq!(text(&first.stdout), text(&back.stdout));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        netloom(&["gen", "completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    expect(&output, 0);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn a_difference_that_nobody_reads_is_still_one() {
    let scratch = Scratch::new("unread");
    let file = scratch.file("new.yaml", b"interfaces:\n  - name: nl-d\n    type: dummy\n");
    for args in [&["state", "diff"][..], &["state", "set", "--dry-run"]] {
        let mut child =
            netloom(args).arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        drop(child.stdout.take());
        expect(&child.wait_with_output().expect("the program ends"), 3);
    }
}

#[test]
fn documents_that_are_no_documents_are_refused_with_their_name() {
    let scratch = Scratch::new("bytes");
    let utf16: Vec<u8> = DOCUMENT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bomb: String = (1..30).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
        let before = n - 1;
        let nine = vec![format!("*a{before}"); 9].join(", ");
        format!("{text}a{n}: &a{n} [{nine}]\n")
    });
    let deep = format!("interfaces: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (name, bytes) in [
        ("binary", &[0, 159, 146, 150, 255][..]),
        ("latin-1", b"description: \xfcber\n"),
        ("utf-16", &utf16),
        ("torn", b"interfaces: [}"),
        ("tabs", b"interfaces:\n\t- name: a\n"),
        ("bomb", bomb.as_bytes()),
        ("deep", deep.as_bytes()),
        ("scalar", b"just a sentence"),
        ("list", b"- a\n- b\n"),
        ("two", b"interfaces: []\n---\ninterfaces: []\n"),
        ("twice", b"interfaces: []\ninterfaces: []\n"),
        ("json", b"{\"interfaces\": [}"),
    ] {
        let file = scratch.file(name, bytes);
        let file = file.to_str().unwrap();
        for verb in [&["state", "format", file][..], &["state", "set", file], &["state", "diff", file]] {
            expect_refused(&run(verb), &[file]);
        }
    }
}

#[test]
fn a_document_of_17_mib_is_refused_without_reading_it_all() {
    let scratch = Scratch::new("large");
    let path = scratch.file("large.yaml", b"description: x\n");
    fs::File::options().write(true).open(&path).unwrap().set_len(17 << 20).unwrap();
    expect_refused(&run(&["state", "set", path.to_str().unwrap()]), &["large.yaml", "larger than 16 MiB"]);
    expect_refused(&run(&["state", "format", "/dev/zero"]), &["/dev/zero", "larger than"]);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    expect_refused(&run(&["state", "set", "/nonexistent/a.yaml"]), &["/nonexistent/a.yaml"]);
    expect_refused(&run(&["state", "format", "/tmp"]), &["/tmp"]);
}

/// Documents that are wrong by themselves: the message has line and path.
#[test]
fn wrong_values_are_refused_with_line_and_path() {
    for (document, words) in [
        ("interfaces:\n  - name: a\n    colour: red\n", &[":3", "interfaces[0].colour"][..]),
        ("interfaces:\n  - name: a-name-of-sixteen\n", &[":2", "interfaces[0].name", "15 bytes"]),
        ("interfaces:\n  - name: a\n    mtu: lots\n", &[":3", "interfaces[0].mtu"]),
        ("interfaces:\n  - name: a\n    vlan: { base-iface: b, id: 4095 }\n", &[":3", "interfaces[0].vlan.id"]),
        (
            "interfaces:\n  - name: a\n    ipv4:\n      address:\n        - { ip: '2001:db8::1', prefix-length: 24 }\n",
            &[":5", "interfaces[0].ipv4.address[0].ip"],
        ),
        (
            "interfaces:\n  - name: a\n    ipv4:\n      address:\n        - { ip: 192.0.2.1, prefix-length: 33 }\n",
            &[":5", "interfaces[0].ipv4.address[0].prefix-length"],
        ),
        ("interfaces:\n  - name: a\n  - name: a\n", &[":3", "interfaces[1]"]),
        ("interfaces:\n  - type: dummy\n", &[":2", "interfaces[0]", "name"]),
        ("routes:\n  config:\n    - destination: here\n", &[":3", "routes.config[0].destination"]),
        ("dns-resolver:\n  config:\n    server: [example.org]\n", &[":3", "dns-resolver.config.server[0]"]),
        ("hostname:\n  running: a b\n", &[":2", "hostname.running"]),
    ] {
        let output = run_with(&["state", "format", "-"], document.as_bytes());
        expect_refused(&output, words);
        expect_refused(&run_with(&["state", "set", "-"], document.as_bytes()), words);
    }
}

/// Documents that are wrong on this machine, which has none of these links.
#[test]
fn desired_states_that_cannot_work_are_refused_before_anything_is_touched() {
    let new = |name: &str, more: &str| format!("  - name: {name}\n    state: up\n{more}");
    let vrf = |name: &str, port: &str| {
        new(name, &format!("    type: vrf\n    vrf: {{ route-table-id: 7, port: [{port}] }}\n"))
    };
    let bridge = |name: &str, port: &str| {
        new(name, &format!("    type: linux-bridge\n    bridge: {{ port: [{{ name: {port} }}] }}\n"))
    };
    let dummy = |name: &str| new(name, "    type: dummy\n");
    let vlan =
        |name: &str, base: &str| new(name, &format!("    type: vlan\n    vlan: {{ base-iface: {base}, id: 5 }}\n"));
    let route = |table: u32| {
        format!(
            "routes:\n  config:\n    - {{ destination: 203.0.113.0/24, next-hop-interface: lo, table-id: {table} }}\n"
        )
    };
    for (what, document, word) in [
        ("circle", format!("interfaces:\n{}{}", vlan("nl-a", "nl-b"), vlan("nl-b", "nl-a")), "nl-a"),
        (
            "two controllers",
            format!("interfaces:\n{}{}{}", dummy("nl-p"), bridge("nl-a", "nl-p"), vrf("nl-v", "nl-p")),
            "nl-p",
        ),
        ("missing base", format!("interfaces:\n{}", vlan("nl-v", "nl-nowhere")), "nl-nowhere"),
        ("missing port", format!("interfaces:\n{}", bridge("nl-a", "nl-nowhere")), "nl-nowhere"),
        (
            "absent base",
            format!("interfaces:\n  - name: nl-d\n    type: dummy\n    state: absent\n{}", vlan("nl-v", "nl-d")),
            "nl-d",
        ),
        ("missing card", format!("interfaces:\n{}", new("nl-eth", "    type: ethernet\n")), "nl-eth"),
        ("local table", route(255), "255"),
    ] {
        for dry in [&["--dry-run"][..], &[]] {
            let args = [&["state", "set", "-"][..], dry].concat();
            let output = run_with(&args, document.as_bytes());
            expect_refused(&output, &[word]);
            assert!(text(&output.stderr).contains("standard input"), "{what}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn this_machine_can_be_shown_and_its_picture_read_again() {
    let shown = run(&["state", "show"]);
    expect(&shown, 0);
    assert!(text(&shown.stdout).contains("name: lo"), "{}", text(&shown.stdout));
    expect(&run_with(&["state", "format", "-"], &shown.stdout), 0);
    let table = run(&["state", "show", "lo", "-o", "table"]);
    expect(&table, 0);
    assert!(text(&table.stdout).starts_with("LINK "), "{}", text(&table.stdout));
    expect_refused(&run(&["state", "show", "nl-nowhere"]), &["nl-nowhere"]);
}

#[test]
fn things_of_others_are_explained_as_such() {
    let output = run(&["state", "explain", "lo"]);
    expect(&output, 0);
    assert!(text(&output.stdout).contains("nobody asked for it through netloom"), "{}", text(&output.stdout));
    expect_refused(&run(&["state", "explain", "nl-nowhere"]), &["nl-nowhere"]);
}

/// As with `sudo`, which starts programs without the variable: the session is found all the same.
#[test]
fn a_session_that_says_nothing_of_its_far_end_is_mentioned() {
    let scratch = Scratch::new("login");
    let file = scratch.file("down.yaml", b"interfaces:\n  - name: lo\n    state: down\n");
    let output = Command::new("sh")
        .args(["-c", "env -u SSH_CONNECTION \"$0\" state diff \"$1\"; exit $?", env!("CARGO_BIN_EXE_netloom")])
        .arg(&file)
        .env("NETLOOM_STATE_DIR", scratch.0.join("state"))
        .env("SSH_CONNECTION", "somewhere")
        .output()
        .expect("the program starts");
    let words = text(&output.stderr);
    assert!(words.contains("\"somewhere\"") && words.contains("--protect"), "{words}");
}

#[test]
fn a_namespace_that_does_not_exist_is_named() {
    let output = run(&["state", "show", "--netns", "nl-no-such-namespace"]);
    expect(&output, 2);
    assert!(text(&output.stderr).contains("nl-no-such-namespace"), "{}", text(&output.stderr));
    let scratch = Scratch::new("nowhere");
    let (file, state) = (scratch.file("empty.yaml", b"interfaces: []\n"), scratch.0.join("state"));
    for verb in [&["diff"][..], &["set"], &["commit"], &["rollback"]] {
        let document = matches!(verb, ["diff" | "set"]).then_some(&file);
        let output = netloom(&["state"])
            .args(verb)
            .args(document)
            .args(["--netns", "nl-nowhere"])
            .env("NETLOOM_STATE_DIR", &state)
            .output()
            .expect("the program starts");
        expect(&output, 2);
        assert!(text(&output.stderr).contains("`ip netns list`"), "{verb:?}: {}", text(&output.stderr));
    }
    assert!(!state.join("netns").exists(), "something is kept about a namespace that does not exist");
}

#[test]
fn hints_lead_back_to_the_same_place() {
    let output = netloom(&["state", "show", "nl-nowhere", "--state-dir", "/tmp/nl-state"])
        .env_remove("NETLOOM_STATE_DIR")
        .output()
        .expect("the program starts");
    expect_refused(&output, &["`netloom state show -o table --state-dir /tmp/nl-state` lists all"]);
    expect_refused(&run(&["state", "commit"]), &["`netloom state diff` with its document"]);
}

#[test]
fn without_an_open_change_there_is_nothing_to_end() {
    for verb in ["commit", "rollback"] {
        expect_refused(&run(&["state", verb]), &["no change waits"]);
    }
}

#[test]
fn every_document_in_the_documentation_and_the_examples_is_read() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/node-state.md")).unwrap();
    let blocks: Vec<&str> = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 8, "{}", blocks.len());
    for block in blocks {
        expect(&run_with(&["state", "format", "-"], block.as_bytes()), 0);
    }
    let tour = Path::new(ROOT).join("examples/tour");
    for entry in fs::read_dir(tour).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            expect(&run(&["state", "format", path.to_str().unwrap()]), 0);
        }
    }
}

#[test]
fn generated_files_are_current() {
    let scratch = Scratch::new("generated");
    let places = [
        ("docs", "docs/reference"),
        ("man", "docs/man"),
        ("crds", "deploy/crds"),
        ("rbac", "deploy"),
        ("webhook", "deploy"),
    ];
    for (what, folder) in places {
        let made = scratch.0.join(what);
        expect(&run(&["gen", what, "--dir", made.to_str().unwrap()]), 0);
        let mut open = vec![made.clone()];
        while let Some(at) = open.pop() {
            if at.is_dir() {
                open.extend(fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let committed = Path::new(ROOT).join(folder).join(at.strip_prefix(&made).unwrap());
            let same = fs::read(&at).unwrap() == fs::read(&committed).unwrap_or_default();
            assert!(same, "{} is not current: run scripts/generated", committed.display());
        }
    }
}
