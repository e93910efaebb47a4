//! The API server of a story: the program's own, or a real kube-apiserver with the manifests that are shipped for clusters.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};

use crate::cluster::Given;

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    Embedded,
    Real,
}

/// Rights, and what keeps agents to their nodes.
const MANIFESTS: [&str; 4] = ["rbac.yaml", "node-restriction.yaml", "vms/rbac.yaml", "vms/node-restriction.yaml"];

/// A server that runs.
pub(crate) struct Server {
    pub(crate) process: Child,
    /// An administrator's.
    pub(crate) admin: PathBuf,
    program: PathBuf,
    peers: PathBuf,
    folder: PathBuf,
    served: Served,
}

/// Starts a process, and returns when it has said that it is ready.
pub(crate) fn ready(command: &mut Command, log: &Path) -> Child {
    let log = fs::File::options().create(true).append(true).open(log).unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let is_ready = said.any(|line| line.contains("ready"));
    assert!(is_ready, "it ended with {:?} before it was ready: {command:?}", child.wait());
    // It never waits for a reader.
    std::thread::spawn(move || said.for_each(drop));
    child
}

impl Server {
    pub(crate) fn start(given: Given<'_>, folder: &Path) -> Self {
        let (log, admin) = (folder.join("server-log"), folder.join("admin.kubeconfig"));
        let process = match given.served {
            Served::Embedded => {
                let mut command = Command::new(given.program);
                command.args(["server", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.join("data"));
                ready(command.arg("--kubeconfig-out").arg(&admin), &log)
            }
            Served::Real => {
                let mut command = Command::new(given.peers.join("kube"));
                ready(command.arg("--dir").arg(folder).args(["--limit", "40m"]), &log)
            }
        };
        Self {
            process,
            admin,
            program: given.program.to_owned(),
            peers: given.peers.to_owned(),
            folder: folder.to_owned(),
            served: given.served,
        }
    }

    /// Installs what is shipped for clusters, where the server does not have it by itself.
    pub(crate) fn prepare(&self) {
        if self.served == Served::Real {
            let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../deploy");
            for file in MANIFESTS {
                self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f"], &deploy.join(file));
            }
        }
    }

    /// What kubectl says; with the file as its last word.
    pub(crate) fn kubectl(&self, words: &[&str], file: &Path) -> String {
        let mut kubectl = Command::new(self.peers.join("kubectl"));
        kubectl.args(words).arg(file).env("KUBECONFIG", &self.admin).env("KUBECACHEDIR", self.folder.join("discovery"));
        let output = kubectl.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Starts a controller, which acts on machines.
    pub(crate) fn controller(&self) -> Child {
        let mut command = Command::new(&self.program);
        command.arg("controller").arg("--kubeconfig");
        match self.served {
            Served::Embedded => command.arg(self.own_identity()),
            Served::Real => command.arg(&self.admin).args(["--install-crds", "--vms"]),
        };
        ready(&mut command, &self.folder.join("controller-log"))
    }

    fn own_identity(&self) -> PathBuf {
        let own = self.folder.join("controller.conf");
        self.generate(&["--controller"], &own);
        own
    }

    fn generate(&self, words: &[&str], to: &Path) {
        let mut command = Command::new(&self.program);
        command.args(["gen", "kubeconfig"]).args(words).arg("--out").arg(to).env("KUBECONFIG", &self.admin);
        assert!(command.status().unwrap().success(), "{words:?}");
    }

    /// Makes the identity of an agent: on the real server a token that is bound to the node, as its pod has.
    pub(crate) async fn identity(&self, client: &Client, node: &str, to: &Path) {
        if self.served == Served::Embedded {
            return self.generate(&["--node", node], to);
        }
        let account = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ServiceAccount"));
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "netloom-system", &account);
        let wanted = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600, "boundObjectRef": {"apiVersion": "v1", "kind": "Node", "name": node}},
        });
        let made: Value =
            api.create_subresource("token", "netloom-agent", &PostParams::default(), &wanted).await.unwrap();
        let mut config = serde_json::to_value(Kubeconfig::read_from(&self.admin).unwrap()).unwrap();
        config["users"][0]["user"] = json!({"token": made["status"]["token"]});
        fs::write(to, config.to_string()).unwrap();
    }
}
