//! Where a host differs from what it shall be, property by property.

use netloom_model::{
    Address, Attr, FdbEntry, FdbKey, KernelFeatures, Link, LinkKind, Observed, Route, RouteMetrics, Value,
};
use netloom_types::{IfName, Lifetime, Protocol};

use crate::{
    Difference, aspects,
    goal::{Goal, GoalLink},
};

/// The differences between a goal and a host.
pub(crate) fn between(goal: &Goal, observed: &Observed) -> Vec<Difference> {
    let (host, kernel) = (&observed.host, observed.kernel);
    let Goal { links, routes, rules, settings, routing } = goal;
    let mut found = Vec::new();
    for (name, goal) in links {
        link(kernel, *name, goal.as_ref(), host.links.get(name), &mut found);
    }
    for (name, ip) in &observed.unheard {
        if links.get(name).and_then(Option::as_ref).is_some_and(|goal| goal.link.addresses.iter().any(|a| a.ip == *ip))
        {
            let path = format!("{name}.address {ip}");
            found.push(Difference { path, wanted: "known to zebra".to_owned(), got: "not known to it".to_owned() });
        }
    }
    for (key, goal) in routes {
        // Texts are made for those that differ, not for 50 000 that do not.
        if goal.route.as_ref() == host.routes.get(key) {
            continue;
        }
        let path = || format!("route {} table {} metric {}", key.destination, key.table, key.metric);
        compare(path, goal.route.as_ref().map(route_text), host.routes.get(key).map(route_text), &mut found);
    }
    for (key, goal) in rules {
        let by = |protocol: &Protocol| format!("made by protocol {protocol}");
        compare(|| format!("rule {key}"), goal.protocol.as_ref().map(by), host.rules.get(key).map(by), &mut found);
    }
    for (key, wanted) in settings {
        if let Some(got) = host.settings.get(*key).filter(|got| **got != *wanted) {
            found.push(Difference { path: key.path().to_owned(), wanted: wanted.value(), got: got.value() });
        }
    }
    for (line, goal) in routing {
        // Daemons that do not answer are told of as such, not by each of their lines.
        let Some(there) = host.routing.as_ref().map(|lines| lines.contains(line)) else { continue };
        if there != goal.there {
            let show = |there| if there { "present" } else { "absent" }.to_owned();
            let path = format!("routing \"{line}\"");
            found.push(Difference { path, wanted: show(goal.there), got: show(there) });
        }
    }
    found
}

fn compare(path: impl Fn() -> String, wanted: Option<String>, got: Option<String>, found: &mut Vec<Difference>) {
    if wanted != got {
        let show = |value: Option<String>| value.unwrap_or_else(|| "absent".to_owned());
        found.push(Difference { path: path(), wanted: show(wanted), got: show(got) });
    }
}

/// Everything of a route that can differ under one key.
fn route_text(route: &Route) -> String {
    let RouteMetrics { mtu, lock_mtu, advmss, cwnd, initcwnd, initrwnd, quickack } = route.metrics;
    let numbers = [("mtu", mtu), ("advmss", advmss), ("cwnd", cwnd), ("initcwnd", initcwnd), ("initrwnd", initrwnd)];
    let given = numbers.into_iter().filter(|(_, value)| *value != 0).map(|(word, value)| format!("{word} {value}"));
    let flags = [("lock-mtu", lock_mtu), ("quickack", quickack)].into_iter().filter(|(_, on)| *on);
    let words = [format!("{route} protocol {}", route.protocol)].into_iter();
    let source = route.source.map(|source| format!("source {source}"));
    words.chain(source).chain(given).chain(flags.map(|(word, _)| word.to_owned())).collect::<Vec<_>>().join(" ")
}

