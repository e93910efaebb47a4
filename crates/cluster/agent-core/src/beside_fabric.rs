//! What is brought about while the fabric of a node has to wait: everything else.
//!
//! Routing daemons that do not answer, or a base that is not as its file says, are no reason to leave the rest of a host as
//! it is: the link that is repaired may be what they wait for. That is so where the fabric is that of the last good desired
//! state; one that changes comes whole or not at all. Nothing is taken away meanwhile, for what goes may be what the fabric
//! had.

use std::collections::BTreeSet;

use netloom_model::{HostState, Observed, Origin};
use netloom_plan::PlanError;
use netloom_types::IfName;

use crate::{DesiredState, Failure, Prepared, Reason};

/// What a fabric brings to a desired state, by which it is told from the rest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Brought {
    /// The links that it makes.
    pub(crate) links: BTreeSet<IfName>,
    /// Who asked for its routes and rules.
    pub(crate) origins: BTreeSet<Origin>,
}

impl Prepared {
    /// The same after the last good desired state.
    #[must_use]
    pub fn after(mut self, good: Option<&DesiredState>) -> Self {
        let fabric = |desired: &DesiredState| desired.config.as_ref()?.fabric.clone();
        self.keeps_fabric = good.is_some_and(|good| fabric(good) == fabric(&self.desired));
        self
    }

    /// Why the fabric of this desired state cannot be brought about on such a host for now: it waits where it is in place
    /// otherwise.
    pub(crate) fn fabric_waits(&self, observed: &Observed) -> Option<Failure> {
        let wrong = self.ground.as_ref().and_then(|ground| ground.wrong(observed));
        let wrong = wrong.map(|why| Failure::new(Reason::InvalidDesiredState, why));
        let away = || {
            let first = self.routing().first().filter(|_| observed.routing.is_none())?;
            let why = observed.routing_away.as_deref().unwrap_or("the agent has no folder of their sockets");
            Some(Failure::unplanned(&PlanError::NoRouting { why: why.into(), origin: first.origin.clone() }))
        };
        let failure = wrong.or_else(away)?;
        if !self.keeps_fabric {
            return Some(failure);
        }
        let message =
            format!("{}; the fabric of this node waits for that, everything else is as desired", failure.message);
        Some(Failure { message, fabric_waits: true, ..failure })
    }
}

/// The part of a desired state that is not of its fabric.
pub(crate) fn of(state: HostState, brought: &Brought) -> HostState {
    let HostState { mut links, mut routes, absent_routes, mut rules, absent_rules, settings, .. } = state;
    links.retain(|name, _| !brought.links.contains(name));
    routes.retain(|route| !brought.origins.contains(&route.origin));
    rules.retain(|rule| !brought.origins.contains(&rule.origin));
    HostState {
        links,
        routes,
        absent_routes,
        rules,
        absent_rules,
        settings,
        routing: Vec::new(),
        whole_of: None,
        part_of: state.whole_of.or(state.part_of),
    }
}
