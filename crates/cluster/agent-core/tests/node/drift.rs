//! What the agent does when somebody else changes the host.

use std::time::Duration;

use jiff::SignedDuration;
use netloom_agent_core::{Drift, Event, HostChange, Settings};
use netloom_model::{Attrs, LinkKind, Route, RouteType, Step};
use netloom_probing::ProbeTiming;
use netloom_types::Protocol;

use serde_json::{Value, json};

use crate::{
    model::{Rig, desire, dummy, set_mtu, with_dummy},
    revisions::{config, pair},
};

#[test]
fn foreign_changes_are_named_by_field_and_set_again() {
    let mut rig = with_dummy();
    rig.meddle(&set_mtu("d0", 1000));
    let before = rig.now;
    rig.run_for(SignedDuration::from_millis(60));
    assert_eq!(rig.mtu("d0"), Some(1400));
    assert!(rig.now.duration_since(before) < SignedDuration::from_millis(100));
    let events = rig.api.list("Event");
    let drift = events.iter().find(|event| event["reason"] == "Drifted").unwrap();
    let note = drift["note"].as_str().unwrap();
    assert!(note.contains("d0") && note.contains("mtu") && note.contains("1400") && note.contains("1000"), "{note}");
    assert_eq!(rig.condition("Available").0, "True");
}

#[test]
fn who_changed_a_route_is_named_where_the_kernel_tells() {
    let mut rig = with_dummy();
    let mut desired = dummy("d0", 1400);
    desired["routes"] = json!({"config": [{"destination": "198.51.100.0/24", "next-hop-interface": "d0"}]});
    desire(&mut rig, &desired);
    rig.run();
    let routes = &rig.host.sim.observed().host.routes;
    let ours = routes.values().find(|route| route.protocol == Protocol::NETLOOM).unwrap().clone();
    // A routing daemon, by the number that the kernel has for it, leads the packets elsewhere.
    let theirs = Route { kind: RouteType::Blackhole, next_hops: Vec::new(), protocol: Protocol(12), ..ours.clone() };
    rig.host.sim.apply(&Step::RemoveRoute(ours)).unwrap();
    rig.meddle(&Step::AddRoute(theirs.clone()));
    rig.run_for(SignedDuration::from_millis(60));
    let (truth, _, message) = rig.condition("Available");
    assert_eq!(truth, "False");
    assert!(message.contains("198.51.100.0/24") && message.contains("route protocol 12"), "{message}");
    let there = rig.host.sim.observed().host.routes.values().any(|route| *route == theirs);
    assert!(there, "what belongs to somebody else is his to remove");
}

#[test]
fn drift_that_nobody_reported_is_found_by_the_poll() {
    let mut rig = with_dummy();
    rig.host.sim.apply(&Step::DeleteLink { name: "d0".parse().unwrap() }).unwrap();
    rig.run_for(SignedDuration::from_secs(70));
    assert_eq!(rig.mtu("d0"), Some(1400));
}

#[test]
fn who_fights_the_agent_is_answered_ever_more_slowly() {
    let mut rig = with_dummy();
    let mut repaired = 0;
    for _ in 0..600 {
        if rig.mtu("d0") == Some(1400) {
            repaired += 1;
            rig.meddle(&set_mtu("d0", 1000));
        }
        rig.run_for(SignedDuration::from_secs(1));
    }
    assert!((6..=14).contains(&repaired), "{repaired} times in ten minutes");
}

#[test]
fn drift_is_only_reported_where_that_is_the_policy() {
    let mut rig = Rig::new(Settings { drift: Drift::Report, ..Settings::of("n") });
    rig.run();
    desire(&mut rig, &dummy("d0", 1400));
    rig.run();
    rig.meddle(&set_mtu("d0", 1000));
    rig.run();
    assert_eq!(rig.mtu("d0"), Some(1000));
    let (truth, reason, message) = rig.condition("Available");
    assert_eq!((truth.as_str(), reason.as_str()), ("False", "Drifted"));
    assert!(message.contains("mtu"), "{message}");
    assert_eq!(rig.agent.drift().len(), 1);
    rig.meddle(&set_mtu("d0", 1400));
    rig.run();
    assert_eq!(rig.condition("Available").0, "True");
}

#[test]
fn the_controller_says_whether_drift_is_repaired() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    let terms = |rig: &mut Rig, word: Value| {
        rig.edit("NodeNetworkConfig", &json!({"metadata": {"annotations": {"netloom.dev/drift": word}}}));
        rig.run();
    };
    terms(&mut rig, json!("Report"));
    rig.meddle(&set_mtu("d0", 1000));
    rig.run();
    assert_eq!((rig.mtu("d0"), rig.condition("Available").1.as_str()), (Some(1000), "Drifted"));
    terms(&mut rig, Value::Null);
    rig.run_for(SignedDuration::from_secs(70));
    assert_eq!((rig.mtu("d0"), rig.condition("Available").0.as_str()), (Some(1300), "True"));
}

