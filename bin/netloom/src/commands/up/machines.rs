//! Machines made of network namespaces: some nodes, and a switch with a cable to every card of theirs.
//!
//! The switch is a namespace with loose ends of cables in it; what it does with them is for a document to say. What
//! was made goes when the value is dropped, and what somebody else made is never taken for ours.

use netloom_netlink::{KernelHost, Namespace, netns};
use netloom_types::IfName;

use crate::{failure::Failure, output::Output};

/// The namespace that all cables lead to.
pub(super) const SWITCH: &str = "netloom-switch";

/// What the namespace of a node begins with; its number follows.
const NODE: &str = "netloom-node";

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
            let node = Node { name: format!("node{number}"), netns: format!("{NODE}{number}") };
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
            return Err(Failure::refused(in_the_way(name, netns::list().unwrap_or_default())));
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

/// What to do about a namespace that is there already; `all` are those of the system.
///
/// To delete one from under a `netloom up` that runs would break that, so it comes second; and then all of them have to
/// go, those of its nodes included.
fn in_the_way(name: &str, mut all: Vec<String>) -> String {
    all.retain(|other| is_ours(other));
    all.sort_unstable_by_key(|other| (other.len(), other.clone()));
    let deletions: Vec<String> = all.iter().map(|other| format!("ip netns delete {other}")).collect();
    format!(
        "there is a network namespace {name} already: if another `netloom up` runs, end it first (Ctrl-C or SIGTERM), and \
         it takes its namespaces along; only what one that was killed left behind is removed with `{}`",
        deletions.join("; ")
    )
}

/// Whether a namespace is called as those of `netloom up` are.
fn is_ours(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name == SWITCH || name.strip_prefix(NODE).is_some_and(is_number)
}

fn host(name: &str) -> Result<KernelHost, Failure> {
    KernelHost::open(Namespace::Named(name.to_owned())).map_err(Failure::usage)
}

fn lay(switch: &KernelHost, near: &str, node: &str, far: &str) -> Result<(), Failure> {
    let name = |text: &str| text.parse::<IfName>().map_err(Failure::usage);
    let laid = switch.cable(name(near)?, &Namespace::Named(node.to_owned()), name(far)?).map_err(Failure::usage)?;
    laid.map_err(|error| Failure::usage(format_args!("no cable between {SWITCH} and {node}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_runs_is_to_be_ended_and_only_leftovers_are_deleted_all_of_them() {
        let there = ["netloom-node10", "netloom-node2", "web", "netloom-node", "netloom-switch", "netloom-nodes"];
        let text = in_the_way(SWITCH, there.map(str::to_owned).to_vec());
        let (end, delete) = (text.find("end it first").unwrap(), text.find("ip netns delete").unwrap());
        assert!(end < delete, "{text}");
        let all = "`ip netns delete netloom-node2; ip netns delete netloom-node10; ip netns delete netloom-switch`";
        assert!(text.ends_with(all), "{text}");
    }
}
