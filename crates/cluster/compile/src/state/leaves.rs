//! An entry of a document as its single values: each under its path, lists whole.
//!
//! Lists inside of an interface replace each other, so a list is one value. A path is the keys with
//! slashes between them: keys of the format have no slash, but one of them, `802.1x`, has a dot.

use serde_json::{Map, Value};

/// A value and the keys that lead to it.
pub(crate) type Leaf = (String, Value);

/// All single values of an entry, in the order of their paths.
pub(crate) fn of(entry: &Map<String, Value>) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    walk("", entry, &mut leaves);
    leaves
}

fn walk(prefix: &str, map: &Map<String, Value>, leaves: &mut Vec<Leaf>) {
    for (key, value) in map {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}{SEPARATOR}{key}") };
        match value {
            Value::Object(inner) if !inner.is_empty() => walk(&path, inner, leaves),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                leaves.push((path, value.clone()));
            }
        }
    }
}

/// Between the keys of a path.
pub(crate) const SEPARATOR: char = '/';

/// A path as people write it.
pub(crate) fn spoken(path: &str) -> String {
    path.replace(SEPARATOR, ".")
}

/// Puts a value at a path. A block that was empty before makes room.
pub(crate) fn put(entry: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once(SEPARATOR) else {
        entry.insert(path.to_owned(), value);
        return;
    };
    let inner = entry.entry(first).or_insert_with(|| Value::Object(Map::new()));
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

/// Takes the value at a path away, and blocks that are empty then.
pub(crate) fn take(entry: &mut Map<String, Value>, path: &str) {
    let Some((first, rest)) = path.split_once(SEPARATOR) else {
        entry.remove(path);
        return;
    };
    let Some(Value::Object(inner)) = entry.get_mut(first) else { return };
    take(inner, rest);
    if inner.is_empty() {
        entry.remove(first);
    }
}

/// Lays `upper` over `lower`: where both say something, `upper` counts.
pub(crate) fn over(lower: &mut Map<String, Value>, upper: &Map<String, Value>) {
    for (path, value) in of(upper) {
        put(lower, &path, value);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn lists_are_whole_and_blocks_are_not() {
        let entry = map(&json!({"mtu": 1, "ipv4": {"address": [{"ip": "192.0.2.1"}], "enabled": true}, "vlan": {}}));
        let paths: Vec<String> = of(&entry).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["ipv4/address", "ipv4/enabled", "mtu", "vlan"]);
    }

    #[test]
    fn what_is_taken_leaves_no_empty_block() {
        let mut entry = map(&json!({"name": "x", "a": {"b": {"c": 1}}, "d": 2}));
        take(&mut entry, "a/b/c");
        take(&mut entry, "not/there");
        assert_eq!(Value::Object(entry), json!({"name": "x", "d": 2}));
    }

    #[test]
    fn the_upper_one_counts() {
        let mut lower = map(&json!({"mtu": 1, "ipv4": {"enabled": true, "dhcp": true}}));
        over(&mut lower, &map(&json!({"mtu": 2, "ipv4": {"dhcp": false}, "state": "up"})));
        assert_eq!(Value::Object(lower), json!({"mtu": 2, "ipv4": {"enabled": true, "dhcp": false}, "state": "up"}));
    }

    fn entries() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), any::<u8>().prop_map(Value::from)];
        let tree = leaf.prop_recursive(3, 12, 3, |inner| {
            prop::collection::btree_map("[a-c]", inner, 1..3).prop_map(|map| Value::Object(map.into_iter().collect()))
        });
        prop::collection::btree_map("[a-c]", tree, 0..4).prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn leaves_build_the_entry_again_and_take_it_away(entry in entries()) {
            let entry = map(&entry);
            let mut built = Map::new();
            for (path, value) in of(&entry) {
                put(&mut built, &path, value);
            }
            prop_assert_eq!(&built, &entry);
            for (path, _) in of(&entry) {
                take(&mut built, &path);
            }
            prop_assert!(built.is_empty());
        }
    }
}
