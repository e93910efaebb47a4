//! What a link will be once the desired state is reached, as far as that is known already.

use netloom_model::{Attr, DesiredController, DesiredLink, Link, LinkKind, Presence, Value};
use netloom_types::{Family, IfName};

use super::Merge;

impl<'a> Merge<'a> {
    /// The link as it is now, unless another one takes its name.
    pub(super) fn current(&self, name: IfName) -> Option<&'a Link> {
        if self.replaced.contains(&name) { None } else { self.observed.links.get(&name) }
    }

    /// Whether the desired state says that a link is deleted.
    pub(super) fn goes(&self, name: IfName) -> bool {
        self.links.get(&name).is_some_and(deletes)
    }

    /// Whether the link will be there.
    pub(super) fn exists(&self, name: IfName) -> bool {
        match self.links.get(&name) {
            Some(desired) => !deletes(desired),
            None => self.observed.links.contains_key(&name),
        }
    }

    pub(super) fn kind(&self, name: IfName) -> Option<&LinkKind> {
        self.links.get(&name).map(|w| &w.kind).or_else(|| Some(&self.current(name)?.kind))
    }

    pub(super) fn attr(&self, name: IfName, attr: Attr) -> Option<Value> {
        let given = self.links.get(&name).and_then(|w| w.attrs.given(attr)).cloned();
        given.or_else(|| self.current(name).and_then(|l| l.attrs.get(attr))).or_else(|| attr.default_value())
    }

    pub(super) fn int(&self, name: IfName, attr: Attr) -> u64 {
        match self.attr(name, attr) {
            Some(Value::Int(number)) => number,
            _ => 0,
        }
    }

    pub(super) fn bool(&self, name: IfName, attr: Attr) -> bool {
        self.attr(name, attr) == Some(Value::Bool(true))
    }

    pub(super) fn base(&self, name: IfName) -> Option<IfName> {
        match self.attr(name, Attr::Base) {
            Some(Value::Link(base)) => Some(base),
            _ => None,
        }
    }

    pub(super) fn controller(&self, name: IfName) -> Option<IfName> {
        match self.links.get(&name).map_or(DesiredController::Keep, |w| w.controller) {
            DesiredController::Of(controller) => Some(controller),
            DesiredController::Detached => None,
            DesiredController::Keep => self.current(name)?.controller.filter(|c| self.exists(*c)),
        }
    }

    pub(super) fn is_up(&self, name: IfName) -> bool {
        let given = self.links.get(&name).and_then(|w| w.up);
        given.unwrap_or_else(|| self.current(name).is_none_or(|link| link.up))
    }

    /// Whether the link speaks a family, as far as the document or the host say.
    pub(super) fn speaks(&self, name: IfName, family: Family) -> bool {
        let given = self.links.get(&name).and_then(|w| w.ip(family).enabled);
        given.unwrap_or_else(|| match family {
            Family::Ipv4 => true,
            Family::Ipv6 => !self.bool(name, Attr::Ipv6Disabled),
        })
    }

    /// Every link that will be there.
    pub(super) fn all_names(&self) -> Vec<IfName> {
        let mut names: Vec<IfName> = self.observed.links.keys().chain(self.links.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| self.exists(*name));
        names
    }
}

fn deletes(desired: &DesiredLink) -> bool {
    desired.presence == Presence::Absent && desired.kind.is_virtual()
}
