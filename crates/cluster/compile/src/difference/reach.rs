//! Which networks a desired state reaches, and how.

use std::collections::BTreeSet;

use netloom_api::pipeline::node_network_config::{
    fabric::{CLUSTER, FabricConfig},
    routing::{ActionKind, Vrf},
};
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

/// What stations of each segment with a gateway reach by it: the networks that its VRF takes from others or has a route to,
/// and all that the fabric knows of that VRF.
pub(super) fn of_fabric(fabric: Option<&FabricConfig>) -> BTreeSet<Way> {
    let mut ways = BTreeSet::new();
    let Some(fabric) = fabric else { return ways };
    let vrf_called = |wanted: &str| fabric.view().vrfs().find(|(name, ..)| *name == wanted).map(|(_, _, vrf)| vrf);
    for gateway in fabric.layer2s.values().filter_map(|segment| segment.irb.as_ref()) {
        let own = if gateway.vrf.is_empty() { CLUSTER } else { gateway.vrf.as_str() };
        for address in &gateway.ip_addresses {
            let Ok(network) = address.parse::<IpNet>().map(|net| net.trunc()) else { continue };
            let from = format!(", from {network}");
            if fabric.fabric_vrfs.contains_key(own) {
                ways.insert((format!("all of VRF {own}{from}"), String::new()));
            }
            // The VRF of the cluster takes what somebody has named as a destination in another VRF.
            let named = fabric.cluster_vrf.iter().filter(|_| own != CLUSTER).flat_map(|vrf| led(vrf, network));
            let named = named.filter(|(_, by)| by.strip_prefix("VRF ") == Some(own));
            let Some(vrf) = vrf_called(own) else { continue };
            // Where the source decides, packets of this network go on in another VRF.
            let steers = |prefix: &str| prefix.parse::<IpNet>().is_ok_and(|prefix| prefix.contains(&network));
            let steered = vrf.policy_routes.iter().find_map(|route| {
                let source = route.traffic_match.src_prefix.as_ref()?;
                route.next_hop.vrf.as_deref().filter(|_| steers(source))
            });
            let vrf = steered.and_then(vrf_called).unwrap_or(vrf);
            let elsewhere = named.chain(led(vrf, network)).filter(|(to, _)| *to != network);
            ways.extend(elsewhere.map(|(to, by)| (format!("{to} by {by}{from}"), String::new())));
        }
    }
    ways
}

/// The networks of the family of another one that a VRF leads to, and by what.
fn led(vrf: &Vrf, of: IpNet) -> impl Iterator<Item = (IpNet, String)> {
    let same = move |text: &str| text.parse::<IpNet>().ok().filter(|net| net.addr().is_ipv4() == of.addr().is_ipv4());
    let imported = vrf.vrf_imports.iter().flat_map(move |import| {
        let accepted = import.filter.items.iter().filter(|item| item.action.kind == ActionKind::Accept);
        let networks = accepted.filter_map(move |item| same(&item.matcher.prefix.as_ref()?.prefix));
        networks.map(|network| (network, format!("VRF {}", import.from_vrf)))
    });
    let fixed = vrf.static_routes.iter().filter_map(move |route| {
        let hop = route.next_hop.as_ref()?;
        let by = match (&hop.vrf, &hop.address) {
            (Some(vrf), _) => format!("VRF {vrf}"),
            (None, Some(address)) => address.0.clone(),
            (None, None) => return None,
        };
        Some((same(&route.prefix)?, by))
    });
    imported.chain(fixed)
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
