//! Requests on their way: one for each object, and a pause after one that was not done.

use std::collections::BTreeMap;

use netloom_object::{Action, Answer, Chain, ObjectRef, Request, RequestId};

/// How long an object is left alone after a refusal, in milliseconds. A watch usually brings what is new before.
const PAUSE: u64 = 500;

/// What is on its way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flight {
    next: u64,
    under_way: BTreeMap<RequestId, ObjectRef>,
    paused: BTreeMap<ObjectRef, u64>,
}

impl Flight {
    /// Asks for something, unless the object is already asked about, or was refused a moment ago.
    pub(crate) fn ask(&mut self, now: u64, target: ObjectRef, action: Action) -> Option<Chain> {
        if self.under_way.values().any(|known| *known == target) || self.paused.get(&target).is_some_and(|at| *at > now)
        {
            return None;
        }
        self.paused.remove(&target);
        self.next += 1;
        let id = RequestId(self.next);
        self.under_way.insert(id, target.clone());
        Some(Chain(vec![Request { id, target, action }]))
    }

    /// Whether an object is asked about, or is left alone for a moment.
    pub(crate) fn is_under_way(&self, target: &ObjectRef) -> bool {
        self.under_way.values().any(|known| known == target) || self.paused.contains_key(target)
    }

    /// Takes note of an answer.
    pub(crate) fn answered(&mut self, now: u64, id: RequestId, answer: &Answer) {
        let Some(target) = self.under_way.remove(&id) else { return };
        if *answer != Answer::Done {
            self.paused.insert(target, now.saturating_add(PAUSE));
        }
    }

    /// When to look again although nothing happens.
    pub(crate) fn wake_at(&self) -> Option<u64> {
        self.paused.values().min().copied()
    }

    /// Forgets pauses that are over.
    pub(crate) fn at(&mut self, now: u64) {
        self.paused.retain(|_, at| *at > now);
    }
}
