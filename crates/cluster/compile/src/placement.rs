//! Nodes, sorted by what decisions can tell apart.
//!
//! Two questions are asked of nodes, and each has its own classes: which policies select a node
//! depends on its *group* (the labels that some policy looks at, and its taints); what they want
//! there depends on its *place* (its group, the links that it reports, and what was written manually).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use crate::{
    finding::{Finding, reason},
    front_end::Looks,
    key::ObjectKey,
    objects::{Node, NodeState},
    selection::Signature,
    snapshot::{Shelf, Snapshot},
    state::{Inventory, Manual},
};

/// Where every node belongs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placement {
    pub(crate) nodes: BTreeMap<String, PlacedNode>,
    pub(crate) groups: Vec<Group>,
    pub(crate) places: Vec<Place>,
    /// What is wrong with network states as objects.
    pub(crate) findings: BTreeMap<ObjectKey, Vec<Finding>>,
}

/// The place of one node, and its network state.
#[derive(Debug, Clone)]
pub(crate) struct PlacedNode {
    pub(crate) place: usize,
    pub(crate) object: ObjectKey,
}

/// Nodes that no selector tells apart.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) id: u32,
    /// One of them.
    pub(crate) sample: Arc<Node>,
    pub(crate) nodes: usize,
    /// The names of those that stay.
    pub(crate) members: Vec<String>,
}

/// Nodes that nothing tells apart.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Index into the groups.
    pub(crate) group: usize,
    pub(crate) facts: Facts,
    pub(crate) nodes: usize,
    /// The first of them by name.
    pub(crate) first: String,
}

/// What a network state says, with a number for each distinct content.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) inventory_id: u32,
    pub(crate) manual_id: u32,
    pub(crate) inventory: Arc<Inventory>,
    pub(crate) manual: Arc<Manual>,
}

/// Sorts nodes, and remembers the numbers that it has given.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeClassifier {
    labels: BTreeSet<String>,
    by_name: bool,
    signatures: Numbers<Signature>,
    inventories: Numbers<Arc<Inventory>>,
    manual_parts: Numbers<String>,
    known: HashMap<ObjectKey, (Arc<NodeState>, Facts)>,
    last: Option<(Shelf<Node>, Shelf<NodeState>, Arc<Placement>)>,
    /// How many nodes were sorted in all.
    pub(crate) placed: usize,
}

/// A number for each distinct value.
#[derive(Debug, Clone)]
struct Numbers<T>(HashMap<T, u32>, u32);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::new(), 0)
    }
}

impl<T: Eq + Hash> Numbers<T> {
    /// Forgets the values whose numbers nobody has any more; no number is ever given twice.
    fn retain(&mut self, used: &HashSet<u32>) {
        self.0.retain(|_, number| used.contains(number));
    }

    fn of(&mut self, value: T) -> u32 {
        let Self(known, next) = self;
        *known.entry(value).or_insert_with(|| {
            *next += 1;
            *next
        })
    }
}

