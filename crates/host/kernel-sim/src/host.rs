//! The simulated host itself: the picture, the journal of the step at hand, and the way in.
//!
//! Invariants: the index always fits the picture; every change of a link, route or rule goes through
//! a function here that first notes the value from before. A refused step changes nothing (the
//! kernel is less strict: a link that moves between controllers has lost the old one by the time
//! that the new one refuses it).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use netloom_model::{
    Attr, Engine, EngineError, KernelFeatures, Link, LinkFacts, LinkKind, Observed, OperState, Route, RouteKey, Scope,
    Step, StepError, Target, Value,
};
use netloom_types::{Family, IfName, MacAddr, Protocol, RouteTable};

use crate::{errno::refuse_plainly, index::Index, mac, mtu};

/// What the kernel remembers of links and does not report.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hidden {
    /// Links whose hardware address somebody set, so that it does not follow another link's.
    pub(crate) own_mac: BTreeSet<IfName>,
    /// Bridges whose MTU somebody set, so that it does not follow the ports'.
    pub(crate) own_mtu: BTreeSet<IfName>,
    /// The primary port that a bond was given, which may not be its port yet.
    pub(crate) primary: BTreeMap<IfName, IfName>,
    /// Hardware address and MTU that a bond's port gets back when it leaves.
    pub(crate) before_bond: BTreeMap<IfName, (Option<MacAddr>, Option<u64>)>,
    /// The hardware address that a base gets back when the macvlan goes that took it over.
    pub(crate) before_passthru: BTreeMap<IfName, MacAddr>,
}

/// A host in memory.
#[derive(Debug, Clone)]
pub struct SimHost {
    pub(crate) now: Observed,
    pub(crate) index: Index,
    /// Shared with the memories that a planner keeps; see [`crate::Memory`].
    pub(crate) hidden: Arc<Hidden>,
    changed: Target,
    /// Routes that a step took away and that nobody can put back.
    pub(crate) lost: BTreeSet<Route>,
    last_index: u32,
}

impl Default for SimHost {
    fn default() -> Self {
        Self::new()
    }
}

impl SimHost {
    /// A host as a new network namespace has it: only `lo`, down, without addresses.
    pub fn new() -> Self {
        Self::with_kernel(KernelFeatures::default())
    }

    /// The same with another kernel.
    pub fn with_kernel(kernel: KernelFeatures) -> Self {
        let mut lo = Link::new(IfName::LO, LinkKind::Loopback);
        lo.attrs.set(Attr::Mtu, Value::Int(65_536));
        let mut observed = Observed { kernel, ..Observed::default() };
        observed.host.links.insert(IfName::LO, lo);
        observed.facts.insert(IfName::LO, LinkFacts { index: 1, ..LinkFacts::default() });
        Self::from_observed(observed)
    }

    /// A host like the one that was observed.
    ///
    /// What the kernel does not report is guessed so that a wrong guess costs a needless step rather
    /// than a missing one: a hardware address or MTU that could be inherited counts as inherited.
    pub fn from_observed(mut observed: Observed) -> Self {
        let host = &observed.host;
        observed.derived_routes.retain(|route| !follows_from_an_address(host, route));
        let index = Index::of(&observed);
        let last_index = observed.facts.values().map(|facts| facts.index).max().unwrap_or(0);
        let hidden = Arc::default();
        let mut sim =
            Self { now: observed, index, hidden, changed: Target::default(), lost: BTreeSet::new(), last_index };
        sim.guess_hidden();
        sim
    }

    /// The host as it is now.
    pub fn observed(&self) -> &Observed {
        &self.now
    }

    /// The host as it is now, for good.
    pub fn into_observed(self) -> Observed {
        self.now
    }

    /// Carries out one step as the kernel would. Returns everything that changed, the step's object
    /// and whatever went along with it, with the values from before; `None` for what was not there.
    pub fn apply(&mut self, step: &Step) -> Result<Target, StepError> {
        let done = self.carry_out(step);
        let mut changed = std::mem::take(&mut self.changed);
        done?;
        let host = &self.now.host;
        changed.links.retain(|name, before| before.as_ref() != host.links.get(name));
        changed.routes.retain(|key, before| before.as_ref() != host.routes.get(key));
        changed.rules.retain(|key, before| before.as_ref() != host.rules.get(key));
        changed.settings.retain(|_, before| !host.settings.shows(before));
        changed
            .routing
            .retain(|line, before| host.routing.as_ref().is_some_and(|lines| lines.contains(line) != *before));
        Ok(changed)
    }

