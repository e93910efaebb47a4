//! From the last step of a change to the verdict about it.
//!
//! ```text
//! look at links ─► some lack carrier ─► wait for the host to tell of a change, look again
//!       │
//!       ▼ all have it, or their time is over: the window opens
//! run probes ─► all pass ─► passed
//!       ├─► only servers refuse connections ─► they restart: wait, run all again
//!       └─► something is not reached ─► look at links once more, try again for a moment ─► failed
//! ```
//!
//! Who drives a course tells it the time, which links lack carrier and what the probes returned, and does what
//! comes back. Times are those since any one moment.

use std::time::Duration;

use netloom_types::IfName;

use crate::ProbeTiming;

/// How long to wait between two attempts at something that is not reached.
const BETWEEN: Duration = Duration::from_millis(250);

/// How long to wait between two attempts at a server that refuses: no event tells when it is back.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(1);

/// The most looks and rounds of probes; a bound for a clock that stands still. More than fit into the longest waits.
const ROUNDS: usize = 10_000;

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    /// It passed.
    Passed,
    /// It failed, for this reason.
    Failed(String),
    /// The machine that was asked answered that nobody listens there. So packets reach it and come back.
    Refused(String),
    /// There is nothing to probe, such as a gateway on a host without one.
    NotApplicable,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Look at the links, then [`Course::looked`].
    Look,
    /// Wait until the host tells of a change, at most until then; then look, and [`Course::looked`].
    Carrier {
        /// The links that have none.
        missing: Vec<IfName>,
        /// When they are waited for no longer.
        until: Duration,
    },
    /// Run these probes within `limit`, then [`Course::answered`].
    Run {
        /// Their names.
        names: Vec<String>,
        /// How long they may take.
        limit: Duration,
    },
    /// Wait until then, then [`Course::waited`].
    Pause {
        /// The moment.
        until: Duration,
        /// The probe that the next round is for.
        name: String,
        /// What it reported.
        pause_reason: PauseReason,
    },
    /// The verdict.
    End(Ending),
}

/// Why a round of probes did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseReason {
    /// It is not reached, for this reason.
    Unreached(String),
    /// It refuses connections.
    Refused,
}

/// The verdict about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Everything that was reached before is.
    Passed,
    /// Something is not reached any more.
    Failed {
        /// The probe.
        name: String,
        /// What it reported.
        why: String,
    },
    /// A server refused connections for as long as one is waited for, while everything else was reached. That says
    /// nothing about the change.
    Away {
        /// The probe.
        name: String,
        /// How long it refused.
        waited: Duration,
    },
}

/// The way of one change to its verdict.
#[derive(Debug, Clone)]
pub struct Course {
    timing: ProbeTiming,
    /// Every probe that passed before.
    names: Vec<String>,
    /// Those that the next round runs.
    asked: Vec<String>,
    /// Whether links can be missing at all.
    looks: bool,
    /// When links are waited for no longer.
    carrier_until: Duration,
    /// When the window closes; none before it is open.
    window_until: Option<Duration>,
    /// When what is not reached is given up.
    retry_until: Option<Duration>,
    /// Since when servers refuse.
    refused_since: Option<Duration>,
    /// The first failure of the last round.
    failure: Option<(String, String)>,
    rounds: usize,
}

impl Course {
    /// The course of a change whose last step was carried out at `now`. These probes passed before it; without
    /// `looks`, it touched no link that could lose its carrier.
    pub fn new(timing: ProbeTiming, names: Vec<String>, looks: bool, now: Duration) -> Self {
        Self {
            asked: names.clone(),
            names,
            looks,
            carrier_until: now + timing.carrier,
            window_until: None,
            retry_until: None,
            refused_since: None,
            failure: None,
            rounds: 0,
            timing,
        }
    }

    /// What to do first.
    pub fn begin(&mut self, now: Duration) -> Next {
        if self.names.is_empty() {
            Next::End(Ending::Passed)
        } else if self.looks {
            Next::Look
        } else {
            self.open(now)
        }
    }

    /// These links have no carrier and had it before.
    pub fn looked(&mut self, now: Duration, missing: Vec<IfName>) -> Next {
        self.rounds += 1;
        if !missing.is_empty() && now < self.carrier_until && self.rounds < ROUNDS {
            // What failed meanwhile failed for that.
            (self.window_until, self.retry_until, self.failure) = (None, None, None);
            return Next::Carrier { missing, until: self.carrier_until };
        }
        match (self.window_until, self.failure.take()) {
            (Some(_), Some((name, why))) if self.is_over(now) => Next::End(Ending::Failed { name, why }),
            (Some(_), Some(failure)) => self.pause(now, failure),
            (None, _) | (Some(_), None) => self.open(now),
        }
    }

