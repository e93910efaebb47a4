//! The one thread that writes.
//!
//! It takes the batches of all who wait, applies them in one transaction and makes that durable with
//! one fsync; while that runs, the next ones gather. Nobody gets an answer before that. A batch that
//! does not fit is refused alone; should the transaction fail, nothing of it was written and all of
//! them are told so.
//!
//! After a failed write the database does not go on. It is then opened anew, which also tells whether
//! the last transaction has reached the disk after all.

use std::{sync::Arc, time::Duration};

use redb::Database;
use tokio::sync::{mpsc, oneshot};

use crate::{
    Change, Event, Revision, WriteError, Written, apply::Tables, error::Trouble, record::State, store::Shared,
};

/// How many batches share a transaction: as many as a full queue holds.
const GROUP_BATCHES: usize = 1024;
/// How many bytes of values share a transaction, so that it fits into half of the page cache.
const GROUP_BYTES: usize = 4 << 20;
/// How many events one transaction drops beyond those it adds, so that the history shrinks to its
/// bounds in passing and never in one long transaction.
const DROP_EXTRA: usize = 64;
/// How many events are dropped at once on request.
const DROP_AT_ONCE: usize = 4096;

/// What the writer is asked for.
#[derive(Debug)]
pub(crate) enum Request {
    /// To write a batch.
    Write {
        /// The batch.
        changes: Vec<Change>,
        /// Where the outcome goes.
        reply: oneshot::Sender<Result<Written, WriteError>>,
    },
    /// To drop the history up to a revision.
    Compact {
        /// The new oldest revision.
        to: Revision,
        /// Where the oldest revision goes.
        reply: oneshot::Sender<Result<Revision, WriteError>>,
    },
}

/// The batches of one transaction.
#[derive(Debug, Default)]
struct Group {
    batches: Vec<Vec<Change>>,
    replies: Vec<oneshot::Sender<Result<Written, WriteError>>>,
    bytes: usize,
}

/// What a transaction leads to.
#[derive(Debug)]
struct Outcome {
    results: Vec<Result<Written, WriteError>>,
    events: Vec<Event>,
    state: State,
}

/// A transaction that failed, and what it would have led to if it was complete.
struct Failed {
    trouble: Trouble,
    outcome: Option<Outcome>,
}

impl<E: Into<Trouble>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { trouble: error.into(), outcome: None }
    }
}

/// The one who writes.
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) state: State,
}

impl Writer {
    /// Writes until nobody is left to ask for it.
    pub(crate) fn run(mut self) {
        let mut put_off = None;
        while let Some(request) = put_off.take().or_else(|| self.requests.blocking_recv()) {
            match request {
                Request::Write { changes, reply } => {
                    let mut group = Group::default();
                    group.push(changes, reply);
                    put_off = self.gather(&mut group);
                    self.write(group);
                }
                Request::Compact { to, reply } => {
                    // Whoever asked may be gone; it is done all the same.
                    reply.send(self.compact(to)).ok();
                }
            }
        }
    }

    /// Adds those who wait already; what does not belong into the group is handed back.
    fn gather(&mut self, group: &mut Group) -> Option<Request> {
        while group.batches.len() < GROUP_BATCHES && group.bytes < GROUP_BYTES {
            match self.requests.try_recv().ok()? {
                Request::Write { changes, reply } => group.push(changes, reply),
                other @ Request::Compact { .. } => return Some(other),
            }
        }
        None
    }

