//! Structural schemas of Kubernetes kinds: strict decoding, pruning, defaulting and validation.
//!
//! What a request body goes through, each step a function of values:
//!
//! ```text
//! bytes ─► decode ─► prune ─► apply_defaults ─► validate ─► the object, or field errors
//!                                                  │
//!                                        Rules: the language of x-kubernetes-validations
//! ```
//!
//! Pure: no file, clock or randomness. Knows no kind by name, only definitions and metadata.

pub mod correlate;
pub mod crd;
pub mod decode;
mod defaults;
mod field_error;
pub mod field_path;
pub mod formats;
pub mod go_text;
pub mod jsonpath;
pub mod metadata;
pub mod names;
mod paths;
mod pattern;
mod prune;
mod rules;
mod schema;
pub mod selector;
pub mod table;
mod validate;

pub use self::{
    defaults::{apply_defaults, fill_defaults},
    field_error::{Cause, FieldError, aggregate},
    pattern::Pattern,
    prune::prune,
    rules::{NoRules, Place, Rules},
    schema::{Additional, ListType, MapType, Rule, Schema, Shape, Type},
    validate::{check_lists, validate, validate_status},
};
