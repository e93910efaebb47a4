//! Who of several controllers may write: the lease as a server keeps it, and the ways between it and those
//! who want it.
//!
//! What each of them does is decided by [`netloom_controller_core::lease`]; requests and answers are late, get lost
//! and find their senders dead like all others.

use jiff::SignedDuration;
use netloom_controller_core::lease::{Candidate, LeaseAction, Moment, Outcome, Terms};
use serde_json::{Value, json};

use crate::{Bug, Cluster, Micros, Process, SECOND, cluster::Happening, users};

/// How long the lease is.
const LENGTH: SignedDuration = SignedDuration::from_secs(15);
/// How long an answer is waited for.
const TIME_LIMIT: Micros = 3 * SECOND;

/// The lease as the server has it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lease {
    object: Option<Value>,
    version: u64,
}

impl Lease {
    /// Who has it.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.object.as_ref()?.pointer("/spec/holderIdentity")?.as_str()
    }

    fn perform(&mut self, step: &LeaseAction) -> Outcome {
        let object = match (step, &self.object) {
            (LeaseAction::Read | LeaseAction::Wait(_), known) => {
                return known.clone().map_or(Outcome::Missing, Outcome::Found);
            }
            (LeaseAction::Create(_), Some(_)) => return Outcome::Conflict,
            (LeaseAction::Replace(_), None) => return Outcome::Missing,
            (LeaseAction::Create(object), None) => object,
            (LeaseAction::Replace(object), Some(known)) => {
                if object["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"] {
                    return Outcome::Conflict;
                }
                object
            }
        };
        self.version += 1;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.object = Some(object.clone());
        Outcome::Found(object)
    }
}

/// The name under which one life of a controller has the lease.
pub(crate) fn name_of(number: usize, life: u32) -> String {
    format!("controller-{number}-{life}")
}

/// One life of a controller, as it stands for the lease.
pub(crate) fn candidate(number: usize, life: u32) -> Candidate {
    let (namespace, name) = (users::NAMESPACE.to_owned(), "controller".to_owned());
    Candidate::new(Terms { identity: name_of(number, life), namespace, name, length: LENGTH })
}

impl Cluster {
    /// A controller does the next thing about the lease.
    pub(crate) fn look(&mut self, controller: usize, life: u32) {
        let now = self.now;
        let deputy = &mut self.controllers[controller];
        let clock = deputy.shell.clock(now);
        match deputy.candidate.next(Moment { steady: clock, wall: clock }) {
            LeaseAction::Wait(until) => {
                let at = deputy.shell.moment(until);
                self.schedule(at.saturating_sub(now), Happening::Look { controller, life });
            }
            step @ (LeaseAction::Read | LeaseAction::Create(_) | LeaseAction::Replace(_)) => {
                let latency = self.latency();
                self.schedule(latency, Happening::Stand { controller, life, step });
            }
        }
    }

    /// A request about the lease reaches the server, or does not.
    pub(crate) fn stand(&mut self, controller: usize, life: u32, step: &LeaseAction) {
        let process = Process::Controller(controller);
        let answer = |outcome| Happening::Leased { controller, life, outcome };
        if self.shell(process).is_cut(self.now) || self.random.chance(self.faults.unanswered / 2) {
            self.schedule(TIME_LIMIT, answer(Outcome::Unknown));
            return;
        }
        let outcome = if *step != LeaseAction::Read && self.lives(process, life) {
            let holder = self.lease.holder().map(str::to_owned);
            let Some(outcome) = self.step(process, |cluster| cluster.lease.perform(step)) else { return };
            self.last_is_renewal = holder.is_some() && holder.as_deref() == self.lease.holder();
            self.note(format_args!("{process:?} stands for the lease of {:?}", self.lease.holder().map(str::to_owned)));
            outcome
        } else {
            self.lease.perform(step)
        };
        if self.random.chance(self.faults.unanswered / 2) {
            self.schedule(TIME_LIMIT, answer(Outcome::Unknown));
            return;
        }
        let latency = self.latency();
        self.schedule(latency, answer(outcome));
    }

    /// A controller hears what came of its request about the lease.
    pub(crate) fn leased(&mut self, controller: usize, life: u32, outcome: Outcome) {
        let deputy = &mut self.controllers[controller];
        let outcome = if deputy.shell.is_cut(self.now) { Outcome::Unknown } else { outcome };
        deputy.candidate.answered(deputy.shell.clock(self.now), outcome);
        self.look(controller, life);
        self.decide(Process::Controller(controller));
    }

    /// Until when a controller may write.
    pub(crate) fn leads_until(&self, number: usize) -> Option<Micros> {
        let deputy = &self.controllers[number];
        if self.bug == Some(Bug::IgnoresTheLease) {
            return Some(self.now + SECOND);
        }
        let until = deputy.candidate.leads_until(deputy.shell.clock(self.now))?;
        Some(deputy.shell.moment(until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_who_knows_the_lease_replaces_it() {
        let mut lease = Lease::default();
        let object = |holder: &str, version: &str| json!({"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": holder}});
        assert_eq!(lease.perform(&LeaseAction::Read), Outcome::Missing);
        assert_eq!(lease.perform(&LeaseAction::Replace(object("a", "1"))), Outcome::Missing);
        assert_eq!(lease.perform(&LeaseAction::Create(object("a", ""))), Outcome::Found(object("a", "1")));
        assert_eq!(lease.perform(&LeaseAction::Create(object("b", ""))), Outcome::Conflict);
        assert_eq!(lease.perform(&LeaseAction::Replace(object("b", "0"))), Outcome::Conflict);
        assert_eq!(lease.holder(), Some("a"));
        assert_eq!(lease.perform(&LeaseAction::Replace(object("b", "1"))), Outcome::Found(object("b", "2")));
    }
}
