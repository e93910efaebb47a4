//! Machines made of network namespaces: some nodes, and a switch with a cable to every card of theirs.
//!
//! The switch is a namespace with loose ends of cables in it; what it does with them is for a document to say. What
//! was made goes when the value is dropped, and what somebody else made is never taken for ours.

use netloom_netlink::{KernelHost, Namespace, netns};
use netloom_types::IfName;

use crate::{failure::Failure, output::Output};

/// The namespace that all cables lead to.
pub(super) const SWITCH: &str = "netloom-switch";

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    /// Its name in the cluster.
    pub(super) name: String,
    /// The namespace that is its machine.
    pub(super) netns: String,
}

/// What was made.
#[derive(Debug, Default)]
pub(super) struct Machines {
    /// All of it, the newest last.
    made: Vec<String>,
    nodes: Vec<Node>,
}

impl Machines {
    /// Makes a switch and this many nodes with this many cards each. Whatever cannot be made leaves nothing behind.
    pub(super) fn make(nodes: usize, cards: usize) -> Result<Self, Failure> {
        let mut machines = Self::default();
        machines.add(SWITCH)?;
        let switch = host(SWITCH)?;
        for number in 1..=nodes {
            let node = Node { name: format!("node{number}"), netns: format!("netloom-node{number}") };
            machines.add(&node.netns)?;
            for card in 0..cards {
                let (near, far) = (format!("{}-eth{card}", node.name), format!("eth{card}"));
                lay(&switch, &near, &node.netns, &far)?;
            }
            machines.nodes.push(node);
        }
        Ok(machines)
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn add(&mut self, name: &str) -> Result<(), Failure> {
        let there = Namespace::Named(name.to_owned()).file().is_some_and(|file| file.exists());
        if there {
            return Err(Failure::refused(format_args!(
                "there is a network namespace {name} already: another `netloom up` runs, or was killed; `ip netns \
                 delete {name}` removes it"
            )));
        }
        netns::create(name).map_err(|error| {
            Failure::usage(format_args!("{error}; network namespaces need root, and `./x lab -- CMD` gives it to you"))
        })?;
        self.made.push(name.to_owned());
        Ok(())
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for name in self.made.drain(..).rev() {
            if let Err(error) = netns::delete(&name) {
                Output::new(false).warn(&format!("a namespace is left behind: {error}"));
            }
        }
    }
}

fn host(name: &str) -> Result<KernelHost, Failure> {
    KernelHost::open(Namespace::Named(name.to_owned())).map_err(Failure::usage)
}

fn lay(switch: &KernelHost, near: &str, node: &str, far: &str) -> Result<(), Failure> {
    let name = |text: &str| text.parse::<IfName>().map_err(Failure::usage);
    let laid = switch.cable(name(near)?, &Namespace::Named(node.to_owned()), name(far)?).map_err(Failure::usage)?;
    laid.map_err(|error| Failure::usage(format_args!("no cable between {SWITCH} and {node}: {error}")))
}
