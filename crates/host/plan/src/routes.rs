//! The phases of a plan that are about no link: routes, rules and settings of the whole host.

use netloom_model::{Route, RouteKey, Step};

use crate::{PlanError, converge::Builder, restore};

/// Removes rules that shall go.
pub(crate) fn remove_rules(builder: &mut Builder) -> Result<(), PlanError> {
    rules(builder, true)
}

/// Adds rules that shall come.
pub(crate) fn add_rules(builder: &mut Builder) -> Result<(), PlanError> {
    rules(builder, false)
}

fn rules(builder: &mut Builder, removals: bool) -> Result<(), PlanError> {
    let now = &builder.sim.observed().rules;
    let steps: Vec<Step> = builder
        .goal
        .rules
        .iter()
        .flat_map(|(key, goal)| restore::rule(*key, goal.protocol, now.get(key).copied()))
        .filter(|step| step.is_removal() == removals)
        .collect();
    steps.into_iter().try_for_each(|step| builder.emit(step))
}

/// Removes routes that shall go.
pub(crate) fn remove_routes(builder: &mut Builder) -> Result<(), PlanError> {
    let now = &builder.sim.observed().routes;
    let steps: Vec<Step> = builder
        .goal
        .routes
        .iter()
        .filter(|(_, goal)| goal.route.is_none())
        .filter_map(|(key, _)| now.get(key).cloned().map(Step::RemoveRoute))
        .collect();
    steps.into_iter().try_for_each(|step| builder.emit(step))
}

/// Adds and changes routes; those to a router come after those on which it is reached.
pub(crate) fn add_routes(builder: &mut Builder) -> Result<(), PlanError> {
    let now = &builder.sim.observed().routes;
    let mut keys: Vec<(bool, RouteKey)> = builder
        .goal
        .routes
        .iter()
        .filter_map(|(key, goal)| Some((key, goal.route.as_ref()?)))
        .filter(|(key, wanted)| now.get(key) != Some(wanted))
        .map(|(key, wanted)| (over_a_router(wanted), *key))
        .collect();
    keys.sort_by_key(|(over_a_router, _)| *over_a_router);
    for (_, key) in keys {
        let goal = &builder.goal.routes[&key];
        let Some(step) = restore::route(goal.route.as_ref(), builder.sim.observed().routes.get(&key)) else { continue };
        if goal.origin.is_some() { builder.emit(step)? } else { builder.emit_consequence(step) }
    }
    Ok(())
}

fn over_a_router(route: &Route) -> bool {
    route.next_hops.iter().any(|hop| hop.via.is_some())
}

/// Changes settings of the whole host.
pub(crate) fn settings(builder: &mut Builder) -> Result<(), PlanError> {
    let steps = restore::settings(&builder.goal.settings, builder.sim.observed());
    steps.into_iter().try_for_each(|step| builder.emit(step))
}
