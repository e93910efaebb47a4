//! What the network state of a node says: the links that the node reports, and the desired state with what was
//! written there manually and what came from objects.

pub(crate) mod document;
mod hand;
mod inventory;
pub(crate) mod leaves;
mod provenance;

pub use hand::Hand;
pub use inventory::{Inventory, Link, Neighbour};
pub use provenance::{Provenance, Share};
