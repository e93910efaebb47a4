//! Requests under way at the API: one set at a time, and longer pauses after refusals.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use netloom_object::{Action, Answer, Chain, ObjectRef, Request, RequestId};

use crate::backoff::{later, wait};

/// The first pause after a refusal, and the longest.
const PAUSE: (SignedDuration, SignedDuration) = (SignedDuration::from_millis(100), SignedDuration::from_secs(60));

/// Requests under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApiRequests {
    outstanding: BTreeSet<RequestId>,
    last_id: u64,
    refusals: u32,
    not_before: Option<Timestamp>,
}

impl ApiRequests {
    /// Whether something may be asked now.
    pub(crate) fn is_free(&self, now: Timestamp) -> bool {
        self.outstanding.is_empty() && self.not_before.is_none_or(|not_before| not_before <= now)
    }

    /// Whether nothing is under way and nothing was refused since the last success.
    pub(crate) fn is_clear(&self) -> bool {
        self.outstanding.is_empty() && self.not_before.is_none()
    }

    /// When the pause after a refusal is over.
    pub(crate) fn resumes_at(&self) -> Option<Timestamp> {
        self.not_before.filter(|_| self.outstanding.is_empty())
    }

    /// Ends the pause after a refusal, also when there is nothing left to ask for.
    pub(crate) fn resume(&mut self) {
        self.not_before = None;
    }

    /// Numbers requests that follow each other.
    pub(crate) fn chain(&mut self, requests: Vec<(ObjectRef, Action)>) -> Chain {
        let number = |(target, action)| {
            self.last_id += 1;
            let id = RequestId(self.last_id);
            self.outstanding.insert(id);
            Request { id, target, action }
        };
        Chain(requests.into_iter().map(number).collect())
    }

    /// Takes note of an answer.
    pub(crate) fn answered(&mut self, now: Timestamp, request: RequestId, answer: &Answer, seed: u64) {
        if !self.outstanding.remove(&request) {
            return;
        }
        match answer {
            // Requests that were sent together are refused together, and count once.
            Answer::Refused | Answer::Denied if self.not_before.is_some() => {}
            Answer::Refused | Answer::Denied => {
                self.refusals = self.refusals.saturating_add(1);
                self.not_before = Some(later(now, wait(PAUSE.0, PAUSE.1, self.refusals, seed)));
            }
            Answer::Done if self.outstanding.is_empty() && self.not_before.is_none() => self.refusals = 0,
            Answer::Done | Answer::Skipped => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_compile::ObjectKey;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pause_that_is_over_wakes_nobody_again() {
        let mut api_requests = ApiRequests::default();
        let target = ObjectRef { kind: crate::STATE, key: ObjectKey::new("default", "n") };
        let chain = api_requests.chain(vec![(target, Action::Create { object: json!({}) })]);
        let now = Timestamp::UNIX_EPOCH;
        api_requests.answered(now, chain.0[0].id, &Answer::Refused, 0);
        let end = api_requests.resumes_at().unwrap();
        assert!(!api_requests.is_free(now) && api_requests.is_free(end));
        api_requests.resume();
        assert_eq!((api_requests.resumes_at(), api_requests.is_clear()), (None, true));
    }
}
