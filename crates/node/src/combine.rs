//! Two documents for one host: what both want is wanted, and where they contradict each other the one with
//! precedence keeps all of its entry, the other loses all of its own. Never half of each.

use serde_json::{Map, Value};

use crate::document::{Entries, Entry};

/// An entry that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost(pub(crate) String);

/// Lays `second` beside `first`, which has precedence.
pub(crate) fn combine(mut first: Entries, second: Entries) -> (Entries, Vec<Lost>) {
    let mut lost = Vec::new();
    // One document may speak of a link twice, and of a route once for each of its hops.
    let (links, routes) = (first.interfaces.len(), first.routes.len());
    for entry in second.interfaces {
        let same = |known: &&mut Entry| known.value.get("name") == entry.value.get("name");
        match first.interfaces[..links].iter_mut().find(same) {
            Some(known) => join(known, &entry, &mut lost),
            None => first.interfaces.push(entry),
        }
    }
    for entry in second.routes {
        let same = |known: &&Entry| route_key(&known.value) == route_key(&entry.value);
        let there = &first.routes[..routes];
        match there.iter().find(same) {
            Some(_) if there.iter().any(|known| known.value == entry.value) => {}
            Some(known) => lost.push(told(known, &entry, "")),
            None => first.routes.push(entry),
        }
    }
    for entry in second.rules {
        if !first.rules.iter().any(|known| known.value == entry.value) {
            first.rules.push(entry);
        }
    }
    for (key, value) in second.rest {
        match first.rest.get_mut(&key) {
            Some(known) => match contradiction(known, &value) {
                Some(path) => lost.push(Lost(format!("{key}{path} is wanted otherwise by an object with precedence"))),
                None => lay_over(known, &value),
            },
            None => {
                first.rest.insert(key, value);
            }
        }
    }
    (first, lost)
}

fn join(known: &mut Entry, entry: &Entry, lost: &mut Vec<Lost>) {
    if let Some(path) = contradiction(&known.value, &entry.value) {
        lost.push(told(known, entry, &path));
        return;
    }
    let before = known.value.clone();
    lay_over(&mut known.value, &entry.value);
    // Who asks for a link that two objects share must not depend on which came first. Who asks for no more than is asked
    // for already has a part in it all the same.
    known.origin = if known.value == before {
        known.origin.clone().beside([entry.origin.alone()]).beside(entry.origin.partakers().cloned())
    } else {
        known.origin.and(&entry.origin)
    };
    for (path, origin) in &entry.parts {
        let pointer = format!("/{}", path.split('[').next().unwrap_or(path).replace('.', "/"));
        if before.pointer(&pointer).is_none() {
            known.parts.insert(path.clone(), origin.clone());
        }
    }
}

fn told(known: &Entry, entry: &Entry, path: &str) -> Lost {
    let subject = ["name", "destination"].iter().find_map(|key| entry.value.get(key)?.as_str()).unwrap_or("entry");
    let at = |entry: &Entry| {
        let pointer = path.replace('.', "/");
        entry.value.pointer(&pointer).map(Value::to_string).unwrap_or_default()
    };
    let (winner, loser) = (&known.origin, &entry.origin);
    Lost(format!(
        "{subject}{path}: {winner} wants {} and has precedence, {loser} wants {}: the entry of the latter is left out",
        at(known),
        at(entry)
    ))
}

/// What the kernel tells routes apart by.
fn route_key(route: &Value) -> [Option<&Value>; 4] {
    ["destination", "table-id", "metric", "state"].map(|key| route.get(key))
}

/// The path of the first value that is not the same in both, such as `.ipv4.address`.
fn contradiction(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => one.iter().find_map(|(key, value)| {
            let path = contradiction(value, other.get(key)?)?;
            Some(format!(".{key}{path}"))
        }),
        (one, other) => (one != other).then(String::new),
    }
}

fn lay_over(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else { return };
    lay_fields(into, from);
}

fn lay_fields(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match into.get_mut(key) {
            Some(known) => lay_over(known, value),
            None => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn both(first: &Value, second: &Value) -> (Value, Vec<String>) {
        let (combined, lost) = combine(Entries::of(&"A x".into(), first), Entries::of(&"B y".into(), second));
        (combined.document().0, lost.into_iter().map(|lost| lost.0).collect())
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
            let (combined, _) = combine(Entries::of(&"A x".into(), &first), Entries::of(&"B y".into(), second));
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
