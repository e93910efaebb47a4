//! Node network state: from policies to the desired state of each node.
//!
//! ```text
//! Policy --prepare--> Prepared: selector, rules, canonical entries
//! Prepared x Inventory --contribute--> units: what the policy wants of the links that are there
//! Hand + units of all policies, older first --merge--> Desired: document, provenance, conflicts
//! ```
//!
//! [`desired_for`] is the one function behind both ways to run policies: an agent calls it for its
//! own node, the controller for all of them. What comes out depends on its arguments alone.
//!
//! What a policy wants of one link, route or setting is one *unit*: it is taken whole or left out
//! whole. A unit that contradicts an uplink or host network, an older policy, or what somebody wrote by hand, is left out,
//! and so is what stands on it. A policy that goes takes its units with it: the document no longer has
//! them, and the node puts back what it found before.

mod autoconfig;
mod between;
mod claim;
mod contribution;
mod document;
mod hand;
mod inventory;
mod layers;
pub(crate) mod leaves;
mod merge;
mod networks;
mod policy;
mod provenance;
mod rules;
mod selection;
mod settle;

pub use hand::Hand;
pub use inventory::{Inventory, Link, Neighbour};
pub use merge::Desired;
pub use policy::PolicySet;
pub use provenance::{Provenance, Share};

pub(crate) use contribution::{Contribution, contribute};
pub(crate) use layers::{Ground, merge_all};
pub(crate) use networks::Claimed;
pub(crate) use policy::{Prepared, prepare, prepare_frozen};
pub(crate) use selection::{Signature, Terms};

use std::sync::Arc;

use netloom_api::pipeline::node_network_config::host::HostConfig;

use crate::objects::{Node, NodeState};

/// What is known of one node.
#[derive(Debug, Clone, Copy)]
pub struct NodeFacts<'a> {
    /// The node: its labels and taints.
    pub node: &'a Node,
    /// What it reports, and what somebody wrote for it by hand.
    pub state: &'a NodeState,
    /// What it is told of host networks.
    pub host: Option<&'a HostConfig>,
}

/// What one node shall look like under a set of policies.
pub fn desired_for(facts: NodeFacts<'_>, policies: &PolicySet) -> Desired {
    let NodeFacts { node, state, host } = facts;
    let selected: Vec<&Prepared> =
        policies.prepared().iter().map(AsRef::as_ref).filter(|policy| policy.terms.select(node)).collect();
    let wanted = |name: &str| host.into_iter().flat_map(|host| &host.links).any(|link| link.name.0 == name);
    let found = state.hand.found(&state.inventory, &state.inventory.leaving(wanted));
    let first = selected.iter().map(|policy| {
        let before = state.hand.before(&policy.source.key);
        Arc::new(contribute(policy, &found, &state.inventory, before))
    });
    let first = first.collect();
    let networks = host.map(|host| Claimed::of(host, &state.inventory)).unwrap_or_default();
    let ground = Ground { networks: &networks, hand: &state.hand, found: &found, reported: &state.inventory };
    merge_all(ground, &selected, first)
}
