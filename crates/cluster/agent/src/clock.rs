//! The time that decisions are made with.
//!
//! It is the wall clock of the beginning and runs on evenly from there: setting the clock of the machine
//! must not delay a retry by hours.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// A clock that never jumps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    wall: Timestamp,
    began: Instant,
}

impl Clock {
    /// Begins with the wall clock.
    #[expect(clippy::disallowed_methods, reason = "this is the outermost shell: decisions take time as a value")]
    pub(crate) fn start() -> Self {
        Self { wall: Timestamp::now(), began: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.began.elapsed()).unwrap_or(SignedDuration::MAX);
        self.wall.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// How long it is until then; nothing when it was before.
    pub(crate) fn until(&self, moment: Timestamp) -> Duration {
        Duration::try_from(moment.duration_since(self.now())).unwrap_or_default()
    }
}
