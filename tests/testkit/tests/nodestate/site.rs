//! What serves the stories: an API server, a controller where a story wants one, and the program itself.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use kube::{
    Api, Client, Config,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, WatchEvent,
        WatchParams,
    },
    config::{KubeConfigOptions, Kubeconfig},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, task::JoinHandle};

use super::Ground;

/// The kinds that stories speak of, as `KIND` or `KIND.GROUP`, of which the first is meant: group, version, kind, plural, and whether they are in a namespace.
const KINDS: [(&str, &str, &str, &str, bool); 30] = [
    ("network.harvesterhci.io", "v1beta1", "HostNetworkConfig", "hostnetworkconfigs", false),
    ("network.harvesterhci.io", "v1beta1", "VlanConfig", "vlanconfigs", false),
    ("network.harvesterhci.io", "v1beta1", "VlanStatus", "vlanstatuses", false),
    ("network.harvesterhci.io", "v1beta1", "LinkMonitor", "linkmonitors", false),
    ("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition", "network-attachment-definitions", true),
    ("network.harvesterhci.io", "v1beta1", "ClusterNetwork", "clusternetworks", false),
    ("network.t-caas.telekom.com", "v1alpha1", "NodeNetworkStatus", "nodenetworkstatuses", false),
    ("network.t-caas.telekom.com", "v1alpha1", "Layer2Attachment", "layer2attachments", false),
    ("network.t-caas.telekom.com", "v1alpha1", "Destination", "destinations", false),
    ("network.t-caas.telekom.com", "v1alpha1", "Network", "networks", false),
    ("network.t-caas.telekom.com", "v1alpha1", "VRF", "vrfs", false),
    ("network.t-caas.telekom.com", "v1alpha1", "BGPPeering", "bgppeerings", false),
    ("network.t-caas.telekom.com", "v1alpha1", "VRFRouteConfiguration", "vrfrouteconfigurations", false),
    ("network.t-caas.telekom.com", "v1alpha1", "Layer2NetworkConfiguration", "layer2networkconfigurations", false),
    ("nmstate.io", "v1", "NodeNetConfPolicy", "nodenetconfpolicies", true),
    ("netloom.dev", "v1alpha1", "RolloutPolicy", "rolloutpolicies", false),
    ("network.t-caas.telekom.com", "v1alpha1", "NodeNetworkConfig", "nodenetworkconfigs", false),
    ("network.t-caas.telekom.com", "v1alpha1", "NetworkConfigRevision", "networkconfigrevisions", false),
    ("nmstate.io", "v1", "NodeNetworkState", "nodenetworkstates", true),
    ("events.k8s.io", "v1", "Event", "events", true),
    ("danm.k8s.io", "v1", "DanmNet", "danmnets", true),
    ("danm.k8s.io", "v1", "TenantNetwork", "tenantnetworks", true),
    ("danm.k8s.io", "v1", "ClusterNetwork", "clusternetworks", false),
    ("danm.k8s.io", "v1", "TenantConfig", "tenantconfigs", false),
    ("danm.k8s.io", "v1", "DanmEp", "danmeps", true),
    ("netloom.dev", "v1alpha1", "IPBlock", "ipblocks", false),
    ("", "v1", "Service", "services", true),
    ("", "v1", "Endpoints", "endpoints", true),
    ("", "v1", "Pod", "pods", true),
    ("", "v1", "Node", "nodes", false),
];
/// Groups whose objects stay when a story is over: the server goes then too.
const STAYING: [&str; 3] = ["network.harvesterhci.io", "k8s.cni.cncf.io", "danm.k8s.io"];
/// As long as a server of the slowest machine takes to start.
const READY: Duration = Duration::from_mins(5);
/// Where all objects of stories are that are in a namespace.
const NAMESPACE: &str = "default";

/// A process that is asked to end when this value goes, and waited for.
pub(crate) struct Process(Child);

