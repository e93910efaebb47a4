//! The clocks of the process, in one place.

use jiff::{SignedDuration, Timestamp};
use netloom_controller_core::lease::Moment;
use tokio::time::Instant;

/// Time since the process began, and time as people tell it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
}

impl Clock {
    /// One that begins now.
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }

    /// The present.
    pub fn now(&self) -> Moment {
        let passed = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        let steady = Timestamp::UNIX_EPOCH.checked_add(passed).unwrap_or(Timestamp::MAX);
        Moment { steady, wall: Timestamp::now() }
    }

    /// When a timer for a steady moment ends.
    pub fn at(&self, steady: Timestamp) -> Instant {
        self.started + steady.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs()
    }

    /// When a timer for a moment as people tell it ends, as the clock stands now.
    pub fn at_wall(wall: Timestamp) -> Instant {
        let wait = wall.duration_since(Timestamp::now()).max(SignedDuration::ZERO);
        Instant::now() + wait.unsigned_abs()
    }
}
