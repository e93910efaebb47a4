//! Single stories, each with what a person would expect of it.

use netloom_api::{
    pipeline::network_config_revision::RevisionPhase,
    rollout::{Canary, FailureAction, Limits, Phase, RolloutPolicySpec, Share},
};
use netloom_rollout::{Cause, Progress, Report};
use serde_json::json;

use crate::world::{Content, World};

/// Nodes that all have revision `a`, which has proved itself.
pub(crate) fn settled(nodes: usize) -> World {
    let mut world = World::new(nodes);
    world.make_desired("a", Content::new(1));
    world.run();
    assert!(world.all_have("a") && world.revision("a").proven_at.is_some());
    world.given.clear();
    world.waves.clear();
    world.events.clear();
    world
}

fn quick() -> RolloutPolicySpec {
    let canary = Canary { soak_seconds: 0, ..Canary::default() };
    RolloutPolicySpec { canary, ..RolloutPolicySpec::default() }
}

#[test]
fn a_thousand_nodes_take_five_rounds() {
    let mut world = World::new(1000);
    world.policy("p", quick());
    world.make_desired("a", Content::new(1));
    let rounds = world.run();
    assert_eq!((rounds, world.waves.as_slice()), (5, &[1, 49, 200, 250, 500][..]), "one by one takes 1000");
    assert!(rounds * 20 <= 1000 && world.all_have("a"));
}

#[test]
fn a_bad_revision_reaches_one_node_and_is_taken_back() {
    let mut world = settled(40);
    world.make_desired("b", Content::new(2).bad());
    world.run();
    assert_eq!(world.ever_assigned("b").into_iter().collect::<Vec<_>>(), ["n0000"]);
    assert!(world.all_have("a"), "the one node has returned");
    let decision = world.decision();
    let failed = decision.revisions.iter().find(|revision| revision.name == "b").unwrap();
    assert_eq!(failed.phase, RevisionPhase::Failed);
    assert_eq!(failed.message, "node n0000: link eth0 did not come up");
    assert!(world.events.iter().any(|(reason, _)| *reason == "RolloutFailed"));
    world.pass(100_000);
    world.run();
    assert_eq!(world.ever_assigned("b").len(), 1, "it is tried again there, and nowhere else");
    world.make_desired("c", Content::new(3));
    world.run();
    assert!(world.all_have("c"), "a newer one takes its place");
}

#[test]
fn a_revision_is_everywhere_only_when_nodes_that_failed_before_have_it_too() {
    let mut world = World::new(4);
    world.policy("p", quick());
    world.make_desired("a", Content::new(1));
    world.run();
    world.make_desired("b", Content::new(2).bad());
    world.settle();
    // The next one comes before anything follows from the failure.
    world.answer("n0000");
    world.make_desired("c", Content::new(3));
    world.events.clear();
    world.run();
    assert!(world.all_have("c"));
    let done: Vec<&str> = world
        .events
        .iter()
        .filter(|(reason, _)| *reason == "RolloutDone")
        .map(|(_, message)| message.as_str())
        .collect();
    assert_eq!(done, ["revision c: 4 of 4 nodes have it"]);
}

#[test]
fn a_trial_stays_one_when_somebody_deletes_the_state_of_its_node() {
    for answers_first in [false, true] {
        let mut world = settled(40);
        world.make_desired("b", Content::new(2).bad());
        world.settle();
        if answers_first {
            world.answer("n0000");
        }
        world.delete_state("n0000");
        world.settle();
        assert_eq!(world.ever_assigned("b").len(), 1, "nobody else is tried on, answered: {answers_first}");
        world.run();
        assert!(world.revision("b").failure.is_some());
        assert_eq!(world.ever_assigned("b").into_iter().collect::<Vec<_>>(), ["n0000"]);
        world.agents.get_mut("n0000").unwrap().unknown = false;
        world.run();
        assert!(world.all_have("a"), "the node returns when it is known again what it has");
    }
}

