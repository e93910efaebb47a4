//! Deleting links, and what goes with them.

use netloom_model::{Attr, LinkKind, NextHop, StepError};
use netloom_types::{Family, IfName, RouteTable};

use crate::{
    SimHost,
    errno::{Done, refuse_plainly},
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
        // The ends of a pair name each other: this one is gone by now.
        if let Some(peer) = peer {
            self.unmake(peer);
        }
    }

    /// VLANs, macvlans, ipvlans and VXLANs go with their base; tunnels stay, bound to nothing.
    fn unmake_children(&mut self, name: IfName) {
        for child in self.index.children_of(name) {
            let Some(link) = self.find(child) else { continue };
            match link.kind {
                LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Gretap | LinkKind::Ip6gre | LinkKind::Ip6gretap => {
                    let link = link.clone();
                    self.index.remove_unique(&link);
                    self.index.move_child(child, Some(name), None);
                    self.edit(child).attrs.remove(Attr::Base);
                }
                _ => self.unmake(child),
            }
        }
    }

    /// IPv4 gives up a route when one of its ways goes; IPv6 keeps the other ways.
    fn unmake_routes(&mut self, name: IfName) {
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
        self.lose_derived(name, true);
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
