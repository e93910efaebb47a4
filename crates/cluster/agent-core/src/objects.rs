//! The objects of one node, as they were last seen.
//!
//! Objects of other nodes are not taken in. What a network
//! state reports is most of it and read once in a while, so it is kept apart from the object, as text; and of the
//! links that a node lists for the cluster only a digest is kept, for nobody here reads them.

use std::sync::Arc;

use netloom_api::{
    Declared as _, GroupKind, Owner, fabric, foreign,
    nodestate::{NodeNetConfPolicy, NodeNetworkState},
    pipeline::{NodeNetworkConfig, NodeNetworkStatus},
};
use netloom_compile::{NodeState, ObjectKey, Snapshot};
use netloom_object::{Change, Ledger, ObjectRef, Version};
use serde_json::Value;

use crate::{Mode, listing, report::ReportText};

/// The node itself.
pub const NODE: GroupKind<'static> = foreign::NODE;
/// Policies for the network state of nodes.
pub const POLICY: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetConfPolicy");
/// The network state of the node.
pub const STATE: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetworkState");
/// What the controller has for the node.
pub const CONFIG: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NodeNetworkConfig");

/// The links of the node, as it lists them for the cluster.
pub const LINKS: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NodeNetworkStatus");

const ALL: [GroupKind<'static>; 5] = [NODE, POLICY, STATE, CONFIG, LINKS];

/// Whose agent objects of a kind concern: an agent asks the server for no others.
pub fn owner(kind: GroupKind<'static>) -> Owner {
    match kind {
        POLICY => NodeNetConfPolicy::OWNER,
        STATE => NodeNetworkState::OWNER,
        CONFIG => NodeNetworkConfig::OWNER,
        LINKS => NodeNetworkStatus::OWNER,
        other => foreign::owner(other).unwrap_or(Owner::Cluster),
    }
}

/// The objects of one node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Objects {
    node: String,
    mode: Mode,
    snapshot: Snapshot,
    seen: Ledger<Seen>,
    /// Grows with every change.
    changes: u64,
}

#[derive(Debug, Clone)]
struct Seen {
    object: Arc<Value>,
    /// What a network state reports.
    report: Option<ReportText>,
    /// What tells two lists of links apart.
    digest: Option<u64>,
}

impl Objects {
    pub(crate) fn of(node: &str, mode: Mode) -> Self {
        Self { node: node.to_owned(), mode, ..Self::default() }
    }

    pub(crate) fn take(&mut self, change: Change) {
        match change {
            Change::Put(object) => self.put(object),
            Change::Gone(object) => self.gone(&object),
            Change::Listed { kind, objects } => self.replace(kind, objects),
        }
    }

    /// Whether everything was listed that a decision needs.
    pub(crate) fn is_whole(&self) -> bool {
        let needed: &[GroupKind<'static>] = match self.mode {
            Mode::Centralized => &[STATE, CONFIG],
            Mode::Distributed => &[STATE, CONFIG, NODE, POLICY],
        };
        needed.iter().all(|kind| self.seen.is_listed(*kind))
    }

