//! Leases: which links ask for one, and what a link gets by one.
//!
//! Who wants a lease is read from the entries of a desired state before anything is compared with a host, so that it is
//! known on a host that lacks the links still. What was given joins the desired state when it is compared with the
//! host: an address that ends with its lease, routes, and how large packets are. So a lease that comes, changes or goes
//! is a change like any other, and one that does not come holds up nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use netloom_api::{hostnet, pipeline::node_network_config::LeaseProblem};
use netloom_dhcp::{HostName, Lease, RouteChoice};
use netloom_model::{
    Address, Attr, DesiredAddress, DesiredDhcp, DesiredRoute, HostState, NextHop, Observed, Origin, Route, RouteType,
};
use netloom_nmstate::{Interface, State};
use netloom_types::{Family, IfName, Lifetime, Protocol, RouteTable, VlanId};

use crate::{
    Failure, Reason,
    document::{Entries, Entry},
    packet_size,
};

/// The metric of routes that a server gives, unless the desired state says another: behind those of the node.
const METRIC: u32 = 1024;
/// A lease counts as over so many seconds before its end: an address must not end while it is being set.
const LAST: i64 = 2;
/// The objects whose interfaces are as large as their uplinks allow, and not as somebody specified.
const HOST_NETWORK: (&str, &str) = (hostnet::GROUP, "HostNetworkConfig");

/// How a link asks for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    /// What tells this lease from the others of the node for as long as the network lives.
    pub network: String,
    /// The VLAN of it.
    pub vlan: Option<VlanId>,
    /// Which routes of the lease are used.
    pub routes: RouteChoice,
    /// What the node calls itself to servers.
    pub name: NameChoice,
    /// The table that routes of the lease go to.
    pub(crate) table: RouteTable,
    /// Their metric.
    pub(crate) metric: u32,
    /// Whether a person specified how large packets are: then no lease makes them smaller.
    pub(crate) sized: bool,
    pub(crate) origin: Origin,
}

impl LeaseRequest {
    /// What the lease is of: whoever asks for another network's has to begin again.
    pub fn key(&self) -> (&str, Option<VlanId>) {
        (&self.network, self.vlan)
    }

    /// Whether servers are asked the same by both, and of what they give the same is used.
    pub fn asks_like(&self, other: &Self) -> bool {
        (self.key(), self.routes, &self.name) == (other.key(), other.routes, &other.name)
    }
}

/// What a node calls itself to servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChoice {
    /// Nothing.
    Nothing,
    /// Its own name.
    Own,
    /// This name.
    Other(HostName),
}

/// Which links shall have leases from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseOrder {
    /// Its number: what is reported in answer to an earlier one does not count.
    pub number: u64,
    /// How each of them asks for it.
    pub links: BTreeMap<IfName, LeaseRequest>,
    /// What becomes of those that had leases before.
    pub others: Others,
}

/// What becomes of leases that nobody asks for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They go on: the change that does without them may fail yet, and then their addresses stay.
    Keep,
    /// They are given back.
    GiveBack,
    /// They are only not renewed any more: their addresses stay until they end.
    Leave,
}

/// What a link that asks for a lease has now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leased {
    /// What it was given.
    pub given: Option<Given>,
    /// What is wrong, also while the lease still runs.
    pub problem: Option<LeaseProblem>,
}

/// What a server gave to a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The lease.
    pub lease: Lease,
    /// The routes of it that are used.
    pub routes: Vec<netloom_dhcp::Route>,
    /// When it ends, on the clock that decisions are made with; none for a lease without an end.
    pub ends: Option<Timestamp>,
}

impl Given {
    /// Whether the link has the same by both. The clocks of two machines in one differ by little.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.lease == other.lease && self.routes == other.routes
    }

    /// How much time is left; none when it is over, or as good as.
    fn left(&self, now: Timestamp) -> Option<Lifetime> {
        let Some(ends) = self.ends else { return Some(Lifetime::Forever) };
        let seconds = ends.duration_since(now).as_secs();
        (seconds > LAST).then(|| Lifetime::Seconds(u32::try_from(seconds).unwrap_or(u32::MAX - 1)))
    }
}

