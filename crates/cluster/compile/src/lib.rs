//! From everything that is wanted in a cluster to what each node shall have.
//!
//! ```text
//! objects --put--> Snapshot --compile--> Compiled: the revision, what each node gets, what to tell about each input
//!                                     |-- node_targets(revision): what an earlier revision means on the nodes of today
//!                                     '-- difference: what changes for each node between two sets of desired states
//! ```
//!
//! The crate is pure: it reads no clock, no file and no network, and equal input gives byte-equal
//! output, in whatever order objects arrived. Nothing is stored between runs that cannot be recreated:
//! a [`Compiler`] that has run before gives the same result with less work.
//!
//! One bad object never blocks another. An object that cannot be read or breaks its rules is reported as
//! such, and what the last good revision holds of it stays.
//!
//! A front end is one module here, [`nodestate`], [`hostnet`] and [`fabric`], and implements [`FrontEnd`]. Nothing else here knows its
//! kinds. Conflicts between all of them are decided in one place, the [`Desired`] state of a class of nodes.

mod compiler;
mod contribution;
pub mod difference;
mod digest;
mod earlier;
pub mod fabric;
mod finding;
mod front_end;
mod frozen;
pub mod host_document;
pub mod hostnet;
mod layout;
mod node_target;
pub mod nodestate;
mod objects;
mod outcome;
mod output;
mod placement;
mod report;
mod resolution;
mod revision;
mod selection;
mod settled;
mod snapshot;
mod state;

pub use compiler::{Compiled, Compiler, Counts, compile};
pub use contribution::{Contribution, HostPart, origin};
pub use digest::of_text as sha256;
pub use fabric::{FabricReport, SettingsReport};
pub use finding::{Asker, Conflict, Finding, reason};
pub use front_end::{
    BUILT_IN, ConfigPart, FrontEnd, Generated, Looks, NodeClass, Reader, Selected, Selects, ServedKind, Wants,
};
pub use frozen::Frozen;
pub use layout::{Layout, MOST, Weighed, frozen, unnamed};
use netloom_object::key;
pub use netloom_object::{Meta, ObjectKey, ObjectRef};
pub use node_target::{NodeTarget, NodeTargets, PROVENANCE, REVISION};
pub use objects::{Node, NodeState, Taint};
pub use outcome::Outcome;
pub use report::{Report, Reports, Seen, StateReport, UntimedCondition};
pub use resolution::{Desired, contradiction};
pub use revision::{Revision, newest_sound};
pub use settled::settle;
pub use snapshot::{Put, Readable, Shelf, Snapshot, Unreadable, plain};
pub use state::{Inventory, Link, Manual, Neighbour, Provenance, Share};
