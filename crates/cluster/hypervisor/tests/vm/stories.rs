//! What is shown with real parts.

use std::{path::Path, time::Duration};

use serde_json::json;

use crate::{
    cluster::{Cluster, Given, nic, primary},
    figures::{hundred, reaction},
    relay::WORDS,
    server::{Served, Server},
};

type Story = fn(Given<'_>);

pub(crate) const ALL: &[(&str, Story)] = &[
    ("starts-down-then-up", starts_down_then_up),
    ("runs-then-down-and-up", runs_then_down_and_up),
    ("hotplug-down-then-up-and-unplug", hotplug),
    ("migration-with-nics-down", migration),
    ("daemon-killed", daemon_killed),
    ("drift-is-put-right", drift),
    ("golden-domains-are-taken", golden),
    ("relay-refuses-one-nic", relay),
    ("guest-lets-go-later", stubborn),
    ("migration-with-another-agent", another_agent),
    ("migration-with-another-target-agent", another_target_agent),
    ("migration-with-another-controller", another_controller),
    ("hundred-link-changes", hundred),
    ("agent-without-libvirt", without),
    ("patch-to-update", reaction),
    ("starts-down-then-up-on-kube-apiserver", |given| starts_down_then_up(on_kube(given))),
    ("runs-then-down-and-up-on-kube-apiserver", |given| runs_then_down_and_up(on_kube(given))),
    ("definitions-of-kubevirt-stay", foreign_definitions),
];

fn on_kube(given: Given<'_>) -> Given<'_> {
    Given { served: Served::Real, ..given }
}

pub(crate) fn running(cluster: &mut Cluster) {
    cluster.until("the instance runs", |cluster| cluster.status()["phase"] == "Running");
}

/// How many networks the machine has.
fn networks(cluster: &Cluster) -> usize {
    let networks = cluster.machine.as_ref().and_then(|machine| machine.pointer("/spec/template/spec/networks"));
    networks.and_then(serde_json::Value::as_array).map_or(0, Vec::len)
}

fn starts_down_then_up(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "down", 1, &[primary("up"), nic("blue", "down")]);
    running(&mut cluster);
    cluster.linked("default", "up");
    cluster.linked("blue", "down");
    cluster.set(&[("default", "down"), ("blue", "up")]);
    cluster.linked("default", "down");
    cluster.linked("blue", "up");
    cluster.never("no restart is needed", Duration::from_secs(15), |cluster| {
        cluster.machine.as_ref().unwrap()["status"].get("conditions").is_some()
    });
    cluster.patch(&json!([{"op": "replace", "path": "/spec/runStrategy", "value": "Halted"}]));
    cluster.until("the instance is gone", |cluster| cluster.instance.is_none());
    assert_eq!(cluster.nodes[0].virsh("list --all --name"), "");
}

fn runs_then_down_and_up(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "flip", 1, &[nic("default", ""), nic("blue", "")]);
    running(&mut cluster);
    cluster.linked("default", "up");
    cluster.linked("blue", "up");
    let seen = |cluster: &Cluster| {
        (
            cluster.nodes[0].virsh("domid default_a"),
            cluster.nodes[0].inside("ip -br link | awk '/^tap/ { print $1, $2 }'"),
        )
    };
    let before = seen(&cluster);
    cluster.writes.clear();
    cluster.set(&[("default", "down"), ("blue", "down")]);
    cluster.linked("default", "down");
    cluster.linked("blue", "down");
    assert_eq!(cluster.nodes[0].relay.updated().len(), 2, "one call for each link");
    let writes: Vec<_> = cluster.writes.iter().map(|(what, count)| (*what, *count)).collect();
    assert_eq!(writes, [("instance", 1), ("other", 1), ("status of the instance", 1)], "the last but one is the patch");
    cluster.set(&[("default", "up"), ("blue", "up")]);
    cluster.linked("default", "up");
    cluster.linked("blue", "up");
    assert_eq!(seen(&cluster), before, "the domain's number, the taps of the node");
    assert!(before.1.lines().count() == 2, "{before:?}");
}

fn hotplug(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "plug", 1, &[nic("default", "")]);
    running(&mut cluster);
    cluster.linked("default", "up");
    for _ in 0..2 {
        cluster.plug(nic("blue", "down"));
        cluster.linked("blue", "down");
        cluster.set(&[("blue", "up")]);
        cluster.linked("blue", "up");
        cluster.set(&[("blue", "down")]);
        cluster.linked("blue", "down");
        cluster.set(&[("blue", "absent")]);
        cluster.until("blue is gone everywhere", |cluster| {
            networks(cluster) == 1 && cluster.console.carriers().len() == 1
        });
    }
    cluster.linked("default", "up");
}

