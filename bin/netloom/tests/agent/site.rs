//! A server, a network namespace as the node, and an agent on it.

use std::{
    fs,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use netloom_netlink::{Namespace, netns::Worker};
use nix::{
    ifaddrs::getifaddrs,
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, sendto, socket},
};
use serde_json::Value;

use crate::embedded::{NETLOOM, Server, ended};

pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(3);

/// A network namespace that goes with the test.
pub(crate) struct Node(pub(crate) String);

impl Node {
    /// None where namespaces cannot be made here.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let name = format!("nl-{name}-{}", std::process::id());
        let (status, text) = ended(Command::new("ip").args(["netns", "add", &name]));
        if status != 0 {
            assert!(std::env::var_os("CI").is_none(), "namespaces must work in CI: {text}");
            eprintln!("skipped: no network namespace can be made here: {text}");
            return None;
        }
        Some(Self(name))
    }

    pub(crate) fn ip(&self, words: &str) -> (i32, String) {
        ended(Command::new("ip").args(["-n", &self.0]).args(words.split(' ')))
    }

    pub(crate) fn mtu(&self, link: &str) -> Option<u64> {
        let (status, text) = self.ip(&format!("-j link show {link}"));
        let links: Value = (status == 0).then(|| serde_json::from_str(&text).unwrap())?;
        links[0]["mtu"].as_u64()
    }
}

impl Node {
    /// Sends a frame out of a link.
    pub(crate) fn send(&self, link: &'static str, frame: &[u8]) {
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
pub(crate) struct Agent(Child);

impl Agent {
    pub(crate) fn start(kubeconfig: &str, node: &Node, folder: &Path, words: &[&str]) -> Self {
        let command = &mut Command::new(NETLOOM);
        Self::begin(command.args(["agent", "--node", "node-a", "--netns", &node.0]), kubeconfig, folder, words)
    }

    /// The same for a node of another name.
    pub(crate) fn start_as(name: &str, kubeconfig: &str, node: &Node, folder: &Path) -> Self {
        let command = &mut Command::new(NETLOOM);
        Self::begin(command.args(["agent", "--node", name, "--netns", &node.0]), kubeconfig, folder, &[])
    }

    /// The same as a process of the node, which reaches the API through it.
    pub(crate) fn start_inside(kubeconfig: &str, node: &Node, folder: &Path) -> Self {
        let words = ["netns", "exec", &node.0, NETLOOM, "agent", "--node", "node-a"];
        Self::begin(Command::new("ip").args(words), kubeconfig, folder, &[])
    }

    fn begin(command: &mut Command, kubeconfig: &str, folder: &Path, words: &[&str]) -> Self {
        let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("agent.log")).unwrap();
        let child = command
            .args(["--kubeconfig", kubeconfig, "--state-dir"])
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
    pub(crate) fn stop(mut self) -> Option<i32> {
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
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) node: Node,
    pub(crate) identity: String,
}

impl Site {
    pub(crate) fn new(name: &str) -> Option<Self> {
        let node = Node::new(name)?;
        let server = Server::start(&format!("agent-{name}"));
        let identity = server.folder.join("n.conf").display().to_string();
        let (status, text) = server.run(&["gen", "kubeconfig", "--node", "node-a", "--out", &identity]);
        assert_eq!(status, 0, "{text}");
        Some(Self { server, node, identity })
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.server.folder.clone()
    }

    pub(crate) fn agent(&self) -> Agent {
        self.agent_with(&[])
    }

    pub(crate) fn agent_with(&self, words: &[&str]) -> Agent {
        Agent::start(&self.identity, &self.node, &self.folder(), words)
    }

    pub(crate) fn state(&self) -> Option<Value> {
        let (status, text) = self.server.run(&["get", "nodenetworkstates", "node-a", "-o", "json"]);
        (status == 0).then(|| serde_json::from_str(&text).unwrap())
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<(String, String)> {
        let state = self.state()?;
        let all = state["status"]["conditions"].as_array()?.clone();
        let found = all.iter().find(|condition| condition["type"] == kind)?;
        Some((found["status"].as_str()?.to_owned(), found["reason"].as_str()?.to_owned()))
    }

    pub(crate) fn desire(&self, document: &str) {
        let text = format!(
            "apiVersion: nmstate.io/v1\nkind: NodeNetworkState\nmetadata: {{name: node-a, namespace: default}}\n\
             spec: {{managed: true, nodeName: node-a, desiredState: {document}}}\n"
        );
        let file = self.server.file("desired.yaml", &text);
        let (status, text) = self.server.run(&["apply", "--force-conflicts", "-f", &file]);
        assert_eq!(status, 0, "{text}");
    }

    /// Where the agent tells how it is.
    pub(crate) fn status_address(&self) -> String {
        let address = || {
            let log = fs::read_to_string(self.folder().join("agent.log")).unwrap();
            let rest = log.split("status is served address=").nth(1)?;
            rest.contains('\n').then(|| rest.split_whitespace().next().map(str::to_owned))?
        };
        self.until("it says where it listens", || address().is_some());
        address().unwrap()
    }

    /// Waits until something is so.
    pub(crate) fn until(&self, what: &str, so: impl Fn() -> bool) {
        let began = Instant::now();
        while !so() {
            let log = || fs::read_to_string(self.folder().join("agent.log")).unwrap_or_default();
            assert!(began.elapsed() < TIME_LIMIT, "not so in time: {what}; {:?}\n{}", self.state(), log());
        }
    }

    pub(crate) fn is_available(&self) -> bool {
        self.condition("Available").is_some_and(|(status, reason)| status == "True" && reason == "AsDesired")
    }
}

pub(crate) fn bridge(mtu: u64) -> String {
    format!("{{interfaces: [{{name: d0, type: linux-bridge, state: up, mtu: {mtu}}}]}}")
}
