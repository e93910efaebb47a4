//! One attachment: what it becomes, by the way in which it is brought to nodes.
//!
//! ```text
//! over the fabric, one VRF       segment with a gateway in that VRF; routes of the VRF
//! over the fabric, several       segment with a gateway in the cluster's VRF; routes of each; sources in a combined VRF
//! over the fabric, none          segment without a gateway
//! on an existing interface       a VLAN on it, with routes to the next hops of destinations
//! ```

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::fabric::{
    bgp_peering::BgpPeeringSpec,
    layer2_network_configuration::Layer2NetworkConfigurationSpec,
    network::NetworkSpec,
    operator::VrfIdentity,
    text::{Cidr, Interface, Ip, VrfName},
    vrf_route_configuration::VrfRouteConfigurationSpec,
};
use netloom_object::{ObjectKey, ObjectRef};
use netloom_types::IpNet;
use serde_json::{Value, json};

use super::super::{given, objects::Object};
use super::{
    Attachment,
    catalogue::{Catalogue, Uses},
    extra::{Combined, Existing, Extra, Way},
    low_level::{self, SEQ, gateway, permit},
    name_of, node_ips, scope, target,
};
use crate::{
    digest,
    finding::{Finding, reason},
    frozen::Frozen,
    snapshot::{Readable as _, Snapshot, plain},
};

/// What comes of an attachment.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) generated: Vec<(ObjectRef, Value)>,
    pub(super) extra: Option<Extra>,
    /// What there is to say although all is well with it.
    pub(super) note: Option<Finding>,
    matched: Vec<String>,
    anycast: Value,
}

/// A VRF that is reached, and the networks in it.
struct Reached {
    /// The first object of that VRF by name.
    object: String,
    identity: VrfIdentity,
    /// Whether its object says so itself; else the operator configuration does.
    declared: bool,
    nets: Vec<IpNet>,
}

/// Everything that is known of an attachment before it is worked out.
struct Known<'a> {
    attachment: &'a Attachment,
    catalogue: &'a Catalogue<'a>,
    snapshot: &'a Snapshot,
    nets: Vec<IpNet>,
    vlan: u16,
    reached: BTreeMap<String, Reached>,
    before: Option<Extra>,
}

impl Plan {
    /// Works an attachment out, and counts what it uses.
    pub(super) fn of(
        attachment: &Attachment,
        catalogue: &Catalogue<'_>,
        snapshot: &Snapshot,
        before: Option<&Frozen<'_>>,
        uses: &mut Uses,
    ) -> Result<Self, Finding> {
        let spec = &attachment.spec;
        let name = &spec.network_ref.0;
        let Some(network) = catalogue.network(name) else {
            return Err(Finding::new(
                reason::NETWORK_NOT_FOUND,
                "spec.networkRef",
                format!("there is no Network {name:?}"),
            ));
        };
        uses.entry(network.reference()).or_default().insert(attachment.reference());
        if spec.uses_sriov() {
            let why = "SR-IOV is not supported yet";
            return Err(Finding::new(reason::NOT_SUPPORTED, "spec.sriov", why));
        }
        let mut plan = Self::default();
        let mut reached = BTreeMap::new();
        for (one, broken) in spec.destinations.iter().flat_map(|selector| catalogue.picked(selector)) {
            uses.entry(one.reference()).or_default().insert(attachment.reference());
            plan.matched.push(one.meta.key.name.clone());
            if let Some(broken) = broken {
                if one.spec.vrf_ref.as_ref().is_some_and(|vrf| follows(attachment, &vrf.0, snapshot)) {
                    let why = format!("Destination {:?} cannot be used: {}", one.meta.key.name, broken.message);
                    return Err(Finding::new(broken.reason, "spec.destinations", why));
                }
                let why = format!("Destination {:?} is left out: {}", one.meta.key.name, broken.message);
                plan.note.get_or_insert(Finding::new(broken.reason, "spec.destinations", why));
                continue;
            }
            reach(&mut reached, one, catalogue);
        }
        let extra_nets = spec.routes.iter().flat_map(|routes| &routes.prefixes).filter_map(|net| net.parse().ok());
        let extra_nets: Vec<IpNet> = extra_nets.collect();
        for one in reached.values_mut() {
            one.nets.extend(&extra_nets);
            one.nets.sort();
            one.nets.dedup();
        }
        let thawed = before.and_then(|before| before.get(Attachment::KIND, &attachment.meta.key));
        let Some(vlan) = network.spec.vlan else {
            let why = format!("Network {name:?} has no vlan");
            return Err(Finding::new(reason::INVALID_NETWORK, "spec.networkRef", why));
        };
        let known = Known {
            attachment,
            catalogue,
            snapshot,
            nets: nets_of(&network.spec),
            vlan,
            reached,
            before: thawed.and_then(|frozen| plain(&frozen.spec.0).ok()),
        };
        if !network.spec.managed {
            let why = format!("Network {name:?} is not managed: its segment is not set up");
            plan.note = Some(Finding::new(reason::NOT_MANAGED, "spec.networkRef", why));
        } else if spec.over_fabric() {
            plan.over_fabric(&known, catalogue.vni(network))?;
        } else {
            plan.on_existing(&known);
        }
        Ok(plan)
    }

