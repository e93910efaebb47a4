//! What the agent does about its object and the desired state in it, one story each.

use jiff::SignedDuration;
use netloom_agent_core::{Settings, Standing};
use netloom_model::Step;
use serde_json::{Value, json};

use crate::{
    model::{HOUR, Rig, condition, desire, dummy, set_mtu, with_dummy},
    revisions::{config, pair},
};

#[test]
fn an_object_is_made_with_the_current_state_when_there_is_none() {
    let mut rig = Rig::usual();
    rig.run();
    let state = rig.state();
    assert_eq!(state["spec"], json!({"managed": true, "nodeName": "n"}));
    let links: Vec<&Value> = state["status"]["currentState"]["interfaces"].as_array().unwrap().iter().collect();
    assert_eq!(links.iter().map(|link| &link["name"]).collect::<Vec<_>>(), ["eth0", "lo"]);
    assert_eq!(rig.condition("Managed").0, "True");
    assert_eq!(rig.condition("Available").1, "NothingDesired");
    assert_eq!(rig.condition("Progressing").0, "False");
    assert_eq!(rig.condition("Degraded").0, "False");
    assert_eq!(rig.host.changes, 0);
    assert_eq!(rig.disk, None, "nothing was changed, so there is nothing to remember");
}

#[test]
fn a_desired_state_is_enforced_and_reported() {
    let rig = with_dummy();
    assert_eq!(rig.condition("Available").1, "AsDesired");
    let status = &rig.state()["status"];
    assert_eq!(status["observedGeneration"], 2);
    assert_eq!(status["lastApplied"]["generation"], 2);
    assert_eq!(status["lastApplied"]["durationMs"], 7);
    assert!(status["currentState"]["interfaces"].to_string().contains("\"d0\""));
    assert_eq!(rig.reported(), ["Synced"]);
    assert_eq!(rig.api.list("Event")[0]["note"], "NodeNetworkState synced successfully");
    assert_eq!(rig.disk.as_ref().unwrap().desired.as_ref().unwrap().document, Some(dummy("d0", 1400)));
}

#[test]
fn an_idle_node_asks_nothing_and_only_polls() {
    let mut rig = with_dummy();
    let (writes, effects) = (rig.api.writes.len(), rig.effects.len());
    rig.run_for(HOUR);
    assert_eq!(rig.api.writes.len(), writes);
    let polls = rig.effects.len() - effects;
    assert!((54..=67).contains(&polls), "{polls}");
    assert!(rig.effects[effects..].iter().all(|effect| *effect == "observe"));
    assert_eq!(rig.agent.standing(), Standing::Settled);
}

#[test]
fn a_restart_writes_nothing_when_nothing_has_changed() {
    let mut rig = with_dummy();
    let writes = rig.api.writes.len();
    rig.restart();
    rig.run();
    assert_eq!(rig.api.writes.len(), writes);
    assert_eq!(rig.host.changes, 1);
}

#[test]
fn a_deleted_object_is_recreated_with_the_current_state_only() {
    let mut rig = with_dummy();
    rig.delete("NodeNetworkState");
    rig.run();
    assert_eq!(rig.state()["spec"], json!({"managed": true, "nodeName": "n"}));
    assert!(rig.state()["status"]["currentState"].to_string().contains("\"d0\""));
    assert_eq!(rig.mtu("d0"), Some(1400), "the kernel is left as it is");
    assert!(rig.reported().contains(&"Recreated".to_owned()));
    desire(&mut rig, &dummy("d1", 1300));
    rig.run();
    assert_eq!((rig.mtu("d0"), rig.mtu("d1")), (Some(1400), Some(1300)), "nor is it taken back later");
}

#[test]
fn an_object_that_was_recreated_unseen_is_another_one() {
    let mut rig = with_dummy();
    rig.hears = false;
    rig.delete("NodeNetworkState");
    rig.write(json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
        "metadata": {"namespace": "default", "name": "n"},
        "spec": {"managed": true, "nodeName": "n"},
    }));
    rig.hears = true;
    rig.relist();
    rig.run();
    assert_eq!(rig.mtu("d0"), Some(1400));
    assert_eq!(rig.disk, None);
}

