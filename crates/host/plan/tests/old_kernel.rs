//! What a plan makes of kernels that lack something.

use netloom_kernel_sim::SimHost;
use netloom_model::{
    Address, DesiredAddress, DesiredLink, HostState, KernelFeatures, KernelVersion, LinkKind, Origin, Ownership, Step,
};
use netloom_plan::{Options, PlanError, Planned, plan};
use netloom_types::{IfName, Protocol};

fn name() -> IfName {
    "d0".parse().expect("a name of these tests")
}

fn address(ip: &str, protocol: Protocol) -> Address {
    Address::new(ip.parse().expect("an address of these tests"), 24, protocol)
}

/// A link with these addresses, beside which others may be.
fn desired(addresses: &[Address]) -> HostState {
    let origin = || Origin::new("site.yaml", "", 1);
    let mut link = DesiredLink::new(name(), LinkKind::Dummy, origin());
    let asked = |&address: &Address| DesiredAddress { address, origin: origin() };
    link.ipv4.addresses = Some(addresses.iter().map(asked).collect());
    link.ipv4.keep_extra = true;
    HostState { links: [(name(), link)].into(), ..HostState::default() }
}

fn set(host: &mut SimHost, desired: &HostState, owned: &Ownership) -> Result<Planned, PlanError> {
    let planned = plan(desired, host.observed(), owned, &Options::default())?;
    for step in &planned.plan.steps {
        host.apply(&step.step).expect("a planned step is taken");
    }
    assert_eq!(planned.expected.unmet(host.observed()), []);
    Ok(planned)
}

fn there(host: &SimHost) -> Vec<String> {
    host.observed().links[&name()].addresses.iter().map(ToString::to_string).collect()
}

#[test]
fn kernels_before_the_oldest_are_refused() {
    let version = KernelVersion { major: 4, minor: 19 };
    let mut host = SimHost::with_kernel(KernelFeatures { version: Some(version), ..KernelFeatures::OLDEST });
    let refused = set(&mut host, &desired(&[]), &Ownership::default()).unwrap_err();
    assert_eq!((refused.clone(), refused.reason()), (PlanError::OldKernel { version }, "KernelTooOld"));
    assert!(refused.to_string().contains("kernel 4.19 is too old: netloom needs 5.10 or newer"), "{refused}");
}

#[test]
fn the_record_knows_ours_where_the_kernel_does_not() {
    let mut host = SimHost::with_kernel(KernelFeatures::OLDEST);
    let (one, two) = (address("192.0.2.1", Protocol::NETLOOM), address("198.51.100.1", Protocol::NETLOOM));
    let first = set(&mut host, &desired(&[one]), &Ownership::default()).unwrap();
    assert_eq!(host.observed().links[&name()].addresses[0].protocol, Protocol::UNSPEC);
    assert!(plan(&desired(&[one]), host.observed(), &first.ownership, &Options::default()).unwrap().plan.is_empty());
    host.apply(&Step::AddAddress { name: name(), address: address("203.0.113.1", Protocol::STATIC) }).unwrap();
    set(&mut host, &desired(&[two]), &first.ownership).unwrap();
    assert_eq!(there(&host), ["203.0.113.1/24", "198.51.100.1/24"]);
}

#[test]
fn without_its_record_an_address_is_somebody_elses() {
    let mut host = SimHost::with_kernel(KernelFeatures::OLDEST);
    let (one, two) = (address("192.0.2.1", Protocol::NETLOOM), address("198.51.100.1", Protocol::NETLOOM));
    set(&mut host, &desired(&[one]), &Ownership::default()).unwrap();
    set(&mut host, &desired(&[two]), &Ownership::default()).unwrap();
    assert_eq!(there(&host), ["192.0.2.1/24", "198.51.100.1/24"]);
}

#[test]
fn a_protocol_that_the_kernel_has_no_room_for_is_refused() {
    let mut host = SimHost::with_kernel(KernelFeatures::OLDEST);
    let refused = set(&mut host, &desired(&[address("192.0.2.1", Protocol(42))]), &Ownership::default()).unwrap_err();
    let words = "address 192.0.2.1/24 cannot carry protocol 42: this kernel keeps no protocol of an address";
    assert!(refused.reason() == "NoAddressProtocol" && refused.to_string().contains(words), "{refused}");
    // One that is there already does what was asked, whoever made it.
    set(&mut host, &desired(&[address("192.0.2.1", Protocol::NETLOOM)]), &Ownership::default()).unwrap();
    set(&mut host, &desired(&[address("192.0.2.1", Protocol(42))]), &Ownership::default()).unwrap();
}
