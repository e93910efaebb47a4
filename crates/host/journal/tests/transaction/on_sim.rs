//! Whole plans on the simulated host, killed at every step and again at every step of the undo.

use std::{cell::RefCell, panic::AssertUnwindSafe, time::Duration};

use netloom_journal::{BATCH, Cause, Incarnation, NoProbes, Outcome, Recovery, Request, Store, Transaction};
use netloom_kernel_sim::SimHost;
use netloom_model::{
    Address, Attr, DesiredAddress, DesiredController, DesiredIp, DesiredLink, DesiredRoute, DesiredRule, Engine,
    EngineError, Host, HostState, LinkKind, NextHop, Observed, Origin, Presence, Route, RouteExtra, RouteMetrics,
    RouteType, Rule, RuleAction, RuleKey, Scope, Step, StepError, Value, VlanMembership,
};
use netloom_types::{Family, IfName, MacAddr, Protocol};

use crate::bench::{Scratch, TestClock};

/// A simulated host whose visitors die before a certain step.
struct Mortal {
    host: SimHost,
    steps_to_live: Option<usize>,
    done: usize,
    batch: usize,
    /// Refuses this step.
    refuse: Option<usize>,
}

impl Mortal {
    fn new() -> Self {
        let mut host = SimHost::new();
        for n in 0..3 {
            let card = name(&format!("eth{n}"));
            host.add_ethernet(card, MacAddr::new([2, 0, 0, 0, 0, n]));
            host.apply(&Step::SetUp { name: card, up: true }).unwrap();
        }
        Self { host, steps_to_live: None, done: 0, batch: 1, refuse: None }
    }
}

impl Engine for Mortal {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        self.host.observe(scope)
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        let mut results = Vec::new();
        for step in steps {
            match &mut self.steps_to_live {
                Some(0) => panic!("killed"),
                Some(left) => *left -= 1,
                None => {}
            }
            self.done += 1;
            if self.refuse == Some(self.done) {
                results.push(Err(StepError::with(StepError::EPERM, "not today")));
                continue;
            }
            results.extend(self.host.execute(std::slice::from_ref(step))?);
        }
        Ok(results)
    }

    fn wait_for_change(&mut self, _: Duration) -> Result<bool, EngineError> {
        Ok(false)
    }
}

fn name(text: &str) -> IfName {
    text.parse().unwrap()
}

fn origin() -> Origin {
    Origin::new("site.yaml", "", 0)
}

fn link(text: &str, kind: LinkKind, attrs: &[(Attr, Value)]) -> DesiredLink {
    let mut desired = DesiredLink::new(name(text), kind, origin());
    desired.up = Some(true);
    desired.attrs = attrs.iter().cloned().collect();
    desired
}

fn port(mut desired: DesiredLink, controller: &str) -> DesiredLink {
    desired.controller = DesiredController::Of(name(controller));
    desired
}

fn with_address(mut desired: DesiredLink, address: &str) -> DesiredLink {
    let address = Address::new(address.parse().unwrap(), 24, Protocol::NETLOOM);
    desired.ipv4 = DesiredIp {
        enabled: Some(true),
        addresses: Some(vec![DesiredAddress { address, origin: origin() }]),
        ..DesiredIp::default()
    };
    desired
}

fn absent(text: &str, kind: LinkKind) -> DesiredLink {
    let mut desired = DesiredLink::new(name(text), kind, origin());
    desired.presence = Presence::Absent;
    desired
}

fn route(destination: &str, via: &str, out: &str, table: u32) -> DesiredRoute {
    let route = Route {
        table: table.try_into().unwrap(),
        destination: destination.parse().unwrap(),
        metric: 0,
        kind: RouteType::Unicast,
        next_hops: vec![NextHop { via: via.parse().ok(), link: Some(name(out)), weight: 1, onlink: false }],
        source: None,
        protocol: Protocol::NETLOOM,
        metrics: RouteMetrics::default(),
        extra: RouteExtra::default(),
    };
    DesiredRoute { route, origin: origin() }
}

fn rule(priority: u32, table: u32) -> DesiredRule {
    let key = RuleKey::new(Family::Ipv4, priority, RuleAction::Table(table.try_into().unwrap()));
    DesiredRule { rule: Rule { key, protocol: Protocol::NETLOOM }, origin: origin() }
}

fn state(links: Vec<DesiredLink>, routes: Vec<DesiredRoute>, rules: Vec<DesiredRule>) -> HostState {
    let links = links.into_iter().map(|desired| (desired.name, desired)).collect();
    HostState { links, routes, rules, ..HostState::default() }
}

