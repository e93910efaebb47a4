//! A client of `DHCPv4` as values: what is on the wire, and what each link does next.
//!
//! ```text
//! frame --Datagram::read--> bytes --Message::read--> Message --Terms::of--> Terms, or a Refusal in words
//! ```
//!
//! and above it, for each link:
//!
//! ```text
//! link up or down, frames, ARP, time ──► Client::handle ──► frames to send, address to hold or drop,
//! lease on disk ──► Client::start         │                 lease to keep or forget, what to tell people
//!                                         └── wake_at: when to come back
//! ```
//!
//! [`Clients`] has those of all links of a machine, with one moment at which to come back.
//!
//! The crate is pure: whoever runs it owns sockets, clock and disk. It never panics on what it is given,
//! keeps nothing of a message beyond what it needs, and refuses as a whole what breaks a rule that an
//! address depends on. It follows RFC 2131, 2132, 3396, 3442, 4361, 5227 and 6842.

pub mod arp;
mod client;
mod clients;
pub mod datagram;
mod effect;
pub mod filter;
mod host_address;
mod identity;
mod ignored;
mod lease;
mod malformed;
mod message;
mod options;
mod random;
mod routes;
mod settings;
mod standing;
mod terms;
mod time;

pub use client::{Client, Remembered};
pub use clients::Clients;
pub use effect::{Action, Configuration, Input};
pub use identity::{ClientId, HostName, InvalidIdentity};
pub use ignored::{Counts, Ignored};
pub use lease::Lease;
pub use malformed::Malformed;
pub use message::{CLIENT_PORT, Kind, LEAST_LONGEST, LONGEST, Message, Operation, SERVER_PORT};
pub use options::{Options, code};
pub use routes::Route;
pub use settings::{Probing, RouteChoice, Settings};
pub use standing::Standing;
pub use terms::{Note, Refusal, Terms};
pub use time::{Moment, Now};
