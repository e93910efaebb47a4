//! How often a node reports a host that changes by itself, such as one with a link that flaps.
//!
//! The first change after a quiet time is reported at once. What follows is reported once it has been stable, and each
//! such report makes the next one wait for longer, up to a bound: nobody learns more from a link that flaps than that
//! it does. This is about reports that nothing but the host is the reason for. Drift, failures and answers never wait.

use jiff::{SignedDuration, Timestamp};

use crate::backoff::later;

/// How long a host must be stable for the second report; it doubles with each further one.
const STABLE: SignedDuration = SignedDuration::from_secs(5);
/// The most that it grows to, and the most by which a report is late while a host never is stable.
const MOST: SignedDuration = SignedDuration::from_secs(60);
/// After so long without a report the next change is the first again.
const FORGET: SignedDuration = SignedDuration::from_mins(5);

/// When the host changed last and when that was reported last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    changed_at: Option<Timestamp>,
    /// Since when something else is reported than there is.
    late_since: Option<Timestamp>,
    reported_at: Option<Timestamp>,
    repeats: i32,
}

impl Pace {
    /// There is something else to report than a moment ago.
    pub(crate) fn changed(&mut self, now: Timestamp) {
        self.changed_at = Some(now);
        self.late_since.get_or_insert(now);
    }

    /// What there is and what is reported are the same.
    pub(crate) fn matches(&mut self) {
        self.late_since = None;
    }

    /// It was reported.
    pub(crate) fn reported(&mut self, now: Timestamp) {
        let again = self.reported_at.is_some_and(|at| later(at, FORGET) > now);
        self.repeats = if again { self.repeats.saturating_add(1) } else { 0 };
        self.reported_at = Some(now);
        self.matches();
    }

    /// When a change is to be reported.
    pub(crate) fn due(&self, now: Timestamp) -> Timestamp {
        match self.reported_at {
            Some(at) if later(at, FORGET) > now => self.stable_for(STABLE),
            _ => Timestamp::MIN,
        }
    }

    /// When a change is to be reported that is not worth a report before it has been stable for `least`.
    pub(crate) fn stable_for(&self, least: SignedDuration) -> Timestamp {
        let doubled = STABLE.checked_mul(2_i32.saturating_pow(self.repeats.unsigned_abs().min(8))).unwrap_or(MOST);
        let stable = later(self.changed_at.unwrap_or(Timestamp::MIN), doubled.clamp(least.min(MOST), MOST));
        self.late_since.map_or(stable, |since| stable.min(later(since, MOST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000 + second).unwrap()
    }

    /// How often a host is reported that goes `down` and comes back again and again, so many seconds each.
    fn reports(flaps: i64, down: i64, up: i64) -> i64 {
        let (mut pace, mut reported, mut is_down, mut count) = (Pace::default(), false, false, 0);
        for second in 0..flaps * (down + up) + 600 {
            let now_down = second < flaps * (down + up) && second % (down + up) < down;
            if now_down != is_down {
                is_down = now_down;
                pace.changed(at(second));
            }
            if is_down == reported {
                pace.matches();
            } else if pace.due(at(second)) <= at(second) {
                reported = is_down;
                pace.reported(at(second));
                count += 1;
            }
        }
        assert!(!reported, "how it ended is reported");
        count
    }

    #[test]
    fn a_change_after_a_quiet_time_is_reported_at_once() {
        let mut pace = Pace::default();
        pace.changed(at(0));
        assert!(pace.due(at(0)) <= at(0));
        pace.reported(at(0));
        pace.changed(at(1));
        assert_eq!(pace.due(at(1)), at(6));
        pace.changed(at(400));
        assert!(pace.due(at(400)) <= at(400));
    }

    #[test]
    fn a_flap_alone_is_two_reports_and_many_are_one_each_at_most() {
        assert_eq!(reports(1, 3, 3), 2);
        assert_eq!(reports(100, 1, 1), 2);
        for period in [3, 10, 20, 40, 90] {
            let count = reports(10, period, period);
            assert!(count <= 20, "{count} reports of ten flaps of {period} s");
        }
        assert!(reports(10, 20, 20) <= 10);
    }
}
