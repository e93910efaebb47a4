//! The verbs of one node: its agent, and the clients that do once what the agent does all the time.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args as ArgGroup, Subcommand, ValueEnum, ValueHint};

use super::{ProbeTimingArgs, RUN_DIR_VARIABLE, STATE_DIR, STATE_DIR_VARIABLE, kubeconfig};

const AGENT_EXAMPLES: &str = "\
Examples:
  netloom agent --kubeconfig n1.conf --node n1                  the machine itself
  netloom agent --kubeconfig n2.conf --node n2 --netns n2       a network namespace as a node
  netloom gen kubeconfig --node n1 --out n1.conf                its identity on the embedded server

It runs until SIGTERM or SIGINT; a change that is under way then ends or is taken back. The last desired state that was
reached is kept in the state folder and brought about at the next start before the API is reached. The log goes
to standard error; NETLOOM_LOG says how much of it.";

const CLIENT_EXAMPLES: &str = "\
Examples:
  netloom client state --kubeconfig admin.conf --host n1     create the node's network state or apply it, and report
  netloom client policy --kubeconfig admin.conf --host n1    merge policies into its desired state

Exit status: 0 done, 1 the desired state was not reached (the status says why), 2 the API or this machine cannot be
used, 3 the desired state is refused and nothing was touched.";

/// The verbs of one node.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Keep one node to its desired state, and report
    Agent(Box<AgentArgs>),
    /// Do once what the agent of a node does all the time
    Client(ClientArgs),
}

/// Who merges policies into the desired state of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeWord {
    /// The controller, through its rollout
    Centralized,
    /// Every agent for its own node
    Distributed,
}

/// What follows when somebody else changed what the desired state sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriftWord {
    /// It is set again
    Repair,
    /// It is only reported
    Report,
}

/// Which API, which node and where its records are.
#[derive(Debug, Clone, ArgGroup)]
pub(crate) struct NodePlace {
    /// File that says how to reach the cluster; without it, as kubectl finds it
    #[arg(long, value_name = "FILE", env = "KUBECONFIG", value_parser = kubeconfig(), value_hint = ValueHint::FilePath, help_heading = "Place")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Namespace in which the node's network state is made when there is none
    #[arg(long, short, value_name = "NAME", env = "POD_NAMESPACE", default_value = "default", help_heading = "Place")]
    pub(crate) namespace: String,
    /// Network namespace that is the node, by its name in `ip netns` or its path; without it, that of this shell
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, help_heading = "Place")]
    pub(crate) netns: Option<String>,
    /// Folder for the journal, the record of who asked for what, and the last good desired state
    #[arg(long, value_name = "DIR", env = STATE_DIR_VARIABLE, default_value = STATE_DIR)]
    #[arg(value_hint = ValueHint::DirPath, help_heading = "Place")]
    pub(crate) state_dir: PathBuf,
    /// Folder in which other network managers say which links they manage; without it `/run`, and none for a node that is another network namespace than the machine's
    #[arg(long, value_name = "DIR", env = RUN_DIR_VARIABLE, value_hint = ValueHint::DirPath, help_heading = "Place")]
    pub(crate) run_dir: Option<PathBuf>,
}

