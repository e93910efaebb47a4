//! Who manages which fields of an object, and server-side apply.
//!
//! Every write goes through one of two functions. [`update`] is for writes of whole objects and for all patches but
//! apply: it records in `metadata.managedFields` which fields the write changed. [`apply`] merges a configuration into
//! the stored object, removes what the manager applied before and does not any more, and refuses to change what
//! somebody else manages.
//!
//! Both are pure: the time of the write is part of [`Manager`]. Neither prunes, defaults nor validates.
//!
//! Invariants: an entry is never empty; fields the server keeps for itself are nobody's; applying the same
//! configuration twice changes nothing the second time.

mod apply;
mod cap;
mod conflict;
mod entries;
mod last_applied;
mod owners;
pub mod scale;
mod shape;
mod update;

pub use apply::{ApplyError, apply};
pub use conflict::{Conflict, Conflicts};
pub use entries::valid;
pub use shape::{NOT_STATUS, STATUS, Shape, Versions};
pub use update::update;

/// Whoever writes.
#[derive(Clone, Copy, Debug)]
pub struct Manager<'a> {
    /// The name from the request's `fieldManager`, or what the client calls itself; empty counts as `unknown`.
    pub name: &'a str,
    /// The group and version the object is written in, as `apiVersion` spells it.
    pub api_version: &'a str,
    /// The subresource that is written, or nothing.
    pub subresource: &'a str,
    /// The time of the write in RFC 3339.
    pub time: &'a str,
}
