//! Node policies: from policies to the desired state of each node.
//!
//! ```text
//! Policy --prepare--> Prepared: selector, rules, canonical entries
//! Prepared x class of nodes --contribute--> units: what the policy wants of the links that are there
//! ```
//!
//! [`desired_for`] is for an agent that merges policies for its own node; the controller resolves the same
//! contributions for all of them. What comes out depends on its arguments alone.
//!
//! A policy that goes takes its units with it: the document no longer has them, and the node puts back what it found
//! before.

mod autoconfig;
mod contribution;
mod document;
mod objects;
mod policy;
mod report;
mod rules;

pub use objects::Policy;
pub use policy::PolicySet;
pub use report::PolicyReport;

use std::{collections::HashMap, sync::Arc};

use netloom_api::pipeline::node_network_config::host::HostConfig;
use netloom_object::ObjectRef;

use crate::{
    contribution::Contribution,
    finding::Finding,
    front_end::{FrontEnd, Looks, NodeClass, Reader, Selected, Selects, ServedKind, Wants},
    frozen::Frozen,
    key::ObjectKey,
    layout::Weighed,
    objects::{Node, NodeState},
    outcome::Outcome,
    report::Report,
    resolution::{Desired, Ground, HostUnits, resolve},
    snapshot::Snapshot,
};
use policy::{Prepared, prepare};

/// The front end of node policies.
#[derive(Debug)]
pub struct NodePolicies;

impl FrontEnd for NodePolicies {
    fn name(&self) -> &'static str {
        "node-policies"
    }

    fn kinds(&self) -> &'static [ServedKind] {
        const { &[ServedKind::frozen::<Policy>().formerly("nodePolicies")] }
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Readings::default())
    }
}

/// A policy that was read, or why it cannot be used.
type Reading = Result<Arc<Prepared>, Vec<Finding>>;

/// What was read of live policies before.
#[derive(Debug, Default)]
struct Readings {
    live: HashMap<ObjectKey, (Arc<Policy>, Reading)>,
    read: usize,
}

impl Reader for Readings {
    fn live(&mut self, snapshot: &Snapshot) -> Arc<dyn Wants> {
        let Self { live, read } = self;
        live.retain(|key, _| snapshot.get::<Policy>(key).is_some());
        Arc::new(PolicySet::live_with(snapshot, |policy| {
            if let Some((known, reading)) = live.get(&policy.meta.key)
                && Arc::ptr_eq(known, policy)
            {
                return reading.clone();
            }
            *read += 1;
            let reading = prepare(policy).map(Arc::new);
            live.insert(policy.meta.key.clone(), (policy.clone(), reading.clone()));
            reading
        }))
    }

    fn frozen(&mut self, content: &Frozen<'_>) -> Arc<dyn Wants> {
        let set = PolicySet::frozen(content);
        self.read += set.prepared().len();
        Arc::new(set)
    }

    fn read(&self) -> usize {
        self.read
    }
}

impl Wants for PolicySet {
    fn looks(&self) -> Looks<'_> {
        let terms = || self.prepared().iter().map(|policy| &policy.terms);
        Looks {
            labels: terms().flat_map(super::selection::Terms::labels).collect(),
            names: terms().any(super::selection::Terms::by_name),
        }
    }

    fn freeze(&self) -> Vec<Weighed> {
        self.prepared().iter().map(|policy| policy.frozen.clone()).collect()
    }

    fn choose(&self, selects: &mut Selects<'_>) -> Vec<Arc<dyn Selected>> {
        let mut chosen: Vec<Arc<dyn Selected>> = Vec::new();
        for policy in self.prepared() {
            if selects(policy.id, &|node| policy.terms.select(node)) {
                chosen.push(policy.clone());
            }
        }
        chosen
    }

    fn reports(&self, outcome: &Outcome<'_>) -> Vec<(ObjectRef, Arc<dyn Report>)> {
        report::reports(self, outcome)
    }
}

/// What is known of one node.
#[derive(Debug, Clone, Copy)]
pub struct NodeFacts<'a> {
    /// The node: its labels and taints.
    pub node: &'a Node,
    /// What it reports, and what somebody wrote for it manually.
    pub state: &'a NodeState,
    /// Its configuration.
    pub host: Option<&'a HostConfig>,
}

/// What one node shall look like under a set of policies.
pub fn desired_for(facts: NodeFacts<'_>, policies: &PolicySet) -> Desired {
    let NodeFacts { node, state, host } = facts;
    let selected = policies.choose(&mut |_, select| select(node));
    let wanted = |name: &str| host.into_iter().flat_map(|host| &host.links).any(|link| link.name.0 == name);
    let found = state.manual.found(&state.inventory, &state.inventory.leaving(wanted));
    let class = NodeClass {
        reported: &state.inventory,
        node: None,
        found: &found,
        manual: &state.manual,
        leaving_id: 0,
        found_id: 0,
        manual_id: 0,
    };
    let first = selected.iter().map(|policy| Arc::new(policy.contribute(&class))).collect();
    let config = host.map(|host| HostUnits::of(&Contribution::new(host.clone()), &state.inventory));
    resolve(Ground { class, config: config.as_slice() }, &selected, first)
}
