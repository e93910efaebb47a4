//! The store through its public face: on real files, with restarts, crashes and full disks.

mod basics;
mod scratch;
