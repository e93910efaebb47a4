//! `netloom agent` and `netloom client` against an embedded server, with a network namespace as the node.
//!
//! Needs root for the namespace; where that is missing the tests say so and end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]
#![expect(clippy::disallowed_methods, reason = "the tests bound how long they wait for other processes")]
#![expect(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod embedded;

use std::{
    fs,
    os::fd::AsRawFd as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use netloom_netlink::{Namespace, netns::Worker};
use nix::{
    ifaddrs::getifaddrs,
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, sendto, socket},
};
use serde_json::Value;

use self::embedded::{NETLOOM, Server, ended};

const PATIENCE: Duration = Duration::from_mins(3);

/// A network namespace that goes with the test.
struct Node(String);

impl Node {
    /// None where namespaces cannot be made here.
    fn new(name: &str) -> Option<Self> {
        let name = format!("nl-{name}-{}", std::process::id());
        let (status, text) = ended(Command::new("ip").args(["netns", "add", &name]));
        if status != 0 {
            assert!(std::env::var_os("CI").is_none(), "namespaces must work in CI: {text}");
            eprintln!("skipped: no network namespace can be made here: {text}");
            return None;
        }
        Some(Self(name))
    }

    fn ip(&self, words: &str) -> (i32, String) {
        ended(Command::new("ip").args(["-n", &self.0]).args(words.split(' ')))
    }

    fn mtu(&self, link: &str) -> Option<u64> {
        let (status, text) = self.ip(&format!("-j link show {link}"));
        let links: Value = (status == 0).then(|| serde_json::from_str(&text).unwrap())?;
        links[0]["mtu"].as_u64()
    }
}

impl Node {
    /// Sends a frame out of a link.
    fn send(&self, link: &'static str, frame: &[u8]) {
        let frame = frame.to_vec();
        let worker = Worker::start(Namespace::Named(self.0.clone()), || Ok(())).unwrap();
        worker
            .run(move |()| {
                let card = getifaddrs().unwrap().find(|one| one.interface_name == link).unwrap();
                let address = *card.address.unwrap().as_link_addr().unwrap();
                let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).unwrap();
                sendto(socket.as_raw_fd(), &frame, &address, MsgFlags::empty()).unwrap();
            })
            .unwrap();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        Command::new("ip").args(["netns", "del", &self.0]).output().ok();
    }
}

/// An agent that ends with this value.
struct Agent(Child);

