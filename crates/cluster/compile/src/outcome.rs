//! What came of everything that was wanted, for reports.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    contribution::HostPart, front_end::Selected, key::ObjectKey, node_target::NodeTargets, placement::Place,
    resolution::Desired, snapshot::Snapshot,
};

/// What was chosen for the nodes of a group, by front end.
pub(crate) type Chosen = Vec<Vec<Arc<dyn Selected>>>;

/// What came of the desired states of one front end.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The objects that everything was made from.
    pub snapshot: &'a Snapshot,
    pub(crate) nodes: &'a NodeTargets,
    pub(crate) chosen: &'a [Chosen],
    /// Which front end is asked.
    pub(crate) place: usize,
}

impl<'a> Outcome<'a> {
    /// What is for each group of nodes: how many nodes that are, the names of those that stay, and what was chosen.
    pub fn groups(&self) -> impl Iterator<Item = (usize, &'a [String], &'a [Arc<dyn Selected>])> {
        let (groups, place) = (&self.nodes.placement.groups, self.place);
        let chosen = self.chosen.iter().map(move |chosen| chosen[place].as_slice());
        groups.iter().zip(chosen).map(|(group, chosen)| (group.nodes, group.members.as_slice(), chosen))
    }

    /// The names of the nodes of groups that stay, each set of them made once.
    pub(crate) fn members(&self) -> Members<'a> {
        Members { nodes: self.nodes, known: HashMap::new() }
    }

    /// What was decided for each class of nodes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (&'a Place, &'a Desired)> {
        self.nodes.placement.places.iter().zip(self.nodes.desired.iter().map(AsRef::as_ref))
    }

    /// What was decided for each node that merges policies itself.
    pub(crate) fn merging(&self) -> impl Iterator<Item = (&'a str, &'a Desired)> {
        // Mostly there is none, and then not every node is to be looked up.
        let merging: BTreeSet<&ObjectKey> =
            self.snapshot.states.iter().filter(|(_, state)| state.merges_itself).map(|(key, _)| key).collect();
        let nodes: &BTreeMap<_, _> = &self.nodes.placement.nodes;
        let any = !merging.is_empty();
        let seats = nodes.iter().filter(move |(_, placed_node)| any && merging.contains(&placed_node.object));
        seats.map(|(node, placed_node)| (node.as_str(), self.nodes.desired[placed_node.place].as_ref()))
    }

    /// What each node gets for its configuration, and what it does not.
    pub fn parts(&self) -> impl Iterator<Item = (&'a str, &'a HostPart)> {
        self.nodes.hosts.iter().map(|(node, part)| (node.as_str(), part.as_ref()))
    }

    /// What was left out because somebody with precedence wants something else: the node's name, and what.
    pub fn conflicts(&self) -> impl Iterator<Item = (&'a str, &'a crate::Conflict)> {
        let nodes = self.nodes.placement.nodes.iter();
        nodes.flat_map(|(node, placed_node)| {
            self.nodes.desired[placed_node.place].conflicts.iter().map(move |conflict| (node.as_str(), conflict))
        })
    }
}

/// The names of the nodes of groups, each set of them made once.
pub(crate) struct Members<'a> {
    nodes: &'a NodeTargets,
    known: HashMap<Vec<usize>, Arc<BTreeSet<String>>>,
}

impl Members<'_> {
    pub(crate) fn of(&mut self, groups: Vec<usize>) -> Arc<BTreeSet<String>> {
        if let Some(known) = self.known.get(&groups) {
            return known.clone();
        }
        let names = groups.iter().flat_map(|group| self.nodes.placement.groups[*group].members.iter().cloned());
        let made = Arc::new(names.collect::<BTreeSet<String>>());
        self.known.insert(groups, made.clone());
        made
    }
}