    /// Whether objects of a kind were listed.
    pub(crate) fn is_listed(&self, kind: GroupKind<'static>) -> bool {
        self.seen.is_listed(kind)
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// An object as the server has it, but for what it reports.
    pub(crate) fn raw(&self, kind: GroupKind<'static>, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.seen.get(kind, key).map(|seen| &seen.object)
    }

    /// What a network state reports.
    pub(crate) fn report(&self, key: &ObjectKey) -> Option<&ReportText> {
        self.seen.get(STATE, key)?.report.as_ref()
    }

    /// What tells one list of links from another.
    pub(crate) fn digest(&self, kind: GroupKind<'static>, key: &ObjectKey) -> Option<u64> {
        self.seen.get(kind, key)?.digest
    }

    /// The node's network states, the one that counts first: it is called like the node, else it is the
    /// oldest. Objects on their way out do not count.
    pub(crate) fn states(&self) -> Vec<&Arc<NodeState>> {
        let all = self.snapshot.states.iter().map(|(_, state)| state);
        let mut states: Vec<_> = all.filter(|state| !state.meta.deleted && state.node_name == self.node).collect();
        states.sort_by(|a, b| {
            let rank = |state: &NodeState| state.meta.key.name != self.node;
            (rank(a), a.meta.precedence()).cmp(&(rank(b), b.meta.precedence()))
        });
        states
    }

    fn put(&mut self, object: Arc<Value>) {
        let Some(reference) = reference(&object) else { return };
        if !owner(reference.kind).concerns(&object, &self.node) {
            // It was given to another node.
            self.forget(reference, &object);
            return;
        }
        let version = Version::of(&object);
        if !self.seen.is_news(&reference, version) {
            return;
        }
        if reference.kind == LINKS {
            // Nothing follows from it, so nothing has changed.
            let (object, digest) = listing::taken_apart(&object);
            self.seen.put(reference, version, Seen { object: Arc::new(object), report: None, digest });
            return;
        }
        // Policies are merged by the links that a node reports.
        let whole = self.mode == Mode::Distributed;
        if whole {
            self.snapshot.put(&object);
        }
        let (object, report) = if reference.kind == STATE { taken_apart(object) } else { (object, None) };
        if !whole {
            self.snapshot.put(&object);
        }
        self.seen.put(reference, version, Seen { object, report, digest: None });
        self.changes += 1;
    }

    fn gone(&mut self, object: &Arc<Value>) {
        if let Some(reference) = reference(object) {
            self.forget(reference, object);
        }
    }

    fn forget(&mut self, reference: ObjectRef, last: &Value) {
        // Of what was never the node's nothing is remembered.
        if !self.seen.knows(&reference) {
            return;
        }
        let (kind, key) = (reference.kind, reference.key.clone());
        if self.seen.gone(reference, Version::of(last)) {
            self.snapshot.remove(kind, &key);
            self.changes += 1;
        }
    }

    fn replace(&mut self, kind: GroupKind<'static>, objects: Vec<Arc<Value>>) {
        self.changes += 1;
        let listed = objects.iter().filter_map(|object| reference(object)).collect();
        for missing in self.seen.listed(kind, &listed) {
            self.snapshot.remove(kind, &missing.key);
        }
        for object in objects {
            self.put(object);
        }
    }
}

/// A network state without what it reports, and that.
fn taken_apart(object: Arc<Value>) -> (Arc<Value>, Option<ReportText>) {
    let mut object = Arc::unwrap_or_clone(object);
    let report = object.get_mut("status").and_then(|status| status.as_object_mut()?.remove("currentState"));
    (Arc::new(object), report.map(|report| ReportText::of(&report)))
}

fn reference(object: &Value) -> Option<ObjectRef> {
    ObjectRef::among(ALL.into_iter(), object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(version: u64, name: &str, node: &str) -> Arc<Value> {
        Arc::new(json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
            "metadata": {"namespace": "n", "name": name, "uid": "u", "resourceVersion": version.to_string(),
                "creationTimestamp": format!("2030-01-01T00:00:{version:02}Z")},
            "spec": {"managed": true, "nodeName": node},
        }))
    }

    fn names(objects: &Objects) -> Vec<&str> {
        objects.states().iter().map(|state| state.meta.key.name.as_str()).collect()
    }

    #[test]
    fn the_object_called_like_the_node_counts_and_then_the_oldest() {
        let mut objects = Objects::of("a", Mode::Centralized);
        for (version, name) in [(3, "x"), (2, "y"), (9, "a")] {
            objects.take(Change::Put(state(version, name, "a")));
        }
        assert_eq!(names(&objects), ["a", "y", "x"]);
    }

    #[test]
    fn what_a_state_reports_is_kept_apart_and_policies_know_its_links() {
        for (mode, links) in [(Mode::Centralized, 0), (Mode::Distributed, 1)] {
            let mut objects = Objects::of("a", mode);
            let report = json!({"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up"}]});
            let mut object = Arc::unwrap_or_clone(state(1, "a", "a"));
            object["status"] = json!({"currentState": report, "observedGeneration": 3});
            objects.take(Change::Put(Arc::new(object)));
            let key = ObjectKey::new("n", "a");
            let raw = objects.raw(STATE, &key).unwrap();
            assert_eq!(raw["status"], json!({"observedGeneration": 3}));
            assert_eq!(objects.report(&key).unwrap().value(), report);
            assert_eq!(objects.states()[0].inventory.links.len(), links, "{mode:?}");
            objects.take(Change::Put(state(2, "a", "a")));
            assert_eq!(objects.report(&key), None, "what is not there any more is not kept");
        }
    }

    #[test]
    fn older_versions_and_other_nodes_are_not_taken_in() {
        let mut objects = Objects::of("a", Mode::Centralized);
        objects.take(Change::Put(state(5, "a", "b")));
        assert!(names(&objects).is_empty());
        objects.take(Change::Put(state(6, "a", "a")));
        objects.take(Change::Gone(state(5, "a", "a")));
        assert_eq!(names(&objects), ["a"]);
        objects.take(Change::Put(state(7, "a", "b")));
        assert!(names(&objects).is_empty(), "given to another node");
        objects.take(Change::Put(state(6, "a", "a")));
        assert!(names(&objects).is_empty(), "and not taken back by an old word");
        objects.take(Change::Put(state(8, "a", "a")));
        objects.take(Change::Listed { kind: STATE, objects: Vec::new() });
        assert!(names(&objects).is_empty(), "a list says what is gone");
    }
}
