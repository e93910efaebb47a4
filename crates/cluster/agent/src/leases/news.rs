//! What was not sent to the agent yet of the links, and how long that may wait.
//!
//! Links that ask together get their leases one soon after the other, and each word to the agent is a change of the host.
//! So a lease waits while other links are being checked for somebody else who has their address: that is over within
//! moments. Where nobody is, nothing waits.

use std::time::Duration;

/// How long a lease waits at most, however many links there are.
const MOST: Duration = Duration::from_secs(1);

/// What was not reported yet.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Whether it has to be reported at once: an order is not answered, or a link lost what it had.
    urgent: bool,
    /// Since when a link has a lease that the agent does not know of.
    gained: Option<Duration>,
}

impl News {
    /// Nobody may wait for this.
    pub(super) fn is_urgent(&mut self) {
        self.urgent = true;
    }

    /// A link that had nothing has a lease now.
    pub(super) fn gains(&mut self, now: Duration) {
        self.gained.get_or_insert(now);
    }

    /// Whether it is time to tell. `others_follow` while links are being checked.
    pub(super) fn is_due(&self, others_follow: bool, now: Duration) -> bool {
        let waited = |since: Duration| !others_follow || since + MOST <= now;
        self.urgent || self.gained.is_some_and(waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    #[test]
    fn a_lease_waits_for_those_that_come_with_it_and_not_for_long() {
        let mut news = News::default();
        assert!(!news.is_due(false, NOW), "there is none");
        news.gains(NOW);
        assert!(news.is_due(false, NOW), "nobody else is on the way");
        assert!(!news.is_due(true, NOW));
        news.gains(NOW + MOST / 2);
        assert!(!news.is_due(true, NOW + MOST / 2));
        assert!(news.is_due(true, NOW + MOST), "the first one has waited long enough");
    }

    #[test]
    fn what_is_lost_or_asked_for_waits_for_nobody() {
        let mut news = News::default();
        news.gains(NOW);
        news.is_urgent();
        assert!(news.is_due(true, NOW));
    }
}
