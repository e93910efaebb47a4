//! What can go wrong, in words, each with a stable reason.

use std::{fmt, io, path::PathBuf};

use crate::{Expect, Key, Revision};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error(
        "{path} is in use by another process: stop that one first, or choose another data folder",
        path = path.display()
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// There is no file and none was to be made.
    #[error("{path} does not exist: check the data folder, which has a store once a server ran on it", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error(
        "{path} is not a store of this program ({found}): it was left as it is; move it away or choose \
         another data folder",
        path = path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
    /// The file is a backup.
    #[error(
        "{path} is a backup made at revision {revision}, not a store: restore it into a new file, so that \
         revisions keep growing",
        path = path.display()
    )]
    Backup {
        /// The file.
        path: PathBuf,
        /// When it was made.
        revision: Revision,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "{path} has the form {found:?}, which this version does not know: use the version that wrote it",
        path = path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// What it says of itself.
        found: String,
    },
    /// The file is shorter than it must be.
    #[error(
        "{path} was cut short ({what}): it was left as it is; restore the latest backup into a new file",
        path = path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// The file's contents do not fit together.
    #[error(
        "{path} is damaged ({what}): check the disk, keep a copy of the file, and restore the latest \
         backup into a new file",
        path = path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The file could not be read or written.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
}

impl OpenError {
    /// The stable name of this kind of error.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::InUse { .. } => "StoreInUse",
            Self::Missing { .. } => "StoreMissing",
            Self::Foreign { .. } => "StoreForeign",
            Self::Backup { .. } => "StoreIsBackup",
            Self::Newer { .. } => "StoreNewer",
            Self::Truncated { .. } => "StoreTruncated",
            Self::Damaged { .. } => "StoreDamaged",
            Self::Io { .. } => "StoreUnreachable",
        }
    }
}

/// Why nothing could be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The revision is older than the history reaches.
    #[error("the history starts at revision {oldest}")]
    Compacted {
        /// The oldest revision that can still be read.
        oldest: Revision,
    },
    /// The revision has not happened yet.
    #[error("revision {asked} is in the future, the store is at {current}")]
    Future {
        /// What was asked for.
        asked: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The file cannot be read at the moment.
    #[error("the store cannot be read: {why}; it is opened again as soon as the disk answers, so check the disk")]
    Unavailable {
        /// What went wrong.
        why: String,
    },
    /// The file holds something that this program never wrote.
    #[error("the store is damaged ({what}): restore the latest backup into a new file")]
    Damaged {
        /// What was found.
        what: String,
    },
}

impl ReadError {
    /// The stable name of this kind of error.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Compacted { .. } => "Compacted",
            Self::Future { .. } => "RevisionInFuture",
            Self::Closed => "StoreClosed",
            Self::Unavailable { .. } => "StoreUnavailable",
            Self::Damaged { .. } => "StoreDamaged",
        }
    }
}

/// Why a batch was not written. None of it was, but for [`WriteError::Unknown`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// An object is not as it was expected to be.
    #[error("{key} is not as expected: {}", reported(*expected, *actual))]
    Conflict {
        /// The object.
        key: Key,
        /// What was expected.
        expected: Expect,
        /// When it was last changed; nothing if it does not exist.
        actual: Option<Revision>,
    },
    /// A batch names an object twice.
    #[error("{key} is changed twice in one batch")]
    Duplicate {
        /// The object.
        key: Key,
    },
    /// A name or value is beyond what the store takes.
    #[error("{what} has {bytes} bytes, the store takes {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        limit: usize,
    },
    /// There is no room on the disk.
    #[error("the disk is full ({why}): nothing was written, reading goes on; free some space and try again")]
    Full {
        /// What the system answered.
        why: String,
    },
    /// The file could not be written.
    #[error("the store cannot be written: {why}; nothing was written, so check the disk and try again")]
    Unavailable {
        /// What went wrong.
        why: String,
    },
    /// The file failed while it was written.
    #[error("the store failed while writing ({why}): read the objects to see whether they were written")]
    Unknown {
        /// What went wrong.
        why: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl WriteError {
    /// The stable name of this kind of error.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "Conflict",
            Self::Duplicate { .. } => "DuplicateKey",
            Self::TooLarge { .. } => "TooLarge",
            Self::Full { .. } => "DiskFull",
            Self::Unavailable { .. } => "StoreUnavailable",
            Self::Unknown { .. } => "OutcomeUnknown",
            Self::Closed => "StoreClosed",
        }
    }
}

