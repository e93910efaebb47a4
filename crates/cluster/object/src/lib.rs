//! Objects of a Kubernetes API as values: which one is meant, which version is newer, what happened to
//! objects, and what is asked for.
//!
//! ```text
//! watches, answers --Change--> Ledger: the newest version of each object
//! decisions --Chain of Requests--> whoever writes --Answer--> decisions
//! ```
//!
//! Controller and agent share it. The crate is pure and knows no kind: who follows objects says which
//! kinds there are, `netloom-client` carries requests out.

mod change;
pub mod key;
mod kind;
mod late;
mod ledger;
mod request;
mod version;

pub use change::Change;
pub use key::{Meta, ObjectKey, ObjectRef};
pub use kind::GroupKind;
pub use late::LateField;
pub use ledger::Ledger;
pub use request::{Action, Answer, Chain, Request, RequestId, with_late};
pub use version::Version;
