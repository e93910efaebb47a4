//! The kernel's tables -> [`Observed`].
//!
//! Each table is read by one dump. A table can change between two dumps; what then names a link that
//! is not (or no longer) known is left out, and the next reading has it. What comes and goes by itself
//! is left out of the configuration as the model wants it: generated addresses, learned neighbours and
//! forwarding entries; routes of the kernel, of routing daemons and of leases are kept apart.

use std::collections::{BTreeMap, HashSet, btree_map::Entry};

use netloom_model::{
    Attr, Direction, EngineError, FdbKey, Host, KernelFeatures, Link, LinkFacts, LinkKind, Observed, Route, RouteKey,
    Rule, Scope, Value,
};
use netloom_types::{Family, IfName, MacAddr};

use crate::{
    address, bridge, ethtool,
    kernel::Kernel,
    link::{self, RawLink},
    link_map::LinkMap,
    mirror, neighbour, route, rule_removal, settings,
    socket::NetlinkError,
};

/// Reads everything.
pub(crate) fn observe(kernel: &mut Kernel, scope: Scope) -> Result<Observed, EngineError> {
    let mut tables = Tables::read_links(kernel).map_err(|e| e.doing("read links"))?;
    tables.read_addresses(kernel).map_err(|e| e.doing("read addresses"))?;
    tables.read_neighbours(kernel).map_err(|e| e.doing("read neighbours"))?;
    tables.read_bridges(kernel).map_err(|e| e.doing("read bridges"))?;
    tables.read_mirrors(kernel).map_err(|e| e.doing("read mirrors"))?;
    if scope.ethtool {
        tables.read_drivers(kernel).map_err(|e| e.doing("read driver settings"))?;
    }
    let mut observed = tables.into_observed();
    read_routes(kernel, scope, &mut observed).map_err(|e| e.doing("read routes"))?;
    read_rules(kernel, &mut observed.host).map_err(|e| e.doing("read rules"))?;
    observed.host.settings = settings::read(&kernel.namespace);
    Ok(observed)
}

/// Links by index, until the names of all are known and everything that stands on them is read.
struct Tables {
    links: BTreeMap<u32, (Link, LinkFacts)>,
    kernel: KernelFeatures,
}

impl Tables {
    fn read_links(kernel: &mut Kernel) -> Result<Self, NetlinkError> {
        let raw: Vec<RawLink> =
            kernel.route.dump(&link::dump(), Vec::new, |links, message| links.extend(link::decode(&message)))?;
        let mut names = LinkMap::default();
        for link in &raw {
            names.insert(link.link.name, link.index());
        }
        let links = raw.into_iter().map(|link| (link.index(), link.resolve(|index| names.name(index)))).collect();
        kernel.links.replace_with(names);
        kernel.closed.clear();
        let mut tables = Self { links, kernel: KernelFeatures::default() };
        let tokens = kernel.route.dump(&link::dump_tokens(), Vec::new, |tokens, message| {
            tokens.extend(link::decode_token(&message));
        })?;
        for (index, token) in tokens {
            tables.on(index, |link| link.attrs.set(Attr::Ipv6Token, token));
        }
        Ok(tables)
    }

    fn on(&mut self, index: u32, change: impl FnOnce(&mut Link)) {
        if let Some((link, _)) = self.links.get_mut(&index) {
            change(link);
        }
    }

    fn any(&self, kinds: &[LinkKind]) -> bool {
        self.links.values().any(|(link, _)| kinds.contains(&link.kind))
    }

    fn read_addresses(&mut self, kernel: &mut Kernel) -> Result<(), NetlinkError> {
        let addresses = kernel.route.dump(&address::encode_dump(), Vec::new, |addresses, message| {
            addresses.extend(address::decode(&message));
        })?;
        let features = kernel.features(&addresses)?;
        self.kernel = features;
        for mut reported in addresses {
            self.on(reported.index, |link| {
                let label = &mut reported.address.extra.label;
                // Unless set otherwise the kernel takes the link's name.
                *label = label.filter(|label| label.as_str() != link.name.as_str());
                let local = match link.attrs.given(Attr::TunnelLocal) {
                    Some(Value::Ip(local)) => Some(*local),
                    _ => None,
                };
                if !reported.is_generated(features, link.attrs.mac(Attr::Mac), local) {
                    link.addresses.push(reported.address);
                }
            });
        }
        Ok(())
    }

