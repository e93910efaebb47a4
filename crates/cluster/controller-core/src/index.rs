//! Everything that is watched, as it was last seen.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::{GroupKind, rollout::annotation};
use netloom_compile::{FrontEnd, NodeState, ObjectKey, Put, Snapshot};
use netloom_object::{Change, Ledger, ObjectRef, Version};
use serde_json::Value;

use crate::{
    front_end::FrontEnds,
    generated::GENERATED_BY,
    kept::Kept,
    kinds::{Kinds, LEASE},
    policies::STATE,
    signs::Signs,
};

/// Everything that is watched.
#[derive(Debug, Clone)]
pub struct Index {
    kinds: Cow<'static, Kinds>,
    snapshot: Snapshot,
    marks: Ledger<Mark>,
    signs: Signs,
    changes: u64,
    changed_at: Option<Timestamp>,
}

/// What is kept of an object beside what a snapshot reads, as far as the table of kinds wants it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Mark {
    pub(crate) uid: String,
    /// The version as the server writes it.
    pub(crate) resource_version: String,
    pub(crate) generation: Option<i64>,
    /// Types of conditions that are `True`.
    pub(crate) conditions: BTreeSet<String>,
    /// The status that we write.
    pub(crate) status: Option<Kept>,
    /// Annotations that we write.
    pub(crate) notes: BTreeMap<&'static str, String>,
    /// What holds it when it is deleted.
    pub(crate) finalizers: Vec<String>,
    /// What it asks for; looked at where an object cannot be read whole, or where it is ours to write.
    pub(crate) spec: Option<Value>,
    /// All of it.
    pub(crate) object: Option<Arc<Value>>,
    /// The front end that generated it.
    pub(crate) generated_by: Option<String>,
    /// Whether it is on its way out.
    pub(crate) deleted: bool,
}

impl Default for Index {
    fn default() -> Self {
        Self::following(Cow::Borrowed(Kinds::built_in()), Snapshot::default())
    }
}

