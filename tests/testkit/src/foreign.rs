//! What belongs to somebody else: made before every scenario, and found untouched after it.

use std::net::IpAddr;

use ipnet::IpNet;
use netloom_model::{
    Address, Alias, Attr, Attrs, FdbEntry, FdbKey, Host, HostSettings, LinkKind, Neighbour, NextHop, Observed, Route,
    RouteExtra, RouteMetrics, RouteType, Rule, RuleAction, RuleKey, Step, Value, VlanMembership,
};
use netloom_types::{Family, IfName, MacAddr, Protocol, RouteTable, VlanId};

/// How the names of somebody else's links begin.
const PREFIX: &str = "foreign-";

/// The priority of somebody else's rule.
const PRIORITY: u32 = 77;

/// A table that somebody else uses too.
const TABLE: u32 = 100;

/// The steps that put somebody else's things onto a host: a link with addresses, routes in two
/// tables, a rule, and a bridge with a port, a VLAN and a forwarding entry.
///
/// # Panics
/// Never: the names and addresses below are valid.
pub fn neighbours() -> Vec<Step> {
    let (dummy, bridge, port) = (name("d0"), name("br0"), name("p0"));
    let filtering = (Attr::BridgeVlanFiltering, Value::Bool(true));
    let vlan: VlanId = 7.try_into().expect("7 is a VLAN");
    let tagged = VlanMembership { tagged: [vlan].into_iter().collect(), ..VlanMembership::default() };
    let key = FdbKey { mac: mac(0xfd), vlan: Some(vlan), dst: None, vni: None };
    let entry = FdbEntry { on_device: false, local: false, external: false };
    let prefix: IpNet = "203.0.113.192/26".parse().expect("a prefix");
    let rule = RuleKey { from: Some(prefix), ..RuleKey::new(Family::Ipv4, PRIORITY, RuleAction::Table(table(TABLE))) };
    vec![
        create(dummy, LinkKind::Dummy, 1, None, None),
        create(bridge, LinkKind::Bridge, 2, Some(filtering), None),
        create(port, LinkKind::Dummy, 3, None, Some(bridge)),
        Step::SetAlias { name: dummy, alias: Some(Alias::raw("somebody else's")) },
        address(dummy, "203.0.113.193", 26),
        address(dummy, "2001:db8:f::1", 64),
        Step::AddNeighbour { name: dummy, neighbour: Neighbour { ip: ip("203.0.113.200"), mac: mac(0x0e) } },
        route(dummy, "203.0.113.128/26", "203.0.113.254", RouteTable::MAIN, 0),
        route(dummy, "203.0.113.128/26", "203.0.113.253", table(TABLE), 0),
        route(dummy, "2001:db8:f:1::/64", "2001:db8:f::fe", RouteTable::MAIN, 1024),
        Step::AddRule(Rule { key: rule, protocol: Protocol::STATIC }),
        Step::SetVlans { name: port, on_bridge: false, add: tagged, remove: [].into_iter().collect() },
        Step::AddFdb { name: port, key, entry },
    ]
}

/// The part of a host that is somebody else's.
#[must_use]
pub fn part_of(host: &Host) -> Host {
    let mut part = host.clone();
    part.links.retain(|name, _| is_foreign(*name));
    part.routes.retain(|_, route| of_foreign(route));
    part.rules.retain(|key, _| key.priority == PRIORITY);
    part.settings = HostSettings::default();
    part
}

/// What a host shows without somebody else's things: what people want to read in a golden file.
#[must_use]
pub fn without(observed: &Observed) -> Observed {
    let mut rest = observed.clone();
    rest.host.links.retain(|name, _| !is_foreign(*name));
    rest.host.routes.retain(|_, route| !of_foreign(route));
    rest.host.rules.retain(|key, _| key.priority != PRIORITY);
    rest.facts.retain(|name, _| !is_foreign(*name));
    rest.derived_routes.retain(|route| !of_foreign(route));
    rest
}

/// The step as somebody else would do it: without our marks. `None` where the step is the mark.
pub fn disowned(step: &Step) -> Option<Step> {
    let mut step = step.clone();
    match &mut step {
        Step::SetAlias { alias: Some(alias), .. } if alias.is_ours() => {
            let description = alias.description()?.to_owned();
            *alias = Alias::raw(&description);
        }
        Step::AddAddress { address, .. } | Step::RemoveAddress { address, .. } => disown(&mut address.protocol),
        Step::AddRoute(route) | Step::ReplaceRoute(route) | Step::RemoveRoute(route) => disown(&mut route.protocol),
        Step::AddRule(rule) | Step::RemoveRule(rule) => disown(&mut rule.protocol),
        Step::AddMirror { mirror, .. } | Step::RemoveMirror { mirror, .. } => mirror.ours = false,
        Step::CreateLink { .. }
        | Step::DeleteLink { .. }
        | Step::SetAttrs { .. }
        | Step::SetUp { .. }
        | Step::SetController { .. }
        | Step::SetAlias { .. }
        | Step::AddAltName { .. }
        | Step::RemoveAltName { .. }
        | Step::SetFeatures { .. }
        | Step::SetVlans { .. }
        | Step::AddFdb { .. }
        | Step::RemoveFdb { .. }
        | Step::AddNeighbour { .. }
        | Step::RemoveNeighbour { .. }
        | Step::Set(_)
        | Step::ChangeRouting(_) => {}
    }
    Some(step)
}

fn disown(protocol: &mut Protocol) {
    if *protocol == Protocol::NETLOOM {
        *protocol = Protocol::STATIC;
    }
}

fn is_foreign(name: IfName) -> bool {
    name.as_str().starts_with(PREFIX)
}

fn of_foreign(route: &Route) -> bool {
    route.next_hops.iter().any(|hop| hop.link.is_some_and(is_foreign))
}

fn create(name: IfName, kind: LinkKind, number: u8, attr: Option<(Attr, Value)>, controller: Option<IfName>) -> Step {
    let attrs: Attrs = [(Attr::Mac, Value::Mac(mac(number)))].into_iter().chain(attr).collect();
    Step::CreateLink { name, kind, attrs, controller, up: true }
}

fn address(name: IfName, text: &str, prefix_len: u8) -> Step {
    Step::AddAddress { name, address: Address::new(ip(text), prefix_len, Protocol::STATIC) }
}

fn route(link: IfName, destination: &str, via: &str, table: RouteTable, metric: u32) -> Step {
    Step::AddRoute(Route {
        table,
        destination: destination.parse().expect("a prefix"),
        metric,
        kind: RouteType::Unicast,
        next_hops: vec![NextHop { via: Some(ip(via)), link: Some(link), weight: 1, onlink: false }],
        source: None,
        protocol: Protocol::STATIC,
        metrics: RouteMetrics::default(),
        extra: RouteExtra::default(),
    })
}

fn name(rest: &str) -> IfName {
    format!("{PREFIX}{rest}").parse().expect("a short name")
}

fn mac(number: u8) -> MacAddr {
    MacAddr::new([0x02, 0, 0, 0, 0x0f, number])
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn table(number: u32) -> RouteTable {
    number.try_into().expect("a table")
}
