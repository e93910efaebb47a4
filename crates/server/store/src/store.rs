//! The store as others see it, and what its parts share.

use std::{
    fmt, mem,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
    thread::{self, JoinHandle},
    time::Duration,
};

use redb::Database;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    BackupError, Change, Key, Object, OpenError, Options, Page, Range, ReadError, ResourceCount, Revision, Stats,
    Watch, WriteError, Written, backup,
    error::Trouble,
    file::{self, Disk, Format},
    hub::Hub,
    overlay::Overlay,
    read::View,
    record::State,
    stats::Counters,
    writer::{Request, Writer},
};

/// How many batches may wait for the writer before those who bring more have to wait themselves.
const WAITING: usize = 256;

/// How often those who read have a database opened again that failed.
const RECOVERY: Duration = Duration::from_secs(1);

/// A store. Clones are the same store; the file is closed when the last one goes.
///
/// Reading is synchronous: it touches memory and the kernel's page cache, rarely the disk. A caller
/// on an async runtime lists many objects in pages, or on a thread for blocking work.
#[derive(Debug, Clone)]
pub struct Store {
    owner: Arc<Owner>,
}

/// Ends the writer and closes the file when the last [`Store`] goes.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
}

/// What readers, watches and the writer share.
pub(crate) struct Shared {
    opened: RwLock<Opened>,
    pub(crate) hub: Hub,
    pub(crate) options: Options,
    pub(crate) counters: Counters,
    /// The newest revision that the watches were notified of.
    pub(crate) revision: watch::Sender<u64>,
    /// When the writer was last asked to open the database again by somebody who reads.
    asked: Mutex<Option<Duration>>,
    /// The way to the writer, which ends when no store has it any more.
    requests: OnceLock<mpsc::WeakSender<Request>>,
}

/// The database, which must be opened again after a failed write.
enum Opened {
    /// It can be used.
    Open { database: Database, disk: Disk },
    /// The disk has no room for a write, so it is only read; every write tries again.
    ReadOnly { database: Database, why: String, disk: Disk },
    /// It failed, and could not be opened again so far.
    Broken { why: String, disk: Disk },
    /// It was closed.
    Closed,
}

