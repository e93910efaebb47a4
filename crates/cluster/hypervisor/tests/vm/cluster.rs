//! The program itself: an API server, a controller, agents, and a person who changes one machine.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{self, Child, Command},
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use futures_util::StreamExt as _;
use kube::{
    Api, Client, Config,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use netloom_client::Watch;
use netloom_object::{Change, GroupKind};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::{
    guest::{Console, base},
    node::Node,
    server::{Served, Server},
};

/// The longest that anything may take; an emulated guest on a busy machine is slow.
fn patience() -> Duration {
    let times = std::env::var("NETLOOM_PATIENCE").ok().and_then(|times| times.parse().ok());
    Duration::from_mins(1) * times.unwrap_or(1)
}

const MACHINE: GroupKind<'static> = GroupKind::new("kubevirt.io", "VirtualMachine");
const INSTANCE: GroupKind<'static> = GroupKind::new("kubevirt.io", "VirtualMachineInstance");
const MIGRATION: GroupKind<'static> = GroupKind::new("kubevirt.io", "VirtualMachineInstanceMigration");
const REPORT: GroupKind<'static> = GroupKind::new("network.t-caas.telekom.com", "NodeNetworkStatus");
const EVENT: GroupKind<'static> = GroupKind::new("events.k8s.io", "Event");
const NODE: GroupKind<'static> = GroupKind::new("", "Node");

/// Where a kind is served.
fn resource(kind: GroupKind<'static>) -> ApiResource {
    let version = if kind == REPORT { "v1alpha1" } else { "v1" };
    ApiResource::from_gvk(&GroupVersionKind::gvk(kind.group, version, kind.kind))
}

/// What every story starts from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    /// The folder with the guest.
    pub(crate) guest: &'a Path,
    /// The program.
    pub(crate) program: &'a Path,
    /// The folder with the real Kubernetes parts.
    pub(crate) peers: &'a Path,
    /// What serves the API.
    pub(crate) served: Served,
}

pub(crate) struct Cluster {
    pub(crate) folder: PathBuf,
    program: PathBuf,
    pub(crate) nodes: Vec<Node>,
    controller: Child,
    /// It ends last.
    server: Server,
    runtime: Runtime,
    client: Client,
    changes: Receiver<Change>,
    reports: BTreeMap<String, Value>,
    pub(crate) machine: Option<Value>,
    pub(crate) instance: Option<Value>,
    pub(crate) migration: Option<Value>,
    /// How many writes there were, by what they changed.
    pub(crate) writes: BTreeMap<&'static str, usize>,
    pub(crate) drifts: usize,
    pub(crate) console: Console,
}

/// A NIC: its name and its state.
pub(crate) fn nic(name: &str, state: &str) -> (Value, Value) {
    let mut nic = json!({"name": name, "bridge": {}});
    if !state.is_empty() {
        nic["state"] = state.into();
    }
    (nic, json!({"name": name, "multus": {"networkName": name}}))
}

/// The NIC in the network of pods.
pub(crate) fn primary(state: &str) -> (Value, Value) {
    (json!({"name": "default", "masquerade": {}, "state": state}), json!({"name": "default", "pod": {}}))
}

