//! Whether an agent is well, for those who restart it, and ready, for those who wait for it.
//!
//! Well is one whose loop and whose hands come to an end with what they do. The API is no part of that: a node
//! that is cut off must not have its agent restarted over and over. Ready is one that has read the node's
//! objects, tried the wish and said what came of it, whatever that was: a wish that cannot be had is told in
//! the object, and is not this agent's to mend.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// A turn of the loop takes milliseconds. One that takes this long never ends.
const STUCK: Duration = Duration::from_mins(1);
/// A change is taken back after ten minutes, and that takes no longer than the change.
const STUCK_HANDS: Duration = Duration::from_mins(25);

/// What an agent tells about itself while it works.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    turn_since: Option<Instant>,
    work_since: Option<Instant>,
    read: bool,
    said: bool,
}

impl Pulse {
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

    /// Everything was done and said once.
    pub(crate) fn said(&self) {
        self.change(|state| state.said = true);
    }

    /// Why the agent is best restarted; none when it is well.
    pub(crate) fn stuck(&self, now: Instant) -> Option<&'static str> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let longer = |since: Option<Instant>, limit| since.is_some_and(|since| now.duration_since(since) > limit);
        if longer(state.turn_since, STUCK) {
            return Some("the loop is stuck");
        }
        longer(state.work_since, STUCK_HANDS).then_some("a change of the host does not end")
    }

    /// What is missing before the agent is ready.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (state.said, state.read) {
            (true, _) => None,
            (false, true) => Some("the wish was not tried yet, or what came of it is not said yet"),
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
        let pulse = Pulse::default();
        let start = Instant::now();
        let later = |minutes| start + Duration::from_mins(minutes);
        pulse.turn(Some(start));
        assert_eq!((pulse.stuck(later(1)), pulse.stuck(later(2))), (None, Some("the loop is stuck")));
        pulse.turn(None);
        pulse.work(Some(start));
        assert_eq!(pulse.stuck(later(25)), None);
        assert_eq!(pulse.stuck(later(26)), Some("a change of the host does not end"));
        pulse.work(None);
        assert_eq!(pulse.stuck(later(60)), None);
    }

    #[test]
    fn what_is_missing_is_said_and_once_ready_is_ready() {
        let pulse = Pulse::default();
        assert_eq!(pulse.missing(), Some("the node's objects were not read yet"));
        pulse.read();
        assert!(pulse.missing().is_some_and(|what| what.contains("not tried yet")));
        pulse.said();
        assert_eq!(pulse.missing(), None);
    }
}
