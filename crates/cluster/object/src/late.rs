//! A field that becomes JSON only when it is sent.
//!
//! Thousands of objects may be written at once that share most of what they say, and as JSON that would be several times
//! all memory.

use std::{fmt, sync::Arc};

use serde_json::Value;

/// A field of a specification, shared with whoever decided it.
#[derive(Clone)]
pub struct LateField {
    name: &'static str,
    value: Arc<dyn Fn() -> Value + Send + Sync>,
}

impl LateField {
    /// The field of this name in `spec`.
    pub fn new(name: &'static str, value: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self { name, value: Arc::new(value) }
    }

    /// An object with the field.
    pub fn written_into(&self, mut object: Value) -> Value {
        object["spec"][self.name] = (self.value)();
        object
    }
}

impl PartialEq for LateField {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && (Arc::ptr_eq(&self.value, &other.value) || (self.value)() == (other.value)())
    }
}

impl fmt::Debug for LateField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LateField").field(&self.name).field(&(self.value)()).finish()
    }
}
