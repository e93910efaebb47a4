//! What a rollout decides: values that somebody else carries out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::{
    pipeline::network_config_revision::RevisionPhase,
    rollout::{Drift, NodeCounts, Phase, Probing, RolloutPolicySpec},
};
use netloom_probing::ProbeTimes;

use crate::input::{Cause, Failure};

/// Everything that follows from one look.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    /// Which nodes are assigned which revision next, in this order.
    pub assignments: Vec<Assignment>,
    /// What is to be reported of each revision, newest first.
    pub revisions: Vec<RevisionOutcome>,
    /// What is to be reported of each policy, in the order in which they take their turns. The one
    /// without a name stands for the defaults and has no object.
    pub policies: Vec<PolicyOutcome>,
    /// Revisions that nobody needs any more.
    pub obsolete: Vec<String>,
    /// When to look again although nothing has changed.
    pub wake_at: Option<Timestamp>,
    /// How nodes keep to what they were assigned, for those that do not keep to it as usual.
    pub terms: BTreeMap<String, Terms>,
    /// What keeps nodes from being assigned what they shall have, for those that do not only wait for their turn.
    pub held_up: BTreeMap<String, Arc<str>>,
    /// Nodes that were assigned something, have not answered, and still have time to.
    pub at_work: BTreeSet<String>,
    /// What people should hear of.
    pub events: Vec<Event>,
}

/// How a node keeps to what it was assigned, as the policy that it follows says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// What it does about changes by others.
    pub drift: Drift,
    /// Whether it goes on with a desired state that cuts its own way to the API server.
    pub may_be_cut_off: bool,
    /// How long it watches a change, where its agent was not started with that.
    pub timing: ProbeTimes,
}

impl Terms {
    /// What a policy says.
    pub(crate) fn of(spec: &RolloutPolicySpec) -> Self {
        let may_be_cut_off = spec.limits.as_ref().is_some_and(|limits| limits.allow_loss_of_management);
        let timing = spec.probes.map(Probing::times).unwrap_or_default();
        Self { drift: spec.drift, may_be_cut_off, timing }
    }
}

/// One node and the revision that it is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The node.
    pub node: String,
    /// The revision.
    pub revision: String,
    /// Why.
    pub cause: Cause,
    /// How often the revision was tried before and failed.
    pub attempt: u32,
    /// The gates of its policy that the node must show afterwards, because it did before.
    pub gates: BTreeSet<String>,
}

/// What is to be reported of a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionOutcome {
    /// The revision.
    pub name: String,
    /// Where it is.
    pub phase: RevisionPhase,
    /// A sentence for users.
    pub message: String,
    /// How many nodes reported it themselves, or reported the same content under an older name.
    pub ready: usize,
    /// How many nodes were assigned it and have not answered.
    pub ongoing: usize,
    /// How many nodes are still to be assigned it.
    pub queued: usize,
    /// How many nodes keep a desired state of their own and were not assigned it.
    pub apart: usize,
    /// How many nodes there are, whether or not they can take it now.
    pub total: usize,
    /// That it failed; to be kept until it is tried again.
    pub failure: Option<Failure>,
    /// How the last attempt failed, while it is tried again.
    pub before: Option<Failure>,
    /// The nodes that shall have it and cannot take it now, with why, by name.
    pub passed_over: BTreeMap<String, String>,
    /// When every node that could take it last had it; to be kept from now on.
    pub proven_at: Option<Timestamp>,
    /// Since when the first nodes are well, for each policy that watches them.
    pub canaries: BTreeMap<String, Timestamp>,
}

/// What is to be reported of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyOutcome {
    /// The policy; empty for the defaults.
    pub name: String,
    /// Where its nodes are.
    pub phase: Phase,
    /// A sentence for users.
    pub message: String,
    /// The revision that its nodes shall have.
    pub target: Option<String>,
    /// The revision that its nodes would return to.
    pub last_good: Option<String>,
    /// The wave that runs, counted from 1.
    pub wave: Option<u32>,
    /// Its nodes by what they report.
    pub nodes: NodeCounts,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A revision, by name.
    Revision(String),
    /// A policy, by name.
    Policy(String),
    /// A node, by name.
    Node(String),
}

/// Something that people should hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What it is about.
    pub subject: Subject,
    /// Whether somebody should look.
    pub warning: bool,
    /// A stable word for programs.
    pub reason: &'static str,
    /// A sentence for users.
    pub message: String,
}
