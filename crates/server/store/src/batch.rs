//! What goes into the store and what comes out: changes, objects, pages, events.

use bytes::Bytes;

use crate::{Key, Revision};

/// One change of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The object.
    pub key: Key,
    /// What must hold for the whole batch to be written.
    pub expect: Expect,
    /// What happens to the object.
    pub operation: Operation,
}

impl Change {
    /// Creates an object that must not exist.
    pub fn create(key: Key, value: impl Into<Bytes>) -> Self {
        Self { key, expect: Expect::Absent, operation: Operation::Put(value.into()) }
    }

    /// Replaces an object as it was read at this revision.
    pub fn update(key: Key, read: Revision, value: impl Into<Bytes>) -> Self {
        Self { key, expect: Expect::Revision(read), operation: Operation::Put(value.into()) }
    }

    /// Creates or replaces an object, whatever is there.
    pub fn put(key: Key, value: impl Into<Bytes>) -> Self {
        Self { key, expect: Expect::Any, operation: Operation::Put(value.into()) }
    }

    /// Deletes an object if `expect` holds.
    pub fn delete(key: Key, expect: Expect) -> Self {
        Self { key, expect, operation: Operation::Delete }
    }

    /// Changes nothing, but lets the batch through only if `expect` holds for this object: for
    /// instance that the namespace of a new object is still as it was read.
    pub fn check(key: Key, expect: Expect) -> Self {
        Self { key, expect, operation: Operation::Check }
    }

    /// How many bytes of a value it carries.
    pub(crate) fn weight(&self) -> usize {
        match &self.operation {
            Operation::Put(value) => value.len(),
            Operation::Delete | Operation::Check => 0,
        }
    }
}

/// What must hold for an object at the moment of the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Any,
    /// It does not exist.
    Absent,
    /// It exists.
    Present,
    /// It exists and was last changed at this revision.
    Revision(Revision),
}

impl Expect {
    /// Whether an object that was last changed at `current` (nothing: it is not there) will do.
    pub(crate) fn holds(self, current: Option<Revision>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Present => current.is_some(),
            Self::Revision(wanted) => current == Some(wanted),
        }
    }
}

/// What happens to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// It gets this value.
    Put(Bytes),
    /// It goes. Deleting what is not there does nothing.
    Delete,
    /// Nothing.
    Check,
}

/// The outcome of a batch that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The revision of each change, in order; nothing for one that changed nothing.
    pub revisions: Vec<Option<Revision>>,
}

impl Written {
    /// The revision of the last change that changed something.
    pub fn last(&self) -> Option<Revision> {
        self.revisions.iter().rev().find_map(|revision| *revision)
    }
}

/// An object as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// When it was last changed.
    pub revision: Revision,
    /// When it was created.
    pub created: Revision,
    /// Its value.
    pub bytes: Bytes,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The revision at which all of this was true; ask for the next page at the same one.
    pub revision: Revision,
    /// The objects, ordered by key.
    pub items: Vec<(Key, Object)>,
    /// Whether there are more behind the last item.
    pub more: bool,
    /// How many there are behind the last item; only known for the first page of a list of the
    /// newest state. For the pages after it, take the length of each page from the number before.
    pub remaining: Option<u64>,
}

/// One change that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub revision: Revision,
    /// To which object.
    pub key: Key,
    /// What.
    pub kind: EventKind,
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The object was created or replaced.
    Put {
        /// What it is now.
        object: Object,
        /// What it was before; nothing if it was created.
        previous: Option<Object>,
    },
    /// The object was deleted.
    Delete {
        /// What it was before.
        previous: Object,
    },
}

impl Event {
    /// What the object is after the event.
    pub fn object(&self) -> Option<&Object> {
        match &self.kind {
            EventKind::Put { object, .. } => Some(object),
            EventKind::Delete { .. } => None,
        }
    }

    /// What the object was before the event.
    pub fn previous(&self) -> Option<&Object> {
        match &self.kind {
            EventKind::Put { previous, .. } => previous.as_ref(),
            EventKind::Delete { previous } => Some(previous),
        }
    }

    /// About how much memory the event takes.
    pub(crate) fn weight(&self) -> usize {
        let bytes = |object: Option<&Object>| object.map_or(0, |object| object.bytes.len());
        size_of::<Self>() + bytes(self.object()) + bytes(self.previous())
    }
}
