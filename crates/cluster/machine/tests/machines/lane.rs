//! What an agent does about its instances, on a hypervisor in memory.

use netloom_machine::{
    domain::{Plugins, Refresh},
    lane::{Key, Lane, Moved, Want},
};
use serde_json::{Value, json};

use crate::{
    fake::{BASE, Fake, Folder},
    instance,
};

const NOW: &str = "2030-01-01T00:00:00Z";

struct Node {
    lane: Lane,
    fake: Fake,
    object: Value,
    base: Folder,
    version: u64,
    now: u64,
    writes: usize,
    moves: Vec<Want>,
    drifts: Vec<Vec<String>>,
    looks: Vec<Key>,
}

impl Node {
    fn with(nics: &[(&str, &str, &str)]) -> Self {
        Self::of("n1", instance(nics, json!({"nodeName": "n1", "phase": "Scheduled"})))
    }

    fn of(node: &str, object: Value) -> Self {
        let plugins = Plugins::from([("tapped".to_owned(), Refresh::Yes)]);
        let mut lane = Lane::new(node, plugins);
        lane.listed(vec![object.clone()]);
        let (fake, base) = (Fake::default(), Folder(Some(BASE)));
        Self {
            lane,
            fake,
            object,
            base,
            version: 1,
            now: 0,
            writes: 0,
            moves: Vec::new(),
            drifts: Vec::new(),
            looks: Vec::new(),
        }
    }

    /// Runs until nothing is to be done, with an API that takes every write.
    fn run(&mut self) {
        for _ in 0..10 {
            let wants = self.lane.turn(self.now, NOW, &mut self.fake, &self.base).unwrap_or_default();
            let idle = wants.is_empty();
            for want in wants {
                match want {
                    Want::Write { patch, .. } => {
                        self.writes += 1;
                        let fields = patch["status"].as_object().unwrap().clone();
                        for (name, value) in fields {
                            if value.is_null() {
                                self.object["status"].as_object_mut().unwrap().remove(&name);
                            } else {
                                self.object["status"][name] = value;
                            }
                        }
                        self.store();
                    }
                    Want::Move { .. } => self.moves.push(want),
                    Want::Drift { nics, .. } => self.drifts.push(nics),
                    Want::Look { key } => self.looks.push(key),
                }
            }
            if idle {
                return;
            }
        }
        panic!("it never rests: {:?}", self.fake.done);
    }

    fn store(&mut self) {
        self.version += 1;
        self.object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.lane.put(self.object.clone());
    }

    fn set(&mut self, at: usize, state: &str) {
        self.object["spec"]["domain"]["devices"]["interfaces"][at]["state"] = state.into();
        self.store();
        self.run();
    }

    fn links(&self) -> Vec<(&str, &str)> {
        let all = self.object["status"]["interfaces"].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().map(|entry| (entry["name"].as_str().unwrap(), entry["linkState"].as_str().unwrap_or("-"))).collect()
    }

    fn synced(&self) -> (&str, &str) {
        let all = self.object["status"]["conditions"].as_array().unwrap();
        let found = all.iter().find(|condition| condition["type"] == "LinkStateSynced").unwrap();
        (found["status"].as_str().unwrap(), found["message"].as_str().unwrap())
    }

    fn key(&self) -> Key {
        ("default".to_owned(), "a".to_owned())
    }
}

#[test]
fn a_machine_starts_with_a_nic_that_is_down_and_gets_its_link() {
    let mut node = Node::with(&[("default", "masquerade", ""), ("blue", "bridge", "down")]);
    node.run();
    assert_eq!(node.fake.done, ["define", "start"]);
    assert_eq!((node.object["status"]["phase"].as_str(), node.writes), (Some("Running"), 1));
    assert_eq!(node.links(), [("default", "up"), ("blue", "down")]);
    assert_eq!(node.synced(), ("True", ""));
    let entry = &node.object["status"]["interfaces"][1];
    assert_eq!((&entry["infoSource"], &entry["queueCount"]), (&json!("domain"), &json!(1)));
    assert!(entry["podInterfaceName"].as_str().unwrap().starts_with("tap"));
    node.set(1, "up");
    assert_eq!(
        (node.fake.done.last().unwrap().as_str(), node.links()[1], node.writes),
        ("update blue", ("blue", "up"), 2)
    );
    node.set(1, "");
    assert_eq!((node.fake.updates(), node.writes), (1, 2), "up and nothing are the same");
}