impl Process {
    /// Starts a command and returns when it prints a line with this word; what it says else goes to a file.
    pub(crate) fn ready(command: &mut Command, word: &str, log: &Path) -> Result<Self, String> {
        let file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn();
        let mut process = Self(child.map_err(|error| format!("{}: {error}", command.get_program().display()))?);
        let reader = BufReader::new(process.0.stdout.take().ok_or("no standard output")?);
        let (printed, heard) = channel();
        let word = word.to_owned();
        // Read to its end, so that it never waits for a reader.
        std::thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok).filter(|line| line.contains(&word)) {
                printed.send(line).ok();
            }
        });
        let program = command.get_program().display();
        match heard.recv_timeout(READY) {
            Ok(_) => Ok(process),
            Err(RecvTimeoutError::Disconnected) => Err(format!("{program} ended before it was ready:\n{}", tail(log))),
            Err(RecvTimeoutError::Timeout) => Err(format!("{program} is not ready in time:\n{}", tail(log))),
        }
    }

    /// Starts a command that says nothing on standard output.
    pub(super) fn start(command: &mut Command, log: &Path) -> Result<Self, String> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.map_err(|error| format!("{}: {error}", log.display()))?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn();
        Ok(Self(child.map_err(|error| format!("{}: {error}", command.get_program().display()))?))
    }

    /// The number by which the kernel knows it.
    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> Result<bool, String> {
        Ok(self.0.try_wait().map_err(|error| error.to_string())?.is_some())
    }

    /// Tells it to end, and gives its exit status; none when a signal ended it.
    pub(crate) fn end(mut self, signal: Signal) -> Result<Option<i32>, String> {
        let pid = i32::try_from(self.0.id()).map_err(|error| error.to_string())?;
        kill(Pid::from_raw(pid), signal).map_err(|error| error.to_string())?;
        Ok(self.0.wait().map_err(|error| error.to_string())?.code())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that ended has no number any more: it may be another's by now.
        let running = matches!(self.0.try_wait(), Ok(None));
        let pid = i32::try_from(self.0.id()).map(Pid::from_raw);
        if running && pid.is_ok_and(|pid| kill(pid, Signal::SIGTERM).is_ok()) {
            self.0.wait().ok();
        }
    }
}

