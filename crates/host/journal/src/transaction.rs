//! The transaction itself: one turn at a host.
//!
//! ```text
//! recover → prepare (observe, plan) → run: probe → journal → steps → read back → probe → confirm
//!                                                                └── any failure → undo → read back
//! ```
//!
//! Invariant: from the first step until the end of the transaction, a journal is on disk from which
//! any later turn can put the host back, whatever became of this process.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use netloom_model::{Engine, HostState, Observed, Ownership, Scope, Step, StepError};
use netloom_plan::{Options, Planned, plan};
use netloom_probing::{ProbeTiming, Touched};

use crate::{
    Clock, Error, Incarnation, Moment, Probes, Store, Summary, UndoReport, Unreached,
    decide::{LogDecision, decide},
    error::{Cause, Leftover},
    executor::{self, Executor},
    lock::Lock,
    probe::{self, Judged},
    record::{Begin, Log, Phase, Reading, Record},
    regained,
    store::Journal,
    undo::Undo,
};

/// How many steps are sent to the kernel at once, unless set otherwise: enough to fill a socket's
/// buffer, few enough that a refusal is noticed before much more was done.
pub const BATCH: usize = 256;

/// What is wanted, and how carefully.
#[derive(Debug)]
pub struct Request<'a> {
    /// The desired state.
    pub desired: &'a HostState,
    /// The document that it came from, for people.
    pub source: &'a str,
    /// What the plan may do.
    pub options: Options,
    /// How much of the host is read.
    pub scope: Scope,
    /// Whether the host is read back afterwards; without it a step that worked is believed.
    pub verify: bool,
    /// Whether success confirms the change; otherwise it stays open for a person until the deadline.
    pub confirm: bool,
    /// When the change is undone unless it is confirmed, from its first step on.
    pub timeout: Duration,
    /// How long the change is watched before it is kept.
    pub timing: ProbeTiming,
    /// Set by somebody else to have the change undone.
    pub stop: Option<&'a AtomicBool>,
    /// Probes of which one at least must pass before anything is changed; none means that none has to.
    pub first: Vec<String>,
}

impl<'a> Request<'a> {
    /// A request that reads back and confirms by itself, within a minute.
    pub fn new(desired: &'a HostState, source: &'a str) -> Self {
        Self {
            desired,
            source,
            options: Options::default(),
            scope: Scope::default(),
            verify: true,
            confirm: true,
            timeout: Duration::from_mins(1),
            timing: ProbeTiming::default(),
            stop: None,
            first: Vec::new(),
        }
    }
}

/// A plan that is ready to be carried out; nothing has moved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedTransaction {
    /// The plan, to be shown.
    pub planned: Planned,
    /// The ownership record as it is.
    pub owned: Ownership,
    /// The links that must have carrier before the change is judged.
    pub touched: Touched,
    /// What was done about an earlier transaction, to be reported.
    pub recovered: Recovery,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The host was as desired.
    Nothing,
    /// It is in place for good.
    Confirmed,
    /// It is in place and waits to be confirmed.
    Open(Summary),
    /// It was taken back, and the host is as it was.
    RolledBack {
        /// Why.
        why: Cause,
        /// What that took.
        report: UndoReport,
    },
}

/// What was found of an earlier transaction, and done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// There was none.
    Nothing,
    /// One had not begun to change anything, or was already taken back; it is forgotten.
    Dropped,
    /// One was confirmed; its record is complete now.
    Finished(Summary),
    /// One waits for a person and still may.
    Open(Summary),
    /// One was taken back.
    RolledBack {
        /// The transaction.
        summary: Summary,
        /// Why.
        why: Cause,
        /// What that took.
        report: UndoReport,
    },
    /// One was cut off by the end of the kernel that it changed; files that it wrote are put back.
    Rebooted {
        /// The transaction.
        summary: Summary,
        /// What that took.
        report: UndoReport,
    },
}

/// One turn at a host: its lock, and all that a transaction needs.
pub struct Transaction<'a> {
    store: &'a Store,
    executor: Executor<'a>,
    incarnation: Incarnation,
    batch: usize,
    /// Whether the plan was made in this turn, so that nobody can have changed anything since.
    prepared: bool,
    /// Starts who takes the change back should this process end in its middle.
    guard: Option<&'a dyn Fn() -> Result<(), String>>,
    /// Asked after the undo of a change that an earlier turn made.
    probes: Option<&'a mut dyn Probes>,
    _lock: Lock,
}

