//! What an agent does while the API is not reached, or does not answer.

use jiff::SignedDuration;
use serde_json::json;

use crate::{
    model::{Death, Heir, Rig, condition, desire, dummy, set_mtu, with_dummy},
    revisions::{config, pair},
};

#[test]
fn a_failure_is_reported_before_the_desired_state_is_tried_again() {
    let mut rig = Rig::usual();
    rig.run();
    rig.host.cursed = Some("d0");
    desire(&mut rig, &dummy("d0", 1400));
    rig.unheard = true;
    rig.run_for(SignedDuration::from_secs(25));
    assert_eq!(rig.count("transact"), 1, "nobody was notified of the first attempt yet");
    rig.unheard = false;
    rig.run_for(SignedDuration::from_secs(15));
    assert_eq!(rig.condition("Degraded").1, "ApplyFailed");
    assert!(rig.count("transact") > 1, "as soon as it was reported, it is tried again");
}

#[test]
fn a_failure_that_cannot_be_reported_holds_nothing_up_for_ever() {
    let mut rig = Rig::usual();
    rig.run();
    rig.host.cursed = Some("d0");
    desire(&mut rig, &dummy("d0", 1400));
    rig.unheard = true;
    rig.run_for(SignedDuration::from_millis(10));
    rig.host.cursed = None;
    rig.run_for(SignedDuration::from_secs(40));
    assert_eq!(rig.mtu("d0"), Some(1400));
}

#[test]
fn a_new_desired_state_waits_until_the_api_is_reached_and_is_not_taken_for_a_bad_one() {
    let mut rig = with_dummy();
    config(&mut rig, "r1", "x1");
    pair(
        &mut rig,
        "r1",
        "x1",
        &json!({"interfaces": [dummy("d0", 1400)["interfaces"][0], dummy("c0", 1300)["interfaces"][0]]}),
    );
    rig.online = false;
    rig.run_for(SignedDuration::from_mins(5));
    assert_eq!((rig.mtu("c0"), rig.host.changes), (None, 1), "whether it cuts the way there could not be known");
    rig.meddle(&set_mtu("d0", 1000));
    rig.run_for(SignedDuration::from_secs(35));
    assert_eq!(rig.mtu("d0"), Some(1400), "meanwhile the node keeps to its last good desired state");
    rig.online = true;
    let soon = SignedDuration::from_secs(70);
    let mut answers = Vec::new();
    for _ in 0..soon.as_secs() {
        rig.run_for(SignedDuration::from_secs(1));
        answers.push(rig.api.get("NodeNetworkConfig", "n").unwrap()["status"]["configStatus"].clone());
    }
    assert!(rig.mtu("c0").is_some() && rig.mtu("d0") == Some(1400));
    assert_eq!(answers.last(), Some(&json!("provisioned")));
    assert!(!answers.contains(&json!("invalid")), "{answers:?}");
    assert_eq!(condition(rig.state(), "Available").0, "True");
}

#[test]
fn an_agent_that_ends_in_a_change_and_loses_the_api_does_not_go_back_to_the_desired_state_before() {
    for (effects, death) in (0..12).flat_map(|effects| [(effects, Death::Before), (effects, Death::After)]) {
        let mut rig = with_dummy();
        rig.heir = Heir::Orphaned;
        rig.life = Some((effects, death));
        desire(&mut rig, &dummy("d0", 1300));
        rig.run_for(SignedDuration::from_secs(5));
        assert!(rig.mtu("d0").is_some());
        (rig.online, rig.life) = (true, None);
        rig.relist();
        rig.run_for(SignedDuration::from_secs(40));
        assert_eq!((rig.mtu("d0"), rig.host.changes), (Some(1300), 2), "{death:?} effect {effects}: {:?}", rig.effects);
    }
}

#[test]
fn an_agent_does_not_begin_its_life_with_a_desired_state_that_failed() {
    let mut rig = with_dummy();
    rig.host.cursed = Some("c0");
    desire(&mut rig, &dummy("c0", 1300));
    rig.run();
    assert_eq!(rig.condition("Degraded").1, "ApplyFailed");
    rig.heir = Heir::Orphaned;
    rig.host.cursed = None;
    rig.boot();
    rig.run();
    assert_eq!((rig.mtu("d0"), rig.mtu("c0")), (Some(1400), None));
}

#[test]
fn a_node_that_boots_under_a_bad_desired_state_gets_its_last_good_one() {
    let mut rig = with_dummy();
    rig.host.cursed = Some("c0");
    desire(&mut rig, &dummy("c0", 1300));
    rig.run();
    rig.boot();
    rig.run();
    assert_eq!((rig.mtu("d0"), rig.mtu("c0")), (Some(1400), None), "{:?}", rig.effects);
}
