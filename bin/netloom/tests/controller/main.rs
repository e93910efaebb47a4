//! `netloom controller` beside a real server, as processes: a change reaches one node, then the others; a bad one is
//! taken back; and controllers that are killed, stopped and started again lose and repeat nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod agents;
mod cluster;
#[path = "../embedded/mod.rs"]
mod embedded;
mod process;
mod way;

mod documented;
mod leaders;
mod rollouts;
mod waiting;
