//! A client of `DHCPv4` as values: what is on the wire, and what each link does next.
//!
//! ```text
//! frame --Datagram::read--> bytes --Message::read--> Message --Terms::of--> Terms, or a Refusal in words
//! ```
//!
//! The crate is pure. It never panics on what it is given, keeps nothing of a message beyond what it
//! needs, and refuses as a whole what breaks a rule that an address depends on.

pub mod arp;
pub mod datagram;
pub mod filter;
mod host_address;
mod identity;
mod malformed;
mod message;
mod options;
mod routes;
mod terms;

pub use identity::{ClientId, HostName, InvalidIdentity};
pub use malformed::Malformed;
pub use message::{CLIENT_PORT, Kind, LEAST_LONGEST, LONGEST, Message, Operation, SERVER_PORT};
pub use options::{Options, code};
pub use routes::Route;
pub use terms::{Note, Refusal, Terms};
