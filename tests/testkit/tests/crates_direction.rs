//! Which crate may know which: the pure ones reach no input or output, and nothing points upward.
//!
//! The picture is taken from `cargo metadata`, so a dependency of a dependency counts as well. It shows the platform that
//! the tests were built for: crates of other platforms may never have been downloaded, and nothing is downloaded here.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value;

/// Crates that decide and do nothing.
const PURE: &[&str] = &[
    "netloom-types",
    "netloom-yaml",
    "netloom-model",
    "netloom-kernel-sim",
    "netloom-plan",
    "netloom-probing",
    "netloom-nmstate",
    "netloom-lldp",
    "netloom-dhcp",
    "netloom-ipam",
    "netloom-cnispec",
    "netloom-managers",
    "netloom-routing",
    "netloom-domain",
    "netloom-schema",
    "netloom-patch",
    "netloom-object",
    "netloom-api",
    "netloom-machine",
    "netloom-admission",
    "netloom-generate",
    "netloom-compile",
    "netloom-render",
    "netloom-rollout",
    "netloom-controller-core",
    "netloom-agent-core",
    "netloom-podnet",
    "netloom-cluster-sim",
];

/// Crates that talk to the system: one of them below a pure crate is a hole in the wall.
const INPUT_OUTPUT: &[&str] = &[
    "async-io",
    "async-std",
    "getrandom",
    "hyper",
    "kube-client",
    "libc",
    "mio",
    "netlink-packet-core",
    "netlink-sys",
    "nix",
    "rand",
    "redb",
    "rustix",
    "rustls",
    "signal-hook",
    "smol",
    "socket2",
    "tokio",
    "netloom-agent",
    "netloom-apiserver",
    "netloom-client",
    "netloom-cni-server",
    "netloom-controller",
    "netloom-frr",
    "netloom-https",
    "netloom-hypervisor",
    "netloom-journal",
    "netloom-libvirt",
    "netloom-malloc-trim",
    "netloom-netlink",
    "netloom-local-host",
    "netloom-store",
    "netloom-testkit",
];

/// Asks the processor what it can do, on some of them with the help of the system's library. Nothing
/// else comes in that way.
const ASKS_THE_PROCESSOR: &str = "cpufeatures";

/// Crates that only tests and measurements use.
const FOR_TESTS: &[&str] = &["netloom-cluster-sim", "netloom-libvirt-fake", "netloom-testkit"];

/// What each of our crates may use of our own; one that is not listed may use all but the tests'.
const DIRECTION: &[(&str, &[&str])] = &[
    ("netloom-types", &[]),
    ("netloom-yaml", &[]),
    ("netloom-model", &["netloom-types"]),
    ("netloom-kernel-sim", &["netloom-types", "netloom-model"]),
    ("netloom-plan", &["netloom-types", "netloom-model", "netloom-kernel-sim"]),
    ("netloom-probing", &["netloom-types", "netloom-model"]),
    ("netloom-nmstate", &["netloom-types", "netloom-model", "netloom-yaml"]),
    ("netloom-lldp", &["netloom-types"]),
    ("netloom-dhcp", &["netloom-types"]),
    ("netloom-cni", &["netloom-cnispec"]),
    ("netloom-podnet", &["netloom-api", "netloom-cnispec", "netloom-ipam", "netloom-object", "netloom-types"]),
    (
        "netloom-cni-server",
        &[
            "netloom-api",
            "netloom-client",
            "netloom-cnispec",
            "netloom-model",
            "netloom-netlink",
            "netloom-object",
            "netloom-podnet",
            "netloom-types",
        ],
    ),
    ("netloom-ipam", &[]),
    ("netloom-cnispec", &[]),
    ("netloom-managers", &["netloom-types"]),
    ("netloom-routing", &[]),
    ("netloom-netlink", &["netloom-types", "netloom-model"]),
    ("netloom-malloc-trim", &[]),
    ("netloom-frr", &["netloom-types", "netloom-routing"]),
    ("netloom-journal", &["netloom-types", "netloom-model", "netloom-plan", "netloom-probing"]),
    ("netloom-schema", &["netloom-yaml"]),
    ("netloom-cel", &["netloom-schema"]),
    ("netloom-patch", &["netloom-schema"]),
    ("netloom-object", &[]),
    ("netloom-client", &["netloom-object"]),
    (
        "netloom-api",
        &[
            "netloom-ipam",
            "netloom-machine",
            "netloom-model",
            "netloom-object",
            "netloom-probing",
            "netloom-schema",
            "netloom-types",
        ],
    ),
    (
        "netloom-admission",
        &[
            "netloom-api",
            "netloom-ipam",
            "netloom-machine",
            "netloom-nmstate",
            "netloom-probing",
            "netloom-schema",
            "netloom-types",
        ],
    ),
    ("netloom-generate", &["netloom-admission", "netloom-api", "netloom-yaml"]),
    (
        "netloom-compile",
        &["netloom-admission", "netloom-api", "netloom-model", "netloom-nmstate", "netloom-object", "netloom-types"],
    ),
    ("netloom-render", &["netloom-api", "netloom-model", "netloom-nmstate", "netloom-types", "netloom-yaml"]),
    ("netloom-rollout", &["netloom-api", "netloom-probing"]),
    (
        "netloom-controller-core",
        &["netloom-api", "netloom-compile", "netloom-machine", "netloom-object", "netloom-rollout"],
    ),
    (
        "netloom-agent-core",
        &[
            "netloom-api",
            "netloom-compile",
            "netloom-dhcp",
            "netloom-managers",
            "netloom-model",
            "netloom-nmstate",
            "netloom-object",
            "netloom-plan",
            "netloom-probing",
            "netloom-render",
            "netloom-types",
        ],
    ),
    (
        "netloom-cluster-sim",
        &[
            "netloom-api",
            "netloom-compile",
            "netloom-controller-core",
            "netloom-dhcp",
            "netloom-model",
            "netloom-nmstate",
            "netloom-agent-core",
            "netloom-object",
            "netloom-patch",
            "netloom-plan",
            "netloom-probing",
            "netloom-kernel-sim",
            "netloom-types",
        ],
    ),
    ("netloom-libvirt-fake", &["netloom-domain", "netloom-libvirt", "netloom-types"]),
    ("netloom-store", &[]),
    ("netloom-https", &[]),
    (
        "netloom-apiserver",
        &[
            "netloom-admission",
            "netloom-api",
            "netloom-cel",
            "netloom-generate",
            "netloom-https",
            "netloom-patch",
            "netloom-schema",
            "netloom-store",
            "netloom-yaml",
        ],
    ),
    (
        "netloom-controller",
        &[
            "netloom-admission",
            "netloom-api",
            "netloom-client",
            "netloom-controller-core",
            "netloom-generate",
            "netloom-https",
            "netloom-object",
            "netloom-podnet",
            "netloom-schema",
        ],
    ),
];