fn base(of: &str) -> (Attr, Value) {
    (Attr::Base, Value::Link(name(of)))
}

fn vlan(text: &str, of: &str, id: u64) -> DesiredLink {
    link(text, LinkKind::Vlan, &[base(of), (Attr::VlanId, Value::Int(id))])
}

fn ethernet(text: &str) -> DesiredLink {
    link(text, LinkKind::Ethernet, &[])
}

/// What the host has first, and what is wanted then.
fn scenarios() -> Vec<(&'static str, HostState, HostState)> {
    let nothing = || state(vec![], vec![], vec![]);
    let vrf = |table| link("red", LinkKind::Vrf, &[(Attr::VrfTable, Value::Int(table))]);
    let stack = |id| {
        let child = with_address(link("mv0", LinkKind::MacVlan, &[base("v10")]), "198.51.100.1");
        state(
            vec![with_address(vlan("v10", "eth0", id), "192.0.2.1"), child, ethernet("eth0")],
            vec![route("203.0.113.0/24", "192.0.2.254", "v10", 254), route("10.0.0.0/8", "198.51.100.9", "mv0", 77)],
            vec![rule(100, 77)],
        )
    };
    let bridge = |vlans: u16| {
        let mut trunk = port(ethernet("eth1"), "br0");
        trunk.vlans = Some(VlanMembership {
            tagged: (2..2 + vlans).map(|id| id.try_into().unwrap()).collect(),
            ..VlanMembership::default()
        });
        let filtering = [(Attr::BridgeVlanFiltering, Value::Bool(true))];
        let bridge = with_address(link("br0", LinkKind::Bridge, &filtering), "192.0.2.1");
        state(vec![bridge, trunk, port(ethernet("eth2"), "br0")], vec![], vec![])
    };
    let bond = |mode| {
        let bond = link("bond0", LinkKind::Bond, &[(Attr::BondMode, Value::Int(mode))]);
        let ports = [port(ethernet("eth1"), "bond0"), port(ethernet("eth2"), "bond0")];
        let top = with_address(vlan("bond0.7", "bond0", 7), "192.0.2.1");
        state([vec![bond, top], ports.to_vec()].concat(), vec![], vec![])
    };
    let addressed = state(
        vec![with_address(ethernet("eth1"), "192.0.2.1")],
        vec![route("203.0.113.0/24", "192.0.2.254", "eth1", 254)],
        vec![],
    );
    let moved = state(vec![vrf(1000), port(ethernet("eth1"), "red")], vec![], vec![rule(500, 1000)]);
    let in_vrf = |table| {
        let inside = port(with_address(ethernet("eth1"), "192.0.2.1"), "red");
        state(
            vec![vrf(table), inside],
            vec![route("0.0.0.0/0", "192.0.2.254", "eth1", u32::try_from(table).unwrap())],
            vec![],
        )
    };
    let gone = state(vec![absent("v10", LinkKind::Vlan), absent("mv0", LinkKind::MacVlan)], vec![], vec![]);
    vec![
        ("a bridge with VLANs comes", nothing(), bridge(5)),
        ("its VLANs change", bridge(5), bridge(900)),
        ("a bond comes", nothing(), bond(1)),
        ("a bond changes its mode", bond(1), bond(0)),
        ("a card moves into a VRF", addressed, moved),
        ("a VRF changes its table", in_vrf(1000), in_vrf(1001)),
        ("a stack comes", nothing(), stack(10)),
        ("a VLAN with a child changes its id", stack(10), stack(20)),
        ("a stack goes", stack(10), gone),
    ]
}

