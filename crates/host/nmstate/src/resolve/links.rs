//! Turns each entry into the desired state of one link.

use netloom_model::{Attr, Attrs, DesiredLink, LinkKind, Mirror, Presence, Value};
use netloom_types::IfName;

use super::{Merge, names::is_kind};
use crate::{
    document::{Identifier, Interface, State},
    errors::reason,
    table,
};

impl Merge<'_> {
    pub(super) fn links(&mut self) {
        let mut kept = Vec::new();
        for (i, name, interface) in self.entries_in_order() {
            let path = format!("interfaces[{i}]");
            if interface.state == Some(State::Absent) {
                self.absent_entry(&path, name, interface);
                continue;
            }
            self.refuse_kept(&path, interface);
            let Some(kind) = self.kind_of(&path, name, interface) else { continue };
            let desired = self.link(&path, name, kind, interface);
            if matches!(desired.kind, LinkKind::Other(_)) {
                kept.push(desired);
            } else {
                self.links.insert(name, desired);
            }
        }
        self.kept_links(&kept);
        self.veth_peers();
        // Again at once: inserted one by one they leave their nodes half empty, and there may be many.
        self.links = std::mem::take(&mut self.links).into_iter().collect();
    }

    fn kind_of(&mut self, path: &str, name: IfName, interface: &Interface) -> Option<LinkKind> {
        let is = self.current(name).map(|link| link.kind.clone());
        match (interface.kind.clone(), is) {
            (Some(given), Some(is)) if is_kind(&is, &given) => Some(is),
            (Some(given), Some(is)) => {
                let message = format!(
                    "{given}, but {name} is there and is of type {is}; to replace it add an entry with type: {is} and state: absent"
                );
                self.refuse(format!("{path}.type"), reason::KIND_MISMATCH, message);
                None
            }
            (Some(given), None) if given.is_virtual() => Some(given),
            (Some(LinkKind::Other(kind)), None) => {
                let made: Vec<&str> =
                    LinkKind::KNOWN.iter().filter(|kind| kind.is_virtual()).map(LinkKind::name).collect();
                let message = format!(
                    "{name} does not exist, and netloom does not make links of type {kind}; it makes {}",
                    made.join(", ")
                );
                self.refuse(format!("{path}.type"), reason::NOT_SUPPORTED, message);
                None
            }
            (Some(given), None) => {
                let message =
                    format!("{name} does not exist, and a link of type {given} cannot be made; check the name");
                self.refuse(path, reason::LINK_NOT_FOUND, message);
                None
            }
            (None, Some(is)) => match interface.block {
                Some(block) if block != is.block() => {
                    let message = format!("{name} is of type {is}, which has no {block} block; remove it");
                    self.refuse(format!("{path}.{block}"), reason::KIND_MISMATCH, message);
                    None
                }
                _ => Some(is),
            },
            (None, None) => {
                let kinds: Vec<_> = interface.block.map(|b| table::kinds_of(b).collect()).unwrap_or_default();
                if let [kind] = kinds[..] {
                    return Some(kind.clone());
                }
                let message = format!("{name} does not exist; to create it, give its `type`");
                self.refuse(path, reason::LINK_NOT_FOUND, message);
                None
            }
        }
    }

    fn link(&mut self, path: &str, name: IfName, kind: LinkKind, interface: &Interface) -> DesiredLink {
        let mut desired = DesiredLink::new(name, kind, self.origin(path));
        desired.adoption = self.options.adoption;
        desired.up = match interface.state {
            Some(State::Up) => Some(true),
            Some(State::Down) => Some(false),
            Some(State::Absent | State::Ignore) | None => None,
        };
        desired.description = interface.description.as_deref().map(Into::into);
        desired.attrs = self.attrs(path, &desired.kind, interface);
        desired.alt_names = interface.alt_names.clone();
        desired.features = interface.features.clone();
        for item in &interface.fdb {
            desired.fdb.insert(item.key, item.entry);
        }
        for item in &interface.mirrors {
            let mirror = item.mirror.map(|(matches, action, to)| {
                let to = self.real(to);
                Mirror { matches, action, to, ours: true }
            });
            desired.mirrors.insert(item.key, mirror);
        }
        self.ip(path, &mut desired, interface);
        desired
    }

    fn attrs(&mut self, path: &str, kind: &LinkKind, interface: &Interface) -> Attrs {
        let mut attrs = Attrs::new();
        for (attr, value) in interface.attrs.iter() {
            // It says which link is meant, not which address it shall have.
            if attr == Attr::Mac && interface.identifier == Some(Identifier::MacAddress) {
                continue;
            }
            if !attr.applies_to(kind) {
                let message = format!("links of type {kind} do not have {attr}; remove it");
                self.refuse(path, reason::NOT_SUPPORTED, message);
                continue;
            }
            let value = match value {
                Value::Link(link) => Value::Link(self.real(*link)),
                other => other.clone(),
            };
            attrs.require(attr, value);
        }
        if let Some(from) = interface.copy_mac_from {
            self.copy_mac(path, from, &mut attrs);
        }
        attrs
    }

    fn copy_mac(&mut self, path: &str, from: IfName, attrs: &mut Attrs) {
        let path = format!("{path}.copy-mac-from");
        let real = self.real(from);
        let given = self.entry(real).and_then(|(other, _)| other.attrs.mac(Attr::Mac));
        let Some(mac) = given.or_else(|| self.observed.links.get(&real)?.attrs.mac(Attr::Mac)) else {
            self.refuse(path, reason::LINK_NOT_FOUND, format!("{from} does not exist or has no address to copy"));
            return;
        };
        match attrs.mac(Attr::Mac) {
            Some(other) if other != mac => {
                let message = format!("{from} has {mac}, and mac-address says {other}: keep one");
                self.refuse(path, reason::CONTRADICTION, message);
            }
            _ => attrs.require(Attr::Mac, Value::Mac(mac)),
        }
    }

    /// Both ends of a pair are made at once, so both are desired.
    fn veth_peers(&mut self) {
        let ends: Vec<(IfName, IfName)> = self
            .links
            .values()
            .filter(|w| w.kind == LinkKind::Veth && w.presence == Presence::Present)
            .filter_map(|w| Some((w.name, w.attrs.link(Attr::VethPeer)?)))
            .collect();
        for (name, peer) in ends {
            let paired = self.current(name).is_some_and(|l| l.attrs.link(Attr::VethPeer) == Some(peer));
            if !paired {
                self.veth_peer(name, peer);
            }
        }
    }

    fn veth_peer(&mut self, name: IfName, peer: IfName) {
        let path = self.entry(name).map(|(_, path)| format!("{path}.veth.peer")).unwrap_or_default();
        if peer == name {
            self.refuse(path, reason::CYCLE, format!("{name} cannot be its own peer"));
            return;
        }
        if self.entry(peer).is_some_and(|(entry, _)| entry.state == Some(State::Absent)) {
            let message = format!("{peer} shall be absent, and it is the other end of {name}; decide for one of them");
            self.refuse(path, reason::ABSENT_PARENT, message);
            return;
        }
        if let Some(link) = self.current(peer) {
            let message = format!("{peer} exists already and is not the other end of {name}; take another name");
            let other_end = link.attrs.link(Attr::VethPeer);
            if other_end != Some(name) {
                self.refuse(path, reason::CONTRADICTION, message);
            }
            return;
        }
        let origin = self.origin(path.clone());
        let adoption = self.options.adoption;
        let desired = self
            .links
            .entry(peer)
            .or_insert_with(|| DesiredLink { adoption, ..DesiredLink::new(peer, LinkKind::Veth, origin) });
        let given = desired.attrs.link(Attr::VethPeer);
        if desired.kind != LinkKind::Veth || desired.presence == Presence::Absent || given.is_some_and(|s| s != name) {
            self.refuse(
                path,
                reason::CONTRADICTION,
                format!("the entry of {peer} says something else; make the two agree"),
            );
        } else {
            desired.attrs.require(Attr::VethPeer, Value::Link(name));
        }
    }
}
