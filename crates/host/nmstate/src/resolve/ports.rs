//! Port lists and the `controller` property, which say the same from two ends.

use std::collections::BTreeMap;

use netloom_model::{DesiredController, LinkKind, Presence};
use netloom_types::IfName;

use super::Merge;
use crate::{
    document::{Interface, Port},
    errors::reason,
};

/// Who wants a link as a port, and where that is written.
struct Claim<'a> {
    controller: IfName,
    path: String,
    /// Set when it comes from a port list.
    port: Option<&'a Port>,
}

impl<'a> Merge<'a> {
    pub(super) fn ports(&mut self) {
        let mut claims = BTreeMap::new();
        for (i, name, interface) in self.entries_in_order() {
            if let (true, Some(ports)) = (self.is_desired(name), &interface.ports) {
                let block = interface.block.unwrap_or("bridge");
                for (j, port) in ports.iter().enumerate() {
                    self.listed(&mut claims, name, format!("interfaces[{i}].{block}.port[{j}]"), port);
                }
            }
        }
        for (i, name, interface) in self.entries_in_order() {
            let controller = match interface.controller {
                DesiredController::Keep => continue,
                DesiredController::Detached => None,
                DesiredController::Of(controller) => Some(controller),
            };
            if self.is_desired(name) {
                self.property(&mut claims, name, format!("interfaces[{i}].controller"), controller);
            }
        }
        self.apply(&claims);
        self.release(&claims);
    }

    fn is_desired(&self, name: IfName) -> bool {
        self.links.get(&name).is_some_and(|w| w.presence == Presence::Present)
            || matches!(self.kind(name), Some(LinkKind::Other(_)))
    }

    fn listed(&mut self, claims: &mut BTreeMap<IfName, Claim<'a>>, controller: IfName, path: String, port: &'a Port) {
        let name = self.real(port.name);
        if self.ignored.contains(&name) {
            return;
        }
        if !self.exists(name) {
            let (reason, what) = if self.links.contains_key(&name) {
                (reason::ABSENT_PARENT, "shall be absent; remove it from the list")
            } else {
                (reason::LINK_NOT_FOUND, "does not exist and is not asked for; check the name or add it to interfaces")
            };
            self.refuse(path, reason, format!("{name} {what}"));
        } else if name == controller {
            self.refuse(path, reason::CYCLE, format!("{name} cannot be a port of itself"));
        } else if let Some(first) = claims.get(&name) {
            let message =
                format!("{name} is a port of {} already ({}); keep one of them", first.controller, first.path);
            self.refuse(path, reason::CONTRADICTION, message);
        } else if let Some(why) = self.cannot_be_port(name, controller) {
            self.refuse(path, reason::CONTRADICTION, format!("{name} {why}"));
        } else {
            claims.insert(name, Claim { controller, path, port: Some(port) });
        }
    }

    fn cannot_be_port(&self, name: IfName, controller: IfName) -> Option<&'static str> {
        match (self.kind(name)?, self.kind(controller)?) {
            (LinkKind::Loopback, _) => Some("is the loopback link, which cannot be a port"),
            (LinkKind::Bridge, LinkKind::Bridge) => {
                Some("is a bridge, and the kernel takes no bridge as a port of one")
            }
            (LinkKind::Bond, LinkKind::Bond) => Some("is a bond, and the kernel takes no bond as a port of one"),
            (LinkKind::Vrf, LinkKind::Vrf) => Some("is a VRF, and the kernel takes no VRF as a port of one"),
            _ => None,
        }
    }

    fn property(
        &mut self,
        claims: &mut BTreeMap<IfName, Claim<'a>>,
        name: IfName,
        path: String,
        controller: Option<IfName>,
    ) {
        let controller = controller.map(|c| self.real(c));
        if let Some(claim) = claims.get(&name) {
            if controller != Some(claim.controller) {
                let given = controller.map_or_else(|| "none".to_owned(), |c| c.to_string());
                let message = format!(
                    "{given}, but {} lists it as a port of {}; make the two agree",
                    claim.path, claim.controller
                );
                self.refuse(path, reason::CONTRADICTION, message);
            }
            return;
        }
        let Some(controller) = controller else {
            if let Some(desired) = self.desired_for(name, &path) {
                desired.controller = DesiredController::Detached;
            }
            return;
        };
        if self.ignored.contains(&controller) {
            self.refuse(path, reason::CONTRADICTION, format!("{controller} shall be ignored; remove one of them"));
            return;
        }
        if !self.exists(controller) {
            let message =
                format!("{controller} does not exist and is not asked for, or shall be absent; check the name");
            self.refuse(path, reason::LINK_NOT_FOUND, message);
        } else if !self.kind(controller).is_some_and(LinkKind::is_controller) {
            let message = format!("{controller} is no bridge, bond or VRF and has no ports");
            self.refuse(path, reason::KIND_MISMATCH, message);
        } else if name == controller {
            self.refuse(path, reason::CYCLE, format!("{name} cannot be a port of itself"));
        } else if let Some(why) = self.cannot_be_port(name, controller) {
            self.refuse(path, reason::CONTRADICTION, format!("{name} {why}"));
        } else if self.entry(controller).is_some_and(|(entry, _)| has_closed_list(entry)) {
            let message = format!("{controller} has a port list and {name} is not in it; make the two agree");
            self.refuse(path, reason::CONTRADICTION, message);
        } else {
            claims.insert(name, Claim { controller, path, port: None });
        }
    }

    fn apply(&mut self, claims: &BTreeMap<IfName, Claim<'_>>) {
        for (name, claim) in claims {
            let Some(desired) = self.desired_for(*name, &claim.path) else { continue };
            desired.controller = DesiredController::Of(claim.controller);
            for (attr, value) in claim.port.iter().flat_map(|port| port.attrs.iter()) {
                desired.attrs.require(attr, value.clone());
            }
        }
    }

    /// Ports that a list no longer has, and ports of controllers that go, become free.
    fn release(&mut self, claims: &BTreeMap<IfName, Claim<'_>>) {
        let mut freed: Vec<(IfName, String)> = Vec::new();
        for link in self.observed.links.values() {
            let Some(controller) = link.controller else { continue };
            let free = !claims.contains_key(&link.name) && !self.ignored.contains(&link.name) && self.exists(link.name);
            let Some((entry, path)) = self.entry(controller) else { continue };
            if free && (self.goes(controller) || (self.is_desired(controller) && has_closed_list(entry))) {
                freed.push((link.name, path));
            }
        }
        for (name, path) in freed {
            // A bond takes its ports down when it releases them.
            let up = self.current(name).map(|link| link.up);
            let Some(desired) = self.desired_for(name, &path) else { continue };
            desired.controller = DesiredController::Detached;
            desired.up = desired.up.or(up);
        }
    }
}

/// Whether the entry lists all ports that the controller shall have.
fn has_closed_list(entry: &Interface) -> bool {
    entry.ports.is_some() && entry.allow_extra_ports != Some(true)
}
