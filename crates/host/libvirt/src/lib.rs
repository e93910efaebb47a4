//! A client of libvirt's daemons, over their sockets.
//!
//! libvirtd, and virtqemud of the modular daemons, answer calls of one protocol on a socket: frames of numbers and strings,
//! a serial number for each call, events in between. This crate knows the few calls that the domains of virtual machines
//! need; it knows no XML and does not know what for they are made.
//!
//! What holds:
//!
//! - A call ends within its time limit, whatever the daemon does; afterwards the connection counts as gone, because an
//!   answer that comes late would be taken for that of the next call.
//! - What a daemon sends is data: no length in it makes this process reserve memory that was not received, and nothing
//!   makes it panic.
//! - What libvirt refuses is an [`Error::Refused`] with its own words; the connection stays.
//!
//! Nothing here connects again by itself: whoever has the client knows what has to be read again then.

mod client;
mod error;
mod event;
pub mod frame;
pub mod procedure;

pub use client::{Client, Destination, Form, Handle, RunState, Scope};
pub use error::{Error, code};
pub use event::{Change, Event};