    fn read_neighbours(&mut self, kernel: &mut Kernel) -> Result<(), NetlinkError> {
        for family in [Family::Ipv4, Family::Ipv6] {
            let neighbours = kernel.route.dump(&neighbour::encode_dump(family), Vec::new, |neighbours, message| {
                neighbours.extend(neighbour::decode(&message).filter(|(_, n)| Family::of(n.ip) == family));
            })?;
            for (index, neighbour) in neighbours {
                self.on(index, |link| {
                    link.neighbours.insert(neighbour);
                });
            }
        }
        Ok(())
    }

    /// VLANs and forwarding entries; not asked for on a host without a link that could have any.
    fn read_bridges(&mut self, kernel: &mut Kernel) -> Result<(), NetlinkError> {
        if self.any(&[LinkKind::Bridge]) {
            let vlans = kernel.route.dump(&bridge::dump_vlans(), Vec::new, |vlans, message| {
                vlans.extend(bridge::decode_vlans(&message));
            })?;
            for (index, vlans) in vlans {
                self.on(index, |link| link.vlans = vlans);
            }
        }
        if !self.any(&[LinkKind::Bridge, LinkKind::Vxlan, LinkKind::MacVlan, LinkKind::MacVtap]) {
            return Ok(());
        }
        let own: HashSet<MacAddr> = self.links.values().filter_map(|(link, _)| link.attrs.mac(Attr::Mac)).collect();
        let entries = kernel.route.dump(&bridge::dump_fdb(), Vec::new, |entries, message| {
            entries.extend(bridge::decode_fdb(&message));
        })?;
        for reported in entries {
            let bridge::FdbReport { index, key, entry } = reported;
            self.on(index, |link| {
                if !reported.is_kernels_own(link, |mac| own.contains(&mac)) {
                    insert_fdb(link, key, entry);
                }
            });
        }
        Ok(())
    }

    /// Filters, only of links that have the queue for them.
    fn read_mirrors(&mut self, kernel: &mut Kernel) -> Result<(), NetlinkError> {
        let dump = kernel.route.dump(&mirror::dump_queues(), Vec::new, |indexes, message| {
            indexes.extend(mirror::decode_queue(&message));
        });
        kernel.foreign_queues.clear();
        let indexes: Vec<u32> = match dump {
            // A kernel without queues has no mirrors.
            Err(NetlinkError::Refused(_)) => return Ok(()),
            other => other?,
        };
        for index in indexes {
            let mut filters = Vec::new();
            for direction in [Direction::Ingress, Direction::Egress] {
                filters.extend(kernel.route.dump(
                    &mirror::dump_filters(index, direction),
                    Vec::new,
                    |filters, message| filters.extend(mirror::decode(&message)),
                )?);
            }
            if !filters.iter().any(mirror::FilterReport::is_ours) {
                kernel.foreign_queues.insert(index);
            }
            let mirrors = mirror::gather(filters, |index| kernel.links.name(index));
            self.on(index, |link| link.mirrors = mirrors);
        }
        Ok(())
    }

    fn read_drivers(&mut self, kernel: &mut Kernel) -> Result<(), NetlinkError> {
        let Some((connection, family)) = kernel.generic()? else { return Ok(()) };
        let dump = connection.dump(&ethtool::dump(*family, ethtool::Topic::Features), Vec::new, |reports, message| {
            reports.extend(ethtool::decode(&message));
        });
        let mut reports = match dump {
            // A kernel that does not know of features has nothing to say about them.
            Err(NetlinkError::Refused(_)) => Vec::new(),
            other => other?,
        };
        for (index, (link, _)) in &self.links {
            for question in ethtool::questions(*family, *index, link) {
                // A refusal says that the driver has no such setting.
                let _ = connection.get(&question, |message| reports.extend(ethtool::decode(&message)))?;
            }
        }
        for report in reports {
            self.on(report.index, |link| report.add_to(link));
        }
        Ok(())
    }

    fn into_observed(self) -> Observed {
        let mut observed = Observed { kernel: self.kernel, ..Observed::default() };
        let (facts, links): (Vec<_>, Vec<_>) =
            self.links.into_values().map(|(link, facts)| ((link.name, facts), (link.name, link))).unzip();
        // Collected, not inserted one by one: that would leave their nodes half empty.
        observed.facts = facts.into_iter().collect();
        observed.host.links = links.into_iter().collect();
        observed
    }
}

/// Notes a forwarding entry. A station can stand in the device's own table and in its bridge's under
/// one key: the entry of the bridge is the one that forwards.
fn insert_fdb(link: &mut Link, key: FdbKey, entry: netloom_model::FdbEntry) {
    let known = link.fdb.entry(key).or_insert(entry);
    if known.on_device && !entry.on_device {
        *known = entry;
    }
}

