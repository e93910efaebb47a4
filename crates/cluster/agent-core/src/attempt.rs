//! How far the present desired state has got.

use jiff::{SignedDuration, Timestamp};
use netloom_plan::Difference;

use crate::{
    DesiredState, Failure, Reason, Settings,
    backoff::{later, wait},
    effect::Done,
    settings::Drift,
};

/// What the largest change takes on a slow machine.
const RENEWAL: SignedDuration = SignedDuration::from_mins(1);

/// How far the present desired state has got.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attempt {
    /// The desired state that this is about; none before there is one.
    desired: Option<DesiredState>,
    pub(crate) stage: Stage,
    /// The revision that was in place when the desired state came, as long as the host was not left torn since. One
    /// that an earlier life of the agent put there is not known: the machine may have been started again.
    before: Option<String>,
    /// Where the host is not as it was verified to be.
    pub(crate) drift: Vec<Difference>,
    /// Whether it just turned out that the last good desired state has to do for now.
    pub(crate) falls_back: bool,
    /// When drift may be repaired next.
    repair_at: Option<Timestamp>,
    /// How often it was, and when last.
    repairs: u32,
    repaired_at: Option<Timestamp>,
}

/// What became of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Stage {
    /// Nothing yet.
    #[default]
    Untried,
    /// It is being applied.
    Running {
        since: Timestamp,
        /// What came of the attempt before, to be reported until this one has ended.
        before: Option<(Failure, u32)>,
        /// When it was fulfilled before, where only a lease has come, changed or gone since.
        was: Option<(Timestamp, Done)>,
    },
    /// It is fulfilled and verified.
    Reached { at: Timestamp, done: Done },
    /// It is not.
    Failed {
        failure: Failure,
        count: u32,
        /// When it is tried again; none when it cannot succeed as it stands.
        next: Option<Timestamp>,
        /// When it was fulfilled before, where only a lease could not be brought about since.
        was: Option<(Timestamp, Done)>,
    },
}

impl Attempt {
    /// Turns to a desired state; says whether that is another one than before.
    pub(crate) fn turn_to(&mut self, desired: &DesiredState) -> bool {
        if self.desired.as_ref() == Some(desired) {
            return false;
        }
        let before = self.in_place().map(str::to_owned);
        *self = Self { desired: Some(desired.clone()), before, ..Self::default() };
        true
    }

    /// The revision that is in place as far as is known: that of the desired state once it is fulfilled, else the one
    /// before.
    pub(crate) fn in_place(&self) -> Option<&str> {
        let fulfilled = match &self.stage {
            Stage::Reached { .. } => true,
            Stage::Running { was, .. } | Stage::Failed { was, .. } => was.is_some(),
            Stage::Untried => false,
        };
        if !fulfilled {
            return self.before.as_deref();
        }
        self.desired.as_ref()?.config.as_ref().map(|config| config.revision.as_str())
    }

