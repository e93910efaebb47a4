//! Deleting links, and what goes with them.

use netloom_model::{Attr, LinkKind, NextHop, StepError};
use netloom_types::{Family, IfName, RouteTable};

use crate::{
    SimHost,
    defaults::is_tunnel,
    errno::{Done, refuse_plainly},
    mac::is_passthru,
};

impl SimHost {
    pub(crate) fn delete_link(&mut self, name: IfName) -> Done {
        if !self.link(name)?.kind.is_virtual() {
            return refuse_plainly(StepError::EOPNOTSUPP);
        }
        self.unmake(name);
        Ok(())
    }

    fn unmake(&mut self, name: IfName) {
        let Some(link) = self.find(name) else { return };
        let peer = link.attrs.link(Attr::VethPeer).filter(|_| link.kind == LinkKind::Veth);
        let base = link.base().filter(|_| is_passthru(link));
        let controller = link.controller;
        let table = self.table_of(link);
        self.unmake_children(name);
        for port in self.index.ports_of(name) {
            self.leave(port);
        }
        if controller.is_some() {
            self.leave(name);
        }
        self.lower(name);
        self.unmake_routes(name);
        self.unmake_addresses(name, table);
        self.forget_mirrors_to(name);
        self.take_link(name);
        if let Some(base) = base
            && let Some(mac) = self.hidden_mut().before_passthru.remove(&base)
        {
            self.take_mac(base, mac);
        }
        // The ends of a pair name each other: this one is gone by now.
        if let Some(peer) = peer {
            self.unmake(peer);
        }
    }

    /// VLANs, macvlans, ipvlans and VXLANs go with their base; tunnels stay, bound to nothing.
    fn unmake_children(&mut self, name: IfName) {
        for child in self.index.children_of(name) {
            let Some(link) = self.find(child) else { continue };
            if is_tunnel(link) {
                let link = link.clone();
                self.index.remove_unique(&link);
                self.index.move_child(child, Some(name), None);
                self.edit(child).attrs.remove(Attr::Base);
                self.index.add_unique(&self.now.host.links[&child]);
            } else {
                self.unmake(child);
            }
        }
    }

    /// IPv4 gives up a route when one of its ways goes; IPv6 keeps the other ways.
    fn unmake_routes(&mut self, name: IfName) {
        self.adopt_over(name);
        for key in self.index.routes_of(name) {
            let Some(mut route) = self.take_route(key) else { continue };
            route.next_hops.retain(|hop: &NextHop| hop.link != Some(name));
            if route.family() == Family::Ipv6 && !route.next_hops.is_empty() {
                if let [only] = &mut route.next_hops[..] {
                    only.weight = 1;
                }
                self.insert_route(route);
            }
        }
        self.lose_derived(name, None, true);
    }

