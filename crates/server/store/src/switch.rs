//! For the tests of others: a store whose disk stops answering when asked to.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::StorageBackend;

use crate::{
    OpenError, Options, Store,
    file::{self, Disk, Format},
};

/// Tells a disk whether to answer.
#[derive(Debug, Clone, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// From here on everything that is asked of the disk fails, or nothing does.
    pub fn fail(&self, fail: bool) {
        self.0.store(fail, Ordering::Release);
    }

    fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Acquire) { Err(io::Error::other("the disk does not answer")) } else { Ok(()) }
    }
}

/// Opens a store on a disk that answers until it is asked not to.
///
/// # Panics
/// When a store that was just made cannot be opened.
pub fn open(path: &Path, options: Options) -> Result<(Store, Switch), OpenError> {
    let (disk, database, _) = file::open_or_create(path, options.create, options.cache_bytes)?;
    drop(database);
    let switch = Switch::default();
    let disk: Disk = Arc::new(Switched { disk, switch: switch.clone() });
    let Ok((database, Format::Store(state))) = file::open_checked(&disk, options.cache_bytes) else {
        panic!("{} was a store a moment ago", path.display())
    };
    let store = Store::on(disk, database, state, options);
    let failed = |source| OpenError::Io { what: "start the writer of", path: path.to_owned(), source };
    Ok((store.map_err(failed)?, switch))
}

#[derive(Debug)]
struct Switched {
    disk: Disk,
    switch: Switch,
}

impl StorageBackend for Switched {
    fn len(&self) -> io::Result<u64> {
        self.switch.check()?;
        self.disk.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.switch.check()?;
        self.disk.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.switch.check()?;
        self.disk.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.switch.check()?;
        self.disk.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.switch.check()?;
        self.disk.write(offset, data)
    }
}
