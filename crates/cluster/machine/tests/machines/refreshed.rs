//! Links that are refreshed after a migration, where the hypervisor does not answer in between; and which interface is
//! reported first.

use netloom_domain::Domain;
use netloom_machine::{
    domain::{Plugins, Refresh, instance as wanted},
    lane::{Lane, Want},
    status::{Phase, Report, reported},
};
use serde_json::{Value, json};

use crate::{
    fake::{BASE, Fake, Folder},
    instance,
};

/// One look at an instance, with what was written of its status.
fn look(lane: &mut Lane, fake: &mut Fake, object: &mut Value, now: u64) {
    lane.look_at_all();
    for want in lane.turn(now, "t", fake, &Folder(Some(BASE))).unwrap() {
        let Want::Write { patch, .. } = want else { continue };
        for (name, value) in patch["status"].as_object().unwrap() {
            object["status"][name] = value.clone();
        }
    }
    lane.put(object.clone());
}

fn condition<'a>(object: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let all = object["status"]["conditions"].as_array().unwrap();
    let found = all.iter().find(|one| one["type"] == kind).unwrap();
    (found["status"].as_str().unwrap(), found["message"].as_str().unwrap())
}

#[test]
fn a_link_that_could_not_be_brought_up_again_is_reported_and_brought_up_later() {
    let mut lane = Lane::new("n1", Plugins::from([("tapped".to_owned(), Refresh::Yes)]));
    let mut fake = Fake::default();
    let mut object = instance(&[("blue", "plugin:tapped", "")], json!({"nodeName": "n1", "phase": "Scheduled"}));
    lane.listed(vec![object.clone()]);
    look(&mut lane, &mut fake, &mut object, 0);
    object["status"]["migrationState"] =
        json!({"migrationUid": "g-1", "sourceNode": "n0", "targetNode": "n1", "completed": true});
    lane.put(object.clone());
    fake.done.clear();
    fake.mute_after_pause = 1;
    look(&mut lane, &mut fake, &mut object, 0);
    assert_eq!(fake.done, ["update blue", "pause"]);
    assert_eq!(condition(&object, "LinkStateSynced"), ("False", "blue: cannot acquire state change lock"));
    assert_eq!(object["status"]["migrationState"].get("linksRefreshed"), None, "it is not done");
    look(&mut lane, &mut fake, &mut object, 1_000);
    assert_eq!(object["status"]["interfaces"][0]["linkState"], "up");
    look(&mut lane, &mut fake, &mut object, 2_000);
    assert_eq!(condition(&object, "LinkStateSynced"), ("True", ""));
    assert_eq!(object["status"]["migrationState"]["linksRefreshed"], true);
}

#[test]
fn the_primary_network_is_reported_first_wherever_it_stands() {
    let live = |names: [&str; 2]| {
        let nic = |name: &str| {
            format!(
                "<interface type='ethernet'><mac address='02:00:00:00:00:01'/><alias name='ua-{name}'/></interface>"
            )
        };
        let nics: String = names.iter().map(|name| nic(name)).collect();
        Domain::read(&format!("<domain><name>default_a</name><devices>{nics}</devices></domain>")).unwrap()
    };
    let first = |object: &Value, names: [&str; 2]| {
        let (wanted, live) = (wanted(object, &Plugins::new()).unwrap(), live(names));
        let report = Report {
            phase: Phase::Running,
            wanted: Some(&wanted),
            live: Some(&live),
            nics: &std::collections::BTreeMap::new(),
            trouble: None,
        };
        let status = reported(object, &report, "t");
        let names = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
        status["interfaces"].as_array().unwrap().iter().map(names).collect::<Vec<_>>()
    };
    let pod = instance(&[("blue", "", ""), ("default", "masquerade", "")], json!({"nodeName": "n1"}));
    assert_eq!(first(&pod, ["blue", "default"]), ["default", "blue"]);
    let mut multus = instance(&[("blue", "", ""), ("red", "", "")], json!({"nodeName": "n1"}));
    assert_eq!(first(&multus, ["blue", "red"]), ["blue", "red"]);
    multus["spec"]["networks"][1]["multus"]["default"] = json!(true);
    assert_eq!(first(&multus, ["blue", "red"]), ["red", "blue"]);
}
