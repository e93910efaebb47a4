//! Policies that go by what neighbours announce: real frames on a real wire.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use netloom_testkit::announcement::announcement;

use crate::site::Site;

#[test]
fn a_policy_that_goes_by_neighbours_takes_effect_once_one_is_heard() {
    let Some(site) = Site::new("lldp") else { return };
    assert_eq!(site.node.ip("link add w0 up type veth peer name w1").0, 0);
    assert_eq!(site.node.ip("link set w1 up").0, 0);
    let objects = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n---\n\
         apiVersion: nmstate.io/v1\nkind: NodeNetConfPolicy\nmetadata: {name: p, namespace: default}\n\
         spec: {matchRules: [{name: w0, lldp: {vlanIDList: [10]}}], \
         desiredState: {interfaces: [{name: w0, mtu: 1400}]}}\n";
    let file = site.server.file("policy.yaml", objects);
    assert_eq!(site.server.run(&["apply", "-f", &file]).0, 0);
    let agent = site.agent_with(&["--mode", "distributed"]);
    let wire = || {
        let all = site.state()?["status"]["currentState"]["interfaces"].as_array()?.clone();
        all.into_iter().find(|link| link["name"] == "w0")
    };
    site.until("the link is listened on", || wire().is_some_and(|link| link["lldp"]["enabled"] == true));
    assert_eq!(wire().unwrap()["lldp"].get("neighbors"), None, "nobody could be heard yet");
    assert_eq!(site.node.mtu("w0"), Some(1500));
    site.until("another VLAN is heard", || {
        site.node.send("w1", &announcement(b"leaf1", &[20]));
        wire().is_some_and(|link| link["lldp"]["neighbors"].to_string().contains("leaf1"))
    });
    assert_eq!(site.node.mtu("w0"), Some(1500));
    site.until("the policy takes effect", || {
        site.node.send("w1", &announcement(b"leaf1", &[10, 20]));
        site.node.mtu("w0") == Some(1400)
    });
    site.until("that is reported", || wire().is_some_and(|link| link["mtu"] == 1400) && site.is_available());
    assert_eq!(agent.stop(), Some(0));
    let agent = site.agent_with(&["--mode", "distributed"]);
    assert_eq!(site.node.ip("link add d1 type bridge").0, 0);
    site.until("the next life reports", || site.state().unwrap()["status"].to_string().contains("\"d1\""));
    assert_eq!(site.node.mtu("w0"), Some(1400), "nothing is taken back because nobody was heard yet");
    assert!(wire().unwrap()["lldp"]["neighbors"].to_string().contains("leaf1"));
    drop(agent);
}

#[test]
fn a_client_that_is_to_listen_reports_who_it_hears() {
    let Some(site) = Site::new("listens") else { return };
    assert_eq!(site.node.ip("link add w0 up type veth peer name w1").0, 0);
    assert_eq!(site.node.ip("link set w1 up").0, 0);
    site.desire("{interfaces: [{name: w0, type: veth, lldp: {enabled: true}}]}");
    let state = site.folder().join("state").display().to_string();
    let done = AtomicBool::new(false);
    let (status, text) = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                site.node.send("w1", &announcement(b"leaf1", &[10]));
            }
        });
        let words = ["client", "state", "--host", "node-a", "--netns", &site.node.0, "--state-dir", &state];
        let ended = site.server.run(&words);
        done.store(true, Ordering::Relaxed);
        ended
    });
    assert_eq!(status, 0, "{text}");
    let reported = site.state().unwrap()["status"]["currentState"].to_string();
    assert!(reported.contains("leaf1"), "{reported}");
}
