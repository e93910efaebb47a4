//! The node transaction: what makes a change to a host's network safe to try.
//!
//! The undo list and a deadline are on disk before the first step. Then the steps are carried out,
//! the host is read back, and what it reached before is probed. Only then the change is confirmed;
//! anything else undoes it in reverse and makes sure of the undo. A process that was killed, or a
//! machine that lost power, leaves a journal from which the next [`Transaction`] finishes the job: no other
//! program, network or name service is needed for it.
//!
//! ```text
//! Store     the state folder of one namespace: ownership record, journal, lock
//! Turn      one transaction at a time: recover, prepare, run, commit, rollback
//! Summary   a transaction in words
//! ```
//!
//! The host is behind [`Engine`](netloom_model::Engine); all this crate touches itself are the files
//! of its folder. What to do about a journal is decided by a pure function of what it says, which
//! kernel is running and what time it is.

mod already;
mod before;
mod clock;
mod decide;
mod error;
mod executor;
mod lock;
mod probe;
mod record;
mod regained;
mod store;
mod summary;
mod transaction;
mod undo;
mod watch;
mod witness;

pub use clock::{Clock, Incarnation, Moment, NetnsId, SystemClock};
pub use error::{Cause, Error, Leftover};
pub use netloom_probing::{ProbeResult, ProbeTiming};
pub use probe::{NoProbes, Probes, Waiting};
pub use record::Phase;
pub use regained::Unreached;
pub use store::Store;
pub use summary::Summary;
pub use transaction::{BATCH, Outcome, PreparedTransaction, Recovery, Request, Transaction};
pub use undo::UndoReport;
pub use watch::{Ended, wait_for_deadline, wait_for_holder};
pub use witness::{Fate, Witness};
