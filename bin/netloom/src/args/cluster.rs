//! The verbs that speak to a cluster, are one, or make what one needs.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args as ArgGroup, Subcommand, ValueHint};
use netloom_admission::taints::{STARTING, TaintKey};

use super::{DataFormatArg, FormatArg, kubeconfig};

/// Where the embedded API server keeps everything, unless somebody says otherwise.
pub(crate) const DATA_DIR: &str = "/var/lib/netloom/server";
/// The environment variable that says otherwise.
pub(crate) const DATA_DIR_VARIABLE: &str = "NETLOOM_DATA_DIR";

const SERVER_EXAMPLES: &str = "\
Examples:
  netloom server --data-dir site --kubeconfig-out admin.conf    serve, and write down how to get in
  kubectl --kubeconfig admin.conf get namespaces                get in
  netloom server --data-dir site backup monday.backup           copy everything while it runs

Once it is ready it prints one line, `ready` and its address. The log goes to standard error; NETLOOM_LOG says how
much of it.

Exit status: 0 stopped by a signal, or done, 1 a copy could not be written, 2 wrong usage, or it cannot start or read, 3
the file of a copy, or the store, is there already.";

const UP_EXAMPLES: &str = "\
Examples:
  netloom up                                     three nodes with two cards each
  netloom up --nodes 5 --data-dir site           kept in a folder: the next `up` with it goes on where this one ended
  netloom state set --netns netloom-switch FILE  tell the switch what to do with its ports
  netloom up --frr /opt/frr --base fabric/       with a spine, and FRR on it and on each node

With --frr and --base there is a fabric as well: a spine, `netloom-spine`, with a cable from its `node1` and so on to
`fabric0` of each node, and FRR on all of them. The folder of --base has a base file for each node, `node1.yaml` and so on, as
`netloom agent --base` takes it; a document for each machine, `node1.machine.yaml` and so on and `spine.machine.yaml`, that is
applied before FRR starts; and `spine.conf`, what FRR of the spine is to run with.

Each node, `node1` and so on, is a network namespace, `netloom-node1` and so on, and so is the switch, `netloom-switch`,
which has the other end of every cable: `node1-eth0` and so on, all down and in no bridge. Nodes are as empty as machines
after they start. Needs root. Once it is ready it prints one line, `ready` and the address of the API. Ctrl-C or SIGTERM
takes everything down again, but for a folder that was named.

Exit status: 0 ended by a signal, 1 a part of it ended by itself, 2 wrong usage, or it cannot start, 3 a namespace of
that name is there already.";

const CONTROLLER_EXAMPLES: &str = "\
Examples:
  netloom gen kubeconfig --controller --out controller.conf    an identity on the embedded server
  netloom controller --kubeconfig controller.conf --status-listen 127.0.0.1:9090

Several can run: one writes, the others are ready to take over. Once it knows every object that it needs it prints one
line, `ready`; before that a line for each address that it listens on. The log goes to standard error; NETLOOM_LOG says
how much of it.";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  netloom validate -f site/                          every object of a folder, against each other
  netloom validate -f new.yaml --kubeconfig prod     against what the cluster has

Exit status: 0 everything is accepted, 2 wrong usage, or the cluster or a file cannot be read, 3 something is refused, or
there is no object in the files.";

const COMPILE_EXAMPLES: &str = "\
Examples:
  netloom compile -f site/                     all that the controller would write for the objects of a folder
  netloom compile -f site/ --node n1 --host    only for one node, with its nmstate document
  netloom compile -f vm.yaml --domain          the libvirt domain of a virtual machine
  netloom compile -f site/ --frr --base node1=base/node1.yaml --base base/others.yaml
                                               with what FRR shall run with on each node

The links of a node are known from its NodeNetworkState. For one without it, only what needs none of them is compiled: its
fabric, for example. Passwords are not printed.

Exit status: 0 done, 2 wrong usage, or a file cannot be read, 3 there is no object in the files, or no such node. What is
wrong with an object is in its status; the others are compiled.";

const PLAN_EXAMPLES: &str = "\
Examples:
  netloom plan -f new.yaml                          what would change in the cluster, node by node
  netloom plan -f new.yaml --against site/          the same without a cluster: against the objects of a folder
  netloom plan --delete hnc/storage                 what would go with that object
  netloom plan --revision 3f2a9c01bd                what a return to that revision would change

What the objects ask of each node is compared with what they would ask; a node's own plan for it is shown by
`netloom state diff` there. Nothing is written.

