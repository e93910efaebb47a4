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
            if let Some(desired) = self.links.get_mut(&real) {
                desired.vlans = Some(vlans);
            }
        }
        if let (Some(entries), Some(desired)) = (&interface.vlans, self.links.get_mut(&name)) {
            desired.vlans = Some(membership_of_entries(entries));
        }
        let plain = reset && self.all_plain(name, all, &default);
        self.filtering(name, tagging, plain);
        self.check_default_pvid(path, name);
    }

    /// A port with VLANs switches filtering on; when the last one is reset it goes off. What is given
    /// of filtering itself wins.
    fn filtering(&mut self, name: IfName, tagging: bool, plain: bool) {
        let given = self.links.get(&name).is_some_and(|w| w.attrs.given(Attr::BridgeVlanFiltering).is_some());
        let wanted = if given {
            return;
        } else if tagging {
            true
        } else if plain {
            false
        } else {
            return;
        };
        if let Some(desired) = self.links.get_mut(&name) {
            desired.attrs.require(Attr::BridgeVlanFiltering, Value::Bool(wanted));
        }
    }

    fn all_plain(&self, bridge: IfName, ports: &[IfName], default: &VlanMembership) -> bool {
        ports.iter().copied().all(|port| {
            let given = self.links.get(&port).and_then(|w| w.vlans.as_ref());
            let is = self.current(port).filter(|link| link.controller == Some(bridge)).map(|link| &link.vlans);
            given.or(is).is_none_or(|vlans| vlans == default)
        })
    }

    fn check_default_pvid(&mut self, path: &str, name: IfName) {
        let Some(Value::Int(pvid)) = self.links.get(&name).and_then(|w| w.attrs.given(Attr::BridgeDefaultPvid)) else {
            return;
        };
        let is = self.current(name).and_then(|link| link.attrs.int(Attr::BridgeDefaultPvid));
        if *pvid != 1 && is != Some(*pvid) && !self.bool(name, Attr::BridgeVlanFiltering) {
            let message = format!("{pvid}: another default than 1 needs a port with vlan, or vlan-filtering: true");
            self.refuse(format!("{path}.options.vlan-default-pvid"), reason::CONTRADICTION, message);
        }
    }

    /// A filtering bridge passes nothing of a VLAN that is not its own to the link for that VLAN.
    pub(super) fn warn_bridge_vlans(&mut self) {
        for name in self.all_names() {
            let Some(bridge) = self.base(name).filter(|base| self.kind(*base) == Some(&LinkKind::Bridge)) else {
                continue;
            };
            let named = self.links.contains_key(&name) || self.links.contains_key(&bridge);
            let same_tags = self.int(name, Attr::VlanProtocol) == self.int(bridge, Attr::BridgeVlanProtocol);
            let is_vlan = self.kind(name) == Some(&LinkKind::Vlan);
            if !(named && is_vlan && same_tags && self.bool(bridge, Attr::BridgeVlanFiltering)) {
                continue;
            }
            let id = self.int(name, Attr::VlanId);
            let own = self.own_vlans(bridge).all();
            if u16::try_from(id).ok().and_then(|id| VlanId::try_from(id).ok()).is_some_and(|id| !own.contains(id)) {
                let path = if self.links.contains_key(&name) {
                    format!("{}.vlan.id", self.path_of(name))
                } else {
                    format!("{}.bridge.vlans", self.path_of(bridge))
                };
                let message = format!(
                    "{bridge} filters VLANs and {id} is none of its own, so nothing reaches {name}; add {id} to bridge.vlans of {bridge}"
                );
                self.warn(path, message);
            }
        }
    }

    /// The VLANs that a bridge itself will have.
    fn own_vlans(&self, bridge: IfName) -> VlanMembership {
        let given = self.links.get(&bridge).and_then(|desired| desired.vlans.as_ref());
        let is = || self.current(bridge).map(|link| &link.vlans);
        given.or_else(is).cloned().unwrap_or_else(|| default_vlans(self.int(bridge, Attr::BridgeDefaultPvid)))
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
