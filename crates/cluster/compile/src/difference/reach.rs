//! Which networks a desired state reaches, and how.

use std::collections::BTreeSet;

use netloom_types::IpNet;
use serde_json::Value;

/// A network and the way to it, both as text.
pub(super) type Way = (String, String);

/// All networks that a document reaches by its addresses and routes.
pub(super) fn of(document: Option<&Value>) -> BTreeSet<Way> {
    let list = |pointer: &str| document.and_then(|document| document.pointer(pointer)).and_then(Value::as_array);
    let interfaces = list("/interfaces").into_iter().flatten();
    let routes = list("/routes/config").into_iter().flatten();
    interfaces.filter(|entry| is_wanted(entry)).flat_map(connected).chain(routes.filter_map(routed)).collect()
}

/// The ways of one set to networks that the other does not reach at all.
pub(super) fn missing(ways: &BTreeSet<Way>, other: &BTreeSet<Way>) -> Vec<String> {
    let reached: BTreeSet<&str> = other.iter().map(|(network, _)| network.as_str()).collect();
    let lacking = ways.iter().filter(|(network, _)| !reached.contains(network.as_str()));
    lacking.map(|(network, way)| format!("{network}{way}")).collect()
}

/// The networks of the addresses of an interface.
fn connected(entry: &Value) -> Vec<Way> {
    let way = format!(" over {}", text(entry, "name"));
    let families = ["ipv4", "ipv6"].map(|family| &entry[family]).into_iter().filter(|block| block["enabled"] == true);
    let addresses = families.flat_map(|block| block["address"].as_array().into_iter().flatten());
    let network = |address: &Value| {
        let length = u8::try_from(address["prefix-length"].as_u64()?).ok()?;
        Some(IpNet::new(text(address, "ip").parse().ok()?, length).ok()?.trunc().to_string())
    };
    addresses.filter_map(network).map(|network| (network, way.clone())).collect()
}

fn routed(entry: &Value) -> Option<Way> {
    let destination = text(entry, "destination");
    let network = destination.parse::<IpNet>().ok()?.trunc().to_string();
    is_wanted(entry).then(|| (network, way(entry)))
}

/// How a route leads on.
pub(super) fn way(route: &Value) -> String {
    let part = |word: &str, key: &str| match &route[key] {
        Value::Null => String::new(),
        Value::String(value) => format!(" {word} {value}"),
        value => format!(" {word} {value}"),
    };
    [("via", "next-hop-address"), ("over", "next-hop-interface"), ("in table", "table-id")]
        .map(|(word, key)| part(word, key))
        .concat()
}

/// Whether the entry asks for something to be there.
fn is_wanted(entry: &Value) -> bool {
    !matches!(text(entry, "state"), "absent" | "down" | "ignore")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