#[test]
fn a_poll_without_a_change_reads_once_for_each_domain_and_writes_nothing() {
    let mut node = Node::with(&[("default", "", ""), ("blue", "", "down")]);
    node.run();
    let (calls, writes, done) = (node.fake.calls, node.writes, node.fake.done.len());
    node.lane.look_at_all();
    node.run();
    assert_eq!((node.fake.calls - calls, node.writes, node.fake.done.len()), (2, writes, done));
}

#[test]
fn n_nics_are_n_updates_and_one_status() {
    let mut node = Node::with(&[("a", "", ""), ("b", "", ""), ("c", "", "")]);
    node.run();
    let writes = node.writes;
    for at in 0..3 {
        node.object["spec"]["domain"]["devices"]["interfaces"][at]["state"] = "down".into();
    }
    node.store();
    node.run();
    assert_eq!((node.fake.updates(), node.writes - writes), (3, 1));
}

#[test]
fn a_nic_that_fails_keeps_no_other_back_and_heals() {
    let mut node = Node::with(&[("a", "", ""), ("b", "", "")]);
    node.run();
    node.fake.refuses.insert("a".to_owned(), "cannot do it");
    node.object["spec"]["domain"]["devices"]["interfaces"][0]["state"] = "down".into();
    node.set(1, "down");
    assert_eq!(node.links(), [("a", "up"), ("b", "down")]);
    assert_eq!(node.synced(), ("False", "a: cannot do it"));
    assert_eq!(node.lane.wake_at(), Some(1_000));
    node.fake.refuses.clear();
    node.now = 1_000;
    node.run();
    assert_eq!((node.links()[0], node.synced()), (("a", "down"), ("True", "")));
    assert_eq!(node.lane.wake_at(), None);
}

#[test]
fn a_nic_is_plugged_in_down_unplugged_while_down_and_plugged_in_again() {
    let mut node = Node::with(&[("default", "", "")]);
    node.run();
    let with = |state: &str| crate::spec(&[("default", "", ""), ("blue", "", state)]);
    for _ in 0..2 {
        node.object["spec"] = with("down");
        node.store();
        node.run();
        assert_eq!(node.links(), [("default", "up"), ("blue", "down")]);
        node.object["spec"] = with("absent");
        node.store();
        node.run();
        assert_eq!(node.links(), [("default", "up")]);
        node.object["spec"] = crate::spec(&[("default", "", "")]);
        node.store();
        node.run();
    }
    assert_eq!(node.fake.done[2..], ["attach blue", "detach blue", "attach blue", "detach blue"]);
}