Exit status: 0 nothing would change, 2 wrong usage, or the cluster or a file cannot be read, 3 something would change, or
what was asked about is not there.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  netloom explain tap3f2a9c01bd4                    the machine, its node and its network
  netloom explain tap3f2a9c01bd4 --against vms/     the same for the machines of a folder

Who asked for any other link of a node, an address or a route is named there by `netloom state explain`.

Exit status: 0 done, 2 wrong usage, or the cluster or a file cannot be read, 3 it is no tap of a machine there.";

const REQUEST_EXITS: &str = "\
Exit status: 0 done, 2 wrong usage, or the cluster or a file cannot be read, 3 refused: by the server (a rule, a missing
right, no such kind or object), or because there is no object in the files.";

const DELETE_EXITS: &str = "\
An object that something holds, such as a host network that nodes still have, is there until that releases it.

Exit status: 0 done, and with --wait gone; 1 with --wait: not gone in time; 2 wrong usage, or the cluster or a file cannot
be read; 3 refused: by the server (a rule, a missing right, no such kind or object), or because there is no object in the
files.";

const RETRY_EXITS: &str = "\
Exit status: 0 it is tried again, 2 wrong usage, or the cluster cannot be read, 3 there is no such revision, it has not
failed, nodes shall have another one, it is paused or what its nodes follow is, or the server refuses.";

const APPLY_EXITS: &str = "\
Exit status: 0 done, and with --wait in place; 1 with --wait: not in place in time, deleted meanwhile, or a node could not
have it (what was applied stays); 2 wrong usage, or the cluster or a file cannot be read; 3 refused: by the server (a rule,
a missing right, no such kind, a field of another manager), or because there is no object in the files. Where some objects
are refused, the others are applied all the same, and nothing is waited for.";

/// The verbs of the first level.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Check objects in files: schema, rules, against each other and against a cluster
    Validate(ValidateArgs),
    /// Print what the controller would write for the objects of files, without a cluster
    Compile(CompileArgs),
    /// Print what would change for each node, in a cluster or in files
    Plan(PlanArgs),
    /// Say which interface of which virtual machine a tap of a node is
    Explain(ExplainArgs),
    /// Print objects of a cluster
    Get(GetArgs),
    /// Create or change the objects of files in a cluster, by server-side apply
    Apply(ApplyArgs),
    /// Delete objects of a cluster
    Delete(DeleteArgs),
    /// Decide about changes that are on their way to the nodes of a cluster
    Rollout(RolloutArgs),
    /// Bring what objects ask for to the nodes of a cluster, and serve the admission rules to it
    Controller(ControllerArgs),
    /// Serve the Kubernetes API from one file, without a cluster
    Server(ServerArgs),
    /// Run server, controller and agents on virtual nodes of this machine, until Ctrl-C
    Up(UpArgs),
}

/// Which cluster is meant, and where in it.
#[derive(Debug, Clone, ArgGroup)]
pub(crate) struct ClusterArgs {
    /// File that says how to reach the cluster; without it, as kubectl finds it
    #[arg(long, value_name = "FILE", env = "KUBECONFIG", value_parser = kubeconfig(), value_hint = ValueHint::FilePath, help_heading = "Place")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Namespace of objects that do not name one
    #[arg(long, short, value_name = "NAME", help_heading = "Place")]
    pub(crate) namespace: Option<String>,
}

