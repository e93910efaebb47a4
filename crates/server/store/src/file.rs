//! The file on disk: making it, locking it, opening it, and refusing what is no sound store.
//!
//! A new file is made under another name and appears under its own only when it is complete, so an
//! empty or half-made file is never taken for a new store. The lock is the kernel's (`flock`) on the
//! file itself and goes with the process that holds it.
//!
//! Every page is checked against its checksum before anything in it is believed: damage is found at
//! the start, in words, not by the reader of some object. The database does so by itself only after a
//! crash, so each file is shown to it as one that was not closed, see [`Lent`].

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{Database, ReadableDatabase as _, ReadableTable as _, StorageBackend, TableError};

use crate::{
    OpenError, Revision,
    error::Trouble,
    record::{BACKUP_FORMAT, COUNTS, FORMAT, LOG, META, STATE, STORE_FORMAT, State, VERSIONS},
};

/// What a file of this database starts with.
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
/// No sound file is shorter: that is where its header ends.
const HEADER_BYTES: usize = 320;

/// Where the bytes of a store are. It outlives the database on it, which has to be opened again after
/// a failed write.
pub(crate) type Disk = Arc<dyn StorageBackend>;

/// Lends a [`Disk`] to a database, and shows its header as that of a file that was not closed until
/// the database has written to it.
///
/// A header has a byte of flags and two slots, each with the roots of one commit. The flags tell which
/// slot is in force, and whether the other one may be taken instead if pages behind the first turn
/// out wrong: yes after a crash, which may have torn the last commit; no after closing, when what is
/// wrong is damage. In the latter case the slot in force is shown twice.
///
/// A file that has no name yet is not synced: nobody finds it after a crash. See [`NewFile::place`].
#[derive(Debug)]
struct Lent {
    disk: Disk,
    untouched: AtomicBool,
    nameless: Arc<AtomicBool>,
}

/// Where the flags are in the header, and what they mean.
const FLAGS: usize = MAGIC.len();
const SECOND_SLOT_IN_FORCE: u8 = 1;
const NOT_CLOSED: u8 = 2;
const NO_OTHER_SLOT: u8 = 4;
/// Where the slots are in the header.
const SLOTS: [std::ops::Range<usize>; 2] = [64..192, 192..320];

impl Lent {
    fn show_header(&self, offset: usize, out: &mut [u8]) -> io::Result<()> {
        let mut header = [0; HEADER_BYTES];
        self.disk.read(0, &mut header)?;
        if header[FLAGS] & NO_OTHER_SLOT != 0 {
            let [first, second] = SLOTS;
            if header[FLAGS] & SECOND_SLOT_IN_FORCE == 0 {
                header.copy_within(first, second.start);
            } else {
                header.copy_within(second, first.start);
            }
        }
        header[FLAGS] = header[FLAGS] & !NO_OTHER_SLOT | NOT_CLOSED;
        for (shown, byte) in out.iter_mut().zip(&header[offset..]) {
            *shown = *byte;
        }
        Ok(())
    }
}

impl StorageBackend for Lent {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.read(offset, out)?;
        match usize::try_from(offset) {
            Ok(offset) if offset < HEADER_BYTES && self.untouched.load(Ordering::Relaxed) => {
                self.show_header(offset, out)
            }
            _ => Ok(()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.nameless.load(Ordering::Acquire) { Ok(()) } else { self.disk.sync_data() }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.untouched.store(false, Ordering::Relaxed);
        self.disk.write(offset, data)
    }
}

/// A file of ours, locked as long as this exists.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing alone would leave the lock to a process that is just being started by another
        // thread and has yet to close the files that it inherited.
        self.0.unlock().ok();
    }
}

impl StorageBackend for LockedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }
}

/// What a file says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A store, and where it stands.
    Store(State),
    /// A backup, and where the store stood.
    Backup(State),
    /// Something of a later version of this program.
    Newer(String),
    /// Somebody else's database.
    Foreign,
}

