//! What a `NodeNetworkConfig` must keep: that it does not contradict itself.
//!
//! The controller writes it; these rules are the last line before an agent acts on a mistake.

mod host;
mod routing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use netloom_api::pipeline::{
    NodeNetworkConfig,
    node_network_config::{Layer2, NodeInterface, NodeNetworkConfigSpec},
};
use netloom_types::{Family, IfName};

use crate::{
    Admitted, Findings, Write,
    fabric::{names, related, value},
};

/// The VRF that every node has.
const CLUSTER: &str = "cluster";

impl Admitted for NodeNetworkConfig {
    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = related::to_judge(write) else { return };
        check_layer2s(findings, &new.spec);
        check_bridges(findings, &new.spec);
        check_identifiers(findings, &new.spec);
        routing::check(findings, &new.spec);
        if let Some(host) = &new.spec.host {
            host::check(findings, host);
        }
    }
}

fn check_layer2s(findings: &mut Findings, spec: &NodeNetworkConfigSpec) {
    for (key, layer2) in &spec.layer2s {
        let path = format!("spec.layer2s[{key}]");
        if *key != layer2.vlan.to_string() {
            findings.invalid(format!("{path}.vlan"), layer2.vlan, format!("must be {key}, the key of the entry"));
        }
        if !layer2.route_target.is_empty() {
            value::route_target(findings, &format!("{path}.routeTarget"), &layer2.route_target);
        }
        if let Some(own) = &layer2.node_interface {
            check_node_interface(findings, &format!("{path}.nodeInterface"), own);
        }
        let Some(irb) = &layer2.irb else { continue };
        if !knows_vrf(spec, &irb.vrf) {
            findings.not_found(format!("{path}.irb.vrf"), &*irb.vrf, "the node has no VRF of this name");
        }
        if let Some(mac) = &irb.mac_address {
            value::station_mac(findings, &format!("{path}.irb.macAddress"), mac);
        }
    }
}

/// Each segment has a bridge of its own.
fn check_bridges(findings: &mut Findings, spec: &NodeNetworkConfigSpec) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (key, layer2) in &spec.layer2s {
        let path = format!("spec.layer2s[{key}].interfaceName");
        if let Some(name) = &layer2.interface_name {
            names::bridge(findings, &path, name);
        }
        if let Some(other) = seen.insert(bridge(layer2), key) {
            findings.duplicate(path, bridge(layer2), format!("spec.layer2s[{other}] has a bridge of this name"));
        }
    }
}

/// The name of the bridge of a segment.
fn bridge(layer2: &Layer2) -> String {
    layer2.interface_name.as_ref().map_or_else(|| format!("l2.{}", layer2.vlan), |name| name.0.clone())
}

fn check_node_interface(findings: &mut Findings, path: &str, own: &NodeInterface) {
    for (index, text) in own.ip_addresses.iter().enumerate() {
        if value::network(text).is_none() {
            let path = format!("{path}.ipAddresses[{index}]");
            findings.invalid(path, &**text, "must be an address with a prefix length, such as 198.51.100.7/24");
        }
    }
    for (index, route) in own.routes.iter().enumerate() {
        let path = format!("{path}.routes[{index}]");
        let Some(net) = value::prefix(findings, &format!("{path}.destination"), &route.destination) else { continue };
        let family = Family::of(net.addr());
        value::station_of(findings, &format!("{path}.gateway"), &route.gateway, family);
    }
}

/// An empty name means the cluster's VRF.
fn knows_vrf(spec: &NodeNetworkConfigSpec, name: &str) -> bool {
    matches!(name, "" | CLUSTER) || spec.fabric_vrfs.contains_key(name) || spec.local_vrfs.contains_key(name)
}

/// Segments and VRFs of a node share one space of identifiers.
fn check_identifiers(findings: &mut Findings, spec: &NodeNetworkConfigSpec) {
    let layer2s = spec.layer2s.iter().map(|(key, layer2)| (format!("spec.layer2s[{key}].vni"), layer2.vni));
    let vrfs = spec.fabric_vrfs.iter().map(|(name, vrf)| (format!("spec.fabricVRFs[{name}].vni"), vrf.vni));
    let mut seen = BTreeMap::new();
    for (path, vni) in layer2s.chain(vrfs) {
        if let Some(other) = seen.get(&vni) {
            findings.duplicate(path, vni, format!("{other} is the same"));
        } else {
            seen.insert(vni, path);
        }
    }
}

/// A name that the kernel takes for an interface.
fn interface_name(findings: &mut Findings, path: &str, name: &str) {
    if let Err(error) = name.parse::<IfName>() {
        findings.invalid(path, name, error.why);
    }
}
