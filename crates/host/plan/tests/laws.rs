//! Laws that every plan keeps, on random hosts and random desired states.
//!
//! A host is what a random desired state made of an empty one; then a second random desired state is planned. Desired
//! states that the kernel would refuse are fine, they must only be refused before anything is done.

use std::collections::BTreeMap;

use netloom_kernel_sim::SimHost;
use netloom_model::{
    Address, Attr, DesiredAddress, DesiredController, DesiredLink, DesiredRoute, DesiredRule, FdbEntry, FdbKey,
    HostState, LinkKind, NextHop, Observed, Origin, Ownership, Presence, Route, RouteExtra, RouteMetrics, RouteType,
    Rule, RuleAction, RuleKey, Step, StepError, Value, VlanMembership,
};
use netloom_plan::{Options, Planned, converge, differences, plan, unmet};
use netloom_types::{Family, IfName, MacAddr, Protocol, RouteTable, VlanId};
use proptest::prelude::*;

fn name(text: &str) -> IfName {
    text.parse().expect("a name of these tests")
}

fn origin() -> Origin {
    Origin::new("law.yaml", "", 1)
}

#[derive(Debug, Clone)]
struct Draw {
    link: usize,
    absent: bool,
    up: Option<bool>,
    controller: usize,
    number: u64,
    mtu: Option<u64>,
    v4: Option<Vec<u8>>,
    v6: Option<Vec<u8>>,
}

const LINKS: [(&str, LinkKind); 13] = [
    ("d0", LinkKind::Dummy),
    ("d1", LinkKind::Dummy),
    ("br0", LinkKind::Bridge),
    ("bond0", LinkKind::Bond),
    ("vrf0", LinkKind::Vrf),
    ("d0.v", LinkKind::Vlan),
    ("br0.v", LinkKind::Vlan),
    ("mv0", LinkKind::MacVlan),
    ("ve0", LinkKind::Veth),
    ("vx0", LinkKind::Vxlan),
    ("iv0", LinkKind::IpVlan),
    ("gt0", LinkKind::Gretap),
    ("lo", LinkKind::Loopback),
];

fn draw() -> impl Strategy<Value = Draw> {
    (
        0..LINKS.len(),
        prop::bool::weighted(0.15),
        prop_oneof![3 => Just(None), 1 => any::<bool>().prop_map(Some)],
        0usize..6,
        1u64..4,
        prop_oneof![2 => Just(None), 1 => (1400u64..=1500).prop_map(Some)],
        prop_oneof![1 => Just(None), 2 => prop::collection::vec(1u8..5, 0..3).prop_map(Some)],
        prop_oneof![2 => Just(None), 1 => prop::collection::vec(1u8..5, 0..3).prop_map(Some)],
    )
        .prop_map(|(link, absent, up, controller, number, mtu, v4, v6)| Draw {
            link,
            absent,
            up,
            controller,
            number,
            mtu,
            v4,
            v6,
        })
}

