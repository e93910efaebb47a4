//! A node whose way to the API is cut, by its own desired state or by somebody else.

use std::{
    fs,
    net::{Shutdown, TcpListener, TcpStream},
    process::Command,
    thread,
};

use serde_json::Value;

use crate::{
    embedded::ended,
    site::{Agent, Site, bridge},
};

/// A node that reaches the API over a cable of its own: `br0` with the port `w0`, whose other end is outside.
struct Wired {
    site: Site,
    /// The cable's end outside of the node.
    outside: String,
    /// The first three numbers of the cable's addresses: it ends in 1 outside and in 2 on the node.
    net: String,
    kubeconfig: String,
}

impl Wired {
    fn new(name: &str, number: u8) -> Option<Self> {
        let site = Site::new(name)?;
        let id = std::process::id();
        let (outside, net) = (format!("nl{number}-{id}"), format!("198.18.{}", (id % 120) * 2 + u32::from(number)));
        let out = |words: &str| {
            let (status, text) = ended(Command::new("ip").args(words.split(' ')));
            assert_eq!(status, 0, "ip {words}: {text}");
        };
        out(&format!("link add {outside} type veth peer name w0 netns {}", site.node.0));
        out(&format!("address add {net}.1/24 dev {outside}"));
        out(&format!("link set {outside} up"));
        let address = format!("address add {net}.2/24 dev br0");
        for words in
            ["link add br0 type bridge", "link set w0 master br0", "link set w0 up", &address, "link set br0 up"]
        {
            let (status, text) = site.node.ip(words);
            assert_eq!(status, 0, "ip {words}: {text}");
        }
        let config = fs::read_to_string(&site.identity).unwrap();
        let start = config.find("127.0.0.1:").unwrap();
        let inner = config[start..].split(['"', '\n', ' ']).next().unwrap().to_owned();
        let port = inner.rsplit(':').next().unwrap();
        pass_on(TcpListener::bind(format!("{net}.1:{port}")).unwrap(), inner.clone());
        // The certificate does not know the address.
        let line = config.lines().find(|line| line.contains(&inner)).unwrap();
        let indent = line.len() - line.trim_start_matches([' ', '-']).len();
        let renamed = format!(
            "{}\n{}tls-server-name: localhost",
            line.replace("127.0.0.1", &format!("{net}.1")),
            " ".repeat(indent)
        );
        let kubeconfig = site.server.file("wired.conf", &config.replace(line, &renamed));
        Some(Self { site, outside, net, kubeconfig })
    }

    fn agent(&self) -> Agent {
        Agent::start_inside(&self.kubeconfig, &self.site.node, &self.site.folder())
    }

    /// Pulls the cable, or puts it in again.
    fn cable(&self, state: &str) {
        let (status, text) = ended(Command::new("ip").args(["link", "set", &self.outside, state]));
        assert_eq!(status, 0, "{text}");
    }

    /// How often the log of the agent says this.
    fn printed(&self, words: &str) -> usize {
        fs::read_to_string(self.site.folder().join("agent.log")).unwrap_or_default().matches(words).count()
    }

    /// How many events of a reason there are.
    fn events(&self, reason: &str) -> usize {
        let (status, text) = self.site.server.run(&["get", "events.events.k8s.io", "-o", "json"]);
        assert_eq!(status, 0, "{text}");
        let all: Value = serde_json::from_str(&text).unwrap();
        let all = all["items"].as_array().cloned().unwrap_or_default();
        all.iter().filter(|event| event["reason"] == reason && event["reportingInstance"] == "node-a").count()
    }
}

/// Passes everything that comes in on to another address, until the test ends.
fn pass_on(listener: TcpListener, to: String) {
    thread::spawn(move || {
        for inside in listener.incoming().flatten() {
            let Ok(outside) = TcpStream::connect(&to) else { continue };
            for (mut from, mut into) in [
                (inside.try_clone().unwrap(), outside.try_clone().unwrap()),
                (outside.try_clone().unwrap(), inside.try_clone().unwrap()),
            ] {
                thread::spawn(move || {
                    std::io::copy(&mut from, &mut into).ok();
                    into.shutdown(Shutdown::Both).ok();
                });
            }
        }
    });
}

#[test]
fn a_change_that_cuts_the_node_off_is_taken_back_and_reported() {
    let Some(wired) = Wired::new("cut", 1) else { return };
    let site = &wired.site;
    let agent = wired.agent();
    site.until("the object is made", || site.condition("Available").is_some());
    // Known before: nothing is touched.
    site.desire("{interfaces: [{name: br0, type: linux-bridge, ipv4: {enabled: false}}]}");
    site.until("a desired state without a way to the API is refused", || {
        site.condition("Degraded").is_some_and(|(status, reason)| status == "True" && reason == "InvalidDesiredState")
    });
    assert_eq!((wired.events("SyncFailed"), wired.events("RolledBack")), (1, 0));
    // Known only afterwards: the station of that hardware address is not there.
    site.desire(&format!(
        "{{interfaces: [{{name: br0, type: linux-bridge, ipv4: {{enabled: false}}}}, {{name: br1, type: linux-bridge, \
         state: up, ipv4: {{enabled: true, address: [{{ip: {net}.2, prefix-length: 24}}], \
         neighbors: [{{ip: {net}.1, link-layer-address: \"02:00:00:00:00:99\"}}]}}, bridge: {{port: [{{name: w0}}]}}}}]}}",
        net = wired.net
    ));
    site.until("it is taken back, and reported once the API is reached again", || {
        site.condition("Degraded").is_some_and(|(status, reason)| status == "True" && reason == "ProbeFailed")
    });
    assert_eq!(wired.events("RolledBack"), 1);
    site.desire(&bridge(1400));
    site.until("another desired state is reached", || site.is_available());
    let (_, text) = site.node.ip("link show w0");
    assert!(text.contains("master br0"), "{text}");
    assert_eq!((site.node.mtu("d0"), site.node.mtu("br1")), (Some(1400), None));
    drop(agent);
}

#[test]
fn a_cable_that_is_pulled_during_a_change_leaves_all_of_it_or_nothing_and_the_truth() {
    let Some(wired) = Wired::new("pulled", 2) else { return };
    let site = &wired.site;
    let agent = wired.agent();
    site.until("the object is made", || site.condition("Available").is_some());
    let journal = site.folder().join("state/netns").join(&site.node.0).join("journal");
    site.desire(&bridge(1400));
    let ended = || wired.printed("the desired state is") + wired.printed("failed to apply the desired state") > 0;
    site.until("the change has begun", || journal.exists() || ended());
    wired.cable("down");
    site.until("the change has ended, whatever the API", || ended() && !journal.exists());
    let undone = wired.printed("failed to apply the desired state");
    let there = site.node.mtu("d0");
    assert!(there.is_none_or(|mtu| mtu == 1400), "neither half: {there:?}");
    assert!(there.is_some() || undone > 0, "what is not there was taken back");
    wired.cable("up");
    site.until("it is reported in the end", || site.is_available() && site.node.mtu("d0") == Some(1400));
    site.until("and so is what was taken back", || {
        wired.events("RolledBack") == wired.printed("failed to apply the desired state").min(1)
    });
    drop(agent);
}