#[test]
fn what_is_not_desired_any_more_is_taken_back() {
    let mut rig = with_dummy();
    desire(&mut rig, &json!({"interfaces": [{"name": "eth0", "mtu": 1300}]}));
    rig.run();
    assert_eq!((rig.mtu("d0"), rig.mtu("eth0")), (None, Some(1300)));
    desire(&mut rig, &Value::Null);
    rig.run();
    assert_eq!(rig.mtu("eth0"), Some(1500), "a card gets back what it had");
    assert_eq!(rig.condition("Available").1, "NothingDesired");
}

#[test]
fn an_unmanaged_node_is_left_alone_and_silent() {
    let mut rig = with_dummy();
    rig.edit("NodeNetworkState", &json!({"spec": {"managed": false}}));
    rig.run();
    assert_eq!(rig.condition("Managed"), condition(rig.state(), "Managed"));
    assert_eq!(rig.condition("Managed").0, "False");
    assert_eq!(rig.condition("Available").1, "AsDesired", "the last word stays");
    let (writes, effects) = (rig.api.writes.len(), rig.effects.len());
    desire(&mut rig, &dummy("d1", 1300));
    rig.meddle(&set_mtu("d0", 1000));
    rig.run_for(HOUR);
    rig.restart();
    rig.run_for(HOUR);
    assert_eq!(rig.api.writes.len(), writes);
    assert_eq!(rig.effects[effects..], ["recover"]);
    assert_eq!((rig.mtu("d0"), rig.mtu("d1")), (Some(1000), None));
    rig.edit("NodeNetworkState", &json!({"spec": {"managed": true}}));
    rig.run();
    assert_eq!(
        (rig.mtu("d0"), rig.mtu("d1")),
        (None, Some(1300)),
        "managed again: all of the desired state, and only that"
    );
    assert_eq!(rig.condition("Managed").0, "True");
}

#[test]
fn an_unmanaged_node_stays_alone_when_it_starts_without_the_api() {
    let mut rig = with_dummy();
    rig.edit("NodeNetworkState", &json!({"spec": {"managed": false}}));
    rig.run();
    rig.meddle(&Step::DeleteLink { name: "d0".parse().unwrap() });
    rig.online = false;
    rig.restart();
    rig.run_for(HOUR);
    assert_eq!(rig.mtu("d0"), None);
}

#[test]
fn a_failed_desired_state_is_reported_and_tried_again_until_it_works_or_changes() {
    let mut rig = Rig::usual();
    rig.run();
    rig.host.cursed = Some("d0");
    desire(&mut rig, &dummy("d0", 1400));
    rig.run_for(SignedDuration::from_millis(10));
    assert_eq!(rig.condition("Available").0, "False");
    let (truth, reason, message) = rig.condition("Degraded");
    assert_eq!((truth.as_str(), reason.as_str()), ("True", "ApplyFailed"));
    assert!(message.contains("taken back") && message.contains("d0"), "{message}");
    assert_eq!(rig.condition("Progressing").1, "Retrying");
    assert_eq!(rig.state()["status"]["retry"]["count"], 1);
    assert!(rig.state()["status"]["currentState"].is_object(), "reported even though enforcing failed");
    assert_eq!(rig.state()["status"]["lastApplied"], Value::Null);
    let tries = rig.count("transact");
    rig.run_for(SignedDuration::from_secs(32));
    let more = rig.count("transact") - tries;
    assert!((4..=5).contains(&more), "1, 2, 4, 8, 16 seconds, not {more}");
    rig.run_for(HOUR);
    let rate = rig.count("transact") - tries - more;
    assert!((10..=20).contains(&rate), "every five minutes at the most, not {rate}");
    assert_eq!(rig.reported(), ["RolledBack"], "stated once, not with each try");
    assert!(matches!(rig.agent.standing(), Standing::Failed(_)));
    desire(&mut rig, &dummy("d1", 1400));
    rig.run_for(SignedDuration::from_millis(10));
    assert_eq!(
        (rig.mtu("d1"), rig.condition("Degraded").0.as_str()),
        (Some(1400), "False"),
        "a new desired state is tried at once"
    );
    desire(&mut rig, &dummy("d0", 1400));
    rig.run_for(SignedDuration::from_millis(10));
    rig.host.cursed = None;
    rig.run_for(SignedDuration::from_secs(3));
    assert_eq!((rig.mtu("d0"), rig.mtu("d1")), (Some(1400), None));
    assert_eq!(rig.state()["status"]["retry"], Value::Null);
}