    /// Forgets the desired state.
    pub(crate) fn drop_desired(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn is_about(&self, desired: &DesiredState) -> bool {
        self.desired.as_ref() == Some(desired)
    }

    /// When the desired state is to be brought about (again); none when it need not be. Since `renewed`, leases are
    /// others than they were.
    pub(crate) fn due(&self, now: Timestamp, renewed: Option<Timestamp>) -> Option<Timestamp> {
        match &self.stage {
            Stage::Untried => Some(now),
            Stage::Running { .. } => None,
            Stage::Failed { next, .. } => *next,
            Stage::Reached { .. } => renewed.or(self.repair_at),
        }
    }

    pub(crate) fn begin(&mut self, now: Timestamp) {
        let repairs = self.repair_at.take().is_some();
        if repairs {
            self.repairs = self.repairs.saturating_add(1);
            self.repaired_at = Some(now);
        }
        let (before, was) = match std::mem::take(&mut self.stage) {
            Stage::Failed { failure, count, next: _, was } => (Some((failure, count)), was),
            Stage::Running { before, was, .. } => (before, was),
            Stage::Reached { at, done } if !repairs => (None, Some((at, done))),
            Stage::Untried | Stage::Reached { .. } => (None, None),
        };
        self.stage = Stage::Running { since: now, before, was };
    }

    pub(crate) fn reached(&mut self, now: Timestamp, done: Done) {
        self.drift.clear();
        self.before = None;
        self.stage = Stage::Reached { at: now, done };
    }

    /// The host was given the last good desired state instead, which is of that revision.
    pub(crate) fn returned(&mut self, revision: Option<&str>) {
        self.before = revision.map(str::to_owned);
    }

    /// It is still fulfilled, with other leases. Of what drifted nothing is known that was not before.
    pub(crate) fn renewed(&mut self, at: Timestamp, done: Done) {
        self.stage = Stage::Reached { at, done };
    }

    /// Whether no more is being applied than what leases changed.
    pub(crate) const fn renews(&self) -> bool {
        matches!(self.stage, Stage::Running { was: Some(_), .. })
    }

    pub(crate) fn failed(&mut self, now: Timestamp, failure: Failure, settings: &Settings) {
        let before = match &self.stage {
            Stage::Running { before: Some((_, count)), .. } | Stage::Failed { count, .. } => *count,
            Stage::Running { before: None, .. } | Stage::Untried | Stage::Reached { .. } => 0,
        };
        let was = match &self.stage {
            Stage::Running { was, .. } | Stage::Failed { was, .. } => *was,
            Stage::Untried | Stage::Reached { .. } => None,
        };
        let was = was.filter(|_| !failure.torn);
        if failure.torn {
            self.before = None;
        }
        let count = before.saturating_add(1);
        self.falls_back = failure.reason == Reason::OutOfReach;
        let most = if self.falls_back { settings.reconnect } else { settings.retry_most };
        let next = later(now, wait(settings.retry_first, most, count, settings.seed));
        self.stage = Stage::Failed { failure, count, next: Some(next), was };
    }

    /// The desired state cannot be read, so trying again is of no use.
    pub(crate) fn unreadable(&mut self, failure: Failure) {
        self.stage = Stage::Failed { failure, count: 1, next: None, was: None };
    }

    /// Takes note of where the host differs from the desired state; says whether that is news.
    pub(crate) fn drifted(&mut self, now: Timestamp, drift: Vec<Difference>, then: Drift, settings: &Settings) -> bool {
        if drift.is_empty() {
            let long_ago = |at: Timestamp| later(at, settings.retry_most) < now;
            if self.repaired_at.is_none_or(long_ago) {
                self.repairs = 0;
            }
            self.repair_at = None;
        } else if then == Drift::Repair && self.repair_at.is_none() {
            // Who fights us gets his way for longer each time; the first time is free.
            let wait = if self.repairs == 0 {
                jiff::SignedDuration::ZERO
            } else {
                wait(settings.retry_first, settings.retry_most, self.repairs, settings.seed)
            };
            self.repair_at = Some(later(now, wait));
        }
        let news = drift != self.drift && !drift.is_empty();
        self.drift = drift;
        news
    }

    /// When it is reported that the desired state is being applied; none when nobody works on it. Where only a lease is
    /// renewed that is nobody's concern, unless something is wrong with the host.
    pub(crate) fn slow_at(&self, settings: &Settings) -> Option<Timestamp> {
        let Stage::Running { since, was, .. } = &self.stage else { return None };
        let progress_after = if was.is_some() { settings.progress_after.max(RENEWAL) } else { settings.progress_after };
        Some(later(*since, progress_after))
    }

    /// The failure that stands, with its count and the time of the next try.
    pub(crate) fn failure(&self) -> Option<(&Failure, u32, Option<Timestamp>)> {
        match &self.stage {
            Stage::Failed { failure, count, next, was: _ } => Some((failure, *count, *next)),
            Stage::Running { before: Some((failure, count)), since, was: _ } => Some((failure, *count, Some(*since))),
            Stage::Running { before: None, .. } | Stage::Untried | Stage::Reached { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewal_that_takes_its_time_is_not_reported_to_be_at_work() {
        let settings = Settings::of("n");
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let mut attempt = Attempt::default();
        assert_eq!(attempt.slow_at(&settings), None);
        attempt.begin(at(10));
        assert_eq!(attempt.slow_at(&settings), Some(at(11)));
        attempt.reached(at(20), Done { changed: true, took: SignedDuration::ZERO });
        assert_eq!(attempt.due(at(30), Some(at(30))), Some(at(30)));
        attempt.begin(at(30));
        assert_eq!(attempt.slow_at(&settings), Some(at(90)));
    }
}