    fn unmake_addresses(&mut self, name: IfName, table: RouteTable) {
        let Some(link) = self.find(name) else { return };
        let gone = link.addresses.clone();
        for address in &gone {
            self.index.remove_address(name, address);
        }
        self.edit(name).addresses.clear();
        for address in gone.iter().filter(|address| address.ip.is_ipv4()) {
            self.lose_sources_v4(address.ip, table);
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{
        Attrs, Direction, FlowMatch, Mirror, MirrorAction, MirrorKey, Rule, RuleAction, RuleKey, Step, Value,
    };
    use netloom_types::Protocol;

    use super::*;
    use crate::testing::{
        add, all, attrs, create, delete, dummies, in_table, join, n, on_base, route, routes, touched, up, up_dummies,
        vlan, yes,
    };

    #[test]
    fn what_stands_on_a_link_goes_with_it() {
        let mut sim = dummies(["d0", "d1"]);
        all(&mut sim, [vlan("d0", 5), vlan("d0.5", 6), on_base("m0", LinkKind::MacVlan, "d0"), vlan("d1", 7)]);
        let vxlan = attrs([(Attr::VxlanId, Value::Int(7)), (Attr::Base, Value::Link(n("d0")))]);
        yes(&mut sim, &create("vx0", LinkKind::Vxlan, vxlan));
        let changed = yes(&mut sim, &delete("d0"));
        assert_eq!(touched(&changed), ["d0", "d0.5", "d0.5.6", "m0", "vx0"]);
        assert!(changed.links.values().all(Option::is_some));
        yes(&mut sim, &create("d0", LinkKind::Dummy, Attrs::new()));
        yes(&mut sim, &vlan("d0", 5));
    }

    #[test]
    fn a_tunnel_stays_and_loses_its_base() {
        let mut sim = dummies(["d0"]);
        let ends =
            attrs([(Attr::TunnelRemote, Value::Ip("10.0.0.2".parse().unwrap())), (Attr::Base, Value::Link(n("d0")))]);
        yes(&mut sim, &create("g0", LinkKind::Gre, ends));
        let changed = yes(&mut sim, &delete("d0"));
        assert_eq!(touched(&changed), ["d0", "g0"]);
        assert_eq!(sim.link(n("g0")).unwrap().base(), None);
    }

    #[test]
    fn routes_through_a_deleted_link_go_and_rules_stay() {
        let mut sim = up_dummies(["d0", "d1", "d2"]);
        all(&mut sim, [add("d0", "10.0.0.1/24"), add("d1", "10.0.1.1/24"), add("d2", "10.0.2.1/24")]);
        all(&mut sim, [add("d0", "fd00::1/64"), add("d1", "fd01::1/64"), add("d2", "fd02::1/64")]);
        let mut sourced = route("10.8.0.0/16", ["10.0.1.2%"]);
        sourced.source = Some("10.0.0.1".parse().unwrap());
        all(
            &mut sim,
            [
                Step::AddRoute(route("10.7.0.0/16", ["10.0.0.2%", "10.0.1.2%", "10.0.2.2%"])),
                Step::AddRoute(route("fd07::/64", ["fd00::2%", "fd01::2%", "fd02::2%"])),
                Step::AddRoute(route("fd08::/64", ["fd00::2%", "fd01::2%"])),
                Step::AddRoute(in_table(77, sourced.clone())),
                Step::AddRoute(sourced),
            ],
        );
        let mut key = RuleKey::new(Family::Ipv4, 100, RuleAction::Nop);
        key.iif = Some(n("d0"));
        yes(&mut sim, &Step::AddRule(Rule { key, protocol: Protocol::NETLOOM }));
        let changed = yes(&mut sim, &delete("d0"));
        assert_eq!(changed.routes.len(), 4);
        assert_eq!(
            routes(&sim),
            [
                "10.8.0.0/16 via 10.0.1.2 dev d1 table 77",
                "fd07::/64 via fd01::2 dev d1 weight 1 via fd02::2 dev d2 weight 1",
                "fd08::/64 via fd01::2 dev d1",
            ]
        );
        assert!(sim.observed().rules.contains_key(&key));
    }

    #[test]
    fn mirrors_to_a_deleted_link_are_no_longer_seen() {
        let mut sim = dummies(["d0", "d1"]);
        let key = MirrorKey { direction: Direction::Ingress, priority: 5 };
        let mirror = Mirror { matches: FlowMatch::default(), action: MirrorAction::Mirror, to: n("d1"), ours: true };
        yes(&mut sim, &Step::AddMirror { name: n("d0"), key, mirror });
        let changed = yes(&mut sim, &delete("d1"));
        assert_eq!(touched(&changed), ["d0", "d1"]);
        assert_eq!(changed.links[&n("d0")].as_ref().unwrap().mirrors[&key], mirror);
    }

    #[test]
    fn a_controller_frees_its_ports() {
        let mut sim = up_dummies(["d0", "d1"]);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), join("d0", "br0"), vlan("br0", 5)]);
        let changed = yes(&mut sim, &delete("br0"));
        assert_eq!(touched(&changed), ["br0", "br0.5", "d0"]);
        assert!(sim.is_up(n("d0")));
        all(
            &mut sim,
            [create("b0", LinkKind::Bond, Attrs::new()), crate::testing::down("d1"), join("d1", "b0"), up("b0")],
        );
        yes(&mut sim, &delete("b0"));
        assert!(!sim.is_up(n("d1")));
        assert_eq!(sim.link(n("d1")).unwrap().controller, None);
    }
}
