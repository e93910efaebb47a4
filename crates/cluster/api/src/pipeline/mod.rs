//! The pipeline between front ends and nodes, which all front ends share.
//!
//! ```text
//! objects of front ends => NetworkConfigRevision (with its parts) => NodeNetworkConfig => the node's agent
//!                                                                    NodeNetworkStatus <=
//! ```
//!
//! The controller freezes what front ends want into a revision, and the rollout gives it to one node after the other.
//! The kinds are of the group of the fabric, where they come from.

mod declared;
mod effects;
pub mod network_config_revision;
pub mod network_config_revision_part;
pub mod node_network_config;
pub mod node_network_status;

pub use self::{
    network_config_revision::NetworkConfigRevision, network_config_revision_part::NetworkConfigRevisionPart,
    node_network_config::NodeNetworkConfig, node_network_status::NodeNetworkStatus,
};
pub use crate::fabric::GROUP;
