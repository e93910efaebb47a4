//! Single stories.

use std::{collections::BTreeSet, sync::Arc};

use jiff::SignedDuration;
use netloom_api::GroupKind;
use netloom_controller_core::{Controller, ControllerActions, Index, Kinds, Leadership};
use netloom_object::{Action, Change};
use serde_json::json;

use crate::model::Rig;

const POLICY: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetConfPolicy");

#[test]
fn a_policy_reaches_every_node_and_then_nothing_is_written() {
    let mut rig = Rig::new(6);
    rig.policy("jumbo", 9000);
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 6]);
    let revision = rig.api.list("NetworkConfigRevision")[0].clone();
    assert_eq!(revision["status"]["phase"], "Active");
    assert_eq!(revision["status"]["conditions"][0]["status"], "True");
    assert_eq!((&revision["status"]["ready"], &revision["status"]["total"]), (&json!(6), &json!(6)));
    let policy = rig.api.get("NodeNetConfPolicy", "jumbo").unwrap();
    assert_eq!(policy["status"]["matchedNodes"], 6);
    let spec_writes = |kind: &str| rig.api.writes.iter().filter(|w| w.0 != "status" && w.1 == kind).count();
    assert_eq!((spec_writes("NodeNetworkConfig"), spec_writes("NodeNetworkState")), (6, 6), "two for each node");
    let before = rig.api.writes.len();
    rig.now = rig.now.checked_add(SignedDuration::from_hours(1)).unwrap();
    assert_eq!(rig.turn(), ControllerActions::default());
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes.len(), before, "a restart repeats nothing");
}

#[test]
fn a_bad_policy_reaches_one_node_and_is_taken_back() {
    let mut rig = Rig::new(6);
    rig.policy("jumbo", 9000);
    rig.policy("quiet", 9000);
    let mut quiet = rig.api.get("NodeNetConfPolicy", "quiet").unwrap().clone();
    quiet["spec"]["desiredState"]["interfaces"][0].as_object_mut().unwrap().remove("mtu");
    rig.write(quiet);
    rig.run();
    rig.api.writes.clear();
    rig.policy("jumbo", 9999);
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 6]);
    let touched: BTreeSet<&str> =
        rig.api.writes.iter().filter(|w| w.1 == "NodeNetworkState").map(|w| w.2.as_str()).collect();
    assert_eq!(touched.into_iter().collect::<Vec<_>>(), ["n0"]);
    let failed = rig.api.list("NetworkConfigRevision").into_iter().find(|r| r["status"]["isInvalid"] == true).unwrap();
    assert_eq!(failed["status"]["failedNode"], "n0");
    assert_eq!(failed["status"]["failedMessage"], "eth1: the driver takes at most 9000");
    let events = rig.api.list("Event");
    assert!(events.iter().any(|event| event["reason"] == "RolloutFailed"), "{events:?}");
    let ready = |rig: &Rig, policy: &str| {
        let ready = &rig.api.get("NodeNetConfPolicy", policy).unwrap()["status"]["conditions"][0];
        (ready["status"] == "True", ready["reason"].clone(), ready["message"].to_string())
    };
    let (is, reason, message) = ready(&rig, "jumbo");
    assert_eq!((is, reason), (false, json!("RolloutFailed")));
    assert!(message.contains("failed on node n0: eth1: the driver takes at most 9000"), "{message}");
    assert!(ready(&rig, "quiet").0, "one that did not change is not to blame");
    // The content that was there before is desired again: nothing is to be done.
    rig.api.writes.clear();
    rig.policy("jumbo", 9000);
    rig.run();
    assert!(!rig.api.writes.iter().any(|w| w.1 == "NodeNetworkState"), "{:?}", rig.api.writes);
    assert_eq!(rig.api.list("NetworkConfigRevision").len(), 2, "it became the newest again");
}

