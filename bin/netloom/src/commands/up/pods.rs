//! Where CNI plugins find the agents of nodes: a socket and a network configuration for each node.

use std::{fs, path::Path, time::Duration};

use netloom_agent::PodNetworks;
use serde_json::json;

use crate::failure::Failure;

/// Time for an interface, and how many calls may wait: what agents by themselves take.
const TIMEOUT: Duration = Duration::from_secs(10);
const QUEUE: usize = 256;

/// Writes the network configuration of a node, and says where its agent serves.
pub(super) fn of(folder: &Path, node: &str) -> Result<PodNetworks, Failure> {
    let folder = folder.join("cni").join(node);
    let socket = folder.join("cni.sock");
    let configurations = folder.join("net.d");
    let plugin = json!({"type": "netloom-cni", "agentSocket": socket});
    let list = json!({"cniVersion": "1.1.0", "name": "netloom", "plugins": [plugin]});
    let file = configurations.join("10-netloom.conflist");
    fs::create_dir_all(&configurations)
        .and_then(|()| fs::write(&file, format!("{list:#}\n")))
        .map_err(|error| Failure::usage(format_args!("cannot write {}: {error}", file.display())))?;
    Ok(PodNetworks { socket, timeout: TIMEOUT, queue: QUEUE })
}