    /// What its status has.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({});
        if !self.matched.is_empty() {
            status["matchedDestinations"] = json!(self.matched);
        }
        if !self.anycast.is_null() {
            status["anycast"] = self.anycast.clone();
        }
        status
    }

    fn over_fabric(&mut self, known: &Known<'_>, vni: Option<u32>) -> Result<(), Finding> {
        let spec = &known.attachment.spec;
        let Some(vni) = vni else {
            let why = "the network has no VNI, and the operator configuration has no vniRange with a free one";
            return Err(Finding::new(reason::NO_VNI, "spec.networkRef", why));
        };
        let combined = (known.reached.len() > 1).then(|| combined(known)).transpose()?;
        let name = name_of(&["layer2attachment", &known.attachment.meta.key.name]);
        let segment = self.segment(known, vni);
        let object = target::<Layer2NetworkConfigurationSpec>(name.clone());
        scope::segment(known.attachment, &segment, &object, known.snapshot)?;
        self.generated.push((object, json!(segment)));
        for (vrf, reached) in &known.reached {
            let routes = routes(known, vrf, reached);
            let own = name_of(&["layer2attachment", &known.attachment.meta.key.name, &reached.object]);
            let object = target::<VrfRouteConfigurationSpec>(own);
            scope::vrf(known.attachment, &routes, &object, known.snapshot)?;
            self.generated.push((object, json!(routes)));
        }
        if let Some(bgp) = spec.bgp.as_ref().filter(|bgp| bgp.enabled && !segment.anycast_gateways.is_empty()) {
            let reached: Vec<IpNet> = known.reached.values().flat_map(|one| one.nets.iter().copied()).collect();
            let parts = (bgp, known.nets.as_slice(), reached.as_slice());
            let sessions = low_level::sessions(known.attachment, &segment, &name, parts, known.catalogue.config);
            self.generated.push((target::<BgpPeeringSpec>(name), json!(sessions)));
        }
        let mut extra =
            Extra { vlan: known.vlan, node_selector: spec.node_selector.clone(), combined, ..Extra::default() };
        known.give_addresses(&mut extra, &segment);
        self.extra = Some(extra).filter(|extra| !extra.is_empty());
        self.say(known);
        Ok(())
    }

    /// What is worth a word although all is well.
    fn say(&mut self, known: &Known<'_>) {
        let note = match &known.attachment.spec.destinations {
            None => Some((reason::NO_DESTINATIONS, "no destinations are named: the segment is not routed")),
            Some(_) if self.matched.is_empty() => Some((
                reason::NO_MATCHING_DESTINATION,
                "the selector matches no Destination: the segment is not routed",
            )),
            Some(_) => None,
        };
        if let Some((reason, why)) = note {
            self.note.get_or_insert(Finding::new(reason, "spec.destinations", why));
        }
    }

    fn segment(&mut self, known: &Known<'_>, vni: u32) -> Layer2NetworkConfigurationSpec {
        let spec = &known.attachment.spec;
        let routed = !known.reached.is_empty() && !spec.disable_anycast;
        let gateways: Vec<_> = known.nets.iter().filter(|_| routed).map(|net| gateway(*net)).collect();
        let mac = (!gateways.is_empty()).then(|| {
            let made = || given::gateway_mac(&known.catalogue.config.cluster_id, vni);
            spec.anycast_mac.clone().unwrap_or_else(made)
        });
        if let Some(mac) = &mac {
            self.anycast = json!({"mac": mac});
            for gateway in &gateways {
                self.anycast[if gateway.contains(':') { "gateway" } else { "gatewayv4" }] = json!(gateway);
            }
        }
        let only = known.reached.keys().next().filter(|_| known.reached.len() == 1);
        let suppression = if spec.disable_neighbor_suppression { Some(false) } else { mac.is_some().then_some(true) };
        Layer2NetworkConfigurationSpec {
            id: known.vlan,
            mtu: spec.mtu,
            vni,
            interface_name: spec.interface_name.as_ref().map(|name| Interface(format!("l2.{}", name.0))),
            anycast_mac: mac,
            vrf: only.filter(|_| !gateways.is_empty()).map(|vrf| VrfName(vrf.clone())),
            anycast_gateways: gateways,
            neigh_suppression: suppression,
            advertise_neighbors: false,
            create_macvlan_interface: false,
            disable_segmentation: false,
            node_selector: spec.node_selector.clone(),
        }
    }

    /// A VLAN on a link that nodes have already.
    fn on_existing(&mut self, known: &Known<'_>) {
        let spec = &known.attachment.spec;
        let Some(base) = spec.interface_ref.clone() else { return };
        let name = spec.interface_name.clone().unwrap_or_else(|| Interface(format!("vlan.{}", known.vlan)));
        let mut extra = Extra {
            vlan: known.vlan,
            node_selector: spec.node_selector.clone(),
            existing: Some(Existing { base, name, mtu: spec.mtu }),
            ..Extra::default()
        };
        for (one, _) in spec.destinations.iter().flat_map(|selector| known.catalogue.picked(selector)) {
            let Some(hop) = &one.spec.next_hop else { continue };
            let further = spec.routes.iter().flat_map(|routes| &routes.prefixes);
            for net in one.spec.prefixes.iter().chain(further) {
                let by_family = if net.contains(':') { &hop.ipv6 } else { &hop.ipv4 };
                let way =
                    by_family.as_ref().map(|gateway| Way { destination: net.clone(), gateway: Ip(gateway.clone()) });
                extra.routes.extend(way.filter(|way| !extra.routes.contains(way)));
            }
        }
        let routed = extra.routes.clone();
        known.allocate(&mut extra, &[]);
        extra.routes = routed;
        self.extra = Some(extra);
        if spec.destinations.is_none() {
            let why = "no destinations are named: the segment is not routed";
            self.note.get_or_insert(Finding::new(reason::NO_DESTINATIONS, "spec.destinations", why));
        }
    }
}

