//! Warns of routes that a plan takes away and netloom cannot put back.
//!
//! The model has no words for some routes: those with a type of service, over next hop objects or
//! with an encapsulation, and those of a lease. They are seen, and left alone; but a link that goes
//! away, goes down or moves takes its routes with it, and these do not come back by themselves.

use std::collections::BTreeSet;

use netloom_model::{Observed, Plan, Step};
use netloom_types::IfName;

/// What a person should know about such routes before the plan is carried out.
pub(crate) fn notes(observed: &Observed, plan: &Plan) -> Vec<String> {
    if observed.fragile_routes.is_empty() {
        return Vec::new();
    }
    let shaken: BTreeSet<IfName> = plan.steps.iter().filter_map(|planned| shakes(&planned.step)).collect();
    let over =
        |route: &netloom_model::Route| route.next_hops.iter().filter_map(|hop| hop.link).find(|l| shaken.contains(l));
    observed
        .fragile_routes
        .iter()
        .filter_map(|route| Some((route, over(route)?)))
        .map(|(route, link)| {
            format!("route {route} may go when {link} changes, and is of a form that netloom cannot put back")
        })
        .collect()
}

/// The link whose routes the step takes away.
fn shakes(step: &Step) -> Option<IfName> {
    match step {
        Step::DeleteLink { name }
        | Step::SetUp { name, up: false }
        | Step::SetController { name, .. }
        | Step::RemoveAddress { name, .. } => Some(*name),
        Step::SetUp { up: true, .. }
        | Step::CreateLink { .. }
        | Step::SetAttrs { .. }
        | Step::SetAlias { .. }
        | Step::AddAltName { .. }
        | Step::RemoveAltName { .. }
        | Step::SetFeatures { .. }
        | Step::AddAddress { .. }
        | Step::SetVlans { .. }
        | Step::AddFdb { .. }
        | Step::RemoveFdb { .. }
        | Step::AddNeighbour { .. }
        | Step::RemoveNeighbour { .. }
        | Step::AddMirror { .. }
        | Step::RemoveMirror { .. }
        | Step::AddRoute(_)
        | Step::ReplaceRoute(_)
        | Step::RemoveRoute(_)
        | Step::AddRule(_)
        | Step::RemoveRule(_)
        | Step::SetResolver(_)
        | Step::SetHostnameRunning(_)
        | Step::SetHostnameConfig(_)
        | Step::SetBridgeIptables(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{NextHop, PlannedStep, Route, RouteMetrics, RouteType};
    use netloom_types::{Protocol, RouteTable};

    use super::*;

    #[test]
    fn a_route_over_a_link_that_goes_down_is_mentioned_and_another_is_not() {
        let route = |net: &str, link: &str| Route {
            table: RouteTable::MAIN,
            destination: net.parse().unwrap(),
            metric: 0,
            kind: RouteType::Unicast,
            next_hops: vec![NextHop { via: None, link: Some(link.parse().unwrap()), weight: 1, onlink: false }],
            source: None,
            protocol: Protocol::DHCP,
            metrics: RouteMetrics::default(),
        };
        let fragile_routes = vec![route("192.0.2.0/24", "eth0"), route("198.51.100.0/24", "eth1")];
        let observed = Observed { fragile_routes, ..Observed::default() };
        let step = Step::SetUp { name: "eth0".parse().unwrap(), up: false };
        let plan = Plan { steps: vec![PlannedStep { step, undo: Vec::new(), origin: None }] };
        let notes = notes(&observed, &plan);
        assert!(notes.len() == 1 && notes[0].contains("192.0.2.0/24"), "{notes:?}");
    }
}
