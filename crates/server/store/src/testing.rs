//! For tests: a disk in memory that remembers what was done to it, and can fill up.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use redb::StorageBackend;

/// What was done to a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Bytes were written at an offset.
    Write(u64, Vec<u8>),
    /// It got this length.
    Length(u64),
    /// Everything before was made durable.
    Sync,
}

/// A disk in memory.
#[derive(Debug)]
pub(crate) struct MemoryDisk {
    image: Mutex<Vec<u8>>,
    deeds: Mutex<Vec<Deed>>,
    /// How many more bytes may be written.
    room: AtomicU64,
    /// How many more syncs succeed.
    syncs: AtomicU64,
}

impl MemoryDisk {
    /// A disk with these contents.
    pub(crate) fn new(image: Vec<u8>) -> Arc<Self> {
        Arc::new(Self {
            image: Mutex::new(image),
            deeds: Mutex::default(),
            room: AtomicU64::new(u64::MAX),
            syncs: AtomicU64::new(u64::MAX),
        })
    }

    /// What is on it now.
    pub(crate) fn image(&self) -> Vec<u8> {
        self.lock().clone()
    }

    /// What was done since it was last asked.
    pub(crate) fn take_deeds(&self) -> Vec<Deed> {
        std::mem::take(&mut self.deeds.lock().unwrap())
    }

    /// Lets only so many more bytes be written.
    pub(crate) fn leave_room(&self, bytes: u64) {
        self.room.store(bytes, Ordering::Relaxed);
    }

    /// Lets only so many more syncs succeed.
    pub(crate) fn leave_syncs(&self, number: u64) {
        self.syncs.store(number, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.image.lock().unwrap()
    }

    fn note(&self, deed: Deed) {
        self.deeds.lock().unwrap().push(deed);
    }
}

fn take(from: &AtomicU64, amount: u64) -> Result<(), ()> {
    let taken = |left: u64| left.checked_sub(amount);
    from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).map(drop).map_err(drop)
}

impl Deed {
    /// How many bytes it writes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Write(_, data) => data.len(),
            Self::Length(_) | Self::Sync => 0,
        }
    }

    /// Whether its byte at that place makes an image another one.
    pub(crate) fn changes(&self, image: &[u8], place: usize) -> bool {
        match self {
            Self::Write(offset, data) => image[usize::try_from(*offset).unwrap() + place] != data[place],
            Self::Length(_) | Self::Sync => false,
        }
    }

    /// Does it to an image, but writes no more than the first `bytes`.
    pub(crate) fn redo(&self, image: &mut Vec<u8>, bytes: usize) {
        match self {
            Self::Write(offset, data) => {
                let offset = usize::try_from(*offset).unwrap();
                let data = &data[..bytes.min(data.len())];
                image[offset..offset + data.len()].copy_from_slice(data);
            }
            Self::Length(length) => image.resize(usize::try_from(*length).unwrap(), 0),
            Self::Sync => {}
        }
    }
}

impl StorageBackend for MemoryDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let image = self.lock();
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let bytes = image.get(offset..offset.saturating_add(out.len()));
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.lock().resize(usize::try_from(len).map_err(io::Error::other)?, 0);
        self.note(Deed::Length(len));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        take(&self.syncs, 1).map_err(|()| io::Error::other("the disk does not answer"))?;
        self.note(Deed::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        take(&self.room, data.len() as u64).map_err(|()| io::ErrorKind::StorageFull)?;
        let mut image = self.lock();
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let end = start + data.len();
        if image.len() < end {
            image.resize(end, 0);
        }
        image[start..end].copy_from_slice(data);
        drop(image);
        self.note(Deed::Write(offset, data.to_vec()));
        Ok(())
    }
}
