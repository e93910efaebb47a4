//! From everything that is wanted in a cluster to what each node shall have.
//!
//! ```text
//! objects --put--> Snapshot --compile--> Compiled: the revision, each node's wish, what to tell about each input
//!                                     |-- wishes(revision): what an earlier revision means on the nodes of today
//!                                     '-- difference: what changes for each node between two sets of wishes
//! ```
//!
//! The crate is pure: it reads no clock, no file and no network, and equal input gives byte-equal
//! output, in whatever order objects arrived. Nothing is stored between runs that cannot be made
//! anew: a [`Compiler`] that has run before gives the same result with less work.
//!
//! One bad object never blocks another. An object that cannot be read or breaks its rules is told
//! so, and what the last good revision holds of it stays.
//!
//! A front end is one module here: [`nodestate`] and [`hostnet`].

mod compiler;
pub mod difference;
mod digest;
mod finding;
mod frozen;
pub mod hostnet;
mod layout;
pub mod nodestate;
mod objects;
mod output;
mod placement;
mod report;
mod revision;
mod snapshot;
mod wishes;

pub use compiler::{Compiled, Compiler, Counts, compile};
pub use digest::of_text as sha256;
pub use finding::{Asker, Conflict, Finding, reason};
pub use frozen::Frozen;
pub use layout::{Layout, MOST, unnamed};
use netloom_object::key;
pub use netloom_object::{Meta, ObjectKey};
pub use objects::{Node, NodeState, Policy, Taint};
pub use report::{PolicyReport, Seen, StateReport, Verdict};
pub use revision::{Revision, newest_sound};
pub use snapshot::{Put, Shelf, Snapshot, Unreadable};
pub use wishes::{NodeWish, PROVENANCE, REVISION, Wishes};
