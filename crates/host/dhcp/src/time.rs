//! Moments. Nobody reads a clock here; whoever does hands both of its faces in.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The time now, on both clocks of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Since the machine was started, sleep included (`CLOCK_BOOTTIME`): nobody sets this clock, and it
    /// survives the process. Everything within one life of the machine goes by it.
    pub since_boot: Duration,
    /// What people call the time: the only clock that survives the machine.
    pub wall: Timestamp,
}

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Moment {
    /// Milliseconds since the machine was started.
    pub since_boot_ms: u64,
    /// What people call it.
    pub wall: Timestamp,
}

impl Moment {
    /// The moment that is so long after the start of the machine, seen from now.
    pub(crate) fn of(since_boot: Duration, now: Now) -> Self {
        let away = signed(since_boot).saturating_sub(signed(now.since_boot));
        let wall = now.wall.saturating_add(away).unwrap_or(now.wall);
        Self { since_boot_ms: u64::try_from(since_boot.as_millis()).unwrap_or(u64::MAX), wall }
    }

    /// When this is, after the start of the machine as it runs now.
    pub(crate) fn since_boot(self, same_boot: bool, now: Now) -> Duration {
        if same_boot {
            return Duration::from_millis(self.since_boot_ms);
        }
        let away = now.wall.duration_until(self.wall);
        Duration::try_from(signed(now.since_boot).saturating_add(away)).unwrap_or_default()
    }
}

fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(since_boot: u64, wall: i64) -> Now {
        Now { since_boot: Duration::from_secs(since_boot), wall: Timestamp::from_second(wall).unwrap() }
    }

    #[test]
    fn a_moment_is_found_again_after_the_clock_was_set_and_after_a_new_start() {
        let moment = Moment::of(Duration::from_secs(160), now(100, 1_000));
        assert_eq!(moment, Moment { since_boot_ms: 160_000, wall: Timestamp::from_second(1_060).unwrap() });
        let secs = |same, now| moment.since_boot(same, now).as_secs();
        assert_eq!(secs(true, now(120, 9_000_000)), 160, "nobody looks at the clock on the wall");
        assert_eq!(secs(false, now(20, 1_030)), 50, "thirty seconds are left");
        assert_eq!(secs(false, now(20, 1_060)), 20);
        assert_eq!(secs(false, now(20, 9_000_000)), 0, "long ago");
    }
}