#[test]
fn a_policy_that_goes_takes_its_desired_state_along() {
    let mut rig = Rig::new(3);
    rig.policy("jumbo", 9000);
    rig.run();
    rig.remove(POLICY, "jumbo");
    rig.run();
    assert_eq!(rig.mtus(), [None; 3]);
}

#[test]
fn nothing_is_asked_for_by_one_who_does_not_lead_or_has_not_seen_everything() {
    let mut rig = Rig::new(2);
    rig.policy("jumbo", 9000);
    let mut controller = Controller::default();
    assert_eq!(controller.decide(rig.now, &rig.index, Leadership::Following), ControllerActions::default());
    assert_eq!(
        controller.decide(rig.now, &rig.index, Leadership::Leading { until: rig.now }),
        ControllerActions::default()
    );
    let until = rig.now.checked_add(SignedDuration::from_secs(15)).unwrap();
    let mut half = Index::default();
    for kind in Kinds::built_in().all().iter().skip(1) {
        half.take(rig.now, Change::Listed { kind: *kind, objects: Vec::new() });
    }
    assert_eq!(controller.decide(rig.now, &half, Leadership::Leading { until }), ControllerActions::default());
    assert!(!controller.decide(rig.now, &rig.index, Leadership::Leading { until }).chains.is_empty());
}

#[test]
fn changes_that_follow_each_other_are_one() {
    let mut rig = Rig::new(2);
    rig.run();
    let start = rig.now;
    rig.policy("jumbo", 9000);
    let at = |millis| start.checked_add(SignedDuration::from_millis(millis)).unwrap();
    assert_eq!(rig.turn(), ControllerActions { chains: Vec::new(), wake_at: Some(at(20)) });
    for step in 1..=12_u32 {
        rig.now = at(i64::from(step) * 15);
        rig.policy("jumbo", 9000 - step);
        let turn = rig.turn();
        assert!(turn.chains.is_empty(), "at {} ms", step * 15);
        assert!(turn.wake_at.unwrap() <= at(200), "somebody waits");
    }
    rig.now = at(200);
    let turn = rig.turn();
    let created = turn.chains.iter().flat_map(|chain| &chain.0).filter(|r| matches!(r.action, Action::Create { .. }));
    assert_eq!(created.count(), 1);
    assert_eq!(rig.turn(), ControllerActions::default(), "one turn at a time");
}

#[test]
fn a_half_written_node_is_completed() {
    let mut rig = Rig::new(2);
    rig.policy("jumbo", 9000);
    while rig.api.get("NodeNetworkConfig", "n0").is_none() {
        rig.lives = Some(1);
        let before = rig.api.writes.len();
        rig.run_until_killed();
        assert!(rig.api.writes.len() > before);
    }
    assert_eq!(rig.mtus(), [None, None], "killed between the two objects of a node");
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 2]);
    let assigned = rig.api.writes.iter().filter(|w| w.1 == "NodeNetworkConfig").count();
    assert_eq!(assigned, 2, "nobody was notified twice");
}

#[test]
fn a_half_written_node_whose_links_changed_meanwhile_gets_a_pair_that_belongs_together() {
    let mut rig = Rig::new(2);
    rig.policy("jumbo", 9000);
    while rig.api.get("NodeNetworkConfig", "n0").is_none() {
        rig.lives = Some(1);
        rig.run_until_killed();
    }
    let before = rig.api.get("NodeNetworkConfig", "n0").unwrap()["spec"]["digest"].clone();
    let mut state = rig.api.get("NodeNetworkState", "n0").unwrap().clone();
    state["status"]["currentState"]["interfaces"] = json!([{"name": "eth2", "type": "ethernet", "state": "up"}]);
    rig.write(state);
    let turn = rig.turn();
    rig.carry_out(&turn);
    let (config, state) = ("NodeNetworkConfig", "NodeNetworkState");
    let digest = &rig.api.get(config, "n0").unwrap()["spec"]["digest"];
    assert_ne!(*digest, before, "what is desired now is not what was desired then");
    let named = &rig.api.get(config, "n0").unwrap()["spec"]["stateDigest"];
    assert_eq!(rig.api.get(state, "n0").unwrap()["metadata"]["annotations"]["netloom.dev/digest"], *named);
    rig.run();
    assert_eq!(rig.mtus(), [None, Some(9000)]);
}