impl Store {
    /// Opens the store in a file, or makes it there if the options allow.
    ///
    /// Every page of the file is checked first. The file is locked as long as the store is open.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let (disk, database, state) = file::open_or_create(path, options.create, options.cache_bytes)?;
        let store = Self::on(disk, database, state, options).map_err(|source| OpenError::Io {
            what: "start the writer of",
            path: path.to_owned(),
            source,
        })?;
        tracing::info!(path = %path.display(), revision = state.revision, oldest = state.floor, "store opened");
        Ok(store)
    }

    /// A store on an open database.
    pub(crate) fn on(disk: Disk, database: Database, state: State, options: Options) -> std::io::Result<Self> {
        let shared = Shared::new(disk, database, state, options);
        let (sender, requests) = mpsc::channel(WAITING);
        shared.requests.get_or_init(|| sender.downgrade());
        let writer = Writer { shared: shared.clone(), requests, state };
        let writer = thread::Builder::new().name("store-writer".to_owned()).spawn(|| writer.run())?;
        Ok(Self { owner: Arc::new(Owner { shared, requests: Some(sender), writer: Some(writer) }) })
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        Revision(*self.owner.shared.revision.borrow())
    }

    /// Waits until the store has reached a revision.
    pub async fn reached(&self, revision: Revision) -> Result<(), ReadError> {
        let mut newest = self.owner.shared.revision.subscribe();
        let reached = newest.wait_for(|newest| *newest >= revision.0).await;
        reached.map(drop).map_err(|_| ReadError::Closed)
    }

    /// Reads one object.
    pub fn get(&self, key: &Key) -> Result<Option<Object>, ReadError> {
        self.owner.shared.read(|view| Ok(view.get(key)?))
    }

    /// Lists the objects of a range in the order of their keys.
    ///
    /// With `at`, as they were at that revision of the history. With `after`, only those behind that
    /// key; with `limit`, no more than so many: ask for the next page behind the last key of a page
    /// and at its revision.
    pub fn list(
        &self,
        range: &Range,
        at: Option<Revision>,
        after: Option<&Key>,
        limit: Option<usize>,
    ) -> Result<Page, ReadError> {
        self.page(range, at, after, limit.unwrap_or(usize::MAX), usize::MAX)
    }

    /// The same with another bound beside the number: a page ends with the object that brings the bytes
    /// of its values to `bytes`.
    pub fn page(
        &self,
        range: &Range,
        at: Option<Revision>,
        after: Option<&Key>,
        objects: usize,
        bytes: usize,
    ) -> Result<Page, ReadError> {
        self.owner.shared.read(|view| view.list(range, at, after, (objects, bytes)))
    }

    /// How many objects there are of each resource, ordered by resource.
    pub fn resources(&self) -> Result<Vec<ResourceCount>, ReadError> {
        self.owner.shared.read(|view| Ok(view.resources()?))
    }

    /// Writes a batch, all of it or nothing.
    ///
    /// Returns when it is on disk; every read that begins then sees it. Whoever stops waiting does not
    /// know whether it was written.
    pub async fn write(&self, changes: Vec<Change>) -> Result<Written, WriteError> {
        let (reply, outcome) = oneshot::channel();
        let sent = self.requests().send(Request::Write { changes, reply }).await;
        sent.map_err(|_| WriteError::Closed)?;
        outcome.await.map_err(|_| WriteError::Closed)?
    }

    /// The same as [`Store::write`], for threads that are not part of an async runtime.
    pub fn write_blocking(&self, changes: Vec<Change>) -> Result<Written, WriteError> {
        let (reply, outcome) = oneshot::channel();
        let sent = self.requests().blocking_send(Request::Write { changes, reply });
        sent.map_err(|_| WriteError::Closed)?;
        outcome.blocking_recv().map_err(|_| WriteError::Closed)?
    }

    /// Watches a range from a revision on: what happened strictly after it.
    ///
    /// A revision in the future is no error; the watch is silent until it has passed.
    pub fn watch(&self, range: Range, from: Revision) -> Result<Watch, ReadError> {
        let shared = &self.owner.shared;
        let oldest = shared.read(|view| Ok(view.state.floor))?;
        if from.0 < oldest {
            return Err(ReadError::Compacted { oldest: Revision(oldest) });
        }
        Ok(Watch::new(shared.clone(), range, from))
    }

    /// Drops the history before a revision, however young it is, and returns the oldest revision that
    /// is left. The store does this by itself for history that is old enough.
    pub async fn compact(&self, to: Revision) -> Result<Revision, WriteError> {
        let (reply, outcome) = oneshot::channel();
        let sent = self.requests().send(Request::Compact { to, reply }).await;
        sent.map_err(|_| WriteError::Closed)?;
        outcome.await.map_err(|_| WriteError::Closed)?
    }

    /// Writes a backup of the present state into a new file, while others read and write.
    ///
    /// Returns the revision that it holds. Use [`restore`](crate::restore) to make a store of it.
    pub fn backup(&self, to: &Path) -> Result<Revision, BackupError> {
        backup::backup(&self.owner.shared, to)
    }

    /// Figures of the store.
    pub fn stats(&self) -> Result<Stats, ReadError> {
        self.owner.shared.stats()
    }

    fn requests(&self) -> &mpsc::Sender<Request> {
        self.owner.requests.as_ref().expect("the sender is only taken when the last store is dropped")
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Without a sender the writer finishes what it was asked for and ends.
        self.requests = None;
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the writer of the store has panicked");
        }
        self.shared.close();
    }
}

impl Shared {
    /// Everything around an open database that stands at `state`.
    pub(crate) fn new(disk: Disk, database: Database, state: State, options: Options) -> Arc<Self> {
        Arc::new(Self {
            opened: RwLock::new(Opened::Open { database, disk }),
            hub: Hub::new(state.revision, &options),
            options,
            counters: Counters::default(),
            revision: watch::Sender::new(state.revision),
            asked: Mutex::default(),
            requests: OnceLock::new(),
        })
    }

