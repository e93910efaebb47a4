//! Names the routes that a plan takes away and that nobody can put back.
//!
//! The model has no words for some routes: those with a type of service or an encapsulation, and those over next hop objects
//! that a person made. They are seen, and left alone; but a link that goes away, goes down or moves takes its routes with it,
//! and these do not come back by themselves. The simulated host tells which they are.

use std::{collections::BTreeSet, fmt::Display};

use netloom_model::Route;
use netloom_types::Protocol;

/// What a person should know about such routes before the plan is carried out.
pub(crate) fn notes(lost: &BTreeSet<Route>) -> impl Iterator<Item = String> {
    lost.iter().map(|route| {
        format!(
            "route {route} of {} goes with this change and is of a form that netloom cannot put back, not even when the \
             change is undone",
            maker(route.protocol)
        )
    })
}

/// A route that has no place any more once the change is in place.
pub(crate) fn goes(route: &Route, why: &impl Display) -> String {
    let maker = maker(route.protocol);
    format!("route {route} of {maker} goes with this change ({why}); it comes back if the change is undone")
}

fn maker(protocol: Protocol) -> String {
    match protocol {
        Protocol::DHCP => "a DHCP lease".to_owned(),
        Protocol::RA => "a router advertisement".to_owned(),
        Protocol::KERNEL => "the kernel".to_owned(),
        Protocol(number) => format!("protocol {number}"),
    }
}
