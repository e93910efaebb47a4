//! Where a host differs from what it shall be, property by property.

use std::{collections::BTreeSet, fmt::Debug};

use netloom_model::{Address, Attr, Host, Link, Value};
use netloom_types::IfName;

use crate::{
    Difference, aspects,
    goal::{Goal, GoalLink},
};

/// The differences between a goal and a host.
pub(crate) fn between(goal: &Goal, host: &Host) -> Vec<Difference> {
    let Goal { links, routes, rules, resolver, hostname_running, hostname_config } = goal;
    let mut found = Vec::new();
    for (name, goal) in links {
        link(*name, goal.as_ref(), host.links.get(name), &mut found);
    }
    for (key, goal) in routes {
        let path = || format!("route {} table {} metric {}", key.destination, key.table, key.metric);
        compare(path, goal.route.as_ref(), host.routes.get(key), &mut found);
    }
    for (key, goal) in rules {
        compare(|| format!("rule {key}"), goal.protocol.as_ref(), host.rules.get(key), &mut found);
    }
    let mut file = |path: &str, wanted: Option<String>, got: String| {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != got) {
            found.push(Difference { path: path.to_owned(), wanted, got });
        }
    };
    file("dns-resolver", resolver.as_ref().map(|r| format!("{r:?}")), format!("{:?}", host.resolver));
    file("hostname.running", hostname_running.clone(), host.hostname_running.clone());
    file("hostname.config", hostname_config.clone(), host.hostname_config.clone());
    found
}

fn compare<T: PartialEq + Debug>(
    path: impl Fn() -> String,
    wanted: Option<&T>,
    got: Option<&T>,
    found: &mut Vec<Difference>,
) {
    let show = |value: Option<&T>| value.map_or_else(|| "absent".to_owned(), |value| format!("{value:?}"));
    if wanted != got {
        found.push(Difference { path: path(), wanted: show(wanted), got: show(got) });
    }
}

fn link(name: IfName, goal: Option<&GoalLink>, now: Option<&Link>, found: &mut Vec<Difference>) {
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
    lists(goal, now, &mut differ);
}

fn shown(link: &Link, attr: Attr) -> String {
    link.attrs.get(attr).unwrap_or(Value::Unset).display(attr)
}

fn lists(goal: &GoalLink, now: &Link, differ: &mut impl FnMut(&str, String, String)) {
    let wanted = &goal.link;
    if wanted.alias != now.alias {
        differ("alias", format!("{:?}", wanted.alias), format!("{:?}", now.alias));
    }
    if wanted.alt_names != now.alt_names {
        differ("alt-names", format!("{:?}", wanted.alt_names), format!("{:?}", now.alt_names));
    }
    if !aspects::addresses(wanted, now).is_empty() {
        let list = |link: &Link| link.addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(", ");
        differ("address", list(wanted), list(now));
    }
    if goal.vlans && wanted.vlans != now.vlans {
        let list = |link: &Link| {
            format!("tagged {} untagged {} pvid {:?}", link.vlans.tagged, link.vlans.untagged, link.vlans.pvid)
        };
        differ("vlan", list(wanted), list(now));
    }
    if goal.fdb && wanted.fdb != now.fdb {
        let list = |link: &Link| link.fdb.keys().map(|key| key.mac.to_string()).collect::<BTreeSet<_>>();
        differ("fdb", format!("{:?}", list(wanted)), format!("{:?}", list(now)));
    }
    if wanted.neighbours != now.neighbours {
        differ("neighbors", format!("{:?}", wanted.neighbours), format!("{:?}", now.neighbours));
    }
    if wanted.mirrors != now.mirrors {
        differ("mirrors", format!("{:?}", wanted.mirrors), format!("{:?}", now.mirrors));
    }
    for (feature, on) in &wanted.features {
        if now.features.get(feature) != Some(on) {
            differ(&format!("ethtool.feature.{feature}"), on.to_string(), format!("{:?}", now.features.get(feature)));
        }
    }
}