    /// Plugs a network card in, down and without addresses, for tests.
    pub fn add_ethernet(&mut self, name: IfName, mac: MacAddr) {
        let mut link = Link::new(name, LinkKind::Ethernet);
        link.attrs.set(Attr::Mac, Value::Mac(mac));
        link.attrs.set(Attr::Mtu, Value::Int(1500));
        self.insert_link(link, (68, 9000));
        if let Some(facts) = self.now.facts.get_mut(&name) {
            facts.permanent_mac = Some(mac);
        }
        self.changed = Target::default();
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), StepError> {
        match step {
            Step::CreateLink { name, kind, attrs, controller, up } => {
                self.create_link(*name, kind, attrs, *controller, *up)
            }
            Step::DeleteLink { name } => self.delete_link(*name),
            Step::SetAttrs { name, attrs, .. } => self.set_attrs(*name, attrs),
            Step::SetUp { name, up } => self.set_up(*name, *up),
            Step::SetController { name, controller } => self.set_controller(*name, *controller),
            Step::SetAlias { name, alias } => self.set_alias(*name, alias.as_ref()),
            Step::AddAltName { name, alt_name } => self.add_alt_name(*name, alt_name),
            Step::RemoveAltName { name, alt_name } => self.remove_alt_name(*name, alt_name),
            Step::SetFeatures { name, features } => self.set_features(*name, features),
            Step::AddAddress { name, address } => self.add_address(*name, *address),
            Step::RemoveAddress { name, address } => self.remove_address(*name, *address),
            Step::SetVlans { name, on_bridge, add, remove } => self.set_vlans(*name, *on_bridge, add, remove),
            Step::AddFdb { name, key, entry } => self.add_fdb(*name, *key, *entry),
            Step::RemoveFdb { name, key, entry } => self.remove_fdb(*name, *key, *entry),
            Step::AddNeighbour { name, neighbour } => self.add_neighbour(*name, *neighbour),
            Step::RemoveNeighbour { name, neighbour } => self.remove_neighbour(*name, *neighbour),
            Step::AddMirror { name, key, mirror } => self.add_mirror(*name, *key, *mirror),
            Step::RemoveMirror { name, key, .. } => self.remove_mirror(*name, *key),
            Step::AddRoute(route) => self.add_route(route),
            Step::ReplaceRoute(route) => self.replace_route(route),
            Step::RemoveRoute(route) => self.remove_route(route),
            Step::AddRule(rule) => self.add_rule(rule),
            Step::RemoveRule(rule) => self.remove_rule(rule),
            Step::Set(setting) => self.set(setting),
            Step::ChangeRouting(change) => self.change_routing(change),
        }
    }

    /// The hidden state, to be changed.
    pub(crate) fn hidden_mut(&mut self) -> &mut Hidden {
        Arc::make_mut(&mut self.hidden)
    }

    fn guess_hidden(&mut self) {
        let hidden = Arc::make_mut(&mut self.hidden);
        for link in self.now.host.links.values() {
            if mac::looks_set(&self.now.host, &self.index, link) {
                hidden.own_mac.insert(link.name);
            }
            if mtu::looks_set(&self.now.host, &self.index, link) {
                hidden.own_mtu.insert(link.name);
            }
            if let Some(primary) = link.attrs.link(Attr::BondPrimary) {
                hidden.primary.insert(link.name, primary);
            }
            let bonded = link
                .controller
                .and_then(|name| self.now.host.links.get(&name))
                .is_some_and(|c| c.kind == LinkKind::Bond);
            if bonded {
                // What the port had before it joined is not to be seen; the usual MTU is the guess
                // that makes a planner set the wanted one once more.
                let mac = self.now.facts.get(&link.name).and_then(|facts| facts.permanent_mac);
                hidden.before_bond.insert(link.name, (mac, Some(1500)));
            }
        }
    }

    /// The link, or the kernel's word that there is none.
    pub(crate) fn link(&self, name: IfName) -> Result<&Link, StepError> {
        self.now.host.links.get(&name).map_or_else(|| refuse_plainly(StepError::ENODEV), Ok)
    }

    /// The link, when there is one.
    pub(crate) fn find(&self, name: IfName) -> Option<&Link> {
        self.now.host.links.get(&name)
    }

    /// Whether the link exists and is up.
    pub(crate) fn is_up(&self, name: IfName) -> bool {
        self.find(name).is_some_and(|link| link.up)
    }

    /// The link for a change; its value from before is noted.
    ///
    /// # Panics
    /// When there is no such link: callers have looked.
    pub(crate) fn edit(&mut self, name: IfName) -> &mut Link {
        let link = self.now.host.links.get_mut(&name).expect("a link that is changed was looked up before");
        self.changed.links.entry(name).or_insert_with(|| Some(link.clone()));
        link
    }

