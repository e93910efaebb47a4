//! Links that are alike, stated once: `{"names": "bond0.{1-9,12}", "like": {…}}`.
//!
//! What is alike is the entry of each link with its own number taken out: a name, or an id, that ends
//! in the number of the link is written with `{}` in its place. Hardware addresses and the kernel's
//! numbers are left out, addresses stand beside. [`unfold`] is the way back, up to what was left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::numbers;

/// Fewer than so many are entries of their own.
const FEW: usize = 8;
/// More links than any host has; a report that claims more is not believed.
const MOST: usize = 1 << 16;
/// Stands for the number of a link.
const HOLE: &str = "{}";
/// Ids that may be the number of their link.
const IDS: &[(&str, &str)] = &[("vlan", "id"), ("vxlan", "id"), ("vrf", "route-table-id")];
/// Left out, because each link has its own.
const OWN: &[&str] = &["name", "ifIndex", "mac-address"];

/// Links in groups, and those that are in none.
pub(super) struct Folded {
    pub(super) groups: Vec<Value>,
    pub(super) single: Vec<Value>,
}

/// Folds the entries for which `may` holds.
pub(super) fn fold(entries: Vec<Value>, may: impl Fn(&Value) -> bool) -> Folded {
    let mut groups: BTreeMap<(String, String), Group> = BTreeMap::new();
    let mut single = Vec::new();
    for entry in entries {
        match Some(&entry).filter(|entry| may(entry)).and_then(member) {
            None => single.push(entry),
            Some((before, number, member)) => {
                let key = (before, member.like.to_string());
                let group = groups.entry(key).or_insert_with(|| Group { like: member.like, ..Group::default() });
                group.numbers.insert(number);
                group.addresses.extend(member.addresses.into_iter().map(|address| (number, address)));
                group.entries.push(entry);
            }
        }
    }
    let (large, small): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(_, group)| group.numbers.len() >= FEW);
    single.extend(small.into_iter().flat_map(|(_, group)| group.entries));
    Folded { groups: large.into_iter().map(|((before, _), group)| group.value(&before)).collect(), single }
}

/// Says of the groups only which links have addresses, and how many there are.
pub(super) fn count_addresses(groups: &mut [Value]) {
    for group in groups.iter_mut().filter_map(Value::as_object_mut) {
        let Some(addresses) = group.remove("addresses") else { continue };
        let lines: Vec<&str> = addresses.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let numbers = lines.iter().filter_map(|line| line.split_once(' ')?.0.parse().ok()).collect();
        group.insert("addressed".into(), numbers::text(&numbers).into());
        group.insert("address-count".into(), lines.len().into());
    }
}

/// The links of a report that only its summary tells of, as entries like those of `interfaces`.
///
/// A link of which only the number of addresses was kept has `addressed: true`. What cannot be
/// understood is left out: a report is not refused.
pub fn unfold(report: &Value) -> Vec<Value> {
    let groups = report.pointer("/summary/interfaces/folded").and_then(Value::as_array);
    let mut entries = Vec::new();
    for group in groups.into_iter().flatten() {
        let room = MOST - entries.len();
        entries.extend(members(group, room).unwrap_or_default());
    }
    entries
}

#[derive(Default)]
struct Group {
    like: Value,
    numbers: BTreeSet<u32>,
    addresses: Vec<(u32, String)>,
    entries: Vec<Value>,
}

impl Group {
    fn value(self, before: &str) -> Value {
        let mut value = json!({
            "names": format!("{before}{{{}}}", numbers::text(&self.numbers)),
            "count": self.numbers.len(),
            "like": self.like,
        });
        if !self.addresses.is_empty() {
            let line = |(number, address): &(u32, String)| Value::from(format!("{number} {address}"));
            value["addresses"] = self.addresses.iter().map(line).collect();
        }
        value
    }
}

/// An entry without what is its own.
struct Member {
    like: Value,
    addresses: Vec<String>,
}