/// Opens the file of a store, or makes it.
pub(crate) fn open_or_create(path: &Path, create: bool, cache: usize) -> Result<(Disk, Database, State), OpenError> {
    match open_existing(path, cache) {
        Err(OpenError::Missing { .. }) if create => {}
        opened => {
            let (disk, database, format) = opened?;
            return Ok((disk, database, state_of_store(path, format)?));
        }
    }
    let new = NewFile::begin(path)?;
    let database = new.database(cache)?;
    initialise(&database, STORE_FORMAT, State::default()).map_err(|trouble| refused(path, trouble))?;
    let disk = new.place()?;
    Ok((disk, database, State::default()))
}

/// Opens a file that is there, whatever it is a store or a backup.
pub(crate) fn open_existing(path: &Path, cache: usize) -> Result<(Disk, Database, Format), OpenError> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::Missing { path: path.to_owned() });
        }
        Err(source) => return Err(OpenError::Io { what: "open", path: path.to_owned(), source }),
    };
    let disk = lock(file, path)?;
    check_beginning(&*disk, path)?;
    let (database, format) = open_checked(&disk, cache).map_err(|trouble| refused(path, trouble))?;
    Ok((disk, database, format))
}

/// Opens a database on a disk, every page checked, and reads what it says of itself.
pub(crate) fn open_checked(disk: &Disk, cache: usize) -> Result<(Database, Format), Trouble> {
    let database = open_database(disk, cache)?;
    let format = format(&database)?;
    Ok((database, format))
}

/// Opens a database on a disk, or makes one on an empty disk.
pub(crate) fn open_database(disk: &Disk, cache: usize) -> Result<Database, Trouble> {
    lend(disk, Arc::default(), cache)
}

fn lend(disk: &Disk, nameless: Arc<AtomicBool>, cache: usize) -> Result<Database, Trouble> {
    let lent = Lent { disk: disk.clone(), untouched: AtomicBool::new(true), nameless };
    Ok(Database::builder().set_cache_size(cache).create_with_backend(lent)?)
}

/// Writes the first records of a new file.
pub(crate) fn initialise(database: &Database, format: &str, state: State) -> Result<(), Trouble> {
    let transaction = database.begin_write()?;
    transaction.open_table(VERSIONS)?;
    transaction.open_table(LOG)?;
    transaction.open_table(COUNTS)?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, format.as_bytes())?;
        meta.insert(STATE, state.encode().as_slice())?;
    }
    Ok(transaction.commit()?)
}

/// What a database says of itself, and whether its log ends where it says.
pub(crate) fn format(database: &Database) -> Result<Format, Trouble> {
    let transaction = database.begin_read()?;
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        Err(TableError::Storage(error)) => return Err(error.into()),
        Err(_) => return Ok(Format::Foreign),
    };
    let Some(format) = meta.get(FORMAT)? else { return Ok(Format::Foreign) };
    let format = String::from_utf8_lossy(format.value()).into_owned();
    if format != STORE_FORMAT && format != BACKUP_FORMAT {
        return Ok(if format.starts_with("netloom ") { Format::Newer(format) } else { Format::Foreign });
    }
    let state = meta.get(STATE)?.ok_or_else(|| Trouble::record("it has no newest revision"))?;
    let state = State::decode(state.value())?;
    let log = transaction.open_table(LOG)?;
    let edge = |end: Option<(redb::AccessGuard<'_, u64>, _)>| end.map(|(revision, _)| revision.value());
    let expected = (state.revision > state.floor).then_some((state.floor + 1, state.revision));
    if edge(log.first()?).zip(edge(log.last()?)) != expected {
        return Err(Trouble::record("its log does not end at its newest revision"));
    }
    Ok(if format == STORE_FORMAT { Format::Store(state) } else { Format::Backup(state) })
}

fn state_of_store(path: &Path, format: Format) -> Result<State, OpenError> {
    let path = path.to_owned();
    match format {
        Format::Store(state) => Ok(state),
        Format::Backup(state) => Err(OpenError::Backup { path, revision: Revision(state.revision) }),
        Format::Newer(found) => Err(OpenError::Newer { path, found }),
        Format::Foreign => Err(OpenError::Foreign { path, found: "a database of another program".to_owned() }),
    }
}

fn lock(file: File, path: &Path) -> Result<Disk, OpenError> {
    match file.try_lock() {
        Ok(()) => Ok(Arc::new(LockedFile(file))),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(OpenError::Io { what: "lock", path: path.to_owned(), source }),
    }
}

