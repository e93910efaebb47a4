//! Which links a change or a desired state is about.

use std::collections::BTreeSet;

use netloom_model::{HostState, Route};
use netloom_types::IfName;

use crate::Planned;

impl Planned {
    /// The links that the plan touches: those that it changes in any way, and those that its routes lead out by.
    pub fn links(&self) -> BTreeSet<IfName> {
        let routes = self.plan.steps.iter().filter_map(|planned| planned.step.route());
        self.before.links.keys().copied().chain(routes.flat_map(ways)).collect()
    }
}

/// The links that a desired state names, for themselves or as the way of a route.
pub fn named(desired: &HostState) -> BTreeSet<IfName> {
    let routes = desired.routes.iter().map(|wanted| &wanted.route);
    desired.links.keys().copied().chain(routes.flat_map(ways)).collect()
}

fn ways(route: &Route) -> impl Iterator<Item = IfName> {
    route.next_hops.iter().filter_map(|hop| hop.link)
}