impl Index {
    /// One that follows the kinds of these front ends.
    pub fn of(front_ends: &[&'static dyn FrontEnd]) -> Self {
        Self::following(Cow::Owned(Kinds::of(&FrontEnds::of(front_ends))), Snapshot::of(front_ends))
    }

    fn following(kinds: Cow<'static, Kinds>, snapshot: Snapshot) -> Self {
        Self { kinds, snapshot, marks: Ledger::default(), signs: Signs::default(), changes: 0, changed_at: None }
    }

    /// The kinds that it follows.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Takes note of a change.
    pub fn take(&mut self, now: Timestamp, change: Change) {
        let changed = match change {
            Change::Put(object) => self.put(&object) | self.signs.renewed(now, &object),
            Change::Gone(object) => self.gone(&object) | self.signs.gone(&object),
            Change::Listed { kind: LEASE, objects } => self.replace(LEASE, &[]) | self.signs.listed(now, &objects),
            Change::Listed { kind, objects } => self.replace(kind, &objects),
        };
        if changed {
            self.changes += 1;
            self.changed_at = Some(now);
        }
    }

    /// Whether every kind was listed.
    pub fn is_whole(&self) -> bool {
        self.kinds.all().iter().all(|kind| self.marks.is_listed(*kind))
    }

    /// The objects.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The signs of life of agents.
    pub(crate) fn signs(&self) -> &Signs {
        &self.signs
    }

    /// How many changes there were, and when the last one was.
    pub(crate) fn changes(&self) -> (u64, Option<Timestamp>) {
        (self.changes, self.changed_at)
    }

    /// What is kept of every object of a kind.
    pub(crate) fn marks(&self, kind: GroupKind<'static>) -> impl Iterator<Item = (&ObjectKey, &Mark)> {
        self.marks.of_kind(kind)
    }

    pub(crate) fn mark(&self, kind: GroupKind<'static>, key: &ObjectKey) -> Option<&Mark> {
        self.marks.get(kind, key)
    }

    /// The object that a document is. Signs of life are kept elsewhere.
    fn reference(&self, object: &Value) -> Option<ObjectRef> {
        self.kinds.reference(object).filter(|reference| reference.kind != LEASE)
    }

    fn mark_of(&self, kind: GroupKind<'static>, object: &Arc<Value>) -> Mark {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let note = |name: &str| {
            let annotations = object.pointer("/metadata/annotations")?;
            annotations.get(name)?.as_str().map(str::to_owned)
        };
        let mut mark = Mark {
            uid: text("/metadata/uid"),
            resource_version: text("/metadata/resourceVersion"),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64),
            ..Mark::default()
        };
        for row in self.kinds.rows(kind) {
            mark.notes.extend(row.notes.iter().filter_map(|name| Some((*name, note(name)?))));
            if row.conditions {
                mark.conditions = conditions(object);
            }
            if let Some(read) = row.status {
                mark.status = object.get("status").and_then(read);
            }
            if row.held {
                mark.finalizers = finalizers(object);
                mark.deleted = is_deleted(object);
            }
            if row.spec || row.generated {
                mark.spec = object.get("spec").cloned();
            }
            if row.whole {
                mark.object = Some(Arc::clone(object));
            }
            if row.generated {
                let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(GENERATED_BY)?.as_str());
                mark.generated_by = label.map(str::to_owned);
                mark.deleted = is_deleted(object);
                mark.notes.extend(note(annotation::DIGEST).map(|digest| (annotation::DIGEST, digest)));
            }
        }
        mark
    }

    fn put(&mut self, object: &Arc<Value>) -> bool {
        let Some(reference) = self.reference(object) else { return false };
        let version = Version::of(object);
        if !self.marks.is_news(&reference, version) {
            return false;
        }
        let mark = self.mark_of(reference.kind, object);
        let known = self.marks.get(reference.kind, &reference.key);
        let elsewhere = known.is_none_or(|known| known.beside() != mark.beside());
        let state = self.snapshot.states.get(&reference.key).cloned().filter(|_| reference.kind == STATE);
        let put = self.snapshot.put(object);
        let now = self.snapshot.states.get(&reference.key);
        let idle = state.zip(now).is_some_and(|(before, now)| says_the_same(&before, now));
        self.marks.put(reference, version, mark);
        match put {
            Put::Changed if idle => elsewhere,
            Put::Changed | Put::Unreadable => true,
            Put::Same | Put::Foreign => elsewhere,
        }
    }

    fn gone(&mut self, object: &Value) -> bool {
        let Some(reference) = self.reference(object) else { return false };
        self.marks.gone(reference.clone(), Version::of(object)) && self.removed(&reference)
    }

    /// Takes an object that went out of what decisions look at; whether it was there.
    fn removed(&mut self, reference: &ObjectRef) -> bool {
        let whole = self.kinds.rows(reference.kind).any(|row| row.whole);
        self.snapshot.remove(reference.kind, &reference.key) || whole
    }

    fn replace(&mut self, kind: GroupKind<'static>, objects: &[Arc<Value>]) -> bool {
        if !self.kinds.has(kind) {
            return false;
        }
        let mut changed = !self.marks.is_listed(kind);
        let listed = objects.iter().filter_map(|object| self.kinds.reference(object)).collect();
        for missing in self.marks.listed(kind, &listed) {
            changed |= self.removed(&missing);
        }
        for object in objects {
            changed |= self.put(object);
        }
        changed
    }
}

impl Mark {
    /// The status as its type has it; what cannot be read was never reported.
    pub(crate) fn status_as<T: 'static>(&self) -> Option<&T> {
        self.status.as_ref()?.get()
    }

    /// What matters and is not in a snapshot.
    fn beside(&self) -> impl PartialEq + '_ {
        let kept = (&self.status, &self.notes, &self.finalizers, &self.spec, &self.object);
        (&self.uid, &self.conditions, kept, &self.generated_by, self.deleted)
    }
}

fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

