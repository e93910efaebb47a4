//! The one thread that writes.
//!
//! It takes the batches of all who wait, applies them in one transaction and makes that durable with
//! one fsync; while that runs, the next ones gather. Nobody gets an answer before that. A batch that
//! does not fit is refused alone; should the transaction fail, nothing of it was written and all of
//! them are reported as such.
//!
//! After a failed write the database does not go on. It is then opened again, which also tells whether
//! the last transaction is there after all. If it is, its writers still get the failure as answer: what the
//! system could not write for sure may be gone after a power cut.

use std::{sync::Arc, time::Duration};

use redb::Database;
use tokio::sync::{mpsc, oneshot};

use crate::{
    Change, Event, Revision, WriteError, Written, apply::Tables, error::Trouble, record::State, store::Shared,
};

/// How many batches share a transaction: as many as a full queue holds.
const GROUP_BATCHES: usize = 256;
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
    /// To open a database again that failed, because somebody wants to read.
    Recover,
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
                Request::Recover => self.recover_for_readers(),
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
                other @ (Request::Compact { .. } | Request::Recover) => return Some(other),
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
        run: impl FnOnce(&Database, &Shared, State) -> Result<Outcome, Trouble>,
    ) -> Result<Vec<Result<Written, WriteError>>, WriteError> {
        if self.shared.is_broken() {
            self.recover()?;
        }
        let started = self.shared.options.clock.now();
        let state = self.state;
        let done = self.shared.with_database(|database| run(database, &self.shared, state));
        match done {
            Err(error) => Err(error),
            Ok(Ok(outcome)) if outcome.state == state => Ok(outcome.results),
            Ok(Ok(outcome)) => {
                self.shared.counters.committed(took(started, self.shared.options.clock.now()));
                self.advance(outcome.state, outcome.events);
                Ok(outcome.results)
            }
            Ok(Err(trouble)) => {
                self.shared.counters.failed();
                let recovered = self.recover();
                Err(match (trouble, recovered) {
                    (trouble, Ok(())) if self.state == state => trouble.into(),
                    (trouble, Ok(()) | Err(_)) => WriteError::Unknown { why: trouble.to_string() },
                })
            }
        }
    }

    /// Opens the database again though nobody writes. Another write may have done so meanwhile.
    fn recover_for_readers(&mut self) {
        if self.shared.is_broken()
            && let Err(error) = self.recover()
        {
            tracing::warn!(reason = error.reason(), %error, "the store cannot be read yet");
        }
    }

    /// Opens the database again after a failure, and goes on from where it stands.
    fn recover(&mut self) -> Result<(), WriteError> {
        let state = self.shared.reopen().map_err(WriteError::from)?;
        if state.revision < self.state.revision {
            let lost = format!("the disk has lost revision {} to {}", state.revision + 1, self.state.revision);
            return Err(self.give_up(lost));
        }
        let missed = self.state.revision + 1..=state.revision;
        let missed: Result<_, _> = missed.map(|revision| self.shared.read(|view| view.event(revision))).collect();
        let missed = missed.map_err(|error| self.give_up(error.to_string()))?;
        self.advance(state, missed);
        tracing::warn!(revision = state.revision, "the store was opened again after a failed write");
        Ok(())
    }

    /// Stops using the database: it is opened again before the next write.
    fn give_up(&self, why: String) -> WriteError {
        self.shared.break_down(why.clone());
        WriteError::Unavailable { why }
    }

    /// Goes on from a state that is in the file, and tells the watches what led to it.
    fn advance(&mut self, state: State, events: Vec<Event>) {
        self.state = state;
        self.shared.hub.publish(events);
        self.shared.revision.send_replace(state.revision);
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
) -> Result<Outcome, Trouble> {
    let transaction = database.begin_write()?;
    let mut tables = Tables::open(&transaction, state)?;
    let (results, events) = apply(&mut tables)?;
    let outcome = Outcome { results, events, state: tables.finish()? };
    if outcome.state == state {
        transaction.abort()?;
        return Ok(outcome);
    }
    transaction.commit()?;
    Ok(outcome)
}

fn took(started: Duration, now: Duration) -> Duration {
    now.saturating_sub(started)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Key, Options, file,
        record::STORE_FORMAT,
        testing::{Deed, MemoryDisk},
    };

    /// How often the disk is synced for so many writes that wait at once, besides once whenever the file
    /// grows, and how many events come of them.
    fn syncs_for(writes: usize, value: usize) -> (usize, u64) {
        let disk = MemoryDisk::new(Vec::new());
        let database = file::open_database(&(disk.clone() as file::Disk), 1 << 20).unwrap();
        file::initialise(&database, STORE_FORMAT, State::default()).unwrap();
        let shared = Shared::new(disk.clone(), database, State::default(), Options::default());
        let (sender, requests) = mpsc::channel(GROUP_BATCHES * 2);
        for number in 0..writes {
            let key = Key::new("/configmaps", "default", &number.to_string());
            let (reply, _) = oneshot::channel();
            let changes = vec![Change::create(key, vec![b'x'; value])];
            sender.try_send(Request::Write { changes, reply }).unwrap();
        }
        drop(sender);
        disk.take_deeds();
        Writer { shared: shared.clone(), requests, state: State::default() }.run();
        let deeds = disk.take_deeds();
        let syncs = deeds.iter().filter(|deed| **deed == Deed::Sync).count();
        let growths = deeds.iter().filter(|deed| matches!(deed, Deed::Length(_))).count();
        (syncs - growths, *shared.revision.borrow())
    }

    #[test]
    fn those_who_wait_together_share_one_sync() {
        for (writes, syncs) in [(1, 1), (64, 1), (GROUP_BATCHES, 1), (GROUP_BATCHES + 1, 2)] {
            assert_eq!(syncs_for(writes, 1024), (syncs, writes as u64), "{writes} writes");
        }
        // Large values share less, so that a transaction stays small.
        for (writes, syncs) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
            assert_eq!(syncs_for(writes, GROUP_BYTES / 2), (syncs, writes as u64), "{writes} large writes");
        }
    }
}
