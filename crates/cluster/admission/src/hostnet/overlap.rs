//! Subnets that a node reaches through two of its interfaces.
//!
//! It sends to what is in both through one of them, and the other one goes unused, or the way to the node itself changes.
//! That may be meant, while one follows the other, so it gives a warning and is not refused.

use ipnet::Ipv4Net;
use netloom_api::{
    dig,
    hostnet::{HOST_NETWORK_CONFIG, HostNetworkConfig, HostNetworkConfigSpec},
};
use serde_json::Value;

use crate::{Findings, Write, hostnet::installed::NODE_STATUS};

/// Warns of what fixed addresses overlap with: those of other objects, and those that nodes have by other means. Of each,
/// the first node is named.
pub(super) fn warn_of(write: &Write<'_, HostNetworkConfig>, spec: &HostNetworkConfigSpec, findings: &mut Findings) {
    let view = write.review.view;
    for other in write.others(view.list(HOST_NETWORK_CONFIG)) {
        if let Some((node, net)) = fixed(&other).into_iter().find(|(node, net)| overlaps(spec, node, *net)) {
            findings.warn(sentence(node, net, &format!("by HostNetworkConfig {:?}", dig::name(&other))));
        }
    }
    let reported = spec.ips.keys().find_map(|node| {
        let report = view.get(NODE_STATUS, None, node)?;
        let (link, net) = others_have(&report).into_iter().find(|(_, net)| overlaps(spec, node, *net))?;
        Some(sentence(node, net, &format!("on {link}")))
    });
    if let Some(warning) = reported {
        findings.warn(warning);
    }
}

fn sentence(node: &str, net: Ipv4Net, by: &str) -> String {
    format!(
        "node {node:?} has {net} {by}, and spec.ips[{node}] overlaps with that: what is in both subnets it sends through \
         one of the two interfaces"
    )
}

fn overlaps(spec: &HostNetworkConfigSpec, node: &str, net: Ipv4Net) -> bool {
    let own = spec.ips.get(node).and_then(|text| text.0.parse::<Ipv4Net>().ok());
    own.is_some_and(|own| own.contains(&net) || net.contains(&own))
}

/// The fixed addresses of a host network that stays.
fn fixed(network: &Value) -> Vec<(&str, Ipv4Net)> {
    let stays = !dig::is_terminating(network) && dig::text(network, "spec.mode") == Some("static");
    let ips = dig::at(network, "spec.ips").and_then(Value::as_object).filter(|_| stays);
    let each = ips.into_iter().flatten();
    each.filter_map(|(node, text)| Some((node.as_str(), text.as_str()?.parse().ok()?))).collect()
}

/// The addresses that a node reports of links that no agent made.
fn others_have(report: &Value) -> Vec<(&str, Ipv4Net)> {
    let links = dig::at(report, "status.interfaces").and_then(Value::as_array).into_iter().flatten();
    let foreign = links.filter(|link| link.get("madeBy").is_none());
    foreign.flat_map(addresses).collect()
}

fn addresses(link: &Value) -> impl Iterator<Item = (&str, Ipv4Net)> {
    let name = link.get("name").and_then(Value::as_str).unwrap_or_default();
    let all = link.get("addresses").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(move |address| Some((name, address.as_str()?.parse().ok()?)))
}
