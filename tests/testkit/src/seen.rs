//! The host as `ip` and `bridge` show it: a second opinion that does not depend on our model.
//!
//! What the model does not know, such as the label of an address, the group of a link or the type of
//! service of a route, is in here. What changes by itself, and what follows from the rest a moment
//! later, is taken out first; the table below is the whole of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Map, Value as Json};

use crate::compare;

/// Fields that may differ although nobody changed anything, and why each may.
const VOLATILE: &[(&str, &str)] = &[
    ("ifindex", "a link that was recreated has another number"),
    ("link_index", "the number of another link"),
    ("link_netnsid", "numbered as it comes"),
    ("operstate", "reported later"),
    ("state", "a port's state is reported later"),
    ("mii_status", "reported later"),
    ("active_slave", "a bond chooses among ports that are alike, by when they came"),
    ("promiscuity", "counts users; goes along with a bond's active port"),
    ("allmulti", "counts users; goes along with a bond's active port"),
    ("tentative", "an address is looked for on the wire first"),
    ("hello_timer", "runs"),
    ("tcn_timer", "runs"),
    ("topology_change_timer", "runs"),
    ("topology_change", "passes"),
    ("topology_change_detected", "passes"),
    ("gc_timer", "runs"),
    ("hold_timer", "runs"),
    ("message_age_timer", "runs"),
    ("forward_delay_timer", "runs"),
    ("ad_info", "negotiated"),
    ("ad_aggregator_id", "negotiated"),
    ("ad_actor_oper_port_state", "negotiated"),
    ("ad_actor_oper_port_state_str", "negotiated"),
    ("ad_partner_oper_port_state", "negotiated"),
    ("ad_partner_oper_port_state_str", "negotiated"),
    ("link_failure_count", "counts"),
    ("id", "bridge ports are numbered in the order in which they came"),
    ("no", "bridge ports are numbered in the order in which they came"),
    ("designated_port", "bridge ports are numbered in the order in which they came"),
    ("qdisc", "the kernel takes its own choice when a link first comes up, and keeps it"),
];

/// Known gaps: the ends of lines that an undo may leave behind, and why.
///
/// A link that was deleted is recreated from what the model knows of it.
const KNOWN_GAPS: &[(&str, &str, &str)] = &[
    (".group", "\"default\"", "the model does not know the group of a link, so one recreated has none"),
    (
        ".ad_lacp_rate",
        "\"fast\"",
        "a bond keeps options of a mode that it is no longer in, where they mean nothing and cannot be set",
    ),
];

/// Flags of links that are reported later.
const REPORTED_LATER: &[&str] = &["LOWER_UP", "NO-CARRIER", "M-DOWN"];

/// A time that never ends, as `ip` writes it.
const FOREVER: u64 = u32::MAX as u64;

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen(Json);

impl Seen {
    /// Looks at a namespace.
    pub fn of(namespace: &str) -> Result<Self, String> {
        // Routes of all tables are those of both families; rules are those of one.
        let any =
            ask(&["ip", "-n", namespace, "-d", "-j", "-b", "-"], "address show\nroute show table all\nrule show\n")?;
        let v6 = ask(&["ip", "-n", namespace, "-6", "-d", "-j", "-b", "-"], "rule show\n")?;
        let bridge = ask(&["bridge", "-n", namespace, "-j", "-b", "-"], "vlan show\nfdb show\n")?;
        let ([links, routes, rules], [rules6], [vlans, fdb]) =
            (lists("ip", any)?, lists("ip -6", v6)?, lists("bridge", bridge)?);
        let mut all = Map::new();
        let own: BTreeSet<String> = links.iter().map(|link| link["address"].to_string()).collect();
        all.insert("links".to_owned(), named(links.into_iter().map(link)));
        all.insert("routes".to_owned(), set(routes.into_iter().filter(|route| !follows(route))));
        all.insert("rules".to_owned(), set(rules));
        all.insert("rules6".to_owned(), set(rules6));
        all.insert("vlans".to_owned(), named(vlans.into_iter()));
        all.insert("fdb".to_owned(), set(fdb.into_iter().filter(|entry| stays(entry, &own))));
        Ok(Self(Json::Object(all)))
    }

    /// Where a later look differs, one line for each field.
    pub fn differences(&self, later: &Self) -> Vec<String> {
        let mut found = compare::json_differences("seen", &self.0, &later.0);
        found.retain(|line| !is_known_gap(line));
        found
    }
}

fn is_known_gap(line: &str) -> bool {
    let Some((path, values)) = line.split_once(": ") else { return false };
    KNOWN_GAPS.iter().any(|(field, left, _)| path.ends_with(field) && values.ends_with(&format!("| {left}")))
}

/// Puts things onto a host that the model does not know, so that losing one of them shows: a group and
/// a queue's length on each of these links, and a route for one type of service.
pub fn adorn<'a>(namespace: &str, links: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut commands = "route add 203.0.113.64/29 tos 0x10 dev foreign-d0\n\
        address add 203.0.113.225/28 broadcast 203.0.113.238 scope link label foreign-d0:x dev foreign-d0\n"
        .to_owned();
    for link in links {
        writeln!(commands, "link set dev {link} group 77 txqueuelen 777").expect("writing to a string works");
    }
    ask(&["ip", "-n", namespace, "-b", "-"], &commands).map(drop)
}

