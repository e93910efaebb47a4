//! Links that stand on others go down with them.

use netloom_kernel_sim::SimHost;
use netloom_model::{Attr, DesiredLink, HostState, LinkKind, Origin, Ownership, Value};
use netloom_plan::{Options, PlanError, plan};
use netloom_types::{IfName, MacAddr};

fn name(text: &str) -> IfName {
    text.parse().expect("a name of these tests")
}

fn link(link: &str, kind: LinkKind, up: Option<bool>) -> DesiredLink {
    let mut desired = DesiredLink::new(name(link), kind, Origin::new("site.yaml", "", 7));
    desired.up = up;
    desired
}

fn vlan(on: &str, id: u64, called: &str, loose: bool) -> DesiredLink {
    let mut desired = link(called, LinkKind::Vlan, Some(true));
    desired.attrs.require(Attr::Base, Value::Link(name(on)));
    desired.attrs.require(Attr::VlanId, Value::Int(id));
    desired.attrs.require(Attr::VlanLooseBinding, Value::Bool(loose));
    desired
}

fn set(host: &mut SimHost, links: Vec<DesiredLink>) -> Result<(), PlanError> {
    let links = links.into_iter().map(|link| (link.name, link)).collect();
    let desired = HostState { links, ..HostState::default() };
    let planned = plan(&desired, host.observed(), &Ownership::default(), &Options::default())?;
    for step in &planned.plan.steps {
        host.apply(&step.step).expect("a planned step is taken");
    }
    assert_eq!(planned.expected.unmet(host.observed()), []);
    Ok(())
}

/// A card with a VLAN, a VLAN on that one whose name comes first, and one that is bound loosely.
fn host() -> SimHost {
    let mut host = SimHost::new();
    host.add_ethernet(name("eth0"), MacAddr::new([2, 0, 0, 0, 0, 1]));
    let card = link("eth0", LinkKind::Ethernet, Some(true));
    let vlans = [vlan("eth0", 5, "v5", false), vlan("v5", 6, "a6", false), vlan("eth0", 7, "v7", true)];
    set(&mut host, std::iter::once(card).chain(vlans).collect()).expect("it can be planned");
    host
}

fn states(host: &SimHost) -> Vec<bool> {
    ["eth0", "v5", "a6", "v7"].iter().map(|link| host.observed().links[&name(link)].up).collect()
}

#[test]
fn what_stands_on_a_base_goes_down_with_it() {
    let mut host = host();
    assert_eq!(states(&host), [true; 4]);
    set(&mut host, vec![link("eth0", LinkKind::Ethernet, Some(false))]).expect("it can be planned");
    assert_eq!(states(&host), [false, false, false, true]);
}

#[test]
fn what_is_named_without_a_state_goes_down_too() {
    let mut host = host();
    let named = link("v5", LinkKind::Vlan, None);
    set(&mut host, vec![link("eth0", LinkKind::Ethernet, Some(false)), named]).expect("it can be planned");
    assert_eq!(states(&host), [false, false, false, true]);
}

#[test]
fn a_link_that_shall_be_up_on_a_base_that_shall_not_is_refused_with_its_place() {
    let mut host = host();
    let refused =
        set(&mut host, vec![link("eth0", LinkKind::Ethernet, Some(false)), link("v5", LinkKind::Vlan, Some(true))]);
    let refused = refused.expect_err("it contradicts itself");
    assert_eq!(refused.reason(), "BaseDown");
    let given = refused.to_string();
    for words in ["site.yaml:7", "v5 cannot be up", "stands on eth0", "`state: down`"] {
        assert!(given.contains(words), "{words:?} in {given}");
    }
    assert_eq!(states(&host), [true; 4], "nothing was touched");
}
