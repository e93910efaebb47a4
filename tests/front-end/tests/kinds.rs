//! Nobody but a front end names its kinds: one more, or one less, then touches its own modules and the registry.

use std::{
    fs,
    path::{Path, PathBuf},
};

use netloom_api::{GroupKind, registry};
use netloom_compile::BUILT_IN;

/// Where front ends are at home: types and rules, what they want, their status, and how that is read for people.
const OWN: &[&str] = &[
    "crates/cluster/api/src/fabric",
    "crates/cluster/api/src/hostnet",
    "crates/cluster/api/src/machine",
    "crates/cluster/api/src/nodestate",
    "crates/cluster/api/src/podnet",
    "crates/cluster/admission/src/fabric",
    "crates/cluster/admission/src/hostnet",
    "crates/cluster/admission/src/machine",
    "crates/cluster/admission/src/nodestate",
    "crates/cluster/admission/src/podnet",
    "crates/cluster/compile/src/fabric",
    "crates/cluster/compile/src/hostnet",
    "crates/cluster/compile/src/nodestate",
    "crates/cluster/controller-core/src/fabric",
    "crates/cluster/controller-core/src/machines.rs",
    "crates/cluster/controller-core/src/networks",
    "crates/cluster/controller-core/src/policies.rs",
    // What is decided about machines, and who asks libvirt.
    "crates/cluster/machine",
    "crates/cluster/hypervisor",
    // What a node and the controller decide about addresses of pods.
    "crates/cluster/podnet",
    // Status again, as a person reads it: whether objects are ready, what keeps them, when they are gone.
    "bin/netloom/src/readiness",
    "bin/netloom/src/arrival.rs",
    "bin/netloom/src/commands/apply/waiting.rs",
    "bin/netloom/src/commands/delete/leaving.rs",
];

/// Kinds that are called like things everybody speaks of.
const EVERYDAY: &[&str] = &["ConfigMap", "Destination", "Network", "VRF"];

/// Who names a kind all the same, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/cluster/api/src/registry.rs", "the list of all kinds"),
    ("crates/cluster/admission/src/registry.rs", "the rules of each of them"),
    ("crates/host/model/src/origin/text.rs", "records of the first versions have kinds without their group"),
    ("crates/cluster/agent-core/src/objects.rs", "an agent may merge policies itself, where no controller runs"),
    ("crates/cluster/agent/src/kinds.rs", "the same: how it follows them"),
    (
        "crates/cluster/agent-core/src/leases.rs",
        "the size of a leased interface follows its uplink, unless another kind asks",
    ),
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            files(&entry, found);
        } else if entry.extension().is_some_and(|ending| ending == "rs") {
            found.push(entry);
        }
    }
}

/// What is code of the program: no comments, no tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let program = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    program.lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn names(line: &str, kind: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(kind)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + kind.len()..].starts_with(is_part))
}

#[test]
fn only_front_ends_name_their_kinds() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    // Attachments are of another project, and known to many.
    let compiled = BUILT_IN.iter().flat_map(|front_end| front_end.kinds()).map(|kind| kind.kind);
    let kinds = compiled.chain(registry::on_request().map(|kind| GroupKind::new(kind.group, kind.kind)));
    let kinds: Vec<_> =
        kinds.filter(|kind| kind.group != "k8s.cni.cncf.io" && !EVERYDAY.contains(&kind.kind)).collect();
    assert!(kinds.len() >= 6, "{kinds:?}");
    // In addresses and in rights a kind goes by its plural.
    let plural = |kind: &GroupKind<'_>| registry::find(kind.group, kind.kind).expect("a kind of the registry").plural;
    let words: Vec<&str> = kinds.iter().flat_map(|kind| [kind.kind, plural(kind)]).collect();
    let mut all = Vec::new();
    for folder in ["crates", "bin"] {
        files(&root.join(folder), &mut all);
    }
    let mut found: Vec<String> = Vec::new();
    for file in all {
        let path = file.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
        if !path.contains("/src/") || path.ends_with("/tests.rs") || OWN.iter().any(|own| path.starts_with(own)) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        if code(&text).any(|line| words.iter().any(|word| names(line, word))) {
            found.push(path);
        }
    }
    found.sort();
    let mut wanted: Vec<&str> = EXCEPTIONS.iter().map(|(path, _)| *path).collect();
    wanted.sort_unstable();
    assert!(wanted.len() <= 6);
    assert_eq!(found, wanted, "a file names a kind of a front end, or is an exception no more");
}
