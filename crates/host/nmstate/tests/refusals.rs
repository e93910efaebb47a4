//! Every document that is refused, with the place and the reason that are given.
//!
//! The cases are in `refusals/`: a first line with the document that the host has before, then one
//! line for each case: the path, the reason and the document.

mod bench;

use std::net::IpAddr;

use bench::{apply, host, refusals};
use netloom_model::{Address, Link, LinkKind, Neighbour};
use netloom_nmstate::errors::reason;
use netloom_types::{IfName, Lifetime, MacAddr, Protocol};

/// Checks that each document is refused at its path for its reason, with a line.
fn refused(cases: &str) {
    let (setup, cases) = cases.split_once('\n').expect("a first line");
    let mut sim = host();
    apply(&mut sim, setup.trim_start_matches("before:"));
    let mut observed = sim.into_observed();
    let tun: IfName = "tun0".parse().expect("a name");
    observed.host.links.insert(tun, kept(tun));
    let mut wrong = Vec::new();
    for case in cases.lines() {
        let mut parts = case.splitn(3, " | ");
        let (Some(path), Some(reason), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            panic!("three parts: {case}");
        };
        let found = refusals(&observed, text);
        let path = if path == "-" { "" } else { path };
        if !found.iter().any(|(p, line, r)| p == path && *r == reason && *line > 0) {
            wrong.push(format!("{text}\n  wanted {path} {reason}\n  got    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A link of a kind that is shown and kept, with something of everything on it.
fn kept(name: IfName) -> Link {
    let ip = |last: u8| IpAddr::from([10, 5, 0, last]);
    let mut link = Link { up: true, ..Link::new(name, LinkKind::Other("tun".into())) };
    let first = Address::new(ip(1), 24, Protocol::UNSPEC);
    let aging = Address { valid: Lifetime::Seconds(300), preferred: Lifetime::Seconds(300), ..first };
    link.addresses = vec![first, Address { ip: ip(2), ..aging }];
    link.neighbours.insert(Neighbour { ip: ip(9), mac: MacAddr::new([2, 0, 0, 0, 5, 9]) });
    link
}

#[test]
fn what_is_kept_may_be_given_as_it_is() {
    let mut observed = host().into_observed();
    let tun: IfName = "tun0".parse().expect("a name");
    observed.host.links.insert(tun, kept(tun));
    for text in [
        "interfaces: [{name: tun0, state: up, ipv4: {enabled: true}, ipv6: {enabled: true}}]",
        "interfaces: [{name: tun0, ipv4: {address: [{ip: 10.5.0.1, prefix-length: 24}, {ip: 10.5.0.2, prefix-length: 24, valid-life-time: 400sec}]}}]",
        "interfaces: [{name: tun0, ipv4: {address: [{ip: 10.5.0.1, prefix-length: 24}], allow-extra-address: true}}]",
        "interfaces: [{name: tun0, ipv4: {neighbors: [{ip: 10.5.0.9, linkLayerAddress: '02:00:00:00:05:09'}]}}]",
        &netloom_nmstate::Document::show(&observed, &[]).to_yaml(),
    ] {
        assert_eq!(refusals(&observed, text), [], "{text}");
    }
}

#[test]
fn keys_and_types() {
    refused(include_str!("refusals/keys_and_types.txt"));
}

#[test]
fn links_that_are_not_there() {
    refused(include_str!("refusals/links_that_are_not_there.txt"));
}

#[test]
fn what_is_kept_is_not_changed() {
    refused(include_str!("refusals/what_is_kept_is_not_changed.txt"));
}

#[test]
fn new_links_need_what_makes_them() {
    refused(include_str!("refusals/new_links_need_what_makes_them.txt"));
}

#[test]
fn rules_of_single_kinds() {
    refused(include_str!("refusals/rules_of_single_kinds.txt"));
}

#[test]
fn bonds() {
    refused(include_str!("refusals/bonds.txt"));
}

#[test]
fn ports_and_controllers() {
    refused(include_str!("refusals/ports_and_controllers.txt"));
}

#[test]
fn children_of_absent_parents() {
    refused(include_str!("refusals/children_of_absent_parents.txt"));
}

#[test]
fn bridge_port_vlans() {
    refused(include_str!("refusals/bridge_port_vlans.txt"));
}

#[test]
fn addresses() {
    refused(include_str!("refusals/addresses.txt"));
}

#[test]
fn routes() {
    refused(include_str!("refusals/routes.txt"));
}

#[test]
fn rules_dns_and_hostname() {
    refused(include_str!("refusals/rules_dns_and_hostname.txt"));
}

#[test]
fn a_refusal_reads_like_a_sentence_with_a_place() {
    let text = b"interfaces:\n- name: a\n  type: vlan\n  vlan:\n    base-ifce: eth0\n    id: 5000\n";
    let error = netloom_nmstate::parse("site.yaml", text).unwrap_err();
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "site.yaml:5: interfaces[0].vlan.base-ifce: link a: unknown key; did you mean base-iface?",
            "site.yaml:6: interfaces[0].vlan.id: link a: 5000: must be between 1 and 4094",
        ]
    );
    assert_eq!(error.reason(), reason::UNKNOWN_KEY);
}

/// The message of a document that is refused for one thing.
fn sentence(text: &str) -> String {
    netloom_nmstate::parse("a.yaml", text.as_bytes()).expect_err("it is refused").to_string()
}

#[test]
fn an_unknown_type_is_judged_before_what_stands_beside_it() {
    let bridge = "interfaces:\n- name: br0\n  type: TYPE\n  bridge:\n    port: []\n";
    for (text, word, meant) in [
        (bridge, "linux-brige", "linux-bridge"),
        (bridge, "bridge", "linux-bridge"),
        (bridge, "switch", "linux-bridge"),
        ("interfaces:\n- name: d0\n  type: TYPE\n", "dumy", "dummy"),
        ("interfaces:\n- name: d0\n  type: TYPE\n", "bnod", "bond"),
    ] {
        let given = sentence(&text.replace("TYPE", word));
        let link = if text == bridge { "br0" } else { "d0" };
        assert_eq!(
            given,
            format!("a.yaml:3: interfaces[0].type: link {link}: unknown type {word}; did you mean {meant}?")
        );
    }
    // Kinds of the kernel that are shown and kept are no slips of the pen.
    for word in ["vcan", "vxcan", "tun", "wireguard"] {
        let text = format!("interfaces: [{{name: a, type: {word}}}]");
        assert!(netloom_nmstate::parse("a.yaml", text.as_bytes()).is_ok(), "{word}");
    }
}

#[test]
fn a_key_that_nothing_is_near_to_leads_to_the_documentation() {
    let given = sentence("interfaces:\n- name: a\n  zzzzz: 1\n");
    assert_eq!(given, "a.yaml:3: interfaces[0].zzzzz: link a: unknown key; docs/node-state.md has all keys");
    let given = sentence("interfaces: [{name: a, ipv4: {address: [{ip: 192.0.2.1, prefix-lenght: 24}]}}]");
    assert!(given.contains("prefix-lenght: link a: unknown key; did you mean prefix-length?"), "{given}");
}

#[test]
fn an_object_of_a_cluster_is_known_as_one() {
    let object = "apiVersion: nmstate.io/v1\nkind: NodeNetworkState\nmetadata: {name: a}\nspec: {}\n";
    for text in [object.to_owned(), format!("{object}---\n{object}")] {
        let given = sentence(&text);
        assert!(given.contains("Kubernetes object") && given.contains("netloom validate -f"), "{given}");
        assert_eq!(given.lines().count(), 1, "{given}");
    }
}