/// `netloom agent`
#[derive(Debug, ArgGroup)]
#[command(after_help = AGENT_EXAMPLES)]
pub(crate) struct AgentArgs {
    /// Where.
    #[command(flatten)]
    pub(crate) place: NodePlace,
    /// Name of the node
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub(crate) node: String,
    /// Who merges policies into the desired state
    #[arg(long, value_name = "MODE", value_enum, default_value_t = ModeWord::Centralized)]
    pub(crate) mode: ModeWord,
    /// What follows when somebody else changed what the desired state sets
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = DriftWord::Repair)]
    pub(crate) drift: DriftWord,
    /// Seconds after which the host is read although it reported no change: what nothing tells of is found then
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) poll: u32,
    /// Seconds after its Node is gone in which a node keeps what it was assigned: a Node may be deleted by mistake
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub(crate) leave_after: u32,
    /// Seconds between two signs of life; a node whose agent gives none for three times as long is passed over by rollouts
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) heartbeat: u32,
    /// Take taints of this key off the node once its network is in place
    #[arg(long, value_name = "KEY")]
    pub(crate) remove_taint: Vec<String>,
    /// What must be reached after a change when it was before: `gateway`, `ping:ADDRESS` or `tcp:ADDRESS:PORT`;
    /// `gateway` by default. The API always must, unless the node is another namespace (`--netns`) than that of the
    /// agent
    #[arg(long, value_name = "PROBE")]
    pub(crate) probe: Vec<String>,
    /// How long; what the node's `RolloutPolicy` says comes before this.
    #[command(flatten)]
    pub(crate) timing: ProbeTimingArgs,
    /// File that says what the node has before any fabric: its VRFs, its tunnel address, its trunk, its BGP neighbours
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "frr", help_heading = "Fabric")]
    pub(crate) base: Option<PathBuf>,
    /// Folder with the sockets of FRR's daemons, such as `/run/frr`; they are started by somebody else
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Fabric")]
    pub(crate) frr: Option<PathBuf>,
    /// Socket of libvirt, such as `/run/libvirt/libvirt-sock`: the node has virtual machines
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath, requires = "domains", help_heading = "Machines")]
    pub(crate) libvirt: Option<PathBuf>,
    /// Folder with the bases of their domains: libvirt domains without NICs, `default.xml` and others that machines name
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "libvirt", help_heading = "Machines")]
    pub(crate) domains: Option<PathBuf>,
    /// Plugin whose NICs are attached by a tap, and whether their links are taken down and up again after a migration;
    /// NICs of other plugins are left to these
    #[arg(long, value_name = "NAME=tap[,link-refresh]", value_parser = netloom_agent::plugin)]
    #[arg(requires = "libvirt", help_heading = "Machines")]
    pub(crate) binding: Vec<(String, netloom_agent::Refresh)>,
    /// URI by which libvirt of other nodes reaches this one, such as `qemu+tls://n1/system`; without it no machine
    /// migrates to this node
    #[arg(long, value_name = "URI", requires = "libvirt", help_heading = "Machines")]
    pub(crate) migrate_in: Option<String>,
    /// URI by which the memory of such machines comes, such as `tcp://192.0.2.1`; without it libvirt decides
    #[arg(long, value_name = "URI", requires = "migrate_in", help_heading = "Machines")]
    pub(crate) migrate_data: Option<String>,
    /// Where CNI plugins are served.
    #[command(flatten)]
    pub(crate) cni: CniArgs,
    /// Address for `/healthz`, `/readyz` and `/metrics`, over plain HTTP
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) status_listen: Option<SocketAddr>,
}

/// How an agent attaches pods.
#[derive(Debug, Clone, ArgGroup)]
pub(crate) struct CniArgs {
    /// Socket that the CNI plugin `netloom-cni` calls, such as `/run/netloom/cni.sock`; its folder is made when it is missing, and has a record of each attached container. Without it, the agent attaches no pods
    #[arg(id = "cni-socket", long = "cni-socket", value_name = "PATH", value_hint = ValueHint::FilePath, help_heading = "Pods")]
    pub(crate) socket: Option<PathBuf>,
    /// Seconds that an interface of a pod may take; what was made by then is taken back
    #[arg(
        id = "cni-timeout",
        long = "cni-timeout",
        value_name = "SECONDS",
        default_value_t = 10,
        help_heading = "Pods"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=180))]
    pub(crate) timeout: u32,
    /// Requests of plugins that may be open at the same time; those beyond are refused at once, for the runtime to try again
    #[arg(id = "cni-queue", long = "cni-queue", value_name = "N", default_value_t = 256, help_heading = "Pods")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) queue: u32,
}

/// `netloom client`
#[derive(Debug, ArgGroup)]
#[command(arg_required_else_help = true, subcommand_required = true, after_help = CLIENT_EXAMPLES)]
pub(crate) struct ClientArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: ClientVerb,
}

/// What a client does.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientVerb {
    /// Make the node's network state when there is none, else bring its desired state about and report
    State(ClientStateArgs),
    /// Merge policies into the desired state of the node
    Policy(ClientPolicyArgs),
}

/// `netloom client state`
#[derive(Debug, ArgGroup)]
pub(crate) struct ClientStateArgs {
    /// Where.
    #[command(flatten)]
    pub(crate) place: NodePlace,
    /// Which node.
    #[command(flatten)]
    pub(crate) host: HostArg,
}

/// `netloom client policy`
#[derive(Debug, ArgGroup)]
pub(crate) struct ClientPolicyArgs {
    /// Where.
    #[command(flatten)]
    pub(crate) place: NodePlace,
    /// Which node.
    #[command(flatten)]
    pub(crate) host: HostArg,
    /// Merge for every node of the cluster, not only for one
    #[arg(long, conflicts_with = "host")]
    pub(crate) centralized: bool,
}

/// Which node is meant.
#[derive(Debug, Clone, ArgGroup)]
pub(crate) struct HostArg {
    /// Name of the node; without it, the host name of this machine
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub(crate) host: Option<String>,
    /// Seconds that it may take in all
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) timeout: u32,
}