/// One process with its turn; `None` when it was killed.
fn visit<T>(
    store: &Store,
    host: &RefCell<Mortal>,
    life: Option<usize>,
    body: impl FnOnce(&mut Transaction<'_>) -> T,
) -> Option<T> {
    let clock = TestClock::default();
    let mut host = host.borrow_mut();
    (host.steps_to_live, host.done) = (life, 0);
    let batch = host.batch;
    let visit = AssertUnwindSafe(|| {
        let transaction =
            Transaction::take(store, &mut *host, &clock, Incarnation::named("boot-1"), Duration::ZERO).unwrap();
        body(&mut transaction.with_batch(batch))
    });
    std::panic::catch_unwind(visit).ok()
}

fn set(transaction: &mut Transaction<'_>, desired: &HostState) -> Outcome {
    let request = Request::new(desired, "site.yaml");
    let prepared = transaction.prepare(&request).unwrap();
    transaction.run(&prepared, &request, &mut NoProbes).unwrap()
}

fn prepared_host(store: &Store, first: &HostState) -> RefCell<Mortal> {
    let host = RefCell::new(Mortal::new());
    let outcome = visit(store, &host, None, |transaction| set(transaction, first)).unwrap();
    assert!(matches!(outcome, Outcome::Confirmed | Outcome::Nothing), "{outcome:?}");
    host
}

fn snapshot(host: &RefCell<Mortal>) -> Host {
    host.borrow().host.observed().host.clone()
}

/// Asserts that two pictures are the same and says where they are not.
fn same(left: &Host, right: &Host, context: &str) {
    for name in left.links.keys().chain(right.links.keys()) {
        assert_eq!(left.links.get(name), right.links.get(name), "{context}: {name}");
    }
    assert_eq!(left, right, "{context}");
}

#[test]
fn whole_plans_killed_at_every_step_and_at_every_step_of_the_undo() {
    killed_everywhere(1);
}

#[test]
fn whole_plans_killed_in_the_middle_of_batches() {
    killed_everywhere(5);
    killed_everywhere(BATCH);
}

fn killed_everywhere(batch: usize) {
    for (what, first, then) in scenarios() {
        let scratch = Scratch::new();
        let store = scratch.store();
        let host = prepared_host(&store, &first);
        let start = snapshot(&host);
        let outcome = visit(&store, &host, None, |transaction| set(transaction, &then)).unwrap();
        assert_eq!(outcome, Outcome::Confirmed, "{what}");
        let steps = host.borrow().done;

        for life in 0..steps {
            let scratch = Scratch::new();
            let store = scratch.store();
            let host = prepared_host(&store, &first);
            host.borrow_mut().batch = batch;
            let owned = store.ownership().unwrap();
            assert_eq!(visit(&store, &host, Some(life), |transaction| set(transaction, &then)), None, "{what}: {life}");
            let mut undo_life = 0;
            while visit(&store, &host, Some(undo_life), |transaction| transaction.recover().unwrap()).is_none() {
                undo_life += 1;
            }
            assert!(undo_life > 0, "{what}: the undo was not killed even once");
            same(&snapshot(&host), &start, &format!("{what}, killed before step {life} of {steps}"));
            assert_eq!(store.ownership().unwrap(), owned);
            assert_eq!(
                visit(&store, &host, None, |transaction| transaction.recover().unwrap()),
                Some(Recovery::Nothing)
            );
        }
    }
}

#[test]
fn whole_plans_of_which_any_step_is_refused_while_later_ones_of_the_batch_work() {
    for (what, first, then) in scenarios() {
        let scratch = Scratch::new();
        let store = scratch.store();
        let host = prepared_host(&store, &first);
        let (start, owned) = (snapshot(&host), store.ownership().unwrap());
        host.borrow_mut().batch = BATCH;
        for refuse in 1.. {
            host.borrow_mut().refuse = Some(refuse);
            match visit(&store, &host, None, |transaction| set(transaction, &then)).unwrap() {
                Outcome::RolledBack { why: Cause::Step { number, .. }, .. } => assert_eq!(number, refuse, "{what}"),
                Outcome::Confirmed => break,
                other => panic!("{what}: {other:?}"),
            }
            same(&snapshot(&host), &start, &format!("{what}, refused at {refuse}"));
            assert_eq!(store.ownership().unwrap(), owned);
        }
    }
}

#[test]
fn whole_plans_rolled_back_when_asked() {
    for (what, first, then) in scenarios() {
        let scratch = Scratch::new();
        let store = scratch.store();
        let host = prepared_host(&store, &first);
        let start = snapshot(&host);
        let open = visit(&store, &host, None, |transaction| {
            let mut request = Request::new(&then, "site.yaml");
            request.confirm = false;
            let prepared = transaction.prepare(&request).unwrap();
            transaction.run(&prepared, &request, &mut NoProbes).unwrap()
        });
        assert!(matches!(open, Some(Outcome::Open(_))), "{what}: {open:?}");
        assert_ne!(snapshot(&host), start);
        visit(&store, &host, None, |transaction| transaction.rollback().unwrap()).unwrap();
        same(&snapshot(&host), &start, what);
    }
}

#[test]
fn the_same_desired_state_again_sends_nothing() {
    for (what, _, then) in scenarios() {
        let scratch = Scratch::new();
        let store = scratch.store();
        let host = prepared_host(&store, &then);
        let again = visit(&store, &host, None, |transaction| set(transaction, &then));
        assert_eq!((again, host.borrow().done), (Some(Outcome::Nothing), 0), "{what}");
    }
}