fn desired_link(draw: &Draw) -> DesiredLink {
    let (text, kind) = &LINKS[draw.link];
    let mut desired = DesiredLink::new(name(text), kind.clone(), origin());
    if draw.absent {
        desired.presence = Presence::Absent;
        return desired;
    }
    desired.up = draw.up;
    desired.controller = match (draw.controller, kind) {
        (1, LinkKind::Dummy | LinkKind::Veth | LinkKind::Vlan | LinkKind::Vxlan | LinkKind::Gretap) => {
            DesiredController::Of(name("br0"))
        }
        (2, LinkKind::Dummy | LinkKind::Veth) => DesiredController::Of(name("bond0")),
        (3, LinkKind::Dummy | LinkKind::Veth | LinkKind::Vlan | LinkKind::MacVlan | LinkKind::Bridge) => {
            DesiredController::Of(name("vrf0"))
        }
        (4, _) => DesiredController::Detached,
        _ => DesiredController::Keep,
    };
    let number = draw.number;
    match kind {
        LinkKind::Vlan => {
            let base = if *text == "d0.v" { "d0" } else { "br0" };
            desired.attrs.require(Attr::Base, Value::Link(name(base)));
            desired.attrs.require(Attr::VlanId, Value::Int(number));
        }
        LinkKind::Vrf => desired.attrs.require(Attr::VrfTable, Value::Int(1000 + number)),
        LinkKind::MacVlan => {
            desired.attrs.require(Attr::Base, Value::Link(name("d1")));
            desired.attrs.require(Attr::MacvlanMode, Value::Int([1, 2, 4, 8][usize::try_from(number).unwrap_or(0)]));
        }
        LinkKind::Vxlan => desired.attrs.require(Attr::VxlanId, Value::Int(number)),
        LinkKind::IpVlan => {
            desired.attrs.require(Attr::Base, Value::Link(name("d0")));
            desired.attrs.require(Attr::IpvlanMode, Value::Int(number - 1));
        }
        LinkKind::Gretap => {
            desired
                .attrs
                .require(Attr::TunnelRemote, Value::Ip([192, 0, 2, 250 + u8::try_from(number).unwrap_or(0)].into()));
        }
        LinkKind::Veth => desired.attrs.require(Attr::VethPeer, Value::Link(name("ve1"))),
        LinkKind::Bond => desired.attrs.require(Attr::BondMode, Value::Int(number - 1)),
        _ => {}
    }
    if desired.controller == DesiredController::Of(name("br0")) && draw.up.is_some() {
        let vlan = |n: u64| VlanId::try_from(u16::try_from(n).unwrap_or(1)).expect("a small number");
        let tagged = [vlan(10 + number), vlan(20)].into_iter().collect();
        desired.vlans = Some(VlanMembership { tagged, ..VlanMembership::access(vlan(number)) });
        let mac = MacAddr::new([2, 0, 0, 0, 9, u8::try_from(number).unwrap_or(0)]);
        let key = FdbKey { mac, vlan: Some(vlan(20)), dst: None, vni: None };
        desired.fdb = [(key, Some(FdbEntry { on_device: false, local: false, external: false }))].into();
    }
    if *kind == LinkKind::Loopback {
        return desired;
    }
    if let Some(mtu) = draw.mtu {
        desired.attrs.require(Attr::Mtu, Value::Int(mtu));
    }
    let addresses = |list: &[u8], family| {
        let mut seen = BTreeMap::new();
        for n in list {
            let ip = match family {
                Family::Ipv4 => std::net::IpAddr::from([192, 0, 2, *n]),
                Family::Ipv6 => std::net::IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(*n)]),
            };
            let len = if family == Family::Ipv4 { 24 } else { 64 };
            let address = Address::new(ip, len, Protocol::NETLOOM);
            seen.entry(*n).or_insert(DesiredAddress { address, origin: origin() });
        }
        Some(seen.into_values().collect())
    };
    if desired.controller == DesiredController::Keep
        || matches!(desired.controller, DesiredController::Of(c) if c == name("vrf0"))
    {
        desired.ipv4.addresses = draw.v4.as_deref().and_then(|list| addresses(list, Family::Ipv4));
        desired.ipv6.addresses = draw.v6.as_deref().and_then(|list| addresses(list, Family::Ipv6));
    }
    desired
}

fn host_state() -> impl Strategy<Value = HostState> {
    (prop::collection::vec(draw(), 1..7), prop::collection::vec((0u8..4, 1u8..5, any::<bool>()), 0..3), 0u32..3)
        .prop_map(|(draws, routes, rules)| {
            let mut state = HostState::default();
            for draw in &draws {
                let desired = desired_link(draw);
                state.links.entry(desired.name).or_insert(desired);
            }
            for (net, via, device) in routes {
                let via = (!device).then(|| std::net::IpAddr::from([192, 0, 2, via]));
                let hop = NextHop { via, link: Some(name(LINKS[usize::from(net % 2)].0)), weight: 1, onlink: false };
                let route = Route {
                    table: RouteTable::MAIN,
                    destination: format!("198.51.100.{}/28", net * 16).parse().expect("a prefix"),
                    metric: 0,
                    kind: RouteType::Unicast,
                    next_hops: vec![hop],
                    source: None,
                    protocol: Protocol::NETLOOM,
                    metrics: RouteMetrics::default(),
                    extra: RouteExtra::default(),
                };
                if !state.routes.iter().any(|there| there.route.key() == route.key()) {
                    state.routes.push(DesiredRoute { route, origin: origin() });
                }
            }
            for n in 0..rules {
                let key = RuleKey::new(Family::Ipv4, 30_000 + n, RuleAction::Table(RouteTable::MAIN));
                state.rules.push(DesiredRule { rule: Rule { key, protocol: Protocol::NETLOOM }, origin: origin() });
            }
            state
        })
}

/// Every link, with nothing special about any.
fn everything() -> HostState {
    let plain = |link| Draw { link, absent: false, up: None, controller: 0, number: 1, mtu: None, v4: None, v6: None };
    let links =
        (0..LINKS.len()).map(|link| desired_link(&plain(link))).map(|desired| (desired.name, desired)).collect();
    HostState { links, ..HostState::default() }
}