/// An entry as a member of a group; none when it cannot be given back from one.
fn member(entry: &Value) -> Option<(String, u32, Member)> {
    let (before, number) = numbers::split(entry.get("name")?.as_str()?)?;
    let mut like = entry.as_object()?.clone();
    like.retain(|key, _| !OWN.contains(&key.as_str()));
    let mut addresses = Vec::new();
    for family in ["ipv4", "ipv6"] {
        let Some(ip) = like.get_mut(family).and_then(Value::as_object_mut) else { continue };
        for address in ip.remove("address").iter().filter_map(Value::as_array).flatten() {
            addresses.push(address_text(address)?);
        }
    }
    let mut like = Value::from(like);
    if before.contains(['{', '}']) || !pierce(&mut like, number) {
        return None;
    }
    for (block, key) in IDS {
        if let Some(id) = like.get_mut(*block).and_then(|block| block.get_mut(*key)).filter(|id| **id == number) {
            *id = HOLE.into();
        }
    }
    Some((before.to_owned(), number, Member { like, addresses }))
}

/// An address with nothing but its prefix.
fn address_text(address: &Value) -> Option<String> {
    let map = address.as_object().filter(|map| map.len() == 2)?;
    Some(format!("{}/{}", map.get("ip")?.as_str()?, map.get("prefix-length")?.as_u64()?))
}

