//! Which of two versions of an object is newer.

use serde_json::Value;

/// The version of an object, as far as versions can be compared: servers count, other writers need not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version(Option<u64>);

impl Version {
    /// The version that an object has.
    pub fn of(object: &Value) -> Self {
        Self(object.pointer("/metadata/resourceVersion").and_then(|version| version.as_str()?.parse().ok()))
    }

    /// Whether it is a later version; when that cannot be known it is.
    pub fn is_newer_than(self, known: Self) -> bool {
        self.0.zip(known.0).is_none_or(|(version, known)| version > known)
    }
}