/// `netloom validate`
#[derive(Debug, ArgGroup)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// File or folder with objects, YAML or JSON; `-` for standard input
    #[arg(long = "filename", short = 'f', value_name = "PATH", required = true, num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Operator configuration in the place of the `ConfigMap` `netloom-config`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Check against the objects of this cluster too; nothing is written there
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Format; by default a line for each finding.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom compile`
#[derive(Debug, ArgGroup)]
#[command(after_help = COMPILE_EXAMPLES)]
pub(crate) struct CompileArgs {
    /// File or folder with objects, YAML or JSON; `-` for standard input
    #[arg(long = "filename", short = 'f', value_name = "PATH", required = true, num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Operator configuration in the place of the `ConfigMap` `netloom-config`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Of the nodes only this one
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Print the nmstate document of each node as well: what the host shall have, the links of a fabric too if there is --base
    #[arg(long)]
    pub(crate) host: bool,
    /// Print the configuration of FRR on each node as well, as FRR prints it
    #[arg(long, requires = "base")]
    pub(crate) frr: bool,
    /// Print the libvirt domain of each virtual machine instead
    #[arg(long, conflicts_with_all = ["config", "node", "host", "frr", "output"])]
    pub(crate) domain: bool,
    /// Base file of a node's fabric, as `netloom agent --base` takes it; without NODE, that of all nodes not named. With
    /// --domain the base of domains, as an agent has it in its folder; without it they have nothing but NICs
    #[arg(long, value_name = "[NODE=]FILE", value_hint = ValueHint::FilePath)]
    pub(crate) base: Vec<String>,
    /// Plugin whose NICs are attached by a tap, as `netloom agent --binding` names it
    #[arg(long, value_name = "NAME=tap[,link-refresh]", value_parser = netloom_agent::plugin, requires = "domain")]
    pub(crate) binding: Vec<(String, netloom_agent::Refresh)>,
    /// Format; by default a YAML stream.
    #[command(flatten)]
    pub(crate) format: DataFormatArg,
}

/// `netloom plan`
#[derive(Debug, ArgGroup)]
#[command(after_help = PLAN_EXAMPLES)]
pub(crate) struct PlanArgs {
    /// File or folder with objects that would be applied, YAML or JSON; `-` for standard input
    #[arg(long = "filename", short = 'f', value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    #[arg(required_unless_present_any = ["revision", "deleted"])]
    pub(crate) files: Vec<PathBuf>,
    /// Object that would be deleted, such as `vlanconfig/uplink-1`; before those of the files are applied, in this order
    #[arg(long = "delete", value_name = "KIND/[NAMESPACE/]NAME", num_args = 1..)]
    pub(crate) deleted: Vec<String>,
    /// A revision that nodes would return to
    #[arg(long, value_name = "NAME", conflicts_with_all = ["files", "deleted"])]
    pub(crate) revision: Option<String>,
    /// Compare with the objects of this file or folder instead of a cluster's
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) against: Vec<PathBuf>,
    /// File that says how to reach the cluster; without it, as kubectl finds it
    #[arg(long, value_name = "FILE", env = "KUBECONFIG", value_parser = kubeconfig(), value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Of the nodes only this one
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Format; by default text for users.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom explain`
#[derive(Debug, ArgGroup)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Name of the tap, as the node has it
    #[arg(value_name = "TAP")]
    pub(crate) tap: String,
    /// Look at the machines of this file or folder instead of a cluster's
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) against: Vec<PathBuf>,
    /// File that says how to reach the cluster; without it, as kubectl finds it
    #[arg(long, value_name = "FILE", env = "KUBECONFIG", value_parser = kubeconfig(), value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Format; by default text for users.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom get`
#[derive(Debug, ArgGroup)]
#[command(after_help = REQUEST_EXITS)]
pub(crate) struct GetArgs {
    /// Kind, its plural or a short name, with its group where several have it: `vrf`, `hnc`, `networks.example.org`
    #[arg(value_name = "KIND")]
    pub(crate) kind: String,
    /// One object; without it, all of them
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Where.
    #[command(flatten)]
    pub(crate) place: ClusterArgs,
    /// The objects of all namespaces
    #[arg(long, short = 'A', conflicts_with_all = ["namespace", "name"])]
    pub(crate) all_namespaces: bool,
    /// Only objects with these labels, such as `site=a,role!=spare`
    #[arg(long, short = 'l', value_name = "LABELS", conflicts_with = "name")]
    pub(crate) selector: Option<String>,
    /// Print who manages which field as well, in YAML and JSON
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
    /// Format; by default a table.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom apply`
#[derive(Debug, ArgGroup)]
#[command(after_help = APPLY_EXITS)]
pub(crate) struct ApplyArgs {
    /// File or folder with objects, YAML or JSON; `-` for standard input
    #[arg(long = "filename", short = 'f', value_name = "PATH", required = true, num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Where.
    #[command(flatten)]
    pub(crate) place: ClusterArgs,
    /// Let the server check everything and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take fields over that another manager owns
    #[arg(long)]
    pub(crate) force_conflicts: bool,
    /// Then wait for each object until it says that it is in place, and for policies until every node that can take them
    /// has them; tells how it goes
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) wait: bool,
    /// Seconds that each object is waited for, and in the end the nodes
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "wait")]
    pub(crate) timeout: u32,
}

/// `netloom delete`
#[derive(Debug, ArgGroup)]
#[command(after_help = DELETE_EXITS)]
pub(crate) struct DeleteArgs {
    /// Kind of the objects, its plural or a short name
    #[arg(value_name = "KIND", requires = "names")]
    pub(crate) kind: Option<String>,
    /// Names of the objects
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// File or folder with the objects; `-` for standard input
    #[arg(long = "filename", short = 'f', value_name = "PATH", conflicts_with = "kind", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Where.
    #[command(flatten)]
    pub(crate) place: ClusterArgs,
    /// Then wait for each object that something holds until it is gone; tells how it goes
    #[arg(long)]
    pub(crate) wait: bool,
    /// Seconds that each object is waited for
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "wait")]
    pub(crate) timeout: u32,
}