#[test]
fn a_desired_state_that_cannot_be_read_touches_nothing_and_says_why() {
    let mut rig = with_dummy();
    let tries = rig.count("transact");
    desire(&mut rig, &json!({"interfaces": [{"name": "d0", "type": "dummy", "mtuu": 1}]}));
    rig.run_for(HOUR);
    let (truth, reason, message) = rig.condition("Degraded");
    assert_eq!((truth.as_str(), reason.as_str()), ("True", "InvalidDesiredState"));
    assert!(message.contains("interfaces[0].mtuu"), "{message}");
    assert_eq!((rig.mtu("d0"), rig.count("transact")), (Some(1400), tries));
    assert_eq!(rig.condition("Progressing").1, "Waiting");
}

#[test]
fn a_desired_state_for_an_unknown_interface_touches_nothing_and_is_tried_again() {
    let mut rig = with_dummy();
    desire(&mut rig, &json!({"interfaces": [{"name": "eth7", "type": "ethernet", "mtu": 1400}]}));
    rig.run_for(SignedDuration::from_millis(10));
    let (_, reason, message) = rig.condition("Degraded");
    assert_eq!(reason, "InvalidDesiredState");
    assert!(message.contains("eth7"), "{message}");
    assert_eq!(rig.mtu("d0"), Some(1400));
    rig.host.sim.add_ethernet("eth7".parse().unwrap(), "02:00:00:00:00:07".parse().unwrap());
    rig.run_for(SignedDuration::from_secs(2));
    assert_eq!(rig.mtu("eth7"), Some(1400), "the card was plugged in meanwhile");
}

#[test]
fn a_desired_state_that_cuts_the_way_to_the_api_is_refused() {
    let api: std::net::IpAddr = "192.0.2.1".parse().unwrap();
    let mut rig = Rig::new(Settings { protected: vec![api], ..Settings::of("n") });
    rig.run();
    let eth0 = |mtu: u64, address: &str| {
        let address = json!([{"ip": address, "prefix-length": 24}]);
        json!({"interfaces": [{"name": "eth0", "state": "up", "mtu": mtu,
            "ipv4": {"enabled": true, "address": address}}]})
    };
    desire(&mut rig, &eth0(1500, "192.0.2.7"));
    rig.run();
    assert_eq!(rig.condition("Available").0, "True");
    desire(&mut rig, &eth0(1400, "198.51.100.7"));
    rig.run();
    let (_, reason, message) = rig.condition("Degraded");
    assert_eq!(reason, "InvalidDesiredState");
    assert!(message.contains("192.0.2.1"), "{message}");
    assert!(message.ends_with("allow it by limits.allowLossOfManagement of the node's RolloutPolicy"), "{message}");
    assert_eq!(rig.mtu("eth0"), Some(1500));
    // Unless the controller has allowed it.
    config(&mut rig, "r1", "x1");
    rig.edit("NodeNetworkConfig", &json!({"metadata": {"annotations": {"netloom.dev/may-be-cut-off": "true"}}}));
    pair(&mut rig, "r1", "x1", &eth0(1400, "198.51.100.7"));
    rig.run();
    assert_eq!((rig.mtu("eth0"), rig.condition("Available").0.as_str()), (Some(1400), "True"));
}

#[test]
fn two_objects_for_one_node_end_in_a_condition_on_the_second() {
    let mut rig = with_dummy();
    let second = |name: &str| {
        json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
            "metadata": {"namespace": "default", "name": name},
            "spec": {"managed": true, "nodeName": "n", "desiredState": dummy("d0", 1000)},
        })
    };
    rig.write(second("other"));
    rig.run();
    let other = rig.api.get("NodeNetworkState", "other").unwrap();
    let (truth, reason, message) = condition(other, "Conflict");
    assert_eq!((truth.as_str(), reason.as_str()), ("True", "Conflict"));
    assert!(message.contains("default/n"), "{message}");
    assert_eq!(rig.mtu("d0"), Some(1400));
    let writes = rig.api.writes.len();
    rig.run_for(HOUR);
    assert_eq!(rig.api.writes.len(), writes);
}

