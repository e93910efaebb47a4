//! What is asked of the API, as values.

use std::borrow::Cow;

use serde_json::Value;

use crate::{key::ObjectRef, late::LateField};

/// The number of a request, unique for the one who asks.
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
    /// Server-side apply under the name of the one who asks, forced.
    Apply {
        /// The fields.
        object: Value,
        /// One that is written when the request is sent.
        late: Option<LateField>,
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
    /// A JSON patch that begins with tests of what it was made from. One that fails means that somebody else was there
    /// first.
    PatchTested {
        /// The patch, a list of operations.
        patch: Value,
    },
    /// Nothing, unless it is there: what follows is only right while it is not. It may be there and not be known of, because
    /// kinds are heard of one after the other.
    Absent {
        /// Its uid; one of another uid is another one.
        uid: String,
    },
    /// Delete it, if it is still the one that was looked at.
    Delete {
        /// Its uid.
        uid: String,
        /// Its version.
        resource_version: String,
    },
}

/// The fields of [`Action::Apply`] all together, as they are sent.
pub fn with_late<'a>(object: &'a Value, late: Option<&LateField>) -> Cow<'a, Value> {
    match late {
        Some(late) => Cow::Owned(late.written_into(object.clone())),
        None => Cow::Borrowed(object),
    }
}

/// Requests that follow each other: when one is refused, those after it are not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain(pub Vec<Request>);

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is done; whoever asked has heard before what the server has now.
    Done,
    /// It was refused, or nothing was heard of it; asked again it may be done.
    Refused,
    /// It is not allowed, or not what the server takes: asked again it would be refused again.
    Denied,
    /// It was not sent, because one before it in its chain was refused.
    Skipped,
}
