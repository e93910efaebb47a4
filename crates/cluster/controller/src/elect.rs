//! Stands for the lease, and tells who asks whether this process leads.
//!
//! The decisions are `netloom_controller_core::lease`; here are the requests and the clocks.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use kube::{
    Api, Client,
    api::{DynamicObject, PostParams},
};
use netloom_controller_core::lease::{Candidate, LeaseAction, Moment, Outcome, Terms};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::{clock::Clock, definitions, metrics::Metrics};

/// Until when this process leads, by both of its clocks: one stands still while a machine sleeps, the other can be
/// set. The earlier end counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Term {
    steady: Timestamp,
    wall: Timestamp,
    /// When the lease was acquired of which this is a part.
    acquired: Timestamp,
}

/// Whether this process leads, for everybody who asks.
#[derive(Debug, Clone)]
pub struct Leadership {
    term: watch::Receiver<Option<Term>>,
    length: SignedDuration,
}

impl Leadership {
    /// Until when it leads, by the clock that people tell the time by; none when it does not lead.
    pub fn until(&self, now: Moment) -> Option<Timestamp> {
        let term = (*self.term.borrow())?;
        let left = term.steady.duration_since(now.steady).min(term.wall.duration_since(now.wall));
        (left > SignedDuration::ZERO).then(|| now.wall.checked_add(left).unwrap_or(Timestamp::MAX))
    }

    /// Since when it leads without anybody else in between; none when it does not lead.
    pub(crate) fn acquired(&self, now: Moment) -> Option<Timestamp> {
        self.until(now)?;
        (*self.term.borrow()).map(|term| term.acquired)
    }

    /// Waits until it may have changed.
    pub async fn changed(&mut self) {
        if self.term.changed().await.is_err() {
            // The election has ended, and the process is about to.
            std::future::pending::<()>().await;
        }
    }

    /// How long after its end a request of a term may still arrive: before that, nobody else begins.
    pub fn grace(&self) -> Duration {
        (self.length / 3).unsigned_abs()
    }
}

/// One that stands for the lease.
#[derive(Debug)]
pub struct Election {
    api: Api<DynamicObject>,
    terms: Terms,
    clock: Clock,
    term: watch::Sender<Option<Term>>,
    metrics: Arc<Metrics>,
}

impl Election {
    /// Prepares to stand for the lease.
    pub fn new(client: Client, terms: Terms, clock: Clock, metrics: Arc<Metrics>) -> (Self, Leadership) {
        let (sender, term) = watch::channel(None);
        let length = terms.length;
        let resource = definitions::lease();
        let api = Api::namespaced_with(client, &terms.namespace, &resource);
        (Self { api, terms, clock, term: sender, metrics }, Leadership { term, length })
    }

    /// Takes part until `stop`. Then nobody here leads any more; the lease itself is given back when `idle` says
    /// that the last request has ended.
    pub async fn run(self, mut stop: oneshot::Receiver<()>, idle: oneshot::Receiver<()>) {
        let mut candidate = Candidate::new(self.terms.clone());
        loop {
            let now = self.clock.now();
            match candidate.next(now) {
                LeaseAction::Wait(until) => tokio::select! {
                    () = tokio::time::sleep_until(self.clock.at(until)) => {}
                    _ = &mut stop => break,
                },
                // Waited for even when it is time to stop: what is given back is what was stored last.
                request @ (LeaseAction::Read | LeaseAction::Create(_) | LeaseAction::Replace(_)) => {
                    let outcome = self.perform(&request).await;
                    candidate.answered(self.clock.now().steady, outcome);
                }
            }
            self.tell(&candidate, now);
        }
        self.leave(candidate, idle).await;
    }

    /// Tells others what the last step has changed.
    fn tell(&self, candidate: &Candidate, now: Moment) {
        let present = self.clock.now();
        let term = candidate.leads_until(present.steady).map(|steady| {
            let left = steady.duration_since(now.steady);
            let wall = now.wall.checked_add(left).unwrap_or(Timestamp::MAX);
            // A lease without a word about it is a leadership of its own at each renewal.
            Term { steady, wall, acquired: candidate.acquired().unwrap_or(wall) }
        });
        let renewed = self.term.send_if_modified(|known| {
            // The same term, reported at another moment: the first telling was nearer to its beginning.
            let same = known.map(|known| known.steady) == term.map(|term| term.steady);
            if known.is_some() != term.is_some() {
                let who = &self.terms.identity;
                tracing::info!(leads = term.is_some(), identity = who, "leadership has changed");
            }
            if !same {
                *known = term;
            }
            !same
        });
        self.metrics.leads(term.is_some());
        if renewed && term.is_some() {
            self.metrics.renewed();
        }
    }

    async fn leave(&self, mut candidate: Candidate, idle: oneshot::Receiver<()>) {
        let led = self.term.send_replace(None).is_some();
        self.metrics.leads(false);
        // An error means that whoever would say so has ended.
        idle.await.ok();
        if let Some(object) = candidate.leave(self.clock.now()).filter(|_| led) {
            let left = self.perform(&LeaseAction::Replace(object)).await;
            tracing::info!(given_back = matches!(left, Outcome::Found(_)), "this process leads no more");
        }
    }

    async fn perform(&self, step: &LeaseAction) -> Outcome {
        let time_limit = (self.terms.length / 5).unsigned_abs();
        match tokio::time::timeout(time_limit, self.request(step)).await {
            Ok(Ok(object)) => serde_json::to_value(object).map_or(Outcome::Unknown, Outcome::Found),
            Ok(Err(why)) => judge(step, &why),
            Err(_) => {
                tracing::warn!("no answer about the lease in time");
                Outcome::Unknown
            }
        }
    }

    async fn request(&self, step: &LeaseAction) -> kube::Result<DynamicObject> {
        let read = |object: &Value| serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError);
        match step {
            LeaseAction::Create(object) => self.api.create(&PostParams::default(), &read(object)?).await,
            LeaseAction::Replace(object) => {
                self.api.replace(&self.terms.name, &PostParams::default(), &read(object)?).await
            }
            LeaseAction::Read | LeaseAction::Wait(_) => self.api.get(&self.terms.name).await,
        }
    }
}

fn judge(step: &LeaseAction, why: &kube::Error) -> Outcome {
    if let kube::Error::Api(status) = why {
        match (step, status.code) {
            (LeaseAction::Read | LeaseAction::Replace(_), 404) => return Outcome::Missing,
            (_, 409) => return Outcome::Conflict,
            _ => {}
        }
    }
    tracing::warn!(%why, "cannot read or write the lease");
    Outcome::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_ends_by_whichever_clock_is_first() {
        let at = |steady: i64, wall: i64| Moment {
            steady: Timestamp::from_second(steady).unwrap(),
            wall: Timestamp::from_second(wall).unwrap(),
        };
        let end = at(10, 1010);
        let (sender, term) =
            watch::channel(Some(Term { steady: end.steady, wall: end.wall, acquired: at(0, 1000).wall }));
        let leadership = Leadership { term, length: SignedDuration::from_secs(15) };
        assert_eq!(leadership.until(at(4, 1004)), Some(at(0, 1010).wall));
        assert_eq!(leadership.until(at(4, 1012)), None, "the machine slept, or its clock was set");
        assert_eq!(leadership.until(at(10, 1004)), None, "its clock was set back");
        assert_eq!(leadership.until(at(8, 1001)), Some(at(0, 1003).wall), "as little as either clock leaves");
        sender.send_replace(None);
        assert_eq!(leadership.until(at(4, 1004)), None);
    }
}
