//! Since when this controller knows what each node was assigned.
//!
//! The times in objects are those of whoever wrote them, and after a takeover that was another machine, whose clock may
//! be off by any time. So a node's time to answer is counted from when this one wrote what it was assigned, or first
//! had to decide about it: a clock that is ahead fails no healthy node at once, and one that is behind waits for no
//! silent one without end. The price is that a silent node has its time once more after a takeover.

use std::collections::BTreeMap;

use jiff::Timestamp;
use netloom_api::{pipeline::NodeNetworkConfig, rollout::annotation};

use crate::index::Index;

/// Since when each writing of a node's configuration is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sightings(BTreeMap<String, Sighting>);

#[derive(Debug, Clone)]
struct Sighting {
    /// The time that the object carries, which tells one writing from the next.
    writing: String,
    since: Timestamp,
}

impl Sightings {
    /// Takes note of what every node was assigned, and forgets nodes that are gone.
    pub(crate) fn note(&mut self, now: Timestamp, index: &Index) {
        let configs = &index.snapshot().configs;
        self.0.retain(|node, _| configs.get(&netloom_compile::ObjectKey::global(node.as_str())).is_some());
        for (key, config) in configs.iter() {
            let writing = written_at(config);
            if self.0.get(&key.name).is_none_or(|known| known.writing != writing) {
                self.0.insert(key.name.clone(), Sighting { writing: writing.to_owned(), since: now });
            }
        }
    }

    /// Since when it is known what a node was assigned.
    pub(crate) fn since(&self, node: &str) -> Option<Timestamp> {
        self.0.get(node).map(|known| known.since)
    }
}

fn written_at(config: &NodeNetworkConfig) -> &str {
    config.metadata.annotations.as_ref().and_then(|all| all.get(annotation::ASSIGNED_AT)).map_or("", String::as_str)
}
