//! What a run is made of.

use std::collections::BTreeMap;

use netloom_agent_core::Mode;
use serde_json::Value;

use crate::{Bug, Faults, Micros, Stop, node::CHANGE_TAKES};

/// What a run is made of.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Where all chance comes from.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many controllers there are.
    pub controllers: usize,
    /// Who merges policies.
    pub mode: Mode,
    /// The cards that every node has beside those that it always has.
    pub cards: Vec<String>,
    /// The largest MTU that the wire of a node takes, where that is less than elsewhere.
    pub frail: BTreeMap<usize, u32>,
    /// What goes wrong on the ways.
    pub faults: Faults,
    /// The specification of a `RolloutPolicy`; none for the defaults.
    pub rollout: Option<Value>,
    /// Whether what one follows comes in the order in which it was written, whatever kinds it is of.
    pub in_order: bool,
    /// How long a change of a host takes.
    pub change_takes: Micros,
    /// How long a card is without carrier after a change of it.
    pub carrier_takes: Micros,
    /// A step at which something goes wrong.
    pub stop: Option<Stop>,
    /// A planted mistake.
    pub bug: Option<Bug>,
}

impl Setup {
    /// So many nodes and two controllers, and nothing goes wrong.
    pub fn of(seed: u64, nodes: usize) -> Self {
        Self {
            seed,
            nodes,
            controllers: 2,
            mode: Mode::Centralized,
            cards: Vec::new(),
            frail: BTreeMap::new(),
            faults: Faults::default(),
            rollout: None,
            in_order: false,
            change_takes: CHANGE_TAKES,
            carrier_takes: 0,
            stop: None,
            bug: None,
        }
    }
}
