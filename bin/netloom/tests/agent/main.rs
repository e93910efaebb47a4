//! `netloom agent` and `netloom client` against an embedded server, with a network namespace as the node.
//!
//! Needs root for the namespace; where that is missing the tests say so and end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]
#![expect(clippy::disallowed_methods, reason = "the tests bound how long they wait for other processes")]
#![expect(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod client;
mod cut;
mod daemon;
mod documented;
#[path = "../embedded/mod.rs"]
mod embedded;
mod left_behind;
mod neighbours;
mod site;
mod status;