/// Takes the number out of every text that ends in it; false when a text has a hole of its own.
fn pierce(value: &mut Value, number: u32) -> bool {
    match value {
        Value::String(text) if text.contains(['{', '}']) => false,
        Value::String(text) => {
            if let Some(before) = numbers::split(text).filter(|(_, n)| *n == number).map(|(before, _)| before.len()) {
                text.truncate(before);
                text.push_str(HOLE);
            }
            true
        }
        Value::Array(list) => list.iter_mut().all(|item| pierce(item, number)),
        Value::Object(map) => map.values_mut().all(|item| pierce(item, number)),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Puts the number back into texts.
fn fill(value: &mut Value, number: u32) {
    match value {
        Value::String(text) => *text = text.replace(HOLE, &number.to_string()),
        Value::Array(list) => list.iter_mut().for_each(|item| fill(item, number)),
        Value::Object(map) => map.values_mut().for_each(|item| fill(item, number)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The links of a group, when there are at most `room`.
fn members(group: &Value, room: usize) -> Option<Vec<Value>> {
    let (before, rest) = group.get("names")?.as_str()?.split_once('{')?;
    let all = numbers::parse(rest.strip_suffix('}')?, room)?;
    let like = group.get("like")?.as_object()?;
    let mut addresses = read_addresses(group);
    let counted = group.get("addressed").and_then(Value::as_str).and_then(|text| numbers::parse(text, MOST));
    let entry = |number: u32| {
        let mut entry = like.clone();
        for (block, key) in IDS {
            if let Some(id) = entry.get_mut(*block).and_then(|block| block.get_mut(*key)).filter(|id| **id == HOLE) {
                *id = number.into();
            }
        }
        entry.values_mut().for_each(|value| fill(value, number));
        entry.insert("name".into(), format!("{before}{number}").into());
        for (family, list) in addresses.remove(&number).into_iter().flatten() {
            let ip = entry.entry(family).or_insert_with(|| Map::new().into());
            if let Some(ip) = ip.as_object_mut() {
                ip.insert("address".into(), list.into());
            }
        }
        if counted.as_ref().is_some_and(|counted| counted.contains(&number)) {
            entry.insert("addressed".into(), true.into());
        }
        entry.into()
    };
    Some(all.into_iter().map(entry).collect())
}

type ByFamily = BTreeMap<&'static str, Vec<Value>>;

fn read_addresses(group: &Value) -> BTreeMap<u32, ByFamily> {
    let mut addresses: BTreeMap<u32, ByFamily> = BTreeMap::new();
    let lines = group.get("addresses").and_then(Value::as_array).into_iter().flatten();
    for (number, ip, len) in lines.filter_map(|line| address_line(line.as_str()?)) {
        let family = if ip.contains(':') { "ipv6" } else { "ipv4" };
        let list = addresses.entry(number).or_default().entry(family).or_default();
        list.push(json!({"ip": ip, "prefix-length": len}));
    }
    addresses
}

fn address_line(line: &str) -> Option<(u32, &str, u8)> {
    let (number, address) = line.split_once(' ')?;
    let (ip, len) = address.split_once('/')?;
    Some((number.parse().ok()?, ip, len.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vlan(number: u32, base: &str, address: &[&str]) -> Value {
        let address: Vec<Value> = address.iter().map(|ip| json!({"ip": ip, "prefix-length": 24})).collect();
        let mut ipv4 = json!({"enabled": !address.is_empty()});
        if !address.is_empty() {
            ipv4["address"] = address.into();
        }
        json!({"name": format!("{base}.{number}"), "type": "vlan", "state": "up", "controller": format!("br{number}"),
            "vlan": {"id": number, "base-iface": base}, "ipv4": ipv4})
    }

    fn by_name(mut entries: Vec<Value>) -> Vec<Value> {
        entries.sort_by_key(|entry| entry["name"].to_string());
        entries
    }

    /// What a reader of the report sees.
    fn read_back(folded: Folded) -> Vec<Value> {
        let Folded { groups, mut single } = folded;
        single.extend(unfold(&json!({"summary": {"interfaces": {"folded": groups}}})));
        by_name(single)
    }

    #[test]
    fn links_that_are_alike_are_one_group() {
        let mut entries: Vec<Value> = (1..=100).map(|number| vlan(number, "bond0", &[])).collect();
        entries[4]["state"] = "down".into();
        let folded = fold(entries.clone(), |_| true);
        assert_eq!(folded.groups.len(), 1);
        assert_eq!(folded.groups[0]["names"], "bond0.{1-4,6-100}");
        assert_eq!(folded.groups[0]["like"]["controller"], "br{}");
        assert_eq!(folded.single, [entries[4].clone()]);
        assert_eq!(read_back(folded), by_name(entries));
    }

    #[test]
    fn addresses_stand_beside_or_are_counted() {
        let entries: Vec<Value> = (1..=20).map(|n| vlan(n, "eth0", &[&format!("10.0.{n}.1"), "192.0.2.1"])).collect();
        let mut folded = fold(entries.clone(), |_| true);
        assert_eq!(folded.groups[0]["addresses"][1], "1 192.0.2.1/24");
        assert_eq!(read_back(Folded { groups: folded.groups.clone(), single: Vec::new() }), by_name(entries));
        count_addresses(&mut folded.groups);
        assert_eq!(folded.groups[0]["address-count"], 40);
        assert!(read_back(folded).iter().all(|entry| entry["addressed"] == true));
    }

    #[test]
    fn what_could_not_be_given_back_is_not_folded() {
        let odd = |number: u32| {
            let mut entry = vlan(number, "eth0", &[]);
            entry["description"] = format!("a {{}} of {number}").into();
            entry
        };
        let entries: Vec<Value> = (1..=20).map(odd).collect();
        let folded = fold(entries, |_| true);
        assert_eq!((folded.groups.len(), folded.single.len()), (0, 20));
    }

    #[test]
    fn a_report_that_claims_too_much_is_not_believed() {
        let group = |names: &str| json!({"summary": {"interfaces": {"folded": [{"names": names, "like": {"ipv4": 1}, "addresses": ["1 192.0.2.1/24"]}]}}});
        assert_eq!(unfold(&group("x{1-2}")).len(), 2);
        for names in ["x{0-4294967295}", "x{1-70000}", "x{", "x", "x{2-1}", "x{}"] {
            assert_eq!(unfold(&group(names)).len(), 0, "{names}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn folding_is_undone_by_unfolding(
            links in prop::collection::btree_map((0u32..40, 0usize..2), (any::<bool>(), any::<bool>(), 0u32..3), 0..60),
        ) {
            let entry = |((number, base), (addressed, same_id, controller)): (&(u32, usize), &(bool, bool, u32))| {
                let address = format!("10.0.{number}.1");
                let addresses = [address.as_str()];
                let mut entry = vlan(*number, ["eth0", "eth1"][*base], &addresses[..usize::from(*addressed)]);
                if !same_id {
                    entry["vlan"]["id"] = 7.into();
                }
                entry["controller"] = format!("br{controller}").into();
                entry
            };
            let entries: Vec<Value> = links.iter().map(entry).collect();
            prop_assert_eq!(read_back(fold(entries.clone(), |_| true)), by_name(entries));
        }
    }
}
