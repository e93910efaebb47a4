//! The inputs: documents for netloom and the peer, batches for `ip`.

use std::{fmt::Write as _, net::Ipv4Addr};

use crate::space::BASE;

/// The address of the n-th link, each in a network of its own.
fn address(n: usize) -> String {
    format!("172.{}.{}.1", 16 + n / 250, n % 250)
}

fn interface(text: &mut String, n: usize, name: &str, kind: &str) {
    let ip = address(n);
    let _ = write!(
        text,
        "- name: {name}\n  type: {kind}\n  state: up\n  ipv4:\n    enabled: true\n    address:\n    - ip: {ip}\n      prefix-length: 24\n"
    );
}

/// VLANs with an address each.
pub fn vlans(count: usize) -> String {
    let mut text = String::from("interfaces:\n");
    for n in 1..=count {
        interface(&mut text, n, &format!("v{n}"), "vlan");
        let _ = write!(text, "  vlan:\n    base-iface: {BASE}\n    id: {n}\n");
    }
    text
}

/// The same for `ip -batch`.
pub fn vlans_batch(count: usize) -> String {
    (1..=count).fold(String::new(), |mut text, n| {
        let ip = address(n);
        let _ = write!(
            text,
            "link add link {BASE} name v{n} type vlan id {n}\nlink set v{n} up\naddr add {ip}/24 dev v{n}\n"
        );
        text
    })
}

/// Dummies with an address each. Not VLANs of one base: with those the kernel itself takes a time that
/// grows with the square of their number.
pub fn dummies(count: usize) -> String {
    let mut text = String::from("interfaces:\n");
    for n in 1..=count {
        interface(&mut text, n, &format!("d{n}"), "dummy");
    }
    text
}

/// The same for `ip -batch`.
pub fn dummies_batch(count: usize) -> String {
    (1..=count).fold(String::new(), |mut text, n| {
        let ip = address(n);
        let _ = write!(text, "link add name d{n} type dummy\nlink set d{n} up\naddr add {ip}/24 dev d{n}\n");
        text
    })
}

/// Bridges with an address each.
pub fn bridges(count: usize) -> String {
    let mut text = String::from("interfaces:\n");
    for n in 1..=count {
        interface(&mut text, n, &format!("b{n}"), "linux-bridge");
    }
    text
}

/// The same for `ip -batch`.
pub fn bridges_batch(count: usize) -> String {
    (1..=count).fold(String::new(), |mut text, n| {
        let ip = address(n);
        let _ = write!(text, "link add name b{n} type bridge\nlink set b{n} up\naddr add {ip}/24 dev b{n}\n");
        text
    })
}

/// The n-th destination.
pub fn destination_address(n: usize) -> Ipv4Addr {
    let part = |value: usize| u8::try_from(value).expect("as many routes as there are addresses");
    Ipv4Addr::new(100, part(64 + n / 62_500), part(n / 250 % 250), part(n % 250))
}

fn destination(n: usize) -> String {
    format!("{}/32", destination_address(n))
}

/// Routes over one router.
pub fn routes(count: usize) -> String {
    (0..count).fold(String::from("routes:\n  config:\n"), |mut text, n| {
        let to = destination(n);
        let _ = write!(text, "  - destination: {to}\n    next-hop-address: 10.0.0.2\n    next-hop-interface: {BASE}\n");
        text
    })
}

/// The same for `ip -batch`.
pub fn routes_batch(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "route add {} via 10.0.0.2 dev {BASE}", destination(n));
        text
    })
}

/// A bridge that filters VLANs, with ports; each in all VLANs, or in its first one.
pub fn bridge_vlans(ports: usize, all: bool) -> String {
    let mut text = String::from("interfaces:\n");
    for n in 1..=ports {
        let _ = write!(text, "- name: p{n}\n  type: dummy\n  state: up\n");
    }
    text += "- name: br0\n  type: linux-bridge\n  state: up\n  bridge:\n    options:\n      vlan-filtering: true\n    port:\n";
    for n in 1..=ports {
        let _ = writeln!(text, "    - name: p{n}");
        if all {
            text += "      vlan:\n        mode: trunk\n        trunk-tags:\n        - id-range:\n            min: 1\n            max: 4094\n";
        }
    }
    text
}
