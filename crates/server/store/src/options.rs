//! How a store is to be run. The defaults are what the API server uses.

use std::{fmt, sync::Arc, time::Duration};

use nix::time::{ClockId, clock_gettime};

/// Tells the time since 1970.
///
/// It decides how long history is kept, nothing else: a clock that jumps makes the history shorter
/// or longer, never wrong.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Clock {
    /// A clock that calls this function.
    pub fn new(now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The machine's wall clock. History outlives the process, so a clock of one boot will not do.
    pub fn system() -> Self {
        Self::new(|| clock_gettime(ClockId::CLOCK_REALTIME).map_or(Duration::ZERO, Duration::from))
    }

    /// The time since 1970.
    pub fn now(&self) -> Duration {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// How a store is to be run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether a store is made where there is no file yet.
    pub create: bool,
    /// How long an event stays in the history at least: five minutes, as long as API clients expect
    /// that a broken watch or a page can be taken up again.
    pub window: Duration,
    /// How many of the newest events stay in the history at least, however old they are.
    pub window_events: u64,
    /// How many bytes outdated versions may take in the file before the two limits above give way,
    /// so that a busy writer of large objects cannot fill the disk with history.
    pub window_bytes: u64,
    /// Memory for pages of the file. The branches of the trees and the pages in use fit into 16 MiB
    /// for far more than 100 000 objects; everything else is one read from the kernel's page cache
    /// away, which is not memory of this process. Half of it bounds what one commit may buffer.
    pub cache_bytes: usize,
    /// How many events may wait for one watch in memory, as numbers of 8 bytes. A watch that is
    /// further behind reads the history from the file instead.
    pub queue_events: usize,
    /// How many of the newest events are kept in memory for all watches together.
    pub recent_events: usize,
    /// How many bytes those may have.
    pub recent_bytes: usize,
    /// Tells the time.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create: true,
            window: Duration::from_mins(5),
            window_events: 10_000,
            window_bytes: 1 << 30,
            cache_bytes: 16 << 20,
            queue_events: 128,
            recent_events: 4096,
            recent_bytes: 2 << 20,
            clock: Clock::system(),
        }
    }
}