/// Two nodes with a policy; on the first there is something manually too.
fn with_something_manual() -> Rig {
    let mut rig = Rig::new(2);
    let mut state = rig.api.get("NodeNetworkState", "n0").unwrap().clone();
    state["spec"]["desiredState"] = json!({"interfaces": [{"name": "d0", "type": "dummy", "state": "up"}]});
    rig.write(state);
    rig.policy("jumbo", 9000);
    rig.run();
    rig
}

/// Somebody deletes what the first node has, and its agent recreates it.
fn lose_the_desired_state(rig: &mut Rig) {
    let mut state = rig.api.get("NodeNetworkState", "n0").unwrap().clone();
    state["spec"]["desiredState"].take();
    state["metadata"]["annotations"].take();
    rig.write(state);
}

#[test]
fn a_node_that_lost_its_desired_state_gets_it_back_although_nothing_else_may_move() {
    let mut rig = with_something_manual();
    rig.write(rollout_policy(&json!({"paused": true})));
    rig.policy("jumbo", 8000);
    rig.run();
    lose_the_desired_state(&mut rig);
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 2], "what it was assigned, and not what waits");
    let config = rig.api.get("NodeNetworkConfig", "n0").unwrap();
    assert_eq!(config["status"]["observedGeneration"], config["metadata"]["generation"], "and it has answered");
}

#[test]
fn a_node_that_was_not_assigned_what_belongs_together_is_assigned_again() {
    let mut rig = with_something_manual();
    rig.write(rollout_policy(&json!({"paused": true})));
    let mut config = rig.api.get("NodeNetworkConfig", "n1").unwrap().clone();
    config["spec"].as_object_mut().unwrap().remove("stateDigest");
    rig.write(config);
    rig.run();
    let config = rig.api.get("NodeNetworkConfig", "n1").unwrap();
    assert!(config["spec"]["stateDigest"].is_string(), "{config}");
    assert_eq!(config["status"]["observedGeneration"], config["metadata"]["generation"]);
}

#[test]
fn a_node_that_lost_its_desired_state_waits_until_the_others_are_done() {
    let mut rig = with_something_manual();
    rig.policy("jumbo", 8000);
    let assigned = |rig: &Rig, node| rig.api.get("NodeNetworkConfig", node).unwrap()["metadata"]["generation"].clone();
    let before = assigned(&rig, "n1");
    while assigned(&rig, "n1") == before {
        let turn = rig.turn();
        rig.step(&turn);
    }
    let before = assigned(&rig, "n0");
    lose_the_desired_state(&mut rig);
    let while_the_other_works = rig.now.checked_add(SignedDuration::from_secs(1)).unwrap();
    loop {
        let turn = rig.turn();
        rig.carry_out(&turn);
        match turn.wake_at {
            Some(at) if at <= while_the_other_works => rig.now = at,
            Some(_) | None if turn.chains.is_empty() => break,
            Some(_) | None => {}
        }
    }
    assert_eq!(assigned(&rig, "n0"), before, "one node at a time, and that is the other one");
    rig.run();
    assert_eq!(rig.mtus(), [Some(8000); 2]);
    assert_ne!(assigned(&rig, "n0"), before);
}

