//! The kernel engine: netlink sockets, observer, executor, events.
//!
//! ```text
//! wire     bytes of messages and attributes, pure
//! codecs   model values <-> messages, pure: address, route, rule, neighbour, link, bridge, mirror, ethtool
//! socket   requests, acknowledgements, dumps
//! netns    a thread for each network namespace
//! kernel   what lives on that thread; host is the handle to it
//! observe  dumps -> Observed
//! steps    step -> messages, or work that runs alone
//! execute  steps in batches -> one result for each step
//! events   the kernel's notifications, debounced
//! hearing  frames of neighbours, on links that are listened on
//! frames   whole frames in and out, as filters let them through
//! settings what the kernel holds for the whole host; sysctl: settings of links
//! probe    whether something is still reached
//! ```
//!
//! This is the only crate that talks to the kernel about networks. It decides nothing: what to
//! change and in which order comes from the planner.

pub mod address;
mod alone;
#[cfg(test)]
mod any_bytes;
pub mod bridge;
mod cable;
mod child;
pub mod consts;
pub mod debounce;
mod delete;
pub mod ethtool;
pub mod events;
mod execute;
pub mod frames;
pub mod hearing;
mod host;
mod kernel;
pub mod link;
pub mod link_map;
pub mod mirror;
pub mod neighbour;
pub mod netns;
mod observe;
pub mod probe;
pub mod route;
pub mod rule;
mod rule_removal;
mod settings;
pub mod socket;
mod steps;
pub mod sysctl;
pub mod wire;

pub use child::{Child, ChildKind};
pub use host::KernelHost;
pub use kernel::Options;
pub use netns::Namespace;