/// A domain that cannot be looked at for a moment is no domain without NICs: what its instance says of them stays, and
/// nothing counts as unplugged that is not.
#[test]
fn trouble_leaves_what_was_reported_as_it_was() {
    let mut node = Node::with(&[("default", "", ""), ("blue", "", "")]);
    node.run();
    node.fake.holds.insert("blue".to_owned());
    node.set(1, "absent");
    let before = node.object["status"]["interfaces"].clone();
    node.fake.mute = 1;
    node.lane.happened("default_a");
    node.run();
    assert_eq!(node.object["status"]["interfaces"], before);
    let words = |node: &Node| {
        let all = node.object["status"]["conditions"].as_array().unwrap().iter();
        all.filter(|one| one["type"] == "Synchronized").map(|one| one["message"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(words(&node), ["cannot acquire state change lock"]);
    let mut machine = crate::machine(&[("default", "", ""), ("blue", "", "absent")]);
    machine["metadata"]["uid"] = "m-1".into();
    assert_eq!(netloom_machine::sync::to_instance(&machine, &node.object), None, "it is still in the guest");
    node.fake.holds.clear();
    node.now = 10_000;
    node.run();
    assert_eq!((node.links(), words(&node).len()), (vec![("default", "up")], 0));
    assert!(netloom_machine::sync::to_instance(&machine, &node.object).is_some(), "now it is gone");
}

#[test]
fn nobody_says_that_a_machine_runs_before_its_nics_can_be_said() {
    let mut node = Node::with(&[("default", "", ""), ("blue", "", "")]);
    node.fake.mute = 1;
    node.run();
    assert_eq!((node.object["status"]["phase"].as_str(), node.links()), (Some("Scheduled"), vec![]));
    node.now = 1_000;
    node.run();
    assert_eq!((node.object["status"]["phase"].as_str(), node.links().len()), (Some("Running"), 2));
}

#[test]
fn a_nic_that_goes_on_failing_is_tried_again_after_a_second_and_after_ten_in_the_end() {
    let mut node = Node::with(&[("a", "", "")]);
    node.run();
    node.fake.refuses.insert("a".to_owned(), "cannot do it");
    node.set(0, "down");
    let mut waits = Vec::new();
    for _ in 0..6 {
        let again = node.lane.wake_at().unwrap();
        waits.push(again - node.now);
        node.now = again;
        node.run();
    }
    assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
}

#[test]
fn what_others_did_to_a_link_is_also_found_when_something_else_happens() {
    let mut node = Node::with(&[("blue", "", "down")]);
    node.run();
    let (text, _) = node.fake.domains.get_mut("default_a").unwrap();
    *text = text.replace("<link state='down'/>", "");
    node.lane.happened("default_a");
    node.run();
    assert_eq!((node.drifts.len(), node.links()), (1, vec![("blue", "down")]));
}

#[test]
fn an_explicit_link_is_reported_as_it_is_and_not_touched() {
    let mut node = Node::with(&[("blue", "", ""), ("red", "", "down")]);
    node.run();
    let (text, _) = node.fake.domains.get_mut("default_a").unwrap();
    *text = text.replace("<alias name='ua-blue'/>", "<link state='up'/><alias name='ua-blue'/>");
    assert!(text.contains("state='up'"));
    node.lane.look_at_all();
    node.run();
    assert_eq!((node.links(), node.fake.updates()), (vec![("blue", "up"), ("red", "down")], 0));
}

#[test]
fn the_network_by_which_a_machine_is_reached_is_reported_first() {
    let mut node = Node::with(&[("blue", "", "down"), ("default", "masquerade", "")]);
    node.run();
    assert_eq!(node.links(), [("default", "up"), ("blue", "down")]);
}

#[test]
fn an_unplug_that_no_guest_answers_is_told_and_ends_later() {
    let mut node = Node::with(&[("default", "", ""), ("blue", "", "")]);
    node.run();
    node.fake.holds.insert("blue".to_owned());
    node.set(1, "absent");
    assert_eq!(node.synced(), ("False", "blue: the guest has not released it yet"));
    node.fake.holds.clear();
    node.now = 1_000;
    node.run();
    assert_eq!((node.fake.done.last().unwrap().as_str(), node.links()), ("detach live blue", vec![("default", "up")]));
    assert_eq!(node.synced().0, "True");
}

#[test]
fn a_link_that_somebody_else_changed_is_put_right_and_told() {
    let mut node = Node::with(&[("blue", "", "down")]);
    node.run();
    let (text, _) = node.fake.domains.get_mut("default_a").unwrap();
    *text = text.replace("<link state='down'/>", "");
    node.lane.look_at_all();
    node.run();
    assert_eq!((node.drifts.as_slice(), node.fake.updates()), ([vec!["blue".to_owned()]].as_slice(), 1));
    assert_eq!(node.links(), [("blue", "down")]);
}

#[test]
fn a_domain_of_somebody_else_is_never_touched() {
    let mut node = Node::with(&[("blue", "", "down")]);
    let theirs = "<domain><name>default_a</name><devices/></domain>";
    node.fake.domains.insert("default_a".to_owned(), (theirs.to_owned(), true));
    node.run();
    assert_eq!((node.fake.done.len(), &node.fake.domains["default_a"].0), (0, &theirs.to_owned()));
    assert!(node.object["status"]["conditions"][0]["message"].as_str().unwrap().contains("not Netloom's"));
    node.lane.gone(node.key());
    node.lane.looked(&mut node.fake, &("default".to_owned(), "a".to_owned()), None).unwrap();
    assert_eq!(node.fake.domains.len(), 1);
}

#[test]
fn without_a_base_the_instance_says_so_and_is_made_once_there_is_one() {
    let mut node = Node::with(&[("blue", "", "")]);
    node.base = Folder(None);
    node.run();
    assert_eq!(node.object["status"]["conditions"][0]["message"], "there is no base default.xml");
    node.base = Folder(Some(BASE));
    node.now = 1_000;
    node.run();
    assert_eq!(node.object["status"]["phase"], "Running");
    assert_eq!(node.object["status"]["conditions"].as_array().unwrap().len(), 1, "the trouble is over");
}

#[test]
fn an_instance_that_goes_takes_its_domain_along_and_one_that_ended_too() {
    let mut node = Node::with(&[("blue", "", "")]);
    node.run();
    node.object["metadata"]["deletionTimestamp"] = NOW.into();
    node.store();
    node.run();
    assert_eq!((node.fake.domains.len(), node.object["status"]["phase"].as_str()), (0, Some("Succeeded")));
    for (crashed, phase) in [(false, "Succeeded"), (true, "Failed")] {
        let mut node = Node::with(&[("blue", "", "")]);
        node.run();
        node.fake.domains.get_mut("default_a").unwrap().1 = false;
        node.fake.crashed = crashed;
        node.lane.happened("default_a");
        node.run();
        assert_eq!((node.fake.domains.len(), node.object["status"]["phase"].as_str()), (0, Some(phase)));
    }
}

#[test]
fn a_daemon_that_is_away_costs_nothing_but_time() {
    let mut node = Node::with(&[("blue", "", "down")]);
    node.fake.gone = true;
    node.run();
    assert_eq!(node.writes, 0);
    node.fake.gone = false;
    node.run();
    assert_eq!(node.links(), [("blue", "down")]);
}

#[test]
fn a_restarted_agent_takes_a_domain_up_without_changing_it() {
    let mut node = Node::with(&[("blue", "", "down")]);
    node.run();
    let mut next = Node::of("n1", node.object.clone());
    next.fake = node.fake;
    next.fake.done.clear();
    next.run();
    assert_eq!((next.fake.done.len(), next.writes), (0, 0));
}

#[test]
fn an_instance_of_another_life_makes_place() {
    let mut node = Node::with(&[("blue", "", "")]);
    node.run();
    let mut next = instance(&[("blue", "", "")], json!({"nodeName": "n1", "phase": "Scheduled"}));
    next["metadata"]["uid"] = "i-2".into();
    let mut later = Node::of("n1", next);
    later.fake = node.fake;
    later.run();
    assert_eq!(later.fake.done, ["define", "start", "remove", "define", "start"]);
}

#[test]
fn a_domain_that_nobody_asks_for_goes_once_the_api_says_so() {
    let mut node = Node::with(&[("blue", "", "")]);
    node.run();
    node.lane.listed(Vec::new());
    node.run();
    assert_eq!((node.looks.clone(), node.fake.domains.len()), (vec![node.key()], 1));
    let key = node.key();
    let mut elsewhere = node.object.clone();
    elsewhere["status"] = json!({"nodeName": "n0", "migrationState": {"targetNode": "n1"}});
    node.lane.looked(&mut node.fake, &key, Some(&elsewhere)).unwrap();
    assert_eq!(node.fake.domains.len(), 1, "it is on its way here");
    node.lane.looked(&mut node.fake, &key, None).unwrap();
    assert_eq!(node.fake.domains.len(), 0);
}

fn leaving(node: &mut Node) {
    node.object["status"]["migrationState"] = json!({"migrationUid": "g-1", "sourceNode": "n1", "targetNode": "n2", "targetUri": "qemu+unix:///", "targetDataUri": "unix:///d"});
    node.store();
    node.run();
}

#[test]
fn a_domain_leaves_for_another_node_and_nothing_is_reported_meanwhile() {
    let mut node = Node::with(&[("blue", "", "down")]);
    node.run();
    let writes = node.writes;
    leaving(&mut node);
    let [Want::Move { xml, daemon, data, .. }] = node.moves.as_slice() else { panic!("{:?}", node.moves) };
    assert!(xml.contains("<link state='down'/>"));
    assert_eq!((daemon.as_str(), data.as_deref()), ("qemu+unix:///", Some("unix:///d")));
    assert_eq!(node.writes, writes);
    let domain = node.fake.domains.remove("default_a").unwrap();
    node.lane.moved(0, &node.key(), "g-1", Moved::Yes);
    node.run();
    assert_eq!(node.object["status"]["migrationState"]["completed"], true);
    assert_eq!(node.object["status"]["phase"], "Running", "it runs, elsewhere");
    node.object["status"]["nodeName"] = "n2".into();
    let mut there = Node::of("n2", node.object.clone());
    there.fake.domains.insert("default_a".to_owned(), domain);
    there.run();
    assert_eq!((there.fake.done.len(), there.links()), (0, vec![("blue", "down")]));
}

#[test]
fn a_migration_that_fails_is_told_and_links_go_on_being_kept() {
    let mut node = Node::with(&[("blue", "", "down")]);
    node.run();
    leaving(&mut node);
    node.lane.moved(0, &node.key(), "g-1", Moved::No("no route".to_owned()));
    node.run();
    assert_eq!(node.object["status"]["migrationState"]["failureReason"], "no route");
    assert!(node.object["status"]["migrationState"].get("completed").is_none());
    node.set(0, "up");
    assert_eq!(node.links(), [("blue", "up")]);
}

#[test]
fn links_are_refreshed_after_a_migration_where_a_plugin_asks_for_it() {
    let mut node = Node::with(&[("blue", "plugin:tapped", ""), ("red", "plugin:tapped", "down"), ("green", "", "")]);
    node.run();
    assert_eq!(node.links().len(), 3);
    node.object["status"]["migrationState"] = json!({"sourceNode": "n0", "targetNode": "n1", "completed": true});
    node.fake.done.clear();
    node.store();
    node.run();
    assert_eq!(node.fake.done, ["update blue", "pause", "update blue"]);
    assert_eq!(node.object["status"]["migrationState"]["linksRefreshed"], true);
    assert_eq!(node.links(), [("blue", "up"), ("red", "down"), ("green", "up")]);
}

#[test]
fn a_link_that_cannot_be_refreshed_keeps_no_other_back_and_is_refreshed_later_by_itself() {
    let mut node = Node::with(&[("blue", "plugin:tapped", ""), ("red", "plugin:tapped", "")]);
    node.run();
    node.object["status"]["migrationState"] =
        json!({"migrationUid": "g-1", "sourceNode": "n0", "targetNode": "n1", "completed": true});
    node.fake.done.clear();
    node.fake.refuses.insert("blue".to_owned(), "not now");
    node.store();
    node.run();
    assert_eq!(node.fake.done, ["update blue", "update red", "pause", "update red"]);
    assert_eq!((node.links(), node.synced()), (vec![("blue", "up"), ("red", "up")], ("False", "blue: not now")));
    assert_eq!(node.object["status"]["migrationState"].get("linksRefreshed"), None);
    node.fake.refuses.clear();
    node.fake.done.clear();
    node.now = 1_000;
    node.run();
    assert_eq!(node.fake.done, ["update blue", "pause", "update blue"], "the other one is left alone");
    assert_eq!(node.object["status"]["migrationState"]["linksRefreshed"], true);
    assert_eq!((node.synced().0, node.drifts.len()), ("True", 0));
}

#[test]
fn an_instance_that_is_to_go_is_not_said_to_have_ended_while_its_guest_is_elsewhere() {
    let mut node = Node::with(&[("blue", "", "")]);
    node.run();
    leaving(&mut node);
    node.fake.domains.remove("default_a");
    node.object["metadata"]["deletionTimestamp"] = NOW.into();
    node.store();
    node.lane.moved(0, &node.key(), "g-1", Moved::Yes);
    node.run();
    let status = &node.object["status"];
    assert_eq!((&status["phase"], &status["migrationState"]["completed"]), (&json!("Running"), &json!(true)));
}

#[test]
fn entries_of_other_writers_stay() {
    let mut node = Node::with(&[("blue", "", "down")]);
    node.object["status"]["interfaces"] = json!([
        {"name": "blue", "infoSource": "guest-agent", "ipAddress": "192.0.2.1"},
        {"interfaceName": "docker0", "infoSource": "guest-agent"},
        {"name": "later", "infoSource": "multus-status"},
    ]);
    node.store();
    node.run();
    let all = node.object["status"]["interfaces"].clone();
    assert_eq!((&all[0]["infoSource"], &all[0]["ipAddress"]), (&json!("domain, guest-agent"), &json!("192.0.2.1")));
    assert_eq!(all[1], json!({"interfaceName": "docker0", "infoSource": "guest-agent"}));
    assert_eq!(all[2], json!({"name": "later", "infoSource": "multus-status"}));
}

#[test]
fn nics_that_are_not_ours_are_not_reported() {
    let mut node = Node::with(&[("blue", "sriov", ""), ("red", "plugin:other", "down")]);
    node.run();
    assert_eq!(node.links(), []);
}