fn finalizers(object: &Value) -> Vec<String> {
    let all = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Whether two versions of a network state come to the same for every decision. Nodes report often, and
/// mostly nothing new.
fn says_the_same(a: &NodeState, b: &NodeState) -> bool {
    let node_target =
        |state: &NodeState| (state.meta.created.clone(), state.meta.deleted, state.meta.generation, state.managed);
    node_target(a) == node_target(b)
        && (&a.node_name, &a.desired, &a.revision, &a.provenance, a.merges_itself)
            == (&b.node_name, &b.desired, &b.revision, &b.provenance, b.merges_itself)
        && (&a.manual, &a.inventory, &a.status.conditions) == (&b.manual, &b.inventory, &b.status.conditions)
}

fn conditions(node: &Value) -> BTreeSet<String> {
    let all = node.pointer("/status/conditions").and_then(Value::as_array);
    let holds = |condition: &&Value| condition.get("status").and_then(Value::as_str) == Some("True");
    let kind = |condition: &Value| condition.get("type")?.as_str().map(str::to_owned);
    all.into_iter().flatten().filter(holds).filter_map(kind).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::NODE;

    fn node(version: u64, zone: &str, ready: &str) -> Arc<Value> {
        Arc::new(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": version.to_string(), "labels": {"zone": zone}},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
    }

    fn zone(index: &Index) -> Option<String> {
        index.snapshot().nodes.get(&ObjectKey::global("a")).map(|node| node.labels["zone"].clone())
    }

    #[test]
    fn an_older_version_never_replaces_a_newer_one() {
        let now = Timestamp::UNIX_EPOCH;
        let mut index = Index::default();
        index.take(now, Change::Put(node(7, "x", "True")));
        index.take(now, Change::Put(node(5, "y", "True")));
        index.take(now, Change::Gone(node(6, "x", "True")));
        assert_eq!(zone(&index).as_deref(), Some("x"));
        index.take(now, Change::Gone(node(8, "x", "True")));
        index.take(now, Change::Put(node(7, "x", "True")));
        assert_eq!(zone(&index), None, "what went does not come back");
        index.take(now, Change::Put(node(9, "z", "True")));
        assert_eq!(zone(&index).as_deref(), Some("z"), "unless it is recreated");
    }

    #[test]
    fn signs_of_life_are_no_changes_and_conditions_are() {
        let now = Timestamp::UNIX_EPOCH;
        let mut index = Index::default();
        index.take(now, Change::Put(node(1, "x", "True")));
        let before = index.changes();
        index.take(now, Change::Put(node(2, "x", "True")));
        assert_eq!(index.changes(), before);
        index.take(now, Change::Put(node(3, "x", "False")));
        assert_ne!(index.changes(), before);
    }

    #[test]
    fn a_report_with_nothing_new_is_no_change() {
        let state = |version: u64, applied: i64, link: &str| {
            Arc::new(json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
                "metadata": {"namespace": "n", "name": "a", "uid": "u", "resourceVersion": version.to_string()},
                "spec": {"managed": true, "nodeName": "a"},
                "status": {
                    "lastApplied": {"generation": applied, "time": "2030-01-01T00:00:00Z"},
                    "currentState": {"interfaces": [{"name": link, "type": "ethernet", "state": "up"}]},
                },
            }))
        };
        let now = Timestamp::UNIX_EPOCH;
        let mut index = Index::default();
        index.take(now, Change::Put(state(1, 1, "eth0")));
        let before = index.changes();
        index.take(now, Change::Put(state(2, 2, "eth0")));
        assert_eq!(index.changes(), before);
        let kept = index.snapshot().states.get(&ObjectKey::new("n", "a")).unwrap();
        assert_eq!(kept.meta.resource_version, "2", "writes are tied to the version that is there");
        index.take(now, Change::Put(state(3, 2, "eth1")));
        assert_ne!(index.changes(), before);
    }

    #[test]
    fn an_index_is_whole_when_every_kind_was_listed() {
        let mut index = Index::default();
        for kind in Kinds::built_in().all() {
            assert!(!index.is_whole());
            index.take(Timestamp::UNIX_EPOCH, Change::Listed { kind: *kind, objects: Vec::new() });
        }
        assert!(index.is_whole());
        index.take(Timestamp::UNIX_EPOCH, Change::Put(node(1, "x", "True")));
        index.take(Timestamp::UNIX_EPOCH, Change::Listed { kind: NODE, objects: Vec::new() });
        assert_eq!(zone(&index), None);
    }
}
