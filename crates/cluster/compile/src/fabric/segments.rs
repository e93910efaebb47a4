//! The segments of a node, and the sessions with workloads in them.

use std::{collections::BTreeMap, sync::Arc};

use netloom_api::{
    fabric::text::{Cidr, InterfaceAddress},
    pipeline::node_network_config::{
        Irb, Layer2, NodeInterface,
        fabric::CLUSTER,
        routing::{AddressFamily, BfdProfile, BgpPeer},
    },
};
use netloom_types::{Family, IpNet};

use super::{
    filters, given,
    in_force::{Segment, Sessions},
    maker::Maker,
};
use crate::finding::{Finding, reason};

/// How often a session that is watched by BFD sends a packet, in milliseconds.
const BFD_INTERVAL: u32 = 300;

impl Maker<'_> {
    /// All segments of the node. Where one cannot be routed as it says, it is left out.
    pub(super) fn segments(&mut self) {
        let mut routed: BTreeMap<String, Vec<(IpNet, String)>> = BTreeMap::new();
        for (vlan, segment) in &self.choice.segments {
            match self.segment(segment, &mut routed) {
                Ok(layer2) => drop(self.fabric.layer2s.insert(vlan.to_string(), layer2)),
                Err(finding) => self.refuse(segment.object(), finding),
            }
        }
    }

    fn segment(
        &self,
        segment: &Segment,
        routed: &mut BTreeMap<String, Vec<(IpNet, String)>>,
    ) -> Result<Layer2, Finding> {
        let spec = &segment.spec;
        let vrf = vrf_of(segment);
        if !vrf.is_empty() && !self.fabric.fabric_vrfs.contains_key(vrf) {
            let why = format!("no VRFRouteConfiguration of VRF {vrf} is for these nodes; the segment needs one");
            return Err(Finding::new(reason::NO_VRF, "spec.vrf", why));
        }
        let nets = spec.anycast_gateways.iter().filter_map(|gateway| gateway.parse::<IpNet>().ok());
        let nets: Vec<IpNet> = nets.map(|net| net.trunc()).collect();
        let others = routed.entry(vrf.to_owned()).or_default();
        let touch = |one: &IpNet, other: &IpNet| one.contains(other) || other.contains(one);
        let clash = nets.iter().find_map(|net| others.iter().find(|(other, _)| touch(net, other)));
        if let Some((other, name)) = clash {
            let why = format!("its network overlaps {other} of {name}, which is routed in the same VRF");
            return Err(Finding::new(reason::CONFLICT, "spec.anycastGateways", why));
        }
        others.extend(nets.into_iter().map(|net| (net, segment.shown())));
        let irb = (!spec.anycast_gateways.is_empty()).then(|| Irb {
            vrf: vrf.to_owned(),
            mac_address: given::mac_of(segment),
            ip_addresses: spec.anycast_gateways.clone(),
        });
        let origin = |own| segment.origin(own, "spec.networkRef");
        let own = NodeInterface { origin: origin("spec.createMacVLANInterface"), ..NodeInterface::default() };
        Ok(Layer2 {
            vni: spec.vni,
            vlan: spec.id,
            interface_name: spec.interface_name.clone(),
            route_target: String::new(),
            mtu: spec.mtu,
            irb,
            neigh_suppression: spec.neigh_suppression,
            mirror_acls: Vec::new(),
            disable_segmentation: spec.disable_segmentation,
            node_interface: spec.create_macvlan_interface.then_some(own),
            origin: origin("spec.id"),
        })
    }

    /// All sessions with workloads: one for each network of the segment, in the VRF of its gateway.
    pub(super) fn sessions(&mut self) {
        let mut ranges: BTreeMap<(String, String), String> = BTreeMap::new();
        for one in &self.choice.sessions {
            let peers = match self.peers(one) {
                Ok(peers) => peers,
                Err(finding) => {
                    self.refuse(one.object(), finding);
                    continue;
                }
            };
            for (vrf, range, peer) in peers {
                let key = (vrf.clone(), range.clone());
                if let Some(first) = ranges.get(&key) {
                    let why = format!("{first} has sessions with {range} on these nodes already");
                    self.refuse(one.object(), Finding::new(reason::CONFLICT, "spec.peeringVlan.name", why));
                    continue;
                }
                ranges.insert(key, one.shown());
                let place = match self.fabric.fabric_vrfs.get_mut(&vrf) {
                    Some(known) => &mut known.vrf,
                    None => self.cluster(),
                };
                place.bgp_peers.push(peer);
            }
        }
    }

    fn peers(&self, one: &Sessions) -> Result<Vec<(String, String, BgpPeer)>, Finding> {
        let refuse = |reason, why: String| Err(Finding::new(reason, "spec.peeringVlan.name", why));
        let Some(name) = one.spec.peering_vlan.as_ref().map(|vlan| &vlan.name.0) else {
            return refuse(reason::NO_SEGMENT, "no segment is named".to_owned());
        };
        let named = |segment: &&Arc<Segment>| segment.meta.key.name == *name;
        let segment = self.choice.segments.values().find(named);
        let Some(segment) = segment.filter(|one| self.fabric.layer2s.contains_key(&one.spec.id.to_string())) else {
            let why = format!("these nodes do not have the segment of Layer2NetworkConfiguration {name:?}");
            return refuse(reason::NO_SEGMENT, why);
        };
        if segment.spec.anycast_gateways.is_empty() {
            return refuse(
                reason::NO_GATEWAY,
                format!("the segment of {name:?} has no gateway for sessions to end at"),
            );
        }
        let nets = segment.spec.anycast_gateways.iter().filter_map(network);
        Ok(nets.map(|net| (vrf_of(segment).to_owned(), net.to_string(), peer(one, net))).collect())
    }
}

/// The VRF of a segment; empty for that of the cluster.
fn vrf_of(segment: &Segment) -> &str {
    segment.spec.vrf.as_ref().map(|vrf| vrf.0.as_str()).filter(|vrf| *vrf != CLUSTER).unwrap_or_default()
}

fn network(gateway: &InterfaceAddress) -> Option<IpNet> {
    gateway.parse::<IpNet>().ok().map(|net| net.trunc())
}

/// A session with whoever calls from a network; it exchanges routes of the family of that network alone.
fn peer(one: &Sessions, net: IpNet) -> BgpPeer {
    let family = Family::of(net.addr());
    let origin = |list: &str, i: usize| one.origin(&format!("spec.{list}[{i}]"), "spec.bgp");
    let exchanged = AddressFamily {
        export_filter: Some(filters::of_family(&one.spec.export, family, |i| origin("export", i))),
        import_filter: Some(filters::of_family(&one.spec.import, family, |i| origin("import", i))),
        max_prefixes: one.spec.maximum_prefixes,
    };
    let (ipv4, ipv6) = match family {
        Family::Ipv4 => (Some(exchanged), None),
        Family::Ipv6 => (None, Some(exchanged)),
    };
    BgpPeer {
        address: None,
        listen_range: Some(Cidr(net.to_string())),
        remote_asn: one.spec.remote_asn,
        ipv4,
        ipv6,
        bfd_profile: one.spec.enable_bfd.then_some(BfdProfile { min_interval: BFD_INTERVAL }),
        multihop: None,
        hold_time: one.spec.hold_time.clone(),
        keepalive_time: one.spec.keepalive_time.clone(),
        password: None,
        origin: one.origin("spec.peeringVlan", "spec.bgp"),
    }
}
