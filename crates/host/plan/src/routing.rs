//! The phases of a plan that are about routing daemons.
//!
//! A daemon that still routes for a VRF whose link goes is left with a half of it, so what goes of whole blocks goes before
//! links do. Everything else changes at once when the links are there, because only in one change the daemons' own order can replace a
//! line in its place.

use std::collections::BTreeSet;

use netloom_model::RoutingLine;

use crate::{PlanError, converge::Builder, restore};

/// Removes the blocks of which nothing is to stay, but for what only names a VRF: that cannot go before its link.
pub(crate) fn retire(builder: &mut Builder) -> Result<(), PlanError> {
    let Some(now) = &builder.sim.observed().routing else { return Ok(()) };
    let goes = |line: &RoutingLine| builder.goal.routing.get(line).is_some_and(|goal| !goal.there);
    let (gone, kept): (Vec<&RoutingLine>, Vec<&RoutingLine>) = now.iter().partition(|line| goes(line));
    let wanted = builder.goal.routing.iter().filter(|(_, goal)| goal.there).map(|(line, _)| line);
    let stays: BTreeSet<&str> = kept.into_iter().chain(wanted).map(RoutingLine::block).collect();
    let retired = gone.into_iter().filter(|line| is_of_vrf(line) && !stays.contains(line.block()));
    let step = restore::routing(retired.map(|line| (line, false)), builder.sim.observed());
    step.map_or(Ok(()), |step| builder.emit(step))
}

/// Whether the line is part of what a daemon does in a VRF, and not only the name of one.
fn is_of_vrf(line: &RoutingLine) -> bool {
    let only_names = line.context().is_empty() && line.text().starts_with("vrf ");
    !only_names && line.block().split(' ').any(|word| word == "vrf")
}

/// Adds, replaces and removes lines.
pub(crate) fn change(builder: &mut Builder) -> Result<(), PlanError> {
    let wanted = builder.goal.routing.iter().map(|(line, goal)| (line, goal.there));
    let step = restore::routing(wanted, builder.sim.observed());
    step.map_or(Ok(()), |step| builder.emit(step))
}
