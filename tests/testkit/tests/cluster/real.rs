//! A real API server for stories about nodes of a cluster.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    keys,
    manifests::root,
    nodestate::{Ground, Process, Server},
    servers::Programs,
};

/// Rights of the controller and of agents, and what keeps an agent to its own node.
const RIGHTS: [&str; 2] = ["deploy/rbac.yaml", "deploy/node-restriction.yaml"];

/// A kube-apiserver with the rights that are shipped for clusters.
pub(crate) struct Real<'a> {
    pub(crate) programs: &'a Programs,
}

impl Ground for Real<'_> {
    fn server(&self) -> Server {
        Server::Real
    }

    fn start(&self, folder: &Path) -> Result<Process, String> {
        let mut command = Command::new(self.programs.peers.join("kube"));
        command.arg("--dir").arg(folder).args(["--limit", "40m"]);
        let server = Process::ready(&mut command, "ready", &folder.join("server.log"))?;
        for file in RIGHTS {
            let mut kubectl = Command::new(self.programs.peers.join("kubectl"));
            kubectl.args(["apply", "--server-side", "--force-conflicts", "-f"]).arg(root().join(file));
            kubectl.env("KUBECONFIG", folder.join("admin.kubeconfig")).env("KUBECACHEDIR", folder.join("discovery"));
            let done = kubectl.output().map_err(|error| format!("kubectl: {error}"))?;
            if !done.status.success() {
                return Err(format!("{file}: {}", String::from_utf8_lossy(&done.stderr)));
            }
        }
        Ok(server)
    }

    fn identity(&self, folder: &Path, node: &str) -> Result<PathBuf, String> {
        let path = folder.join(format!("{node}.kubeconfig"));
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let admin = netloom_testkit::yaml::read(&read("admin.kubeconfig")?)
            .map_err(|error| format!("admin.kubeconfig: {error}"))?;
        let server = admin.pointer("/clusters/0/cluster/server").and_then(Value::as_str);
        let server = server.ok_or("admin.kubeconfig names no server")?;
        let pair = keys::of_peer(folder, &format!("netloom:agent:{node}"), "netloom:agents")?;
        std::fs::write(&path, keys::kubeconfig(server, &read("ca.crt")?, &pair)).map_err(|error| error.to_string())?;
        Ok(path)
    }
}
