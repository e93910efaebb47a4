//! What the kernel remembers and does not show, to be put back after a rehearsal.
//!
//! Whether an MTU was set by somebody or follows the ports is such a thing. A planner that tries a
//! step back and forth must not leave traces of that here.

use std::sync::Arc;

use netloom_types::IfName;

use crate::host::{Hidden, SimHost};

/// The hidden state of a host at some moment.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Hidden>);

impl SimHost {
    /// The hidden state now.
    pub fn memory(&self) -> Memory {
        Memory(Arc::clone(&self.hidden))
    }

    /// Goes back to an earlier hidden state.
    pub fn recall(&mut self, memory: Memory) {
        self.hidden = memory.0;
    }

    /// Whether a route leads out by the link.
    pub fn has_routes_over(&self, link: IfName) -> bool {
        self.index.routes.of(&link).next().is_some() || self.index.derived.contains_key(&link)
    }
}
