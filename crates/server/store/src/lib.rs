//! The durable store of the embedded API server: one file, one revision for everything.
//!
//! A [`Store`] keeps byte strings under a [`Key`] (resource, namespace, name). Every change takes the
//! next [`Revision`], a number shared by all resources that only ever grows: over restarts, over a
//! restore from a backup, for ever. What the bytes mean is not known here.
//!
//! ```text
//! Store ── write ──► writer thread ── one commit, one fsync for all who wait ──► file
//!   │                      │
//!   │                      └─► hub: recent events, routed by key to the watches that want them
//!   ├── get, list ──► read transaction of the file (also at an older revision)
//!   └── watch ──► history in the file, then live from the hub
//! ```
//!
//! What holds at all times:
//! - a write is acknowledged only after it is on disk, and from then on every reader sees it;
//! - a batch is there as a whole or not at all;
//! - a watch sees each event after its start once and in order, also over a restart, or is notified that
//!   it fell out of the history;
//! - nobody who reads slowly holds up the writer or takes more than a fixed amount of memory;
//! - values live in the file (and in the kernel's page cache), not in the memory of this process.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("netloom-store-example-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! use netloom_store::{Change, Key, Options, Range, Store};
//!
//! let store = Store::open(&folder.join("store"), Options::default())?;
//! let key = Key::new("/configmaps", "default", "colours");
//! store.write_blocking(vec![Change::create(key.clone(), "red")])?;
//! let read = store.get(&key)?.ok_or("it was just written")?;
//! store.write_blocking(vec![Change::update(key, read.revision, "red and blue")])?;
//! let page = store.list(&Range::resource("/configmaps"), Some(read.revision), None, None)?;
//! assert_eq!(page.items[0].1.bytes, "red");
//! # drop(store);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! Not here: object metadata, selectors, JSON. The reader of an object puts the resource version into
//! it from [`Object::revision`].

mod apply;
mod backup;
mod batch;
mod error;
mod file;
mod hub;
mod key;
mod options;
mod overlay;
mod read;
mod record;
mod routes;
mod stats;
mod store;
mod watch;
mod writer;

#[cfg(test)]
mod damage;
#[cfg(feature = "testing")]
pub mod switch;
#[cfg(test)]
mod testing;

pub use backup::restore;
pub use batch::{Change, Event, EventKind, Expect, Object, Operation, Page, Written};
pub use error::{BackupError, OpenError, ReadError, WatchError, WriteError};
pub use key::{Key, Range, Revision};
pub use options::{Clock, Options};
pub use stats::{ResourceCount, Stats};
pub use store::Store;
pub use watch::Watch;
