//! What an agent tells those who watch over it, and what it has to say when nothing changes.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::Value;

use crate::site::{Site, bridge};

/// What a path of an agent's own address answers: the status line and the rest.
fn asked(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: agent\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (status, rest) = text.split_once("\r\n").unwrap();
    (status.to_owned(), rest.to_owned())
}

#[test]
fn a_node_gets_work_and_its_agent_is_ready_only_after_the_network_is_in_place() {
    let Some(site) = Site::new("taint") else { return };
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {zone: z}}\n\
         spec: {taints: [{key: netloom.dev/starting, effect: NoSchedule}, {key: other, effect: NoSchedule}]}\n";
    let file = site.server.file("node.yaml", node);
    assert_eq!(site.server.run(&["apply", "-f", &file]).0, 0);
    site.desire("{interfaces: [{name: eth7, type: ethernet, mtu: 1400}]}");
    let agent = site.agent_with(&["--remove-taint", "netloom.dev/starting", "--status-listen", "127.0.0.1:0"]);
    let taints = || {
        let (status, text) = site.server.run(&["get", "nodes", "node-a", "-o", "json"]);
        assert_eq!(status, 0, "{text}");
        let node: Value = serde_json::from_str(&text).unwrap();
        let all = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        all.iter().map(|taint| taint["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let address = site.status_address();
    assert_eq!(asked(&address, "/healthz").0, "HTTP/1.1 200 OK");
    site.until("the desired state failed and that is reported", || {
        let ready = asked(&address, "/readyz");
        assert!(ready.0.contains("200") || ready.1.contains("yet"), "{ready:?}");
        ready.0.contains("200") && site.condition("Degraded").is_some_and(|(status, _)| status == "True")
    });
    assert_eq!(taints(), ["netloom.dev/starting", "other"], "not while the network is not in place");
    site.desire(&bridge(1400));
    site.until("the taint is taken off, and only that", || taints() == ["other"]);
    assert_eq!(site.node.mtu("d0"), Some(1400));
    let (_, metrics) = asked(&address, "/metrics");
    for line in ["netloom_agent_transactions_total{result=\"Confirmed\"} 1", "netloom_agent_objects_listed 1"] {
        assert!(metrics.contains(line), "{metrics}");
    }
    assert!(asked(&address, "/other").0.contains("404"));
    drop(agent);
}

#[test]
fn a_node_on_which_nothing_changes_writes_nothing() {
    let Some(site) = Site::new("idle") else { return };
    let agent = site.agent_with(&["--status-listen", "127.0.0.1:0"]);
    site.until("the object is made", || site.condition("Available").is_some());
    site.desire(&bridge(1400));
    site.until("the desired state is in place", || site.is_available());
    let address = site.status_address();
    let count = |what: &str| -> u64 {
        let text = asked(&address, "/metrics").1;
        let lines = text.lines().filter(|line| line.starts_with(what));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    };
    let (looked, written) = (|| count("netloom_agent_observations_total"), || count("netloom_agent_requests_total"));
    site.until("everything is reported", || asked(&address, "/readyz").0.contains("200") && site.is_available());
    let version = || site.state().unwrap()["metadata"]["resourceVersion"].clone();
    let before = (written(), version());
    for group in 1..=4 {
        // The kernel tells of it, and no report does.
        let seen = looked();
        assert_eq!(site.node.ip(&format!("link set d0 group {group}")).0, 0);
        site.until("the agent looked again", || looked() > seen);
    }
    assert_eq!((written(), version()), before, "it looked and had nothing to say");
    drop(agent);
}