#[test]
fn the_host_that_the_laws_start_from_has_every_link() {
    let host = made(&HostState::default());
    assert!(LINKS.iter().all(|(link, _)| host.observed().links.contains_key(&name(link))));
}

/// A host with every link, then changed by as much of `desired` as goes.
fn made(desired: &HostState) -> SimHost {
    let mut host = SimHost::new();
    set(&mut host, &everything());
    for link in desired.links.values() {
        set(&mut host, &HostState { links: [(link.name, link.clone())].into(), ..HostState::default() });
    }
    for route in &desired.routes {
        set(&mut host, &HostState { routes: vec![route.clone()], ..HostState::default() });
    }
    set(&mut host, &HostState { rules: desired.rules.clone(), ..HostState::default() });
    // What a kernel remembers without showing it, such as who set an MTU, a planner cannot know; a
    // plan that fails for that reason is undone, and is not the matter of these laws.
    SimHost::from_observed(host.into_observed())
}

fn set(host: &mut SimHost, desired: &HostState) {
    if let Ok(planned) = plan(desired, host.observed(), &Ownership::default(), &Options::default()) {
        carry_out(host, &planned);
    }
}

fn carry_out(host: &mut SimHost, planned: &Planned) {
    for step in &planned.plan.steps {
        host.apply(&step.step).unwrap_or_else(|error| panic!("{}: {error}", step.step));
    }
}

/// Undo steps run on a host that may already be as they want it.
fn undo(host: &mut SimHost, steps: &[Step]) {
    for step in steps {
        match host.apply(step) {
            Ok(_) => {}
            Err(error) if step.is_removal() && error.is_gone() || error.errno == StepError::EEXIST => {}
            Err(error) => panic!("undo {step}: {error}"),
        }
    }
}

/// One line for each object, so that a difference can be read.
fn text(observed: &Observed) -> Vec<String> {
    let links = observed.links.values().map(|link| format!("{link:?}"));
    let routes = observed.routes.values().map(|route| format!("{route:?}"));
    links.chain(routes).chain(observed.rules.keys().map(|rule| format!("{rule:?}"))).collect()
}

fn first_difference(now: &[String], before: &[String]) -> String {
    let extra = now.iter().find(|line| !before.contains(line));
    let lost = before.iter().find(|line| !now.contains(line));
    format!("now  {extra:?}\nwas  {lost:?}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_carried_out_plan_fulfils_the_desired_state_and_leaves_nothing_to_do(first in host_state(), second in host_state()) {
        let mut host = made(&first);
        if let Ok(planned) = plan(&second, host.observed(), &Ownership::default(), &Options::default()) {
            carry_out(&mut host, &planned);
            let open = unmet(&second, host.observed()).unwrap();
            prop_assert!(open.is_empty(), "{open:?} after {:#?}", netloom_plan::text::lines(&planned.plan));
            let again = plan(&second, host.observed(), &planned.ownership, &Options::default()).unwrap();
            prop_assert!(again.plan.is_empty(), "{:?}", netloom_plan::text::lines(&again.plan));
        }
    }

    #[test]
    fn undo_after_any_step_restores_what_was(first in host_state(), second in host_state()) {
        let host = made(&first);
        let before = text(host.observed());
        if let Ok(planned) = plan(&second, host.observed(), &Ownership::default(), &Options::default()) {
            for done in 0..=planned.plan.steps.len() {
                let mut host = SimHost::from_observed(host.observed().clone());
                for step in &planned.plan.steps[..done] {
                    host.apply(&step.step).unwrap();
                }
                for step in planned.plan.steps[..done].iter().rev() {
                    undo(&mut host, &step.undo);
                }
                let (now, plan) = (text(host.observed()), netloom_plan::text::lines(&planned.plan));
                prop_assert!(now == before, "after {} of {:#?}\n{}", done, plan, first_difference(&now, &before));
            }
        }
    }

    #[test]
    fn converging_to_what_was_restores_it(first in host_state(), second in host_state()) {
        let mut host = made(&first);
        let before = text(host.observed());
        if let Ok(planned) = plan(&second, host.observed(), &Ownership::default(), &Options::default()) {
            for step in planned.plan.steps.iter().take(planned.plan.steps.len() / 2 + 1) {
                host.apply(&step.step).unwrap();
            }
            let mut host = SimHost::from_observed(host.into_observed());
            let back = converge(host.observed(), &planned.before).unwrap();
            for step in &back.steps {
                host.apply(&step.step).unwrap();
            }
            prop_assert_eq!(differences(&planned.before, host.observed()), vec![]);
            let now = text(host.observed());
            prop_assert!(now == before, "{}", first_difference(&now, &before));
        }
    }
}
