//! What is asked of the API, as values.

use netloom_api::admission::GroupKind;
use netloom_compile::ObjectKey;
use serde_json::Value;

/// An object by kind and names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: GroupKind<'static>,
    /// Its namespace and name.
    pub key: ObjectKey,
}

/// The number of a request, unique for one controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its number, to answer by.
    pub id: RequestId,
    /// The object that it is about.
    pub target: ObjectRef,
    /// What is asked for.
    pub action: Action,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Make it. One that is there already is as good.
    Create {
        /// The object.
        object: Value,
    },
    /// Server-side apply under [`crate::MANAGER`], forced.
    Apply {
        /// The fields.
        object: Value,
    },
    /// The same for the status.
    ApplyStatus {
        /// The fields.
        object: Value,
    },
    /// A JSON merge patch.
    Patch {
        /// The patch.
        patch: Value,
    },
    /// Delete it, if it is still the one that was looked at.
    Delete {
        /// Its uid.
        uid: String,
        /// Its version.
        resource_version: String,
    },
}

/// Requests that follow each other: when one is refused, those after it are not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain(pub Vec<Request>);
