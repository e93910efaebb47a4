//! Port lists: those that a desired state changes, in full.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{
    Attr, DesiredController, DesiredLink, HostState, Link, LinkKind, Observed, Presence, Section, Value, VlanMembership,
};
use netloom_types::IfName;

use super::{
    Side,
    link::{before, set_block},
};
use crate::{
    document::{Interface, Port, PortVlan},
    resolve::default_vlans,
    show::port_vlans,
};

/// Ports of each controller, before and after a change.
pub(super) struct Ports<'a> {
    state: &'a HostState,
    observed: &'a Observed,
    side: Side,
    before: BTreeMap<IfName, BTreeSet<IfName>>,
    after: BTreeMap<IfName, BTreeSet<IfName>>,
}

impl<'a> Ports<'a> {
    pub(super) fn of(state: &'a HostState, observed: &'a Observed, side: Side) -> Self {
        let mut ports = Self { state, observed, side, before: BTreeMap::new(), after: BTreeMap::new() };
        for link in observed.links.values() {
            if let Some(controller) = link.controller {
                ports.before.entry(controller).or_default().insert(link.name);
            }
            if let Some(controller) = ports.kept(link) {
                ports.after.entry(controller).or_default().insert(link.name);
            }
        }
        for desired in state.links.values() {
            if let DesiredController::Of(controller) = desired.controller {
                ports.after.entry(controller).or_default().insert(desired.name);
            }
        }
        ports
    }

    /// The controller of a link that is there, unless the desired state says something about it.
    fn kept(&self, link: &Link) -> Option<IfName> {
        match self.state.links.get(&link.name) {
            None => link.controller,
            Some(desired) if desired.presence == Presence::Absent && desired.kind.is_virtual() => None,
            Some(desired) => link.controller.filter(|_| desired.controller == DesiredController::Keep),
        }
    }

    /// Controllers that stay and whose list changes.
    pub(super) fn changed(&self) -> Vec<IfName> {
        let names: BTreeSet<IfName> = self.before.keys().chain(self.after.keys()).copied().collect();
        names.into_iter().filter(|name| self.changes(*name)).collect()
    }

    /// Whether the list of `controller` is printed and has `port` in it.
    pub(super) fn lists(&self, controller: IfName, port: IfName) -> bool {
        let listed = match self.side {
            Side::After => self.after.get(&controller),
            Side::Before => self.before.get(&controller),
        };
        self.changes(controller) && listed.is_some_and(|ports| ports.contains(&port))
    }

    fn changes(&self, controller: IfName) -> bool {
        if self.state.links.get(&controller).is_some_and(|w| w.presence == Presence::Absent) {
            return false;
        }
        let (before, after) = (self.before.get(&controller), self.after.get(&controller));
        let empty = BTreeSet::new();
        before.unwrap_or(&empty) != after.unwrap_or(&empty)
            || after.is_some_and(|ports| ports.iter().any(|port| self.role_changes(*port)))
    }

    fn role_changes(&self, port: IfName) -> bool {
        let (Some(desired), Some(now)) = (self.state.links.get(&port), self.observed.links.get(&port)) else {
            return false;
        };
        let unmet = desired.attrs.unmet_by(&now.attrs);
        unmet.iter().any(|(attr, _)| is_role(attr)) || desired.vlans.as_ref().is_some_and(|vlans| *vlans != now.vlans)
    }

    /// Puts the list of a controller when it changes.
    pub(super) fn put(&self, entry: &mut Interface) {
        let is_controller = entry.kind.as_ref().is_some_and(LinkKind::is_controller);
        if !is_controller || !self.changes(entry.name) {
            return;
        }
        let names = match self.side {
            Side::After => self.after.get(&entry.name),
            Side::Before => self.before.get(&entry.name),
        };
        let list: Vec<Port> = names.into_iter().flatten().map(|name| self.port(entry, *name)).collect();
        // VLANs of ports switch filtering on or off unless it is specified what it shall be.
        if list.iter().any(|port| port.vlan.is_some() || port.vlans.is_some())
            && let Some(filtering) = self.value(entry.name, Attr::BridgeVlanFiltering)
        {
            entry.attrs.require(Attr::BridgeVlanFiltering, filtering);
        }
        entry.ports = Some(list);
        set_block(entry);
    }

    fn port(&self, controller: &Interface, name: IfName) -> Port {
        let mut port = Port::new(name);
        let Some(desired) = self.state.links.get(&name) else { return port };
        let now = self.observed.links.get(&name);
        let joins = now.is_none_or(|link| link.controller != Some(controller.name));
        port.attrs = match (self.side, now) {
            (Side::After, Some(now)) if !joins => role(&desired.attrs.unmet_by(&now.attrs)),
            (Side::After, _) => role(&desired.attrs),
            // A port that left has lost its settings; one that stays gets back what changed.
            (Side::Before, Some(now)) if self.leaves(desired, now) => role(&now.attrs),
            (Side::Before, Some(now)) => role(&desired.attrs.unmet_by(&now.attrs))
                .iter()
                .filter_map(|(attr, _)| Some((attr, before(now, attr)?)))
                .collect(),
            (Side::Before, None) => return port,
        };
        let vlans = match (self.side, now) {
            (Side::After, Some(now)) if !joins => desired.vlans.as_ref().filter(|vlans| **vlans != now.vlans),
            (Side::After, _) => desired.vlans.as_ref(),
            (Side::Before, Some(now)) => {
                let changed = self.leaves(desired, now) || desired.vlans.as_ref().is_some_and(|v| *v != now.vlans);
                Some(&now.vlans).filter(|_| changed)
            }
            (Side::Before, None) => None,
        };
        if let (Some(vlans), Some(LinkKind::Bridge)) = (vlans, &controller.kind) {
            if *vlans == self.default_of(controller.name) {
                port.vlan = Some(PortVlan::default());
            } else {
                (port.vlan, port.vlans) = port_vlans(vlans);
            }
        }
        port
    }

    fn leaves(&self, desired: &DesiredLink, now: &Link) -> bool {
        self.kept(now).is_none()
            && desired.controller != now.controller.map_or(DesiredController::Keep, DesiredController::Of)
    }

    fn default_of(&self, bridge: IfName) -> VlanMembership {
        match self.value(bridge, Attr::BridgeDefaultPvid) {
            Some(Value::Int(pvid)) => default_vlans(pvid),
            _ => default_vlans(0),
        }
    }

    /// The value of a property on the side that is described.
    fn value(&self, name: IfName, attr: Attr) -> Option<Value> {
        let desired = self.state.links.get(&name).filter(|_| self.side == Side::After);
        let given = desired.and_then(|desired| desired.attrs.given(attr).cloned());
        let is = || self.observed.links.get(&name).and_then(|link| link.attrs.get(attr));
        given.or_else(is).or_else(|| attr.default_value())
    }
}

fn is_role(attr: Attr) -> bool {
    matches!(attr.section(), Section::BridgePort | Section::BondPort)
}

fn role(attrs: &netloom_model::Attrs) -> netloom_model::Attrs {
    attrs.iter().filter(|(attr, _)| is_role(*attr)).map(|(attr, value)| (attr, value.clone())).collect()
}
