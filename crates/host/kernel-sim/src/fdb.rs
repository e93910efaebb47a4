//! Forwarding entries.
//!
//! A bridge knows each station of a VLAN behind one port only: an entry that is added on one port
//! moves there. An entry without a VLAN stands for every VLAN of the port too: the kernel keeps one
//! for each.

use netloom_model::{Attr, FdbEntry, FdbKey, Link, LinkKind, StepError};
use netloom_types::{IfName, VlanId};

use crate::{
    SimHost,
    defaults::is_vxlan_over_ipv6,
    errno::{Done, EAFNOSUPPORT, refuse_plainly},
};

impl SimHost {
    pub(crate) fn add_fdb(&mut self, name: IfName, key: FdbKey, entry: FdbEntry) -> Done {
        let link = self.link(name)?;
        let Some(bridge) = self.table_owner(link, entry)? else {
            check_far_end(link, key)?;
            self.add_device_entry(name, key, entry);
            return Ok(());
        };
        if key.vlan.is_some_and(|vlan| !link.vlans.all().contains(vlan)) {
            return refuse_plainly(StepError::EINVAL);
        }
        for vlan in vlans_meant(link, key) {
            self.place_entry(bridge, name, FdbKey { vlan, ..key }, entry);
        }
        Ok(())
    }

    pub(crate) fn remove_fdb(&mut self, name: IfName, key: FdbKey, entry: FdbEntry) -> Done {
        let link = self.link(name)?;
        let on_bridge = self.table_owner(link, entry)?.is_some();
        let vlans = if on_bridge { vlans_meant(link, key) } else { vec![key.vlan] };
        let keys: Vec<FdbKey> =
            vlans.into_iter().map(|vlan| FdbKey { vlan, ..key }).filter(|key| link.fdb.contains_key(key)).collect();
        if keys.is_empty() {
            return refuse_plainly(StepError::ENOENT);
        }
        let fdb = &mut self.edit(name).fdb;
        for key in keys {
            fdb.remove(&key);
        }
        Ok(())
    }

    /// The bridge whose table the entry is in; none for the device's own table.
    fn table_owner(&self, link: &Link, entry: FdbEntry) -> Result<Option<IfName>, StepError> {
        if link.kind == LinkKind::Bridge {
            return Ok(Some(link.name));
        }
        if entry.on_device {
            return Ok(None);
        }
        let bridge = link.controller.filter(|name| self.find(*name).is_some_and(|link| link.kind == LinkKind::Bridge));
        bridge.map_or_else(|| refuse_plainly(StepError::EOPNOTSUPP), |bridge| Ok(Some(bridge)))
    }

    /// A VXLAN sends to one far end for a station, and to several for unknown ones and groups.
    fn add_device_entry(&mut self, name: IfName, key: FdbKey, entry: FdbEntry) {
        let link = self.edit(name);
        if link.kind == LinkKind::Vxlan && !key.mac.is_zero() && !key.mac.is_multicast() {
            link.fdb.retain(|other, entry| !(entry.on_device && other.mac == key.mac && other.vlan == key.vlan));
        }
        link.fdb.insert(key, entry);
    }

    fn place_entry(&mut self, bridge: IfName, name: IfName, key: FdbKey, entry: FdbEntry) {
        let others = self.index.ports_of(bridge).into_iter().chain([bridge]).filter(|other| *other != name);
        for other in others.collect::<Vec<_>>() {
            let moved = self.find(other).is_some_and(|link| {
                let is_bridge = link.kind == LinkKind::Bridge;
                link.fdb.get(&key).is_some_and(|entry| is_bridge || !entry.on_device)
            });
            if moved {
                self.edit(other).fdb.remove(&key);
            }
        }
        self.edit(name).fdb.insert(key, entry);
    }
}