fn migration(given: Given<'_>) {
    const LINKS: [(&str, &str); 4] = [("default", "down"), ("blue", "down"), ("red", "up"), ("green", "down")];
    let nics = [nic("default", "down"), nic("blue", "down"), plugged("red", ""), plugged("green", "down")];
    let mut cluster = Cluster::start(given, "move", 2, &nics);
    running(&mut cluster);
    for (name, state) in LINKS {
        cluster.linked(name, state);
    }
    cluster.migrate("g-1");
    cluster.until("the migration has ended", |cluster| {
        cluster.migration.as_ref().is_some_and(|migration| migration["status"]["phase"] == "Succeeded")
    });
    assert_eq!(cluster.status()["nodeName"], "n2");
    cluster.until("links were refreshed", |cluster| cluster.status()["migrationState"]["linksRefreshed"] == true);
    for (name, state) in LINKS {
        cluster.linked(name, state);
    }
    assert_eq!(cluster.nodes[0].virsh("list --all --name"), "");
    assert_eq!(cluster.nodes[1].virsh("list --name"), "default_a");
    cluster.set(&[("default", "up"), ("blue", "up"), ("green", "up")]);
    for name in ["default", "blue", "green"] {
        cluster.linked(name, "up");
    }
}

/// A NIC of a plugin whose links are refreshed after a migration.
fn plugged(name: &str, state: &str) -> (serde_json::Value, serde_json::Value) {
    let (mut nic, network) = nic(name, state);
    nic.as_object_mut().unwrap().remove("bridge");
    nic["binding"] = json!({"name": "tapped"});
    (nic, network)
}

fn daemon_killed(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "killed", 1, &[nic("blue", "down")]);
    running(&mut cluster);
    cluster.linked("blue", "down");
    let number = cluster.nodes[0].virsh("domid default_a");
    let uid = |cluster: &Cluster| cluster.instance.as_ref().map(|instance| instance["metadata"]["uid"].clone());
    let before = uid(&cluster);
    cluster.nodes[0].restart();
    cluster.set(&[("blue", "up")]);
    cluster.linked("blue", "up");
    assert_eq!(cluster.nodes[0].virsh("domid default_a"), number, "it ran all the time");
    assert_eq!(uid(&cluster), before, "and is the same instance");
}

fn drift(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "drift", 1, &[nic("blue", "down")]);
    running(&mut cluster);
    cluster.linked("blue", "down");
    let tap = cluster.status()["interfaces"][0]["podInterfaceName"].as_str().unwrap().to_owned();
    cluster.nodes[0].virsh(&format!("domif-setlink default_a {tap} up"));
    cluster.until("it is told", |cluster| cluster.drifts == 1);
    cluster.linked("blue", "down");
}

/// Domains as they are written, but for what this machine cannot have: passt, igb, and an address far down a bus.
fn golden(given: Given<'_>) {
    let cluster = Cluster::start(given, "golden", 1, &[]);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut taken = 0;
    for folder in ["../machine/tests/golden", "../../host/domain/tests/golden"] {
        for entry in std::fs::read_dir(here.join(folder)).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            let is_domain = file.extension().is_some_and(|extension| extension == "xml");
            if is_domain && !name.starts_with("passt") && !name.ends_with("igb") && name != "all" && name != "base" {
                is_taken(&cluster, &file);
                taken += 1;
            }
        }
    }
    assert!(taken >= 30, "{taken}");
}

/// libvirt takes a domain, and keeps what is ours of it.
fn is_taken(cluster: &Cluster, file: &Path) {
    // Under another name than that of the machine, which the agent keeps.
    let copy = cluster.folder.join("golden.xml");
    let text = std::fs::read_to_string(file).unwrap().replace("<name>default_a</name>", "<name>golden</name>");
    std::fs::write(&copy, &text).unwrap();
    let said = cluster.nodes[0].virsh(&format!("define {} 2>&1", copy.display()));
    assert!(said.contains("defined from"), "{}: {said}", file.display());
    let kept = cluster.nodes[0].virsh("dumpxml --inactive golden");
    for part in ["<link state='down'/>", "<interface ", "<alias name='ua-", "https://netloom.dev/domain"] {
        assert_eq!(kept.matches(part).count(), text.matches(part).count(), "{}: {part} in {kept}", file.display());
    }
    cluster.nodes[0].virsh("undefine golden");
}

fn condition(cluster: &Cluster) -> Option<(String, String)> {
    let all = cluster.status()["conditions"].as_array()?;
    let found = all.iter().find(|condition| condition["type"] == "LinkStateSynced")?;
    Some((found["status"].as_str()?.to_owned(), found["message"].as_str()?.to_owned()))
}

fn relay(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "relay", 1, &[nic("a", ""), nic("b", ""), nic("c", "")]);
    running(&mut cluster);
    cluster.linked("c", "up");
    cluster.nodes[0].relay.refuse(Some("b"));
    for name in ["a", "b", "c"] {
        cluster.set(&[(name, "down")]);
    }
    cluster.linked("a", "down");
    cluster.linked("c", "down");
    let told = Some(("False".to_owned(), format!("b: {WORDS}")));
    cluster.until("the words are in the condition", |cluster| condition(cluster) == told);
    assert_eq!(cluster.link("b"), Some(("up".to_owned(), true)));
    cluster.nodes[0].relay.refuse(None);
    cluster.linked("b", "down");
    cluster.until("it has healed", |cluster| condition(cluster).is_some_and(|(truth, _)| truth == "True"));
}

