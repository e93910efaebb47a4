//! Which links rules look at, where objects make links themselves.
//!
//! A rule cannot simply look at what a node reports: a policy that matches a link of another one, and
//! has precedence over it, could keep that link from being made, and would then not match it any more.
//! So what a node reports is not asked for links that were made for the desired state. First everybody is heard with the
//! links that are there anyway. What comes of that makes links; who looks at those is heard again, after everybody else,
//! and so on until no further link is made. What was taken once is never lost by that, so it ends; and it is the same
//! before and after the links are there.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    host::HostUnits,
    merge::{Desired, merge},
    unit::makes_link,
};
use crate::{
    contribution::{Contribution, StatePart},
    front_end::{NodeClass, Selected},
    state::{Inventory, Link, document::list},
};

/// What there is to be given on a class of nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// The nodes.
    pub(crate) class: NodeClass<'a>,
    /// What goes into their configuration, in the order in which it wins.
    pub(crate) config: &'a [HostUnits],
}

/// Decides over everything that is wanted of a class of nodes: over `first`, which is wanted of the links that are there
/// anyway, and then over what is wanted of the links that come of it. All come in the order in which they win.
pub(crate) fn resolve(ground: Ground<'_>, all: &[Arc<dyn Selected>], first: Vec<Arc<Contribution>>) -> Desired {
    let Ground { class, config } = ground;
    let mut layers = first;
    let mut world = Cow::Borrowed(class.found);
    loop {
        let parts = layers.iter().filter_map(|contribution| contribution.state.as_ref());
        let desired = merge(class.manual, class.found, config, parts);
        let made = made(&desired, &world, class.reported);
        if made.links.is_empty() {
            return desired;
        }
        let concerned: Vec<&Arc<dyn Selected>> = all.iter().filter(|one| one.looks_at(&made)).collect();
        world.to_mut().links.extend(made.links);
        let again = concerned.into_iter().map(|one| one.contribute(&NodeClass { found: &world, ..class }));
        let further: Vec<Arc<Contribution>> = again.filter_map(|one| further(one, &layers).map(Arc::new)).collect();
        if further.is_empty() {
            return desired;
        }
        layers.extend(further);
    }
}

/// The links that the desired state makes and that were not there before, with who is on their wires where that is known.
fn made(desired: &Desired, world: &Inventory, reported: &Inventory) -> Inventory {
    let by_policy: BTreeSet<&str> =
        desired.provenance.shares.values().flat_map(|share| share.interfaces.keys()).map(String::as_str).collect();
    let new = |entry: &&Value| {
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
        let makes = entry.as_object().is_some_and(makes_link) && entry.get("state") != Some(&json!("absent"));
        makes && world.get(name).is_none() && by_policy.contains(name)
    };
    let entries: Vec<&Value> =
        desired.document.iter().flat_map(|document| list(document, "/interfaces")).filter(new).collect();
    let mut links: BTreeMap<String, Link> = Inventory::read(&json!({"interfaces": entries})).links;
    for (name, link) in &mut links {
        if let Some(there) = reported.get(name).filter(|there| there.kind == link.kind) {
            link.neighbours.clone_from(&there.neighbours);
            link.listened = there.listened;
        }
    }
    Inventory { links }
}

/// What somebody wants beyond what it was heard with before; none when that is nothing.
fn further(mut contribution: Contribution, before: &[Arc<Contribution>]) -> Option<Contribution> {
    let part = contribution.state.as_mut()?;
    let heard: Vec<&StatePart> =
        before.iter().filter_map(|one| one.state.as_ref()).filter(|one| one.asker == part.asker).collect();
    let same = heard.last().is_some_and(|one| one.matched == part.matched);
    part.units.retain(|unit| !heard.iter().any(|one| one.units.contains(unit)));
    (!same || !part.units.is_empty()).then_some(contribution)
}
