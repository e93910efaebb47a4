//! Two desired states of one host: what both want is wanted, and where they contradict each other the one with
//! precedence keeps all of its entry, the other loses all of its own. Never half of each.

use netloom_compile::contradiction;
use netloom_nmstate::Interface;
use serde_json::Value;

use crate::document::{Entries, Entry};

/// An entry that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost(pub(crate) String);

/// Lays `second` beside `first`, which has precedence and consists of entries only.
pub(crate) fn combine(mut first: Entries, second: Entries) -> (Entries, Vec<Lost>) {
    let mut lost = Vec::new();
    // One document may speak of a link twice, and of a route once for each of its hops.
    let (links, routes) = (first.interfaces.len(), first.routes.len());
    for entry in second.interfaces {
        match first.interfaces[..links].iter_mut().find(|known| known.value.name == entry.value.name) {
            Some(known) => join(known, entry, &mut lost),
            None => first.interfaces.push(entry),
        }
    }
    for entry in second.routes {
        let there = &first.routes[..routes];
        match there.iter().find(|known| known.value.is_same_way(&entry.value)) {
            Some(_) if there.iter().any(|known| known.value == entry.value) => {}
            Some(known) => {
                let (wanted, other) = (known.value.to_value(), entry.value.to_value());
                let subject = other["destination"].as_str().unwrap_or("entry").to_owned();
                lost.push(reported(&subject, (known, &wanted), (&entry, &other)));
            }
            None => first.routes.push(entry),
        }
    }
    for entry in second.rules {
        if !first.rules.iter().any(|known| known.value == entry.value) {
            first.rules.push(entry);
        }
    }
    first.rest = second.rest;
    (first, lost)
}

fn join(known: &mut Entry<Interface>, entry: Entry<Interface>, lost: &mut Vec<Lost>) {
    let (before, other) = (known.value.to_value(), entry.value.to_value());
    if let Some(path) = contradiction(&before, &other) {
        let at = |value: &Value| value.pointer(&path.replace('.', "/")).cloned().unwrap_or_default();
        let subject = format!("{}{path}", entry.value.name);
        lost.push(reported(&subject, (&*known, &at(&before)), (&entry, &at(&other))));
        return;
    }
    let had = known.value.clone();
    known.value.lay_over(entry.value);
    // Who asks for a link that two objects share must not depend on which came first. Who asks for no more than is asked
    // for already has a part in it all the same.
    known.origin = if known.value == had {
        known.origin.clone().beside([entry.origin.alone()]).beside(entry.origin.partakers().cloned())
    } else {
        known.origin.and(&entry.origin)
    };
    for (path, origin) in entry.parts {
        let pointer = format!("/{}", path.split('[').next().unwrap_or(&path).replace('.', "/"));
        if before.pointer(&pointer).is_none() {
            known.parts.insert(path, origin);
        }
    }
}

fn reported<T>(subject: &str, (known, wanted): (&Entry<T>, &Value), (entry, other): (&Entry<T>, &Value)) -> Lost {
    let (winner, loser) = (&known.origin, &entry.origin);
    Lost(format!(
        "{subject}: {winner} wants {wanted} and has precedence, {loser} wants {other}: the entry of the latter is left out"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries(source: &str, document: &Value) -> Entries {
        Entries::of(netloom_nmstate::parse(source, document.to_string().as_bytes()).unwrap())
    }

    fn both(first: &Value, second: &Value) -> (Value, Vec<String>) {
        let (combined, lost) = combine(entries("A x", first), entries("B y", second));
        let document = serde_json::from_str(&combined.document().0.to_json()).unwrap();
        (document, lost.into_iter().map(|lost| lost.0).collect())
    }

    #[test]
    fn what_does_not_contradict_is_joined() {
        let first = json!({"interfaces": [{"name": "a", "mtu": 9000, "ipv4": {"enabled": true}}]});
        let second = json!({
            "interfaces": [{"name": "b"}, {"name": "a", "mtu": 9000, "state": "up", "ipv4": {"dhcp": false}}],
            "routes": {"config": [{"destination": "::/0"}]},
        });
        let wanted = json!({
            "interfaces": [
                {"name": "a", "mtu": 9000, "state": "up", "ipv4": {"enabled": true, "dhcp": false}}, {"name": "b"},
            ],
            "routes": {"config": [{"destination": "::/0"}]},
        });
        assert_eq!(both(&first, &second), (wanted, vec![]));
    }

    #[test]
    fn what_two_ask_for_together_has_both_for_its_origin() {
        let origin = |second: &Value| {
            let first = json!({"interfaces": [{"name": "a", "mtu": 9000}]});
            let (combined, _) = combine(entries("A x", &first), entries("B y", second));
            combined.interfaces[0].origin.to_string()
        };
        let more = json!({"interfaces": [{"name": "b"}, {"name": "a", "state": "up"}]});
        let (one, other) = ("A x (spec.desiredState.interfaces[0])", "B y (spec.desiredState.interfaces[1])");
        assert_eq!(origin(&more), format!("{one} and {other}"));
        let same = json!({"interfaces": [{"name": "a"}]});
        let other = "B y (spec.desiredState.interfaces[0])";
        assert_eq!(origin(&same), format!("{one} with {other}"), "who adds nothing is named, and asks for nothing");
    }

    #[test]
    fn a_contradiction_costs_the_whole_entry_of_who_has_no_precedence() {
        let first = json!({"interfaces": [{"name": "a", "ipv4": {"enabled": true, "dhcp": true}}]});
        let second = json!({"interfaces": [{"name": "a", "mtu": 1400, "ipv4": {"dhcp": false}}, {"name": "b"}]});
        let (document, lost) = both(&first, &second);
        assert_eq!(document["interfaces"], json!([first["interfaces"][0], {"name": "b"}]));
        assert_eq!(
            lost,
            ["a.ipv4.dhcp: A x (spec.desiredState.interfaces[0]) wants true and has precedence, \
              B y (spec.desiredState.interfaces[0]) wants false: the entry of the latter is left out"]
        );
        let routes = |via: &str| json!({"routes": {"config": [{"destination": "::/0", "next-hop-address": via}]}});
        assert_eq!(both(&routes("fe80::1"), &routes("fe80::1")), (routes("fe80::1"), vec![]));
        let (document, lost) = both(&routes("fe80::1"), &routes("fe80::2"));
        assert_eq!((document, lost.len()), (routes("fe80::1"), 1));
    }
}
