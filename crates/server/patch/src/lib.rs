//! Patches of Kubernetes objects, and who manages which of their fields.
//!
//! Four ways to change an object are here: JSON patch, merge patch, strategic merge patch for built-in kinds, and
//! server-side apply. The crate is pure: objects and patches are JSON values, the time of a write is a parameter, and
//! nothing is read from anywhere. It knows shapes from `netloom-schema` and nothing of HTTP.
//!
//! Not here: decoding bytes, pruning, defaulting, validation and admission, which the server runs around these
//! functions, and building patches, which is the client's side.

mod error;
pub mod fields;
mod json;
pub mod managed;
mod merge;
mod strategic;
mod typed;

pub use error::{PatchError, UNPROCESSABLE};
pub use json::{MAX_OPERATIONS, json_patch, json_patch_unknown_fields};
pub use merge::merge_patch;
pub use strategic::{MergeKeys, Strategy, strategic};