impl Cluster {
    pub(crate) fn start(given: Given<'_>, name: &str, nodes: usize, nics: &[(Value, Value)]) -> Self {
        let Given { guest, program, .. } = given;
        let folder = std::env::temp_dir().join(format!("netloom-vm-{}-{name}", process::id()));
        // One that failed leaves it for people to look at.
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).unwrap();
        let console = Console(folder.join("console"));
        let base = base(guest, &console.0);
        let all: Vec<Node> = (1..=nodes).map(|number| Node::start(program, number, &folder, &base)).collect();
        let server = Server::start(given, &folder);
        server.prepare();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(connected(&server.admin));
        let controller = server.controller();
        let (tell, changes) = channel();
        for kind in [MACHINE, INSTANCE, MIGRATION, REPORT, EVENT] {
            runtime.spawn(follow(client.clone(), kind, tell.clone()));
        }
        let mut cluster = Self {
            folder,
            program: program.to_owned(),
            nodes: all,
            controller,
            server,
            runtime,
            client,
            changes,
            reports: BTreeMap::new(),
            machine: None,
            instance: None,
            migration: None,
            writes: BTreeMap::new(),
            drifts: 0,
            console,
        };
        for at in 0..nodes {
            cluster.join(at);
        }
        cluster.until("every agent tells of its libvirt", |cluster| (0..nodes).all(|at| cluster.has_libvirt(at)));
        if !nics.is_empty() {
            cluster.apply_machine(nics);
        }
        cluster
    }

    /// Makes a node one of the cluster, with its agent.
    fn join(&mut self, at: usize) {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.nodes[at].name}});
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource(NODE));
        let node = serde_json::from_value(node).unwrap();
        self.runtime.block_on(api.create(&PostParams::default(), &node)).unwrap();
        let identity = self.identity(at);
        self.runtime.block_on(self.server.identity(&self.client, &self.nodes[at].name, &identity));
        self.nodes[at].start_agent(&identity);
    }

    fn identity(&self, at: usize) -> PathBuf {
        self.folder.join(format!("{}.conf", self.nodes[at].name))
    }

    /// Kills the agent of a node and starts another one.
    pub(crate) fn another_agent(&mut self, at: usize) {
        let identity = self.identity(at);
        self.nodes[at].start_agent(&identity);
    }

    /// Kills the agent of a node and starts one that has no libvirt.
    pub(crate) fn agent_without_libvirt(&mut self, at: usize) {
        let identity = self.identity(at);
        self.nodes[at].start_agent_with(&identity, &[]);
    }

    /// Whether a node says that it has a libvirt.
    pub(crate) fn has_libvirt(&self, at: usize) -> bool {
        self.reports.get(&self.nodes[at].name).is_some_and(|report| report["status"]["libvirt"].is_object())
    }

    /// How many watches the server has.
    pub(crate) fn watches(&self) -> usize {
        let asked = http::Request::get("/metrics").body(Vec::new()).unwrap();
        let text = self.runtime.block_on(self.client.request_text(asked)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("apiserver_longrunning_requests "));
        line.unwrap().trim().parse().unwrap()
    }

    /// Kills the controller and starts another one.
    pub(crate) fn another_controller(&mut self) {
        self.controller.kill().unwrap();
        self.controller.wait().unwrap();
        self.controller = self.server.controller();
    }

    /// Runs a verb of the program as an administrator.
    fn run(&self, words: &[&str]) {
        let mut command = Command::new(&self.program);
        let output = command.args(words).env("KUBECONFIG", &self.server.admin).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn apply_machine(&mut self, nics: &[(Value, Value)]) {
        let interfaces: Vec<&Value> = nics.iter().map(|(nic, _)| nic).collect();
        let networks: Vec<&Value> = nics.iter().map(|(_, network)| network).collect();
        let machine = json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"namespace": "default", "name": "a"},
            "spec": {"runStrategy": "Always", "template": {"spec": {
                "domain": {"devices": {"interfaces": interfaces}}, "networks": networks,
            }}},
        });
        let file = self.folder.join("machine.json");
        fs::write(&file, machine.to_string()).unwrap();
        self.run(&["apply", "-f", &file.display().to_string()]);
        self.until("the machine is there", |cluster| cluster.machine.is_some());
    }

    /// Lets everything happen until something is so.
    #[expect(clippy::disallowed_methods, reason = "a limit for what must come")]
    pub(crate) fn until(&mut self, what: &str, is: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        loop {
            while let Ok(change) = self.changes.try_recv() {
                self.take(change);
            }
            if is(self) {
                return;
            }
            assert!(begun.elapsed() < patience(), "not so in time: {what}\n{}", self.tell());
            // What the guest prints tells nobody that it is there.
            if let Ok(change) = self.changes.recv_timeout(Duration::from_millis(20)) {
                self.take(change);
            }
        }
    }

    /// Something is not so for a while.
    #[expect(clippy::disallowed_methods, reason = "how long nothing must come")]
    pub(crate) fn never(&mut self, what: &str, time: Duration, is: impl Fn(&Self) -> bool) {
        let end = Instant::now() + time;
        loop {
            assert!(!is(self), "{what}\n{}", self.tell());
            let Ok(change) = self.changes.recv_timeout(end.saturating_duration_since(Instant::now())) else { return };
            self.take(change);
        }
    }

    fn tell(&self) -> String {
        let files = ["n1/log", "n1/agent-log", "n2/log", "n2/agent-log", "controller-log", "server-log"];
        let log = |name: &&str| Some(format!("{name}: {}", fs::read_to_string(self.folder.join(name)).ok()?));
        format!(
            "machine {:#}\ninstance {:#}\nmigration {:#}\nguest {:?}\n{}",
            self.machine.clone().unwrap_or_default(),
            self.instance.clone().unwrap_or_default(),
            self.migration.clone().unwrap_or_default(),
            self.console.carriers(),
            files.iter().filter_map(log).collect::<Vec<_>>().join("\n"),
        )
    }

    fn take(&mut self, change: Change) {
        match change {
            Change::Listed { objects, .. } => objects.into_iter().for_each(|object| self.put(object.as_ref().clone())),
            Change::Put(object) => self.put(object.as_ref().clone()),
            Change::Gone(object) => match object["kind"].as_str().unwrap_or_default() {
                kind if kind == MACHINE.kind => self.machine = None,
                kind if kind == INSTANCE.kind => self.instance = None,
                kind if kind == MIGRATION.kind => self.migration = None,
                _ => {}
            },
        }
    }

    fn put(&mut self, object: Value) {
        let place = match object["kind"].as_str().unwrap_or_default() {
            kind if kind == MACHINE.kind => &mut self.machine,
            kind if kind == INSTANCE.kind => &mut self.instance,
            kind if kind == MIGRATION.kind => &mut self.migration,
            kind if kind == EVENT.kind => {
                self.drifts += usize::from(object["reason"] == "LinkStateDrift");
                return;
            }
            _ => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                self.reports.insert(name, object);
                return;
            }
        };
        let before = place.replace(object.clone()).unwrap_or_default();
        for part in ["spec", "status"].into_iter().filter(|part| before[part] != object[part]) {
            let what = match (object["kind"] == INSTANCE.kind, part) {
                (true, "spec") => "instance",
                (true, _) => "status of the instance",
                (false, "spec") => "other",
                (false, _) => "status of others",
            };
            *self.writes.entry(what).or_default() += 1;
        }
    }

    fn objects(&self, kind: GroupKind<'static>) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), "default", &resource(kind))
    }

    /// A person patches the machine as `kubectl patch --type=json` does.
    pub(crate) fn patch(&self, operations: &Value) {
        let patch: Patch<()> = Patch::Json(serde_json::from_value(operations.clone()).unwrap());
        let api = self.objects(MACHINE);
        self.runtime.block_on(api.patch("a", &PatchParams::default(), &patch)).unwrap();
    }

    /// A person sets links, all of them in one patch.
    pub(crate) fn set(&mut self, states: &[(&str, &str)]) {
        let machine = self.runtime.block_on(self.objects(MACHINE).get("a")).unwrap();
        let nics = machine.data["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"].clone();
        let operation = |(name, state): &(&str, &str)| {
            let at = nics.as_array().unwrap().iter().position(|nic| nic["name"] == *name).unwrap();
            let path = format!("/spec/template/spec/domain/devices/interfaces/{at}/state");
            json!({"op": "add", "path": path, "value": state})
        };
        self.patch(&states.iter().map(operation).collect());
    }

    /// A person adds a NIC to the machine.
    pub(crate) fn plug(&mut self, (nic, network): (Value, Value)) {
        self.patch(&json!([
            {"op": "add", "path": "/spec/template/spec/domain/devices/interfaces/-", "value": nic},
            {"op": "add", "path": "/spec/template/spec/networks/-", "value": network},
        ]));
    }

    /// A person moves the instance.
    pub(crate) fn migrate(&mut self, name: &str) {
        let migration = json!({
            "apiVersion": "kubevirt.io/v1", "kind": MIGRATION.kind,
            "metadata": {"namespace": "default", "name": name}, "spec": {"vmiName": "a"},
        });
        let migration = serde_json::from_value(migration).unwrap();
        self.runtime.block_on(self.objects(MIGRATION).create(&PostParams::default(), &migration)).unwrap();
    }

    pub(crate) fn status(&self) -> &Value {
        self.instance.as_ref().map_or(&Value::Null, |instance| &instance["status"])
    }

    /// What is reported of the link of a NIC, and whether the guest sees a carrier there.
    pub(crate) fn link(&self, name: &str) -> Option<(String, bool)> {
        let entry = self.status()["interfaces"].as_array()?.iter().find(|entry| entry["name"] == name)?;
        let carrier = *self.console.carriers().get(entry["mac"].as_str()?)?;
        Some((entry["linkState"].as_str()?.to_owned(), carrier))
    }

    pub(crate) fn linked(&mut self, name: &str, state: &str) {
        let wanted = Some((state.to_owned(), state == "up"));
        self.until(&format!("{name} is {state}, in the status and in the guest"), |cluster| {
            cluster.link(name) == wanted
        });
    }
}

async fn connected(admin: &Path) -> Client {
    let read = Kubeconfig::read_from(admin).unwrap();
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn follow(client: Client, kind: GroupKind<'static>, tell: Sender<Change>) {
    let mut changes = Watch::all(kind, resource(kind)).follow(client);
    while let Some(change) = changes.next().await {
        // A server that ends is no news.
        if change.is_ok_and(|change| tell.send(change).is_err()) {
            return;
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        for process in [&mut self.controller, &mut self.server.process] {
            process.kill().ok();
            process.wait().ok();
        }
        if !std::thread::panicking() {
            fs::remove_dir_all(&self.folder).ok();
        }
    }
}
