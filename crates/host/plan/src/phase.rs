//! The phases of a plan, by name and in order.
//!
//! A phase takes the steps that are its own out of what the simulated host still lacks; steps of later phases find what
//! earlier ones made. A new kind of step is a phase of its own in [`Phase::ORDER`].

use netloom_types::IfName;

use crate::{PlanError, converge::Builder, links, order, routes, routing};

/// One phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Rules that go.
    RemoveRules,
    /// Routes that go.
    RemoveRoutes,
    /// What routing daemons know of VRFs that go. They must give those up before the kernel does.
    RetireRouting,
    /// Links that go, deepest first.
    RemoveLinks,
    /// Ports that leave their controllers.
    Detach,
    /// Links that come or change, bases and controllers first.
    CreateAndChange,
    /// The same for what was lost with the links above and has joined the goal by now.
    CreateLost,
    /// Ports that join their controllers.
    Attach,
    /// Properties that need the controller, and states.
    Finish,
    /// MTUs that shrink, which what stands on a link must do first.
    LowerMtus,
    /// MTUs of bridges, which follow those of their ports until somebody sets them.
    SizeBridges,
    /// VLANs, entries, neighbours, mirrors and features.
    Belongings,
    /// What routing daemons are configured with: the links that it is about are there, and their addresses are not yet.
    /// A daemon that hears of a link, of its VRF and of its address in one breath may take the address for one of no VRF,
    /// and announces nothing for it (FRR 8.4).
    Routing,
    /// Addresses.
    Addresses,
    /// Routes that come or change.
    AddRoutes,
    /// Rules that come.
    AddRules,
    /// Settings of the whole host.
    Settings,
}

impl Phase {
    /// All of them, in the order in which each round goes through them.
    pub(crate) const ORDER: [Self; 17] = [
        Self::RemoveRules,
        Self::RemoveRoutes,
        Self::RetireRouting,
        Self::RemoveLinks,
        Self::Detach,
        Self::CreateAndChange,
        Self::CreateLost,
        Self::Attach,
        Self::Finish,
        Self::LowerMtus,
        Self::SizeBridges,
        Self::Belongings,
        Self::Routing,
        Self::Addresses,
        Self::AddRoutes,
        Self::AddRules,
        Self::Settings,
    ];

    /// Emits the steps of this phase. `links` are those of the goal, what others stand on first.
    pub(crate) fn run(self, builder: &mut Builder, links: &[IfName]) -> Result<(), PlanError> {
        match self {
            Self::RemoveRules => routes::remove_rules(builder),
            Self::RemoveRoutes => routes::remove_routes(builder),
            Self::RetireRouting => routing::retire(builder),
            Self::RemoveLinks => links::remove(builder),
            Self::Detach => links::detach(builder, links),
            Self::CreateAndChange | Self::CreateLost => links::create_and_change(builder, links),
            Self::Attach => links::attach(builder, links),
            Self::Finish => links::finish(builder, links),
            Self::LowerMtus => links::lower_mtus(builder, links),
            Self::SizeBridges => links::tell_bridges(builder),
            Self::Belongings => links.iter().try_for_each(|name| links::belongings(builder, *name)),
            Self::Addresses => links.iter().try_for_each(|name| links::addresses(builder, *name)),
            Self::AddRoutes => routes::add_routes(builder),
            Self::AddRules => routes::add_rules(builder),
            Self::Routing => routing::change(builder),
            Self::Settings => routes::settings(builder),
        }
    }

    /// Whether links may have joined the goal since they were last put in order.
    pub(crate) fn is_after_removal(self) -> bool {
        matches!(self, Self::Detach | Self::CreateLost)
    }
}

/// The links of the goal, what others stand on first.
pub(crate) fn in_order(builder: &Builder) -> Result<Vec<IfName>, PlanError> {
    let present = builder.goal.links.values().flatten().map(|goal| &goal.link);
    order::topological(present).map_err(|names| PlanError::Cycle { names })
}
