//! Figures of a store, for metrics and for people.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::{Revision, WriteError, Written};

/// How many objects there are of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceCount {
    /// The resource, as `group/plural`.
    pub resource: String,
    /// Its objects.
    pub objects: u64,
}

/// Figures of a store since it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// The newest revision.
    pub revision: Revision,
    /// The oldest revision at which the store can be read.
    pub oldest: Revision,
    /// How many bytes outdated versions take.
    pub history_bytes: u64,
    /// How long the file is.
    pub file_bytes: u64,
    /// How many objects there are of each resource.
    pub resources: Vec<ResourceCount>,
    /// How many watches are open.
    pub watches: usize,
    /// How often a watch fell behind and had to read the file.
    pub watches_behind: u64,
    /// How many events are kept in memory.
    pub recent_events: usize,
    /// How many transactions were made durable.
    pub commits: u64,
    /// How long they took altogether.
    pub commit_time: Duration,
    /// How many transactions failed.
    pub failures: u64,
    /// How many batches were written.
    pub writes: u64,
    /// How many batches were refused because an object was not as expected.
    pub conflicts: u64,
    /// How many batches were refused for another reason.
    pub refused: u64,
}

/// What the writer counts.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    commits: AtomicU64,
    commit_micros: AtomicU64,
    failures: AtomicU64,
    writes: AtomicU64,
    conflicts: AtomicU64,
    refused: AtomicU64,
}

impl Counters {
    /// Counts the outcome of a batch.
    pub(crate) fn count(&self, result: &Result<Written, WriteError>) {
        let counter = match result {
            Ok(_) => &self.writes,
            Err(WriteError::Conflict { .. }) => &self.conflicts,
            Err(_) => &self.refused,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// Counts a transaction that is durable.
    pub(crate) fn committed(&self, took: Duration) {
        self.commits.fetch_add(1, Relaxed);
        self.commit_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Counts a transaction that failed.
    pub(crate) fn failed(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    /// Writes the counters into the figures.
    pub(crate) fn fill(&self, stats: &mut Stats) {
        stats.commits = self.commits.load(Relaxed);
        stats.commit_time = Duration::from_micros(self.commit_micros.load(Relaxed));
        stats.failures = self.failures.load(Relaxed);
        stats.writes = self.writes.load(Relaxed);
        stats.conflicts = self.conflicts.load(Relaxed);
        stats.refused = self.refused.load(Relaxed);
    }
}
