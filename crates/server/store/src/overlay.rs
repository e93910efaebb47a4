//! A disk that is only read: what is written to it stays in memory.
//!
//! A database that was not closed cannot be opened without writing a little to it. Where the disk has
//! no room for that, it is opened on such a layer, so that reading goes on. The file keeps every byte.

use std::{
    collections::BTreeMap,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use redb::StorageBackend;

use crate::file::Disk;

/// Writes are kept in pieces of this size.
const PIECE: u64 = 4096;

/// A disk with a layer of memory over it.
#[derive(Debug)]
pub(crate) struct Overlay {
    disk: Disk,
    layer: Mutex<Layer>,
}

#[derive(Debug)]
struct Layer {
    /// The pieces that were written, by their number.
    pieces: BTreeMap<u64, Vec<u8>>,
    length: u64,
    /// Where the disk ends for those who read; beyond it there are zeros.
    below: u64,
}

impl Overlay {
    /// A layer without a write yet.
    pub(crate) fn over(disk: Disk) -> io::Result<Self> {
        let length = disk.len()?;
        Ok(Self { disk, layer: Mutex::new(Layer { pieces: BTreeMap::new(), length, below: length }) })
    }

    fn lock(&self) -> MutexGuard<'_, Layer> {
        self.layer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a piece of the disk holds, with zeros where the disk has ended.
    fn piece(&self, number: u64, below: u64) -> io::Result<Vec<u8>> {
        let mut piece = vec![0; usize::try_from(PIECE).map_err(io::Error::other)?];
        let start = number * PIECE;
        let held = usize::try_from(below.saturating_sub(start).min(PIECE)).map_err(io::Error::other)?;
        if held > 0 {
            self.disk.read(start, &mut piece[..held])?;
        }
        Ok(piece)
    }
}

/// The pieces that a span touches: the number of each, where in it the span begins, and how long it is.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + length as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (number, within) = (at / PIECE, at % PIECE);
            let taken = (PIECE - within).min(end - at);
            at += taken;
            // Both are at most the size of a piece.
            (number, usize::try_from(within).unwrap_or(0), usize::try_from(taken).unwrap_or(0))
        })
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let layer = self.lock();
        if offset + out.len() as u64 > layer.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut rest = out;
        for (number, within, taken) in parts(offset, rest.len()) {
            let (now, behind) = rest.split_at_mut(taken);
            match layer.pieces.get(&number) {
                Some(piece) => now.copy_from_slice(&piece[within..within + taken]),
                None => now.copy_from_slice(&self.piece(number, layer.below)?[within..within + taken]),
            }
            rest = behind;
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut layer = self.lock();
        layer.pieces.retain(|number, _| *number * PIECE < length);
        if let Some(last) = layer.pieces.get_mut(&(length / PIECE)) {
            // What is cut off is gone, also when it grows again.
            last[usize::try_from(length % PIECE).map_err(io::Error::other)?..].fill(0);
        }
        layer.below = layer.below.min(length);
        layer.length = length;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut layer = self.lock();
        let mut rest = data;
        for (number, within, taken) in parts(offset, data.len()) {
            if !layer.pieces.contains_key(&number) {
                let piece = self.piece(number, layer.below)?;
                layer.pieces.insert(number, piece);
            }
            let (now, behind) = rest.split_at(taken);
            if let Some(piece) = layer.pieces.get_mut(&number) {
                piece[within..within + taken].copy_from_slice(now);
            }
            rest = behind;
        }
        layer.length = layer.length.max(offset + data.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::MemoryDisk;

    #[derive(Debug, Clone)]
    enum Step {
        Write(u64, Vec<u8>),
        Length(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0_u64..20_000, prop::collection::vec(any::<u8>(), 1..9_000)).prop_map(|(at, data)| Step::Write(at, data)),
            1 => (1_u64..24_000).prop_map(Step::Length),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_reads_like_a_disk_and_leaves_the_one_below_alone(
            image in prop::collection::vec(any::<u8>(), 1..16_000),
            steps in prop::collection::vec(step(), 0..8),
        ) {
            let below = MemoryDisk::new(image.clone());
            let overlay = Overlay::over(below.clone()).unwrap();
            let model = MemoryDisk::new(image.clone());
            for step in steps {
                match step {
                    Step::Write(at, data) => {
                        overlay.write(at, &data).unwrap();
                        model.write(at, &data).unwrap();
                    }
                    Step::Length(length) => {
                        overlay.set_len(length).unwrap();
                        model.set_len(length).unwrap();
                    }
                }
                prop_assert_eq!(overlay.len().unwrap(), model.len().unwrap());
                let mut read = vec![0; model.image().len()];
                overlay.read(0, &mut read).unwrap();
                prop_assert!(read == model.image());
                prop_assert!(overlay.read(1, &mut read).is_err());
            }
            prop_assert!(below.image() == image);
        }
    }
}
