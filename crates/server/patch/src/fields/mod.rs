//! Sets of fields: which places of an object a manager owns.
//!
//! A [`Set`] is a tree of [`Element`]s. A place can be a member itself, have members below it, or both. The JSON form
//! (`FieldsV1`) is a trie whose keys are elements and whose `.` key says that the place itself is a member.
//!
//! Not here: the meaning of a place; which element a list item has is decided by the schema walk in `typed`.

mod element;
mod set;
mod text;

pub(crate) use element::{ByValue, path_text, same};
pub use element::{Element, Path};
pub use set::Set;
pub use text::FieldsError;
