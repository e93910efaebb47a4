//! Policy rules: packets that leave for another VRF by what they look like, and the end for those that match nothing.
//!
//! A policy is about packets that workloads send, not about those that come back from the fabric, so a rule names the
//! link by which they came in. Kernels differ in which one that is for a port of a VRF: up to 5.19, and again from 6.15
//! on, rules see the VRF; between them IPv6 shows the VRF and IPv4 the port. So IPv4 has a rule for each.

use netloom_api::{
    fabric::traffic_mirror::TrafficMatch,
    pipeline::node_network_config::routing::{PolicyRoute, RouteNextHop},
};
use netloom_model::{PortRange, RuleAction};
use netloom_nmstate::{RuleEntry, RulePrefix};
use netloom_types::{Family, IfName, IpNet};

use crate::{
    context::{Context, Made, Place, parse},
    error::RenderError,
    links::Gateway,
};

/// Packets to a gateway's own address stay in its VRF.
const TO_GATEWAY: u32 = 99;
/// The first policies. A policy that an earlier one of the list could shadow comes two later.
const POLICIES: u32 = 100;
/// The kernel's own rule for VRFs is at 1000.
const LAST_POLICY: u32 = 998;
/// Behind that rule, and before the one for the main table.
const NOWHERE: u32 = 2000;

/// What matches nothing in its VRF goes nowhere: without this it would be looked up in the main table. A route in each
/// VRF would do the same, but the routing daemon would announce it.
pub(crate) fn end_of_vrfs(cx: &Context<'_>, made: &mut Made) {
    for family in [Family::Ipv4, Family::Ipv6] {
        let mut entry = RuleEntry::default();
        entry.family = Some(family);
        entry.priority = Some(NOWHERE);
        entry.l3mdev = Some(true);
        entry.action = Some(RuleAction::Unreachable);
        made.rules.push((entry, cx.origin("spec")));
    }
}

/// What a policy fits, and where such packets go.
struct Policy {
    from: Option<IpNet>,
    to: Option<IpNet>,
    families: Vec<Family>,
    protocols: Vec<Option<u8>>,
    source_port: Option<u16>,
    target_port: Option<u16>,
    table: u32,
    priority: u32,
}

/// Makes the rules of a VRF's policies.
pub(crate) fn policies(
    cx: &Context<'_>,
    made: &mut Made,
    place: Place<'_>,
    routes: &[PolicyRoute],
    gateways: &[Gateway],
) -> Result<(), RenderError> {
    let gateways: Vec<&Gateway> = gateways.iter().filter(|gateway| gateway.vrf == place.name).collect();
    let mut all: Vec<Policy> = Vec::new();
    for (at, route) in routes.iter().enumerate() {
        let path = format!("{}.policyRoutes[{at}]", place.path);
        let mut policy = policy(cx, route, &path)?;
        let shadows = all.iter().filter(|earlier| earlier.overlaps(&policy)).map(|earlier| earlier.priority + 2);
        policy.priority = shadows.max().unwrap_or(POLICIES);
        if policy.priority > LAST_POLICY {
            return Err(RenderError::unsupported(path, "too many policies of the VRF are about the same packets"));
        }
        for (entry, links) in policy.entries(cx, place, &gateways) {
            for iif in links {
                let mut entry = entry.clone();
                entry.iif = Some(iif);
                made.rules.push((entry, cx.asked(route.origin.as_ref(), &path)));
            }
        }
        all.push(policy);
    }
    if !all.is_empty() {
        own_addresses(cx, made, place, &gateways)?;
    }
    Ok(())
}

fn policy(cx: &Context<'_>, route: &PolicyRoute, path: &str) -> Result<Policy, RenderError> {
    let PolicyRoute { traffic_match, next_hop: RouteNextHop { address, vrf }, origin: _ } = route;
    let TrafficMatch { src_prefix, dst_prefix, src_port, dst_port, protocol } = traffic_match;
    let field = |name: &str| format!("{path}.{name}");
    if address.is_some() {
        let message = "a policy route leads into a VRF; remove the address and route there";
        return Err(RenderError::unsupported(field("nextHop.address"), message));
    }
    let Some(vrf) = vrf else { return Err(RenderError::invalid(field("nextHop"), "names no VRF; add vrf")) };
    let vrf = cx.vrf(|| field("nextHop.vrf"), vrf)?;
    let net = |name: &'static str, prefix: &Option<netloom_api::fabric::text::Cidr>| {
        let net = prefix.as_ref().map(|prefix| parse::<IpNet>(|| field(name), prefix)).transpose();
        net.map(|net| net.map(|net| net.trunc()))
    };
    let from = net("trafficMatch.srcPrefix", src_prefix)?;
    let to = net("trafficMatch.dstPrefix", dst_prefix)?;
    let families = match (from.map(Family::of_net), to.map(Family::of_net)) {
        (None, None) => vec![Family::Ipv4, Family::Ipv6],
        (Some(one), Some(other)) if one != other => {
            return Err(RenderError::invalid(
                field("trafficMatch"),
                "srcPrefix and dstPrefix are of different families",
            ));
        }
        (Some(family), _) | (None, Some(family)) => vec![family],
    };
    let with_port = src_port.is_some() || dst_port.is_some();
    let protocols = match protocol {
        Some(name) => {
            vec![Some(protocol_number(name).map_err(|why| RenderError::invalid(field("trafficMatch.protocol"), why))?)]
        }
        None if with_port => [6, 17, 132].map(Some).to_vec(),
        None => vec![None],
    };
    let table = cx.table(|| field("nextHop.vrf"), vrf)?;
    let (source_port, target_port) = (*src_port, *dst_port);
    Ok(Policy { from, to, families, protocols, source_port, target_port, table, priority: POLICIES })
}

