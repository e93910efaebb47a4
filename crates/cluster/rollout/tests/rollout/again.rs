//! Revisions that failed are tried again: after a while, when something changes, when somebody asks.

use jiff::SignedDuration;
use netloom_api::rollout::{Canary, FailureAction, Phase, RetryPolicy, RolloutPolicySpec, Share};
use netloom_rollout::{Failure, Liveness};
use serde_json::json;

use crate::{
    scenarios::settled,
    world::{Content, World},
};

/// Three nodes on revision `a`, and `b`, which failed on the first of them.
fn failed() -> World {
    let mut world = settled(3);
    world.make_desired("b", Content::new(2).bad());
    world.run();
    assert_eq!(failure(&mut world).attempts, 1);
    world
}

fn failure(world: &mut World) -> Failure {
    world.revision("b").failure.clone().unwrap()
}

fn fix(world: &mut World) {
    world.contents.insert("b".to_owned(), Content::new(2));
    // What is not in place yet works from now on.
    for agent in world.agents.values_mut() {
        if let Some(written) = &mut agent.written {
            written.2 = false;
        }
    }
}

#[test]
fn the_delay_doubles_from_a_minute_to_an_hour() {
    let mut world = failed();
    let mut delays = Vec::new();
    for attempts in 1..=8 {
        let failure = failure(&mut world);
        assert_eq!(failure.attempts, attempts);
        let next = failure.retry_at.unwrap();
        delays.push(next.duration_since(failure.at).as_secs());
        world.now = next - SignedDuration::from_secs(1);
        world.settle();
        assert!(world.revision("b").failure.is_some(), "not before its time");
        world.now = next;
        world.settle();
        assert!(world.has_work("n0000"), "the node that failed is assigned it again");
        world.run();
    }
    assert_eq!(delays, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
    assert_eq!(world.ever_assigned("b").len(), 1, "no other node was tried on");
    assert!(world.all_have("a"));
}

#[test]
fn a_policy_says_how_long_to_wait() {
    let mut world = settled(2);
    let retry = RetryPolicy { first_seconds: 5, most_seconds: 8 };
    world.policy("p", RolloutPolicySpec { retry, ..RolloutPolicySpec::default() });
    world.make_desired("b", Content::new(2).bad());
    world.run();
    for seconds in [5, 8, 8] {
        let failure = failure(&mut world);
        let next = failure.retry_at.unwrap();
        assert_eq!(next.duration_since(failure.at).as_secs(), seconds);
        world.now = next;
        world.run();
    }
}

#[test]
fn what_works_the_second_time_reaches_everybody() {
    let mut world = failed();
    fix(&mut world);
    world.now = failure(&mut world).retry_at.unwrap();
    world.run();
    assert!(world.all_have("b"));
    let revision = world.revision("b");
    assert!(revision.failure.is_none() && revision.before.is_none() && revision.proven_at.is_some());
    let reasons: Vec<&str> = world.events.iter().map(|event| event.0).collect();
    assert!(reasons.contains(&"RolloutRetried"), "{reasons:?}");
}

#[test]
fn a_change_that_bears_on_the_failure_is_not_waited_for() {
    let mut world = failed();
    let at = failure(&mut world).at;
    fix(&mut world);
    world.revision("b").changed = true;
    let wake_at = world.decision().wake_at.unwrap();
    assert_eq!(wake_at.duration_since(at).as_secs(), 5, "a link that flaps is no reason to hurry");
    world.now = wake_at;
    world.settle();
    world.revision("b").changed = false;
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn somebody_who_asks_is_not_made_to_wait() {
    let mut world = failed();
    fix(&mut world);
    world.revision("b").asked = true;
    world.settle();
    world.revision("b").asked = false;
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn however_many_come_first_it_is_tried_again_on_one() {
    let mut world = settled(4);
    world.most_canaries = 2;
    let canary = Canary { nodes: Share::Nodes(2), soak_seconds: 0, node_selector: None };
    world.policy("p", RolloutPolicySpec { canary, ..RolloutPolicySpec::default() });
    world.make_desired("b", Content::new(2).bad().with("n0000", 0));
    world.run();
    assert_eq!(failure(&mut world).node, "n0001");
    let given = world.given.len();
    world.now = failure(&mut world).retry_at.unwrap();
    world.settle();
    let again: Vec<&str> = world.given[given..].iter().map(|given| given.node.as_str()).collect();
    assert_eq!(again, ["n0001"], "where it failed, though another comes first by name");
}

#[test]
fn with_nothing_to_return_to_the_node_is_assigned_the_same_again() {
    let mut world = World::new(2);
    world.make_desired("b", Content::new(2).bad());
    world.run();
    assert_eq!(failure(&mut world).attempts, 1);
    fix(&mut world);
    world.now = failure(&mut world).retry_at.unwrap();
    world.settle();
    assert!(world.has_work("n0000"), "assigned again, so it tries again and answers again");
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn a_failure_that_stops_everything_waits_for_a_person() {
    let mut world = settled(2);
    world.policy("p", RolloutPolicySpec { on_failure: FailureAction::Pause, ..RolloutPolicySpec::default() });
    world.make_desired("b", Content::new(2).bad());
    world.run();
    world.revision("b").changed = true;
    assert_eq!((failure(&mut world).retry_at, world.decision().wake_at), (None, None));
    fix(&mut world);
    world.revision("b").asked = true;
    world.settle();
    (world.revision("b").asked, world.revision("b").changed) = (false, false);
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn what_is_not_desired_any_more_is_not_tried_again() {
    let mut world = failed();
    world.make_desired("c", Content::new(3));
    world.run();
    world.pass(100_000);
    world.run();
    assert!(world.all_have("c") && world.revision("b").failure.is_some());
}

/// Six nodes under two policies, the first three in class `early`; `b` failed on the second node of the later ones.
fn failed_in_the_later_group() -> World {
    let mut world = World::new(6);
    for (node, class) in (0..6).map(|i| (format!("n{i:04}"), if i < 3 { "early" } else { "late" })) {
        world.label(&node, class);
    }
    for (name, class) in [("p1", "early"), ("p2", "late")] {
        let labels = json!({"matchLabels": {"class": class}});
        let node_selector = Some(serde_json::from_value(labels).unwrap());
        world.policy(name, RolloutPolicySpec { node_selector, ..RolloutPolicySpec::default() });
    }
    world.make_desired("a", Content::new(1));
    world.run();
    assert!(world.all_have("a"));
    world.given.clear();
    let good = ["n0000", "n0001", "n0002", "n0003"];
    world.make_desired("b", good.iter().fold(Content::new(2).bad(), |content, node| content.with(node, 0)));
    world.run();
    assert_eq!(failure(&mut world).node, "n0004");
    assert!(world.all_have("a"), "everybody has returned");
    world
}

fn assigned_since(world: &World, given: usize) -> Vec<&str> {
    world.given[given..].iter().map(|given| given.node.as_str()).collect()
}

#[test]
fn it_is_tried_again_where_it_failed_though_another_policy_comes_first() {
    let mut world = failed_in_the_later_group();
    let given = world.given.len();
    world.now = failure(&mut world).retry_at.unwrap();
    world.settle();
    assert_eq!(assigned_since(&world, given), ["n0004"]);
    world.run();
    assert_eq!(failure(&mut world).attempts, 2);
    assert_eq!(assigned_since(&world, given), ["n0004", "n0004"], "assigned, and taken back");
    // Fixed, it goes to the others when that node has it and was watched, policy by policy.
    world.contents.insert("b".to_owned(), Content::new(2));
    let given = world.given.len();
    world.now = failure(&mut world).retry_at.unwrap();
    world.settle();
    world.answer("n0004");
    world.settle();
    assert_eq!(assigned_since(&world, given), ["n0004"], "it is watched before others are assigned");
    world.run();
    assert!(world.all_have("b"), "{:?}", world.decision());
    assert_eq!(assigned_since(&world, given)[..2], ["n0004", "n0000"], "then the first policy begins");
}

#[test]
fn everybody_who_waits_for_a_node_that_is_gone_is_assigned_so() {
    let mut world = failed_in_the_later_group();
    world.contents.insert("b".to_owned(), Content::new(2));
    world.nodes.get_mut("n0004").unwrap().agent = Liveness::Gone { seconds: 90 };
    world.revision("b").asked = true;
    world.settle();
    world.revision("b").asked = false;
    let given = world.given.len();
    world.run();
    assert_eq!(assigned_since(&world, given), [""; 0], "it may be gone because of the revision");
    let why = "revision b is tried again on node n0004 first, where it failed, and that node cannot take it until its \
               agent is back, which was not heard of for 90 s: start its agent, or delete the Node if it is gone for good";
    let decision = world.decision();
    assert!(decision.revisions[0].message.starts_with(&format!("0 of 6 nodes have it; {why}; ")), "{decision:?}");
    for policy in &decision.policies {
        assert_eq!((policy.phase, policy.message.as_str()), (Phase::Blocked, why));
    }
    assert_eq!(&*decision.held_up["n0000"], format!("RolloutPolicy p1: {why}"));
    // Either of the two brings it on.
    let mut gone = world.clone();
    gone.nodes.remove("n0004");
    gone.run();
    assert!(gone.all_have("b"), "{:?}", gone.decision());
    world.nodes.get_mut("n0004").unwrap().agent = Liveness::Alive;
    world.run();
    assert!(world.all_have("b"), "{:?}", world.decision());
    assert_eq!(assigned_since(&world, given)[0], "n0004");
}

#[test]
fn a_policy_that_is_paused_holds_the_node_that_comes_first() {
    let mut world = failed_in_the_later_group();
    world.contents.insert("b".to_owned(), Content::new(2));
    let pause = |world: &mut World, paused| {
        world.policies.iter_mut().find(|policy| policy.name == "p2").unwrap().spec.paused = paused;
    };
    pause(&mut world, true);
    world.now = failure(&mut world).retry_at.unwrap();
    world.run();
    assert_eq!(failure(&mut world).attempts, 1, "by itself it is not tried again");
    world.revision("b").asked = true;
    world.settle();
    world.revision("b").asked = false;
    let given = world.given.len();
    world.run();
    assert_eq!(assigned_since(&world, given), [""; 0]);
    let message = world.decision().policies[0].message.clone();
    assert!(message.ends_with("and that node is held up: the policy is paused"), "{message}");
    pause(&mut world, false);
    world.run();
    assert!(world.all_have("b"), "{:?}", world.decision());
}
