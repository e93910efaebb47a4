//! What goes with a link that goes.

use std::collections::BTreeMap;

use netloom_model::{Attr, DesiredLink, LinkKind, Presence};
use netloom_types::IfName;

use super::{Merge, names::is_kind};
use crate::{document::Interface, errors::reason};

impl Merge<'_> {
    /// `state: absent`: a virtual link is deleted, a card gets back what it had; a link that is not
    /// there is absent already.
    pub(super) fn absent_entry(&mut self, path: &str, name: IfName, interface: &Interface) {
        let Some(link) = self.observed.links.get(&name) else { return };
        if let Some(given) = interface.kind.as_ref().filter(|given| !is_kind(&link.kind, given)) {
            let message = format!("{given}, but {name} is of type {}; correct or remove the type", link.kind);
            self.refuse(format!("{path}.type"), reason::KIND_MISMATCH, message);
            return;
        }
        if let LinkKind::Other(kind) = &link.kind {
            let message = format!("{name} is of type {kind}, which netloom shows and does not delete");
            self.refuse(path, reason::NOT_SUPPORTED, message);
            return;
        }
        let mut desired = DesiredLink::new(name, link.kind.clone(), self.origin(path));
        desired.adoption = self.options.adoption;
        desired.presence = Presence::Absent;
        self.links.insert(name, desired);
    }

    /// Links on a link that goes, and the other end of a pair, go too.
    pub(super) fn absences(&mut self) {
        let mut queue: Vec<IfName> = self.links.keys().copied().filter(|name| self.goes(*name)).collect();
        let mut children: BTreeMap<IfName, Vec<IfName>> = BTreeMap::new();
        for link in self.observed.links.values().filter(|_| !queue.is_empty()) {
            for parent in [link.base(), link.attrs.link(Attr::VethPeer)].into_iter().flatten() {
                children.entry(parent).or_default().push(link.name);
            }
        }
        while let Some(parent) = queue.pop() {
            for &child in children.get(&parent).into_iter().flatten() {
                if self.child_goes(parent, child) {
                    queue.push(child);
                }
            }
        }
    }

    /// Whether the child is newly marked as absent.
    fn child_goes(&mut self, parent: IfName, child: IfName) -> bool {
        if self.ignored.contains(&child) {
            let path = self.entry(parent).map(|(_, path)| path).unwrap_or_default();
            let message = format!("{child} would go with {parent} and shall be ignored; decide for one of them");
            self.refuse(path, reason::ABSENT_PARENT, message);
            return false;
        }
        if let Some(desired) = self.links.get(&child) {
            let moves = desired.attrs.link(Attr::Base).is_some_and(|base| base != parent)
                || desired.attrs.link(Attr::VethPeer).is_some_and(|peer| peer != parent);
            if desired.presence == Presence::Present && !moves {
                let path = desired.origin.path.to_string();
                let message =
                    format!("{child} stands on {parent}, which shall be absent; make both absent or keep both");
                self.refuse(path, reason::ABSENT_PARENT, message);
            }
            return false;
        }
        let (Some(link), Some(origin)) =
            (self.observed.links.get(&child), self.links.get(&parent).map(|w| w.origin.clone()))
        else {
            return false;
        };
        let mut desired = DesiredLink::new(child, link.kind.clone(), origin);
        desired.adoption = self.options.adoption;
        desired.presence = Presence::Absent;
        self.links.insert(child, desired);
        true
    }
}