fn protocol_number(name: &str) -> Result<u8, String> {
    match name.to_ascii_lowercase().as_str() {
        "icmp" => Ok(1),
        "tcp" => Ok(6),
        "udp" => Ok(17),
        "icmpv6" => Ok(58),
        "sctp" => Ok(132),
        _ => Err(format!("{name:?}: give one of tcp, udp, sctp, icmp and icmpv6")),
    }
}

impl Policy {
    /// Whether a packet could fit both.
    fn overlaps(&self, other: &Self) -> bool {
        fn prefixes(a: Option<IpNet>, b: Option<IpNet>) -> bool {
            a.zip(b).is_none_or(|(a, b)| overlap(a, b))
        }
        let ports = |a: Option<u16>, b: Option<u16>| a.zip(b).is_none_or(|(a, b)| a == b);
        let protocols = |policy: &Self| policy.protocols.contains(&None);
        self.families.iter().any(|family| other.families.contains(family))
            && prefixes(self.from, other.from)
            && prefixes(self.to, other.to)
            && ports(self.source_port, other.source_port)
            && ports(self.target_port, other.target_port)
            && (protocols(self) || protocols(other) || self.protocols.iter().any(|p| other.protocols.contains(p)))
    }

    /// Its rules, each with the links by which such packets come in: into the table, and no further.
    fn entries(&self, cx: &Context<'_>, place: Place<'_>, gateways: &[&Gateway]) -> Vec<(RuleEntry, Vec<IfName>)> {
        let mut all = Vec::new();
        let prefix = |net: Option<IpNet>| net.map_or(RulePrefix::Unspecified, RulePrefix::Net);
        let port = |port: Option<u16>| port.map(|port| PortRange { first: port, last: port });
        for family in &self.families {
            let links = self.links(cx, place, gateways, *family);
            for protocol in &self.protocols {
                let mut entry = RuleEntry::default();
                entry.family = Some(*family);
                entry.priority = Some(self.priority);
                (entry.from, entry.to) = (prefix(self.from), prefix(self.to));
                entry.ip_proto = *protocol;
                (entry.sport, entry.dport) = (port(self.source_port), port(self.target_port));
                let mut end = entry.clone();
                entry.table = Some(self.table);
                end.priority = Some(self.priority + 1);
                end.action = Some(RuleAction::Unreachable);
                all.extend([(entry, links.clone()), (end, links.clone())]);
            }
        }
        all
    }

    fn links(&self, cx: &Context<'_>, place: Place<'_>, gateways: &[&Gateway], family: Family) -> Vec<IfName> {
        let mut links = vec![place.name];
        if family == Family::Ipv4 {
            if place.name == cx.base.cluster_vrf.name {
                links.push(cx.base.management_interface.unwrap_or(cx.base.trunk));
            }
            let sends = |gateway: &&&Gateway| {
                self.from.is_none_or(|from| gateway.addresses.iter().any(|own| overlap(from, own.trunc())))
            };
            links.extend(gateways.iter().filter(sends).map(|gateway| gateway.bridge));
        }
        links
    }
}

fn overlap(a: IpNet, b: IpNet) -> bool {
    a.contains(&b) || b.contains(&a)
}

/// A gateway's own address is in the table of its VRF and in no other: what is sent to it must be looked up there.
fn own_addresses(
    cx: &Context<'_>,
    made: &mut Made,
    place: Place<'_>,
    gateways: &[&Gateway],
) -> Result<(), RenderError> {
    let table = cx.table(|| format!("{}.policyRoutes", place.path), place.name)?;
    for gateway in gateways {
        for address in &gateway.addresses {
            let family = Family::of_net(*address);
            let links = if family == Family::Ipv4 { vec![place.name, gateway.bridge] } else { vec![place.name] };
            for iif in links {
                let mut entry = RuleEntry::default();
                entry.family = Some(family);
                entry.priority = Some(TO_GATEWAY);
                entry.to = RulePrefix::Net(IpNet::from(address.addr()));
                entry.iif = Some(iif);
                entry.table = Some(table);
                made.rules.push((entry, cx.origin(&format!("{}.policyRoutes", place.path))));
            }
        }
    }
    Ok(())
}
