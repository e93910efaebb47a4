//! The transaction from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]
#![expect(clippy::redundant_closure_for_method_calls, reason = "the bare method is not general over lifetimes")]

mod bench;
mod ends;
mod killed;
mod on_sim;
mod waits;
