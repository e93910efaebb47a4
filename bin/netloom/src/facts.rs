//! A host as a flat list of facts, so that two moments of it can be compared line by line. Pure.

use std::collections::BTreeMap;

use netloom_model::{Attr, Link, LinkFacts, LinkKind, Observed, Section};

/// Facts by their place. An empty value means that being there is all there is to say.
pub(crate) type Facts = BTreeMap<String, String>;

/// One fact that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Where.
    pub(crate) path: String,
    /// The value before; none when it came.
    pub(crate) before: Option<String>,
    /// The value now; none when it went.
    pub(crate) after: Option<String>,
}

/// The facts about the links that `chosen` takes, and about what does not belong to a link when
/// `rest` says so.
pub(crate) fn facts(observed: &Observed, chosen: impl Fn(&Link) -> bool, rest: bool) -> Facts {
    let mut facts = Facts::new();
    for link in observed.links.values().filter(|link| chosen(link)) {
        link_facts(link, observed.facts.get(&link.name), &mut facts);
    }
    let uses_chosen = |route: &netloom_model::Route| {
        route.next_hops.iter().filter_map(|hop| hop.link.and_then(|name| observed.links.get(&name))).any(&chosen)
    };
    for (key, route) in observed.routes.iter().filter(|(_, route)| rest || uses_chosen(route)) {
        facts.insert(format!("route {} table {} metric {}", key.destination, key.table, key.metric), route.to_string());
    }
    if rest {
        facts.extend(observed.rules.keys().map(|key| (format!("rule {key}"), String::new())));
        facts.insert("resolver".to_owned(), observed.settings.resolver().servers.join(" "));
        facts.insert("host name".to_owned(), observed.settings.hostname_running().to_owned());
    }
    facts
}

fn link_facts(link: &Link, more: Option<&LinkFacts>, facts: &mut Facts) {
    let name = link.name;
    let mut say = |what: String, value: String| facts.insert(format!("{name} {what}").trim_end().to_owned(), value);
    say(String::new(), link.kind.to_string());
    say("state".to_owned(), if link.up { "up" } else { "down" }.to_owned());
    if let Some(more) = more {
        say("carrier".to_owned(), if more.carrier { "yes" } else { "no" }.to_owned());
    }
    if let Some(controller) = link.controller {
        say("controller".to_owned(), controller.to_string());
    }
    if let Some(alias) = &link.alias {
        say("alias".to_owned(), format!("{:?}", alias.as_str()));
    }
    for (attr, value) in link.attrs.iter() {
        say(attr_path(attr, &link.kind), value.display(attr));
    }
    for alt_name in &link.alt_names {
        say(format!("further name {alt_name}"), String::new());
    }
    for address in &link.addresses {
        say(format!("address {address}"), String::new());
    }
    if !link.vlans.is_empty() {
        say("VLANs tagged".to_owned(), link.vlans.tagged.to_string());
        say("VLANs untagged".to_owned(), link.vlans.untagged.to_string());
    }
    for key in link.fdb.keys() {
        let vlan = key.vlan.map(|vlan| format!(" VLAN {vlan}")).unwrap_or_default();
        let dst = key.dst.map(|dst| format!(" to {dst}")).unwrap_or_default();
        say(format!("forwarding entry {}{vlan}{dst}", key.mac), String::new());
    }
    for neighbour in &link.neighbours {
        say(format!("neighbour {}", neighbour.ip), neighbour.mac.to_string());
    }
    for (key, mirror) in &link.mirrors {
        say(format!("mirror {:?} {}", key.direction, key.priority), format!("to {}", mirror.to));
    }
}

/// The place of a property in a document, such as `bridge.options.stp.priority`.
fn attr_path(attr: Attr, kind: &LinkKind) -> String {
    let key = attr.key();
    match attr.section() {
        Section::Common => key.to_owned(),
        Section::Kind => format!("{}.{key}", kind.block()),
        Section::BridgeOptions => format!("bridge.options.{key}"),
        Section::BridgeStp => format!("bridge.options.stp.{key}"),
        Section::BridgePort => format!("as bridge port {key}"),
        Section::BondOptions => format!("link-aggregation.options.{key}"),
        Section::BondPort => format!("as bond port {key}"),
        Section::Ipv4 => format!("ipv4.{key}"),
        Section::Ipv6 => format!("ipv6.{key}"),
        Section::SysctlIpv4 => format!("sysctl.ipv4.{key}"),
        Section::SysctlIpv6 => format!("sysctl.ipv6.{key}"),
        Section::Ethernet => format!("ethernet.{key}"),
        Section::Pause => format!("ethtool.pause.{key}"),
        Section::Ring => format!("ethtool.ring.{key}"),
    }
}

/// Where two moments differ, in the order of places.
pub(crate) fn differences(before: &Facts, after: &Facts) -> Vec<Difference> {
    let gone_or_changed = before.iter().filter(|(path, value)| after.get(*path) != Some(*value));
    let new = after.iter().filter(|(path, _)| !before.contains_key(*path));
    let mut all: Vec<Difference> = gone_or_changed
        .map(|(path, value)| (path, Some(value), after.get(path)))
        .chain(new.map(|(path, value)| (path, None, Some(value))))
        .map(|(path, before, after)| Difference { path: path.clone(), before: before.cloned(), after: after.cloned() })
        .collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, before, after } = self;
        match (before.as_deref(), after.as_deref()) {
            (None, Some("")) => write!(f, "+ {path}"),
            (None, Some(after)) => write!(f, "+ {path}: {after}"),
            (Some(""), None) => write!(f, "- {path}"),
            (Some(before), None) => write!(f, "- {path}: {before}"),
            (Some(before), Some(after)) => write!(f, "~ {path}: {before} -> {after}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Address, Host, Value};
    use netloom_types::{IfName, Protocol};

    use super::*;

    #[test]
    fn two_moments_differ_by_field() {
        let name: IfName = "eth0".parse().unwrap();
        let mut link = Link::new(name, LinkKind::Ethernet);
        link.attrs.set(Attr::Mtu, Value::Int(1500));
        let moment = |link: &Link| {
            let host = Host { links: [(link.name, link.clone())].into(), ..Host::default() };
            facts(&Observed { host, ..Observed::default() }, |_| true, true)
        };
        let before = moment(&link);
        assert_eq!(differences(&before, &before), []);
        link.up = true;
        link.attrs.set(Attr::Mtu, Value::Int(9000));
        link.addresses.push(Address::new("192.0.2.1".parse().unwrap(), 24, Protocol::NETLOOM));
        let lines: Vec<String> = differences(&before, &moment(&link)).iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["+ eth0 address 192.0.2.1/24", "~ eth0 mtu: 1500 -> 9000", "~ eth0 state: down -> up"]);
    }
}
