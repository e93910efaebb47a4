//! One question and its repetitions: numbers and times.

use std::time::Duration;

use crate::random::Random;

/// The first repetition comes after this time; each next one after double the time before.
const FIRST: Duration = Duration::from_secs(4);
/// But never after more than this.
const MOST: Duration = Duration::from_secs(64);
/// Each is spread by this much either way, so that not all machines ask at the same moment.
const SPREAD: Duration = Duration::from_secs(1);
/// Renewals are not repeated more often.
const LEAST_IN_LEASE: Duration = Duration::from_mins(1);
/// Nor more seldom, however long the lease is: a server that is back shall be noticed.
const MOST_IN_LEASE: Duration = Duration::from_hours(24);
/// So long after a renewal was sent users are notified that there is no answer, however long it is until the next one:
/// a server that is there answers within seconds.
const REPORT_AFTER: Duration = Duration::from_mins(1);

/// A question that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exchange {
    /// What ties answers to it.
    pub(super) xid: u32,
    /// Since when an address is asked for.
    pub(super) began: Duration,
    /// When this was first sent: what is given counts from here.
    pub(super) sent: Duration,
    /// How many times it was sent.
    pub(super) tries: u32,
    /// When it is sent again.
    pub(super) again: Duration,
    /// What it reported about how long an address has been asked for.
    pub(super) secs: u16,
    /// When users are notified that there is no answer; none when they were, or are reported by the number of tries.
    pub(super) tell: Option<Duration>,
}

impl Exchange {
    /// A new question, about to be sent.
    pub(super) fn new(random: &mut Random, at: Duration) -> Self {
        let again = at + wait(1, random);
        Self { xid: random.xid(), began: at, sent: at, tries: 1, again, secs: 0, tell: None }
    }

    /// The same question once more.
    pub(super) fn repeated(mut self, random: &mut Random, at: Duration) -> Self {
        self.tries += 1;
        self.again = at + wait(self.tries, random);
        self
    }

    /// The same question, which now says for how long it has been asked.
    pub(super) fn counted(mut self, at: Duration) -> Self {
        self.secs = u16::try_from(at.saturating_sub(self.began).as_secs()).unwrap_or(u16::MAX);
        self
    }

    /// A question within a lease: a new one each time, so that it is known which of them is answered. It
    /// is asked again after half of the time that is left until `end`, if there is one.
    pub(super) fn within_lease(before: Option<Self>, random: &mut Random, at: Duration, end: Option<Duration>) -> Self {
        let began = before.map_or(at, |before| before.began);
        let tries = before.map_or(1, |before| before.tries.saturating_add(1));
        let half = end.map_or(MOST_IN_LEASE, |end| end.saturating_sub(at) / 2);
        let again = at + half.clamp(LEAST_IN_LEASE, MOST_IN_LEASE);
        Self { xid: random.xid(), began, sent: at, tries, again, secs: 0, tell: Some(at + REPORT_AFTER) }.counted(at)
    }

    /// When there is something to do about a question within a lease.
    pub(super) fn due(&self) -> Duration {
        self.tell.map_or(self.again, |tell| tell.min(self.again))
    }
}

/// The time after the try of this number.
fn wait(tries: u32, random: &mut Random) -> Duration {
    let doubled = FIRST.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1).min(8))).min(MOST);
    random.between(doubled.saturating_sub(SPREAD), doubled + SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_sixty_four_seconds_and_go_on() {
        let mut random = Random::new(1);
        for (tries, nominal) in [(1, 4), (2, 8), (3, 16), (4, 32), (5, 64), (6, 64), (u32::MAX, 64)] {
            let waits: Vec<_> = (0..100).map(|_| wait(tries, &mut random).as_millis()).collect();
            assert!(waits.iter().all(|wait| ((nominal - 1) * 1000..=(nominal + 1) * 1000).contains(wait)));
            assert!(waits.iter().any(|wait| *wait != waits[0]), "all machines would ask at once");
        }
    }

    #[test]
    fn renewals_halve_what_is_left_but_not_below_a_minute() {
        let mut random = Random::new(1);
        let secs = Duration::from_secs;
        let one = Exchange::within_lease(None, &mut random, secs(1000), Some(secs(2000)));
        assert_eq!((one.again, one.secs, one.tries), (secs(1500), 0, 1));
        let two = Exchange::within_lease(Some(one), &mut random, secs(1500), Some(secs(2000)));
        assert_eq!((two.again, two.secs, two.sent, two.tries), (secs(1750), 500, secs(1500), 2));
        assert_ne!(one.xid, two.xid);
        let last = Exchange::within_lease(Some(two), &mut random, secs(1950), Some(secs(2000)));
        assert_eq!(last.again, secs(2010));
        assert_eq!(one.counted(secs(1_000_000)).secs, u16::MAX);
        for end in [Some(secs(1_000_000)), None] {
            assert_eq!(Exchange::within_lease(None, &mut random, secs(0), end).again, secs(86400), "once a day");
        }
    }
}