impl<'a> Transaction<'a> {
    /// Takes the turn, waiting at most `wait` for another one to end.
    pub fn take(
        store: &'a Store,
        engine: &'a mut dyn Engine,
        clock: &'a dyn Clock,
        incarnation: Incarnation,
        wait: Duration,
    ) -> Result<Self, Error> {
        let lock = Lock::take(store, clock, wait)?;
        let executor = Executor { engine, clock, scope: Scope::default(), with_derived: false };
        Ok(Self { store, executor, incarnation, batch: BATCH, prepared: false, guard: None, probes: None, _lock: lock })
    }

    /// Sends this many steps at once.
    #[must_use]
    pub fn with_batch(mut self, steps: usize) -> Self {
        self.batch = steps.max(1);
        self
    }

    /// Calls `start` when the journal is on disk and before the first step. When it fails nothing is
    /// changed: a change that nobody would take back in time is no safe one.
    #[must_use]
    pub fn with_guard(mut self, start: &'a dyn Fn() -> Result<(), String>) -> Self {
        self.guard = Some(start);
        self
    }

    /// Asks these probes after the undo of a change that an earlier turn made, by the names that its journal has.
    #[must_use]
    pub fn with_probes(mut self, probes: &'a mut dyn Probes) -> Self {
        self.probes = Some(probes);
        self
    }

    /// Which of the probes that passed before a change do not pass now, after somebody else took it back.
    pub fn unreached(&mut self, change: &Summary) -> Vec<Unreached> {
        self.probes.as_mut().map_or_else(Vec::new, |probes| {
            regained::unreached(&mut **probes, &change.probes, regained::WITHIN, &mut self.executor)
        })
    }

    /// Reads the host, for a desired state that depends on it: nobody else changes it until the turn ends.
    pub fn observe(&mut self, scope: Scope) -> Result<Observed, Error> {
        Ok(self.executor.engine.observe(scope)?)
    }

    /// Who asked for what, as it is recorded now.
    pub fn ownership(&self) -> Result<Ownership, Error> {
        self.store.ownership()
    }

    /// Puts a corrected record in the place of the one that is there, after [`make_way`](Self::make_way); the host stays as
    /// it is.
    pub fn correct(&mut self, owned: &Ownership) -> Result<(), Error> {
        self.store.write_ownership(owned)
    }

    /// Forgets that `owner` ever asked for anything; the host stays as it is. What an earlier transaction
    /// left behind is finished first: its end writes the record too.
    pub fn forget(&mut self, owner: &str) -> Result<(), Error> {
        self.make_way()?;
        let before = self.ownership()?;
        let mut after = before.clone();
        after.forget(owner);
        if after == before { Ok(()) } else { self.store.write_ownership(&after) }
    }

    /// Finishes what an earlier transaction left behind, unless that waits for a person.
    pub fn recover(&mut self) -> Result<Recovery, Error> {
        let log = match self.store.read_journal()? {
            None => return Ok(Recovery::Nothing),
            Some(Reading::NothingDone) => return self.store.remove_journal().map(|()| Recovery::Dropped),
            Some(Reading::Log(log)) => log,
            Some(Reading::Damaged(why)) => {
                return Err(Error::Damaged { path: self.store.journal_path(), why: why.to_owned() });
            }
        };
        let summary = Summary::of(&log);
        match decide(&log, &self.incarnation, self.executor.clock.now()) {
            LogDecision::Drop => self.store.remove_journal().map(|()| Recovery::Dropped),
            LogDecision::Finish => self.record(&log.begin.ownership).map(|()| Recovery::Finished(summary)),
            LogDecision::StayOpen => Ok(Recovery::Open(summary)),
            LogDecision::Undo(why) => {
                let report = self.undo(&log, &why)?;
                Ok(Recovery::RolledBack { summary, why, report })
            }
            LogDecision::Elsewhere => {
                Err(Error::Elsewhere { path: self.store.journal_path(), summary: Box::new(summary) })
            }
            LogDecision::AfterReboot => {
                let report = self.undo_files(&log)?;
                Ok(Recovery::Rebooted { summary, report })
            }
        }
    }

