//! Routes that shall be there.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    net::IpAddr,
};

use ipnet::IpNet;
use netloom_model::{Attr, DesiredRoute, LinkKind, NextHop, Origin, Route, RouteKey, RouteMetrics, RouteType, Value};
use netloom_types::{Family, IfName, RouteTable};

use super::Merge;
use crate::{
    document::{EntryState, RouteEntry},
    errors::reason,
};

/// One entry as a route with at most one next hop.
struct Single {
    route: Route,
    weighted: bool,
    origin: Origin,
}

impl Merge<'_> {
    /// The routes that shall be there, and the keys of those that shall go.
    pub(super) fn routes(&mut self) -> (Vec<DesiredRoute>, Vec<RouteKey>) {
        // The first of each group, and the others: nearly always none.
        let mut groups: Vec<(Single, Vec<Single>)> = Vec::new();
        let mut index: BTreeMap<RouteKey, usize> = BTreeMap::new();
        for (i, entry) in self.doc.routes.iter().enumerate() {
            if entry.state != EntryState::Present {
                continue;
            }
            let Some(single) = self.single(format!("routes.config[{i}]"), entry) else { continue };
            // Hops of one IPv6 route have no device in their common key.
            let mut key = single.route.key();
            if single.weighted {
                key.device = None;
            }
            match index.entry(key) {
                Entry::Occupied(at) => groups[*at.get()].1.push(single),
                Entry::Vacant(at) => {
                    at.insert(groups.len());
                    groups.push((single, Vec::new()));
                }
            }
        }
        drop(index);
        let left = self.absent_routes();
        let mut desired_states: Vec<DesiredRoute> =
            groups.into_iter().filter_map(|(first, others)| self.merged(first, others, &left)).collect();
        let mut absent = Vec::new();
        if left.is_empty() {
            return (desired_states, absent);
        }
        let kept: BTreeMap<RouteKey, bool> =
            desired_states.iter().map(|desired| (desired.route.key(), self.is_there(&desired.route))).collect();
        for (key, rest) in left {
            match rest {
                Some(_) if kept.contains_key(&key) => {}
                // One that is asked for again as it is stays. One that is asked for otherwise is
                // named: that is how a document takes the place of somebody else's route.
                None if kept.get(&key) == Some(&true) => {}
                None => absent.push(key),
                // A hop of several goes, the route stays.
                Some((route, origin)) => {
                    if route.key() != key {
                        absent.push(key);
                    }
                    desired_states.push(DesiredRoute { route, origin });
                }
            }
        }
        (desired_states, absent)
    }

    fn is_there(&self, route: &Route) -> bool {
        self.observed.routes.get(&route.key()).is_some_and(|there| there.same_effect(route))
    }

    /// Hops with weights become one route; what is there of it already stays (entries are added).
    fn merged(
        &mut self,
        first: Single,
        others: Vec<Single>,
        left: &super::routes_absent::Left,
    ) -> Option<DesiredRoute> {
        let mut route = first.route;
        let mut weighted = first.weighted;
        for single in others {
            let same_hop = route.next_hops == single.route.next_hops;
            let alike = Route { next_hops: Vec::new(), ..route.clone() }
                == Route { next_hops: Vec::new(), ..single.route.clone() };
            if alike && same_hop {
                continue;
            }
            if !(weighted && single.weighted && alike) {
                let message = format!(
                    "{} in table {} with metric {} is in {} too; give both a weight for multipath, or another metric",
                    route.destination, route.table, route.metric, first.origin.path
                );
                self.refuse(&*single.origin.path, reason::CONTRADICTION, message);
                return None;
            }
            weighted = true;
            add_hops(&mut route.next_hops, &single.route.next_hops);
        }
        if weighted {
            self.join_present(&mut route, left);
        }
        if let [hop] = &mut route.next_hops[..] {
            // A share among one is all of it, and the kernel does not keep it.
            hop.weight = 1;
        }
        route.next_hops.sort_unstable();
        if let Some(there) = self.observed.routes.get(&route.key()).filter(|there| there.same_effect(&route)) {
            route.protocol = there.protocol;
        }
        Some(DesiredRoute { route, origin: first.origin })
    }

    fn join_present(&self, route: &mut Route, left: &super::routes_absent::Left) {
        let key = RouteKey { device: None, ..route.key() };
        // A route with one way onward is replaced; only one with several is added to.
        let Some(whole) = self.observed.routes.get(&key).filter(|r| r.next_hops.len() > 1) else { return };
        let there = left.get(&key).map_or(Some(whole), |rest| rest.as_ref().map(|(route, _)| route));
        let Some(there) = there else { return };
        let mut hops = there.next_hops.clone();
        add_hops(&mut hops, &route.next_hops);
        route.next_hops = hops;
    }

    fn single(&mut self, path: String, entry: &RouteEntry) -> Option<Single> {
        let before = self.refusals.len();
        let destination = self.destination(&path, entry)?;
        let family = Family::of_net(destination);
        let table = self.table(&path, entry)?;
        let kind = entry.route_type.unwrap_or(RouteType::Unicast);
        let hop = self.hop(&path, entry, family, kind);
        let metric = match (entry.metric, family) {
            (None, _) | (Some(0), Family::Ipv6) => Route::default_metric(family),
            (Some(metric), _) => metric,
        };
        if entry.lock_mtu == Some(true) && entry.mtu.is_none() {
            self.refuse(format!("{path}.lock-mtu"), reason::MISSING_KEY, "needs mtu; add it");
        }
        let route = Route {
            table,
            destination,
            metric,
            kind,
            next_hops: hop.into_iter().collect(),
            source: entry.source,
            protocol: self.options.protocol,
            metrics: RouteMetrics {
                mtu: entry.mtu.unwrap_or_default(),
                lock_mtu: entry.lock_mtu.unwrap_or_default(),
                advmss: entry.advmss.unwrap_or_default(),
                cwnd: entry.cwnd.unwrap_or_default(),
                initcwnd: entry.initcwnd.unwrap_or_default(),
                initrwnd: entry.initrwnd.unwrap_or_default(),
                quickack: entry.quickack.unwrap_or_default(),
            },
            extra: netloom_model::RouteExtra::default(),
        };
        let origin = self.origin(path);
        (self.refusals.len() == before).then_some(Single { route, weighted: entry.weight.is_some(), origin })
    }

    fn destination(&mut self, path: &str, entry: &RouteEntry) -> Option<IpNet> {
        let Some(written) = entry.destination else {
            self.refuse(path, reason::MISSING_KEY, "the key destination is missing");
            return None;
        };
        let path = || format!("{path}.destination");
        if let IpNet::V4(net) = written
            && net.prefix_len() >= 8
            && net.addr().octets()[0] == 0
        {
            let message = format!("{written} is inside of 0.0.0.0/8, which nothing is sent to");
            self.refuse(path(), reason::INVALID_VALUE, message);
            return None;
        }
        let destination = written.trunc();
        if destination != written {
            self.warn(path(), format!("{written} has host bits; {destination} is meant"));
        }
        Some(destination)
    }

    fn table(&mut self, path: &str, entry: &RouteEntry) -> Option<RouteTable> {
        let of_vrf = match entry.vrf_name {
            Some(name) => Some(self.vrf_table(&format!("{path}.vrf-name"), name)?),
            None => None,
        };
        let given = entry.table_id.filter(|id| *id != 0);
        let path = || format!("{path}.table-id");
        match (given, of_vrf) {
            (Some(given), Some(table)) if given != table => {
                let message = format!("{given}, but the VRF has table {table}; remove one of them");
                self.refuse(path(), reason::CONTRADICTION, message);
                None
            }
            (Some(255), _) => {
                let message = "255 is the kernel's own table of local addresses; take another one";
                self.refuse(path(), reason::INVALID_VALUE, message);
                None
            }
            (Some(id), _) | (None, Some(id)) => RouteTable::try_from(id).ok(),
            (None, None) => Some(RouteTable::MAIN),
        }
    }

    fn vrf_table(&mut self, path: &str, name: IfName) -> Option<u32> {
        let name = self.real(name);
        let why = if !self.exists(name) {
            "does not exist and is not asked for, or shall be absent"
        } else if self.kind(name) != Some(&LinkKind::Vrf) {
            "is no VRF"
        } else if !self.is_up(name) {
            "is down; set it up"
        } else if let Some(Value::Int(table)) = self.attr(name, Attr::VrfTable) {
            return u32::try_from(table).ok();
        } else {
            "has no table"
        };
        self.refuse(path, reason::LINK_NOT_FOUND, format!("{name} {why}"));
        None
    }

    fn hop(&mut self, path: &str, entry: &RouteEntry, family: Family, kind: RouteType) -> Option<NextHop> {
        let via = entry.next_hop_address;
        if kind != RouteType::Unicast {
            if via.is_some() || entry.next_hop_interface.is_some() || entry.weight.is_some() {
                let message =
                    "a route of this type leads nowhere; remove next-hop-interface, next-hop-address and weight";
                self.refuse(format!("{path}.route-type"), reason::CONTRADICTION, message);
            }
            return None;
        }
        let link = match (entry.next_hop_interface, via) {
            (Some(name), _) => {
                let name = self.real(name);
                self.check_hop_link(path, name, family);
                name
            }
            (None, Some(via)) => {
                let Some(name) = self.link_towards(via) else {
                    let message = format!("no link has an address in the prefix of {via}; say next-hop-interface");
                    self.refuse(format!("{path}.next-hop-address"), reason::LINK_NOT_FOUND, message);
                    return None;
                };
                name
            }
            (None, None) => {
                self.refuse(path, reason::MISSING_KEY, "say next-hop-interface or next-hop-address");
                return None;
            }
        };
        Some(NextHop {
            via,
            link: Some(link),
            weight: entry.weight.unwrap_or(1),
            onlink: entry.on_link.unwrap_or_default(),
        })
    }

    fn check_hop_link(&mut self, path: &str, name: IfName, family: Family) {
        let why = if self.goes(name) {
            "shall be absent; remove one of them".to_owned()
        } else if !self.exists(name) {
            "does not exist and is not asked for; check the name".to_owned()
        } else if !self.speaks(name, family) {
            format!("has {family} switched off; enable it or remove the route")
        } else if !self.is_up(name) {
            "is down, and the kernel takes no route over such a link; set state: up".to_owned()
        } else {
            return;
        };
        self.refuse(format!("{path}.next-hop-interface"), reason::LINK_NOT_FOUND, format!("{name} {why}"));
    }

    /// The link whose prefix a router is in, as the kernel would find it.
    fn link_towards(&self, via: IpAddr) -> Option<IfName> {
        let prefixes = self.prefixes.get_or_init(|| self.connected());
        let around = prefixes.iter().filter(|(prefix, _)| prefix.contains(&via));
        around.max_by_key(|(prefix, _)| prefix.prefix_len()).map(|(_, name)| *name)
    }

    /// The prefixes that links will have, by address.
    fn connected(&self) -> Vec<(IpNet, IfName)> {
        let mut prefixes = Vec::new();
        for name in self.all_names() {
            for family in [Family::Ipv4, Family::Ipv6] {
                match self.links.get(&name).and_then(|w| w.ip(family).addresses.as_ref()) {
                    Some(list) => prefixes.extend(list.iter().map(|a| (a.address.prefix(), name))),
                    None => prefixes.extend(
                        self.current(name).into_iter().flat_map(|l| l.addresses_of(family)).map(|a| (a.prefix(), name)),
                    ),
                }
            }
        }
        prefixes
    }
}

/// Adds hops; one that is there gets the new weight.
fn add_hops(hops: &mut Vec<NextHop>, more: &[NextHop]) {
    for hop in more {
        match hops.iter_mut().find(|h| (h.via, h.link) == (hop.via, hop.link)) {
            Some(there) => *there = *hop,
            None => hops.push(*hop),
        }
    }
}
