//! What is asked of the API, as values.

use std::sync::Arc;

use netloom_api::admission::GroupKind;
use netloom_compile::{ObjectKey, hostnet::HostPart};
use serde_json::{Value, json};

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
    /// The same for the configuration of a node. What host networks want of it stands beside the rest and is shared with
    /// what was compiled: thousands of nodes may be told at once, and as JSON that would be several times all memory.
    Tell {
        /// The fields, but for what host networks want.
        object: Value,
        /// What host networks want.
        host: Option<Arc<HostPart>>,
    },
    /// Server-side apply for the status.
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

/// The fields of [`Action::Tell`] all together, as they are sent.
pub fn told(object: &Value, host: Option<&HostPart>) -> Value {
    let mut object = object.clone();
    if let Some(config) = host.and_then(|part| part.config.as_ref()) {
        object["spec"]["host"] = json!(config);
    }
    object
}

/// Requests that follow each other: when one is refused, those after it are not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain(pub Vec<Request>);
