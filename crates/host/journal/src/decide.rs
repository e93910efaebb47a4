//! What is to be done about a journal that is found. Pure.

use crate::{
    Incarnation, Moment,
    error::Cause,
    record::{Log, Phase},
};

/// What is to be done about a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogDecision {
    /// No step was sent, or all is taken back already: the file goes.
    Drop,
    /// It was confirmed: the ownership record is written, then the file goes.
    Finish,
    /// It waits for a person and still may.
    StayOpen,
    /// Its steps are taken back.
    Undo(Cause),
    /// It changed another network namespace than this one, which may still be there.
    Elsewhere,
    /// The kernel that it changed is gone: only files are put back.
    AfterReboot,
}

/// Decides about a journal that was found at `now` in the life `incarnation` of the kernel.
pub(crate) fn decide(log: &Log<'_>, incarnation: &Incarnation, now: Moment) -> LogDecision {
    match log.phase {
        Phase::Confirmed => LogDecision::Finish,
        Phase::Undone => LogDecision::Drop,
        Phase::Running | Phase::Open | Phase::Undoing if log.begin.incarnation.is_beside(incarnation) => {
            LogDecision::Elsewhere
        }
        // What was sent may not have reached the disk when the power went, so it is not asked here.
        Phase::Running | Phase::Open | Phase::Undoing if *log.begin.incarnation != *incarnation => {
            LogDecision::AfterReboot
        }
        Phase::Running | Phase::Undoing if log.sent == 0 => LogDecision::Drop,
        Phase::Open if now.boot < log.begin.deadline.boot => LogDecision::StayOpen,
        Phase::Open => LogDecision::Undo(Cause::Deadline(log.begin.deadline)),
        Phase::Running | Phase::Undoing => LogDecision::Undo(Cause::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use super::*;
    use crate::record::tests::begin;

    #[test]
    fn a_change_of_another_namespace_is_not_taken_for_one_before_a_restart() {
        let here = Incarnation::named("boot-1 net:4:77");
        for phase in [Phase::Running, Phase::Open, Phase::Undoing] {
            let mut begin = begin(2);
            begin.incarnation = std::borrow::Cow::Owned(Incarnation::named("boot-1 net:4:78"));
            let now = begin.created;
            let log = Log { begin, sent: 2, not_ours: BTreeSet::new(), phase, whole: 0 };
            assert_eq!(decide(&log, &here, now), LogDecision::Elsewhere, "{phase:?}");
        }
    }

    #[test]
    fn every_phase_has_its_verdict() {
        let deadline = begin(2).deadline;
        let early = Moment { boot: deadline.boot.saturating_sub(Duration::from_millis(1)), wall: u64::MAX };
        let (same, other) = (Incarnation::named("boot-1"), Incarnation::named("boot-2"));
        let interrupted = LogDecision::Undo(Cause::Interrupted);
        for (phase, sent, life, now, verdict) in [
            (Phase::Running, 0, &same, early, LogDecision::Drop),
            (Phase::Running, 1, &same, early, interrupted.clone()),
            (Phase::Running, 0, &other, early, LogDecision::AfterReboot),
            (Phase::Undoing, 2, &same, early, interrupted),
            (Phase::Undoing, 0, &same, early, LogDecision::Drop),
            (Phase::Undoing, 2, &other, early, LogDecision::AfterReboot),
            (Phase::Open, 2, &same, early, LogDecision::StayOpen),
            (Phase::Open, 2, &same, deadline, LogDecision::Undo(Cause::Deadline(deadline))),
            (Phase::Open, 2, &other, early, LogDecision::AfterReboot),
            (Phase::Confirmed, 2, &same, deadline, LogDecision::Finish),
            (Phase::Confirmed, 2, &other, early, LogDecision::Finish),
            (Phase::Undone, 2, &same, early, LogDecision::Drop),
            (Phase::Undone, 2, &other, early, LogDecision::Drop),
        ] {
            let log = Log { begin: begin(2), sent, not_ours: BTreeSet::new(), phase, whole: 0 };
            assert_eq!(decide(&log, life, now), verdict, "{phase:?} with {sent} sent");
        }
    }
}