impl Agent {
    fn start(kubeconfig: &str, node: &Node, folder: &std::path::Path, words: &[&str]) -> Self {
        let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("agent.log")).unwrap();
        let child = Command::new(NETLOOM)
            .args(["agent", "--kubeconfig", kubeconfig, "--node", "node-a", "--netns", &node.0, "--state-dir"])
            .arg(folder.join("state"))
            .args(words)
            .env("NETLOOM_LOG", "info,netloom_agent=debug")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self(child)
    }

    /// Ends it as a service manager does; its status.
    fn stop(mut self) -> Option<i32> {
        Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A server, a namespace, and an identity for the node's agent.
struct Site {
    server: Server,
    node: Node,
    identity: String,
}

impl Site {
    fn new(name: &str) -> Option<Self> {
        let node = Node::new(name)?;
        let server = Server::start(&format!("agent-{name}"));
        let identity = server.folder.join("n.conf").display().to_string();
        let (status, text) = server.run(&["gen", "kubeconfig", "--node", "node-a", "--out", &identity]);
        assert_eq!(status, 0, "{text}");
        Some(Self { server, node, identity })
    }

    fn folder(&self) -> PathBuf {
        self.server.folder.clone()
    }

    fn agent(&self) -> Agent {
        self.agent_with(&[])
    }

    fn agent_with(&self, words: &[&str]) -> Agent {
        Agent::start(&self.identity, &self.node, &self.folder(), words)
    }

    fn state(&self) -> Option<Value> {
        let (status, text) = self.server.run(&["get", "nodenetworkstates", "node-a", "-o", "json"]);
        (status == 0).then(|| serde_json::from_str(&text).unwrap())
    }

    fn condition(&self, kind: &str) -> Option<(String, String)> {
        let state = self.state()?;
        let all = state["status"]["conditions"].as_array()?.clone();
        let found = all.iter().find(|condition| condition["type"] == kind)?;
        Some((found["status"].as_str()?.to_owned(), found["reason"].as_str()?.to_owned()))
    }

    fn desire(&self, document: &str) {
        let text = format!(
            "apiVersion: nmstate.io/v1\nkind: NodeNetworkState\nmetadata: {{name: node-a, namespace: default}}\n\
             spec: {{managed: true, nodeName: node-a, desiredState: {document}}}\n"
        );
        let file = self.server.file("desired.yaml", &text);
        let (status, text) = self.server.run(&["apply", "--force-conflicts", "-f", &file]);
        assert_eq!(status, 0, "{text}");
    }

    /// Waits until something is so.
    fn until(&self, what: &str, so: impl Fn() -> bool) {
        let began = Instant::now();
        while !so() {
            let log = || fs::read_to_string(self.folder().join("agent.log")).unwrap_or_default();
            assert!(began.elapsed() < PATIENCE, "not so in time: {what}; {:?}\n{}", self.state(), log());
        }
    }

    fn is_available(&self) -> bool {
        self.condition("Available").is_some_and(|(status, reason)| status == "True" && reason == "AsDesired")
    }
}

fn bridge(mtu: u64) -> String {
    format!("{{interfaces: [{{name: d0, type: linux-bridge, state: up, mtu: {mtu}}}]}}")
}

#[test]
fn an_agent_makes_its_object_enforces_repairs_and_begins_anew() {
    let Some(site) = Site::new("daemon") else { return };
    let agent = site.agent();
    site.until("the object is made with the current state", || {
        let links = site.state().map(|state| state["status"]["currentState"]["interfaces"].to_string());
        links.is_some_and(|links| links.contains("\"lo\""))
    });
    site.desire(&bridge(1400));
    site.until("the desired state is in place and reported", || site.is_available());
    assert_eq!(site.node.mtu("d0"), Some(1400));
    assert!(site.state().unwrap()["status"]["currentState"].to_string().contains("d0"));
    assert_eq!(site.node.ip("link set d0 mtu 1300").0, 0);
    site.until("drift is repaired", || site.node.mtu("d0") == Some(1400));
    assert_eq!(site.node.ip("link del d0").0, 0);
    site.until("a link that somebody deleted is there again", || site.node.mtu("d0") == Some(1400));
    let uid = site.state().unwrap()["metadata"]["uid"].clone();
    assert_eq!(site.server.run(&["delete", "nodenetworkstates", "node-a"]).0, 0);
    site.until("the object is made anew, with the current state only", || {
        site.state().is_some_and(|state| {
            state["metadata"]["uid"] != uid
                && state["spec"].get("desiredState").is_none()
                && state["status"]["currentState"].to_string().contains("d0")
        })
    });
    assert_eq!(site.node.mtu("d0"), Some(1400), "the kernel is left as it is");
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_node_that_starts_without_the_api_has_its_last_good_wish() {
    let Some(mut site) = Site::new("alone") else { return };
    let agent = site.agent();
    site.until("the object is made", || site.condition("Available").is_some());
    site.desire(&bridge(1400));
    site.until("the desired state is in place", || site.is_available());
    assert_eq!(agent.stop(), Some(0));
    site.server.process.kill().unwrap();
    site.server.process.wait().unwrap();
    assert_eq!(site.node.ip("link del d0").0, 0);
    let agent = site.agent();
    site.until("the last good wish is applied without the API", || site.node.mtu("d0") == Some(1400));
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_wish_that_cannot_be_had_is_said_on_the_object_and_touches_nothing() {
    let Some(site) = Site::new("refused") else { return };
    let agent = site.agent();
    site.until("the object is made", || site.condition("Available").is_some());
    site.desire("{interfaces: [{name: eth7, type: ethernet, mtu: 1400}]}");
    site.until("the reason is on the object", || {
        site.condition("Degraded").is_some_and(|(status, reason)| status == "True" && reason == "InvalidDesiredState")
    });
    drop(agent);
}

#[test]
fn a_client_does_once_what_the_agent_does_and_ends_by_the_outcome() {
    let Some(site) = Site::new("client") else { return };
    let state = site.folder().join("state").display().to_string();
    let client =
        || site.server.run(&["client", "state", "--host", "node-a", "--netns", &site.node.0, "--state-dir", &state]);
    let (status, text) = client();
    assert_eq!(status, 0, "{text}");
    assert!(site.state().unwrap()["status"]["currentState"].to_string().contains("lo"));
    site.desire(&bridge(1400));
    let (status, text) = client();
    assert_eq!((status, site.node.mtu("d0")), (0, Some(1400)), "{text}");
    assert!(site.is_available());
    site.desire("{interfaces: [{name: eth7, type: ethernet, mtu: 1400}]}");
    let (status, text) = client();
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("eth7"), "{text}");
    assert!(site.condition("Degraded").is_some_and(|(status, _)| status == "True"), "reported all the same");
}

#[test]
fn what_drivers_keep_is_looked_at_and_is_no_drift() {
    let Some(site) = Site::new("drivers") else { return };
    assert_eq!(site.node.ip("link add w0 up type veth peer name w1").0, 0);
    let agent = site.agent();
    site.until("the object is made", || site.condition("Available").is_some());
    site.desire("{interfaces: [{name: w0, type: veth, ethtool: {feature: {rx-gro: true}}}]}");
    site.until("the desired state is in place", || site.is_available());
    let reported = site.state().unwrap()["status"]["currentState"].to_string();
    assert!(reported.contains("\"rx-gro\":true"), "{reported}");
    // Another change makes the agent look again; once that is reported, what it found is known.
    assert_eq!(site.node.ip("link add d1 type bridge").0, 0);
    site.until("the host was looked at again", || {
        site.state().unwrap()["status"]["currentState"].to_string().contains("\"d1\"")
    });
    assert!(site.is_available(), "{:?}", site.condition("Available"));
    assert_eq!(agent.stop(), Some(0));
    let log = fs::read_to_string(site.folder().join("agent.log")).unwrap();
    assert_eq!(log.matches("the wish is in place").count(), 1, "{log}");
}

/// An announcement of a switch with these VLANs.
fn announcement(chassis: &str, vlans: &[u16]) -> Vec<u8> {
    let part = |kind: u16, contents: &[u8]| {
        let head = kind << 9 | u16::try_from(contents.len()).unwrap();
        [&head.to_be_bytes(), contents].concat()
    };
    let mut frame = b"\x01\x80\xc2\x00\x00\x0e\x02\0\0\0\0\x09\x88\xcc".to_vec();
    frame.extend(part(1, &[&[7], chassis.as_bytes()].concat()));
    frame.extend(part(2, b"\x07port"));
    frame.extend(part(3, &[0, 120]));
    for vlan in vlans {
        let [high, low] = vlan.to_be_bytes();
        frame.extend(part(127, &[0x00, 0x80, 0xc2, 3, high, low, 0]));
    }
    frame
}

#[test]
fn a_policy_that_goes_by_neighbours_takes_effect_once_one_is_heard() {
    let Some(site) = Site::new("lldp") else { return };
    assert_eq!(site.node.ip("link add w0 up type veth peer name w1").0, 0);
    assert_eq!(site.node.ip("link set w1 up").0, 0);
    let objects = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n---\n\
         apiVersion: nmstate.io/v1\nkind: NodeNetConfPolicy\nmetadata: {name: p, namespace: default}\n\
         spec: {matchRules: [{name: w0, lldp: {vlanIDList: [10]}}], \
         desiredState: {interfaces: [{name: w0, mtu: 1400}]}}\n";
    let file = site.server.file("policy.yaml", objects);
    assert_eq!(site.server.run(&["apply", "-f", &file]).0, 0);
    let agent = site.agent_with(&["--mode", "distributed"]);
    let wire = || {
        let all = site.state()?["status"]["currentState"]["interfaces"].as_array()?.clone();
        all.into_iter().find(|link| link["name"] == "w0")
    };
    site.until("the link is listened on", || wire().is_some_and(|link| link["lldp"]["enabled"] == true));
    assert_eq!(wire().unwrap()["lldp"].get("neighbors"), None, "nobody could be heard yet");
    assert_eq!(site.node.mtu("w0"), Some(1500));
    site.until("another VLAN is heard", || {
        site.node.send("w1", &announcement("leaf1", &[20]));
        wire().is_some_and(|link| link["lldp"]["neighbors"].to_string().contains("leaf1"))
    });
    assert_eq!(site.node.mtu("w0"), Some(1500));
    site.until("the policy takes effect", || {
        site.node.send("w1", &announcement("leaf1", &[10, 20]));
        site.node.mtu("w0") == Some(1400)
    });
    site.until("that is reported", || wire().is_some_and(|link| link["mtu"] == 1400) && site.is_available());
    assert_eq!(agent.stop(), Some(0));
    let agent = site.agent_with(&["--mode", "distributed"]);
    assert_eq!(site.node.ip("link add d1 type bridge").0, 0);
    site.until("the next life reports", || site.state().unwrap()["status"].to_string().contains("\"d1\""));
    assert_eq!(site.node.mtu("w0"), Some(1400), "nothing is taken back because nobody was heard yet");
    assert!(wire().unwrap()["lldp"]["neighbors"].to_string().contains("leaf1"));
    drop(agent);
}

#[test]
fn policies_are_merged_once_for_one_node_or_for_all() {
    let Some(site) = Site::new("policy") else { return };
    let state = site.folder().join("state").display().to_string();
    let (status, text) =
        site.server.run(&["client", "state", "--host", "node-a", "--netns", &site.node.0, "--state-dir", &state]);
    assert_eq!(status, 0, "{text}");
    let objects = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n---\n\
         apiVersion: nmstate.io/v1\nkind: NodeNetConfPolicy\nmetadata: {name: p, namespace: default}\n\
         spec: {matchRules: [{name: lo}], desiredState: {interfaces: [{name: lo, state: up, mtu: 65000}]}}\n";
    let file = site.server.file("policy.yaml", objects);
    assert_eq!(site.server.run(&["apply", "-f", &file]).0, 0);
    let mtu = || site.state().unwrap()["spec"]["desiredState"]["interfaces"][0]["mtu"].clone();
    let (status, text) = site.server.run(&["client", "policy", "--host", "node-a"]);
    assert_eq!((status, mtu()), (0, 65000.into()), "{text}");
    let file = site.server.file("policy.yaml", &objects.replace("65000", "64000"));
    assert_eq!(site.server.run(&["apply", "-f", &file]).0, 0);
    let (status, text) = site.server.run(&["client", "policy", "--centralized"]);
    assert_eq!((status, mtu()), (0, 64000.into()), "{text}");
}
