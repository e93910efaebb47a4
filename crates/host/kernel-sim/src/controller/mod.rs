//! Ports: links that belong to a bridge, a bond or a VRF.
//!
//! A link has one controller. Moving it to another is leaving the first and joining the second, with
//! everything that either does to the port.

pub(crate) mod bond;
mod bridge;
mod vrf;

use std::collections::BTreeSet;

use netloom_model::{Link, LinkKind, Section, StepError};
use netloom_types::IfName;

use crate::{
    SimHost,
    defaults::is_tunnel,
    errno::{Done, refuse_plainly},
};

impl SimHost {
    pub(crate) fn set_controller(&mut self, name: IfName, controller: Option<IfName>) -> Done {
        let link = self.link(name)?;
        if link.controller == controller {
            return Ok(());
        }
        if let Some(controller) = controller {
            // Leaving a bond sets the port down.
            let up = link.up && !self.is_bond(link.controller);
            self.check_join(link, up, controller)?;
        }
        if link.controller.is_some() {
            self.leave(name);
        }
        if let Some(controller) = controller {
            self.join(name, controller);
        }
        Ok(())
    }

    /// Whether `link`, up or down as reported, may become a port.
    pub(crate) fn check_join(&self, link: &Link, up: bool, controller: IfName) -> Done {
        let controller = self.link(controller)?;
        if !controller.kind.is_controller() {
            return refuse_plainly(StepError::EOPNOTSUPP);
        }
        match controller.kind {
            LinkKind::Bridge => self.check_bridge_join(link, controller)?,
            LinkKind::Bond => self.check_bond_join(link, up, controller)?,
            _ => vrf::check_join(link)?,
        }
        if self.stands_on(link, controller.name) {
            return refuse_plainly(StepError::EBUSY);
        }
        Ok(())
    }

    /// Makes a link a port; checked before.
    pub(crate) fn join(&mut self, name: IfName, controller: IfName) {
        let Some(kind) = self.find(controller).map(|link| link.kind.clone()) else { return };
        self.edit(name).controller = Some(controller);
        self.index.move_port(name, None, Some(controller));
        match kind {
            LinkKind::Bridge => self.joined_bridge(name, controller),
            LinkKind::Bond => self.joined_bond(name, controller),
            _ => self.changed_vrf(name),
        }
    }

    /// Makes a port an ordinary link again.
    pub(crate) fn leave(&mut self, name: IfName) {
        let Some(controller) = self.find(name).and_then(|link| link.controller) else { return };
        let kind = self.find(controller).map(|link| link.kind.clone());
        let link = self.edit(name);
        link.controller = None;
        forget_port_settings(link);
        self.index.move_port(name, Some(controller), None);
        match kind {
            Some(LinkKind::Bridge) => self.left_bridge(name, controller),
            Some(LinkKind::Bond) => self.left_bond(name, controller),
            Some(LinkKind::Vrf) => self.changed_vrf(name),
            _ => {}
        }
    }

    /// Whether the link's frames go to its controller, so that no other link can have them.
    pub(crate) fn hands_frames_to_controller(&self, link: &Link) -> bool {
        let controller = link.controller.and_then(|name| self.find(name));
        controller.is_some_and(|controller| matches!(controller.kind, LinkKind::Bridge | LinkKind::Bond))
    }

    /// Whether links stand on this one that take its frames.
    fn feeds_children(&self, link: &Link) -> bool {
        self.index
            .children
            .of(&link.name)
            .filter_map(|name| self.find(*name))
            .any(|child| matches!(child.kind, LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan))
    }

    fn is_bond(&self, name: Option<IfName>) -> bool {
        name.and_then(|name| self.find(name)).is_some_and(|link| link.kind == LinkKind::Bond)
    }

    /// Whether `upper` gets its frames from `lower`, over bases and ports.
    fn stands_on(&self, upper: &Link, lower: IfName) -> bool {
        let below = |link: &Link| {
            let ports = self.index.ports.of(&link.name).copied();
            // A tunnel only sends through its base, it does not stand on it.
            link.base().filter(|_| !is_tunnel(link)).into_iter().chain(ports).collect::<Vec<_>>()
        };
        let mut open = below(upper);
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop() {
            if name == lower {
                return true;
            }
            if seen.insert(name) {
                open.extend(self.find(name).map(below).unwrap_or_default());
            }
        }
        upper.name == lower
    }
}

fn forget_port_settings(link: &mut Link) {
    let settings: Vec<_> = link
        .attrs
        .iter()
        .map(|(attr, _)| attr)
        .filter(|attr| matches!(attr.section(), Section::BridgePort | Section::BondPort))
        .collect();
    for attr in settings {
        link.attrs.remove(attr);
    }
}
