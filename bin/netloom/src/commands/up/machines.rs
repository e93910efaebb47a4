//! Machines made of network namespaces: some nodes, a switch with a cable to every card of theirs, and on wish a spine with a
//! cable to each of them.
//!
//! The switch is a namespace with loose ends of cables in it; what it does with them is for a document to say. What
//! was made goes when the value is dropped, and what somebody else made is never taken for ours.

use netloom_netlink::{KernelHost, Namespace, netns};
use netloom_types::IfName;

use crate::{failure::Failure, output::Output};

/// The namespace that all cables lead to.
pub(super) const SWITCH: &str = "netloom-switch";

/// The namespace that the cables of the fabric lead to.
pub(super) const SPINE: &str = "netloom-spine";
/// The end that a node has of its cable to the spine.
const FABRIC_CARD: &str = "fabric0";

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
    /// Makes a switch, a spine on wish, and this many nodes with this many cards each. Whatever cannot be made leaves nothing
    /// behind.
    pub(super) fn make(nodes: usize, cards: usize, with_spine: bool) -> Result<Self, Failure> {
        let mut machines = Self::default();
        machines.add(SWITCH)?;
        let switch = host(SWITCH)?;
        if with_spine {
            machines.add(SPINE)?;
        }
        let spine = with_spine.then(|| host(SPINE)).transpose()?;
        for number in 1..=nodes {
            let node = Node { name: format!("node{number}"), netns: format!("{NODE}{number}") };
            machines.add(&node.netns)?;
            for card in 0..cards {
                let (near, far) = (format!("{}-eth{card}", node.name), format!("eth{card}"));
                lay(&switch, (SWITCH, &near), (&node.netns, &far))?;
            }
            if let Some(spine) = &spine {
                lay(spine, (SPINE, &node.name), (&node.netns, FABRIC_CARD))?;
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
    [SWITCH, SPINE].contains(&name) || name.strip_prefix(NODE).is_some_and(is_number)
}

fn host(name: &str) -> Result<KernelHost, Failure> {
    KernelHost::open(Namespace::Named(name.to_owned())).map_err(Failure::usage)
}

/// Lays a cable between two machines, each with the name of its end.
fn lay(host: &KernelHost, (own, near): (&str, &str), (other, far): (&str, &str)) -> Result<(), Failure> {
    let name = |text: &str| text.parse::<IfName>().map_err(Failure::usage);
    let laid = host.cable(name(near)?, &Namespace::Named(other.to_owned()), name(far)?).map_err(Failure::usage)?;
    laid.map_err(|error| Failure::usage(format_args!("no cable between {own} and {other}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_runs_is_to_be_ended_and_only_leftovers_are_deleted_all_of_them() {
        let there = [
            "netloom-node10",
            "netloom-spine",
            "netloom-node2",
            "web",
            "netloom-node",
            "netloom-switch",
            "netloom-nodes",
        ];
        let text = in_the_way(SWITCH, there.map(str::to_owned).to_vec());
        let (end, delete) = (text.find("end it first").unwrap(), text.find("ip netns delete").unwrap());
        assert!(end < delete, "{text}");
        let all = "`ip netns delete netloom-node2; ip netns delete netloom-spine; ip netns delete netloom-node10; ip netns delete netloom-switch`";
        assert!(text.ends_with(all), "{text}");
    }
}
