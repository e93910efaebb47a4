//! A transaction in words, for status displays and error messages.

use std::fmt;

use crate::{
    Moment,
    record::{Log, Phase},
};

/// What a journal says, without the steps themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Tells the transaction apart from others of the namespace.
    pub id: String,
    /// The document that it is for.
    pub source: String,
    /// When it began.
    pub created: Moment,
    /// When it is undone unless it is confirmed.
    pub deadline: Moment,
    /// How far it got.
    pub phase: Phase,
    /// How many steps it has.
    pub steps: usize,
    /// How many of them may have been carried out.
    pub sent: usize,
    /// The probes that passed before it began.
    pub probes: Vec<String>,
}

impl Summary {
    pub(crate) fn of(log: &Log<'_>) -> Self {
        Self {
            id: log.begin.id.clone().into_owned(),
            source: log.begin.source.clone().into_owned(),
            created: log.begin.created,
            deadline: log.begin.deadline,
            phase: log.phase,
            steps: log.begin.steps.len(),
            sent: log.sent,
            probes: log.begin.probes.to_vec(),
        }
    }
}

impl fmt::Display for Summary {
    /// One sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id: _, source, created, deadline, phase, steps, sent, probes: _ } = self;
        write!(f, "the change of {source}, begun {created}, ")?;
        match phase {
            Phase::Running => write!(f, "was not finished: {sent} of {steps} steps were sent"),
            Phase::Open => write!(f, "waits to be confirmed until {deadline} and is rolled back then"),
            Phase::Confirmed => f.write_str("is confirmed and being recorded"),
            Phase::Undoing => write!(f, "is being rolled back, {sent} of {steps} steps"),
            Phase::Undone => f.write_str("was rolled back"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::begin;

    #[test]
    fn a_journal_reads_as_one_sentence() {
        let log = Log { begin: begin(3), sent: 2, not_ours: [].into(), phase: Phase::Open, whole: 0 };
        let mut summary = Summary::of(&log);
        assert_eq!(
            summary.to_string(),
            "the change of site.yaml, begun 2026-03-01 12:30:05 UTC, \
             waits to be confirmed until 2026-03-01 12:31:05 UTC and is rolled back then"
        );
        summary.phase = Phase::Running;
        assert!(summary.to_string().ends_with("was not finished: 2 of 3 steps were sent"));
    }
}