fn read_routes(kernel: &mut Kernel, scope: Scope, observed: &mut Observed) -> Result<(), NetlinkError> {
    for family in [Family::Ipv4, Family::Ipv6] {
        let links = &kernel.links;
        let name = |index: u32| -> Option<IfName> { links.name(index) };
        let sorted = kernel.route.dump(&route::encode_dump(family), SortedRoutes::default, |sorted, message| {
            // A kernel without IPv6 answers with what it has of other families.
            if let Some(reported) = route::decode(&message, &name).filter(|r| r.route.family() == family) {
                sorted.take(reported, scope);
            }
        })?;
        sorted.put_into(observed);
    }
    Ok(())
}

/// Routes as a dump tells them one by one. They are not gathered before they are sorted: a host with many
/// links has tens of thousands, and most are the kernel's own.
#[derive(Default)]
struct SortedRoutes {
    kept: BTreeMap<RouteKey, Route>,
    derived: Vec<Route>,
    fragile: Vec<Route>,
}

impl SortedRoutes {
    /// Puts a route to those that can be put back, or to the others.
    fn take(&mut self, reported: route::Reported, scope: Scope) {
        let mut fragile = reported.is_fragile();
        if !reported.is_derived() {
            match self.kept.entry(reported.route.key()) {
                Entry::Vacant(free) => {
                    free.insert(reported.route);
                    return;
                }
                // Somebody appended a second route of one key: the kernel uses the first.
                Entry::Occupied(_) => fragile = true,
            }
        }
        if scope.without_derived_routes {
            return;
        }
        if fragile {
            self.fragile.push(reported.route.clone());
        }
        self.derived.push(reported.route);
    }

    fn put_into(mut self, observed: &mut Observed) {
        observed.host.routes.append(&mut self.kept);
        observed.derived_routes.append(&mut self.derived);
        observed.fragile_routes.append(&mut self.fragile);
    }
}

fn read_rules(kernel: &mut Kernel, host: &mut Host) -> Result<(), NetlinkError> {
    for family in [Family::Ipv4, Family::Ipv6] {
        // A kernel without IPv6, or without policy rules, has none.
        match rule_removal::read(&mut kernel.route, family) {
            Err(NetlinkError::Refused(_)) => {}
            rules => host.rules.extend(rules?.into_iter().map(|rule| (rule.key, rule.protocol))),
        }
    }
    kernel.rules = Some(host.rules.iter().map(|(key, protocol)| Rule { key: *key, protocol: *protocol }).collect());
    Ok(())
}

#[cfg(test)]
mod tests {
    use netloom_model::{RouteExtra, RouteMetrics, RouteType};
    use netloom_types::{Protocol, RouteTable};

    use super::*;

    #[test]
    fn routes_that_cannot_be_put_back_are_reported_apart() {
        let route = |to: &str, protocol| Route {
            table: RouteTable::MAIN,
            destination: to.parse().unwrap(),
            metric: 0,
            kind: RouteType::Blackhole,
            next_hops: Vec::new(),
            source: None,
            protocol: Protocol(protocol),
            metrics: RouteMetrics::default(),
            extra: RouteExtra::default(),
        };
        let (kernel, lease, plain) = (route("10.1.0.0/16", 2), route("10.2.0.0/16", 16), route("10.3.0.0/16", 4));
        let strange = route("10.4.0.0/16", 4);
        let daemons = route("10.5.0.0/16", 186);
        let second = Route { protocol: Protocol(3), ..plain.clone() };
        let all =
            [(&kernel, false), (&lease, false), (&plain, false), (&second, false), (&strange, true), (&daemons, true)];
        let observe = |scope| {
            let mut sorted = SortedRoutes::default();
            for (route, partial) in all {
                sorted.take(route::Reported { route: route.clone(), partial, object: false }, scope);
            }
            let mut observed = Observed::default();
            sorted.put_into(&mut observed);
            observed
        };
        let without = observe(Scope { without_derived_routes: true, ..Scope::default() });
        assert_eq!(without.routes.values().collect::<Vec<_>>(), [&plain]);
        assert!(without.derived_routes.is_empty() && without.fragile_routes.is_empty());
        let observed = observe(Scope::default());
        assert_eq!(observed.routes.values().collect::<Vec<_>>(), [&plain]);
        assert_eq!(observed.fragile_routes, [second.clone(), strange.clone(), daemons.clone()]);
        assert_eq!(observed.derived_routes, [&kernel, &lease, &second, &strange, &daemons].map(Clone::clone));
    }
}