#[test]
fn a_refused_write_is_asked_for_again_later() {
    let mut rig = Rig::new(1);
    rig.policy("jumbo", 9000);
    // Somebody else writes the object at the same moment, and the index does not know yet.
    let mut asked = 0;
    for _ in 0..200 {
        let turn = rig.turn();
        let about_state = turn.chains.iter().flat_map(|c| &c.0).any(|r| r.target.kind.kind == "NodeNetworkState");
        if about_state && asked == 0 {
            asked += 1;
            let mut state = rig.api.get("NodeNetworkState", "n0").unwrap().clone();
            state["metadata"]["labels"] = json!({"touched": "yes"});
            rig.api.store(state);
        }
        rig.step(&turn);
        if asked == 1 {
            let fresh = rig.api.get("NodeNetworkState", "n0").unwrap().clone();
            rig.index.take(rig.now, Change::Put(Arc::new(fresh)));
            asked += 1;
        }
    }
    rig.run();
    assert_eq!((asked, rig.mtus()), (2, vec![Some(9000)]));
}

#[test]
fn an_object_that_is_refused_for_good_holds_up_nobody_else() {
    let mut rig = Rig::new(3);
    rig.refuses = Some(|request| request.target.kind == POLICY);
    rig.policy("jumbo", 9000);
    rig.run_for(SignedDuration::from_mins(2));
    assert_eq!(rig.mtus(), [Some(9000); 3], "its status cannot be written, and its nodes have it all the same");
    let tries = rig.refused;
    assert!((5..=15).contains(&tries), "{tries} tries in two minutes, ever more slowly");
}

#[test]
fn a_revision_that_cannot_be_made_keeps_no_other_from_being_finished() {
    let mut rig = Rig::new(3);
    rig.policy("jumbo", 9000);
    while rig.mtus().iter().flatten().count() == 0 {
        let turn = rig.turn();
        rig.step(&turn);
    }
    rig.refuses = Some(|request| {
        request.target.kind.kind == "NetworkConfigRevision" && matches!(request.action, Action::Create { .. })
    });
    rig.policy("small", 1400);
    rig.run_for(SignedDuration::from_mins(2));
    assert_eq!(rig.mtus(), [Some(9000); 3]);
}

#[test]
fn an_unmanaged_node_is_left_out_until_it_is_managed() {
    let mut rig = Rig::new(3);
    let mut state = rig.api.get("NodeNetworkState", "n1").unwrap().clone();
    state["spec"]["managed"] = json!(false);
    rig.write(state.clone());
    rig.policy("jumbo", 9000);
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000), None, Some(9000)]);
    state["spec"]["managed"] = json!(true);
    rig.write(state);
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 3]);
}

#[test]
fn the_order_in_which_objects_arrive_makes_no_difference() {
    let run = |reverse: bool| {
        let mut rig = Rig::new(4);
        rig.policy("jumbo", 9000);
        rig.index = Index::default();
        let mut objects: Vec<_> = rig.api.objects.values().cloned().map(Arc::new).collect();
        if reverse {
            objects.reverse();
        }
        for object in objects {
            rig.index.take(rig.now, Change::Put(object));
        }
        for kind in Kinds::built_in().all() {
            let all = rig.api.list(kind.kind).into_iter().cloned().map(Arc::new).collect();
            rig.index.take(rig.now, Change::Listed { kind: *kind, objects: all });
        }
        rig.run();
        (rig.api.writes.clone(), rig.api.objects)
    };
    assert_eq!(run(false), run(true));
}

fn rollout_policy(spec: &serde_json::Value) -> serde_json::Value {
    json!({"apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "all"}, "spec": spec})
}

#[test]
fn a_policy_for_rollouts_pauses_resumes_and_returns() {
    let mut rig = Rig::new(4);
    rig.policy("jumbo", 9000);
    rig.run();
    rig.write(rollout_policy(&json!({"paused": true})));
    rig.policy("jumbo", 1400);
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 4]);
    let status = |rig: &Rig| rig.api.get("RolloutPolicy", "all").unwrap()["status"].clone();
    assert_eq!((&status(&rig)["phase"], &status(&rig)["nodes"]["total"]), (&json!("Paused"), &json!(4)));
    let revisions = rig.api.list("NetworkConfigRevision");
    let old = revisions.iter().find(|r| r["metadata"]["annotations"]["netloom.dev/sequence"] == "1").unwrap();
    let old = old["metadata"]["name"].clone();
    rig.write(rollout_policy(&json!({})));
    rig.run();
    assert_eq!(rig.mtus(), [Some(1400); 4]);
    assert_eq!(status(&rig)["phase"], "Done");
    rig.write(rollout_policy(&json!({"pinnedRevision": old})));
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 4], "the policy still says 1400, the revision says 9000");
    assert_eq!(status(&rig)["targetRevision"], old);
}

