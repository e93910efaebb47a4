//! An in-memory host with the semantics of the kernel.
//!
//! [`SimHost`] holds a picture of a host and changes it as Linux would when it is given the same
//! [`Step`](netloom_model::Step)s: with the same refusals, and with everything that goes or comes
//! along with a step. The planner carries its candidate steps out here to learn what each of them
//! costs; tests run whole transactions on it.
//!
//! ```text
//! host        the picture, its journal of one step, and the way in
//! index       what stands on what, kept beside the picture so that no step looks at every link
//! create, delete, admin, attrs, mac, mtu, defaults, unique, names      one link
//! controller  ports of bridges (with cost and vlan), bonds (with bond) and VRFs
//! address, neighbour, route, derived, next_hop, rule, fdb, mirror, settings   everything else
//! lookup      where a packet would go
//! memory      what the kernel knows and does not show
//! ```
//!
//! It is not a network: no packet moves, no link loses its carrier, no lease ends. Hardware
//! addresses that the kernel makes up are made from the link's name here (see [`generated_mac`]), so
//! a comparison with a real host must leave those out that nobody asked for. Routes that the kernel
//! derives from addresses are not kept in [`Observed::derived_routes`](netloom_model::Observed);
//! [`lookup()`] derives them when it needs them.

mod address;
mod admin;
mod attrs;
mod bond;
mod controller;
mod cost;
mod create;
mod defaults;
mod delete;
mod derived;
mod errno;
mod fdb;
mod host;
mod index;
#[cfg(test)]
mod laws;
pub mod lookup;
mod mac;
mod memory;
mod mirror;
mod mtu;
mod names;
mod neighbour;
mod next_hop;
mod route;
mod routing;
mod rule;
mod settings;
#[cfg(test)]
mod testing;
mod unique;
mod vlan;

pub use derived::stand_in;
pub use host::SimHost;
pub use lookup::{Lookup, lookup};
pub use mac::generated_mac;
pub use memory::Memory;
