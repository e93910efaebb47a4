//! Every kind that Netloom serves, and its schema.
//!
//! ```text
//! Rust types --definition--> CustomResourceDefinition
//! ```
//!
//! The crate is pure: it reads no clock, no file and no network. A kind is one type that implements [`Declared`] and one
//! line in [`registry`]. What admission asks of a kind is in the crate of that name, the files that are made from kinds
//! come from `generate`.
#![allow(clippy::duplicated_attributes, reason = "columns of one kind may well have the same type")]

pub mod condition;
pub mod definition;
pub mod dig;
pub mod effects;
pub mod fabric;
pub mod fields;
pub mod foreign;
pub mod hostnet;
pub mod machine;
pub mod nodestate;
mod owner;
pub mod pipeline;
pub mod podnet;
pub mod registry;
pub mod rollout;
pub mod selector;
#[cfg(any(test, feature = "derive"))]
mod structural;

pub use definition::{Declared, GroupKind, Install, Kind, NodeField, Owner};
pub use registry::{find, kinds};

/// The namespace of the controller and the agents.
pub const NAMESPACE: &str = "netloom-system";
