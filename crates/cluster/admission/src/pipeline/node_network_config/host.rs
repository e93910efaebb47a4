//! The node's own part: links that are whole, and entries of one family.

use netloom_api::pipeline::node_network_config::host::{
    HostBridgeVlan, HostConfig, HostLink, HostLinkKind, HostRoute, HostRule, IpFamily,
};
use netloom_types::Family;

use crate::{Findings, fabric::value};

pub(super) fn check(findings: &mut Findings, host: &HostConfig) {
    for (index, link) in host.links.iter().enumerate() {
        check_link(findings, &format!("spec.host.links[{index}]"), link);
    }
    for (index, address) in host.addresses.iter().enumerate() {
        if value::network(&address.address).is_none() {
            let path = format!("spec.host.addresses[{index}].address");
            findings.invalid(
                path,
                &*address.address,
                "must be an address with a prefix length, such as 198.51.100.1/24",
            );
        }
    }
    for (index, route) in host.routes.iter().enumerate() {
        check_route(findings, &format!("spec.host.routes[{index}]"), route);
    }
    for (index, rule) in host.rules.iter().enumerate() {
        check_rule(findings, &format!("spec.host.rules[{index}]"), rule);
    }
    for (index, vlans) in host.bridge_vlans.iter().enumerate() {
        check_vlans(findings, &format!("spec.host.bridgeVlans[{index}]"), vlans);
    }
}

fn check_link(findings: &mut Findings, path: &str, link: &HostLink) {
    let has = [
        ("vlanId", link.vlan_id.is_some(), link.kind == HostLinkKind::Vlan),
        ("vxlan", link.vxlan.is_some(), link.kind == HostLinkKind::Vxlan),
        ("table", link.table.is_some(), link.kind == HostLinkKind::Vrf),
        ("bondMode", link.bond_mode.is_some(), link.kind == HostLinkKind::Bond),
    ];
    for (field, given, wanted) in has {
        let path = format!("{path}.{field}");
        if wanted && !given {
            findings.required(path, "a link of this type needs it");
        } else if given && !wanted {
            findings.forbidden(path, "a link of this type has no such property");
        }
    }
    if link.kind == HostLinkKind::Vlan && link.base.is_none() {
        findings.required(format!("{path}.base"), "a VLAN stands on another link");
    }
    let own = Some(&link.name);
    for (field, other) in [("base", &link.base), ("controller", &link.controller)] {
        if other.as_ref() == own {
            findings.invalid(format!("{path}.{field}"), &*link.name, "must be another link");
        }
    }
    if let Some(mac) = &link.mac_address {
        value::station_mac(findings, &format!("{path}.macAddress"), mac);
    }
}

fn check_route(findings: &mut Findings, path: &str, route: &HostRoute) {
    let Some(net) = value::prefix(findings, &format!("{path}.destination"), &route.destination) else { return };
    for (field, address) in [("gateway", &route.gateway), ("source", &route.source)] {
        if let Some(address) = address {
            value::station_of(findings, &format!("{path}.{field}"), address, Family::of_net(net));
        }
    }
}

fn check_rule(findings: &mut Findings, path: &str, rule: &HostRule) {
    let family = match rule.family {
        IpFamily::Ipv4 => Family::Ipv4,
        IpFamily::Ipv6 => Family::Ipv6,
    };
    for (field, net) in [("from", &rule.from), ("to", &rule.to)] {
        if let Some(net) = net {
            value::prefix_of(findings, &format!("{path}.{field}"), net, family);
        }
    }
}

fn check_vlans(findings: &mut Findings, path: &str, vlans: &HostBridgeVlan) {
    if vlans.min > vlans.max {
        findings.invalid(format!("{path}.max"), vlans.max, format!("must be at least {}, the value of min", vlans.min));
    } else if vlans.pvid && vlans.min != vlans.max {
        findings.invalid(format!("{path}.pvid"), true, "is for one VLAN only");
    }
}