    /// What the probes of the last round reported, in their order.
    pub fn answered(&mut self, now: Duration, verdicts: Vec<ProbeResult>) -> Next {
        self.rounds += 1;
        let asked = std::mem::take(&mut self.asked);
        let (mut failed, mut refused) = (Vec::new(), Vec::new());
        for (name, verdict) in asked.into_iter().zip(verdicts) {
            match verdict {
                ProbeResult::Passed => {}
                ProbeResult::Failed(why) => failed.push((name, why)),
                ProbeResult::NotApplicable => failed.push((name, "there is nothing to probe any more".to_owned())),
                ProbeResult::Refused(why) => refused.push((name, why)),
            }
        }
        match (failed.first(), refused.first()) {
            (None, None) => Next::End(Ending::Passed),
            (None, Some((name, why))) => self.refused(now, name, why),
            (Some(first), _) => {
                let failure = first.clone();
                self.asked = failed.into_iter().chain(refused).map(|(name, _)| name).collect();
                self.failed(now, failure)
            }
        }
    }

    /// The pause is over.
    pub fn waited(&mut self, now: Duration) -> Next {
        Next::Run { names: self.asked.clone(), limit: self.until(now).saturating_sub(now) }
    }

    /// Something is not reached. That a link has lost its carrier may be seen only now, so it is looked for at the first
    /// failure and before the last word.
    fn failed(&mut self, now: Duration, failure: (String, String)) -> Next {
        let first_time = self.retry_until.is_none();
        self.retry_until.get_or_insert(now + self.timing.retry);
        let over = self.is_over(now);
        if self.looks && (first_time || over) {
            self.failure = Some(failure);
            Next::Look
        } else if over {
            let (name, why) = failure;
            Next::End(Ending::Failed { name, why })
        } else {
            self.pause(now, failure)
        }
    }

    /// Servers refuse while all else is reached. All of it must be, at the end of the wait too, so all of it is asked again.
    fn refused(&mut self, now: Duration, name: &str, why: &str) -> Next {
        let since = *self.refused_since.get_or_insert(now);
        let until = since + self.timing.restart;
        (self.retry_until, self.window_until) = (None, Some(now + self.timing.window));
        self.asked.clone_from(&self.names);
        if self.timing.restart.is_zero() {
            return Next::End(Ending::Failed { name: name.to_owned(), why: why.to_owned() });
        }
        if now >= until || self.rounds >= ROUNDS {
            return Next::End(Ending::Away { name: name.to_owned(), waited: now.saturating_sub(since) });
        }
        Next::Pause {
            until: until.min(now + BETWEEN_REFUSALS),
            name: name.to_owned(),
            pause_reason: PauseReason::Refused,
        }
    }

    fn open(&mut self, now: Duration) -> Next {
        self.window_until = Some(now + self.timing.window);
        self.asked.clone_from(&self.names);
        Next::Run { names: self.asked.clone(), limit: self.timing.window }
    }

    fn pause(&self, now: Duration, (name, why): (String, String)) -> Next {
        Next::Pause { until: self.until(now).min(now + BETWEEN), name, pause_reason: PauseReason::Unreached(why) }
    }

    /// When the probes must have passed.
    fn until(&self, now: Duration) -> Duration {
        let window = self.window_until.unwrap_or(now);
        self.retry_until.map_or(window, |retry| retry.min(window))
    }

