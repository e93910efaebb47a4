//! Which links rules look at, where policies make links themselves.
//!
//! A rule cannot simply look at what a node reports: a policy that matches a link of another one, and
//! has precedence over it, could keep that link from being made, and would then not match it any more.
//! So what a node reports is not asked for links that policies made. First every policy is held
//! against the links that are there anyway. What comes of that makes links; policies that match those
//! are heard again, after everybody else, and so on until no further link is made. What was taken once
//! is never lost by that, so it ends; and it is the same before and after the links are there.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    claim::makes_link,
    contribution::{Contribution, contribute},
    document::list,
    hand::Hand,
    inventory::{Inventory, Link},
    merge::{Desired, merge},
    networks::Claimed,
    policy::Prepared,
    rules,
};

/// What policies find on a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// What uplinks and host networks claim.
    pub(crate) networks: &'a Claimed,
    /// What somebody wrote by hand.
    pub(crate) hand: &'a Hand,
    /// The links that there are without policies.
    pub(crate) found: &'a Inventory,
    /// The links that the node reports.
    pub(crate) reported: &'a Inventory,
}

/// Merges what policies want of the links that are there without them, `first`, and then what they want of the links
/// that come of it. Policies come in the order in which they win.
pub(crate) fn merge_all(ground: Ground<'_>, policies: &[&Prepared], first: Vec<Arc<Contribution>>) -> Desired {
    let Ground { networks, hand, found, reported } = ground;
    let mut layers = first;
    let mut world = Cow::Borrowed(found);
    loop {
        let desired = merge(hand, found, networks, layers.iter().map(AsRef::as_ref));
        let made = made(&desired, &world, reported);
        if made.links.is_empty() {
            return desired;
        }
        let concerned: Vec<&&Prepared> =
            policies.iter().filter(|policy| !rules::matched(&policy.rules, &made).is_empty()).collect();
        world.to_mut().links.extend(made.links);
        let further: Vec<Arc<Contribution>> = concerned
            .into_iter()
            .filter_map(|policy| {
                let before = hand.before(&policy.source.key);
                further(contribute(policy, &world, reported, before), &layers).map(Arc::new)
            })
            .collect();
        if further.is_empty() {
            return desired;
        }
        layers.extend(further);
    }
}

/// The links that policies make and that were not there before, with who is on their wires where that is known.
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

/// What a policy wants beyond what it was heard with before; none when that is nothing.
fn further(mut contribution: Contribution, before: &[Arc<Contribution>]) -> Option<Contribution> {
    let heard = || before.iter().filter(|one| one.policy == contribution.policy);
    let known: Vec<_> = heard().flat_map(|one| &one.units).collect();
    let same = heard().next_back().is_some_and(|one| one.matched == contribution.matched);
    let new: Vec<_> = contribution.units.iter().filter(|unit| !known.contains(unit)).cloned().collect();
    contribution.units = new;
    (!same || !contribution.units.is_empty()).then_some(contribution)
}
