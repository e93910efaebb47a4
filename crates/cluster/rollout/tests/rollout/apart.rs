//! Nodes that keep a desired state of their own, as those do that merge policies themselves.

use netloom_api::pipeline::network_config_revision::RevisionPhase;

use crate::{
    scenarios::settled,
    world::{Content, World},
};

fn apart(world: &mut World, nodes: usize) {
    (0..nodes).for_each(|i| world.agents.get_mut(&format!("n{i:04}")).unwrap().apart = true);
}

#[test]
fn where_all_nodes_are_apart_a_revision_proves_nothing() {
    let mut world = settled(3);
    apart(&mut world, 3);
    world.make_desired("b", Content::new(2).bad());
    world.run();
    assert!(world.given.is_empty(), "there is nothing in it for them");
    assert!(world.revision("b").proven_at.is_none(), "nobody has taken it");
    let decision = world.decision();
    let b = &decision.revisions[0];
    assert_eq!((b.phase, b.ready, b.apart, b.queued), (RevisionPhase::Pending, 0, 3, 0));
    assert_eq!(b.message, "0 of 3 nodes have it; with a desired state of their own: 3");
    let policy = &decision.policies[0];
    assert_eq!(policy.message, "0 nodes have revision b; with a desired state of their own: 3");
    assert_eq!((policy.last_good.as_deref(), policy.nodes.ready), (Some("a"), 0));
    // The first that leaves it to the controller again tries it for all, and is taken back.
    world.agents.values_mut().for_each(|agent| agent.apart = false);
    world.run();
    assert_eq!(world.ever_assigned("b").len(), 1);
    assert!(world.revision("b").failure.is_some() && world.all_have("a"));
}

#[test]
fn one_that_takes_it_proves_it_for_those_that_are_apart() {
    let mut world = settled(3);
    apart(&mut world, 2);
    world.make_desired("b", Content::new(2));
    world.run();
    assert_eq!(world.ever_assigned("b").into_iter().collect::<Vec<_>>(), ["n0002"]);
    assert!(world.revision("b").proven_at.is_some());
    let b = &world.decision().revisions[0];
    assert_eq!((b.phase, b.ready, b.apart), (RevisionPhase::Active, 1, 2));
    assert_eq!(b.message, "1 of 3 nodes have it; with a desired state of their own: 2");
}

#[test]
fn what_changes_nothing_is_proved_by_a_node_that_would_have_been_assigned() {
    let mut world = settled(3);
    apart(&mut world, 2);
    world.make_desired("b", Content::new(1));
    world.run();
    assert!(world.given.is_empty());
    assert!(world.revision("b").proven_at.is_some(), "n0002 has what it says, and works");
}
