//! How an agent is set up.

use std::{collections::BTreeSet, net::IpAddr, sync::Arc};

use jiff::SignedDuration;
use netloom_probing::ProbeTiming;
use netloom_render::Base;

/// Who merges policies into the node's desired state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The controller, through its rollout.
    #[default]
    Centralized,
    /// The agent itself.
    Distributed,
}

/// What follows when somebody else changed what the desired state sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Drift {
    /// It is set again.
    #[default]
    Repair,
    /// It is only reported.
    Report,
}

/// How an agent is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The node.
    pub node: String,
    /// The namespace in which the agent makes the node's network state when there is none.
    pub namespace: String,
    /// Who merges policies.
    pub mode: Mode,
    /// Whether the desired state is applied and reported; a client that only merges policies does neither.
    pub enforce: bool,
    /// Whether it stays: only then does it say on the node's network state who merges policies, and can it renew leases.
    pub resident: bool,
    /// What follows drift.
    pub drift: Drift,
    /// Addresses that the node must always reach, such as that of the API.
    pub protected: Vec<IpAddr>,
    /// How long a change is watched, where the controller says nothing else.
    pub timing: ProbeTiming,
    /// What the node has before any fabric; none for one that takes no part in a fabric.
    pub base: Option<Arc<Base>>,
    /// Keys of taints that go from the node once its network is in place.
    pub taints: BTreeSet<String>,
    /// A number that spreads the polls and retries of many agents.
    pub seed: u64,
    /// The least time between two lists of the node's links.
    pub list_pace: SignedDuration,
    /// How long links must have stayed up or down before that alone is listed.
    pub list_stable: SignedDuration,
    /// How long the host must be quiet before changes of it are looked at.
    pub quiet: SignedDuration,
    /// But not longer than so long after the first change.
    pub longest: SignedDuration,
    /// How often the host is looked at although it reports no change.
    pub poll: SignedDuration,
    /// How often it is looked at where routing daemons are: nobody tells when a session of theirs ends.
    pub poll_daemons: SignedDuration,
    /// How long a change may take before it is reported as under way.
    pub progress_after: SignedDuration,
    /// The time to the second attempt at a desired state; it doubles with each.
    pub retry_first: SignedDuration,
    /// The most that it grows to.
    pub retry_most: SignedDuration,
    /// How long a network state waits for the other object of its pair.
    pub pairing: SignedDuration,
    /// How long a node keeps what it was assigned after its `Node` is gone.
    pub leaving: SignedDuration,
    /// How long it may take to notice that the API is reached again. So much longer the next attempt at a desired state
    /// waits for the failure of the last one to be reported.
    pub reconnect: SignedDuration,
}

impl Settings {
    /// The usual ones for a node.
    pub fn of(node: impl Into<String>) -> Self {
        Self {
            node: node.into(),
            namespace: "default".to_owned(),
            mode: Mode::default(),
            enforce: true,
            resident: true,
            drift: Drift::default(),
            protected: Vec::new(),
            timing: ProbeTiming::default(),
            base: None,
            taints: BTreeSet::new(),
            seed: 0,
            // A link that flaps is reported twelve times a minute at most.
            list_pace: SignedDuration::from_secs(5),
            // What flaps is back by then; `status.currentState` has it at once.
            list_stable: SignedDuration::from_secs(10),
            // Drift shall be named within a tenth of a second; a tool that makes a link sends its events
            // within a few milliseconds.
            quiet: SignedDuration::from_millis(20),
            longest: SignedDuration::from_millis(500),
            poll: SignedDuration::from_secs(60),
            poll_daemons: SignedDuration::from_secs(15),
            progress_after: SignedDuration::from_secs(1),
            retry_first: SignedDuration::from_secs(1),
            retry_most: SignedDuration::from_mins(5),
            // The controller writes both at once, but a watch may break between them.
            pairing: SignedDuration::from_secs(30),
            // For whoever deleted a `Node` by mistake to see it and have the kubelet make it again.
            leaving: SignedDuration::from_mins(5),
            // Longer than a connection takes to notice that its packets pass again.
            reconnect: SignedDuration::from_secs(30),
        }
    }
}