fn reported(expected: Expect, actual: Option<Revision>) -> String {
    let actual = actual.map_or_else(|| "it does not exist".to_owned(), |actual| format!("it is at revision {actual}"));
    match expected {
        Expect::Any => actual,
        Expect::Absent => format!("{actual}, but must not exist"),
        Expect::Present => format!("{actual}, but must exist"),
        Expect::Revision(wanted) => format!("{actual}, but must be at {wanted}"),
    }
}

/// Why a watch ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// It was read so slowly that the next events are no longer in the history.
    #[error("the watch is too slow: the history starts at revision {oldest} by now")]
    Lagged {
        /// The oldest revision from which a new watch can start.
        oldest: Revision,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The history could not be read.
    #[error(transparent)]
    Read(ReadError),
}

impl WatchError {
    /// The stable name of this kind of error.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Lagged { .. } => "Lagged",
            Self::Closed => "StoreClosed",
            Self::Read(error) => error.reason(),
        }
    }
}

impl From<ReadError> for WatchError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Compacted { oldest } => Self::Lagged { oldest },
            ReadError::Closed => Self::Closed,
            ReadError::Future { .. } | ReadError::Unavailable { .. } | ReadError::Damaged { .. } => Self::Read(error),
        }
    }
}

/// Why a backup could not be made or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is a file already.
    #[error("{path} exists: nothing is overwritten; move it away or choose another name", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file to restore is no backup.
    #[error(
        "{path} is not a backup ({found}): it was left as it is; name a file that a backup was written to",
        path = path.display()
    )]
    NotABackup {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// The running store could not be read.
    #[error("cannot read the store: {0}")]
    Read(#[from] ReadError),
    /// The backup could not be opened.
    #[error(transparent)]
    Open(OpenError),
    /// The new file could not be written.
    #[error("cannot write {path}: {why}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        why: String,
    },
}

impl BackupError {
    /// The stable name of this kind of error.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "FileExists",
            Self::NotABackup { .. } => "NotABackup",
            Self::Read(error) => error.reason(),
            Self::Open(error) => error.reason(),
            Self::Write { .. } => "BackupUnwritable",
        }
    }
}

/// What redb answered, sorted by what it means for us.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The system has no room for more.
    Full(String),
    /// The system refused something else.
    Io(String),
    /// The contents of the file do not fit together.
    Damaged(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(what) | Self::Io(what) | Self::Damaged(what) => f.write_str(what),
        }
    }
}

impl Trouble {
    /// A record that no version of this program writes.
    pub(crate) fn record(what: &str) -> Self {
        Self::Damaged(what.to_owned())
    }
}

impl<E: Into<redb::Error>> From<E> for Trouble {
    fn from(error: E) -> Self {
        match error.into() {
            redb::Error::Io(error) => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                    Self::Full(error.to_string())
                }
                io::ErrorKind::UnexpectedEof => Self::Damaged("it ends before all of it was read".to_owned()),
                _ => Self::Io(error.to_string()),
            },
            error @ (redb::Error::PreviousIo | redb::Error::DatabaseClosed) => Self::Io(error.to_string()),
            redb::Error::Corrupted(what) => Self::Damaged(what),
            error => Self::Damaged(error.to_string()),
        }
    }
}

impl From<Trouble> for ReadError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Full(why) | Trouble::Io(why) => Self::Unavailable { why },
            Trouble::Damaged(what) => Self::Damaged { what },
        }
    }
}

impl From<Trouble> for WriteError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Full(why) => Self::Full { why },
            Trouble::Io(why) => Self::Unavailable { why },
            Trouble::Damaged(what) => Self::Unavailable { why: format!("it is damaged: {what}") },
        }
    }
}
