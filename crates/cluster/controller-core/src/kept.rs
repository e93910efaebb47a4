//! The status of an object as its type has it. It is read once, when the object comes: that of a host network has an
//! entry for each of hundreds of nodes, and is looked at in every turn.

use std::{any::Any, fmt, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The status of an object of some kind.
#[derive(Debug, Clone)]
pub(crate) struct Kept(Arc<dyn Status>);

/// How the status of a kind is read; what cannot be read was never reported.
pub(crate) type Reader = fn(&Value) -> Option<Kept>;

trait Status: Any + fmt::Debug + Send + Sync {
    fn is(&self, other: &dyn Any) -> bool;
}

impl<T: PartialEq + fmt::Debug + Send + Sync + 'static> Status for T {
    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl Kept {
    /// Reads a status as this type.
    pub(crate) fn read<T>(status: &Value) -> Option<Self>
    where
        T: DeserializeOwned + PartialEq + fmt::Debug + Send + Sync + 'static,
    {
        T::deserialize(status).ok().map(|status| Self(Arc::new(status)))
    }

    /// The status, where it was read as this type.
    pub(crate) fn get<T: 'static>(&self) -> Option<&T> {
        let status: &dyn Any = self.0.as_ref();
        status.downcast_ref()
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(other.0.as_ref())
    }
}
