//! What a rollout looks at: live objects, reduced to what decides.
//!
//! Nothing in here is a counter. What was decided earlier and cannot be seen any more (that a
//! revision failed, that every node had it, since when its first nodes are well) is read back from
//! the status of the revision, where the decision before put it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use netloom_api::{
    pipeline::network_config_revision::RevisionPhase,
    rollout::{Phase, RolloutPolicySpec},
};
use serde_json::{Map, Value};

/// Everything that one decision is made of.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The time, by the clock of the one who decides.
    pub now: Timestamp,
    /// Every revision that is there, in any order.
    pub revisions: &'a [Revision],
    /// Every node of the cluster, in any order.
    pub nodes: &'a [Node],
    /// Every rollout policy, in any order. A node that none selects follows the defaults.
    pub policies: &'a [Policy],
    /// Nodes for which the last write was refused. They are assigned again, and do not count as assigned before that is
    /// done.
    pub refused: &'a BTreeSet<String>,
}

/// A revision and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// The name of the object.
    pub name: String,
    /// Its place in the order of revisions: the highest is the desired one.
    pub order: u64,
    /// That it failed, as its status says.
    pub failure: Option<Failure>,
    /// How the last attempt failed, while it is tried again.
    pub before: Option<Failure>,
    /// Whether what bears on the failure is not what it was then.
    pub changed: bool,
    /// Whether somebody asks for another attempt at once.
    pub asked: bool,
    /// When every node that could take it last had it, as its status says.
    pub proven_at: Option<Timestamp>,
    /// Since when the first nodes are well, for each policy, as its status says.
    pub canaries: BTreeMap<String, Timestamp>,
    /// The phase that its status says.
    pub phase: Option<RevisionPhase>,
    /// Whether somebody has paused it.
    pub paused: bool,
    /// What it says for each node. Absent where nobody has worked that out: such a revision is never
    /// given to a node.
    pub node_changes: Option<BTreeMap<String, NodeChange>>,
}

/// Why a revision is not given to nodes any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The first node that failed.
    pub node: String,
    /// What was wrong there.
    pub message: String,
    /// When that was seen, by the clock of the one who decided.
    pub at: Timestamp,
    /// How often it was tried and failed, this time included.
    pub attempts: u32,
    /// When it is tried again; none where that waits for a person.
    pub retry_at: Option<Timestamp>,
}

/// What one revision says for one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeChange {
    /// Whether the node's objects say exactly this already, whatever revision they name.
    pub written: bool,
    /// How many links and addresses of the node would go.
    pub removals: u32,
    /// Whether the node's desired state is nobody's to write, as where the node merges policies itself. Such a node
    /// is assigned what is left of the revision; whatever it has of the rest, it did not get from the revision.
    pub apart: bool,
}

/// A node, what it was assigned and what it answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// The name of the `Node`.
    pub name: String,
    /// Its labels.
    pub labels: Map<String, Value>,
    /// The types of its conditions that are `True`.
    pub conditions: BTreeSet<String>,
    /// What it was assigned; none while it has no `NodeNetworkConfig`.
    pub assigned: Option<Assigned>,
    /// What it says about itself.
    pub report: Option<Report>,
    /// Whether its agent is there.
    pub agent: Liveness,
}

/// Whether the agent of a node is there, by the signs of life that it gives itself.
///
/// That decides whether a node can take a change. Its `Node` may well say that it is not ready: without its network no
/// node is, and then it needs its configuration most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Liveness {
    /// It gives no sign of life, as agents of earlier versions do not. Only conditions of the node tell then.
    #[default]
    Silent,
    /// There is a sign from before anybody listened, which may be as old as it likes. Conditions of the node tell until
    /// it is renewed, or was not for its whole time.
    Unknown,
    /// It was heard of within the time that it set itself.
    Alive,
    /// It was not.
    Gone {
        /// That time, in seconds.
        seconds: u32,
    },
}

/// What a node was assigned last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// The revision that its object names.
    pub revision: String,
    /// The generation of that object: a number that grows with each change of what it says.
    pub generation: i64,
    /// When it was written, by the clock of the one who decided then.
    pub since: Timestamp,
    /// Since when the one who decides now knows of it, by its own clock: what is counted until a node must have
    /// answered. The clock of another may be off by any time.
    pub known_since: Timestamp,
    /// Why it was written.
    pub cause: Cause,
    /// How often the revision had failed before.
    pub attempt: u32,
    /// The gates of its policy that it showed then; none where that was not written down, and all of them count.
    pub gates: Option<BTreeSet<String>>,
}