    /// Reads the present state.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&View) -> Result<T, ReadError>) -> Result<T, ReadError> {
        match &*self.opened.read().unwrap_or_else(PoisonError::into_inner) {
            Opened::Open { database, .. } | Opened::ReadOnly { database, .. } => read(&View::of(database)?),
            Opened::Broken { why, .. } => {
                self.ask_for_recovery();
                Err(ReadError::Unavailable { why: why.clone() })
            }
            Opened::Closed => Err(ReadError::Closed),
        }
    }

    /// Has the writer open the database again, so that reading goes on though nobody writes. Not more
    /// often than now and then: every page is checked.
    fn ask_for_recovery(&self) {
        let now = self.options.clock.now();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back must not put it off.
        if asked.and_then(|asked| now.checked_sub(asked)).is_some_and(|since| since < RECOVERY) {
            return;
        }
        *asked = Some(now);
        if let Some(requests) = self.requests.get().and_then(mpsc::WeakSender::upgrade) {
            // A full queue has a write in it, which does the same.
            requests.try_send(Request::Recover).ok();
        }
    }

    /// Uses the database to write; the error says why that cannot be.
    pub(crate) fn with_database<T>(&self, work: impl FnOnce(&Database) -> T) -> Result<T, WriteError> {
        match &*self.opened.read().unwrap_or_else(PoisonError::into_inner) {
            Opened::Open { database, .. } => Ok(work(database)),
            Opened::ReadOnly { why, .. } => Err(WriteError::Full { why: why.clone() }),
            Opened::Broken { why, .. } => Err(WriteError::Unavailable { why: why.clone() }),
            Opened::Closed => Err(WriteError::Closed),
        }
    }

    /// Whether the database has to be opened again before a write.
    pub(crate) fn is_broken(&self) -> bool {
        match &*self.opened.read().unwrap_or_else(PoisonError::into_inner) {
            Opened::Broken { .. } | Opened::ReadOnly { .. } => true,
            Opened::Open { .. } | Opened::Closed => false,
        }
    }

    /// Opens the database again and tells where it stands. Readers wait meanwhile. Where there is no room
    /// for that, it is opened for reading alone, if it stands where it is known to.
    pub(crate) fn reopen(&self) -> Result<State, Trouble> {
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        let disk = match mem::replace(&mut *opened, Opened::Closed) {
            Opened::Open { disk, .. } | Opened::ReadOnly { disk, .. } | Opened::Broken { disk, .. } => disk,
            Opened::Closed => return Err(Trouble::Io("the store is closed".to_owned())),
        };
        let result = file::open_checked(&disk, self.options.cache_bytes);
        let (next, state) = match result {
            Ok((database, Format::Store(state))) => (Opened::Open { database, disk }, Ok(state)),
            Ok((_, Format::Backup(_) | Format::Newer(_) | Format::Foreign)) => {
                let why = "somebody else has written to the file";
                (Opened::Broken { why: why.to_owned(), disk }, Err(Trouble::record(why)))
            }
            Err(Trouble::Full(why)) => match self.read_only(&disk) {
                Some((database, state)) => (Opened::ReadOnly { database, why, disk }, Ok(state)),
                None => (Opened::Broken { why: why.clone(), disk }, Err(Trouble::Full(why))),
            },
            Err(trouble) => (Opened::Broken { why: trouble.to_string(), disk }, Err(trouble)),
        };
        *opened = next;
        state
    }

    /// The database for reading alone. Only what was acknowledged may be read: should the disk hold more
    /// than that, nobody knows yet whether it stays.
    fn read_only(&self, disk: &Disk) -> Option<(Database, State)> {
        let layer: Disk = Arc::new(Overlay::over(disk.clone()).ok()?);
        match file::open_checked(&layer, self.options.cache_bytes) {
            Ok((database, Format::Store(state))) if state.revision == *self.revision.borrow() => {
                Some((database, state))
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// Stops using the database.
    pub(crate) fn break_down(&self, why: String) {
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        *opened = match mem::replace(&mut *opened, Opened::Closed) {
            Opened::Open { disk, .. } | Opened::ReadOnly { disk, .. } | Opened::Broken { disk, .. } => {
                Opened::Broken { why, disk }
            }
            Opened::Closed => Opened::Closed,
        };
    }

    /// Closes the file, after those who read now, and ends the watches.
    fn close(&self) {
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Opened::Closed;
        self.hub.close();
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        let (at, resources) = self.read(|view| Ok((view.state, view.resources()?)))?;
        let hub = self.hub.stats();
        let mut stats = Stats {
            revision: Revision(at.revision),
            oldest: Revision(at.floor),
            history_bytes: at.history,
            file_bytes: self.file_bytes(),
            resources,
            watches: hub.watches,
            watches_behind: hub.fallen_behind,
            recent_events: hub.recent,
            commits: 0,
            commit_time: Duration::ZERO,
            failures: 0,
            writes: 0,
            conflicts: 0,
            refused: 0,
        };
        self.counters.fill(&mut stats);
        Ok(stats)
    }

    fn file_bytes(&self) -> u64 {
        match &*self.opened.read().unwrap_or_else(PoisonError::into_inner) {
            Opened::Open { disk, .. } | Opened::ReadOnly { disk, .. } | Opened::Broken { disk, .. } => {
                disk.len().unwrap_or(0)
            }
            Opened::Closed => 0,
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}
