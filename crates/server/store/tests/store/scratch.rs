//! A folder for one test, and short names for what tests do all the time.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use netloom_store::{Change, Clock, Key, Options, Revision, Store, Watch};

/// A folder that goes with the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder on disk.
    pub(crate) fn new() -> Self {
        Self::beneath(&std::env::temp_dir())
    }

    /// A new folder in memory where there is one: for tests that write much and lose no power.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::beneath(memory) } else { Self::new() }
    }

    fn beneath(folder: &Path) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("netloom-store-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder takes a test's files");
        Self(path)
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The store file.
    pub(crate) fn store(&self) -> PathBuf {
        self.file("store.redb")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A clock that stands still.
pub(crate) fn still() -> Clock {
    Clock::new(|| Duration::from_secs(1_000_000))
}

/// The store in a file, with default options.
pub(crate) fn open(path: &Path) -> Store {
    Store::open(path, Options::default()).expect("the store opens")
}

/// The key of a pod.
pub(crate) fn pod(namespace: &str, name: &str) -> Key {
    Key::new("/pods", namespace, name)
}

/// Puts one value and returns its revision.
pub(crate) fn put(store: &Store, key: &Key, value: &str) -> Revision {
    let written = store.write_blocking(vec![Change::put(key.clone(), value.to_owned())]).expect("the write is taken");
    written.last().expect("a put has a revision")
}

/// Runs a future to its end.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts").block_on(future)
}

/// The next events of a watch, which must be there already, as `revision:name=value`.
pub(crate) async fn take(watch: &mut Watch, number: usize) -> Vec<String> {
    let mut events = Vec::new();
    for _ in 0..number {
        let event = tokio::time::timeout(Duration::from_secs(10), watch.next()).await;
        let event = event.expect("the event comes at once").expect("the watch goes on");
        let value = event.object().map_or_else(|| "gone".into(), |object| String::from_utf8_lossy(&object.bytes));
        events.push(format!("{}:{}={value}", event.revision, event.key.name()));
    }
    events
}

/// Whether a watch has nothing to tell now.
pub(crate) async fn is_silent(watch: &mut Watch) -> bool {
    tokio::time::timeout(Duration::from_millis(5), watch.next()).await.is_err()
}
