//! Short words for tests, and the one law that every step is held to.

use netloom_model::{
    Address, Attr, Attrs, Host, LinkKind, NextHop, Observed, Route, RouteExtra, RouteMetrics, RouteType, Step,
    StepError, Target, Value,
};
use netloom_types::{Family, IfName, MacAddr, Protocol, RouteTable};

use crate::{SimHost, index::Index};

pub(crate) fn n(name: &str) -> IfName {
    name.parse().unwrap()
}

pub(crate) fn mac(last: u8) -> MacAddr {
    MacAddr::new([2, 0, 0, 0, 0, last])
}

pub(crate) fn a(text: &str) -> Address {
    let net: ipnet::IpNet = text.parse().unwrap();
    Address::new(net.addr(), net.prefix_len(), Protocol::NETLOOM)
}

pub(crate) fn attrs<const N: usize>(pairs: [(Attr, Value); N]) -> Attrs {
    pairs.into_iter().collect()
}

pub(crate) fn create(name: &str, kind: LinkKind, attrs: Attrs) -> Step {
    Step::CreateLink { name: n(name), kind, attrs, controller: None, up: false }
}

pub(crate) fn vlan(base: &str, id: u64) -> Step {
    let attrs = attrs([(Attr::Base, Value::Link(n(base))), (Attr::VlanId, Value::Int(id))]);
    create(&format!("{base}.{id}"), LinkKind::Vlan, attrs)
}

pub(crate) fn on_base(name: &str, kind: LinkKind, base: &str) -> Step {
    create(name, kind, attrs([(Attr::Base, Value::Link(n(base)))]))
}

pub(crate) fn vrf(name: &str, table: u64) -> Step {
    create(name, LinkKind::Vrf, attrs([(Attr::VrfTable, Value::Int(table))]))
}

pub(crate) fn up(name: &str) -> Step {
    Step::SetUp { name: n(name), up: true }
}

pub(crate) fn down(name: &str) -> Step {
    Step::SetUp { name: n(name), up: false }
}

pub(crate) fn delete(name: &str) -> Step {
    Step::DeleteLink { name: n(name) }
}

pub(crate) fn join(name: &str, controller: &str) -> Step {
    Step::SetController { name: n(name), controller: Some(n(controller)) }
}

pub(crate) fn leave(name: &str) -> Step {
    Step::SetController { name: n(name), controller: None }
}

pub(crate) fn add(name: &str, address: &str) -> Step {
    Step::AddAddress { name: n(name), address: a(address) }
}

pub(crate) fn del(name: &str, address: &str) -> Step {
    Step::RemoveAddress { name: n(name), address: a(address) }
}

/// The kind does not matter here: the host knows it.
pub(crate) fn set(name: &str, attr: Attr, value: Value) -> Step {
    Step::SetAttrs { name: n(name), kind: LinkKind::Dummy, attrs: attrs([(attr, value)]) }
}

pub(crate) fn hop(text: &str) -> NextHop {
    let (via, link) = text.split_once('%').unwrap();
    NextHop {
        via: (!via.is_empty()).then(|| via.parse().unwrap()),
        link: (!link.is_empty()).then(|| n(link)),
        weight: 1,
        onlink: false,
    }
}

/// A route in the main table over hops written `router%link`, each part optional.
pub(crate) fn route<const N: usize>(to: &str, hops: [&str; N]) -> Route {
    let destination: ipnet::IpNet = to.parse().unwrap();
    let mut next_hops: Vec<NextHop> = hops.into_iter().map(hop).collect();
    next_hops.sort_unstable();
    Route {
        table: RouteTable::MAIN,
        destination,
        metric: Route::default_metric(Family::of_net(destination)),
        kind: if next_hops.is_empty() { RouteType::Blackhole } else { RouteType::Unicast },
        next_hops,
        source: None,
        protocol: Protocol::NETLOOM,
        metrics: RouteMetrics::default(),
        extra: RouteExtra::default(),
    }
}