    /// Plans what fulfils a desired state. Moves nothing, but finishes an earlier transaction first; one that
    /// waits for a person is an error.
    pub fn prepare(&mut self, request: &Request<'_>) -> Result<PreparedTransaction, Error> {
        let recovered = self.make_way()?;
        let (owned, observed) = (self.ownership()?, self.observe(request.scope)?);
        let prepared = self.prepare_on(request, &observed, owned)?;
        Ok(PreparedTransaction { recovered, ..prepared })
    }

    /// Finishes an earlier transaction; one that waits for a person is an error.
    pub fn make_way(&mut self) -> Result<Recovery, Error> {
        match self.recover()? {
            Recovery::Open(summary) => Err(Error::Open(Box::new(summary))),
            done => Ok(done),
        }
    }

    /// Plans what fulfils a desired state on a host that was read in this turn, after
    /// [`make_way`](Self::make_way).
    pub fn prepare_on(
        &mut self,
        request: &Request<'_>,
        observed: &Observed,
        owned: Ownership,
    ) -> Result<PreparedTransaction, Error> {
        let planned = plan(request.desired, observed, &owned, &request.options)?;
        let touched = Touched::of(&planned.plan, observed);
        self.prepared = true;
        Ok(PreparedTransaction { planned, owned, touched, recovered: Recovery::Nothing })
    }

    /// Carries a plan out: in the end the desired state is fulfilled, or the host is as it was.
    ///
    /// The plan may have been made in an earlier turn, so that nobody waits while a person reads it.
    /// When another change was recorded since, or is open, nothing is touched.
    pub fn run(
        &mut self,
        prepared: &PreparedTransaction,
        request: &Request<'_>,
        probes: &mut dyn Probes,
    ) -> Result<Outcome, Error> {
        self.still_current(prepared)?;
        let planned = &prepared.planned;
        if planned.plan.is_empty() {
            if planned.ownership != prepared.owned {
                self.store.write_ownership(&planned.ownership)?;
            }
            return Ok(Outcome::Nothing);
        }
        self.executor.scope = request.scope;
        let passing = probe::passing(probes, request.timing);
        if !request.first.is_empty() && !request.first.iter().any(|name| passing.contains(name)) {
            return Err(Error::OutOfReach(request.first.clone()));
        }
        let begin = self.begin(planned, request, &passing);
        let deadline = begin.deadline;
        let mut log = Log { begin, sent: 0, not_ours: [].into(), phase: Phase::Running, whole: 0 };
        let mut journal = self.store.begin_journal(log.begin.clone())?;
        let done = self
            .guarded()
            .and_then(|()| self.steps(&mut journal, &mut log, request))
            .and_then(|()| self.verified(prepared, request, deadline))
            .and_then(|seen| {
                let judged =
                    Judged { timing: request.timing, touched: &prepared.touched, passing: log.begin.probes.to_vec() };
                judged
                    .still_passing(probes, seen, &mut self.executor, &|executor| late(executor, deadline, request.stop))
            })
            .and_then(|()| self.in_time(deadline, request.stop))
            .and_then(|()| {
                let last = if request.confirm { Record::Confirmed } else { Record::Open };
                journal.settle(&last).map_err(|error| Cause::Journal(error.to_string()))
            });
        match done {
            Ok(()) if request.confirm => self.record(&planned.ownership).map(|()| Outcome::Confirmed),
            Ok(()) => {
                log.phase = Phase::Open;
                Ok(Outcome::Open(Summary::of(&log)))
            }
            Err(why) => {
                let mut report = self.undo_with(&mut journal, &log, Undo::of(&log), &why)?;
                // Whoever was asked to stop asks once and waits for nothing more.
                let within = if why == Cause::Stopped { Duration::ZERO } else { regained::WITHIN };
                report.unreached = regained::unreached(probes, &log.begin.probes, within, &mut self.executor);
                Ok(Outcome::RolledBack { why, report })
            }
        }
    }