impl Known<'_> {
    /// Addresses of nodes in a segment of the fabric, and their routes through its gateway.
    fn give_addresses(&self, extra: &mut Extra, segment: &Layer2NetworkConfigurationSpec) {
        let gateways: Vec<IpNet> = segment.anycast_gateways.iter().filter_map(|one| one.parse().ok()).collect();
        self.allocate(extra, &gateways);
        if !extra.gives_addresses {
            return;
        }
        let nets: BTreeSet<IpNet> = self.reached.values().flat_map(|one| one.nets.iter().copied()).collect();
        for net in nets.iter().filter(|net| net.prefix_len() > 0) {
            let gateway = gateways.iter().find(|gateway| gateway.addr().is_ipv4() == net.addr().is_ipv4());
            extra.routes.extend(
                gateway
                    .map(|gateway| Way { destination: Cidr(net.to_string()), gateway: Ip(gateway.addr().to_string()) }),
            );
        }
    }

    fn allocate(&self, extra: &mut Extra, gateways: &[IpNet]) {
        let spec = &self.attachment.spec;
        let Some(ips) = spec.node_ips.as_ref().filter(|ips| ips.enabled) else { return };
        extra.gives_addresses = true;
        extra.networks = self.nets.len();
        let nodes = self.snapshot.nodes.iter().map(|(_, node)| node).filter(|node| !node.meta.deleted);
        let picked = nodes.filter(|node| spec.node_selector.as_ref().is_none_or(|one| one.picks(&node.labels)));
        let nodes: BTreeSet<&str> = picked.map(|node| node.name()).collect();
        let pool = node_ips::Pool { nets: &self.nets, gateways, ips };
        extra.addresses = node_ips::of(&pool, &nodes, self.before.as_ref());
    }
}