pub(crate) fn in_table(table: u32, mut route: Route) -> Route {
    route.table = RouteTable::try_from(table).unwrap();
    route
}

/// A host with these dummies, down; each has the hardware address 02:…:01, :02 and so on.
pub(crate) fn dummies<const N: usize>(names: [&str; N]) -> SimHost {
    let mut sim = SimHost::new();
    for (at, name) in names.into_iter().enumerate() {
        let last = u8::try_from(at + 1).unwrap();
        yes(&mut sim, &create(name, LinkKind::Dummy, attrs([(Attr::Mac, Value::Mac(mac(last)))])));
    }
    sim
}

/// The same, up.
pub(crate) fn up_dummies<const N: usize>(names: [&str; N]) -> SimHost {
    let mut sim = dummies(names);
    for name in names {
        yes(&mut sim, &up(name));
    }
    sim
}

/// Applies a step and checks the law: what it reports is exactly what it changed, a refused step
/// changes nothing, and the index fits the picture.
pub(crate) fn apply(sim: &mut SimHost, step: &Step) -> Result<Target, StepError> {
    let before = sim.observed().clone();
    let result = sim.apply(step);
    match &result {
        Ok(changed) => {
            assert_eq!(undone(sim.observed(), changed), before.host, "{step:?}");
            assert!(reports_only_changes(sim.observed(), changed), "{step:?}: {changed:?}");
        }
        Err(_) => assert_eq!(*sim.observed(), before, "{step:?}"),
    }
    assert_eq!(sim.index, Index::of(sim.observed()), "{step:?}");
    result
}

/// Applies a step that works.
pub(crate) fn yes(sim: &mut SimHost, step: &Step) -> Target {
    apply(sim, step).unwrap_or_else(|error| panic!("{step}: {error}"))
}

/// Applies steps that work.
pub(crate) fn all<const N: usize>(sim: &mut SimHost, steps: [Step; N]) {
    for step in steps {
        yes(sim, &step);
    }
}

/// Applies a step that is refused and returns the error number.
pub(crate) fn no(sim: &mut SimHost, step: &Step) -> i32 {
    apply(sim, step).expect_err(&step.to_string()).errno
}

/// The addresses of a link, as text.
pub(crate) fn addresses(sim: &SimHost, name: &str) -> Vec<String> {
    sim.link(n(name)).unwrap().addresses.iter().map(ToString::to_string).collect()
}

/// The routes, as text.
pub(crate) fn routes(sim: &SimHost) -> Vec<String> {
    sim.observed().routes.values().map(ToString::to_string).collect()
}

/// The names of the links that a step changed.
pub(crate) fn touched(changed: &Target) -> Vec<&str> {
    changed.links.keys().map(IfName::as_str).collect()
}

fn undone(after: &Observed, changed: &Target) -> Host {
    let mut host = after.host.clone();
    overlay(&mut host.links, &changed.links);
    overlay(&mut host.routes, &changed.routes);
    overlay(&mut host.rules, &changed.rules);
    changed.settings.values().cloned().for_each(|before| host.settings.set(before));
    for (line, was_there) in &changed.routing {
        let lines = host.routing.get_or_insert_default();
        if *was_there {
            lines.insert(line.clone())
        } else {
            lines.remove(line)
        };
    }
    host
}

fn overlay<K: Ord + Clone, V: Clone>(
    map: &mut std::collections::BTreeMap<K, V>,
    before: &std::collections::BTreeMap<K, Option<V>>,
) {
    for (key, value) in before {
        match value {
            Some(value) => map.insert(key.clone(), value.clone()),
            None => map.remove(key),
        };
    }
}

fn reports_only_changes(after: &Observed, changed: &Target) -> bool {
    changed.links.iter().all(|(name, before)| after.links.get(name) != before.as_ref())
        && changed.routes.iter().all(|(key, before)| after.routes.get(key) != before.as_ref())
        && changed.rules.iter().all(|(key, before)| after.rules.get(key) != before.as_ref())
}
