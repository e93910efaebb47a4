//! What to tell about each input object.

use netloom_api::condition::Truth;

use crate::finding::{Conflict, Finding};

/// A condition without its times: those are for whoever writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The type of the condition, such as `Ready`.
    pub kind: &'static str,
    /// Whether it holds.
    pub status: Truth,
    /// A stable word for programs.
    pub reason: &'static str,
    /// A sentence for people, of at most a kilobyte.
    pub message: String,
}

/// What there is to say about a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyReport {
    /// The generation of the policy that this is about.
    pub generation: Option<i64>,
    /// How many nodes the policy selects.
    pub matched_nodes: usize,
    /// On how many of them a rule matches a link.
    pub nodes_with_links: usize,
    /// Why the policy cannot be used as it stands.
    pub broken: Vec<Finding>,
    /// Whether an earlier version stays in effect in its place.
    pub stays: bool,
    /// What was left out for somebody with precedence: the first one, and on how many nodes.
    pub conflict: Option<Seen<Conflict>>,
    /// What else was left out: each with the number of nodes.
    pub findings: Vec<Seen<Finding>>,
    /// Nodes with matched links that merge policies themselves, outside of every rollout.
    pub left_to_nodes: Option<Seen<()>>,
}

/// Something that was seen on some nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen<T> {
    /// What was seen.
    pub what: T,
    /// On how many nodes.
    pub nodes: usize,
    /// The first of them by name.
    pub first: String,
}

impl<T> Seen<T> {
    /// Adds what was seen on other nodes; the words are those of the first node by name.
    pub(crate) fn join(&mut self, other: &Self)
    where
        T: Clone,
    {
        self.nodes += other.nodes;
        if other.first < self.first {
            self.first.clone_from(&other.first);
            self.what = other.what.clone();
        }
    }
}

impl Seen<()> {
    fn merging(&self) -> String {
        let Self { what: (), nodes, first } = self;
        format!("; merged by the nodes themselves and not rolled out: {nodes} ({first} is the first)")
    }
}

impl<T: std::fmt::Display> Seen<T> {
    pub(crate) fn sentence(&self) -> String {
        let Self { what, nodes, first } = self;
        if *nodes == 1 {
            format!("on node {first}: {what}")
        } else {
            format!("on {nodes} nodes, {first} is the first: {what}")
        }
    }
}

impl PolicyReport {
    /// The policy's conditions: `Ready`, and `PolicyConflict` where there is one.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = vec![self.ready()];
        if let Some(conflict) = &self.conflict {
            verdicts.push(Verdict {
                kind: "PolicyConflict",
                status: Truth::True,
                reason: crate::reason::POLICY_CONFLICT,
                message: short(conflict.sentence()),
            });
        }
        verdicts
    }

    fn ready(&self) -> Verdict {
        let left = self.left_to_nodes.as_ref().map(Seen::merging).unwrap_or_default();
        let verdict = |status, reason, message: String| {
            let message = short(format!("{message}{left}"));
            Verdict { kind: "Ready", status, reason, message }
        };
        if let Some(first) = self.broken.first() {
            let then = if self.stays { "its last good version stays in effect" } else { "it has no effect" };
            return verdict(Truth::False, first.reason, format!("{first}; {then}"));
        }
        if self.matched_nodes == 0 {
            return verdict(Truth::True, crate::reason::NO_MATCHING_NODE, "no node is selected".to_owned());
        }
        if self.nodes_with_links == 0 {
            let message = format!("selected nodes: {}; none has a link that a rule matches", self.matched_nodes);
            return verdict(Truth::True, crate::reason::NO_MATCHING_INTERFACE, message);
        }
        // An entry for a link that no rule matches is not for this policy to do; the rest must be done.
        let (idle, left_out): (Vec<_>, Vec<_>) =
            self.findings.iter().partition(|finding| finding.what.reason == crate::reason::NOT_MATCHED);
        if let Some(conflict) = &self.conflict {
            return verdict(Truth::False, crate::reason::POLICY_CONFLICT, conflict.sentence());
        }
        if let Some(finding) = left_out.first() {
            return verdict(Truth::False, finding.what.reason, finding.sentence());
        }
        if let Some(finding) = idle.first() {
            return verdict(Truth::True, finding.what.reason, finding.sentence());
        }
        let message = format!("selected nodes: {}; with matched links: {}", self.matched_nodes, self.nodes_with_links);
        verdict(Truth::True, "Compiled", message)
    }
}

/// What there is to say about a network state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateReport {
    /// Everything that was found; empty when all is well.
    pub findings: Vec<Finding>,
}

impl StateReport {
    /// The conditions that follow: `Conflict` for a second object of one node, else `Degraded` for
    /// the first thing that was found.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let Some(first) = self.findings.first() else { return Vec::new() };
        let kind = if first.reason == crate::reason::CONFLICT { "Conflict" } else { "Degraded" };
        vec![Verdict { kind, status: Truth::True, reason: first.reason, message: short(first.to_string()) }]
    }
}

/// Messages of conditions are read on one screen.
pub(crate) fn short(mut message: String) -> String {
    const MOST: usize = 1000;
    if message.len() > MOST {
        let end = (0..=MOST).rev().find(|end| message.is_char_boundary(*end)).unwrap_or_default();
        message.truncate(end);
        message.push('…');
    }
    message
}