/// Why a node was assigned a revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cause {
    /// In its turn: as one of the first or in a wave. Only such nodes decide about a revision.
    #[default]
    Wave,
    /// To leave a revision that failed, or because somebody asked for an earlier one.
    Return,
    /// It had nothing, and the revision had proved itself.
    Join,
    /// It had failed on something else, and the revision had proved itself.
    Repair,
    /// Only the name is new: the revision that it named leaves the history.
    Rename,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 5] = [Self::Wave, Self::Return, Self::Join, Self::Repair, Self::Rename];

    /// Whether the node had failed, or left what had, when it was assigned.
    pub(crate) fn follows_failure(self) -> bool {
        match self {
            Self::Repair | Self::Return => true,
            Self::Wave | Self::Join | Self::Rename => false,
        }
    }

    /// The word for it in annotations.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wave => "wave",
            Self::Return => "return",
            Self::Join => "join",
            Self::Repair => "repair",
            Self::Rename => "rename",
        }
    }

    /// The cause of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.word() == word)
    }
}

/// What a node says about itself.
///
/// There is no time in it: clocks of nodes are not compared with anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The revision that it speaks of.
    pub revision: String,
    /// The generation that it speaks of; a report without one is about nothing.
    pub generation: Option<i64>,
    /// How far it has got.
    pub progress: Progress,
}

/// How far a node has got with what it was assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It is applying it.
    Working,
    /// It is in place, read back and probed.
    Done,
    /// It was refused or taken back, for this reason.
    Failed(String),
}

/// A rollout policy and the phase that its status says.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The name of the object; empty for the defaults that hold without one.
    pub name: String,
    /// What it asks for.
    pub spec: RolloutPolicySpec,
    /// The phase that its status says.
    pub phase: Option<Phase>,
    /// Why the object cannot be read, when it cannot. Its nodes then stay as they are: it may be one that holds them.
    pub unreadable: Option<String>,
}

impl Policy {
    /// The defaults, for nodes that no policy selects.
    pub fn of_defaults() -> Self {
        Self { name: String::new(), spec: RolloutPolicySpec::default(), phase: None, unreadable: None }
    }
}

impl Revision {
    /// Whether a node may be given it: it has not failed, and it is known what it says.
    pub(crate) fn is_valid(&self) -> bool {
        self.failure.is_none()
    }

    /// How often it was tried and failed before the present attempt.
    pub(crate) fn attempts(&self) -> u32 {
        self.before.as_ref().map_or(0, |failure| failure.attempts)
    }

    /// Whether what the node says of this revision is about an attempt before the present one.
    pub(crate) fn is_stale(&self, node: &Node) -> bool {
        let assigned = node.assigned.as_ref().filter(|assigned| assigned.revision == self.name);
        assigned.is_some_and(|assigned| assigned.attempt < self.attempts())
    }

    pub(crate) fn node_change(&self, node: &str) -> Option<NodeChange> {
        self.node_changes.as_ref()?.get(node).copied()
    }

    /// Whether the node keeps a desired state of its own, whatever this revision says.
    pub(crate) fn is_apart(&self, node: &Node) -> bool {
        self.node_change(&node.name).is_some_and(|node_change| node_change.apart)
    }

    /// Whether there is nothing in this revision that the node would be assigned, and it was not assigned it either.
    pub(crate) fn passes_by(&self, node: &Node) -> bool {
        let names_another = node.assigned.as_ref().is_some_and(|assigned| assigned.revision != self.name);
        names_another
            && self.node_change(&node.name).is_some_and(|node_change| node_change.apart && node_change.written)
    }

    /// Whether the node was assigned this revision and its objects still say what it says there.
    ///
    /// An object that somebody else changed, or a node whose labels changed since, tells nothing about
    /// the revision.
    pub(crate) fn holds(&self, node: &Node) -> bool {
        let named = node.assigned.as_ref().is_some_and(|assigned| assigned.revision == self.name);
        named
            && self
                .node_changes
                .as_ref()
                .is_none_or(|node_changes| node_changes.get(&node.name).is_some_and(|node_change| node_change.written))
    }
}