/// `netloom rollout`
#[derive(Debug, ArgGroup)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct RolloutArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: RolloutVerb,
}

/// What is done about a change.
#[derive(Debug, Subcommand)]
pub(crate) enum RolloutVerb {
    /// Try a revision that failed again at once, on one node first
    Retry(RetryArgs),
}

/// `netloom rollout retry`
#[derive(Debug, ArgGroup)]
#[command(after_help = RETRY_EXITS)]
pub(crate) struct RetryArgs {
    /// Name of the revision, as `netloom get networkconfigrevisions` shows it
    #[arg(value_name = "REVISION")]
    pub(crate) revision: String,
    /// File that says how to reach the cluster; without it, as kubectl finds it
    #[arg(long, value_name = "FILE", env = "KUBECONFIG", value_parser = kubeconfig(), value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// `netloom controller`
#[derive(Debug, ArgGroup)]
#[command(after_help = CONTROLLER_EXAMPLES)]
pub(crate) struct ControllerArgs {
    /// File that says how to reach the cluster; without it, as kubectl finds it, and in a pod by its account
    #[arg(long, value_name = "FILE", env = "KUBECONFIG", value_parser = kubeconfig(), value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Operator configuration, read once at the start; without it the `ConfigMap` `netloom-config` in `netloom-system` is
    /// followed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Create or update the definitions of all kinds first; those of virtual machines only with `--vms`
    #[arg(long)]
    pub(crate) install_crds: bool,
    /// Serve virtual machines (`kubevirt.io`) on a cluster without `KubeVirt`; on the embedded server they always are
    #[arg(long)]
    pub(crate) vms: bool,
    /// Address for `/healthz`, `/readyz` and `/metrics`, by plain HTTP; without it they are not served
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) status_listen: Option<SocketAddr>,
    /// Namespace of the lease that decides which of several controllers writes
    #[arg(long, short, value_name = "NAME", default_value = "netloom-system", help_heading = "Leader")]
    pub(crate) namespace: String,
    /// Time after which another controller takes over from one that is silent
    #[arg(long, value_name = "SECONDS", default_value_t = 15, help_heading = "Leader")]
    #[arg(value_parser = clap::value_parser!(u16).range(3..=600))]
    pub(crate) lease_seconds: u16,
    /// Address on which the API server asks for admission; without it there is no webhook
    #[arg(long, value_name = "ADDRESS:PORT", requires = "webhook_client_ca", help_heading = "Webhook")]
    pub(crate) webhook_listen: Option<SocketAddr>,
    /// Certificate of the webhook, PEM; without it the controller makes one itself, keeps its authority in the Secret
    /// `netloom-webhook` and tells API servers to believe it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Webhook")]
    #[arg(requires_all = ["webhook_listen", "webhook_key"])]
    pub(crate) webhook_cert: Option<PathBuf>,
    /// Key of that certificate, PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "webhook_cert", help_heading = "Webhook")]
    pub(crate) webhook_key: Option<PathBuf>,
    /// Name or address under which API servers reach the webhook, for a certificate of its own; without it, those of
    /// the service `netloom-webhook`
    #[arg(
        long,
        value_name = "NAME",
        requires = "webhook_listen",
        conflicts_with = "webhook_cert",
        help_heading = "Webhook"
    )]
    pub(crate) webhook_name: Vec<String>,
    /// Authority of the certificate that the API server shows; callers without one are refused
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "webhook_listen", help_heading = "Webhook")]
    pub(crate) webhook_client_ca: Option<PathBuf>,
    /// Name in the certificate of API servers, repeatable; without it, everybody is answered whom the authority vouches
    /// for, with a cluster's own authority every kubelet too
    #[arg(long, value_name = "NAME", requires = "webhook_listen", help_heading = "Webhook")]
    pub(crate) webhook_client_name: Vec<String>,
}

/// `netloom server`
#[derive(Debug, ArgGroup)]
#[command(after_help = SERVER_EXAMPLES)]
pub(crate) struct ServerArgs {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(crate) verb: Option<ServerVerb>,
    /// Folder for everything that is stored, and for the keys of the server
    #[arg(long, global = true, value_name = "DIR", env = DATA_DIR_VARIABLE, default_value = DATA_DIR)]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: PathBuf,
    /// Address to listen on, an IP address and a port; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443", value_parser = socket_address)]
    pub(crate) listen: SocketAddr,
    /// Allow an address that other machines can reach
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Write an administrator's kubeconfig to this file, readable by its owner only
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// Let agents take taints of this key off their nodes; may be given several times
    #[arg(long, value_name = "KEY", default_value = STARTING)]
    pub(crate) agent_taint: Vec<TaintKey>,
}

