//! Which revisions stay, and which nodes still name one that should go.

use std::collections::BTreeSet;

use crate::{
    decision::Assignment,
    group::Member,
    input::{Cause, Revision},
    outcome::Scene,
    standing::Standing,
    target,
};

/// Revisions beyond the history that nothing needs.
pub(crate) fn obsolete(scene: &Scene<'_, '_, '_>) -> Vec<String> {
    let named: BTreeSet<&str> =
        scene.view.nodes.iter().filter_map(|node| Some(node.assigned.as_ref()?.revision.as_str())).collect();
    let needed = needed(scene);
    let surplus = surplus(scene).iter();
    surplus
        .map(|revision| revision.name.as_str())
        .filter(|name| !named.contains(name) && !needed.contains(name))
        .map(str::to_owned)
        .collect()
}

/// Nodes that have what the target says, under the name of a revision that leaves the history.
///
/// Their name is brought up to date, so that the number of revisions stays bounded and nobody is assigned a name that
/// is not there. That waits until nothing else is to be done.
pub(crate) fn renames(scene: &Scene<'_, '_, '_>) -> Vec<Assignment> {
    let needed = needed(scene);
    let leaving: BTreeSet<&str> =
        surplus(scene).iter().map(|revision| revision.name.as_str()).filter(|name| !needed.contains(name)).collect();
    let mut renames = Vec::new();
    for ((group, round), plan) in scene.groups.iter().zip(scene.rounds).zip(scene.plans) {
        let Some(round) = round else { continue };
        if !plan.complete || plan.obstacle.is_some() || round.target.proven_at.is_none() {
            continue;
        }
        let busy = group.members.iter().filter(|member| member.standing.is_busy()).count();
        let room = group.policy.spec.max_unavailable.of(group.members.len()).saturating_sub(busy);
        let stale = round.at.iter().filter(|member| {
            let named = member.node.assigned.as_ref().map(|assigned| assigned.revision.as_str());
            member.is_able() && member.standing == Standing::Done && named.is_some_and(|name| leaving.contains(name))
        });
        let rename = |member: &&Member<'_>| round.assignment(member, &group.policy.spec, Cause::Rename);
        renames.extend(stale.take(room).map(rename));
    }
    renames
}

/// Revisions older than the history is long.
fn surplus<'s>(scene: &Scene<'s, '_, '_>) -> &'s [&'s Revision] {
    let limits = scene.groups.iter().map(|group| group.policy.spec.revision_history_limit);
    let limit = limits.max().map_or(10, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    scene.revisions.get(limit..).unwrap_or_default()
}

/// What somebody asks for or may return to, however old.
fn needed<'s>(scene: &Scene<'s, '_, '_>) -> BTreeSet<&'s str> {
    let targets = scene.aims.iter().filter_map(|aim| aim.revision);
    let pinned = scene.view.policies.iter().filter_map(|policy| policy.spec.pinned_revision.as_deref());
    let good = target::last_good(scene.revisions);
    targets.chain(good).map(|revision| revision.name.as_str()).chain(pinned).collect()
}