/// Runs a program on some commands and reads the documents that it prints.
fn ask(words: &[&str], commands: &str) -> Result<Vec<Json>, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("{}: {error}", words.join(" "));
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| cannot(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(commands.as_bytes()).map_err(|error| cannot(&error))?;
    }
    let done = child.wait_with_output().map_err(|error| cannot(&error))?;
    if !done.status.success() {
        return Err(cannot(&String::from_utf8_lossy(&done.stderr).trim()));
    }
    let documents = serde_json::Deserializer::from_slice(&done.stdout).into_iter();
    documents.collect::<Result<_, _>>().map_err(|error| cannot(&error))
}

fn lists<const N: usize>(of: &str, documents: Vec<Json>) -> Result<[Vec<Json>; N], String> {
    let lists = documents.into_iter().map(|document| match document {
        Json::Array(items) => items.into_iter().map(clean).filter(|item| *item != Json::Object(Map::new())).collect(),
        other => vec![other],
    });
    let lists: Vec<Vec<Json>> = lists.collect();
    let got = lists.len();
    lists.try_into().map_err(|_| format!("{of} answered {got} times instead of {N}"))
}

/// A document without what changes by itself.
fn clean(document: Json) -> Json {
    match document {
        Json::Object(fields) => {
            let kept = fields.into_iter().filter(|(key, value)| !volatile(key, value));
            Json::Object(kept.map(|(key, value)| (key, clean(value))).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(clean).filter(|item| !reported_later(item)).collect()),
        other => other,
    }
}

fn volatile(key: &str, value: &Json) -> bool {
    let counts_down = matches!(key, "valid_life_time" | "preferred_life_time" | "expires")
        && value.as_u64().is_some_and(|seconds| seconds != FOREVER);
    // What a port's state and a forwarding entry's are is named by the same word; only the latter stays.
    let entry = key == "state" && matches!(value.as_str(), Some("permanent" | "static"));
    counts_down || (!entry && VOLATILE.iter().any(|(name, _)| *name == key))
}

fn reported_later(item: &Json) -> bool {
    item.as_str().is_some_and(|flag| REPORTED_LATER.contains(&flag))
}

/// A link whose addresses have no order but the one that says which is the first of its subnet, and
/// without those that the kernel made from a hardware address.
fn link(mut link: Json) -> Json {
    if let Some(Json::Array(addresses)) = link.get_mut("addr_info") {
        let key = |address: &Json| {
            let family = address["family"].to_string();
            let own = if family.contains("inet6") { address["local"].to_string() } else { String::new() };
            (family, address["prefixlen"].to_string(), own)
        };
        addresses.retain(|address| !of_hardware(address));
        addresses.sort_by_cached_key(key);
    }
    link
}

/// Whether the kernel made the address from the hardware address that the link had when it came up.
/// It comes a moment after that, and a link whose hardware address changed since keeps the old one:
/// a bond that gets its first port's address back in an undo does.
fn of_hardware(address: &Json) -> bool {
    address["local"].as_str().is_some_and(|ip| ip.starts_with("fe80::") && ip.contains("ff:fe"))
}

/// Whether a route is the kernel's answer to an address: it comes when the address was looked for.
fn follows(route: &Json) -> bool {
    let of_hardware = route["dst"] == "fe80::/64";
    route["protocol"] == "kernel" && (of_hardware || route["table"] == "local" || route["type"] != "unicast")
}

/// Whether a forwarding entry stays, and is not the kernel's own: for a group that it listens to, or
/// for the address of a link, which stands on any one of the links that share it.
fn stays(entry: &Json, own: &BTreeSet<String>) -> bool {
    let mac = entry["mac"].as_str().unwrap_or_default();
    let group = u8::from_str_radix(mac.get(..2).unwrap_or_default(), 16).is_ok_and(|first| first & 1 == 1);
    entry.get("state").is_some()
        && !group
        && !(entry["state"] == "permanent" && own.contains(&entry["mac"].to_string()))
}

fn named(items: impl Iterator<Item = Json>) -> Json {
    let key = |item: &Json| item["ifname"].as_str().unwrap_or_default().to_owned();
    Json::Object(items.map(|item| (key(&item), item)).collect())
}

fn set(items: impl IntoIterator<Item = Json>) -> Json {
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    for item in items {
        *counted.entry(item.to_string()).or_default() += 1;
    }
    Json::Object(counted.into_iter().map(|(item, count)| (item, count.into())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_model_does_not_know_is_compared_and_what_runs_is_not() {
        let look = |group: &str, timer: f64, label: &str| {
            let address = json!({"family": "inet", "local": "192.0.2.1", "prefixlen": 24, "label": label});
            let shown = json!({"ifname": "d0", "ifindex": timer, "group": group, "gc_timer": timer,
                "flags": ["UP", "LOWER_UP"], "addr_info": [address]});
            Seen(named(std::iter::once(link(clean(shown)))))
        };
        assert!(look("default", 1.0, "d0").differences(&look("default", 2.0, "d0")).is_empty());
        let found = look("default", 1.0, "d0").differences(&look("7", 1.0, "d0:x"));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("addr_info[0].label") && found[1].contains("group"), "{found:?}");
    }

    #[test]
    fn a_state_that_passes_is_not_the_state_of_an_entry() {
        assert!(volatile("state", &json!("forwarding")) && !volatile("state", &json!("permanent")));
        assert!(volatile("valid_life_time", &json!(77)) && !volatile("valid_life_time", &json!(4_294_967_295_u64)));
    }
}