/// `netloom up`
#[derive(Debug, ArgGroup)]
#[command(after_help = UP_EXAMPLES)]
pub(crate) struct UpArgs {
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) nodes: u8,
    /// How many network cards each node has, `eth0` and so on
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) cards: u8,
    /// Folder for everything that is stored, kept at the end; without it, one that goes with the process
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Address of the API, an IP address and a port; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443", value_parser = socket_address)]
    pub(crate) listen: SocketAddr,
    /// Write the administrator's kubeconfig to this file; without it, to `admin.kubeconfig` in the folder
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fabric: FabricArgs,
}

/// The fabric of `netloom up`.
#[derive(Debug, ArgGroup)]
pub(crate) struct FabricArgs {
    /// Folder of an FRR whose daemons are in `sbin`; they are started on a spine and on each node
    #[arg(long, value_name = "DIR", requires = "base", value_hint = ValueHint::DirPath)]
    pub(crate) frr: Option<PathBuf>,
    /// Folder with a base file and a document for each node, and both for the spine
    #[arg(long, value_name = "DIR", requires = "frr", value_hint = ValueHint::DirPath)]
    pub(crate) base: Option<PathBuf>,
}

/// A place to listen. Names are not looked up: which of their addresses is meant is not for a program to guess.
fn socket_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:6443")
}

/// What can be done with the folder of a server.
#[derive(Debug, Subcommand)]
pub(crate) enum ServerVerb {
    /// Copy everything that is stored into one file, while the server runs or not
    Backup {
        /// File to write; it must not be there yet
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Make the store of a folder from such a file; the folder must have none
    Restore {
        /// File to read
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

/// `netloom gen kubeconfig`
#[derive(Debug, ArgGroup)]
#[command(after_help = REQUEST_EXITS, group = clap::ArgGroup::new("whom").required(true).multiple(false))]
pub(crate) struct KubeconfigArgs {
    /// For the agent of this node
    #[arg(long, value_name = "NAME", group = "whom")]
    pub(crate) node: Option<String>,
    /// For the controller
    #[arg(long, group = "whom")]
    pub(crate) controller: bool,
    /// An administrator's kubeconfig of the embedded server
    #[arg(long, value_name = "FILE", env = "KUBECONFIG", value_parser = kubeconfig(), value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// File to write, readable by its owner only; without it, standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
}

/// `netloom gen webhook`
#[derive(Debug, ArgGroup)]
pub(crate) struct WebhookArgs {
    /// Authority of the webhook's certificate, PEM; without it, the place for it is left open
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Where the webhook is reached, such as `https://192.0.2.1:9443`; without it, by a service in the cluster
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: Option<String>,
    /// What comes on top for virtual machines
    #[arg(long)]
    pub(crate) vms: bool,
    /// Folder to write to; made if it is not there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// What `netloom gen` makes for clusters.
#[derive(Debug, Subcommand)]
pub(crate) enum GenVerb {
    /// Print an identity for an agent or the controller on the embedded server
    Kubeconfig(KubeconfigArgs),
    /// Print the definitions of all kinds, or write one file for each
    Crds {
        /// Those of virtual machines, which a cluster gets only where somebody asks for them
        #[arg(long)]
        vms: bool,
        /// Folder to write to; made if it is not there
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Print the roles of controller and agents, and the policy that keeps agents to their own node
    Rbac {
        /// Let agents take taints of this key off their nodes; may be given several times
        #[arg(long, value_name = "KEY", default_value = STARTING)]
        agent_taint: Vec<TaintKey>,
        /// What comes on top for virtual machines
        #[arg(long, conflicts_with = "agent_taint")]
        vms: bool,
        /// Folder to write to; made if it is not there
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Print how a cluster is configured to ask the controller's webhook
    Webhook(WebhookArgs),
    /// Print the pods of controllers and agents
    Workloads {
        /// Image with this program as its entry point
        #[arg(long, value_name = "IMAGE", default_value = netloom_generate::IMAGE)]
        image: String,
        /// Image for the nodes, when it is another one: a program with the verbs of a node is enough there
        #[arg(long, value_name = "IMAGE")]
        agent_image: Option<String>,
        /// Folder to write to; made if it is not there
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}
