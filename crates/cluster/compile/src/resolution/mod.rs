//! What a node gets of everything that front ends want of it: the one place where conflicts are decided.
//!
//! ```text
//! contributions for the configuration, in the order of front ends   (older object first, then by name)
//! what was written manually into the desired state
//! contributions for the desired state, in the same order
//! ```
//!
//! What one object wants of one link, route or setting is a [`Unit`]: it is taken whole or left out whole. Beside its
//! values it claims what follows from them: names, VLANs of a base, ports, routing tables, addresses. A unit that
//! claims something else than one before it is left out, and so is what stands on a link that nobody wants any more for
//! that reason. Equal values are no conflict. What was written manually is never removed from the object that it
//! stands in: where it loses, the node leaves it out by the same comparison ([`contradiction`]).
//!
//! What a node already has for somebody is not taken away by a newcomer: front ends ask its [`Inventory`] before they
//! contribute, and give way.
//!
//! [`Inventory`]: crate::Inventory

mod between;
mod fabric;
mod host;
mod layers;
mod merge;
mod settle;
mod standing;
mod unit;

pub use merge::{Desired, contradiction};

pub(crate) use fabric::{fabric_without, links_of, links_of_vrf};
pub(crate) use host::{HostUnits, without};
pub(crate) use layers::{Ground, resolve};
pub(crate) use unit::{Part, Unit, hops, is_absent, is_absent_item, makes_link, refs, route_subject};
