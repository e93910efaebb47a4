//! A client of FRR's daemons, over the unix sockets on which vtysh talks to them.
//!
//! ```text
//! answer    what a daemon sends back: text and a status
//! vty       one connection: a line out, its answer in, within a time
//! place     where in its configuration a daemon is, and the lines that lead elsewhere
//! secret    lines without the passwords in them
//! daemons   the daemons of one FRR: their releases, configurations, lines
//! view      what they report, as typed values
//! ```
//!
//! This crate knows how to talk to daemons. It does not know what a configuration should be, which line belongs to which
//! daemon, or in which order lines go: that is its caller's. It runs no program and writes no file.
//!
//! Two rules always hold. A daemon is sent one line at a time, because it drops whatever arrives with a line. And a line is
//! never sent twice, unless the daemon answered that it could not even begin: after silence nobody knows what became of it.

mod answer;
mod daemons;
mod error;
mod place;
mod secret;
mod version;
mod view;
mod vty;

pub use answer::{Answer, Status};
pub use daemons::Daemons;
pub use error::{FrrError, Refusal};
pub use netloom_routing::Daemon;
pub use secret::masked;
pub use version::{InvalidVersion, Version};
pub use view::{
    bfd::{BfdPeer, BfdState},
    bgp::{Prefixes, Session, SessionState},
    zebra::{EvpnVni, VniKind, VrfVni, ZebraLink},
};
pub use vty::{Limits, Vty};
