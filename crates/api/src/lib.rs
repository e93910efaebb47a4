//! Every kind that Netloom serves, its schema, and the rules that its objects keep.
//!
//! ```text
//! Rust types --definition--> CustomResourceDefinition --generate--> manifests, reference, effects table
//! write + view + user --admission--> allowed, or refused with field paths; warnings; patch
//! ```
//!
//! The crate is pure: it reads no clock, no file and no network. The embedded server, the webhook
//! and `netloom validate` call the same functions. A kind is one type that implements
//! [`Declared`] and one line in [`registry`].
#![allow(clippy::duplicated_attributes, reason = "columns of one kind may well have the same type")]

pub mod admission;
pub mod condition;
pub mod definition;
mod dig;
pub mod effects;
pub mod fabric;
pub mod fields;
pub mod foreign;
pub mod generate;
pub mod hostnet;
pub mod nodestate;
mod owner;
pub mod registry;
pub mod rollout;
pub mod selector;
#[cfg(any(test, feature = "derive"))]
mod structural;

pub use definition::{Declared, Index, Install, Kind, NodeField, Owner};
pub use registry::{find, kinds};
