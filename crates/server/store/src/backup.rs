//! Backups: a file that holds the objects of one moment, and making a store of it again.
//!
//! A backup says of itself that it is one and is refused as a store: a store that began at an old
//! revision would hand out the revisions after it a second time. Restoring leaps over them, and drops
//! the history, so that clients that knew the lost revisions notice and read everything again.

use std::{fs, io, path::Path};

use redb::Database;

use crate::{
    BackupError, OpenError, Revision,
    error::Trouble,
    file::{self, Format, NewFile},
    read::View,
    record::{BACKUP_FORMAT, COUNTS, FORMAT, META, STATE, STORE_FORMAT, State, VERSIONS, count_key, version_key},
    store::Shared,
};

/// How far a restore leaps. More revisions than this cannot have been lost: it would take a store
/// that writes 10 000 times a second three years. The numbers stay exact in JSON for 9 000 restores.
const LEAP: u64 = 1_000_000_000_000;
/// Memory for pages while a file is written from end to end.
const CACHE_BYTES: usize = 8 << 20;

/// Writes the objects of a store into a new file.
pub(crate) fn backup(shared: &Shared, to: &Path) -> Result<Revision, BackupError> {
    refuse_existing(to)?;
    let new = NewFile::begin(to).map_err(|error| unwritable(to, &error))?;
    let target = new.database(CACHE_BYTES).map_err(|error| unwritable(to, &error))?;
    let state = shared.read(|view| Ok(copy(view, &target)))?.map_err(|trouble| unwritable(to, &trouble))?;
    // Closing it first makes it a file that needs no repair.
    drop(target);
    place(new, to)?;
    Ok(Revision(state.revision))
}

/// Makes a store in a new file of a backup, and returns the revision at which it goes on.
pub fn restore(backup: &Path, to: &Path) -> Result<Revision, BackupError> {
    refuse_existing(to)?;
    let new = NewFile::begin(to).map_err(|error| unwritable(to, &error))?;
    fs::copy(backup, new.temporary())
        .map_err(|source| BackupError::Open(OpenError::Io { what: "copy", path: backup.to_owned(), source }))?;
    file::check_beginning(&**new.disk(), backup).map_err(|error| {
        if let OpenError::Foreign { path, found } = error {
            BackupError::NotABackup { path, found }
        } else {
            BackupError::Open(error)
        }
    })?;
    let (database, format) =
        file::open_checked(new.disk(), CACHE_BYTES).map_err(|trouble| damaged(backup, &trouble))?;
    let state = match format {
        Format::Backup(state) => state,
        Format::Store(_) => return Err(not_a_backup(backup, "it is a store")),
        Format::Newer(found) => return Err(not_a_backup(backup, &found)),
        Format::Foreign => return Err(not_a_backup(backup, "it is a database of another program")),
    };
    let revision = state.revision + LEAP;
    become_store(&database, State { revision, floor: revision, history: 0 })
        .map_err(|trouble| unwritable(to, &trouble))?;
    drop(database);
    place(new, to)?;
    Ok(Revision(revision))
}

fn copy(view: &View, target: &Database) -> Result<State, Trouble> {
    let state = State { revision: view.state.revision, floor: view.state.revision, history: 0 };
    file::initialise(target, BACKUP_FORMAT, state)?;
    let transaction = target.begin_write()?;
    {
        let mut versions = transaction.open_table(VERSIONS)?;
        let mut counts = transaction.open_table(COUNTS)?;
        // Objects come in the order of their keys, so those of one place come together.
        let mut place: (Vec<u8>, u64) = (Vec::new(), 0);
        view.each(|prefix, revision, record| {
            versions.insert(version_key(prefix, revision).as_slice(), record)?;
            let of = count_key(prefix)?;
            if place.0 != of {
                place = (of.to_vec(), 0);
            }
            place.1 += 1;
            counts.insert(place.0.as_slice(), place.1)?;
            Ok(true)
        })?;
    }
    transaction.commit()?;
    Ok(state)
}

fn become_store(database: &Database, state: State) -> Result<(), Trouble> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, STORE_FORMAT.as_bytes())?;
        meta.insert(STATE, state.encode().as_slice())?;
    }
    Ok(transaction.commit()?)
}

fn place(new: NewFile, to: &Path) -> Result<(), BackupError> {
    match new.place() {
        Ok(_) => Ok(()),
        Err(OpenError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
            Err(BackupError::Exists { path: to.to_owned() })
        }
        Err(error) => Err(unwritable(to, &error)),
    }
}

/// Says early what would be refused at the end anyway.
fn refuse_existing(path: &Path) -> Result<(), BackupError> {
    match path.symlink_metadata() {
        Ok(_) => Err(BackupError::Exists { path: path.to_owned() }),
        Err(_) => Ok(()),
    }
}

fn unwritable(path: &Path, why: &dyn std::fmt::Display) -> BackupError {
    BackupError::Write { path: path.to_owned(), why: why.to_string() }
}

fn damaged(path: &Path, trouble: &Trouble) -> BackupError {
    BackupError::Open(OpenError::Damaged { path: path.to_owned(), what: trouble.to_string() })
}

fn not_a_backup(path: &Path, found: &str) -> BackupError {
    BackupError::NotABackup { path: path.to_owned(), found: found.to_owned() }
}