#[test]
fn nodes_of_a_rollout_policy_that_cannot_be_read_stand_still_and_it_says_so() {
    let mut rig = Rig::new(2);
    let mut node = rig.api.get("Node", "n0").unwrap().clone();
    node["metadata"]["labels"] = json!({"zone": "a"});
    rig.write(node);
    let selector = json!({"matchLabels": {"zone": "a"}});
    rig.write(rollout_policy(&json!({"paused": "yes", "nodeSelector": selector})));
    rig.policy("jumbo", 9000);
    rig.run();
    assert_eq!(rig.mtus(), [None, Some(9000)], "those of others move");
    let policy = rig.api.list("RolloutPolicy")[0].clone();
    assert_eq!(policy["status"]["phase"], "Blocked");
    let message = policy["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("cannot be read") && message.contains("expected a boolean"), "{message}");
    rig.write(rollout_policy(&json!({"paused": false, "nodeSelector": selector})));
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 2]);
}

#[test]
fn nodes_are_assigned_on_which_terms_they_keep_to_their_desired_state() {
    let mut rig = Rig::new(2);
    rig.policy("jumbo", 9000);
    rig.run();
    let assigned = |rig: &Rig, key: &str| {
        let configs = rig.api.list("NodeNetworkConfig");
        configs.iter().map(|config| config["metadata"]["annotations"][key].clone()).collect::<Vec<_>>()
    };
    let (drift, cut) = ("netloom.dev/drift", "netloom.dev/may-be-cut-off");
    let timing = "netloom.dev/probe-timing";
    assert_eq!((assigned(&rig, drift), assigned(&rig, cut)), (vec![json!(null); 2], vec![json!(null); 2]));
    let probes = json!({"carrierSeconds": 90, "restartSeconds": 120});
    rig.write(rollout_policy(
        &json!({"drift": "Report", "limits": {"allowLossOfManagement": true}, "timeoutSeconds": 300, "probes": probes}),
    ));
    rig.run();
    assert_eq!(assigned(&rig, timing), vec![json!("carrier=90 restart=120"); 2]);
    assert_eq!((assigned(&rig, drift), assigned(&rig, cut)), (vec![json!("Report"); 2], vec![json!("true"); 2]));
    // What a node is assigned again is assigned on the same terms.
    rig.policy("jumbo", 1400);
    rig.run();
    assert_eq!((rig.mtus(), assigned(&rig, drift)), (vec![Some(1400); 2], vec![json!("Report"); 2]));
    rig.write(rollout_policy(&json!({"limits": {"allowLossOfManagement": true}})));
    rig.run();
    assert_eq!((assigned(&rig, drift), assigned(&rig, cut)), (vec![json!(null); 2], vec![json!("true"); 2]));
    assert_eq!(assigned(&rig, timing), vec![json!(null); 2]);
}

#[test]
fn a_node_that_is_not_ready_is_taken_up_later() {
    let mut rig = Rig::new(3);
    let ready = |rig: &mut Rig, status: &str| {
        let mut node = rig.api.get("Node", "n1").unwrap().clone();
        node["status"]["conditions"][0]["status"] = json!(status);
        rig.write(node);
    };
    ready(&mut rig, "Unknown");
    rig.policy("jumbo", 9000);
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000), None, Some(9000)]);
    let revision = rig.api.list("NetworkConfigRevision")[0].clone();
    assert_eq!((&revision["status"]["ready"], &revision["status"]["total"]), (&json!(2), &json!(3)));
    assert_eq!(revision["status"]["conditions"][0]["status"], "False");
    ready(&mut rig, "True");
    rig.run();
    assert_eq!(rig.mtus(), [Some(9000); 3]);
}

