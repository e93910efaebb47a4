//! The waits around a change, with their defaults and bounds.
//!
//! Flags of the command and of the agent fill a whole [`ProbeTiming`]; a `RolloutPolicy` says some of the waits
//! ([`ProbeTimes`]), which hold in the place of the agent's. What is stated once as text is never out of bounds
//! afterwards.

use std::{fmt, ops::RangeInclusive, time::Duration};

/// One of the waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// For probes before the change: what does not pass by then does not count after it.
    Before,
    /// For the carrier of the links that the change touched.
    Carrier,
    /// For all probes to pass, from when the links have carrier.
    Window,
    /// For a probe that failed to pass after all.
    Retry,
    /// For a server that refuses connections while everything else is reached.
    Restart,
}

impl Wait {
    /// Every wait.
    pub const ALL: [Self; 5] = [Self::Before, Self::Carrier, Self::Window, Self::Retry, Self::Restart];

    /// Its name in annotations.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Carrier => "carrier",
            Self::Window => "window",
            Self::Retry => "retry",
            Self::Restart => "restart",
        }
    }

    /// How many seconds it is when nobody says.
    pub const fn usual(self) -> u32 {
        match self {
            // After the change, with the undo behind it, the host is back within five seconds of the first failed probe.
            Self::Before | Self::Retry => 3,
            // LACP in its slow rate, STP and a card that resets its link each take up to 30 seconds.
            Self::Carrier => 45,
            Self::Window => 10,
            // A static pod of kube-apiserver is back in less.
            Self::Restart => 60,
        }
    }

    /// The fewest seconds that it may be: 0 where the wait can be left out.
    pub const fn least(self) -> u32 {
        match self {
            Self::Before | Self::Window => 1,
            Self::Carrier | Self::Retry | Self::Restart => 0,
        }
    }

    /// The most seconds that it may be.
    pub const fn most(self) -> u32 {
        match self {
            Self::Before => 60,
            Self::Carrier | Self::Window | Self::Retry => 600,
            Self::Restart => 3600,
        }
    }

    /// The seconds that it may be, for readers of flags.
    pub fn range(self) -> RangeInclusive<i64> {
        self.least().into()..=self.most().into()
    }
}

/// How long a change is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeTiming {
    /// [`Wait::Before`]
    pub before: Duration,
    /// [`Wait::Carrier`]
    pub carrier: Duration,
    /// [`Wait::Window`]
    pub window: Duration,
    /// [`Wait::Retry`]
    pub retry: Duration,
    /// [`Wait::Restart`]
    pub restart: Duration,
}

impl Default for ProbeTiming {
    fn default() -> Self {
        Self::of(Wait::usual)
    }
}

impl ProbeTiming {
    fn of(seconds: impl Fn(Wait) -> u32) -> Self {
        let wait = |wait| Duration::from_secs(seconds(wait).into());
        Self {
            before: wait(Wait::Before),
            carrier: wait(Wait::Carrier),
            window: wait(Wait::Window),
            retry: wait(Wait::Retry),
            restart: wait(Wait::Restart),
        }
    }

    /// The same with what somebody reported in the place of it.
    #[must_use]
    pub fn with(self, given: ProbeTimes) -> Self {
        let or = |wait, otherwise: Duration| given.get(wait).map_or(otherwise, |s| Duration::from_secs(s.into()));
        Self {
            before: or(Wait::Before, self.before),
            carrier: or(Wait::Carrier, self.carrier),
            window: or(Wait::Window, self.window),
            retry: or(Wait::Retry, self.retry),
            restart: or(Wait::Restart, self.restart),
        }
    }

    /// The longest that a change is watched after its last step. What undoes a change that nobody confirms must
    /// not do so before.
    pub fn longest(self) -> Duration {
        // A window opens for the carrier, and again for a server that was away; a link may lose its carrier in it.
        self.carrier + self.restart + 3 * self.window
    }

    /// The same with the probes before it: for so long a node may be silent about a change that is good.
    pub fn watched(self) -> Duration {
        self.before + self.longest()
    }
}

/// The waits that somebody reported, in seconds within their bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProbeTimes([Option<u32>; Wait::ALL.len()]);

impl ProbeTimes {
    /// The same with this wait; seconds beyond its bounds are taken for the nearest bound.
    #[must_use]
    pub fn and(mut self, wait: Wait, seconds: u32) -> Self {
        self.0[wait as usize] = Some(seconds.clamp(wait.least(), wait.most()));
        self
    }

    /// What was given of a wait.
    pub fn get(&self, wait: Wait) -> Option<u32> {
        self.0[wait as usize]
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads what [`Display`](fmt::Display) wrote. A word of a later version is passed over: the others still hold.
    pub fn read(text: &str) -> Self {
        let given = text.split(' ').filter_map(|part| {
            let (word, seconds) = part.split_once('=')?;
            let wait = Wait::ALL.into_iter().find(|wait| wait.word() == word)?;
            Some((wait, seconds.parse().ok()?))
        });
        given.fold(Self::default(), |times, (wait, seconds)| times.and(wait, seconds))
    }
}

impl fmt::Display for ProbeTimes {
    /// As in `carrier=90 restart=120`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = Wait::ALL.into_iter().filter_map(|wait| Some((wait, self.get(wait)?)));
        for (number, (wait, seconds)) in given.enumerate() {
            let space = if number > 0 { " " } else { "" };
            write!(f, "{space}{}={seconds}", wait.word())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_is_within_the_bounds() {
        for wait in Wait::ALL {
            assert!((wait.least()..=wait.most()).contains(&wait.usual()), "{wait:?}");
        }
    }

    #[test]
    fn a_node_is_silent_from_the_first_probe_to_the_last() {
        let timing = ProbeTiming::default();
        assert_eq!((timing.longest().as_secs(), timing.watched().as_secs()), (135, 138));
    }

    #[test]
    fn what_was_reported_is_read_as_it_was_written() {
        let given = ProbeTimes::default().and(Wait::Carrier, 90).and(Wait::Restart, 120);
        assert_eq!(given.to_string(), "carrier=90 restart=120");
        assert_eq!(ProbeTimes::read(&given.to_string()), given);
        assert!(ProbeTimes::read("").is_empty());
    }

    #[test]
    fn a_word_that_is_not_known_costs_only_itself() {
        let read = ProbeTimes::read("warmth=3 carrier=20 window=many =4 before");
        assert_eq!(read, ProbeTimes::default().and(Wait::Carrier, 20));
        assert_eq!(ProbeTimes::read("window=0 before=4000"), ProbeTimes::read("window=1 before=60"));
    }

    #[test]
    fn a_policy_says_some_and_the_agent_the_others() {
        let agent = ProbeTiming { retry: Duration::from_secs(30), ..ProbeTiming::default() };
        let timing = agent.with(ProbeTimes::default().and(Wait::Carrier, 0));
        assert_eq!((timing.carrier, timing.retry), (Duration::ZERO, Duration::from_secs(30)));
        assert_eq!(timing.window, ProbeTiming::default().window);
    }
}
