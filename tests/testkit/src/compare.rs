//! Two pictures of a host, compared field by field.
//!
//! The comparison runs over the serialised form, so a field that is added to the model later is
//! compared without a line here. What two kernels may choose differently is made equal first, and
//! only that: hardware addresses that nobody asked for, seconds that have passed since, and times that a kernel rounds to
//! its own ticks.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{Attr, Host, LinkKind, Observed, Resolver, Route, Setting, SettingKey, Value};
use netloom_types::{Family, Lifetime, MacAddr};
use serde_json::Value as Json;

/// Life times are compared in steps of this many seconds.
const COARSE: u32 = 60;

/// Where two hosts differ, one line for each field.
pub fn differences(left: &Host, right: &Host) -> Vec<String> {
    match (serde_json::to_value(left), serde_json::to_value(right)) {
        (Ok(left), Ok(right)) => json_differences("host", &left, &right),
        (Err(error), _) | (_, Err(error)) => vec![format!("a host cannot be written down: {error}")],
    }
}

/// Where two documents differ, one line for each field.
pub(crate) fn json_differences(what: &str, left: &Json, right: &Json) -> Vec<String> {
    let mut found = Vec::new();
    walk(what, left, right, &mut found);
    found
}

/// The hardware addresses that stand in a text.
pub fn asked_for<'a>(texts: impl Iterator<Item = &'a [u8]>) -> BTreeSet<MacAddr> {
    const LENGTH: usize = 17;
    let mut found = BTreeSet::new();
    for text in texts {
        for window in text.windows(LENGTH) {
            if let Some(mac) = std::str::from_utf8(window).ok().and_then(|word| word.parse().ok()) {
                found.insert(mac);
            }
        }
    }
    found
}

/// The host with everything that a kernel chooses by itself put into one form.
///
/// Hardware addresses that were not asked for are numbered in the order of the links' names, so that
/// links which share one still do. A bridge takes the lowest of its ports' addresses, which depends
/// on what they happen to be: it always gets the same number.
#[must_use]
pub fn canonical(host: &Host, asked: &BTreeSet<MacAddr>) -> Host {
    let mut host = host.clone();
    let mut numbers: BTreeMap<MacAddr, u8> = BTreeMap::new();
    for link in host.links.values_mut() {
        let rounded = |attr: Attr, value: &Value| attr.same(attr.default_value().as_ref(), Some(value));
        let usual: Vec<Attr> = link.attrs.iter().filter(|(a, value)| rounded(*a, value)).map(|(a, _)| a).collect();
        for attr in usual {
            link.attrs.remove(attr);
        }
        if let Some(mac) = link.attrs.mac(Attr::Mac).filter(|mac| !asked.contains(mac) && !mac.is_zero()) {
            let next = u8::try_from(numbers.len() + 1).unwrap_or(u8::MAX);
            let number = if link.kind == LinkKind::Bridge { 0 } else { *numbers.entry(mac).or_insert(next) };
            link.attrs.set(Attr::Mac, Value::Mac(MacAddr::new([0x06, 0, 0, 0, 0, number])));
        }
        for address in &mut link.addresses {
            address.valid = coarse(address.valid);
            address.preferred = coarse(address.preferred);
        }
    }
    host
}

/// The host as the simulated one of a scenario knows it: that has no file whose letters could be kept, and no module that
/// shows frames of bridges to iptables, of which no document speaks.
#[must_use]
pub fn as_simulated(mut host: Host) -> Host {
    let resolver = Resolver { file: None, ..host.settings.resolver().clone() };
    host.settings.set(Setting::Resolver(resolver));
    host.settings.remove(SettingKey::BridgeIptables);
    host.settings.remove(SettingKey::Ipv6Forwarding);
    host
}

/// The host with its addresses in an order that nobody chose: an undo that took an address away puts
/// it behind those that stayed. Within one IPv4 subnet the order says which address is the primary
/// one, so there it stays as it is.
#[must_use]
pub fn unordered(host: &Host) -> Host {
    let mut host = host.clone();
    for link in host.links.values_mut() {
        link.addresses.sort_by_key(|address| match Family::of(address.ip) {
            Family::Ipv4 => (address.prefix(), None),
            Family::Ipv6 => (address.prefix(), Some(address.ip)),
        });
    }
    host
}

