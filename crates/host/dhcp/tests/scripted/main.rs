//! A client and a server with a script: what is sent when, to whom, with which fields, and what follows.
//!
//! Time is simulated. Each file is one part of a client's life; [`stage`] has what they share.
#![expect(clippy::unwrap_used, reason = "a test whose story is wrong has to stop")]

mod acquiring;
mod conflicts;
mod expecting;
mod faults;
mod keeping;
mod releasing;
mod restarting;
mod stage;
mod storms;