    /// Confirms the change that waits for it.
    pub fn commit(&mut self) -> Result<Summary, Error> {
        match self.recover()? {
            Recovery::Open(mut summary) => {
                let log = self.open_log()?;
                self.store.reopen_journal(&log)?.settle(&Record::Confirmed)?;
                self.record(&log.begin.ownership)?;
                summary.phase = Phase::Confirmed;
                Ok(summary)
            }
            Recovery::Finished(summary) => Ok(summary),
            Recovery::RolledBack { summary, why, report: _ } => {
                Err(Error::TooLate { source_name: summary.source, why })
            }
            Recovery::Rebooted { summary, report: _ } => {
                Err(Error::TooLate { source_name: summary.source, why: Cause::Interrupted })
            }
            Recovery::Nothing | Recovery::Dropped => Err(Error::NothingOpen),
        }
    }

    /// Takes the change back that waits to be confirmed, or that was cut off.
    pub fn rollback(&mut self) -> Result<Recovery, Error> {
        match self.recover()? {
            Recovery::Open(summary) => {
                let log = self.open_log()?;
                let report = self.undo(&log, &Cause::Asked)?;
                Ok(Recovery::RolledBack { summary, why: Cause::Asked, report })
            }
            Recovery::Nothing | Recovery::Dropped | Recovery::Finished(_) => Err(Error::NothingOpen),
            done @ (Recovery::RolledBack { .. } | Recovery::Rebooted { .. }) => Ok(done),
        }
    }

    fn still_current(&mut self, prepared: &PreparedTransaction) -> Result<(), Error> {
        if self.prepared {
            return Ok(());
        }
        match self.recover()? {
            Recovery::Open(summary) => Err(Error::Open(Box::new(summary))),
            Recovery::Nothing | Recovery::Dropped if self.store.ownership()? == prepared.owned => Ok(()),
            Recovery::Nothing
            | Recovery::Dropped
            | Recovery::Finished(_)
            | Recovery::RolledBack { .. }
            | Recovery::Rebooted { .. } => Err(Error::Busy { pid: None, since: None }),
        }
    }

