//! VLANs of bridge ports and of bridges themselves.

use netloom_model::{Attr, Attrs, Link, LinkKind, StepError, Value, VlanMembership};
use netloom_types::{IfName, VlanId, VlanSet};

use crate::{
    SimHost,
    errno::{Done, refuse_plainly},
};

impl SimHost {
    pub(crate) fn set_vlans(&mut self, name: IfName, on_bridge: bool, add: &VlanMembership, remove: &VlanSet) -> Done {
        let link = self.link(name)?;
        let fits = if on_bridge {
            link.kind == LinkKind::Bridge
        } else {
            link.controller.and_then(|name| self.find(name)).is_some_and(|bridge| bridge.kind == LinkKind::Bridge)
        };
        if !fits {
            return refuse_plainly(StepError::EOPNOTSUPP);
        }
        if on_bridge && !add.all().minus(&link.vlans.all()).is_empty() && !can_take_vlans(link) {
            return refuse_plainly(StepError::EINVAL);
        }
        let vlans = &mut self.edit(name).vlans;
        take(vlans, remove);
        give(vlans, add);
        Ok(())
    }

    /// Changes the VLAN of new ports. Ports that are in the old one as it was given to them move to
    /// the new one; those that somebody configured stay as they are.
    pub(crate) fn set_default_pvid(&mut self, bridge: IfName, pvid: u64) {
        let Some(link) = self.find(bridge) else { return };
        let old = default_pvid(&link.attrs);
        self.edit(bridge).attrs.set(Attr::BridgeDefaultPvid, Value::Int(pvid));
        let new = u16::try_from(pvid).ok().and_then(|id| VlanId::try_from(id).ok());
        if old == new {
            return;
        }
        let ports = self.index.ports_of(bridge);
        for name in [bridge].into_iter().chain(ports) {
            let Some(vlans) = self.find(name).map(|link| &link.vlans) else { continue };
            if moves(vlans, old, new) {
                let vlans = &mut self.edit(name).vlans;
                if let Some(old) = old {
                    take(vlans, &[old].into_iter().collect());
                }
                if let Some(new) = new {
                    give(vlans, &VlanMembership::access(new));
                }
            }
        }
    }
}

/// The VLANs of a new port, and of a new bridge itself.
pub(crate) fn default_membership(bridge: &Attrs) -> VlanMembership {
    default_pvid(bridge).map(VlanMembership::access).unwrap_or_default()
}

/// Whether the VLAN of new ports can be changed.
pub(crate) fn check_default_pvid(bridge: &Link, pvid: u64) -> Done {
    let new = u16::try_from(pvid).ok().and_then(|id| VlanId::try_from(id).ok());
    let old = default_pvid(&bridge.attrs);
    if new.is_some() && new != old && moves(&bridge.vlans, old, new) && !can_take_vlans(bridge) {
        return refuse_plainly(StepError::EINVAL);
    }
    Ok(())
}

/// A bridge enters its own address in each of its VLANs, and without ports it may have none.
fn can_take_vlans(bridge: &Link) -> bool {
    bridge.attrs.mac(Attr::Mac).is_none_or(|mac| !mac.is_zero())
}

fn default_pvid(bridge: &Attrs) -> Option<VlanId> {
    let id = u16::try_from(bridge.int(Attr::BridgeDefaultPvid)?).ok()?;
    VlanId::try_from(id).ok()
}

fn moves(vlans: &VlanMembership, old: Option<VlanId>, new: Option<VlanId>) -> bool {
    let has_old = old.is_none_or(|old| vlans.pvid == Some(old) && vlans.untagged.contains(old));
    let has_new = new.is_some_and(|new| vlans.all().contains(new));
    has_old && !has_new
}

/// Takes VLANs away.
fn take(vlans: &mut VlanMembership, remove: &VlanSet) {
    vlans.tagged = vlans.tagged.minus(remove);
    vlans.untagged = vlans.untagged.minus(remove);
    vlans.pvid = vlans.pvid.filter(|pvid| !remove.contains(*pvid));
}

/// Adds VLANs; one that is there gets the flags that are given now.
fn give(vlans: &mut VlanMembership, add: &VlanMembership) {
    take(vlans, &add.all());
    vlans.tagged = vlans.tagged.plus(&add.tagged);
    vlans.untagged = vlans.untagged.plus(&add.untagged);
    vlans.pvid = add.pvid.or(vlans.pvid);
}

#[cfg(test)]
mod tests {
    use netloom_model::Step;

    use super::*;
    use crate::testing::{all, create, dummies, join, n, no, yes};

    fn ids(ids: &[u16]) -> VlanSet {
        ids.iter().map(|id| VlanId::try_from(*id).unwrap()).collect()
    }

    fn change(name: &str, tagged: &[u16], untagged: &[u16], pvid: Option<u16>, remove: &[u16]) -> Step {
        let pvid = pvid.map(|id| id.try_into().unwrap());
        let add = VlanMembership { tagged: ids(tagged), untagged: ids(untagged), pvid };
        Step::SetVlans { name: n(name), on_bridge: name == "br0", add, remove: ids(remove) }
    }

    fn of(sim: &SimHost, name: &str) -> (String, String, Option<u16>) {
        let vlans = &sim.link(n(name)).unwrap().vlans;
        (vlans.tagged.to_string(), vlans.untagged.to_string(), vlans.pvid.map(VlanId::get))
    }

    #[test]
    fn what_is_given_now_replaces_the_flags() {
        let mut sim = dummies(["d0", "d1"]);
        assert_eq!(no(&mut sim, &change("d0", &[5], &[], None, &[])), StepError::EOPNOTSUPP);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0")]);
        all(&mut sim, [change("d0", &[10, 11, 12], &[], None, &[99]), change("d0", &[], &[12], Some(12), &[])]);
        assert_eq!(of(&sim, "d0"), ("10-11".into(), "1,12".into(), Some(12)));
        yes(&mut sim, &change("d0", &[12], &[], None, &[1]));
        assert_eq!(of(&sim, "d0"), ("10-12".into(), String::new(), None));
        yes(&mut sim, &change("br0", &[30], &[], None, &[]));
        assert_eq!(of(&sim, "br0"), ("30".into(), "1".into(), Some(1)));
        assert_eq!(no(&mut sim, &change("d1", &[5], &[], None, &[])), StepError::EOPNOTSUPP);
    }

    #[test]
    fn every_vlan_at_once() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0")]);
        let add = VlanMembership { tagged: VlanSet::all(), ..VlanMembership::default() };
        yes(&mut sim, &Step::SetVlans { name: n("d0"), on_bridge: false, add, remove: VlanSet::new() });
        assert_eq!(of(&sim, "d0"), ("1-4094".into(), String::new(), None));
    }
}