/// The last lines of a log, for the reader of a failure.
pub(super) fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// A client with the identity of a kubeconfig.
fn connected(runtime: &Runtime, kubeconfig: &Path) -> Result<Client, String> {
    let read = Kubeconfig::read_from(kubeconfig).map_err(|error| error.to_string())?;
    let config = runtime.block_on(Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()));
    let _entered = runtime.enter();
    Client::try_from(config.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// How often objects of a kind were written since somebody began to count.
pub(super) struct Count {
    writes: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Count {
    /// How often it was so far.
    pub(super) fn so_far(&self) -> Result<usize, String> {
        if self.task.is_finished() {
            return Err("the server ended the watch in which writes are counted".to_owned());
        }
        Ok(self.writes.load(Ordering::Relaxed))
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An API server with nothing of a story on it.
pub(super) struct Site {
    pub(super) netloom: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) runtime: Runtime,
    client: Client,
    /// The kubeconfig of the controller.
    identity: PathBuf,
    controller: Option<Process>,
    _server: Process,
}

impl Site {
    /// Starts a server and installs the definitions, by a controller that ends again.
    pub(super) fn open(netloom: &Path, folder: &Path, ground: &dyn Ground) -> Result<Self, String> {
        fs::remove_dir_all(folder).ok();
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let server = ground.start(folder)?;
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        let client = connected(&runtime, &folder.join("admin.kubeconfig"))?;
        let (netloom, folder) = (netloom.to_owned(), folder.to_owned());
        let identity = ground.controller(&folder)?;
        let mut site = Self { netloom, folder, runtime, client, identity, controller: None, _server: server };
        site.control(true)?;
        Ok(site)
    }

    /// Lets a controller run, or none.
    pub(super) fn control(&mut self, wanted: bool) -> Result<(), String> {
        if !wanted {
            self.controller = None;
        } else if self.controller.is_none() {
            let mut command = self.command(&["controller", "--install-crds", "--lease-seconds", "5"]);
            command.env("KUBECONFIG", &self.identity);
            self.controller = Some(Process::ready(&mut command, "ready", &self.folder.join("controller.log"))?);
        }
        Ok(())
    }

    /// The program, as an administrator runs it.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.netloom);
        command.args(words).env("KUBECONFIG", self.folder.join("admin.kubeconfig"));
        command
    }

    /// The objects of a kind.
    pub(super) fn api(&self, kind: &str) -> Result<Api<DynamicObject>, String> {
        Self::api_of(&self.client, kind)
    }

    fn api_of(client: &Client, kind: &str) -> Result<Api<DynamicObject>, String> {
        let (name, of) = kind.split_once('.').map_or((kind, None), |(name, group)| (name, Some(group)));
        let found = KINDS.iter().find(|known| known.2 == name && of.is_none_or(|group| known.0 == group));
        let (group, version, kind, plural, namespaced) =
            found.ok_or_else(|| format!("stories do not know the kind {kind}"))?;
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        Ok(if *namespaced {
            Api::namespaced_with(client.clone(), NAMESPACE, &resource)
        } else {
            Api::all_with(client.clone(), &resource)
        })
    }

    /// An object, when it is there.
    pub(super) fn get(&self, kind: &str, name: &str) -> Result<Option<Value>, String> {
        let found = self.runtime.block_on(self.api(kind)?.get_opt(name)).map_err(|error| error.to_string())?;
        found.map(|object| serde_json::to_value(object).map_err(|error| error.to_string())).transpose()
    }

    /// All objects of a kind.
    pub(super) fn list(&self, kind: &str) -> Result<Vec<Value>, String> {
        let found = self.runtime.block_on(self.api(kind)?.list(&ListParams::default()));
        let found = found.map_err(|error| error.to_string())?;
        found.items.into_iter().map(|object| serde_json::to_value(object).map_err(|error| error.to_string())).collect()
    }

    /// Counts the writes of objects of a kind from now on.
    pub(super) fn count(&self, kind: &str) -> Result<Count, String> {
        let api = self.api(kind)?;
        let failed = |error: kube::Error| format!("count every {kind}: {error}");
        let listed = self.runtime.block_on(api.list(&ListParams::default())).map_err(failed)?;
        let since = listed.metadata.resource_version.unwrap_or_default();
        let writes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&writes);
        let task = self.runtime.spawn(async move {
            let Ok(stream) = api.watch(&WatchParams::default(), &since).await else { return };
            let mut stream = stream.boxed();
            while let Some(Ok(event)) = stream.next().await {
                match event {
                    WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Deleted(_) => {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(_) => return,
                }
            }
        });
        Ok(Count { writes, task })
    }

    /// Writes a part of a status, with the identity of a kubeconfig or else as an administrator.
    pub(super) fn patch_status_as(
        &self,
        identity: Option<&Path>,
        kind: &str,
        name: &str,
        status: &Value,
    ) -> Result<(), String> {
        let client = match identity {
            Some(kubeconfig) => connected(&self.runtime, kubeconfig)?,
            None => self.client.clone(),
        };
        let (params, patch) = (PatchParams::default(), Patch::Merge(json!({"status": status})));
        let done = self.runtime.block_on(Self::api_of(&client, kind)?.patch_status(name, &params, &patch));
        done.map(drop).map_err(|error| error.to_string())
    }

    /// Deletes all that a story may have left. Whoever would recreate it has ended before.
    pub(super) fn clear(&mut self) -> Result<(), String> {
        self.control(false)?;
        for (.., kind, _, _) in KINDS.iter().filter(|(group, ..)| !STAYING.contains(group)) {
            let api = self.api(kind)?;
            let (how, which) = (DeleteParams::default(), ListParams::default());
            let gone = api.delete_collection(&how, &which);
            self.runtime.block_on(gone).map_err(|error| format!("delete every {kind}: {error}"))?;
        }
        Ok(())
    }
}
