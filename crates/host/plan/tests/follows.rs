//! What the kernel derives from something else follows it, unless somebody asks for a value.

use netloom_kernel_sim::SimHost;
use netloom_model::{Attr, DesiredController, DesiredLink, HostState, LinkKind, Origin, Ownership, Value};
use netloom_plan::{Options, Planned, plan};
use netloom_types::IfName;

const ACTIVE_BACKUP: u64 = 1;
const BALANCE_XOR: u64 = 2;

fn name(text: &str) -> IfName {
    text.parse().expect("a name of these tests")
}

fn link(link: &str, kind: LinkKind) -> DesiredLink {
    let mut desired = DesiredLink::new(name(link), kind, Origin::new("site.yaml", "", 7));
    desired.up = Some(true);
    desired
}

/// A bond of this mode in a bridge, and what its port shall cost.
fn bond(mode: u64, cost: Option<u64>) -> DesiredLink {
    let mut desired = link("bond0", LinkKind::Bond);
    desired.attrs.require(Attr::BondMode, Value::Int(mode));
    desired.controller = DesiredController::Of(name("br0"));
    if let Some(cost) = cost {
        desired.attrs.require(Attr::PortPathCost, Value::Int(cost));
    }
    desired
}

fn set(host: &mut SimHost, links: impl IntoIterator<Item = DesiredLink>) -> Planned {
    let links = links.into_iter().map(|link| (link.name, link)).collect();
    let desired = HostState { links, ..HostState::default() };
    let planned =
        plan(&desired, host.observed(), &Ownership::default(), &Options::default()).expect("it can be planned");
    for step in &planned.plan.steps {
        host.apply(&step.step).expect("a planned step is taken");
    }
    planned
}

/// What is not as expected when the bond changes its mode and the bridge then finds another cost.
fn unmet(cost: Option<u64>) -> usize {
    let mut host = SimHost::new();
    set(&mut host, [link("br0", LinkKind::Bridge), bond(ACTIVE_BACKUP, cost)]);
    let planned = set(&mut host, [bond(BALANCE_XOR, cost)]);
    let mut after = host.observed().clone();
    let bond = after.host.links.get_mut(&name("bond0")).expect("the bond is there");
    bond.attrs.set(Attr::PortPathCost, Value::Int(1));
    planned.expected.unmet(&after).len()
}

#[test]
fn the_cost_of_a_bond_in_a_bridge_follows_its_speed() {
    assert_eq!(unmet(None), 0);
}

#[test]
fn a_cost_that_somebody_asks_for_stays() {
    assert_eq!(unmet(Some(7)), 1);
}
