//! Host networks: from cluster networks, uplinks and host networks to what each node gets.
//!
//! ```text
//! objects --Networks::live--> uplinks, host networks with the names of their interfaces, attachments
//! Networks x group of nodes --Choice::of--> which of them are for these nodes
//! Choice x Inventory x the node's own address --HostPart::of--> NodeNetworkConfig.spec.host, and what was left out
//! ```
//!
//! Whether an object is for a node depends on its group; what comes of it there on the links that the node reports,
//! and on the address that it is given. Each is worked out once for all nodes for which it is the same.

mod choice;
pub mod document;
mod naming;
mod networks;
mod objects;
mod part;
mod prepared;
mod report;
mod vlans;

pub use networks::{Asking, Broken};
pub use objects::{Attachment, ClusterNetwork, HostNetworkConfig, LinkMonitor, VlanConfig, VlanStatus, Wished};
pub use part::{HostPart, Refusal};
pub use report::{NetworkReport, Reports};

pub(crate) use choice::Choice;
pub(crate) use networks::{Known, Networks, Readings};
pub(crate) use report::reports;
