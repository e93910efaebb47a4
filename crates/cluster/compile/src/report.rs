//! What to tell about each input object.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use netloom_api::condition::Truth;
use serde_json::{Value, json};

use crate::{
    finding::{Finding, reason},
    key::ObjectRef,
    output::conditions,
};

/// What there is to say about one object.
pub trait Report: Any + fmt::Debug + Send + Sync {
    /// The conditions that follow from it before nodes have answered.
    fn verdicts(&self) -> Vec<UntimedCondition>;

    /// The same for who looks ahead, where nothing is reported as wrong with an object that is for no node.
    fn foreseen(&self) -> Vec<UntimedCondition> {
        self.verdicts()
    }

    /// What is written of it into the object, beside its names, with the version that it is written in.
    fn written(&self, verdicts: &[UntimedCondition]) -> Value;

    /// The nodes that the object is for, as far as that is known by name.
    fn nodes(&self) -> Option<&BTreeSet<String>> {
        None
    }
}

/// What there is to say about objects of all front ends.
#[derive(Debug, Clone, Default)]
pub struct Reports(pub(crate) BTreeMap<ObjectRef, Arc<dyn Report>>);

impl Reports {
    /// What there is to say about an object, for who knows its kind.
    pub fn get<R: Report>(&self, object: &ObjectRef) -> Option<&R> {
        (self.0.get(object)?.as_ref() as &dyn Any).downcast_ref()
    }

    /// What there is to say about all objects of which a front end says so.
    pub fn of<R: Report>(&self) -> impl Iterator<Item = (&ObjectRef, &R)> {
        self.iter().filter_map(|(object, report)| Some((object, (report as &dyn Any).downcast_ref()?)))
    }

    /// What there is to say about every object.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectRef, &dyn Report)> {
        self.0.iter().map(|(object, report)| (object, report.as_ref()))
    }
}

/// A condition without its times: those are for whoever writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntimedCondition {
    /// The type of the condition, such as `Ready`.
    pub kind: &'static str,
    /// Whether it holds.
    pub status: Truth,
    /// A stable word for programs.
    pub reason: &'static str,
    /// A sentence for users, of at most a kilobyte.
    pub message: String,
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

/// What there is to say about a network state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateReport {
    /// The generation of the object that this is about.
    pub generation: Option<i64>,
    /// Everything that was found; empty when all is well.
    pub findings: Vec<Finding>,
}

impl StateReport {
    /// The condition of a second object of one node.
    pub const CONFLICT: &'static str = "Conflict";
    /// The condition of an object whose node is not there. No agent writes it: a list entry that two of them apply can
    /// be removed by neither.
    pub const ORPHANED: &'static str = "Orphaned";
}

impl Report for StateReport {
    /// One for each kind of condition, of the first thing that was found for it.
    fn verdicts(&self) -> Vec<UntimedCondition> {
        let mut verdicts: Vec<UntimedCondition> = Vec::new();
        for finding in &self.findings {
            let kind = match finding.reason {
                reason::CONFLICT => Self::CONFLICT,
                reason::NODE_NOT_FOUND => Self::ORPHANED,
                _ => "Degraded",
            };
            if verdicts.iter().all(|known| known.kind != kind) {
                let message = short(finding.to_string());
                verdicts.push(UntimedCondition { kind, status: Truth::True, reason: finding.reason, message });
            }
        }
        verdicts
    }

    fn written(&self, verdicts: &[UntimedCondition]) -> Value {
        let mut written = json!({"apiVersion": "nmstate.io/v1"});
        if !verdicts.is_empty() {
            written["status"] = json!({"conditions": conditions(verdicts, self.generation)});
        }
        written
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
