//! What attachments want beside their low-level objects: VLANs on links that nodes have, addresses of nodes, and VRFs in
//! which the most exact network decides through which VRF packets go.

use netloom_api::{
    fabric::text::{Cidr, InterfaceAddress},
    pipeline::node_network_config::{
        NodeInterface, NodeRoute,
        fabric::CLUSTER,
        host::{HostAddress, HostLink, HostLinkKind, HostRoute},
        routing::{RouteNextHop, StaticRoute, Vrf, VrfImport},
    },
};
use netloom_types::IpNet;

use super::{
    filters,
    in_force::Beside,
    intents::{Combined, Existing, Extra},
    maker::Maker,
    vrfs::policy,
};
use crate::{
    contribution::origin,
    finding::{Finding, reason},
    front_end::NodeClass,
};

impl Extra {
    /// Whether it makes a link of that name.
    pub(super) fn makes(&self, link: &str) -> bool {
        self.existing.as_ref().is_some_and(|one| one.name.0 == link)
            || self.combined.as_ref().is_some_and(|one| one.name == link)
    }
}

impl Maker<'_> {
    /// All of it, on nodes of a class.
    pub(super) fn extras(&mut self, class: &NodeClass<'_>) {
        for one in &self.choice.extras {
            if let Some(combined) = &one.spec.combined {
                self.combine(one, combined);
            }
            let done = if let Some(existing) = &one.spec.existing {
                self.existing(one, existing, class)
            } else {
                self.in_segment(one, class);
                Ok(())
            };
            let found = done.err().into_iter().chain(too_few(one, class));
            found.for_each(|finding| self.refuse(one.object(), finding));
        }
        let net_of = |net: Option<&Cidr>| net.and_then(|net| net.parse::<IpNet>().ok());
        if let Some(cluster) = &mut self.fabric.cluster_vrf {
            cluster.policy_routes.sort_by_key(|route| {
                let net = net_of(route.traffic_match.src_prefix.as_ref());
                (std::cmp::Reverse(net.map(|net| net.prefix_len())), net)
            });
        }
    }

    /// Sources that find their way in several VRFs.
    fn combine(&mut self, one: &Beside, Combined { name, sources, ways }: &Combined) {
        let origin = one.origin("spec.destinations", "spec.destinations");
        let known = |vrf: &String| self.fabric.fabric_vrfs.contains_key(vrf);
        let routes = ways.iter().filter(|(_, vrf)| known(vrf)).map(|(net, vrf)| StaticRoute {
            prefix: net.clone(),
            next_hop: Some(RouteNextHop { address: None, vrf: Some(vrf.clone()) }),
            bfd_profile: None,
            origin: origin.clone(),
        });
        let from_cluster = VrfImport { from_vrf: CLUSTER.to_owned(), filter: filters::open(), origin: origin.clone() };
        let vrf = Vrf {
            static_routes: routes.collect(),
            vrf_imports: vec![from_cluster],
            origin: origin.clone(),
            ..Vrf::default()
        };
        self.fabric.local_vrfs.entry(name.clone()).or_insert(vrf);
        for source in sources {
            let route = policy(source, name, origin.clone());
            let routes = &mut self.cluster().policy_routes;
            if !routes.iter().any(|known| known.traffic_match == route.traffic_match) {
                routes.push(route);
            }
        }
    }

    /// A VLAN on a link that the node has already.
    fn existing(&mut self, one: &Beside, existing: &Existing, class: &NodeClass<'_>) -> Result<(), Finding> {
        let Existing { base, name, mtu } = existing;
        let inventory = class.reported;
        if inventory.links.is_empty() {
            self.waits = true;
            return Err(Finding::new(reason::NOT_REPORTED, "", "the node has not reported its links yet"));
        }
        if inventory.get(&base.0).is_none() {
            let why = format!("the node has no interface {}", base.0);
            return Err(Finding::new(reason::INTERFACE_NOT_FOUND, "spec.interfaceRef", why));
        }
        if inventory.is_taken(&name.0, "vlan") {
            let why = format!("the node has a link {} already, which somebody else made; it is left as it is", name.0);
            return Err(Finding::new(reason::NO_NAME, "spec.interfaceName", why));
        }
        let asked = |path: &str| origin(&one.asker, path);
        let addresses = own(one, class);
        self.host.links.push(HostLink {
            mtu: Some((*mtu).into()),
            base: Some(base.clone()),
            vlan_id: Some(one.spec.vlan),
            ..HostLink::new(name.clone(), HostLinkKind::Vlan, asked("spec.interfaceRef"))
        });
        for address in addresses {
            self.host.addresses.push(HostAddress { link: name.clone(), address, origin: asked("spec.nodeIPs") });
        }
        for way in &one.spec.routes {
            self.host.routes.push(HostRoute {
                destination: way.destination.clone(),
                gateway: Some(way.gateway.clone()),
                link: Some(name.clone()),
                table: None,
                metric: None,
                source: None,
                origin: asked("spec.destinations"),
            });
        }
        Ok(())
    }

    /// The node as a station of a segment of the fabric.
    fn in_segment(&mut self, one: &Beside, class: &NodeClass<'_>) {
        if !one.spec.gives_addresses {
            return;
        }
        let addresses = own(one, class);
        let Some(layer2) = self.fabric.layer2s.get_mut(&one.spec.vlan.to_string()) else { return };
        let origin = one.origin("spec.nodeIPs", "spec.nodeIPs");
        let routes = one.spec.routes.iter().map(|way| NodeRoute {
            destination: way.destination.clone(),
            gateway: way.gateway.clone(),
            origin: origin.clone(),
        });
        let routes = routes.collect();
        layer2.node_interface = Some(NodeInterface { ip_addresses: addresses, routes, origin });
    }
}

/// The addresses of a node; for what all nodes of a class have in common there are none.
fn own(one: &Beside, class: &NodeClass<'_>) -> Vec<InterfaceAddress> {
    class.node.and_then(|node| one.spec.addresses.get(node)).cloned().unwrap_or_default()
}

/// That a node has fewer addresses than it should.
fn too_few(one: &Beside, class: &NodeClass<'_>) -> Option<Finding> {
    class.node.filter(|_| one.spec.gives_addresses && own(one, class).len() < one.spec.networks)?;
    let why = "the network has no address left for this node; the others keep theirs";
    Some(Finding::new(reason::TOO_FEW_ADDRESSES, "spec.nodeIPs", why))
}