    /// Adds a link that is not there yet; `mtu` is the range that its driver takes.
    pub(crate) fn insert_link(&mut self, link: Link, mtu: (u32, u32)) {
        let name = link.name;
        self.last_index += 1;
        let facts = LinkFacts {
            index: self.last_index,
            carrier: link.up,
            oper: if link.up { OperState::Up } else { OperState::Down },
            min_mtu: mtu.0,
            max_mtu: mtu.1,
            ..LinkFacts::default()
        };
        self.now.facts.insert(name, facts);
        self.index.add_link(&link);
        self.now.host.links.insert(name, link);
        self.changed.links.entry(name).or_insert(None);
    }

    /// Takes a link out of the picture, and nothing that belongs to other objects.
    pub(crate) fn take_link(&mut self, name: IfName) {
        if let Some(link) = self.now.host.links.remove(&name) {
            self.index.remove_link(&link);
            self.changed.links.entry(name).or_insert(Some(link));
        }
        self.now.facts.remove(&name);
        self.hidden_mut().own_mac.remove(&name);
        self.hidden_mut().own_mtu.remove(&name);
        self.hidden_mut().primary.remove(&name);
        self.hidden_mut().before_bond.remove(&name);
        self.hidden_mut().before_passthru.remove(&name);
    }

    /// Adds or replaces the route with the same key.
    pub(crate) fn insert_route(&mut self, route: Route) {
        let key = route.key();
        let before = self.now.host.routes.remove(&key);
        if let Some(before) = &before {
            self.index.remove_route(before);
        }
        self.index.add_route(&route);
        self.now.host.routes.insert(key, route);
        self.changed.routes.entry(key).or_insert(before);
    }

    /// Takes a route away.
    pub(crate) fn take_route(&mut self, key: RouteKey) -> Option<Route> {
        let route = self.now.host.routes.remove(&key)?;
        self.index.remove_route(&route);
        self.changed.routes.entry(key).or_insert_with(|| Some(route.clone()));
        Some(route)
    }

    /// Notes what a rule was before it changes.
    pub(crate) fn note_rule(&mut self, key: netloom_model::RuleKey, before: Option<Protocol>) {
        self.changed.rules.entry(key).or_insert(before);
    }

    /// The journal, for what is neither link, route nor rule.
    pub(crate) fn journal(&mut self) -> &mut Target {
        &mut self.changed
    }

    /// The VRF table that the link's routes are in, or the main one.
    pub(crate) fn table_of(&self, link: &Link) -> RouteTable {
        table_of(&self.now.host, link)
    }
}

/// The table that connected routes of a link are in.
pub(crate) fn table_of(host: &netloom_model::Host, link: &Link) -> RouteTable {
    link.controller
        .and_then(|name| host.links.get(&name))
        .filter(|controller| controller.kind == LinkKind::Vrf)
        .or(Some(link).filter(|link| link.kind == LinkKind::Vrf))
        .and_then(|vrf| vrf.attrs.int(Attr::VrfTable))
        .and_then(|table| u32::try_from(table).ok())
        .and_then(|table| RouteTable::try_from(table).ok())
        .unwrap_or(RouteTable::MAIN)
}

/// Whether a route of the kernel is there because of an address in the picture: such routes come and
/// go with the address and are not kept.
fn follows_from_an_address(host: &netloom_model::Host, route: &Route) -> bool {
    route.protocol == Protocol::KERNEL
        && route.next_hops.iter().all(|hop| {
            hop.via.is_none()
                && hop.link.and_then(|name| host.links.get(&name)).is_some_and(|link| {
                    link.addresses.iter().any(|a| a.prefix() == route.destination || is_host_route(route, a.ip))
                })
        })
}

fn is_host_route(route: &Route, ip: std::net::IpAddr) -> bool {
    route.destination.addr() == ip && route.destination.prefix_len() == Family::of(ip).max_prefix_len()
}

impl Engine for SimHost {
    /// As a kernel is read: routes that nobody configured stand apart, whoever put them here.
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        let mut observed = self.now.clone();
        let dynamic = observed.host.routes.extract_if(.., |_, route| route.is_dynamic()).map(|(_, route)| route);
        observed.derived_routes.extend(dynamic);
        if scope.without_derived_routes {
            observed.derived_routes.clear();
        }
        Ok(observed)
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        Ok(steps.iter().map(|step| self.apply(step).map(|_| ())).collect())
    }

    /// Nothing happens on this host by itself.
    fn wait_for_change(&mut self, _at_most: Duration) -> Result<bool, EngineError> {
        Ok(false)
    }
}
