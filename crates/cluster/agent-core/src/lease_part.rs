//! The part of a desired state that links have by their leases.
//!
//! Where drift is only reported, a lease that comes, changes or goes must not set anything else again. So no more
//! is set than its address and its routes, beside what the link has.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{Address, DesiredAddress, DesiredLink, HostState, KernelFeatures, Link, Observed, Route, RouteKey};
use netloom_types::{Family, IfName, Protocol};

use crate::LeaseRequest;

/// What these links have by their leases, of a state that was laid with them. A link that is not there has nothing: to
/// make it is no business of a lease.
pub(crate) fn of(
    state: &HostState,
    links: &BTreeSet<IfName>,
    desired_states: &BTreeMap<IfName, LeaseRequest>,
    observed: &Observed,
) -> HostState {
    let mut part = HostState { part_of: state.whole_of.clone(), ..HostState::default() };
    let wanted: BTreeSet<RouteKey> = state.routes.iter().map(|desired| desired.route.key()).collect();
    for name in links {
        let (Some(desired), Some(full), Some(there)) =
            (desired_states.get(name), state.links.get(name), observed.links.get(name))
        else {
            continue;
        };
        part.links.insert(*name, addressed(full, there, observed.kernel));
        part.routes.extend(state.routes.iter().filter(|route| route.origin == desired.origin).cloned());
        let gone = observed.routes.values().filter(|route| is_by_lease(route, *name, desired));
        part.absent_routes.extend(gone.map(Route::key).filter(|key| !wanted.contains(key)));
    }
    part
}

/// The link with its own addresses, but for those of leases that are over, and with that of its lease.
fn addressed(full: &DesiredLink, there: &Link, kernel: KernelFeatures) -> DesiredLink {
    let mut link = DesiredLink::new(full.name, there.kind.clone(), full.origin.clone());
    link.adoption = full.adoption;
    let desired_states = full.ipv4.addresses.as_deref().unwrap_or_default();
    let desired_for = |address: &Address| desired_states.iter().find(|desired| desired.address.key() == address.key());
    // What of ours nobody asks for was lent, also where it has no end.
    let ours = there.addresses.iter().filter(|address| {
        // Where the kernel keeps no marks, one of others that is desired too may be among them: it stays either way.
        let is_ours = !kernel.address_protocol || address.protocol == Protocol::NETLOOM;
        is_ours
            && Family::of(address.ip) == Family::Ipv4
            && desired_for(address).is_some_and(|desired| !desired.address.exact)
    });
    let kept = ours.map(|address| {
        let origin = desired_for(address).map_or(&full.origin, |desired| &desired.origin).clone();
        DesiredAddress { address: *address, origin }
    });
    let leased = desired_states.iter().filter(|desired| desired.address.exact).cloned();
    link.ipv4.addresses = Some(kept.chain(leased).collect());
    // Those of others are drift, or not our business.
    link.ipv4.keep_extra = true;
    link
}

/// Whether a route came with the lease of a link.
fn is_by_lease(route: &Route, link: IfName, desired: &LeaseRequest) -> bool {
    let over = route.next_hops.iter().any(|hop| hop.link == Some(link));
    over && route.protocol == Protocol::NETLOOM && (route.table, route.metric) == (desired.table, desired.metric)
}