impl NodeClassifier {
    /// Sorts the nodes of a snapshot so that selectors that look at so much can tell apart what they must.
    pub(crate) fn place<'a>(&mut self, snapshot: &Snapshot, all: impl Iterator<Item = Looks<'a>>) -> Arc<Placement> {
        let before = (self.labels.len(), self.by_name);
        for Looks { labels, names } in all {
            self.by_name |= names;
            for label in labels {
                self.look_at(label);
            }
        }
        let same_eyes = before == (self.labels.len(), self.by_name);
        if !same_eyes {
            self.signatures = Numbers(HashMap::new(), self.signatures.1);
        }
        if let Some((nodes, states, placement)) = &self.last
            && same_eyes
            && nodes.is_same_as(&snapshot.nodes)
            && states.is_same_as(&snapshot.states)
        {
            return placement.clone();
        }
        let placement = Arc::new(self.sort(snapshot));
        self.last = Some((snapshot.nodes.clone(), snapshot.states.clone(), placement.clone()));
        placement
    }

    fn look_at(&mut self, label: &str) {
        if !self.labels.contains(label) {
            self.labels.insert(label.to_owned());
        }
    }

    fn sort(&mut self, snapshot: &Snapshot) -> Placement {
        let mut placement = Placement::default();
        let mut states = states_by_node(snapshot, &mut placement.findings);
        let mut groups: HashMap<u32, usize> = HashMap::new();
        let mut places: HashMap<(usize, u32, u32), usize> = HashMap::new();
        let mut known = HashMap::new();
        for (key, node) in snapshot.nodes.iter() {
            self.placed += 1;
            let id = self.signatures.of(Signature::of(node, &self.labels, self.by_name));
            let group = *groups.entry(id).or_insert_with(|| {
                placement.groups.push(Group { id, sample: node.clone(), nodes: 0, members: Vec::new() });
                placement.groups.len() - 1
            });
            placement.groups[group].nodes += 1;
            if !node.meta.deleted {
                placement.groups[group].members.push(key.name.clone());
            }
            let Some(state) = states.remove(key.name.as_str()) else { continue };
            let facts = self.facts(state);
            known.insert(state.meta.key.clone(), (state.clone(), facts.clone()));
            let place = *places.entry((group, facts.inventory_id, facts.manual_id)).or_insert_with(|| {
                placement.places.push(Place { group, facts, nodes: 0, first: key.name.clone() });
                placement.places.len() - 1
            });
            placement.places[place].nodes += 1;
            placement.nodes.insert(key.name.clone(), PlacedNode { place, object: state.meta.key.clone() });
        }
        for (node, state) in states {
            let message = format!("there is no node {node:?}, so nothing comes of this object");
            let finding = Finding::new(reason::NODE_NOT_FOUND, "spec.nodeName", message);
            placement.findings.entry(state.meta.key.clone()).or_default().push(finding);
        }
        self.known = known;
        let used = |number: fn(&Facts) -> u32| self.known.values().map(|(_, facts)| number(facts)).collect();
        let (inventories, manual_parts) = (used(|facts| facts.inventory_id), used(|facts| facts.manual_id));
        self.inventories.retain(&inventories);
        self.manual_parts.retain(&manual_parts);
        placement
    }

    fn facts(&mut self, state: &Arc<NodeState>) -> Facts {
        if let Some((known, facts)) = self.known.get(&state.meta.key)
            && Arc::ptr_eq(known, state)
        {
            return facts.clone();
        }
        Facts {
            inventory_id: self.inventories.of(state.inventory.clone()),
            manual_id: self.manual_parts.of(state.manual.identity()),
            inventory: state.inventory.clone(),
            manual: state.manual.clone(),
        }
    }
}

/// The network state that counts for each node. Of several it is the one that is called like the
/// node, else the oldest.
fn states_by_node<'a>(
    snapshot: &'a Snapshot,
    findings: &mut BTreeMap<ObjectKey, Vec<Finding>>,
) -> BTreeMap<&'a str, &'a Arc<NodeState>> {
    let mut by_node: BTreeMap<&str, Vec<&Arc<NodeState>>> = BTreeMap::new();
    for (_, state) in snapshot.states.iter().filter(|(_, state)| !state.meta.deleted) {
        by_node.entry(&state.node_name).or_default().push(state);
    }
    for state in snapshot.states.unreadable() {
        let finding = Finding::new(reason::UNREADABLE, "", &state.why);
        findings.entry(state.meta.key.clone()).or_default().push(finding);
    }
    let mut chosen = BTreeMap::new();
    for (node, mut states) in by_node {
        states.sort_by(|a, b| {
            let rank = |state: &NodeState| state.meta.key.name != node;
            (rank(a), a.meta.precedence()).cmp(&(rank(b), b.meta.precedence()))
        });
        let first = states[0];
        for second in &states[1..] {
            let message = format!("{} is for node {node:?} too and takes effect; this object does not", first.meta.key);
            let finding = Finding::new(reason::CONFLICT, "spec.nodeName", message);
            findings.entry(second.meta.key.clone()).or_default().push(finding);
        }
        if !first.manual.notes().is_empty() {
            findings.entry(first.meta.key.clone()).or_default().extend(first.manual.notes().iter().cloned());
        }
        chosen.insert(node, first);
    }
    chosen
}
