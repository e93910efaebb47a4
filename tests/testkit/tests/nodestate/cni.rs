//! Pods of nodes, attached as a runtime does it: by libcni's own caller, which runs the plugin in a pod's network namespace.
//!
//! `./x` builds the caller (`lab/peers.bash`) and the plugin, which is beside the program.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use netloom_netlink::Namespace;
use serde::Deserialize;
use serde_json::json;

use super::wires::space;

/// The name of the network that runtimes are told of.
const NETWORK: &str = "netloom";
/// The plugin.
const PLUGIN: &str = "netloom-cni";
/// Where the pods of stories are.
const NAMESPACE: &str = "default";

/// A call of a runtime.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CniDeed {
    /// The pod whose namespace it is about.
    pub(super) pod: String,
    /// `add`, `check`, `del`, `gc` or `status`.
    pub(super) verb: String,
    #[serde(default)]
    pub(super) exit: i32,
    /// Words that it must print.
    #[serde(default)]
    pub(super) says: Vec<String>,
}

/// The files of containers that a node has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachedCheck {
    pub(super) node: String,
    pub(super) are: usize,
}

impl AttachedCheck {
    pub(super) fn wrong(&self, folder: &Path) -> Result<Option<String>, String> {
        let records = of_node(folder, &self.node).join("pods");
        let found = fs::read_dir(&records).map_err(|error| format!("{}: {error}", records.display()))?.count();
        Ok((found != self.are).then(|| format!("{} containers are attached on {}", found, self.node)))
    }
}

/// Whether this machine has what calls plugins.
pub(super) fn is_there() -> bool {
    caller().is_some()
}

fn caller() -> Option<PathBuf> {
    let program = PathBuf::from(env::var_os("NETLOOM_PEERS")?).join("cnitool");
    program.exists().then_some(program)
}

/// Where the agent of a node serves, in the folder of a story.
fn of_node(folder: &Path, node: &str) -> PathBuf {
    folder.join(format!("{node}.cni"))
}

/// The socket on which the agent of a node serves; the configuration of the node's runtime is beside it.
pub(super) fn socket(folder: &Path, node: &str) -> Result<PathBuf, String> {
    let folder = of_node(folder, node);
    let (socket, configurations) = (folder.join("cni.sock"), folder.join("net.d"));
    let plugin = json!({"type": PLUGIN, "agentSocket": socket});
    let list = json!({"cniVersion": "1.1.0", "name": NETWORK, "plugins": [plugin]});
    fs::create_dir_all(&configurations)
        .and_then(|()| fs::write(configurations.join("10-netloom.conflist"), list.to_string()))
        .map_err(|error| format!("{}: {error}", configurations.display()))?;
    Ok(socket)
}

/// What a runtime runs for a pod of a node.
pub(super) fn call(netloom: &Path, folder: &Path, node: &str, deed: &CniDeed) -> Result<Command, String> {
    let caller = caller().ok_or("this machine has no cnitool")?;
    let plugins = netloom.parent().ok_or("the program is in no folder")?;
    let mut command = Command::new(caller);
    command.arg(&deed.verb).arg(NETWORK).arg(Path::new(Namespace::NAMED).join(space(&deed.pod)));
    command.env("CNI_PATH", plugins).env("NETCONFPATH", of_node(folder, node).join("net.d"));
    let names = format!("K8S_POD_NAMESPACE={NAMESPACE};K8S_POD_NAME={}", deed.pod);
    command.env("CNI_ARGS", format!("IgnoreUnknown=1;{names}"));
    Ok(command)
}
