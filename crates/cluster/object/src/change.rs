//! What happened to objects.

use std::sync::Arc;

use serde_json::Value;

use crate::kind::GroupKind;

/// Something that happened to objects.
#[derive(Debug, Clone)]
pub enum Change {
    /// An object is there, new or changed; also what a server answers to a write.
    Put(Arc<Value>),
    /// An object went; this is what it was last.
    Gone(Arc<Value>),
    /// All objects of a kind were listed again.
    Listed {
        /// The kind.
        kind: GroupKind<'static>,
        /// Every object of it.
        objects: Vec<Arc<Value>>,
    },
}
