//! Networks of pods: what is decided about them, on nodes and in the controller.
//!
//! ```text
//! Pod, its annotation --Wanted--> Node: names, addresses --Record--> whoever makes links and writes files
//! Node --IPBlock.spec--> Blocks (controller) --IPBlock.status--> Node
//! Record --DanmEp--> API --> pictures of used addresses (controller)
//! ```
//!
//! Objects, requests of runtimes and times come in as values; records and requests go out. What holds:
//!
//! - An address is given only out of the ranges that this node has, and is free again only when its record goes.
//! - A record names every interface before any of them is made, and is all that is needed to take them away.
//! - Nothing here waits for the API: what is not known yet is an answer too.

mod annotation;
mod blocks;
mod endpoint;
mod flight;
mod node;
mod picture;
mod pod;
mod record;

pub use annotation::{Ask, BadAnnotation, Wanted, read as read_annotation};
pub use blocks::Blocks;
pub use endpoint::endpoint_id;
pub use node::{Decision, Node, Waiting};
pub use pod::{POD, Pod};
pub use record::{Interface, LinkKind, Record, RecordedRoute, State};
