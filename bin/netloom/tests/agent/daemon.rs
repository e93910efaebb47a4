//! An agent that runs: object, enforcement, drift, restart.

use std::fs;

use crate::site::{Site, bridge};

#[test]
fn an_agent_makes_its_object_enforces_repairs_and_begins_again() {
    let Some(site) = Site::new("daemon") else { return };
    let agent = site.agent();
    site.until("the object is made with the current state", || {
        let links = site.state().map(|state| state["status"]["currentState"]["interfaces"].to_string());
        links.is_some_and(|links| links.contains("\"lo\""))
    });
    site.desire(&bridge(1400));
    site.until("the desired state is in place and reported", || site.is_available());
    assert_eq!(site.node.mtu("d0"), Some(1400));
    assert!(site.state().unwrap()["status"]["currentState"].to_string().contains("d0"));
    assert_eq!(site.node.ip("link set d0 mtu 1300").0, 0);
    site.until("drift is repaired", || site.node.mtu("d0") == Some(1400));
    assert_eq!(site.node.ip("link del d0").0, 0);
    site.until("a link that somebody deleted is there again", || site.node.mtu("d0") == Some(1400));
    let uid = site.state().unwrap()["metadata"]["uid"].clone();
    assert_eq!(site.server.run(&["delete", "nodenetworkstates", "node-a"]).0, 0);
    site.until("the object is recreated, with the current state only", || {
        site.state().is_some_and(|state| {
            state["metadata"]["uid"] != uid
                && state["spec"].get("desiredState").is_none()
                && state["status"]["currentState"].to_string().contains("d0")
        })
    });
    assert_eq!(site.node.mtu("d0"), Some(1400), "the kernel is left as it is");
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_node_that_starts_without_the_api_has_its_last_good_desired_state() {
    let Some(mut site) = Site::new("alone") else { return };
    let agent = site.agent();
    site.until("the object is made", || site.condition("Available").is_some());
    site.desire(&bridge(1400));
    site.until("the desired state is in place", || site.is_available());
    assert_eq!(agent.stop(), Some(0));
    site.server.process.kill().unwrap();
    site.server.process.wait().unwrap();
    assert_eq!(site.node.ip("link del d0").0, 0);
    let agent = site.agent();
    site.until("the last good desired state is applied without the API", || site.node.mtu("d0") == Some(1400));
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_desired_state_that_cannot_be_had_is_reported_on_the_object_and_touches_nothing() {
    let Some(site) = Site::new("refused") else { return };
    let agent = site.agent();
    site.until("the object is made", || site.condition("Available").is_some());
    site.desire("{interfaces: [{name: eth7, type: ethernet, mtu: 1400}]}");
    site.until("the reason is on the object", || {
        site.condition("Degraded").is_some_and(|(status, reason)| status == "True" && reason == "InvalidDesiredState")
    });
    drop(agent);
}

#[test]
fn what_drivers_keep_is_looked_at_and_is_no_drift() {
    let Some(site) = Site::new("drivers") else { return };
    assert_eq!(site.node.ip("link add w0 up type veth peer name w1").0, 0);
    let agent = site.agent();
    site.until("the object is made", || site.condition("Available").is_some());
    site.desire("{interfaces: [{name: w0, type: veth, ethtool: {feature: {rx-gro: true}}}]}");
    site.until("the desired state is in place", || site.is_available());
    let reported = site.state().unwrap()["status"]["currentState"].to_string();
    assert!(reported.contains("\"rx-gro\":true"), "{reported}");
    // Another change makes the agent look again; once that is reported, what it found is known.
    assert_eq!(site.node.ip("link add d1 type bridge").0, 0);
    site.until("the host was looked at again", || {
        site.state().unwrap()["status"]["currentState"].to_string().contains("\"d1\"")
    });
    assert!(site.is_available(), "{:?}", site.condition("Available"));
    assert_eq!(agent.stop(), Some(0));
    let log = fs::read_to_string(site.folder().join("agent.log")).unwrap();
    assert_eq!(log.matches("the desired state is in place").count(), 1, "{log}");
}
