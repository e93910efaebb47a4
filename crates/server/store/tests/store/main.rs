//! The store through its public face: on real files, with restarts, crashes and full disks.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod basics;
mod concurrent;
mod crash;
mod full;
mod model;
mod refused;
mod scratch;
