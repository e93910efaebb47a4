//! When a burst of events is over: pure, time is a value.

use std::time::Duration;

/// Turns many events into one: due when none came for the quiet time, or when the first one is as old
/// as the longest wait.
///
/// Times are distances from any fixed moment, the same for all calls.
#[derive(Debug, Clone, Copy)]
pub struct Debounce {
    quiet: Duration,
    at_most: Duration,
    /// The times of the first and the last event that were not taken yet.
    burst: Option<(Duration, Duration)>,
}

impl Debounce {
    /// Quiet for a fifth of a second, at most one second: a person sees the change at once, and a
    /// thousand links that come up are one change.
    pub const fn usual() -> Self {
        Self::new(Duration::from_millis(200), Duration::from_secs(1))
    }

    /// With these times.
    pub const fn new(quiet: Duration, at_most: Duration) -> Self {
        Self { quiet, at_most, burst: None }
    }

    /// Notes an event.
    pub fn event(&mut self, now: Duration) {
        let first = self.burst.map_or(now, |(first, _)| first);
        self.burst = Some((first, now));
    }

    /// When the burst will be over if nothing more comes; `None` when there is none.
    pub fn due(&self) -> Option<Duration> {
        self.burst.map(|(first, last)| (last + self.quiet).min(first + self.at_most))
    }

    /// Whether a burst is over; if so, it is forgotten.
    pub fn take(&mut self, now: Duration) -> bool {
        let over = self.due().is_some_and(|due| due <= now);
        if over {
            self.burst = None;
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn nothing_is_due_without_an_event() {
        assert!(!Debounce::usual().take(ms(10_000)));
    }

    #[test]
    fn a_single_event_is_due_after_the_quiet_time() {
        let mut debounce = Debounce::usual();
        debounce.event(ms(50));
        assert!(!debounce.take(ms(249)));
        assert!(debounce.take(ms(250)));
        assert!(!debounce.take(ms(9999)));
    }

    #[test]
    fn events_that_never_stop_are_due_after_the_longest_wait() {
        let mut debounce = Debounce::usual();
        for n in 0..10 {
            debounce.event(ms(n * 100));
            assert!(!debounce.take(ms(n * 100)));
        }
        debounce.event(ms(1000));
        assert!(debounce.take(ms(1000)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// However events fall, each is taken no later than the longest wait after it.
        #[test]
        fn no_event_waits_longer_than_allowed(gaps in prop::collection::vec(0u64..400, 1..40)) {
            let mut debounce = Debounce::usual();
            let mut now = 0;
            for gap in gaps {
                let next = now + gap;
                if let Some(due) = debounce.due().filter(|due| *due <= ms(next)) {
                    prop_assert!(debounce.take(due));
                }
                debounce.event(ms(next));
                prop_assert!(debounce.due().is_some_and(|due| due <= ms(next + 200)));
                now = next;
            }
        }
    }
}
