//! VLANs of bridge ports and of bridges.

use netloom_model::{Attr, LinkKind, Presence, Value, VlanMembership};
use netloom_types::{IfName, VlanId, VlanSet};

use super::Merge;
use crate::{
    document::{Interface, PortVlan, VlanEntry},
    errors::reason,
};

impl Merge<'_> {
    pub(super) fn bridges(&mut self) {
        let ports = self.grouped(Self::controller);
        for (i, name, interface) in self.entries_in_order() {
            let is_bridge = self.kind(name) == Some(&LinkKind::Bridge);
            if is_bridge && self.links.get(&name).is_some_and(|w| w.presence == Presence::Present) {
                let all = ports.get(&name).map_or(&[][..], |ports| ports);
                self.bridge(&format!("interfaces[{i}].bridge"), name, interface, all);
            }
        }
    }

    fn bridge(&mut self, path: &str, name: IfName, interface: &Interface, all: &[IfName]) {
        let default = default_vlans(self.int(name, Attr::BridgeDefaultPvid));
        let (mut tagging, mut reset) = (false, false);
        for (j, port) in interface.ports.iter().flatten().enumerate() {
            let real = self.real(port.name);
            let vlans = match (&port.vlan, &port.vlans) {
                (Some(vlan), _) if *vlan == PortVlan::default() => default.clone(),
                (Some(vlan), _) => {
                    self.warn_native(&format!("{path}.port[{j}].vlan"), vlan);
                    membership_of_port(vlan)
                }
                (None, Some(entries)) => membership_of_entries(entries),
                (None, None) => continue,
            };
            if vlans == default && port.vlan.as_ref().is_none_or(|vlan| *vlan == PortVlan::default()) {
                reset = true;
            } else {
                tagging = true;
            }
            if let Some(wish) = self.links.get_mut(&real) {
                wish.vlans = Some(vlans);
            }
        }
        if let (Some(entries), Some(wish)) = (&interface.vlans, self.links.get_mut(&name)) {
            wish.vlans = Some(membership_of_entries(entries));
        }
        let plain = reset && self.all_plain(name, all, &default);
        self.filtering(name, tagging, plain);
        self.check_default_pvid(path, name);
    }

    /// A port with VLANs switches filtering on; when the last one is reset it goes off. What is said
    /// of filtering itself wins.
    fn filtering(&mut self, name: IfName, tagging: bool, plain: bool) {
        let said = self.links.get(&name).is_some_and(|w| w.attrs.said(Attr::BridgeVlanFiltering).is_some());
        let wanted = if said {
            return;
        } else if tagging {
            true
        } else if plain {
            false
        } else {
            return;
        };
        if let Some(wish) = self.links.get_mut(&name) {
            wish.attrs.wish(Attr::BridgeVlanFiltering, Value::Bool(wanted));
        }
    }

    fn all_plain(&self, bridge: IfName, ports: &[IfName], default: &VlanMembership) -> bool {
        ports.iter().copied().all(|port| {
            let said = self.links.get(&port).and_then(|w| w.vlans.as_ref());
            let is = self.current(port).filter(|link| link.controller == Some(bridge)).map(|link| &link.vlans);
            said.or(is).is_none_or(|vlans| vlans == default)
        })
    }

    fn check_default_pvid(&mut self, path: &str, name: IfName) {
        let Some(Value::Int(pvid)) = self.links.get(&name).and_then(|w| w.attrs.said(Attr::BridgeDefaultPvid)) else {
            return;
        };
        let is = self.current(name).and_then(|link| link.attrs.int(Attr::BridgeDefaultPvid));
        if *pvid != 1 && is != Some(*pvid) && !self.bool(name, Attr::BridgeVlanFiltering) {
            let message = format!("{pvid}: another default than 1 needs a port with vlan, or vlan-filtering: true");
            self.refuse(format!("{path}.options.vlan-default-pvid"), reason::CONTRADICTION, message);
        }
    }

    fn warn_native(&mut self, path: &str, vlan: &PortVlan) {
        let native = vlan.tag.filter(|_| vlan.enable_native == Some(true));
        let Some(native) = native else { return };
        if vlan.trunk_tags.iter().flatten().any(|(a, b)| (a.get()..=b.get()).contains(&native)) {
            self.warn(path, format!("{native} is in trunk-tags and is the native VLAN: it leaves without a tag"));
        }
    }
}

/// The VLANs of a port that nobody configured.
pub(crate) fn default_vlans(pvid: u64) -> VlanMembership {
    let vlan = u16::try_from(pvid).ok().and_then(|pvid| VlanId::try_from(pvid).ok());
    vlan.map(VlanMembership::access).unwrap_or_default()
}

/// The VLANs that `vlan` of a bridge port stands for.
fn membership_of_port(vlan: &PortVlan) -> VlanMembership {
    let tag = vlan.tag.and_then(|tag| VlanId::try_from(tag).ok());
    if vlan.trunk != Some(true) {
        return tag.map(VlanMembership::access).unwrap_or_default();
    }
    let mut tagged = VlanSet::new();
    for &(first, last) in vlan.trunk_tags.iter().flatten() {
        tagged.insert_range(first, last);
    }
    match tag.filter(|_| vlan.enable_native == Some(true)) {
        Some(native) => {
            tagged.remove(native);
            VlanMembership { tagged, ..VlanMembership::access(native) }
        }
        None => VlanMembership { tagged, untagged: VlanSet::new(), pvid: None },
    }
}

/// The VLANs that a `vlans` list stands for.
fn membership_of_entries(entries: &[VlanEntry]) -> VlanMembership {
    let mut vlans = VlanMembership::default();
    for entry in entries {
        let set = if entry.untagged { &mut vlans.untagged } else { &mut vlans.tagged };
        set.insert_range(entry.first, entry.last);
        if entry.pvid {
            vlans.pvid = Some(entry.first);
        }
    }
    vlans
}
