//! What the tests of the whole share: scenarios, namespaces, comparison and a crash harness.
//!
//! ```text
//! scenario   stories in files: a host, documents, what must come of them
//! play       one story on one host, through the real transaction
//! foreign    what is somebody else's and must survive every story
//! compare    two hosts, field by field
//! part       one document in another
//! page       examples of the documentation, run
//! seen       the host as other programs show it, for a second opinion
//! stage      the simulated host that stories are played on
//! space      the real one, in a namespace of its own
//! frr        FRR's daemons in such a namespace
//! crash      killing the process after any step
//! power      cutting the power at any byte
//! patience   how long to wait for what must come
//! golden     files that say what came out last time
//! yaml       files of tests as JSON
//! runner     one line per story, a filter, a summary
//! ```
//!
//! Only tests use this crate. It decides nothing about networks itself: stories do.

pub mod announcement;
pub mod compare;
pub mod crash;
pub mod foreign;
pub mod frr;
pub mod golden;
pub mod page;
pub mod part;
pub mod play;
pub mod power;
mod probed;
pub mod runner;
pub mod scenario;
pub mod seen;
pub mod space;
pub mod stage;
pub mod timeouts;
pub mod yaml;

use std::path::{Path, PathBuf};

/// The folder with all scenarios.
pub fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}
