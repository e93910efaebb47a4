//! The condition `ready` in the spelling of host networks, with its times.

use jiff::Timestamp;
use netloom_api::{
    condition::{Observation, Truth},
    hostnet::HostCondition,
};

/// The reason of a node that does not get what is wanted now because another one could not have it.
pub const ROLLOUT_STOPPED: &str = "RolloutStopped";

/// Whether something is ready, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) truth: Truth,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Verdict {
    pub(super) fn new(truth: Truth, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { truth, reason: reason.into(), message: message.into() }
    }

    /// Everything is in place.
    pub(super) fn applied() -> Self {
        Self::new(Truth::True, "Applied", "")
    }

    /// It is on its way.
    pub(super) fn pending(message: &str) -> Self {
        Self::new(Truth::False, "Pending", message)
    }

    /// Nobody works on it yet, for this reason unless it was stopped elsewhere.
    pub(super) fn waiting(truth: Truth, (stopped, message): (Option<&str>, &str)) -> Self {
        match stopped {
            Some(why) => Self::new(truth, ROLLOUT_STOPPED, why),
            None => Self::new(truth, "Pending", message),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.truth == Truth::True
    }

    /// The condition, with its times.
    pub(super) fn condition(&self, now: Timestamp, before: &[HostCondition]) -> HostCondition {
        let Self { truth, reason, message } = self;
        HostCondition::at(Observation::new("ready", *truth, reason, message), now, before)
    }
}

/// Whether conditions say so.
pub(super) fn is_ready(conditions: &[HostCondition]) -> bool {
    conditions.iter().any(|condition| condition.kind == "ready" && condition.status == Truth::True)
}

/// Whether conditions say that for one of these reasons.
pub(super) fn has_reason(conditions: &[HostCondition], reasons: &[&str]) -> bool {
    let ready = conditions.iter().find(|condition| condition.kind == "ready");
    ready.and_then(|ready| ready.reason.as_deref()).is_some_and(|reason| reasons.contains(&reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_changes_only_with_what_it_says() {
        let (early, late) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(90).unwrap());
        let first = Verdict::pending("one of two").condition(early, &[]);
        assert_eq!(Verdict::pending("one of two").condition(late, std::slice::from_ref(&first)), first);
        let more = Verdict::pending("two of two").condition(late, std::slice::from_ref(&first));
        assert_eq!(more.last_transition_time, first.last_transition_time, "it was not ready all along");
        assert_ne!(more.last_update_time, first.last_update_time);
        let done = Verdict::applied().condition(late, &[more]);
        assert_eq!((done.message, done.last_transition_time.as_deref()), (None, Some("1970-01-01T00:01:30Z")));
    }
}
