//! Walks over objects guided by a schema: what is in them, how two of them differ, how one is laid over another.
//!
//! Every walk looks at the object through [`Type`], which answers the three questions that decide ownership: is this a
//! leaf, which element does a list item have, and which type does a field have. Walks are total: what the schema does
//! not explain is treated as free-form, except by [`check`], whose purpose is to refuse it.

mod check;
mod compare;
mod extract;
mod lists;
mod merge;
mod reconcile;
mod remove;
mod types;

pub(crate) use check::{Strictness, check};
pub(crate) use compare::{Comparison, compare};
pub(crate) use extract::field_set;
pub(crate) use merge::merge;
pub(crate) use reconcile::reconcile;
pub(crate) use remove::{remove, with_named_fields};
pub(crate) use types::Type;
