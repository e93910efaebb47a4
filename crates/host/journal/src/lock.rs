//! One transaction at a time in each namespace.
//!
//! The lock is the kernel's (`flock`), so it goes with the process that holds it, however that ends.
//! The file's text is only there to tell the next one who holds it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    time::Duration,
};

use crate::{Clock, Error, Store, error::At as _, watch::Watch};

/// The longest time between two attempts. The folder reports that a holder closes its file a moment
/// *before* the lock is free, so a report alone could be one attempt too early.
const BETWEEN: Duration = Duration::from_millis(20);

/// The lock of a namespace, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, waiting at most `wait` for another holder.
    pub(crate) fn take(store: &Store, clock: &dyn Clock, wait: Duration) -> Result<Self, Error> {
        let path = store.dir().join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .at("open", &path)?;
        let until = clock.now().plus(wait);
        let mut watch = None;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error).at("lock", &path),
            }
            let left = clock.now().until(until);
            if left.is_zero() {
                return Err(holder(&mut file));
            }
            let watch = match &watch {
                Some(watch) => watch,
                None => watch.insert(Watch::new(store.dir())?),
            };
            watch.wait(left.min(BETWEEN)).map_err(std::io::Error::from).at("wait for", &path)?;
        }
        let text = format!("{} {}\n", std::process::id(), clock.now().wall);
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .at("write", &path)?;
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File) -> Error {
    let mut text = String::new();
    // Who holds it is only a help: an unreadable text leaves it out.
    file.read_to_string(&mut text).ok();
    let mut words = text.split_whitespace();
    let pid = words.next().and_then(|word| word.parse().ok());
    let since = words.next().and_then(|word| word.parse().ok());
    Error::Busy { pid, since }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SystemClock, store::tests::Scratch};

    #[test]
    fn a_second_turn_is_refused_in_words_and_waits_when_it_may() {
        let scratch = Scratch::new();
        let store = Store::of_host(&scratch.0).unwrap();
        let first = Lock::take(&store, &SystemClock, Duration::ZERO).unwrap();
        let refused = Lock::take(&store, &SystemClock, Duration::from_millis(30)).unwrap_err();
        assert!(matches!(refused, Error::Busy { pid: Some(pid), since: Some(_) } if pid == std::process::id()));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| Lock::take(&store, &SystemClock, Duration::from_mins(1)));
            drop(first);
            second.join().unwrap().unwrap();
        });
        // Another namespace has its own lock.
        let _blue = Lock::take(&store, &SystemClock, Duration::ZERO).unwrap();
        let other = Store::of_netns(&scratch.0, "blue").unwrap();
        Lock::take(&other, &SystemClock, Duration::ZERO).unwrap();
    }
}
