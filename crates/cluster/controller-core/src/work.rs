//! What is asked for in one turn, before it has numbers.

use jiff::Timestamp;
use netloom_api::GroupKind;
use netloom_compile::ObjectKey;
use netloom_object::{Action, ObjectRef};
use serde::Serialize;
use serde_json::json;

use crate::{index::Index, kinds::StatusPath};

/// Chains of requests without their numbers.
#[derive(Debug, Default)]
pub(crate) struct Work(pub(crate) Vec<Vec<(ObjectRef, Action)>>, Option<Timestamp>);

impl Work {
    /// Asks for the next turn at this time at the latest.
    pub(crate) fn wake_at(&mut self, time: Option<Timestamp>) {
        self.1 = [self.1, time].into_iter().flatten().min();
    }

    /// When the next turn is asked for.
    pub(crate) fn next_turn(&self) -> Option<Timestamp> {
        self.1
    }

    pub(crate) fn single(&mut self, target: ObjectRef, action: Action) {
        self.0.push(vec![(target, action)]);
    }

    /// Deletes an object in the version that was looked at.
    pub(crate) fn delete(&mut self, index: &Index, kind: GroupKind<'static>, key: &ObjectKey) {
        if let Some(mark) = index.mark(kind, key) {
            let (uid, resource_version) = (mark.uid.clone(), mark.resource_version.clone());
            self.single(ObjectRef { kind, key: key.clone() }, Action::Delete { uid, resource_version });
        }
    }

    /// Writes a status where the table of kinds says. It is tied to the version that was looked at: one that was
    /// decided on long ago, by a process that was stopped meanwhile, must not take back what was reported since.
    pub(crate) fn status(&mut self, index: &Index, kind: GroupKind<'static>, key: &ObjectKey, status: &impl Serialize) {
        let Some((row, path)) = index.kinds().rows(kind).find_map(|row| Some((row, row.reported?))) else { return };
        let mut object = json!({
            "apiVersion": row.api_version(), "kind": kind.kind, "metadata": {"name": key.name}, "status": status,
        });
        if !key.namespace.is_empty() {
            object["metadata"]["namespace"] = json!(key.namespace);
        }
        if let Some(known) = index.mark(kind, key) {
            object["metadata"]["resourceVersion"] = json!(known.resource_version);
        }
        let action = match path {
            StatusPath::Subresource => Action::ApplyStatus { object },
            StatusPath::Object => Action::Apply { object, late: None },
        };
        self.single(ObjectRef { kind, key: key.clone() }, action);
    }
}