#[test]
fn a_silent_node_stops_a_revision() {
    let mut world = settled(10);
    world.agents.get_mut("n0000").unwrap().dead = true;
    world.make_desired("b", Content::new(2));
    world.run();
    let failure = world.revision("b").failure.clone().unwrap();
    assert_eq!((failure.node.as_str(), failure.message.as_str()), ("n0000", "did not report within 180 s"));
    assert_eq!(world.ever_assigned("b").len(), 1);
    // The next one is tried on a node that answers; the silent one comes last and decides nothing.
    world.make_desired("c", Content::new(3));
    world.run();
    assert!(world.revision("c").proven_at.is_some() && world.revision("c").failure.is_none());
    assert_eq!(world.nodes.keys().filter(|node| world.has(node, "c")).count(), 9);
    world.agents.get_mut("n0000").unwrap().dead = false;
    world.run();
    assert!(world.all_have("c"));
}

#[test]
fn a_revision_that_was_deleted_is_tried_again() {
    let mut world = settled(5);
    world.make_desired("b", Content::new(2).bad());
    world.run();
    world.contents.get_mut("b").unwrap().bad = false;
    world.revisions.retain(|revision| revision.name != "b");
    world.make_desired("b", Content::new(2));
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn an_answer_to_the_desired_state_before_does_not_count() {
    let mut world = settled(3);
    world.make_desired("b", Content::new(2));
    world.settle();
    let decision = world.decision();
    assert_eq!((decision.revisions[0].ready, decision.revisions[0].ongoing), (0, 1), "the answer is about a");
    assert!(decision.assignments.is_empty());
}

#[test]
fn a_report_of_what_a_node_was_not_assigned_counts_for_nothing() {
    let mut world = settled(3);
    let lie = |generation| Report { revision: "b".to_owned(), generation: Some(generation), progress: Progress::Done };
    world.make_desired("b", Content::new(2).bad());
    world.nodes.get_mut("n0001").unwrap().report = Some(lie(1));
    world.nodes.get_mut("n0002").unwrap().report = Some(lie(9));
    world.settle();
    assert_eq!(world.decision().revisions[0].ready, 0);
    let lies: Vec<&str> = world.events.iter().filter(|e| e.0 == "ReportIgnored").map(|e| e.1.as_str()).collect();
    assert!(lies.contains(&"node n0001 reports revision b, but was assigned a"), "{lies:?}");
    assert!(lies.contains(&"node n0002 reports revision b, but was assigned a"), "{lies:?}");
    world.run();
    assert_eq!(world.ever_assigned("b").len(), 1);
    assert!(world.revision("b").failure.is_some(), "nor does it save a bad revision");
}

#[test]
fn a_node_without_a_change_is_not_written_and_counts_by_its_own_report() {
    let mut world = settled(4);
    world.make_desired("b", Content::new(1).with("n0002", 7));
    world.run();
    assert_eq!(world.ever_assigned("b").into_iter().collect::<Vec<_>>(), ["n0002"]);
    assert!(world.all_have("b"));
    assert_eq!(world.decision().policies[0].phase, Phase::Done);
    assert_eq!(world.nodes["n0001"].assigned.as_ref().unwrap().revision, "a");
    // Without a report about the same content it does not count.
    world.nodes.get_mut("n0001").unwrap().report = None;
    let decision = world.decision();
    assert_eq!((decision.revisions[0].ready, decision.revisions[0].total), (3, 4));
}

#[test]
fn a_revision_that_changes_nothing_is_not_good_where_nothing_works() {
    let mut world = settled(3);
    for node in world.nodes.values_mut() {
        node.report.as_mut().unwrap().progress = Progress::Failed("the card is gone".to_owned());
    }
    world.make_desired("b", Content::new(1));
    world.run();
    assert_eq!(world.decision().policies[0].last_good.as_deref(), Some("a"));
    let node = world.nodes.get_mut("n0001").unwrap();
    node.report.as_mut().unwrap().progress = Progress::Done;
    world.run();
    assert_eq!(world.decision().policies[0].last_good.as_deref(), Some("b"));
}

#[test]
fn a_newer_revision_takes_the_place_of_one_on_its_way() {
    let mut world = settled(40);
    world.make_desired("b", Content::new(2));
    world.settle();
    world.make_desired("c", Content::new(3));
    world.settle();
    assert_eq!(world.decision().revisions[1].phase, RevisionPhase::Superseded);
    world.run();
    assert!(world.all_have("c"));
    assert_eq!(world.ever_assigned("b").len(), 1, "nobody is assigned the older one any more");
}

#[test]
fn what_reached_everybody_is_what_nodes_return_to_even_when_the_next_came_at_once() {
    let mut world = settled(3);
    world.policy("p", RolloutPolicySpec { max_unavailable: Share::Percent("100%".to_owned()), ..quick() });
    world.make_desired("b", Content::new(2));
    while !world.all_have("b") {
        let decision = world.decision();
        world.carry_out(&decision, usize::MAX);
        let names: Vec<String> = world.nodes.keys().cloned().collect();
        for name in &names {
            world.answer(name);
        }
    }
    world.make_desired("c", Content::new(3).bad());
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn a_pause_holds_everything_and_a_resumed_rollout_goes_on() {
    let mut world = settled(10);
    world.policy("p", RolloutPolicySpec { paused: true, ..quick() });
    world.make_desired("b", Content::new(2));
    world.run();
    assert_eq!(world.given.len(), 0);
    assert_eq!(world.decision().policies[0].phase, Phase::Paused);
    world.policy("p", quick());
    world.revision("b").paused = true;
    world.run();
    assert_eq!(world.given.len(), 0, "a single revision can be paused too");
    world.revision("b").paused = false;
    world.run();
    assert!(world.all_have("b"));
    assert!(world.events.iter().any(|(reason, _)| *reason == "RolloutPaused"));
}

#[test]
fn nodes_return_to_an_earlier_revision_when_somebody_asks() {
    let mut world = settled(20);
    world.make_desired("b", Content::new(2));
    world.run();
    world.waves.clear();
    world.policy("p", RolloutPolicySpec { pinned_revision: Some("a".to_owned()), ..RolloutPolicySpec::default() });
    world.run();
    assert!(world.all_have("a"));
    assert_eq!(world.waves, [10, 10], "it has proved itself: only maxUnavailable holds");
    world.policy("p", RolloutPolicySpec { pinned_revision: Some("x".to_owned()), ..RolloutPolicySpec::default() });
    world.run();
    let decision = world.decision();
    assert_eq!(decision.policies[0].phase, Phase::Blocked);
    assert_eq!(decision.policies[0].message, "revision x, which is asked for, is not there");
    assert!(world.all_have("a"));
    world.policies.clear();
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn on_failure_a_policy_may_stay_instead() {
    let mut world = settled(10);
    world.policy("p", RolloutPolicySpec { on_failure: FailureAction::Pause, ..quick() });
    world.make_desired("b", Content::new(2).bad());
    world.run();
    assert_eq!(world.nodes["n0000"].assigned.as_ref().unwrap().revision, "b");
    assert_eq!(world.decision().policies[0].phase, Phase::Paused);
    world.policy("p", quick());
    world.run();
    assert!(world.all_have("a"), "a person decided otherwise");
}

#[test]
fn nodes_that_are_not_ready_and_new_ones_come_later() {
    let mut world = settled(10);
    world.ready("n0000", false);
    world.ready("n0005", false);
    world.make_desired("b", Content::new(2));
    world.run();
    assert_eq!(world.ever_assigned("b").len(), 8);
    let decision = world.decision();
    assert_eq!(decision.policies[0].phase, Phase::Waiting);
    let why = "cannot take it: its agent gives no sign of life, and condition Ready is not True";
    assert_eq!(decision.policies[0].message, format!("8 of 10 nodes have revision b; {why}: n0000, n0005"));
    assert_eq!((decision.policies[0].nodes.total, decision.policies[0].nodes.unavailable), (10, 2));
    let held_up: Vec<(&str, String)> =
        decision.held_up.iter().map(|(node, why)| (node.as_str(), why.to_string())).collect();
    assert_eq!(held_up, ["n0000", "n0005"].map(|node| (node, format!("the node {why}"))));
    world.ready("n0000", true);
    world.ready("n0005", true);
    world.join("n0010");
    world.run();
    assert!(world.all_have("b"));
    let joined = world.given.iter().find(|assignment| assignment.node == "n0010").unwrap();
    assert_eq!(joined.cause, Cause::Join);
    assert_eq!(world.decision().policies[0].phase, Phase::Done);
}

#[test]
fn labels_that_change_are_looked_at_again_a_few_first() {
    let mut world = World::new(20);
    world.make_desired("a", Content::new(1).by_class());
    world.run();
    world.waves.clear();
    (0..20).for_each(|i| world.label(&format!("n{i:04}"), "edge"));
    world.run();
    assert!(world.all_have("a"));
    assert_eq!(world.waves, [1, 4, 5, 10]);
    // What fails then holds up the others, and takes nothing back.
    world.waves.clear();
    world.given.clear();
    world.contents.get_mut("a").unwrap().bad = true;
    for i in 0..20 {
        let name = format!("n{i:04}");
        world.label(&name, "core");
        world.agents.get_mut(&name).unwrap().written.as_mut().unwrap().2 = true;
    }
    world.run();
    assert_eq!(world.waves, [1]);
    assert!(world.revision("a").failure.is_none());
    let decision = world.decision();
    assert_eq!(decision.policies[0].phase, Phase::Blocked);
    assert_eq!(
        &*decision.held_up["n0019"],
        "nodes failed with the desired revision, so no further nodes are assigned it"
    );
}

#[test]
fn the_first_nodes_are_watched_before_the_others_follow() {
    let mut world = settled(10);
    world.make_desired("b", Content::new(2));
    world.settle();
    world.answer("n0000");
    world.settle();
    let decision = world.decision();
    assert_eq!(decision.policies[0].phase, Phase::Soaking);
    assert_eq!(decision.wake_at, Some("2030-01-01T00:01:00Z".parse().unwrap()));
    world.pass(29);
    world.settle();
    assert_eq!(world.given.len(), 1);
    world.pass(1);
    world.settle();
    assert_eq!(world.given.len(), 3, "25% of ten nodes are three");
}

#[test]
fn a_first_node_that_falls_ill_while_it_is_watched_fails_the_revision() {
    let mut world = settled(10);
    let canary = Canary { soak_seconds: 600, ..Canary::default() };
    world.policy("p", RolloutPolicySpec { canary, ..RolloutPolicySpec::default() });
    world.make_desired("b", Content::new(2));
    world.settle();
    world.answer("n0000");
    world.settle();
    world.pass(200);
    world.ready("n0000", false);
    world.run();
    let failure = world.revision("b").failure.clone().unwrap();
    assert_eq!(failure.message, "reported it and then lost condition Ready");
    assert_eq!(world.nodes["n0000"].assigned.as_ref().unwrap().revision, "a", "it returns although it is not ready");
}

#[test]
fn a_node_that_falls_ill_long_after_does_not() {
    let mut world = settled(10);
    world.policy("p", RolloutPolicySpec { max_unavailable: Share::Nodes(2), ..quick() });
    world.make_desired("b", Content::new(2));
    for _ in 0..2 {
        world.settle();
        let names: Vec<String> = world.nodes.keys().cloned().collect();
        for name in &names {
            world.answer(name);
        }
    }
    world.pass(1000);
    world.ready("n0000", false);
    world.run();
    assert!(world.revision("b").failure.is_none());
    assert_eq!(world.nodes.keys().filter(|node| world.has(node, "b")).count(), 10);
}

#[test]
fn tolerated_failures_do_not_stop_a_revision() {
    let mut world = settled(40);
    world.policy("p", RolloutPolicySpec { tolerated_failures: 1, ..quick() });
    let mut content = Content::new(2).with("n0009", 3);
    (0..40).filter(|i| *i != 9).for_each(|i| content = content.clone().with(&format!("n{i:04}"), 0));
    world.make_desired("b", content.bad());
    world.run();
    assert_eq!(world.nodes.keys().filter(|node| world.has(node, "b")).count(), 39);
    let decision = world.decision();
    assert_eq!((decision.policies[0].phase, decision.policies[0].nodes.failed), (Phase::Waiting, 1));
    assert!(world.revision("b").proven_at.is_some());
    world.make_desired("c", Content::new(3));
    let held_up = world.decision().held_up;
    assert_eq!(held_up.len(), 1);
    assert_eq!(&*held_up["n0009"], "the node failed on its previous revision, and comes last");
}

#[test]
fn limits_keep_a_change_from_starting() {
    let mut world = settled(10);
    let limits = |limits| RolloutPolicySpec { limits: Some(limits), ..quick() };
    world.policy("p", limits(Limits { max_affected_nodes: Some(Share::Nodes(3)), ..Limits::default() }));
    world.make_desired("b", Content::new(2));
    world.run();
    let decision = world.decision();
    assert_eq!(decision.policies[0].phase, Phase::Blocked);
    let wanted = "revision b changes 10 nodes, and limits.maxAffectedNodes allows 3";
    assert_eq!(decision.policies[0].message, wanted);
    assert_eq!(*decision.held_up["n0009"], format!("RolloutPolicy p: {wanted}"));
    world.policy("p", limits(Limits { max_affected_nodes: Some(Share::Nodes(10)), ..Limits::default() }));
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn zones_follow_one_another() {
    let mut world = World::new(12);
    for i in 0..12 {
        let zone = if i % 2 == 0 { "east" } else { "west" };
        world.nodes.get_mut(&format!("n{i:04}")).unwrap().labels.insert("zone".to_owned(), zone.into());
    }
    let waves = vec![Share::Percent("100%".to_owned())];
    world.policy("p", RolloutPolicySpec { zone_key: Some("zone".to_owned()), waves, ..quick() });
    world.make_desired("a", Content::new(1));
    world.run();
    let zones: Vec<bool> = world.given.iter().map(|given| given.node[1..].parse::<u32>().unwrap() % 2 == 0).collect();
    assert_eq!(zones, [[true; 6], [false; 6]].concat());
}

#[test]
fn a_second_policy_waits_for_the_first_nodes_of_the_first() {
    let mut world = settled(10);
    (0..5).for_each(|i| world.label(&format!("n{i:04}"), "edge"));
    let edge = serde_json::from_value(json!({"matchLabels": {"class": "edge"}})).unwrap();
    world.policy("edge", RolloutPolicySpec { node_selector: Some(edge), ..quick() });
    world.make_desired("b", Content::new(2).bad());
    world.run();
    assert_eq!(world.ever_assigned("b").into_iter().collect::<Vec<_>>(), ["n0000"]);
    assert!(world.all_have("a"));
    world.make_desired("c", Content::new(3));
    world.run();
    assert!(world.all_have("c"));
}

#[test]
fn the_first_revision_of_all_has_nothing_to_return_to() {
    let mut world = World::new(5);
    world.make_desired("a", Content::new(1).bad());
    world.run();
    let decision = world.decision();
    assert_eq!(decision.policies[0].phase, Phase::Blocked);
    assert_eq!(decision.policies[0].message, "revision a failed and there is none to return to");
    assert_eq!(world.ever_assigned("a").len(), 1);
    world.make_desired("b", Content::new(2));
    world.run();
    assert!(world.all_have("b"));
}

#[test]
fn history_is_kept_short_and_never_loses_what_is_in_use() {
    let mut world = World::new(4);
    world.policy("p", RolloutPolicySpec { revision_history_limit: 3, ..quick() });
    for i in 0..12_u64 {
        // Each concerns one node only: the others go on naming older revisions.
        world.make_desired(&format!("r{i:02}"), Content::new(1).with("n0003", 100 + i));
        world.run();
        assert!(world.all_have(&format!("r{i:02}")));
        assert!(world.revisions.len() <= 3, "{:?}", world.revisions.iter().map(|r| &r.name).collect::<Vec<_>>());
    }
    world.policy("p", RolloutPolicySpec { pinned_revision: Some("r09".to_owned()), ..quick() });
    world.run();
    assert!(world.all_have("r09"));
}

#[test]
fn no_nodes_and_no_revisions_are_no_trouble() {
    let mut world = World::new(0);
    world.policy("p", quick());
    world.run();
    assert_eq!(world.decision().policies[0].phase, Phase::Waiting);
    world.make_desired("a", Content::new(1));
    world.run();
    assert!(world.revision("a").proven_at.is_none(), "nobody has tried it");
    world.join("n0000");
    world.run();
    assert!(world.all_have("a"));
    let alarms = ["RolloutBlocked", "RolloutResumed"];
    assert!(!world.events.iter().any(|(reason, _)| alarms.contains(reason)), "{:?}", world.events);
    world.revisions.clear();
    world.run();
    assert_eq!(world.decision().policies[0].message, "there is no revision");
}