/// Crates by name, each with the crates that it is built with.
struct Graph(BTreeMap<String, BTreeSet<String>>);

impl Graph {
    fn read() -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
        let answer = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--locked", "--offline", "--manifest-path", manifest])
            .args(["--filter-platform", "host-tuple"])
            .output()
            .expect("cargo can be run");
        assert!(answer.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&answer.stderr));
        Self::of(&serde_json::from_slice(&answer.stdout).expect("cargo metadata answers in JSON"))
    }

    fn of(metadata: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let names: BTreeMap<String, String> =
            list(&metadata["packages"]).iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
        let built_with = |dep: &Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let nodes = list(&metadata["resolve"]["nodes"]).into_iter().map(|node| {
            let deps = list(&node["deps"]);
            let deps = deps.iter().filter(|dep| built_with(dep)).map(|dep| names[&text(&dep["pkg"])].clone());
            (names[&text(&node["id"])].clone(), deps.collect())
        });
        Self(nodes.collect())
    }

    /// Everything below a crate, with the way to it.
    fn below(&self, name: &str) -> BTreeMap<String, String> {
        let mut ways = BTreeMap::new();
        let mut open = vec![(name.to_owned(), name.to_owned())];
        while let Some((at, way)) = open.pop() {
            let used = self.0.get(&at).into_iter().flatten().filter(|_| at != ASKS_THE_PROCESSOR);
            for next in used {
                if !ways.contains_key(next) {
                    let way = format!("{way} -> {next}");
                    ways.insert(next.clone(), way.clone());
                    open.push((next.clone(), way));
                }
            }
        }
        ways
    }

    fn ours(&self) -> impl Iterator<Item = &String> {
        self.0.keys().filter(|name| *name == "netloom" || name.starts_with("netloom-"))
    }
}

#[test]
fn pure_crates_reach_no_input_or_output() {
    let graph = Graph::read();
    for name in PURE {
        assert!(graph.0.contains_key(*name), "there is no crate {name}");
        let below = graph.below(name);
        for forbidden in INPUT_OUTPUT {
            assert!(!below.contains_key(*forbidden), "a pure crate reaches the system: {}", below[*forbidden]);
        }
    }
}

#[test]
fn our_crates_point_one_way() {
    let graph = Graph::read();
    let listed: BTreeMap<&str, &[&str]> = DIRECTION.iter().copied().collect();
    for name in graph.ours() {
        for used in graph.0[name].iter().filter(|used| graph.ours().any(|own| own == *used)) {
            let allowed = match listed.get(name.as_str()) {
                Some(allowed) => allowed.contains(&used.as_str()),
                None => !FOR_TESTS.contains(&used.as_str()),
            };
            assert!(allowed, "{name} must not know {used}");
        }
    }
}

#[test]
fn the_check_itself_sees_a_way_over_two_crates() {
    let package = |name: &str| serde_json::json!({"id": name, "name": name});
    let node = |name: &str, dep: Option<(&str, Value)>| {
        let deps: Vec<Value> =
            dep.map(|(to, kind)| serde_json::json!({"pkg": to, "dep_kinds": [{"kind": kind}]})).into_iter().collect();
        serde_json::json!({"id": name, "deps": deps})
    };
    let graph = Graph::of(&serde_json::json!({
        "packages": [package("a"), package("b"), package("nix"), package("c")],
        "resolve": {"nodes": [
            node("a", Some(("b", Value::Null))),
            node("b", Some(("nix", Value::Null))),
            node("nix", None),
            node("c", Some(("nix", "dev".into()))),
        ]},
    }));
    assert_eq!(graph.below("a")["nix"], "a -> b -> nix");
    assert!(graph.below("c").is_empty());
}