#[test]
fn the_last_good_desired_state_is_applied_before_the_api_is_reached() {
    let mut rig = with_dummy();
    rig.online = false;
    rig.host.sim.apply(&Step::DeleteLink { name: "d0".parse().unwrap() }).unwrap();
    rig.restart();
    rig.run();
    assert_eq!(rig.mtu("d0"), Some(1400));
    rig.meddle(&set_mtu("d0", 1000));
    rig.run();
    assert_eq!(rig.mtu("d0"), Some(1400), "and kept, for as long as the node is cut off");
    let writes = rig.api.writes.len();
    rig.online = true;
    rig.relist();
    rig.run();
    assert!(rig.api.writes[writes..].iter().all(|(verb, ..)| *verb != "patch"));
    assert_eq!(rig.condition("Available").0, "True");
}

#[test]
fn a_desired_state_that_never_worked_is_not_what_a_node_starts_with() {
    let mut rig = with_dummy();
    rig.host.cursed = Some("d1");
    desire(&mut rig, &dummy("d1", 1400));
    rig.run();
    rig.online = false;
    rig.restart();
    rig.run();
    assert_eq!(rig.disk.as_ref().unwrap().desired.as_ref().unwrap().document, Some(dummy("d0", 1400)));
    assert_eq!(rig.mtu("d0"), Some(1400));
}

#[test]
fn links_to_listen_on_come_out_of_the_desired_state() {
    let mut rig = Rig::usual();
    rig.run();
    desire(&mut rig, &json!({"interfaces": [{"name": "eth0", "state": "up", "lldp": {"enabled": true}}]}));
    rig.run();
    assert_eq!(rig.listening, ["eth0"]);
    assert_eq!(rig.condition("Available").0, "True");
    desire(&mut rig, &Value::Null);
    rig.run();
    assert!(rig.listening.is_empty());
}

#[test]
fn taints_go_once_the_network_is_in_place() {
    let taints = ["netloom.dev/starting".to_owned()].into();
    let mut rig = Rig::new(Settings { taints, ..Settings::of("n") });
    let taints =
        json!([{"key": "netloom.dev/starting", "effect": "NoSchedule"}, {"key": "other", "effect": "NoSchedule"}]);
    rig.write(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": taints}}));
    rig.write(json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"namespace": "default", "name": "n"},
        "spec": {"managed": true, "nodeName": "n", "desiredState": dummy("d0", 1400)},
    }));
    rig.host.cursed = Some("d0");
    rig.run_for(SignedDuration::from_millis(10));
    assert_eq!(rig.api.get("Node", "n").unwrap()["spec"]["taints"].as_array().unwrap().len(), 2);
    rig.host.cursed = None;
    rig.run_for(SignedDuration::from_secs(2));
    assert_eq!(rig.api.get("Node", "n").unwrap()["spec"]["taints"], json!([taints[1]]));
}

fn events(rig: &Rig, reason: &str) -> usize {
    rig.api.list("Event").iter().filter(|event| event["reason"] == reason).count()
}

#[test]
fn an_event_that_did_not_arrive_is_reported_when_the_api_answers_again() {
    let mut rig = with_dummy();
    let before = events(&rig, "Synced");
    rig.unheard = true;
    desire(&mut rig, &dummy("d0", 1290));
    rig.run_for(SignedDuration::from_secs(20));
    assert_eq!((rig.mtu("d0"), events(&rig, "Synced")), (Some(1290), before));
    rig.unheard = false;
    rig.run_for(SignedDuration::from_mins(2));
    assert_eq!(events(&rig, "Synced"), before + 1);
}

#[test]
fn an_agent_that_may_make_no_events_comes_to_rest_all_the_same() {
    let mut rig = with_dummy();
    rig.forbidden = Some("Event");
    desire(&mut rig, &dummy("d0", 1290));
    rig.run_for(SignedDuration::from_secs(5));
    assert_eq!((rig.mtu("d0"), rig.agent.standing()), (Some(1290), Standing::Settled));
    let asked = rig.count("ask");
    rig.run_for(HOUR);
    assert_eq!(rig.count("ask"), asked, "what is forbidden is not asked for again and again");
}
