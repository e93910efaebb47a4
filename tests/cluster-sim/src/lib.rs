//! A controller, its stand-in and the agents of a cluster in one process, with everything that goes wrong
//! between them.
//!
//! ```text
//! seed ─► Random ─► faults, latencies, people        ┌► Controller + Index   (netloom-controller-core)
//!                       │                            │
//!                       └─► queue of (time, number) ─┼► Server, Lease        (here)
//!                                                    │
//!                                                    └► Agent + Host + disk  (netloom-agent-core, netloom-kernel-sim)
//! ```
//!
//! The decisions are the real ones: index, compiler, rollout and agent take events and time as values and
//! return requests as values, and this crate carries them out. What is simulated is the world: the server,
//! the ways to it, clocks, disks, kernels and people. There is no thread, no clock and no chance but the
//! seed's, so equal seeds give equal runs, event by event.
//!
//! After every event it is checked that nothing has happened that never may ([`Cluster::violations`]), and
//! in the end that everything is as desired and nobody writes any more.
//!
//! Only tests and measurements use this crate.

mod bug;
mod cluster;
mod ending;
mod expected;
mod faults;
mod fields;
mod fleet;
mod host;
mod lease;
pub mod measure;
mod node;
mod process;
mod random;
mod requests;
mod run;
mod safety;
mod server;
mod setup;
mod stopped;
mod story;
mod strike;
mod trace;
mod users;
mod watch;
mod watched;

pub use bug::Bug;
pub use cluster::Cluster;
pub use faults::{Faults, Misfortune, storm};
pub use fleet::Fleet;
pub use host::{FOREIGN, Host, PATH, WIRE};
pub use process::{Process, Stop, Trouble};
pub use random::Random;
pub use run::{Finding, breezy, settled, stormy};
pub use server::{Entry, Refusal, Server};
pub use setup::Setup;
pub use stopped::StoryResult;
pub use story::Story;
pub use trace::Trace;
pub use users::Wanted;

/// Millionths of a second since the beginning of a run.
pub type Micros = u64;

/// A second.
pub const SECOND: Micros = 1_000_000;
/// A thousandth of it.
pub const MILLISECOND: Micros = 1000;
