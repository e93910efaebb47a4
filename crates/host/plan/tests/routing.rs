//! Lines of routing daemons: who has them, when they come and go between links, and what a silent daemon changes.

use std::{collections::BTreeSet, net::IpAddr, sync::Arc};

use netloom_kernel_sim::SimHost;
use netloom_model::{
    Address, Attr, DesiredAddress, DesiredLink, DesiredRoutingLine, HostState, LinkKind, Origin, Ownership,
    RoutingLine, Step, Value,
};
use netloom_plan::{Options, PlanError, Planned, plan, text};
use netloom_types::Protocol;

const BGP: &str = "router bgp 65001";
const OF_BLUE: &str = "router bgp 65001 vrf blue";

fn line(context: &[&'static str], text: &'static str) -> RoutingLine {
    RoutingLine::new(context.iter().copied(), text).expect("a line of these tests")
}

fn origin() -> Origin {
    Origin::new("site.yaml", "", 1)
}

/// What a person configured.
fn foreign() -> RoutingLine {
    line(&[BGP], "bgp router-id 10.0.0.1")
}

/// A host with daemons that somebody else uses too.
fn host() -> SimHost {
    let mut observed = SimHost::new().into_observed();
    observed.host.routing = Some([foreign()].into());
    SimHost::from_observed(observed)
}

fn silent(host: &SimHost) -> SimHost {
    let mut observed = host.observed().clone();
    observed.host.routing = None;
    observed.routing_away = Some("zebra does not answer".into());
    SimHost::from_observed(observed)
}

fn lines(host: &SimHost) -> BTreeSet<RoutingLine> {
    host.observed().routing.clone().expect("a daemon that answers")
}

/// All that `site` wants.
fn whole(links: impl IntoIterator<Item = DesiredLink>, wanted: impl IntoIterator<Item = RoutingLine>) -> HostState {
    let routing = wanted.into_iter().map(|line| DesiredRoutingLine { line, origin: origin() });
    HostState {
        links: links.into_iter().map(|link| (link.name, link)).collect(),
        routing: routing.collect(),
        whole_of: Some(Arc::from("site")),
        ..HostState::default()
    }
}

fn vrf() -> DesiredLink {
    let mut link = DesiredLink::new("blue".parse().expect("a name of these tests"), LinkKind::Vrf, origin());
    link.attrs.require(Attr::VrfTable, Value::Int(1001));
    link
}

fn blue() -> [RoutingLine; 4] {
    let (vrf, vni) = (line(&[], "vrf blue"), line(&["vrf blue"], "vni 100"));
    [vrf, vni, line(&[], OF_BLUE), line(&[OF_BLUE], "bgp router-id 10.0.0.1")]
}

fn set(host: &mut SimHost, desired: &HostState, owned: &Ownership) -> Planned {
    let planned = plan(desired, host.observed(), owned, &Options::default()).expect("a plan");
    let before = host.observed().clone();
    for step in &planned.plan.steps {
        host.apply(&step.step).expect("a planned step is taken");
    }
    assert_eq!(planned.expected.unmet(host.observed()), []);
    let after = host.observed().clone();
    for step in planned.plan.steps.iter().rev().flat_map(|planned| &planned.undo) {
        host.apply(step).expect("a step back is taken");
    }
    assert_eq!(host.observed().host, before.host, "the undo gives everything back");
    *host = SimHost::from_observed(after);
    planned
}

#[test]
fn lines_come_and_go_beside_those_of_others() {
    let mut host = host();
    let first = line(&[BGP], "neighbor 10.0.0.2 remote-as 65002");
    let planned = set(&mut host, &whole([], [first.clone(), foreign()]), &Ownership::default());
    assert_eq!(lines(&host), [foreign(), first.clone()].into());
    assert_eq!(
        text::lines(&planned.plan)[0].to_string(),
        format!("  + routing {BGP}: neighbor 10.0.0.2 remote-as 65002")
    );
    let second = line(&[BGP], "neighbor 10.0.0.2 remote-as 65003");
    let planned = set(&mut host, &whole([], [second.clone()]), &planned.ownership);
    assert_eq!(planned.plan.steps.len(), 1, "replaced in one change, so that no session goes in between");
    assert_eq!(text::summary(&planned.plan).to_string(), "1 to add, 0 to change, 1 to remove");
    assert_eq!(lines(&host), [foreign(), second].into());
    let planned = set(&mut host, &whole([], []), &planned.ownership);
    assert_eq!(lines(&host), [foreign()].into(), "what was there before somebody asked for it stays");
    assert!(planned.ownership.claims.is_empty());
}

#[test]
fn a_daemon_gives_a_vrf_up_before_its_link_goes_and_forgets_its_name_after_that() {
    let mut host = host();
    let planned = set(&mut host, &whole([vrf()], blue()), &Ownership::default());
    let is_routing = |step: &Step| matches!(step, Step::ChangeRouting(_));
    assert!(is_routing(&planned.plan.steps.last().unwrap().step), "the link is there first");
    let planned = set(&mut host, &whole([], []), &planned.ownership);
    let order: Vec<String> = text::lines(&planned.plan).iter().map(ToString::to_string).collect();
    let at =
        |what: &str| order.iter().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {order:#?}"));
    for first in ["vni 100", &format!("routing {OF_BLUE}")] {
        assert!(at(first) < at("link blue"), "{order:#?}");
    }
    assert!(order.last().unwrap().ends_with("routing vrf blue"), "{order:#?}");
    assert_eq!(lines(&host), [foreign()].into());
}

#[test]
fn what_somebody_removed_is_drift_and_comes_back() {
    let mut host = host();
    let desired = whole([], [line(&[BGP], "neighbor 10.0.0.2 remote-as 65002")]);
    let planned = set(&mut host, &desired, &Ownership::default());
    let mut observed = host.into_observed();
    observed.host.routing = Some([foreign()].into());
    let drift = netloom_plan::unmet(&desired, &observed).unwrap();
    assert_eq!(drift[0].path, format!("routing \"{BGP}: neighbor 10.0.0.2 remote-as 65002\""));
    let again = set(&mut SimHost::from_observed(observed), &desired, &planned.ownership);
    assert_eq!(again.plan.steps.len(), 1);
    assert_eq!(again.ownership, planned.ownership);
}

#[test]
fn without_a_daemon_nothing_begins_and_what_is_to_go_waits() {
    let mut host = host();
    let desired = whole([vrf()], blue());
    let refused = plan(&desired, silent(&host).observed(), &Ownership::default(), &Options::default()).unwrap_err();
    assert!(matches!(refused, PlanError::NoRouting { .. }), "{refused}");
    assert!(refused.to_string().contains("zebra does not answer"), "{refused}");
    assert_eq!(refused.reason(), "NoRoutingDaemon");
    let planned = set(&mut host, &desired, &Ownership::default());
    let released = plan(&whole([], []), silent(&host).observed(), &planned.ownership, &Options::default()).unwrap();
    assert_eq!(released.ownership.claims.len(), 4, "they are still known to be ours");
    set(&mut host, &whole([], []), &released.ownership);
    assert_eq!(lines(&host), [foreign()].into());
}

#[test]
fn an_address_that_daemons_have_not_heard_of_goes_and_comes_again() {
    let mut host = host();
    let mut bridge = DesiredLink::new("br0".parse().expect("a name of these tests"), LinkKind::Bridge, origin());
    let address = Address::new(IpAddr::from([10, 0, 0, 1]), 24, Protocol::NETLOOM);
    bridge.ipv4.addresses = Some(vec![DesiredAddress { address, origin: origin() }]);
    let desired = whole([bridge], []);
    let owned = set(&mut host, &desired, &Ownership::default()).ownership;
    let mut observed = host.observed().clone();
    let strange = ("lo".parse().expect("a name of these tests"), IpAddr::from([127, 0, 0, 1]));
    observed.unheard = [("br0".parse().expect("a name of these tests"), address.ip), strange].into();
    let mut host = SimHost::from_observed(observed);
    let unmet = netloom_plan::unmet(&desired, host.observed()).expect("a goal");
    let unmet: Vec<String> = unmet.iter().map(ToString::to_string).collect();
    assert_eq!(unmet, ["br0.address 10.0.0.1: wanted known to zebra, got not known to it"]);
    let planned = set(&mut host, &desired, &owned);
    let steps: Vec<&Step> = planned.plan.steps.iter().map(|planned| &planned.step).collect();
    assert!(matches!(steps[..], [Step::RemoveAddress { .. }, Step::AddAddress { .. }]), "{steps:?}");
}
