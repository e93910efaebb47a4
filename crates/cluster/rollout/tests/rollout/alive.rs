//! Whether a node can take a change depends on its agent, and gates compare before with after.

use netloom_api::rollout::Phase;
use netloom_rollout::Liveness;

use crate::{
    scenarios::settled,
    world::{Content, World},
};

fn agent(world: &mut World, node: &str, agent: Liveness) {
    world.nodes.get_mut(node).unwrap().agent = agent;
}

/// What is reported of the newest revision.
fn reported(world: &World) -> (String, Vec<(String, String)>) {
    let outcome = world.decision().revisions[0].clone();
    (outcome.message, outcome.passed_over.into_iter().collect())
}

#[test]
fn a_node_that_is_not_ready_gets_its_configuration_where_its_agent_is_there() {
    let mut world = World::new(1);
    world.ready("n0000", false);
    agent(&mut world, "n0000", Liveness::Alive);
    world.make_desired("a", Content::new(1));
    world.run();
    assert!(world.all_have("a") && world.revision("a").proven_at.is_some());
    assert_eq!(reported(&world), ("1 of 1 nodes have it".to_owned(), vec![]));
}

#[test]
fn nodes_that_are_well_come_first() {
    let mut world = settled(3);
    for node in ["n0000", "n0001", "n0002"] {
        agent(&mut world, node, Liveness::Alive);
    }
    world.ready("n0000", false);
    world.make_desired("b", Content::new(2));
    let given = world.given.len();
    world.run();
    assert!(world.all_have("b"));
    let order: Vec<&str> = world.given[given..].iter().map(|given| given.node.as_str()).collect();
    assert_eq!(order, ["n0001", "n0002", "n0000"]);
}

#[test]
fn a_node_whose_agent_is_gone_is_passed_over_and_named_and_gets_it_later() {
    let mut world = settled(2);
    agent(&mut world, "n0000", Liveness::Alive);
    agent(&mut world, "n0001", Liveness::Gone { seconds: 90 });
    world.make_desired("b", Content::new(2));
    world.run();
    assert!(world.has("n0000", "b") && !world.ever_assigned("b").contains("n0001"));
    let why = "cannot take it until its agent is back, which was not heard of for 90 s";
    let (message, passed_over) = reported(&world);
    assert_eq!(message, format!("1 of 2 nodes have it; passed over: n0001 ({why})"));
    assert_eq!(passed_over, [("n0001".to_owned(), why.to_owned())]);
    let decision = world.decision();
    assert_eq!(&*decision.held_up["n0001"], format!("the node {why}"));
    assert_eq!(decision.policies[0].phase, Phase::Waiting);
    agent(&mut world, "n0001", Liveness::Alive);
    world.run();
    assert!(world.all_have("b"));
    assert_eq!(reported(&world).1, []);
}

#[test]
fn a_node_of_whose_agent_nothing_is_heard_goes_by_its_conditions_and_it_is_said_why() {
    for (agent_is, why) in [
        (Liveness::Silent, "cannot take it: its agent gives no sign of life, and condition Ready is not True"),
        (Liveness::Unknown, "cannot take it until its agent is heard of, or condition Ready is True"),
    ] {
        let mut world = settled(2);
        agent(&mut world, "n0001", agent_is);
        world.ready("n0001", false);
        world.make_desired("b", Content::new(2));
        world.run();
        assert_eq!(reported(&world).1, [("n0001".to_owned(), why.to_owned())]);
        world.ready("n0001", true);
        world.run();
        assert!(world.all_have("b"));
    }
}

#[test]
fn a_gate_that_was_open_before_must_be_open_after() {
    for agent_is in [Liveness::Silent, Liveness::Unknown, Liveness::Alive] {
        let mut world = settled(2);
        agent(&mut world, "n0000", agent_is);
        world.make_desired("b", Content::new(2));
        world.settle();
        world.answer("n0000");
        world.ready("n0000", false);
        world.run();
        let failure = world.revision("b").failure.clone().unwrap();
        assert_eq!(failure.message, "reported it and then lost condition Ready");
        // What took the condition away must give it back.
        let assigned = world.nodes["n0000"].assigned.clone().unwrap();
        assert_eq!((assigned.revision.as_str(), assigned.gates.unwrap().len()), ("a", 1));
    }
}

/// The first node of `nodes` was assigned `b`, and that cost it its condition.
fn lost_ready(nodes: usize) -> World {
    let mut world = settled(nodes);
    for node in world.nodes.values_mut() {
        node.agent = Liveness::Alive;
    }
    world.make_desired("b", Content::new(2));
    world.settle();
    world.answer("n0000");
    world.ready("n0000", false);
    world
}

#[test]
fn what_cost_a_node_a_gate_is_not_tried_again_before_the_node_has_it_back() {
    let mut world = lost_ready(3);
    world.run();
    let failed = |world: &mut World| world.revision("b").failure.clone().unwrap();
    world.now = failed(&mut world).retry_at.unwrap();
    world.run();
    assert_eq!(failed(&mut world).attempts, 1, "the node has returned and still lacks what it had");
    // Somebody who cannot wait gets the same answer again.
    world.revision("b").asked = true;
    world.settle();
    world.revision("b").asked = false;
    world.run();
    assert_eq!((failed(&mut world).attempts, world.ever_assigned("b").len()), (2, 1));
    // The node is well again, and so is the revision.
    world.ready("n0000", true);
    world.now = failed(&mut world).retry_at.unwrap();
    world.run();
    assert!(world.all_have("b"), "{:?}", world.decision());
}

#[test]
fn what_takes_the_place_of_a_bad_revision_must_give_back_what_that_cost() {
    let mut world = lost_ready(1);
    world.make_desired("c", Content::new(3));
    world.run();
    let given: Vec<_> = world.given.iter().map(|given| (given.revision.as_str(), given.gates.len())).collect();
    assert_eq!(given[..2], [("b", 1), ("c", 1)]);
    assert_eq!(world.revision("c").failure.clone().unwrap().message, "reported it and then lost condition Ready");
    assert_eq!(world.nodes["n0000"].assigned.as_ref().unwrap().revision, "a");
}

#[test]
fn a_gate_that_was_closed_before_may_be_closed_after() {
    let mut world = settled(2);
    for node in ["n0000", "n0001"] {
        agent(&mut world, node, Liveness::Alive);
        world.ready(node, false);
    }
    world.make_desired("b", Content::new(2));
    world.run();
    assert!(world.all_have("b") && world.revision("b").failure.is_none());
    world.ready("n0000", true);
    world.ready("n0000", false);
    world.run();
    assert!(world.revision("b").failure.is_none());
}

#[test]
fn an_agent_that_goes_while_it_is_at_a_change_fails_it() {
    let mut world = settled(2);
    world.make_desired("b", Content::new(2));
    world.settle();
    agent(&mut world, "n0000", Liveness::Gone { seconds: 90 });
    world.agents.get_mut("n0000").unwrap().dead = true;
    world.run();
    let failure = world.revision("b").failure.clone().unwrap();
    assert_eq!(failure.message, "did not report within 180 s, and its agent is gone");
    world.pass(10_000);
    world.run();
    assert_eq!(world.ever_assigned("b").len(), 1, "what may have killed one node is not tried on the next");
    agent(&mut world, "n0000", Liveness::Alive);
    world.agents.get_mut("n0000").unwrap().dead = false;
    world.run();
    world.settle();
    world.run();
    assert!(world.all_have("b"), "{:?}", world.decision());
}
