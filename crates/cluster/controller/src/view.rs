//! What the admission rules look at, kept current from the API.
//!
//! Nobody sees the view before every kind was listed once: rules that find nothing would let everything
//! pass. A kind that the cluster does not have counts as empty.
//!
//! The view is a moment behind the store, as with every webhook: two writes at the same moment can
//! pass a rule that only one of them should. The compiler meets the same objects again and gives the
//! later one its condition, so nothing on a node depends on this gap being closed.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
};

use netloom_admission::Objects;
use netloom_api::GroupKind;
use netloom_object::Change;
use serde_json::Value;
use tokio::sync::watch;

use crate::follow::viewed;

/// The objects, and whether every kind has been listed.
#[derive(Debug, Clone)]
pub struct Current {
    objects: Arc<RwLock<Objects>>,
    /// Kinds that nothing is known of yet.
    awaited: watch::Sender<BTreeSet<GroupKind<'static>>>,
}

impl Current {
    /// A view that waits to hear of every kind.
    pub fn awaiting() -> Self {
        let (awaited, _) = watch::channel(viewed().into_iter().collect());
        Self { objects: Arc::default(), awaited }
    }

    /// A complete view that does not change.
    pub fn of(objects: Objects) -> Self {
        let (awaited, _) = watch::channel(BTreeSet::new());
        Self { objects: Arc::new(RwLock::new(objects)), awaited }
    }

    /// Whether every kind has been listed.
    pub fn is_complete(&self) -> bool {
        self.awaited.borrow().is_empty()
    }

    /// Waits until every kind has been listed.
    pub async fn complete(&self) {
        // It cannot fail: this value holds the other end.
        self.awaited.subscribe().wait_for(BTreeSet::is_empty).await.ok();
    }

    /// Reads the objects.
    pub fn read<T>(&self, with: impl FnOnce(&Objects) -> T) -> T {
        with(&self.objects.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes note of a change of objects of a kind.
    pub(crate) fn take(&self, kind: GroupKind<'static>, change: &Change) {
        match change {
            Change::Put(object) => {
                self.write().put(Arc::clone(object));
            }
            Change::Gone(object) => {
                let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
                let name = text("/metadata/name").unwrap_or_default();
                self.write().remove(kind, text("/metadata/namespace"), name);
            }
            Change::Listed { objects, .. } => {
                self.write().replace(kind, objects.clone());
                self.heard_of(kind);
            }
        }
    }

    /// Takes note that the cluster does not have a kind.
    pub(crate) fn absent(&self, kind: GroupKind<'static>) {
        self.write().replace(kind, Vec::new());
        self.heard_of(kind);
    }

    fn heard_of(&self, kind: GroupKind<'static>) {
        self.awaited.send_if_modified(|awaited| awaited.remove(&kind));
    }

    fn write(&self) -> RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use netloom_api::foreign;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_view_is_complete_when_every_kind_was_heard_of() {
        let view = Current::awaiting();
        let node = Arc::new(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}));
        for kind in viewed() {
            assert!(!view.is_complete());
            if kind == foreign::NODE {
                view.take(kind, &Change::Listed { kind, objects: vec![Arc::clone(&node)] });
            } else {
                view.absent(kind);
            }
        }
        assert!(view.is_complete());
        assert_eq!(view.read(Objects::len), 1);
        view.take(foreign::NODE, &Change::Gone(node));
        assert_eq!(view.read(Objects::len), 0);
    }
}