    /// The journal that `recover` just found to be open.
    fn open_log(&self) -> Result<Box<Log<'static>>, Error> {
        match self.store.read_journal()? {
            Some(Reading::Log(log)) => Ok(log),
            Some(Reading::NothingDone | Reading::Damaged(_)) | None => Err(Error::NothingOpen),
        }
    }

    fn begin<'b>(&self, planned: &'b Planned, request: &'b Request<'_>, passing: &'b [String]) -> Begin<'b> {
        let now = self.executor.clock.now();
        Begin {
            // Only one turn at a time, and the boot-time clock does not stand still between two.
            id: format!("{}-{}", now.wall, now.boot.as_micros()).into(),
            source: request.source.into(),
            incarnation: Cow::Owned(self.incarnation.clone()),
            created: now,
            deadline: now.plus(request.timeout),
            ethtool: request.scope.ethtool,
            steps: Cow::Borrowed(&planned.plan.steps),
            before: Cow::Borrowed(&planned.before),
            ownership: Cow::Borrowed(&planned.ownership),
            probes: Cow::Borrowed(passing),
        }
    }

    fn guarded(&self) -> Result<(), Cause> {
        self.guard.map_or(Ok(()), |start| start().map_err(Cause::Guard))
    }

    fn steps(&mut self, journal: &mut Journal, log: &mut Log<'_>, request: &Request<'_>) -> Result<(), Cause> {
        let of = log.begin.steps.len();
        while log.sent < of {
            self.in_time(log.begin.deadline, request.stop)?;
            let first = log.sent;
            let through = of.min(first + self.batch);
            let record = |journal: &mut Journal, record: &Record<'_>| {
                journal.note(record).map_err(|error| Cause::Journal(error.to_string()))
            };
            record(journal, &Record::Sent { through })?;
            log.sent = through;
            let steps: Vec<Step> = log.begin.steps[first..through].iter().map(|planned| planned.step.clone()).collect();
            let carried = self.executor.carry_out(&steps).map_err(Cause::Host)?;
            if !carried.not_ours.is_empty() {
                let not_ours: Vec<usize> = carried.not_ours.iter().map(|at| first + at).collect();
                log.not_ours.extend(&not_ours);
                record(journal, &Record::NotOurs { steps: not_ours })?;
            }
            // The steps behind such a creation were meant for a link of ours, however alike this one is.
            let taken = |at: &&usize| matches!(steps[**at], Step::CreateLink { .. });
            let taken = carried
                .not_ours
                .iter()
                .find(taken)
                .map(|&at| (at, StepError::with(StepError::EEXIST, "somebody else has made a link of this name")));
            if let Some((at, error)) = carried.refused.into_iter().chain(taken).min_by_key(|(at, _)| *at) {
                return Err(Cause::Step { number: first + at + 1, of, step: steps[at].to_string(), error });
            }
        }
        Ok(())
    }

    /// The host as it is, when it is read back and as desired.
    fn verified(
        &mut self,
        prepared: &PreparedTransaction,
        request: &Request<'_>,
        deadline: Moment,
    ) -> Result<Option<Observed>, Cause> {
        if !request.verify {
            return Ok(None);
        }
        let late = |executor: &Executor<'_>| late(executor, deadline, request.stop).is_some();
        let (observed, left) = self
            .executor
            .read_back(&executor::CHECKS, |observed| prepared.planned.expected.unmet(observed), late)
            .map_err(Cause::Host)?;
        if left.is_empty() { Ok(Some(observed)) } else { Err(Cause::Unmet(left)) }
    }

    fn in_time(&self, deadline: Moment, stop: Option<&AtomicBool>) -> Result<(), Cause> {
        late(&self.executor, deadline, stop).map_or(Ok(()), Err)
    }

    /// Writes down who asked for what; the journal is only needed until then.
    fn record(&self, ownership: &Ownership) -> Result<(), Error> {
        self.store
            .write_ownership(ownership)
            .and_then(|()| self.store.remove_journal())
            .map_err(|error| Error::Unrecorded(Box::new(error)))
    }

    fn undo(&mut self, log: &Log<'_>, why: &Cause) -> Result<UndoReport, Error> {
        self.executor.scope = Scope { ethtool: log.begin.ethtool, ..Scope::default() };
        let undo = match log.phase {
            Phase::Running | Phase::Undoing => Undo::of_cut(log, &self.executor.engine.observe(self.executor.scope)?),
            Phase::Open | Phase::Confirmed | Phase::Undone => Undo::of(log),
        };
        let mut journal = self.store.reopen_journal(log)?;
        let mut report = self.undo_with(&mut journal, log, undo, why)?;
        report.unreached = self.unreached(&Summary::of(log));
        Ok(report)
    }

    fn undo_files(&mut self, log: &Log<'_>) -> Result<UndoReport, Error> {
        let observed = self.executor.engine.observe(self.executor.scope)?;
        let undo = Undo::of_files(log, &observed);
        let mut journal = self.store.reopen_journal(log)?;
        self.undo_with(&mut journal, log, undo, &Cause::Interrupted)
    }

    fn undo_with(
        &mut self,
        journal: &mut Journal,
        log: &Log<'_>,
        undo: Undo,
        why: &Cause,
    ) -> Result<UndoReport, Error> {
        // A full disk must not keep the host from being put back: without these two lines the next
        // turn only does the same once more.
        journal.note(&Record::Undoing { why: why.to_string().into() }).ok();
        let undo = undo.after(log.begin.created.until(self.executor.clock.now()));
        let ended = undo
            .carry_out(&mut self.executor, self.batch)
            .map_err(|source| Error::Lost { why: why.clone(), source })?;
        match ended {
            Ok(report) => {
                journal.settle(&Record::Undone).ok();
                self.store.remove_journal()?;
                Ok(report)
            }
            Err((report, differences)) => {
                let kept = self.store.keep_failed_journal(&log.begin.id)?;
                let refused = report.refused;
                Err(Error::UndoIncomplete(Box::new(Leftover { why: why.clone(), differences, refused, kept })))
            }
        }
    }
}

/// Why it is too late to go on, if it is.
pub(crate) fn late(executor: &Executor<'_>, deadline: Moment, stop: Option<&AtomicBool>) -> Option<Cause> {
    if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        Some(Cause::Stopped)
    } else if executor.clock.now().boot >= deadline.boot {
        Some(Cause::Deadline(deadline))
    } else {
        None
    }
}
