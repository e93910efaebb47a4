//! Everything that must hold of links once the desired state is reached.

use std::collections::BTreeMap;

use netloom_model::{Attr, DesiredLink, LinkKind, Presence, Value};
use netloom_types::IfName;

use super::Merge;
use crate::{errors::reason, table};

impl Merge<'_> {
    pub(super) fn check(&mut self) {
        let present: Vec<DesiredLink> =
            self.links.values().filter(|w| w.presence == Presence::Present).cloned().collect();
        for desired in &present {
            let path = desired.origin.path.to_string();
            if self.current(desired.name).is_none() {
                self.check_required(&path, desired);
            }
            self.check_mtu(&path, desired);
            self.check_alt_names(&path, desired);
            self.check_mirrors(&path, desired);
            self.check_mac(&path, desired);
            self.check_kind(&path, desired);
            self.check_bond_port(desired);
        }
        self.check_port_ip();
        self.topology();
        self.warn_bridge_vlans();
    }

    /// What a new link cannot do without.
    fn check_required(&mut self, path: &str, desired: &DesiredLink) {
        // The kernel makes up a mode for a bond, and a number for a VXLAN; a person is asked for them.
        let asked: &[Attr] = if desired.kind == LinkKind::Bond {
            &[Attr::BondMode]
        } else if desired.kind == LinkKind::Vxlan && desired.attrs.bool(Attr::VxlanExternal) != Some(true) {
            &[Attr::VxlanId]
        } else {
            &[]
        };
        let block = table::block_of(&desired.kind).unwrap_or_default();
        let required = desired.kind.required().iter().chain(asked);
        for attr in required.filter(|attr| desired.attrs.given(**attr).is_none_or(|v| *v == Value::Unset)) {
            let message = format!("{} is new, and a {} needs {block}.{attr}; add it", desired.name, desired.kind);
            self.refuse(format!("{path}.{block}"), reason::MISSING_KEY, message);
        }
    }

    fn check_mtu(&mut self, path: &str, desired: &DesiredLink) {
        /// The smallest packet that IPv6 must be able to send.
        const IPV6_MIN: u64 = 1280;
        let Some(Value::Int(mtu)) = desired.attrs.given(Attr::Mtu) else { return };
        let (mtu, path) = (*mtu, format!("{path}.mtu"));
        let current = self.current(desired.name);
        let is = current.and_then(|link| link.attrs.int(Attr::Mtu));
        if is == Some(mtu) {
            return;
        }
        let in_use =
            current.is_some() && !self.bool(desired.name, Attr::Ipv6Disabled) && is.is_none_or(|is| is >= IPV6_MIN);
        if mtu < IPV6_MIN && desired.ipv6.enabled.unwrap_or(in_use) {
            let message = format!("{mtu}: IPv6 needs at least 1280; raise it or set ipv6.enabled: false");
            self.refuse(path.clone(), reason::INVALID_VALUE, message);
        }
        if let Some(facts) = current.and_then(|_| self.observed.facts.get(&desired.name)) {
            let (min, max) = (u64::from(facts.min_mtu), u64::from(facts.max_mtu));
            if mtu < min || (max != 0 && mtu > max) {
                let message = format!("{mtu}: {} takes {min} to {max}", desired.name);
                self.refuse(path.clone(), reason::INVALID_VALUE, message);
            }
        }
        if matches!(desired.kind, LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap)
            && let Some(base) = self.base(desired.name)
            && let Some(Value::Int(base_mtu)) = self.attr(base, Attr::Mtu)
            && mtu > base_mtu
        {
            let message = format!("{mtu} is above {base_mtu}, the MTU of its base {base}; raise that one too");
            self.refuse(path, reason::CONTRADICTION, message);
        }
    }

    fn check_alt_names(&mut self, path: &str, desired: &DesiredLink) {
        for (alt_name, _) in desired.alt_names.iter().filter(|(_, p)| **p == Presence::Present) {
            let text = alt_name.as_str();
            let taken = text.parse::<IfName>().ok().filter(|name| self.exists(*name));
            let other =
                self.observed.links.values().find(|link| {
                    link.name != desired.name && link.alt_names.contains(alt_name) && self.exists(link.name)
                });
            if let Some(name) = taken.or(other.map(|link| link.name)) {
                let message = format!("{text} is a name of {name} already; take another one");
                self.refuse(format!("{path}.alt-names"), reason::CONTRADICTION, message);
            }
        }
    }

    fn check_mirrors(&mut self, path: &str, desired: &DesiredLink) {
        for mirror in desired.mirrors.values().flatten() {
            let why = if mirror.to == desired.name {
                "is the link itself"
            } else if self.exists(mirror.to) {
                continue;
            } else {
                "does not exist and is not asked for"
            };
            self.refuse(
                format!("{path}.mirrors"),
                reason::LINK_NOT_FOUND,
                format!("{} {why}; check the name", mirror.to),
            );
        }
    }

    fn check_mac(&mut self, path: &str, desired: &DesiredLink) {
        let Some(mac) = desired.attrs.mac(Attr::Mac) else { return };
        let same = self.current(desired.name).and_then(|link| link.attrs.mac(Attr::Mac)) == Some(mac);
        if !same && (mac.is_multicast() || mac.is_zero()) {
            let message = format!("{mac} is no address that one link can have");
            self.refuse(format!("{path}.mac-address"), reason::INVALID_VALUE, message);
        }
    }

    /// Links by the value of a property, for finding two that must not be equal.
    pub(super) fn grouped<K: Ord>(&self, key: impl Fn(&Self, IfName) -> Option<K>) -> BTreeMap<K, Vec<IfName>> {
        let mut groups: BTreeMap<K, Vec<IfName>> = BTreeMap::new();
        for name in self.all_names() {
            if let Some(key) = key(self, name) {
                groups.entry(key).or_default().push(name);
            }
        }
        groups
    }

    /// The path of the entry that names a link, for messages about links.
    pub(super) fn path_of(&self, name: IfName) -> String {
        let implied = || self.links.get(&name).map(|w| w.origin.path.to_string());
        self.entry(name).map(|(_, path)| path).or_else(implied).unwrap_or_default()
    }
}