    fn is_over(&self, now: Duration) -> bool {
        now >= self.until(now) || self.rounds >= ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Drives a course in a world that is a function of the time, and gives its end and when that was.
    fn drive(
        timing: ProbeTiming,
        missing: impl Fn(Duration) -> Vec<IfName>,
        answer: impl Fn(&str, Duration) -> ProbeResult,
    ) -> (Ending, Duration) {
        let mut now = Duration::ZERO;
        let mut course = Course::new(timing, vec!["gateway".to_owned(), "api".to_owned()], true, now);
        let mut next = course.begin(now);
        loop {
            next = match next {
                Next::Look => course.looked(now, missing(now)),
                Next::Carrier { until, .. } => {
                    // The host tells of changes at whole seconds.
                    now = until.min(now + SECOND);
                    course.looked(now, missing(now))
                }
                Next::Run { names, limit } => {
                    let verdicts: Vec<ProbeResult> = names.iter().map(|name| answer(name, now)).collect();
                    if verdicts.iter().any(|verdict| matches!(verdict, ProbeResult::Failed(_))) {
                        now += limit.min(SECOND);
                    }
                    course.answered(now, verdicts)
                }
                Next::Pause { until, .. } => {
                    now = until;
                    course.waited(now)
                }
                Next::End(ending) => return (ending, now),
            };
        }
    }

    fn link() -> Vec<IfName> {
        vec!["eth0".parse().unwrap()]
    }

    fn no() -> ProbeResult {
        ProbeResult::Failed("no answer".to_owned())
    }

    fn failed(name: &str) -> Ending {
        Ending::Failed { name: name.to_owned(), why: "no answer".to_owned() }
    }

    #[test]
    fn a_carrier_that_comes_after_twenty_seconds_is_waited_for() {
        let at = 20 * SECOND;
        let missing = |now| if now < at { link() } else { Vec::new() };
        let answer = |_: &str, now| if now < at { no() } else { ProbeResult::Passed };
        assert_eq!(drive(ProbeTiming::default(), missing, answer), (Ending::Passed, at));
    }

    #[test]
    fn a_carrier_that_goes_a_moment_after_the_change_is_waited_for_too() {
        let (gone, back) = (SECOND / 2, 12 * SECOND);
        let away = move |now| (gone..back).contains(&now) || now == Duration::ZERO;
        // The first look finds it there still; packets are lost already.
        let missing = move |now: Duration| if now > Duration::ZERO && away(now) { link() } else { Vec::new() };
        let answer = move |_: &str, now| if away(now) { no() } else { ProbeResult::Passed };
        assert_eq!(drive(ProbeTiming::default(), missing, answer), (Ending::Passed, back));
    }

    #[test]
    fn a_carrier_that_never_comes_ends_the_wait_and_the_probes_decide() {
        let (ending, at) = drive(ProbeTiming::default(), |_| link(), |_, _| no());
        assert_eq!(ending, failed("gateway"));
        assert!(at >= 45 * SECOND && at <= 50 * SECOND, "{at:?}");
        let (ending, at) = drive(ProbeTiming::default(), |_| link(), |_, _| ProbeResult::Passed);
        assert_eq!((ending, at), (Ending::Passed, 45 * SECOND));
    }

    #[test]
    fn what_is_not_reached_with_carrier_is_given_up_in_time() {
        let (ending, at) = drive(ProbeTiming::default(), |_| Vec::new(), |_, _| no());
        assert_eq!(ending, failed("gateway"));
        assert!(at <= 5 * SECOND, "{at:?}");
    }

    fn refusing(until: Duration) -> impl Fn(&str, Duration) -> ProbeResult {
        move |name, now| match name {
            "api" if now < until => ProbeResult::Refused("connection refused".to_owned()),
            _ => ProbeResult::Passed,
        }
    }

    #[test]
    fn a_server_that_is_away_for_fifteen_seconds_is_waited_for() {
        let away = 15 * SECOND;
        assert_eq!(drive(ProbeTiming::default(), |_| Vec::new(), refusing(away)), (Ending::Passed, away));
    }

    #[test]
    fn a_server_that_stays_away_says_nothing_about_the_change() {
        let (ending, at) = drive(ProbeTiming::default(), |_| Vec::new(), refusing(Duration::MAX));
        assert_eq!(ending, Ending::Away { name: "api".to_owned(), waited: 60 * SECOND });
        assert_eq!(at, 60 * SECOND);
        let off = ProbeTiming { restart: Duration::ZERO, ..ProbeTiming::default() };
        let (ending, at) = drive(off, |_| Vec::new(), refusing(Duration::MAX));
        assert!(matches!(ending, Ending::Failed { .. }) && at <= 5 * SECOND, "{ending:?} after {at:?}");
    }

    #[test]
    fn a_gateway_that_goes_while_a_server_is_away_fails_the_change_in_time() {
        let gone = 10 * SECOND;
        let answer = |name: &str, now| match name {
            "gateway" if now >= gone => no(),
            "gateway" => ProbeResult::Passed,
            _ => ProbeResult::Refused("connection refused".to_owned()),
        };
        let (ending, at) = drive(ProbeTiming::default(), |_| Vec::new(), answer);
        assert_eq!(ending, failed("gateway"));
        assert!(at <= gone + 5 * SECOND, "{at:?}");
    }
}