#[test]
fn the_controller_says_how_long_a_change_is_watched_and_the_agent_the_rest() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    let terms = json!({"annotations": {"netloom.dev/probe-timing": "carrier=90 later=5"}});
    rig.edit("NodeNetworkConfig", &json!({"metadata": terms}));
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    let own = rig.settings.timing;
    assert_eq!(rig.timing, Some(ProbeTiming { carrier: Duration::from_secs(90), ..own }));
}

#[test]
fn the_controller_is_reported_which_of_its_links_have_drifted_where_that_is_left() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    let link = json!({"name": "cn1-br", "type": "bridge", "mtu": 1400, "origin": {"kind": "VlanConfig", "name": "u"}});
    let terms = json!({"annotations": {"netloom.dev/drift": "Report"}});
    rig.edit("NodeNetworkConfig", &json!({"metadata": terms, "spec": {"host": {"links": [link]}}}));
    pair(&mut rig, "r1", "x1", &dummy("d0", 1300));
    rig.run();
    let reported = |rig: &Rig| {
        let status = &rig.api.get("NodeNetworkConfig", "n").unwrap()["status"];
        (status["configStatus"].clone(), status["drift"].clone())
    };
    assert_eq!(reported(&rig), (json!("provisioned"), Value::Null));
    rig.meddle(&set_mtu("d0", 1000));
    rig.meddle(&set_mtu("cn1-br", 1000));
    rig.run();
    let drift = json!([{"link": "cn1-br", "message": "cn1-br.mtu: wanted 1400, got 1000"}]);
    assert_eq!(reported(&rig), (json!("provisioned"), drift), "what a person wants there is reported elsewhere");
    rig.meddle(&set_mtu("cn1-br", 1400));
    rig.run();
    assert_eq!(reported(&rig), (json!("provisioned"), Value::Null));
}

#[test]
fn bursts_of_changes_are_looked_at_once() {
    let mut rig = with_dummy();
    let looks = rig.count("observe");
    for index in 0..10 {
        rig.meddle(&Step::SetUp { name: "eth0".parse().unwrap(), up: index % 2 == 0 });
        rig.run_for(SignedDuration::from_millis(10));
    }
    rig.run();
    assert_eq!(rig.count("observe") - looks, 1);
}

/// A link of a pod comes, or goes.
fn pod(there: bool) -> Step {
    let name = "veth1".parse().unwrap();
    let create = Step::CreateLink { name, kind: LinkKind::Dummy, attrs: Attrs::new(), controller: None, up: true };
    if there { create } else { Step::DeleteLink { name } }
}

#[test]
fn links_of_others_that_come_and_go_do_not_have_the_host_read_each_time() {
    let mut rig = with_dummy();
    let before = rig.count("observe");
    rig.meddle_on("veth1", &pod(true));
    rig.run_for(SignedDuration::from_millis(100));
    assert_eq!(rig.count("observe"), before + 1, "the first one is seen at once");
    for round in 0..1200 {
        rig.meddle_on("veth1", &pod(round % 2 == 1));
        rig.run_for(SignedDuration::from_millis(500));
    }
    let reads = rig.count("observe") - before;
    assert!((10..30).contains(&reads), "{reads} times in ten minutes");
}

#[test]
fn drift_is_seen_as_quickly_however_many_links_of_others_come_and_go() {
    let mut rig = with_dummy();
    for round in 0..100 {
        rig.meddle_on("veth1", &pod(round % 2 == 0));
        rig.run_for(SignedDuration::from_millis(500));
    }
    rig.meddle_on("d0", &set_mtu("d0", 1000));
    rig.run_for(SignedDuration::from_millis(60));
    assert_eq!(rig.mtu("d0"), Some(1400));
}

#[test]
fn a_link_that_becomes_a_port_of_ours_is_no_bystander() {
    let mut rig = with_dummy();
    rig.meddle_on("veth1", &pod(true));
    rig.run_for(SignedDuration::from_secs(1));
    let before = rig.count("observe");
    let change = HostChange::Links(["veth1", "d0"].map(|name| name.parse().unwrap()).into());
    rig.agent.take(rig.now, Event::HostChanged(change));
    rig.run_for(SignedDuration::from_millis(60));
    assert_eq!(rig.count("observe"), before + 1);
}