/// A guest that stands still does not let go of a device.
fn stubborn(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "stubborn", 1, &[nic("default", ""), nic("blue", "")]);
    running(&mut cluster);
    cluster.linked("blue", "up");
    cluster.nodes[0].virsh("suspend default_a");
    cluster.set(&[("blue", "absent")]);
    cluster.until("it is told", |cluster| {
        condition(cluster).is_some_and(|(truth, message)| truth == "False" && message.contains("has not released it"))
    });
    // libvirt waits some seconds for the guest, and nobody waits for libvirt.
    cluster.until("it is gone from the configuration", |cluster| {
        !cluster.nodes[0].virsh("dumpxml --inactive default_a").contains("ua-blue")
    });
    assert!(cluster.nodes[0].virsh("dumpxml default_a").contains("ua-blue"));
    cluster.nodes[0].virsh("resume default_a");
    cluster.until("it is gone everywhere", |cluster| {
        networks(cluster) == 1 && condition(cluster).is_some_and(|(truth, _)| truth == "True")
    });
    cluster.linked("default", "up");
}

/// The agent of the source is another one in the middle of a migration: one domain runs in the end.
fn another_agent(given: Given<'_>) {
    interrupted(given, "again", |cluster| cluster.another_agent(0));
}

fn another_target_agent(given: Given<'_>) {
    interrupted(given, "target", |cluster| cluster.another_agent(1));
}

fn another_controller(given: Given<'_>) {
    interrupted(given, "steered", Cluster::another_controller);
}

fn interrupted(given: Given<'_>, name: &str, interrupt: fn(&mut Cluster)) {
    let mut cluster = Cluster::start(given, name, 2, &[nic("blue", "down")]);
    running(&mut cluster);
    cluster.linked("blue", "down");
    cluster.migrate("g-1");
    let begun = |cluster: &Cluster| cluster.status().pointer("/migrationState/migrationUid").is_some();
    cluster.until("it has begun", begun);
    interrupt(&mut cluster);
    cluster.until("it has ended", |cluster| {
        let phase = cluster.migration.as_ref().map(|migration| migration["status"]["phase"].clone());
        phase.is_some_and(|phase| phase == "Succeeded" || phase == "Failed")
    });
    let target = cluster.migration.as_ref().is_some_and(|migration| migration["status"]["phase"] == "Succeeded");
    let (here, there) = (cluster.nodes[0].virsh("list --name"), cluster.nodes[1].virsh("list --name"));
    assert_eq!([here.as_str(), &there], if target { ["", "default_a"] } else { ["default_a", ""] });
    assert_eq!(cluster.status()["nodeName"], if target { "n2" } else { "n1" });
    cluster.set(&[("blue", "up")]);
    cluster.linked("blue", "up");
}

/// What `KubeVirt` has installed is not touched, and nothing is acted on beside it.
fn foreign_definitions(given: Given<'_>) {
    let folder = std::env::temp_dir().join(format!("netloom-vm-{}-foreign", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut server = Server::start(on_kube(given), &folder);
    server.prepare();
    server.kubectl(&["create", "-f"], &given.peers.join("kubevirt-instances.yaml"));
    let wait = ["wait", "--for=condition=Established", "--timeout=60s", "-f"];
    server.kubectl(&wait, &given.peers.join("kubevirt-instances.yaml"));
    let version = |server: &Server| {
        let words = ["get", "-o", "jsonpath={.metadata.resourceVersion} {.metadata.generation}", "-f"];
        server.kubectl(&words, &given.peers.join("kubevirt-instances.yaml"))
    };
    let before = version(&server);
    let mut controller = server.controller();
    assert_eq!(version(&server), before);
    controller.kill().unwrap();
    controller.wait().unwrap();
    let log = std::fs::read_to_string(folder.join("controller-log")).unwrap();
    assert!(log.contains("somebody else's"), "{log}");
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

/// An agent that was not asked to have machines has no watch, no thread and no socket for them.
fn without(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "without", 1, &[]);
    let of_machines = |names: &[String]| names.iter().filter(|name| *name == "machines").count();
    let (names, sockets) = cluster.nodes[0].agent_has();
    assert_eq!(of_machines(&names), 1, "{names:?}");
    let watches = cluster.watches();
    cluster.agent_without_libvirt(0);
    cluster.until("it says that it has none", |cluster| !cluster.has_libvirt(0));
    cluster.until("one watch less", |cluster| cluster.watches() == watches - 1);
    let (names, fewer) = cluster.nodes[0].agent_has();
    assert_eq!(of_machines(&names), 0, "{names:?}");
    // The daemon's, and two between the thread and the rest of the agent; the API may be reached by more than one.
    assert!(fewer + 3 <= sockets, "{fewer} {sockets}");
}
