//! Whether an agent is well, for those who restart it, and ready, for those who wait for it.
//!
//! Well is one whose loop and whose host worker come to an end with what they do. The API is no part of that: a node
//! that is cut off must not have its agent restarted over and over. Ready is one that has read the node's
//! objects, tried the desired state and reported what came of it, whatever that was: a desired state that cannot be
//! reached is reported in the object, and is not this agent's to fix.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// A turn of the loop takes milliseconds. One that takes this long never ends.
const STUCK: Duration = Duration::from_mins(1);
/// A change is taken back after ten minutes, and that takes no longer than the change.
const STUCK_WORKER: Duration = Duration::from_mins(25);

/// What an agent tells about itself while it works.
#[derive(Debug, Default)]
pub(crate) struct AgentHealth(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    turn_since: Option<Instant>,
    work_since: Option<Instant>,
    read: bool,
    reported: bool,
}

impl AgentHealth {
    /// A turn of the loop begins, or has ended.
    pub(crate) fn turn(&self, now: Option<Instant>) {
        self.change(|state| state.turn_since = now);
    }

    /// Something is done to host or disk, or that has ended.
    pub(crate) fn work(&self, now: Option<Instant>) {
        self.change(|state| state.work_since = now);
    }

    /// The node's objects were read.
    pub(crate) fn read(&self) {
        self.change(|state| state.read = true);
    }

    /// Everything was done and stated once.
    pub(crate) fn reported(&self) {
        self.change(|state| state.reported = true);
    }

    /// Why the agent is best restarted; none when it is well.
    pub(crate) fn stuck(&self, now: Instant) -> Option<&'static str> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let longer = |since: Option<Instant>, limit| since.is_some_and(|since| now.duration_since(since) > limit);
        if longer(state.turn_since, STUCK) {
            return Some("the loop is stuck");
        }
        longer(state.work_since, STUCK_WORKER).then_some("a change of the host does not end")
    }

    /// What is missing before the agent is ready.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (state.reported, state.read) {
            (true, _) => None,
            (false, true) => Some("the desired state was not tried yet, or its result is not reported yet"),
            (false, false) => Some("the node's objects were not read yet"),
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_never_ends_is_stuck() {
        let health = AgentHealth::default();
        let start = Instant::now();
        let later = |minutes| start + Duration::from_mins(minutes);
        health.turn(Some(start));
        assert_eq!((health.stuck(later(1)), health.stuck(later(2))), (None, Some("the loop is stuck")));
        health.turn(None);
        health.work(Some(start));
        assert_eq!(health.stuck(later(25)), None);
        assert_eq!(health.stuck(later(26)), Some("a change of the host does not end"));
        health.work(None);
        assert_eq!(health.stuck(later(60)), None);
    }

    #[test]
    fn what_is_missing_is_reported_and_once_ready_is_ready() {
        let health = AgentHealth::default();
        assert_eq!(health.missing(), Some("the node's objects were not read yet"));
        health.read();
        assert!(health.missing().is_some_and(|what| what.contains("not tried yet")));
        health.reported();
        assert_eq!(health.missing(), None);
    }
}
