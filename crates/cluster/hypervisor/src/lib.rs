//! The lane of a node's virtual machines with its sockets.
//!
//! ```text
//! words about instances --> Worker, a thread --Lane--> libvirt
//!                                  '--> told: what is wanted of the API, whether libvirt is there
//! ```
//!
//! What is done is decided in `netloom-machine`. This waits for words, for libvirt's events and for time, connects again
//! when the daemon went, and moves domains beside everything else, because that takes as long as it takes. It knows no
//! API: whoever has the worker carries out what it wants.

mod bases;
mod connection;
mod worker;

pub use bases::Folder;
pub use connection::Connection;
pub use worker::{Options, Told, Word, Worker};
