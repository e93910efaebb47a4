//! Objects of a Kubernetes API, followed and written: the same code for the controller and for agents.
//!
//! ```text
//! API --watch--> Change ......... Watch: one kind, or some objects of it
//! list -> objects ............... as they are in the server's own store
//! Chain --requests--> API ....... Writer: one request after the other, each with its outcome
//! ```
//!
//! What is followed and what is asked for is decided elsewhere, and so is where a kind is served.

mod list;
mod watch;
mod whole;
mod write;

pub use list::list;
pub use watch::Watch;
pub use whole::read;
pub use write::{Ended, Outcome, Writer};