/// What the links that ask for leases were given.
pub type Leases = BTreeMap<IfName, Given>;

/// The links of a desired state that ask for a lease, or why one cannot.
pub(crate) fn wanted(entries: &Entries) -> Result<BTreeMap<IfName, LeaseRequest>, Failure> {
    let mut all = BTreeMap::new();
    for entry in entries.interfaces.iter().filter(|entry| entry.value.state != Some(State::Absent)) {
        if entry.value.lease(Family::Ipv6).is_some() {
            let why = "there is no client for DHCPv6 here; give addresses, or take what routers advertise (autoconf)";
            return Err(refused(entry, "ipv6.dhcp", why));
        }
        if let Some(dhcp) = entry.value.lease(Family::Ipv4) {
            all.insert(entry.value.name, desired(entry, &dhcp)?);
        }
    }
    Ok(all)
}

fn desired(entry: &Entry<Interface>, dhcp: &DesiredDhcp) -> Result<LeaseRequest, Failure> {
    if entry.value.is_found_by_mac() {
        let why = "who asks for a lease must be named, not found by a hardware address; name the interface itself";
        return Err(refused(entry, "ipv4.dhcp", why));
    }
    if dhcp.auto_dns == Some(true) {
        let why = "name servers of a lease are not used here; say them under dns-resolver, and auto-dns: false";
        return Err(refused(entry, "ipv4.auto-dns", why));
    }
    if !matches!(dhcp.client_id.as_deref(), None | Some("iaid+duid")) {
        let why = "the node tells its networks apart to servers by iaid+duid, and by nothing else";
        return Err(refused(entry, "ipv4.dhcp-client-id", why));
    }
    if dhcp.auto_gateway == Some(true) && dhcp.auto_routes == Some(false) {
        let why = "the way to everywhere is one of the routes of a lease; say auto-routes: true too";
        return Err(refused(entry, "ipv4.auto-gateway", why));
    }
    let table = dhcp.route_table.and_then(|id| RouteTable::try_from(id).ok());
    let (network, vlan) = network(&entry.value);
    let sized = entry.value.attrs.int(Attr::Mtu).is_some();
    Ok(LeaseRequest {
        network,
        vlan,
        routes: match (dhcp.auto_routes, dhcp.auto_gateway) {
            (Some(false), _) => RouteChoice::None,
            (Some(true) | None, Some(true)) => RouteChoice::All,
            (Some(true) | None, Some(false) | None) => RouteChoice::Specific,
        },
        name: host_name(entry, dhcp)?,
        table: table.unwrap_or(RouteTable::MAIN),
        metric: dhcp.route_metric.unwrap_or(METRIC),
        // What a host network has by its uplink is how much there can be.
        sized: sized && !entry.origin.owners().any(|owner| owner.is_of(HOST_NETWORK)),
        origin: entry.origin_of("ipv4.dhcp"),
    })
}

/// A VLAN is known by what it is on, as the name of its link may be a short one: by the cluster network where it is on the
/// bridge of one. Another link may be called like a cluster network, so what is on that has a mark.
fn network(entry: &Interface) -> (String, Option<VlanId>) {
    let id = entry.attrs.int(Attr::VlanId).and_then(|id| VlanId::try_from(u16::try_from(id).ok()?).ok());
    match (entry.attrs.link(Attr::Base), id) {
        (Some(base), Some(id)) => {
            let base = base.as_str();
            (base.strip_suffix("-br").map_or_else(|| format!("@{base}"), str::to_owned), Some(id))
        }
        _ => (entry.name.to_string(), None),
    }
}

