//! The part of a wish that links have by their leases.
//!
//! Where drift is only reported, a lease that comes, changes or goes must not set anything else again. So no more is
//! wished for than its address and its routes, beside what the link has.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{Address, AddressWish, HostState, KernelFeatures, Link, LinkWish, Observed, Route, RouteKey};
use netloom_types::{Family, IfName, Protocol};

use crate::LeaseWish;

/// What these links have by their leases, of a state that was laid with them. A link that is not there has nothing: to
/// make it is no business of a lease.
pub(crate) fn of(
    state: &HostState,
    links: &BTreeSet<IfName>,
    wishes: &BTreeMap<IfName, LeaseWish>,
    observed: &Observed,
) -> HostState {
    let mut part = HostState { part_of: state.whole_of.clone(), ..HostState::default() };
    let wanted: BTreeSet<RouteKey> = state.routes.iter().map(|wish| wish.route.key()).collect();
    for name in links {
        let (Some(wish), Some(full), Some(there)) = (wishes.get(name), state.links.get(name), observed.links.get(name))
        else {
            continue;
        };
        part.links.insert(*name, addressed(full, there, observed.kernel));
        part.routes.extend(state.routes.iter().filter(|route| route.origin == wish.origin).cloned());
        let gone = observed.routes.values().filter(|route| is_by_lease(route, *name, wish));
        part.absent_routes.extend(gone.map(Route::key).filter(|key| !wanted.contains(key)));
    }
    part
}

/// The link with its own addresses, but for those of leases that are over, and with that of its lease.
fn addressed(full: &LinkWish, there: &Link, kernel: KernelFeatures) -> LinkWish {
    let mut link = LinkWish::new(full.name, there.kind.clone(), full.origin.clone());
    link.adoption = full.adoption;
    let wishes = full.ipv4.addresses.as_deref().unwrap_or_default();
    let wish_for = |address: &Address| wishes.iter().find(|wish| wish.address.key() == address.key());
    // What of ours nobody wishes for was lent, also where it has no end.
    let ours = there.addresses.iter().filter(|address| {
        // Where the kernel keeps no marks, one of others that is wished for too may be among them: it stays either way.
        let is_ours = !kernel.address_protocol || address.protocol == Protocol::NETLOOM;
        is_ours && Family::of(address.ip) == Family::Ipv4 && wish_for(address).is_some_and(|wish| !wish.address.exact)
    });
    let kept = ours.map(|address| {
        let origin = wish_for(address).map_or(&full.origin, |wish| &wish.origin).clone();
        AddressWish { address: *address, origin }
    });
    let leased = wishes.iter().filter(|wish| wish.address.exact).cloned();
    link.ipv4.addresses = Some(kept.chain(leased).collect());
    // Those of others are drift, or not our business.
    link.ipv4.keep_extra = true;
    link
}

/// Whether a route came with the lease of a link.
fn is_by_lease(route: &Route, link: IfName, wish: &LeaseWish) -> bool {
    let over = route.next_hops.iter().any(|hop| hop.link == Some(link));
    over && route.protocol == Protocol::NETLOOM && (route.table, route.metric) == (wish.table, wish.metric)
}
