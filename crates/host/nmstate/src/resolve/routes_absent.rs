//! Routes that shall go: patterns of a document, matched against the routes that are there.

use std::collections::{BTreeMap, HashMap};

use ipnet::IpNet;
use netloom_model::{NextHop, Origin, Route, RouteKey};
use netloom_types::RouteTable;

use super::Merge;
use crate::document::{EntryState, RouteEntry};

/// Routes that an absent entry touches: `None` goes as a whole, otherwise what is left of it.
pub(super) type Left = BTreeMap<RouteKey, Option<(Route, Origin)>>;

impl<'a> Merge<'a> {
    pub(super) fn absent_routes(&mut self) -> Left {
        let mut left = Left::new();
        let by_destination = self.routes_by_destination();
        for (i, entry) in self.doc.routes.iter().enumerate() {
            if entry.state != EntryState::Absent {
                continue;
            }
            let path = format!("routes.config[{i}]");
            let Some(pattern) = self.pattern(&path, entry) else { continue };
            let named = pattern.destination.map(|net| by_destination.get(&net).map_or(&[][..], |keys| keys));
            let all = named.is_none().then(|| self.observed.routes.keys());
            for key in named.into_iter().flatten().copied().chain(all.into_iter().flatten()) {
                let Some(route) = self.observed.routes.get(key) else { continue };
                let now = match left.get(key) {
                    Some(Some((rest, _))) => rest,
                    Some(None) => continue,
                    None => route,
                };
                if !matches(&pattern, now) {
                    continue;
                }
                let hops: Vec<NextHop> =
                    now.next_hops.iter().copied().filter(|hop| !hop_matches(&pattern, hop)).collect();
                let rest = (!hops.is_empty()).then(|| {
                    let mut rest = Route { next_hops: hops, ..now.clone() };
                    if let [hop] = &mut rest.next_hops[..] {
                        hop.weight = 1;
                    }
                    (rest, self.origin(path.clone()))
                });
                left.insert(*key, rest);
            }
        }
        left
    }

    /// Thousands of entries that each name a destination must not look at every route each.
    fn routes_by_destination(&self) -> HashMap<IpNet, Vec<&'a RouteKey>> {
        let mut routes: HashMap<IpNet, Vec<&'a RouteKey>> = HashMap::new();
        if self.doc.routes.iter().any(|entry| entry.state == EntryState::Absent) {
            for key in self.observed.routes.keys() {
                routes.entry(key.destination).or_default().push(key);
            }
        }
        routes
    }

    /// The entry with names and tables resolved, ready to be matched.
    fn pattern(&mut self, path: &str, entry: &RouteEntry) -> Option<RouteEntry> {
        let mut pattern = entry.clone();
        pattern.destination = entry.destination.map(|net| net.trunc());
        pattern.next_hop_interface = entry.next_hop_interface.map(|name| self.real(name));
        if let Some(vrf) = entry.vrf_name.map(|name| self.real(name)) {
            let attrs = self.observed.links.get(&vrf).map(|link| &link.attrs);
            let table = attrs.and_then(|a| a.int(netloom_model::Attr::VrfTable)).and_then(|t| u32::try_from(t).ok());
            // Without the VRF there is no route in it to take away.
            let table = table?;
            if entry.table_id.is_some_and(|given| given != 0 && given != table) {
                let message = format!("the VRF has table {table}; remove one of them");
                self.refuse(format!("{path}.table-id"), crate::errors::reason::CONTRADICTION, message);
            }
            pattern.table_id = Some(table);
        }
        Some(pattern)
    }
}

/// Whether an absent entry means the route; what the entry does not say matches all, and the metric
/// never counts.
pub(crate) fn matches(pattern: &RouteEntry, route: &Route) -> bool {
    let table = pattern.table_id.map(|id| if id == 0 { RouteTable::MAIN.get() } else { id });
    let fits = pattern.destination.is_none_or(|net| net == route.destination)
        && table.is_none_or(|id| id == route.table.get())
        && pattern.route_type.is_none_or(|kind| kind == route.kind)
        && pattern.source.is_none_or(|source| Some(source) == route.source)
        && pattern.mtu.is_none_or(|mtu| mtu == route.metrics.mtu)
        && pattern.cwnd.is_none_or(|cwnd| cwnd == route.metrics.cwnd)
        && pattern.initcwnd.is_none_or(|initcwnd| initcwnd == route.metrics.initcwnd)
        && pattern.initrwnd.is_none_or(|initrwnd| initrwnd == route.metrics.initrwnd)
        && pattern.advmss.is_none_or(|advmss| advmss == route.metrics.advmss)
        && pattern.quickack.is_none_or(|quickack| quickack == route.metrics.quickack)
        && pattern.lock_mtu.is_none_or(|lock| lock == route.metrics.lock_mtu)
        && pattern.protocol.is_none_or(|protocol| protocol == route.protocol);
    let names_hop =
        pattern.next_hop_interface.is_some() || pattern.next_hop_address.is_some() || pattern.weight.is_some();
    fits && (!names_hop || route.next_hops.iter().any(|hop| hop_matches(pattern, hop)))
}

fn hop_matches(pattern: &RouteEntry, hop: &NextHop) -> bool {
    pattern.next_hop_interface.is_none_or(|name| Some(name) == hop.link)
        && pattern.next_hop_address.is_none_or(|via| Some(via) == hop.via)
        && pattern.weight.is_none_or(|weight| weight == hop.weight)
}