#[test]
fn whoever_takes_over_counts_a_nodes_time_on_its_own_clock() {
    for ahead in [SignedDuration::from_hours(5), SignedDuration::from_hours(-5)] {
        let mut rig = Rig::new(2);
        rig.policy("jumbo", 9000);
        while rig.api.get("NodeNetworkState", "n0").unwrap()["metadata"].get("annotations").is_none() {
            let turn = rig.turn();
            rig.step(&turn);
        }
        // It was assigned and is at work; the one who assigned it dies, and the clock of the other is off.
        rig.now = rig.now.checked_add(ahead).unwrap();
        rig.restart();
        let turn = rig.turn();
        rig.carry_out(&turn);
        let revision = || rig.api.list("NetworkConfigRevision")[0]["status"].clone();
        assert_ne!(revision()["isInvalid"], true, "{ahead}: {}", revision());
        let began = rig.now;
        while rig.api.list("NetworkConfigRevision")[0]["status"]["isInvalid"] != true {
            let turn = rig.turn();
            if turn.chains.is_empty() {
                rig.now = turn.wake_at.expect("a silent node is not waited for without end");
            } else {
                rig.carry_out(&turn);
            }
        }
        let took = rig.now.duration_since(began).as_secs();
        assert!((1..=600).contains(&took), "{ahead}: {took} s");
    }
}

#[test]
fn an_agent_that_claims_another_revision_is_not_believed() {
    let mut rig = Rig::new(3);
    rig.policy("jumbo", 9000);
    rig.run();
    let mut config = rig.api.get("NodeNetworkConfig", "n2").unwrap().clone();
    config["status"]["lastAppliedRevision"] = json!("0123456789");
    rig.write(config.clone());
    rig.run();
    let events = rig.api.list("Event");
    let assigned = events.iter().filter(|event| event["reason"] == "ReportIgnored");
    assert_eq!(assigned.map(|event| &event["regarding"]["name"]).collect::<Vec<_>>(), ["n2"], "once");
    let revision = rig.api.list("NetworkConfigRevision")[0].clone();
    assert_eq!(revision["status"]["ready"], 2);
    assert_eq!(revision["status"]["isInvalid"], false, "it had proved itself");
    // One that is at work names what it had before, and claims nothing.
    config["status"]["configStatus"] = json!("provisioning");
    rig.write(config);
    rig.run();
    assert_eq!(rig.api.list("Event").iter().filter(|event| event["reason"] == "ReportIgnored").count(), 1);
}

#[test]
fn a_change_that_takes_too_much_away_is_not_begun() {
    let mut rig = Rig::new(3);
    rig.write(rollout_policy(&json!({"limits": {"maxDeletions": 0}})));
    let vlan = json!({"name": "eth1.7", "type": "vlan", "state": "up", "vlan": {"base-iface": "eth1", "id": 7}});
    rig.write(json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy",
        "metadata": {"namespace": "default", "name": "vlan"},
        "spec": {"matchRules": [{"name": "eth1"}], "desiredState": {"interfaces": [vlan]}},
    }));
    rig.run();
    let desired = |rig: &Rig| {
        let states = rig.api.list("NodeNetworkState");
        states.iter().filter(|state| state.pointer("/spec/desiredState/interfaces/0/name").is_some()).count()
    };
    assert_eq!(desired(&rig), 3);
    rig.remove(POLICY, "vlan");
    rig.run();
    let status = rig.api.get("RolloutPolicy", "all").unwrap()["status"].clone();
    assert_eq!((desired(&rig), &status["phase"]), (3, &json!("Blocked")), "{status:#}");
    assert!(status["conditions"].to_string().contains("limits.maxDeletions allows 0"), "{status:#}");
    rig.write(rollout_policy(&json!({"limits": {"maxDeletions": 1}})));
    rig.run();
    assert_eq!(desired(&rig), 0);
}
