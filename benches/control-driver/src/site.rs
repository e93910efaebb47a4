//! Server, controller and agent, each a process of its own, in the network namespace of this one.
//!
//! That namespace is the node: the agent runs in it as it does on a machine, and reaches the API through it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use bench_client::{Access, Failure};
use http::Method;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::sight::Sight;

pub const NODE: &str = "node-a";
pub const NODES: &str = "/api/v1/nodes";
pub const STATES: &str = "/apis/nmstate.io/v1/namespaces/default/nodenetworkstates";
pub const POLICIES: &str = "/apis/nmstate.io/v1/namespaces/default/nodenetconfpolicies";
pub const CONFIGS: &str = "/apis/network.t-caas.telekom.com/v1alpha1/nodenetworkconfigs";
/// Where the agents of all nodes say that they are there.
pub const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/netloom-system/leases";
pub const EVENTS: &str = "/apis/events.k8s.io/v1/events";

/// How long a process may take to be ready, and to end.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Programs<'a> {
    /// The whole program.
    pub netloom: &'a str,
    /// The one with the verbs of a node alone.
    pub agent: &'a str,
}

/// A server with one node in it, and who works on that.
pub struct Site {
    netloom: String,
    agent_program: String,
    folder: PathBuf,
    pub access: Access,
    server: Child,
    controller: Option<Child>,
    agent: Option<Child>,
}

impl Site {
    /// Starts a server in an empty folder, with a node in it.
    pub async fn open(programs: Programs<'_>, folder: &str) -> Result<Self, Failure> {
        let folder = Path::new(folder).join("site");
        if fs::exists(&folder)? {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let kubeconfig = folder.join("admin.kubeconfig");
        let Programs { netloom, agent } = programs;
        let mut command = Command::new(netloom);
        command.args(["server", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.join("data"));
        command.arg("--kubeconfig-out").arg(&kubeconfig);
        let (server, line) = ready(&mut command, &folder.join("server.log")).await?;
        let port = line.rsplit(':').next().unwrap_or_default().trim().parse()?;
        let access = Access::read(&fs::read_to_string(&kubeconfig)?, port)?;
        let (netloom, agent_program) = (netloom.to_owned(), agent.to_owned());
        let site = Self { netloom, agent_program, folder, access, server, controller: None, agent: None };
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}});
        site.send(Method::POST, NODES, &node).await?;
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        site.send(Method::PATCH, &format!("{NODES}/{NODE}/status"), &ready).await?;
        Ok(site)
    }

    /// Starts a controller and waits until it knows all that it needs.
    pub async fn control(&mut self) -> Result<(), Failure> {
        let mut command = Command::new(&self.netloom);
        command.arg("controller").env("KUBECONFIG", self.folder.join("admin.kubeconfig"));
        let (controller, _) = ready(&mut command, &self.folder.join("controller.log")).await?;
        self.controller = Some(controller);
        Ok(())
    }

    /// Makes an identity for the agent, unless it has one.
    pub async fn identify(&self) -> Result<PathBuf, Failure> {
        let identity = self.folder.join("node.kubeconfig");
        if !fs::exists(&identity)? {
            let mut command = Command::new(&self.netloom);
            command.args(["gen", "kubeconfig", "--node", NODE, "--out"]).arg(&identity);
            command.env("KUBECONFIG", self.folder.join("admin.kubeconfig"));
            let made = command.status().await?;
            if !made.success() {
                return Err(format!("no identity for the node: {made}").into());
            }
        }
        Ok(identity)
    }

    /// Starts an agent with further words, and waits until it has reported how the node is.
    pub async fn attend(&mut self, words: &[&str]) -> Result<Sight, Failure> {
        let identity = self.identify().await?;
        let mut command = Command::new(&self.agent_program);
        command.args(["agent", "--node", NODE, "--kubeconfig"]).arg(identity);
        command.arg("--state-dir").arg(self.folder.join("state")).args(words);
        let log = fs::File::create(self.folder.join("agent.log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        self.agent = Some(command.spawn()?);
        let mut sight = Sight::of(&self.access, &[STATES, CONFIGS, EVENTS]).await?;
        sight.until("the agent reports", |sight| sight.get("NodeNetworkState", NODE).is_some_and(is_available)).await?;
        Ok(sight)
    }

    /// The process of the agent.
    pub fn agent(&self) -> Result<u32, Failure> {
        Ok(self.agent.as_ref().and_then(Child::id).ok_or("no agent runs")?)
    }

    /// Ends the agent.
    pub async fn leave(&mut self) -> Result<(), Failure> {
        end(self.agent.take()).await
    }

    /// Ends the controller.
    pub async fn release(&mut self) -> Result<(), Failure> {
        end(self.controller.take()).await
    }

    /// Ends everything.
    pub async fn close(mut self) -> Result<(), Failure> {
        self.leave().await?;
        self.release().await?;
        end(Some(self.server)).await?;
        Ok(fs::remove_dir_all(&self.folder)?)
    }

    /// A request with an object, and the object that is the answer.
    pub async fn send(&self, method: Method, path: &str, object: &Value) -> Result<Value, Failure> {
        let body = if object.is_null() { String::new() } else { object.to_string() };
        let answer = self.access.connect().await?.send(method, path, body.into()).await?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

/// Whether a node's network state says that all is as desired, of what is desired now.
pub fn is_available(state: &Value) -> bool {
    condition(state, "Available").is_some_and(|reported| reported["status"] == "True")
        && state["status"]["observedGeneration"] == state["metadata"]["generation"]
}

/// What an object says of itself.
pub fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Runs `ip` with these words in the namespace of this process.
pub async fn ip(words: &str) -> Result<(), Failure> {
    let output = Command::new("ip").args(words.split(' ')).stdin(Stdio::null()).output().await?;
    if output.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&output.stderr);
    Err(format!("ip {words}: {}; {}", output.status, reported.trim()).into())
}

/// Runs lines of `ip` in one process.
pub async fn ip_batch(folder: &str, lines: &str) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    let file = Path::new(folder).join("batch");
    fs::write(&file, lines)?;
    ip(&format!("-batch {}", file.display())).await
}

/// Starts a process and waits for the line in which it says that it is ready.
async fn ready(command: &mut Command, log: &Path) -> Result<(Child, String), Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(fs::File::create(log)?).kill_on_drop(true);
    let mut process = command.spawn()?;
    let mut lines = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
    let line = timeout(TIME_LIMIT, lines.next_line()).await??;
    match line.filter(|line| line.starts_with("ready")) {
        Some(line) => Ok((process, line)),
        None => Err(format!("it did not become ready: {}", fs::read_to_string(log)?).into()),
    }
}

/// Asks a process to end, and waits for that.
async fn end(process: Option<Child>) -> Result<(), Failure> {
    let Some(mut process) = process else { return Ok(()) };
    let pid = process.id().ok_or("a process has ended by itself")?;
    kill(Pid::from_raw(i32::try_from(pid)?), Signal::SIGTERM)?;
    timeout(TIME_LIMIT, process.wait()).await??;
    Ok(())
}