    fn write(&mut self, group: Group) {
        let Group { batches, replies, .. } = group;
        let outcome = self.transact(|database, shared, state| {
            let now = shared.options.clock.now();
            commit(database, state, |tables| {
                let mut events = Vec::new();
                let mut results = Vec::with_capacity(batches.len());
                for changes in batches {
                    results.push(tables.apply(changes, now, &mut events)?);
                }
                if !events.is_empty() {
                    tables.compact(&shared.options, now, 2 * events.len() + DROP_EXTRA)?;
                }
                Ok((results, events))
            })
        });
        match outcome {
            Ok(outcome) => {
                for (reply, result) in replies.into_iter().zip(outcome) {
                    self.shared.counters.count(&result);
                    // Whoever asked may be gone; it is written all the same.
                    reply.send(result).ok();
                }
            }
            Err(error) => {
                tracing::error!(reason = error.reason(), "{error}");
                for reply in replies {
                    self.shared.counters.count(&Err(error.clone()));
                    reply.send(Err(error.clone())).ok();
                }
            }
        }
    }

    fn compact(&mut self, to: Revision) -> Result<Revision, WriteError> {
        while self.state.floor < to.0.min(self.state.revision) {
            self.transact(|database, _, state| {
                commit(database, state, |tables| {
                    tables.compact_to(to.0, DROP_AT_ONCE)?;
                    Ok((Vec::new(), Vec::new()))
                })
            })?;
        }
        Ok(Revision(self.state.floor))
    }

    /// Runs a transaction, finds out what became of it if it fails, and tells the watches.
    fn transact(
        &mut self,
        run: impl FnOnce(&Database, &Shared, State) -> Result<Outcome, Failed>,
    ) -> Result<Vec<Result<Written, WriteError>>, WriteError> {
        if self.shared.is_broken() {
            self.reopen()?;
        }
        let started = self.shared.options.clock.now();
        let state = self.state;
        let done = self.shared.with_database(|database| run(database, &self.shared, state));
        let outcome = match done {
            None => return Err(WriteError::Closed),
            Some(Ok(outcome)) => outcome,
            Some(Err(Failed { trouble, outcome })) => {
                self.shared.counters.failed();
                let reopened = self.reopen();
                match outcome {
                    Some(outcome) if reopened == Ok(outcome.state) => outcome,
                    _ => return Err(trouble.into()),
                }
            }
        };
        if outcome.state != self.state {
            self.state = outcome.state;
            self.shared.counters.committed(took(started, self.shared.options.clock.now()));
            self.shared.hub.publish(outcome.events);
            self.shared.revision.send_replace(self.state.revision);
        }
        Ok(outcome.results)
    }

    /// Opens the database anew after a failure.
    fn reopen(&mut self) -> Result<State, WriteError> {
        let state = self.shared.reopen().map_err(WriteError::from)?;
        if state.revision < self.state.revision {
            let why = format!("the disk has lost revision {} to {}", state.revision + 1, self.state.revision);
            self.shared.break_down(why.clone());
            return Err(WriteError::Unavailable { why });
        }
        tracing::warn!(revision = state.revision, "the store was opened anew after a failed write");
        Ok(state)
    }
}

impl Group {
    fn push(&mut self, changes: Vec<Change>, reply: oneshot::Sender<Result<Written, WriteError>>) {
        self.bytes += changes.iter().map(Change::weight).sum::<usize>();
        self.batches.push(changes);
        self.replies.push(reply);
    }
}

type Applied = (Vec<Result<Written, WriteError>>, Vec<Event>);

/// Applies changes in one transaction, which is made durable if they came to something.
fn commit(
    database: &Database,
    state: State,
    apply: impl FnOnce(&mut Tables<'_>) -> Result<Applied, Trouble>,
) -> Result<Outcome, Failed> {
    let transaction = database.begin_write()?;
    let mut tables = Tables::open(&transaction, state)?;
    let (results, events) = apply(&mut tables)?;
    let outcome = Outcome { results, events, state: tables.finish()? };
    if outcome.state == state {
        transaction.abort()?;
        return Ok(outcome);
    }
    match transaction.commit() {
        Ok(()) => Ok(outcome),
        Err(error) => Err(Failed { trouble: error.into(), outcome: Some(outcome) }),
    }
}

fn took(started: Duration, now: Duration) -> Duration {
    now.saturating_sub(started)
}