/// Whether an attachment has routes of a VRF object by now: these stay, whatever becomes of that object.
fn follows(attachment: &Attachment, vrf: &str, snapshot: &Snapshot) -> bool {
    let routes = name_of(&["layer2attachment", &attachment.meta.key.name, vrf]);
    let known = snapshot.get::<Object<VrfRouteConfigurationSpec>>(&ObjectKey::global(routes));
    known.is_some_and(|known| known.owner() == Some(attachment.reference()))
}

fn nets_of(network: &NetworkSpec) -> Vec<IpNet> {
    let pools = [&network.ipv4, &network.ipv6].into_iter().flatten();
    pools.filter_map(|pool| pool.cidr.parse::<IpNet>().ok()).map(|net| net.trunc()).collect()
}

fn reach(
    reached: &mut BTreeMap<String, Reached>,
    destination: &Object<netloom_api::fabric::destination::DestinationSpec>,
    catalogue: &Catalogue<'_>,
) {
    let Some((vrf, identity)) = destination.spec.vrf_ref.as_ref().and_then(|name| catalogue.vrf(&name.0)) else {
        return;
    };
    let one = reached.entry(vrf.spec.vrf.0.clone()).or_insert_with(|| Reached {
        object: vrf.meta.key.name.clone(),
        identity: identity.clone(),
        declared: identity.rt.is_some(),
        nets: Vec::new(),
    });
    one.object = one.object.clone().min(vrf.meta.key.name.clone());
    one.nets.extend(destination.spec.prefixes.iter().filter_map(|net| net.parse::<IpNet>().ok()));
}

/// What an attachment says of one VRF. Only a node that has the gateway can pass packets on into the segment, so only then
/// are its networks announced as a whole.
fn routes(known: &Known<'_>, vrf: &str, reached: &Reached) -> VrfRouteConfigurationSpec {
    let gated = known.nets.iter().filter(|_| !known.attachment.spec.disable_anycast);
    VrfRouteConfigurationSpec {
        vrf: VrfName(vrf.to_owned()),
        vni: reached.declared.then_some(reached.identity.vni),
        route_target: reached.identity.rt.clone().filter(|_| reached.declared),
        import: reached.nets.iter().map(|net| permit(*net)).collect(),
        export: known.nets.iter().map(|net| permit(*net)).collect(),
        aggregate: gated.map(|net| Cidr(net.to_string())).collect(),
        sbr_prefixes: Vec::new(),
        seq: SEQ,
        community: None,
        communities: known.attachment.spec.communities.clone(),
        node_selector: known.attachment.spec.node_selector.clone(),
        loopbacks: Vec::new(),
    }
}

/// The VRF of a node in which the most exact network decides through which VRF packets go: one for all attachments that
/// reach the same networks the same way. A network that two VRFs are said to lead to has no way that is right.
fn combined(known: &Known<'_>) -> Result<Combined, Finding> {
    let mut ways: BTreeMap<IpNet, &str> = BTreeMap::new();
    for (vrf, reached) in &known.reached {
        for net in &reached.nets {
            if let Some(first) = ways.insert(*net, vrf).filter(|first| first != vrf) {
                let why = format!(
                    "{net} would be reached through VRF {first} and through VRF {vrf}; let one Destination have it, and only \
                     that one VRF"
                );
                return Err(Finding::new(reason::CONFLICT, "spec.destinations", why));
            }
        }
    }
    let ways: Vec<(Cidr, String)> =
        ways.into_iter().map(|(net, vrf)| (Cidr(net.to_string()), vrf.to_owned())).collect();
    let key = digest::of_text(&json!(ways).to_string());
    let sources = known.nets.iter().map(|net| Cidr(net.to_string())).collect();
    Ok(Combined { name: format!("s-{}", &key[..13]), sources, ways })
}