fn link(
    kernel: KernelFeatures,
    name: IfName,
    goal: Option<&GoalLink>,
    now: Option<&Link>,
    found: &mut Vec<Difference>,
) {
    let mut differ = |what: &str, wanted: String, got: String| {
        let path = if what.is_empty() { name.to_string() } else { format!("{name}.{what}") };
        found.push(Difference { path, wanted, got });
    };
    let (goal, now) = match (goal, now) {
        (None, None) => return,
        (None, Some(_)) => return differ("", "absent".to_owned(), "present".to_owned()),
        (Some(_), None) => return differ("", "present".to_owned(), "absent".to_owned()),
        (Some(goal), Some(now)) => (goal, now),
    };
    let wanted = &goal.link;
    if wanted.kind != now.kind {
        differ("type", wanted.kind.to_string(), now.kind.to_string());
    }
    if wanted.up != now.up {
        let word = |up: bool| if up { "up" } else { "down" }.to_owned();
        differ("state", word(wanted.up), word(now.up));
    }
    if wanted.controller != now.controller {
        let word = |name: Option<IfName>| name.map_or_else(|| "none".to_owned(), |name| name.to_string());
        differ("controller", word(wanted.controller), word(now.controller));
    }
    for (attr, value) in aspects::unmet(wanted, now).iter() {
        differ(attr.key(), value.display(attr), shown(now, attr));
    }
    lists(kernel, goal, now, &mut differ);
}

fn joined<T: ToString>(items: impl Iterator<Item = T>) -> String {
    let list: Vec<String> = items.map(|item| item.to_string()).collect();
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

fn shown(link: &Link, attr: Attr) -> String {
    link.attrs.get(attr).unwrap_or(Value::Unset).display(attr)
}

/// An address, and when it ends where that matters. No number is reported: it would be another one each time.
fn end_in_words(address: &Address, wanted: &Link) -> String {
    let Some(leased) = wanted.addresses.iter().find(|leased| leased.exact && leased.key() == address.key()) else {
        return address.to_string();
    };
    match address.valid {
        _ if address.exact || address.fulfils(leased) => format!("{address} until its lease ends"),
        Lifetime::Forever => format!("{address} for ever"),
        Lifetime::Seconds(_) => format!("{address} until another time"),
    }
}

fn lists(kernel: KernelFeatures, goal: &GoalLink, now: &Link, differ: &mut impl FnMut(&str, String, String)) {
    let wanted = &goal.link;
    if wanted.alias != now.alias {
        let text = |link: &Link| {
            link.alias.as_ref().map_or_else(|| "none".to_owned(), |alias| format!("{:?}", alias.as_str()))
        };
        differ("alias", text(wanted), text(now));
    }
    if wanted.alt_names != now.alt_names {
        let list = |link: &Link| joined(link.alt_names.iter());
        differ("alt-names", list(wanted), list(now));
    }
    if !aspects::addresses(kernel, wanted, now).is_empty() {
        let list = |texts: Vec<String>| texts.join(", ");
        let asked = wanted.addresses.iter().map(|address| end_in_words(address, wanted)).collect();
        differ("address", list(asked), list(now.addresses.iter().map(|a| end_in_words(a, wanted)).collect()));
    }
    if goal.vlans && wanted.vlans != now.vlans {
        let list = |link: &Link| {
            let pvid = link.vlans.pvid.map_or_else(|| "none".to_owned(), |pvid| pvid.to_string());
            format!("tagged {} untagged {} pvid {pvid}", link.vlans.tagged, link.vlans.untagged)
        };
        differ("vlan", list(wanted), list(now));
    }
    if goal.fdb && !own_entries(wanted).eq(own_entries(now)) {
        let list = |link: &Link| joined(own_entries(link).map(|(key, _)| key.mac));
        differ("fdb", list(wanted), list(now));
    }
    if wanted.neighbours != now.neighbours {
        let list = |link: &Link| joined(link.neighbours.iter().map(|n| format!("{} at {}", n.ip, n.mac)));
        differ("neighbors", list(wanted), list(now));
    }
    if wanted.mirrors != now.mirrors {
        let list = |link: &Link| joined(link.mirrors.iter().map(|(key, m)| format!("{} to {}", key.priority, m.to)));
        differ("mirrors", list(wanted), list(now));
    }
    for (feature, on) in &wanted.features {
        if now.features.get(feature) != Some(on) {
            differ(
                &format!("ethtool.feature.{feature}"),
                on.to_string(),
                now.features.get(feature).map_or_else(|| "unknown".to_owned(), ToString::to_string),
            );
        }
    }
}

/// Forwarding entries, but of a tunnel not those that something outside the kernel keeps: a routing daemon adds and removes
/// them as it hears of other nodes, also while the host is changed.
fn own_entries(link: &Link) -> impl Iterator<Item = (&FdbKey, &FdbEntry)> {
    let is_tunnel = link.kind == LinkKind::Vxlan;
    link.fdb.iter().filter(move |(_, entry)| !(is_tunnel && entry.external))
}
