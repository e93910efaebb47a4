//! What a description of packets must keep.

use ipnet::IpNet;
use netloom_api::fabric::traffic_mirror::TrafficMatch;
use netloom_types::Family;
use serde_json::Value;

use super::value;
use crate::Findings;

/// The protocols that packets are distinguished by.
const PROTOCOLS: [&str; 5] = ["tcp", "udp", "sctp", "icmp", "icmpv6"];

/// Writes the protocol in lower case.
pub(crate) fn lower_protocol(object: &mut Value) {
    if let Some(Value::String(protocol)) = object.pointer_mut("/spec/trafficMatch/protocol") {
        *protocol = protocol.to_ascii_lowercase();
    }
}

/// Checks which packets are meant.
pub(crate) fn check(findings: &mut Findings, path: &str, traffic: &TrafficMatch) {
    let mut net = |field: &str, text: &Option<netloom_api::fabric::text::Cidr>| {
        text.as_ref().and_then(|text| value::prefix(findings, &format!("{path}.{field}"), text))
    };
    let source = net("srcPrefix", &traffic.src_prefix);
    let destination = net("dstPrefix", &traffic.dst_prefix);
    if let (Some(source), Some(destination)) = (source, destination)
        && Family::of_net(source) != Family::of_net(destination)
    {
        findings.invalid(format!("{path}.dstPrefix"), destination.to_string(), "must be of the family of srcPrefix");
    }
    if let Some(protocol) = &traffic.protocol {
        check_protocol(findings, path, traffic, &protocol.to_ascii_lowercase(), source.or(destination));
    }
}

fn check_protocol(findings: &mut Findings, path: &str, traffic: &TrafficMatch, protocol: &str, net: Option<IpNet>) {
    let path_of = |field: &str| format!("{path}.{field}");
    if !PROTOCOLS.contains(&protocol) {
        findings.not_supported(path_of("protocol"), protocol, &PROTOCOLS);
        return;
    }
    let family = match protocol {
        "icmp" => Some(Family::Ipv4),
        "icmpv6" => Some(Family::Ipv6),
        _ => None,
    };
    let Some(family) = family else { return };
    for (field, port) in [("srcPort", traffic.src_port), ("dstPort", traffic.dst_port)] {
        if port.is_some() {
            findings.forbidden(path_of(field), format!("{protocol} has no ports"));
        }
    }
    if net.is_some_and(|net| Family::of_net(net) != family) {
        findings.invalid(
            path_of("protocol"),
            protocol,
            format!("is a protocol of {}, and the prefixes are not", value::shown(family)),
        );
    }
}
