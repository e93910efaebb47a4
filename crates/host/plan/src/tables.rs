//! A VRF that gets another table takes its routes along.
//!
//! The kernel recreates such a VRF and leaves the routes of its old table to nobody. What the desired state names
//! itself is left to the desired state; every other route of the table joins the goal in the new table, whoever made
//! it, and so does the claim on it. A lease or a daemon may not look at the VRF again for hours, so its routes move
//! too. Only what the kernel derives from addresses is left to the kernel.
//!
//! A table that somebody else looks at too (the main one, or one that another VRF keeps) loses only the routes over the
//! ports of the VRF that leaves it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_kernel_sim::stand_in;
use netloom_model::{
    Attr, Attrs, Claim, ClaimKey, Link, LinkKind, Observed, Origin, Origins, Ownership, Previous, Route, RouteKey,
};
use netloom_types::{IfName, RouteTable};

use crate::{
    PlanError,
    goal::{Goal, GoalRoute},
    lay::Laid,
};

/// One VRF that changes its table.
struct Change<'a> {
    vrf: IfName,
    to: RouteTable,
    /// Whether others still look at the old table.
    shared: bool,
    origin: Option<&'a Origin>,
}

/// A route that moves: where it was and where it comes to.
pub(crate) type Move = (RouteKey, RouteKey);

/// Moves the routes of every VRF that the goal gives another table. Comes after everything that a desired state says of
/// routes.
pub(crate) fn lay(observed: &Observed, laid: &mut Laid) -> Result<(), PlanError> {
    let changes = changes(&laid.goal, observed);
    if changes.is_empty() {
        return Ok(());
    }
    let of_others = of_others(observed);
    let mut moved: BTreeMap<RouteKey, (Route, Option<Origin>)> = BTreeMap::new();
    for (from, change) in changes {
        let leaves = |route: &&Route| route.table == from && change.takes(route, observed);
        for route in observed.routes.values().chain(of_others.values()).filter(leaves) {
            if !laid.goal.routes.contains_key(&route.key()) {
                let new = Route { table: change.to, ..route.clone() };
                moved.entry(route.key()).or_insert((new, change.origin.cloned()));
            }
        }
    }
    let taken = |new: &Route| {
        let key = new.key();
        let stays = !laid.goal.routes.contains_key(&key) && !moved.contains_key(&key);
        let there = observed.routes.get(&key).or_else(|| of_others.get(&key));
        there.filter(|there| stays && !there.same_effect(new))
    };
    let (clear, blocked): (Vec<_>, Vec<_>) = moved.iter().partition(|(_, (new, _))| taken(new).is_none());
    for (_, (new, origin)) in blocked {
        refuse(new, taken(new), origin.as_ref(), &mut laid.notes)?;
    }
    for (key, _) in &clear {
        laid.goal.routes.insert(**key, GoalRoute { route: None, origin: None });
    }
    for (key, (new, _)) in clear {
        // Two VRFs may take each other's table: what leaves the place makes room.
        if moved.contains_key(&new.key()) {
            laid.goal.routes.remove(&new.key());
        }
        laid.goal.heal_route(new.clone());
        laid.moved.push((*key, new.key()));
    }
    Ok(())
}

/// The routes that nobody configured and that are missed when they are lost, as they can be put anywhere else.
fn of_others(observed: &Observed) -> BTreeMap<RouteKey, Route> {
    let fragile: BTreeSet<&Route> = observed.fragile_routes.iter().collect();
    let missed = observed.derived_routes.iter().filter(|route| route.is_missed() && !fragile.contains(route));
    missed.map(|route| stand_in(observed, route.clone())).map(|route| (route.key(), route)).collect()
}

/// Another route is where one moves to. Who asked for the table is reported; a table that is only given back waits for
/// a person.
fn refuse(
    new: &Route,
    there: Option<&Route>,
    origin: Option<&Origin>,
    notes: &mut Vec<String>,
) -> Result<(), PlanError> {
    let Some(there) = there else { return Ok(()) };
    if let Some(origin) = origin {
        return Err(PlanError::ForeignObject {
            what: format!("another route for the same destination, table and metric ({there}), where {new} moves to"),
            owner: format!("route protocol {}", there.protocol),
            origin: origin.clone(),
        });
    }
    notes.push(format!("{new} does not move there, because of {there}; remove one of them"));
    Ok(())
}

/// Has claims follow the routes that moved.
pub(crate) fn move_claims(moved: &[Move], record: &mut Ownership) {
    let claims: Vec<(RouteKey, Claim)> =
        moved.iter().filter_map(|(old, new)| Some((*new, record.claims.remove(&ClaimKey::Route(*old))?))).collect();
    for (key, Claim { origins, before, ours }) in claims {
        let (before, ours) = (in_table(before, key.table), in_table(ours, key.table));
        let claim =
            record.claims.entry(ClaimKey::Route(key)).or_insert(Claim { origins: Origins::default(), before, ours });
        for (owner, origin) in origins.iter() {
            claim.origins.insert(Arc::clone(owner), origin.clone());
        }
    }
}

/// The VRFs that change their table, by the table that they leave. Of two that leave one table the first takes its routes.
fn changes<'a>(goal: &'a Goal, observed: &Observed) -> BTreeMap<RouteTable, Change<'a>> {
    let mut changes = BTreeMap::new();
    for (name, wanted) in goal.links.iter().filter_map(|(name, goal)| Some((*name, goal.as_ref()?))) {
        let now =
            observed.links.get(&name).filter(|now| now.kind == LinkKind::Vrf && wanted.link.kind == LinkKind::Vrf);
        let (Some(from), Some(to)) = (now.and_then(|now| table(&now.attrs)), table(&wanted.link.attrs)) else {
            continue;
        };
        if from != to {
            let shared = from == RouteTable::MAIN || observed.links.values().any(|other| keeps(other, from, goal));
            changes.entry(from).or_insert(Change { vrf: name, to, shared, origin: wanted.origin.as_ref() });
        }
    }
    changes
}

impl Change<'_> {
    /// Whether a route of the old table belongs to the VRF.
    fn takes(&self, route: &Route, observed: &Observed) -> bool {
        let of_vrf = |name: IfName| {
            name == self.vrf || observed.links.get(&name).is_some_and(|link| link.controller == Some(self.vrf))
        };
        !self.shared || route.next_hops.iter().any(|hop| hop.link.is_some_and(of_vrf))
    }
}

/// Whether a link is a VRF that has the table now and in the goal.
fn keeps(link: &Link, from: RouteTable, goal: &Goal) -> bool {
    let wanted = match goal.links.get(&link.name) {
        Some(None) => None,
        Some(Some(goal)) => table(&goal.link.attrs),
        None => table(&link.attrs),
    };
    link.kind == LinkKind::Vrf && wanted == Some(from)
}

fn in_table(value: Previous, table: RouteTable) -> Previous {
    if let Previous::Route(route) = value { Previous::Route(Route { table, ..*route }.into()) } else { value }
}

fn table(attrs: &Attrs) -> Option<RouteTable> {
    RouteTable::try_from(u32::try_from(attrs.int(Attr::VrfTable)?).ok()?).ok()
}
