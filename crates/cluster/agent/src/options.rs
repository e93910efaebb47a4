//! What an agent is given when it is started.

use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use netloom_agent_core::{Drift, Mode};
use netloom_api::pipeline::node_network_status::NodeLibvirt;
use netloom_machine::domain::Plugins;
use netloom_netlink::probe::Probe;
use netloom_probing::ProbeTiming;
use netloom_render::Base;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Keep to the desired state until asked to stop.
    Daemon,
    /// Enforce and report once.
    StateOnce,
    /// Merge policies into the node's desired state once.
    PolicyOnce,
}

/// Where CNI plugins are served.
#[derive(Debug, Clone)]
pub struct PodNetworks {
    /// The socket that they call; records of containers are beside it.
    pub socket: PathBuf,
    /// How long a call may wait for what the node does not know yet, and an interface may take.
    pub timeout: Duration,
    /// How many calls may be open.
    pub queue: usize,
}

/// What an agent is given when it is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// What to do.
    pub task: Task,
    /// The node.
    pub node: String,
    /// Where the node's network state is made when there is none.
    pub namespace: String,
    /// The network namespace that is the node; none for that of this process.
    pub netns: Option<String>,
    /// The folder of all state.
    pub state_dir: PathBuf,
    /// Where other network managers leave their run-time files; none for those of the machine, when it is the node.
    pub run_dir: Option<PathBuf>,
    /// What the node has before any fabric; none for one that takes no part in a fabric.
    pub base: Option<Arc<Base>>,
    /// Where the sockets of its routing daemons are; none for a node without any.
    pub frr: Option<PathBuf>,
    /// Virtual machines; none for a node that has none.
    pub machines: Option<Machines>,
    /// Where it attaches pods; none for an agent that attaches none.
    pub pod_networks: Option<PodNetworks>,
    /// Who merges policies.
    pub mode: Mode,
    /// What follows drift.
    pub drift: Drift,
    /// How often the host is read although it reported no change.
    pub poll: Duration,
    /// How long what the node was assigned stays after the `Node` is gone.
    pub leaving: Duration,
    /// How often the agent says that it is there.
    pub heartbeat: Duration,
    /// Keys of taints that go once the network is in place.
    pub taints: BTreeSet<String>,
    /// What must be reached after a change when it was before; the API is always one of them.
    pub probes: Vec<Probe>,
    /// How long a change is watched, where the node's `RolloutPolicy` says nothing else.
    pub timing: ProbeTiming,
    /// Where health, readiness and metrics are served.
    pub listen: Option<SocketAddr>,
    /// How long a task that is done once may take.
    pub timeout: Duration,
}

/// How a node has virtual machines.
#[derive(Debug, Clone)]
pub struct Machines {
    /// libvirt's socket.
    pub socket: PathBuf,
    /// The folder with the bases of their domains.
    pub domains: PathBuf,
    /// Plugins that attach NICs by a tap.
    pub plugins: Plugins,
    /// Where other daemons reach libvirt to bring a machine here, and where its memory goes.
    pub reached: NodeLibvirt,
}
