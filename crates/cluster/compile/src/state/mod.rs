//! What the network state of a node says: the links that the node reports, and the desired state with what was
//! written there manually and what came from objects.

pub(crate) mod document;
mod inventory;
pub(crate) mod leaves;
mod manual;
mod provenance;

pub use inventory::{Inventory, Link, Neighbour};
pub use manual::Manual;
pub use provenance::{Provenance, Share};
