//! The fabric of `netloom up`: a spine with a cable to every node, and FRR on all of them.
//!
//! What a node has of the fabric before any object is in a base file, as for agents by themselves. What its machine has, VRF of
//! the cluster and trunk, is in a document, which is applied before FRR starts: as on machines, where the installer comes
//! first. FRR of the spine gets its configuration from a file.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use netloom_local_host::load_routing;
use netloom_render::Base;

use super::{
    machines::{Node, SPINE},
    routing_daemons::RoutingDaemons,
};
use crate::{args::cluster::FabricArgs, commands::agent::read_base, failure::Failure};

/// What the spine is called in the folder of base files.
const SPINE_FILES: &str = "spine";
/// The program that this process runs.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// What the configuration of the spine is called in the folder of base files.
const SPINE_CONFIGURATION: &str = "spine.conf";

/// What there is to read before anything is made.
pub(super) struct FabricPlan {
    release: PathBuf,
    bases: PathBuf,
}

/// What runs.
#[derive(Debug)]
pub(super) struct Fabric {
    nodes: Vec<(Arc<Base>, RoutingDaemons)>,
    /// Ends with this value.
    _spine: RoutingDaemons,
}

/// What an agent is told of the fabric.
pub(super) struct NodeFabric {
    pub(super) base: Arc<Base>,
    /// Where the daemons of the node listen.
    pub(super) sockets: PathBuf,
}

impl FabricPlan {
    /// What the arguments ask for: nothing without them.
    pub(super) fn of(arguments: FabricArgs) -> Option<Self> {
        let FabricArgs { frr, base } = arguments;
        frr.zip(base).map(|(release, bases)| Self { release, bases })
    }

    /// Applies the documents of spine and nodes, and starts FRR on them. The state of the machines is kept in `states`.
    pub(super) fn start(&self, nodes: &[Node], states: &Path, logs: &Path) -> Result<Fabric, Failure> {
        // Files first: what is wrong in them is said before daemons start.
        let bases = nodes.iter().map(|node| self.base(&node.name)).collect::<Result<Vec<_>, _>>()?;
        let (file, configuration) = self.spine()?;
        self.lay(SPINE_FILES, SPINE, states)?;
        nodes.iter().try_for_each(|node| self.lay(&node.name, &node.netns, states))?;
        let spine = RoutingDaemons::start(&self.release, SPINE, logs)?;
        load_routing(&spine.sockets(), &configuration)
            .map_err(|why| Failure::usage(format_args!("{}: {why}", file.display())))?;
        let daemons = |node: &Node| RoutingDaemons::start(&self.release, &node.netns, logs);
        let daemons = nodes.iter().map(daemons).collect::<Result<Vec<_>, _>>()?;
        Ok(Fabric { nodes: bases.into_iter().zip(daemons).collect(), _spine: spine })
    }

    /// Applies the document of a machine as a person would: the machine keeps no handle of this process.
    fn lay(&self, machine: &str, netns: &str, states: &Path) -> Result<(), Failure> {
        let document = self.bases.join(format!("{machine}.machine.yaml"));
        let mut set = Command::new(OWN_PROGRAM);
        set.args(["state", "set", "--quiet", "--netns", netns, "--state-dir"]).arg(states).arg(&document);
        let done = set.status().map_err(|why| Failure::usage(format_args!("{}: {why}", document.display())))?;
        let refused = || Failure::usage(format_args!("{}: not applied, see above", document.display()));
        done.success().then_some(()).ok_or_else(refused)
    }

    fn base(&self, node: &str) -> Result<Arc<Base>, Failure> {
        read_base(&self.bases.join(format!("{node}.yaml")))
    }

    fn spine(&self) -> Result<(PathBuf, String), Failure> {
        let file = self.bases.join(SPINE_CONFIGURATION);
        let text = fs::read_to_string(&file);
        let text = text.map_err(|why| Failure::usage(format_args!("--base: {}: {why}", file.display())))?;
        Ok((file, text))
    }
}

impl Fabric {
    /// What the agent of the node with this place in the list is told.
    pub(super) fn of_node(&self, place: usize) -> Option<NodeFabric> {
        let (base, daemons) = self.nodes.get(place)?;
        Some(NodeFabric { base: Arc::clone(base), sockets: daemons.sockets() })
    }
}
