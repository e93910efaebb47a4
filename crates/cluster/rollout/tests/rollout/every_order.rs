//! Small clusters, every order of answers, silences, crashes and restarts.

use std::collections::BTreeSet;

use netloom_api::rollout::{Canary, RolloutPolicySpec, Share};

use crate::{
    scenarios::settled,
    world::{Content, World},
};

/// What can happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The agent of this node answers.
    Answer(usize),
    /// The decision is carried out up to so many writes, then whoever decided is killed.
    Decide(usize),
    /// Time passes until something is due.
    Time,
}

fn possible(world: &World) -> Vec<Next> {
    let answers = world.nodes.keys().enumerate().filter(|(_, name)| world.has_work(name)).map(|(i, _)| Next::Answer(i));
    let decision = world.decision();
    let mut next: Vec<Next> = answers.chain([Next::Decide(1), Next::Decide(usize::MAX)]).collect();
    next.extend(decision.wake_at.map(|_| Next::Time));
    next
}

fn follow(world: &World, next: Next) -> World {
    let mut world = world.clone();
    match next {
        Next::Answer(i) => {
            let name = world.nodes.keys().nth(i).unwrap().clone();
            world.answer(&name);
        }
        Next::Decide(most) => {
            let decision = world.decision();
            world.carry_out(&decision, most);
        }
        Next::Time => world.now = world.decision().wake_at.unwrap(),
    }
    world.events.clear();
    world.waves.clear();
    world
}

/// Everything that can follow from `start`, each state once; gives back how many there were.
fn explore(start: World, most: usize, check: &dyn Fn(&World)) -> usize {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        let state_text = format!("{:?}{:?}{:?}{:?}", world.now, world.revisions, world.nodes, world.given);
        if seen.len() >= most || !seen.insert(state_text) {
            continue;
        }
        check(&world);
        open.extend(possible(&world).into_iter().map(|next| follow(&world, next)));
    }
    seen.len()
}

fn small(nodes: usize) -> World {
    let mut world = settled(nodes);
    let canary = Canary { soak_seconds: 5, ..Canary::default() };
    let spec = RolloutPolicySpec {
        canary,
        max_unavailable: Share::Nodes(2),
        timeout_seconds: 10,
        ..RolloutPolicySpec::default()
    };
    world.policy("p", spec);
    world
}

#[test]
fn a_bad_revision_is_always_taken_back() {
    let mut world = small(3);
    world.make_desired("b", Content::new(2).bad());
    let states = explore(world, 600, &|world| {
        assert!(world.ever_assigned("b").len() <= 1);
        let mut end = world.clone();
        end.run();
        assert!(end.all_have("a"), "{:?}", end.decision());
    });
    assert!(states > 20, "only {states} states were looked at");
}

#[test]
fn a_good_revision_always_arrives_or_is_taken_back_whole() {
    let mut world = small(3);
    world.make_desired("b", Content::new(2));
    let states = explore(world, 400, &|world| {
        let mut end = world.clone();
        end.run();
        let failed = end.revision("b").failure.is_some();
        assert!(if failed { end.all_have("a") } else { end.all_have("b") }, "{:?}", end.decision());
    });
    assert!(states > 100, "only {states} states were looked at");
}

#[test]
fn two_desired_states_in_a_row_never_fight() {
    let mut world = small(2);
    world.make_desired("b", Content::new(2));
    world.settle();
    world.make_desired("c", Content::new(3));
    explore(world, 400, &|world| {
        for node in world.nodes.keys() {
            let given: Vec<&str> =
                world.given.iter().filter(|given| given.node == *node).map(|given| given.revision.as_str()).collect();
            let twice = given.iter().filter(|name| **name == "b").count() > 1
                || given.windows(2).any(|pair| pair == ["c", "b"]);
            assert!(!twice, "{node} was assigned {given:?}");
        }
        let mut end = world.clone();
        end.run();
        let failed = end.revision("c").failure.is_some();
        assert!(
            if failed { end.all_have("a") || end.all_have("b") } else { end.all_have("c") },
            "{:?}",
            end.decision()
        );
    });
}
