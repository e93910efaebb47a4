//! A change of somebody else that was killed in its middle: the agent takes it back, asks what was reached before it once
//! more, and says what it found.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use crate::{
    embedded::{NETLOOM, ended},
    site::{Site, bridge},
};

const PROBE: &str = "ping:192.0.2.9";

/// Takes away the address that the probe reaches, which is then tried again for some seconds, and dies meanwhile.
fn leave_behind(site: &Site) {
    let desired = "interfaces: [{name: lo, ipv4: {enabled: true, address: [{ip: 127.0.0.1, prefix-length: 8}]}}]\n";
    let file = site.server.file("cut.yaml", desired);
    let mut set = Command::new(NETLOOM)
        .args(["state", "set", &file, "--netns", &site.node.0, "--probe", PROBE, "--allow-cut", "--state-dir"])
        .arg(site.folder().join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(set.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(printed.any(|line| line.contains("probe ping:192.0.2.9 fails: ")), "it ended before it could be killed");
    set.kill().unwrap();
    set.wait().unwrap();
    assert!(!addresses(site).contains("192.0.2.9"));
}

fn addresses(site: &Site) -> String {
    site.node.ip("-o address show dev lo").1
}

/// Nothing that an undo could put back.
fn answer_pings(site: &Site, answer: bool) {
    let set = format!("echo {} >/proc/sys/net/ipv4/icmp_echo_ignore_all", u8::from(!answer));
    let (status, text) = ended(Command::new("ip").args(["netns", "exec", &site.node.0, "sh", "-c", &set]));
    assert_eq!(status, 0, "{text}");
}

fn is_reported(site: &Site, words: &str) -> bool {
    let (status, text) = site.server.run(&["get", "events.events.k8s.io", "-o", "json"]);
    assert_eq!(status, 0, "{text}");
    text.contains(words)
}

#[test]
fn an_agent_says_of_a_change_that_was_left_behind_whether_its_undo_helped() {
    let Some(site) = Site::new("behind") else { return };
    for words in ["link set lo up", "address add 192.0.2.9/32 dev lo"] {
        assert_eq!(site.node.ip(words).0, 0);
    }
    leave_behind(&site);
    answer_pings(&site, false);
    let agent = site.agent();
    site.until("the change is taken back, and did not help", || {
        is_reported(&site, "but probe ping:192.0.2.9 passed before the change and fails after the undo")
    });
    assert!(addresses(&site).contains("192.0.2.9"));

    // Once more while the agent runs: its next change finds it.
    answer_pings(&site, true);
    leave_behind(&site);
    site.desire(&bridge(1400));
    site.until("the desired state is in place and reported", || site.is_available());
    site.until("the other change is taken back, which helped", || {
        is_reported(&site, "as it was, and that was verified")
    });
    assert!(addresses(&site).contains("192.0.2.9"));
    assert_eq!(agent.stop(), Some(0));
}