fn host_name(entry: &Entry<Interface>, dhcp: &DesiredDhcp) -> Result<NameChoice, Failure> {
    if dhcp.send_hostname == Some(false) {
        return Ok(NameChoice::Nothing);
    }
    let Some(name) = &dhcp.custom_hostname else { return Ok(NameChoice::Own) };
    match name.parse() {
        Ok(name) => Ok(NameChoice::Other(name)),
        Err(error) => Err(refused(entry, "ipv4.dhcp-custom-hostname", &error.to_string())),
    }
}

fn refused(entry: &Entry<Interface>, path: &str, why: &str) -> Failure {
    let at = Origin { path: format!("{}.{path}", entry.origin.path).into(), ..entry.origin.clone() };
    Failure::new(Reason::InvalidDesiredState, format_args!("{at}: {why}"))
}

/// Lays what was given over what is wanted of the links that ask for it. Routes that people want over such a link wait for
/// its lease: a server that does not answer is no fault of the desired state.
pub(crate) fn lay(
    desired_states: &BTreeMap<IfName, LeaseRequest>,
    (leases, now): (&Leases, Timestamp),
    state: &mut HostState,
    observed: &Observed,
) {
    for (name, desired) in desired_states {
        let most = packet_size::carried(*name, state, observed);
        let Some(link) = state.links.get_mut(name) else { continue };
        let mtu = leases.get(name).filter(|given| given.left(now).is_some()).and_then(|given| given.lease.mtu);
        if !desired.sized {
            packet_size::lend(link, mtu.map(u64::from), most, observed);
        }
        link.ipv4.dhcp = None;
        // Whoever asks for a lease has no other addresses than those that are listed, also while there is no lease.
        let addresses = link.ipv4.addresses.get_or_insert_default();
        let Some((given, left)) = leases.get(name).and_then(|given| Some((given, given.left(now)?))) else {
            let bare = !addresses.iter().any(|listed| listed.address.ip.is_ipv4());
            state.routes.retain_mut(|desired| !bare || leads_elsewhere(*name, &mut desired.route));
            continue;
        };
        let net = given.lease.address;
        let address = Address::new(net.addr().into(), net.prefix_len(), Protocol::NETLOOM).lent(left);
        addresses.retain(|listed| listed.address.key() != address.key());
        addresses.push(DesiredAddress { address, origin: desired.origin.clone() });
        if link.up == Some(false) {
            continue;
        }
        for route in given.routes.iter().map(|route| routed(*name, desired, route)) {
            let key = route.key();
            let taken = state.routes.iter().any(|other| other.route.key() == key)
                || observed.routes.get(&key).is_some_and(|there| there.protocol != Protocol::NETLOOM);
            // Nothing that a server gives stands against what somebody asked for.
            if !taken {
                state.routes.push(DesiredRoute { route, origin: desired.origin.clone() });
            }
        }
    }
}

/// Takes the hops out of a route that lead to a router which only an address on this link makes a neighbour: until the link
/// has one the kernel does not take them, and there would be nobody to send to. Says whether the route still leads
/// anywhere.
fn leads_elsewhere(link: IfName, route: &mut Route) -> bool {
    let waits = |hop: &NextHop| hop.link == Some(link) && !hop.onlink && hop.via.is_some_and(|via| via.is_ipv4());
    let led = !route.next_hops.is_empty();
    route.next_hops.retain(|hop| !waits(hop));
    !(led && route.next_hops.is_empty())
}

fn routed(link: IfName, desired: &LeaseRequest, route: &netloom_dhcp::Route) -> Route {
    let hop = NextHop { via: route.via.map(Into::into), link: Some(link), weight: 1, onlink: false };
    Route {
        table: desired.table,
        destination: route.to.trunc().into(),
        metric: desired.metric,
        kind: RouteType::Unicast,
        next_hops: vec![hop],
        source: None,
        protocol: Protocol::NETLOOM,
        metrics: netloom_model::RouteMetrics::default(),
        extra: netloom_model::RouteExtra::default(),
    }
}