/// Tells files that are no database from those that were cut before their header ends.
pub(crate) fn check_beginning(disk: &dyn StorageBackend, path: &Path) -> Result<(), OpenError> {
    let unreadable = |source| OpenError::Io { what: "read", path: path.to_owned(), source };
    let length = disk.len().map_err(unreadable)?;
    let shown = usize::try_from(length).map_or(MAGIC.len(), |length| length.min(MAGIC.len()));
    let mut beginning = vec![0; shown];
    disk.read(0, &mut beginning).map_err(unreadable)?;
    if beginning != MAGIC[..shown] {
        return Err(OpenError::Foreign {
            path: path.to_owned(),
            found: "its first bytes are not those of a store".to_owned(),
        });
    }
    if length < HEADER_BYTES as u64 {
        let what = if length == 0 { "it is empty".to_owned() } else { format!("only {length} bytes are left") };
        return Err(OpenError::Truncated { path: path.to_owned(), what });
    }
    Ok(())
}

fn refused(path: &Path, trouble: Trouble) -> OpenError {
    let path = path.to_owned();
    match trouble {
        Trouble::Full(why) => {
            OpenError::Io { what: "write", path, source: io::Error::new(io::ErrorKind::StorageFull, why) }
        }
        Trouble::Io(why) => OpenError::Io { what: "read", path, source: io::Error::other(why) },
        Trouble::Damaged(what) => OpenError::Damaged { path, what },
    }
}

/// A file that is being made under another name. It goes again unless it is placed.
#[derive(Debug)]
pub(crate) struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    disk: Disk,
    /// Until it is placed.
    nameless: Arc<AtomicBool>,
}

impl NewFile {
    /// Begins a file; the name it will have is only taken when it is complete.
    pub(crate) fn begin(path: &Path) -> Result<Self, OpenError> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            // It will hold secrets.
            .mode(0o600)
            .open(&temporary)
            .map_err(|source| OpenError::Io { what: "create", path: temporary.clone(), source })?;
        let disk = lock(file, path)?;
        // What a crash has left there is not needed, but only the holder of the lock may say so.
        disk.set_len(0).map_err(|source| OpenError::Io { what: "write", path: temporary.clone(), source })?;
        let nameless = Arc::new(AtomicBool::new(true));
        Ok(Self { path: path.to_owned(), temporary, disk, nameless })
    }

    /// The name that the file has until it is placed.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The disk of the file.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// A database in the file.
    pub(crate) fn database(&self, cache: usize) -> Result<Database, OpenError> {
        lend(&self.disk, Arc::clone(&self.nameless), cache).map_err(|trouble| refused(&self.path, trouble))
    }

    /// Gives the file its name, durably, unless that is taken. It stays locked.
    pub(crate) fn place(self) -> Result<Disk, OpenError> {
        let failed = |what, source| OpenError::Io { what, path: self.path.clone(), source };
        // From here on the database syncs by itself, so nothing that it writes can be missed.
        self.nameless.store(false, Ordering::Release);
        self.disk.sync_data().map_err(|source| failed("write", source))?;
        fs::hard_link(&self.temporary, &self.path).map_err(|source| failed("create", source))?;
        fs::remove_file(&self.temporary).map_err(|source| failed("finish", source))?;
        sync_folder(&self.path).map_err(|source| failed("create", source))?;
        Ok(self.disk.clone())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After placing, the name is gone already; should removing fail, the next one truncates it.
        fs::remove_file(&self.temporary).ok();
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Deed, MemoryDisk};

    fn syncs(disk: &MemoryDisk) -> usize {
        disk.take_deeds().iter().filter(|deed| **deed == Deed::Sync).count()
    }

    #[test]
    fn a_file_without_a_name_is_not_synced_and_one_with_a_name_is() {
        let memory = MemoryDisk::new(Vec::new());
        let disk: Disk = memory.clone();
        let nameless = Arc::new(AtomicBool::new(true));
        let database = lend(&disk, Arc::clone(&nameless), 1 << 20).unwrap();
        initialise(&database, STORE_FORMAT, State::default()).unwrap();
        assert_eq!(syncs(&memory), 0);
        nameless.store(false, Ordering::Release);
        initialise(&database, STORE_FORMAT, State::default()).unwrap();
        assert_eq!(syncs(&memory), 1);
    }
}
