//! Ports of VRFs.

use netloom_model::{Attr, Link, LinkKind, StepError, Value};
use netloom_types::IfName;

use crate::{
    SimHost,
    errno::{Done, refuse},
};

/// Whether a link may become a port of a VRF.
pub(super) fn check_join(link: &Link) -> Done {
    match link.kind {
        LinkKind::Loopback => refuse(StepError::EOPNOTSUPP, "Can not enslave loopback device to a VRF"),
        LinkKind::Vrf => refuse(StepError::EINVAL, "Can not enslave an L3 master device to a VRF"),
        _ => Ok(()),
    }
}

impl SimHost {
    /// Whether links on this one make it take every frame, because it cannot pick out theirs. The
    /// kernel takes that for a request of somebody when it moves the link.
    fn hears_all(&self, name: IfName) -> bool {
        let Some(link) = self.find(name) else { return false };
        let picks = !matches!(
            link.kind,
            LinkKind::Dummy | LinkKind::Veth | LinkKind::Bridge | LinkKind::Gretap | LinkKind::Ip6gretap
        );
        let mac = link.attrs.mac(Attr::Mac);
        !picks
            && self.index.children.of(&name).filter_map(|child| self.find(*child)).any(|child| match child.kind {
                LinkKind::MacVlan | LinkKind::MacVtap => child.up,
                LinkKind::Vlan => {
                    child.up && (child.attrs.mac(Attr::Mac) != mac || self.hands_frames_to_controller(child))
                }
                _ => false,
            })
    }

    /// The link's routes change their table, so the kernel drops those through it, whatever their
    /// table, with IPv6 addresses and neighbours. Its VLANs keep theirs, and those that are down come up.
    pub(super) fn changed_vrf(&mut self, name: IfName) {
        self.drop_ipv6_addresses(name);
        self.edit(name).neighbours.clear();
        if self.is_up(name) {
            if self.hears_all(name) {
                self.edit(name).attrs.set(Attr::Promiscuous, Value::Bool(true));
            }
            self.lose_routes(name, None);
            self.raise_vlans(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::Step;

    use super::*;
    use crate::testing::{
        add, addresses, all, create, delete, dummies, in_table, join, leave, n, no, route, routes, set, touched, up,
        up_dummies, vlan, vrf, yes,
    };

    #[test]
    fn a_move_drops_ipv6_addresses_and_the_routes_through_the_link() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [vrf("red", 10), vrf("blue", 11), add("d0", "10.0.0.1/24"), add("d0", "fd00::1/64")]);
        all(&mut sim, [add("d1", "10.0.1.1/24"), vlan("d0", 5), up("d0.5"), add("d0.5", "fd05::1/64")]);
        all(
            &mut sim,
            [
                Step::AddRoute(route("10.5.0.0/16", ["10.0.0.2%"])),
                Step::AddRoute(in_table(99, route("10.6.0.0/16", ["%d0"]))),
                Step::AddRoute(route("10.7.0.0/16", ["10.0.0.2%", "10.0.1.2%"])),
            ],
        );
        let changed = yes(&mut sim, &join("d0", "red"));
        assert_eq!(touched(&changed), ["d0"]);
        assert_eq!(changed.links[&n("d0")].as_ref().unwrap().addresses.len(), 2);
        assert_eq!(addresses(&sim, "d0"), ["10.0.0.1/24"]);
        assert_eq!(addresses(&sim, "d0.5"), ["fd05::1/64"]);
        assert_eq!(routes(&sim).len(), 1);
        all(&mut sim, [Step::AddRoute(in_table(10, route("10.5.0.0/16", ["10.0.0.2%"]))), join("d0", "blue")]);
        assert_eq!(routes(&sim).len(), 1);
        yes(&mut sim, &leave("d0"));
        assert!(sim.is_up(n("d0")));
    }

    #[test]
    fn addresses_that_outlive_a_link_being_down_outlive_a_move() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [vrf("red", 10), add("d0", "fd00::1/64"), join("d0", "red")]);
        assert!(addresses(&sim, "d0").is_empty());
        all(&mut sim, [set("d0", Attr::Ipv6KeepAddrOnDown, Value::Bool(true)), add("d0", "fd00::1/64"), leave("d0")]);
        assert_eq!(addresses(&sim, "d0"), ["fd00::1/64"]);
    }

    #[test]
    fn deleting_a_vrf_frees_its_ports_and_leaves_its_table() {
        let mut sim = up_dummies(["d0"]);
        all(
            &mut sim,
            [vrf("red", 10), up("red"), join("d0", "red"), add("d0", "10.0.0.1/24"), add("d0", "fd00::1/64")],
        );
        all(
            &mut sim,
            [
                Step::AddRoute(in_table(10, route("10.5.0.0/16", ["10.0.0.2%"]))),
                Step::AddRoute(in_table(10, route("10.66.0.0/16", []))),
            ],
        );
        yes(&mut sim, &delete("red"));
        assert_eq!(addresses(&sim, "d0"), ["10.0.0.1/24"]);
        assert!(sim.is_up(n("d0")));
        assert_eq!(routes(&sim), ["blackhole 10.66.0.0/16 table 10"]);
    }

    #[test]
    fn neither_loopback_nor_a_vrf_can_be_a_port() {
        let mut sim = dummies(["d0"]);
        all(&mut sim, [vrf("red", 10), vrf("blue", 11), create("br0", LinkKind::Bridge, netloom_model::Attrs::new())]);
        assert_eq!(no(&mut sim, &join("lo", "red")), StepError::EOPNOTSUPP);
        assert_eq!(no(&mut sim, &join("blue", "red")), StepError::EINVAL);
        yes(&mut sim, &join("br0", "red"));
    }
}