/// A VXLAN reaches far ends of one family only.
fn check_far_end(link: &Link, key: FdbKey) -> Done {
    let v6 = is_vxlan_over_ipv6(&link.attrs);
    let external = link.attrs.bool(Attr::VxlanExternal) == Some(true);
    let fits = key.dst.is_none_or(|dst| dst.is_ipv6() == v6 || external);
    if link.kind == LinkKind::Vxlan && !fits { refuse_plainly(EAFNOSUPPORT) } else { Ok(()) }
}

/// The VLANs that a key means on a port; `None` is the entry for frames without a VLAN.
fn vlans_meant(link: &Link, key: FdbKey) -> Vec<Option<VlanId>> {
    match key.vlan {
        Some(vlan) => vec![Some(vlan)],
        None => [None].into_iter().chain(link.vlans.all().iter().map(Some)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Attrs, Step, Value};

    use super::*;
    use crate::testing::{all, attrs, create, dummies, join, leave, mac, n, no, touched, yes};

    const STATIC: FdbEntry = FdbEntry { on_device: false, local: false, external: false };
    const DEVICE: FdbEntry = FdbEntry { on_device: true, local: true, external: false };

    fn key(last: u8, vlan: Option<u16>) -> FdbKey {
        FdbKey { mac: mac(last), vlan: vlan.map(|id| id.try_into().unwrap()), dst: None, vni: None }
    }

    fn add(name: &str, key: FdbKey, entry: FdbEntry) -> Step {
        Step::AddFdb { name: n(name), key, entry }
    }

    #[test]
    fn an_entry_without_a_vlan_is_one_for_each_vlan_too() {
        let mut sim = dummies(["d0", "d1"]);
        assert_eq!(no(&mut sim, &add("d0", key(9, None), STATIC)), StepError::EOPNOTSUPP);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0"), join("d1", "br0")]);
        yes(&mut sim, &add("d0", key(9, None), STATIC));
        let keys = |sim: &SimHost, name: &str| sim.link(n(name)).unwrap().fdb.keys().copied().collect::<Vec<_>>();
        assert_eq!(keys(&sim, "d0"), [key(9, None), key(9, Some(1))]);
        assert_eq!(no(&mut sim, &add("d0", key(9, Some(10)), STATIC)), StepError::EINVAL);
        let changed = yes(&mut sim, &add("d1", key(9, None), STATIC));
        assert_eq!(touched(&changed), ["d0", "d1"]);
        assert!(keys(&sim, "d0").is_empty());
        let remove = |name: &str| Step::RemoveFdb { name: n(name), key: key(9, None), entry: STATIC };
        assert_eq!(no(&mut sim, &remove("d0")), StepError::ENOENT);
        yes(&mut sim, &remove("d1"));
        assert!(keys(&sim, "d1").is_empty());
    }

    #[test]
    fn leaving_the_bridge_drops_its_entries_only() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0")]);
        all(&mut sim, [add("d0", key(9, Some(1)), STATIC), add("d0", key(8, None), DEVICE), leave("d0")]);
        assert_eq!(sim.link(n("d0")).unwrap().fdb.keys().copied().collect::<Vec<_>>(), [key(8, None)]);
    }

    #[test]
    fn a_vxlan_knows_several_ends_for_unknown_stations_only() {
        let mut sim = SimHost::new();
        yes(&mut sim, &create("vx0", LinkKind::Vxlan, attrs([(Attr::VxlanId, Value::Int(5))])));
        let to = |mac, last: u8| FdbKey {
            mac,
            vlan: None,
            dst: Some(std::net::Ipv4Addr::new(10, 0, 0, last).into()),
            vni: None,
        };
        let unknown = netloom_types::MacAddr::new([0; 6]);
        all(&mut sim, [add("vx0", to(unknown, 1), DEVICE), add("vx0", to(unknown, 2), DEVICE)]);
        all(&mut sim, [add("vx0", to(mac(9), 1), DEVICE), add("vx0", to(mac(9), 2), DEVICE)]);
        let keys: Vec<FdbKey> = sim.link(n("vx0")).unwrap().fdb.keys().copied().collect();
        assert_eq!(keys, [to(unknown, 1), to(unknown, 2), to(mac(9), 2)]);
    }
}