/// The routes that leases, router advertisements and routing daemons made, with their ends in coarse steps.
pub fn dynamic_routes(observed: &Observed) -> Vec<Route> {
    let mut routes: Vec<Route> =
        observed.derived_routes.iter().filter(|route| route.is_dynamic() && route.is_missed()).cloned().collect();
    for route in &mut routes {
        route.extra.expires = route.extra.expires.map(|left| left.saturating_add(COARSE / 2) / COARSE * COARSE);
    }
    routes.sort();
    routes
}

/// Fails when a route of a lease, a router or a daemon is not there any more, or ends at another time.
pub fn given_back(before: &Observed, after: &Observed) -> Result<(), String> {
    let after = dynamic_routes(after);
    let same = |was: &Route, is: &Route| is.stands_for(was) && is.next_hops == was.next_hops && is.extra == was.extra;
    match dynamic_routes(before).iter().find(|was| !after.iter().any(|is| same(was, is))) {
        None => Ok(()),
        Some(gone) => Err(format!("the route {gone:?} is not given back; there are {after:?}")),
    }
}

fn coarse(time: Lifetime) -> Lifetime {
    match time {
        Lifetime::Forever => Lifetime::Forever,
        Lifetime::Seconds(seconds) => Lifetime::Seconds(seconds.saturating_add(COARSE / 2) / COARSE * COARSE),
    }
}

fn walk(path: &str, left: &Json, right: &Json, found: &mut Vec<String>) {
    match (left, right) {
        (Json::Object(left), Json::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let path = format!("{path}.{key}");
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => walk(&path, left, right, found),
                    (left, right) => found.push(format!("{path}: {} | {}", show(left), show(right))),
                }
            }
        }
        // A list of pairs is a map with structured keys, or the properties of a link.
        (Json::Array(left), Json::Array(right)) if pairs(left) && pairs(right) => {
            let (left, right) = (keyed(left), keyed(right));
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let path = format!("{path}[{key}]");
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => walk(&path, left, right, found),
                    (left, right) => found.push(format!("{path}: {} | {}", show(left.copied()), show(right.copied()))),
                }
            }
        }
        (Json::Array(left), Json::Array(right)) if left.len() == right.len() => {
            for (number, (left, right)) in left.iter().zip(right).enumerate() {
                walk(&format!("{path}[{number}]"), left, right, found);
            }
        }
        _ if left == right => {}
        _ => found.push(format!("{path}: {left} | {right}")),
    }
}

fn pairs(list: &[Json]) -> bool {
    list.iter().all(|item| matches!(item, Json::Array(pair) if pair.len() == 2))
}

fn keyed(list: &[Json]) -> BTreeMap<String, &Json> {
    let key = |item: &Json| item[0].as_str().map_or_else(|| item[0].to_string(), str::to_owned);
    list.iter().map(|item| (key(item), &item[1])).collect()
}

fn show(value: Option<&Json>) -> String {
    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use netloom_model::Link;

    use super::*;

    fn host(name: &str, mac: [u8; 6]) -> Host {
        let mut link = Link::new(name.parse().unwrap(), LinkKind::Dummy);
        link.attrs.set(Attr::Mac, Value::Mac(MacAddr::new(mac)));
        Host { links: [(link.name, link)].into(), ..Host::default() }
    }

    #[test]
    fn a_difference_names_the_field_and_both_values() {
        let (left, mut right) = (host("d0", [2, 0, 0, 0, 0, 1]), host("d0", [2, 0, 0, 0, 0, 2]));
        let asked = BTreeSet::new();
        assert!(differences(&canonical(&left, &asked), &canonical(&right, &asked)).is_empty());
        right.links.values_mut().for_each(|link| link.up = true);
        let found = differences(&left, &right);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("host.links.d0.attrs[Mac]"), "{found:?}");
        assert_eq!(found[1], "host.links.d0.up: false | true");
    }

    #[test]
    fn an_address_that_was_asked_for_is_compared() {
        let asked = asked_for(std::iter::once(&b"mac-address: 02:00:00:00:00:D0 and so on"[..]));
        let left = host("d0", [2, 0, 0, 0, 0, 0xd0]);
        assert_eq!(canonical(&left, &asked), left);
        assert_ne!(canonical(&host("d0", [2, 0, 0, 0, 0, 1]), &asked), left);
    }
}
