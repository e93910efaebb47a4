//! The fabric part of a node's configuration as one value, and every entry of it in one walk.
//!
//! It is what `spec` has beside `host`: segments and VRFs. Nothing here reads or writes objects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Layer2, NodeInterface, NodeNetworkConfigSpec, NodeRoute,
    host::EntryOrigin,
    routing::{BgpPeer, FabricVrf, Filter, FilterItem, PolicyRoute, StaticRoute, Vrf, VrfImport},
};

/// Segments and VRFs of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FabricConfig {
    /// Segments by VLAN, written as a decimal number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layer2s: BTreeMap<String, Layer2>,
    /// Routes of the cluster's own VRF.
    #[serde(default, rename = "clusterVRF", skip_serializing_if = "Option::is_none")]
    pub cluster_vrf: Option<Vrf>,
    /// VRFs that the fabric knows, by name.
    #[serde(default, rename = "fabricVRFs", skip_serializing_if = "BTreeMap::is_empty")]
    pub fabric_vrfs: BTreeMap<String, FabricVrf>,
    /// VRFs that exist on this node only, by name.
    #[serde(default, rename = "localVRFs", skip_serializing_if = "BTreeMap::is_empty")]
    pub local_vrfs: BTreeMap<String, Vrf>,
}

/// The name of the cluster's own VRF.
pub const CLUSTER: &str = "cluster";

/// One entry, with the VRF that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FabricEntry<'a> {
    /// A segment.
    Layer2(&'a Layer2),
    /// The node's own interface in the segment of a VLAN.
    NodeInterface(u16, &'a NodeInterface),
    /// A route over that interface.
    NodeRoute(u16, &'a NodeRoute),
    /// A VRF, and the identifier by which the fabric knows it.
    Vrf(&'a str, Option<u32>, Option<&'a EntryOrigin>),
    /// What a VRF takes from another one.
    Import(&'a str, &'a VrfImport),
    /// One item of a filter of a VRF, and what the filter is for.
    Item(&'a str, &'a str, &'a FilterItem),
    /// A static route.
    StaticRoute(&'a str, &'a StaticRoute),
    /// A route by what a packet looks like.
    PolicyRoute(&'a str, &'a PolicyRoute),
    /// A BGP session.
    Peer(&'a str, &'a BgpPeer),
}

impl<'a> FabricEntry<'a> {
    /// Who asked for it.
    pub fn origin(self) -> Option<&'a EntryOrigin> {
        match self {
            Self::Layer2(entry) => entry.origin.as_ref(),
            Self::NodeInterface(_, entry) => entry.origin.as_ref(),
            Self::NodeRoute(_, entry) => entry.origin.as_ref(),
            Self::Vrf(_, _, origin) => origin,
            Self::Import(_, entry) => entry.origin.as_ref(),
            Self::Item(_, _, entry) => entry.origin.as_ref(),
            Self::StaticRoute(_, entry) => entry.origin.as_ref(),
            Self::PolicyRoute(_, entry) => entry.origin.as_ref(),
            Self::Peer(_, entry) => entry.origin.as_ref(),
        }
    }
}

impl Layer2 {
    /// The name of its bridge.
    pub fn bridge(&self) -> String {
        self.interface_name.as_ref().map_or_else(|| format!("l2.{}", self.vlan), |name| name.0.clone())
    }
}

impl FabricConfig {
    /// What is in it, to be looked at.
    pub fn view(&self) -> FabricView<'_> {
        let Self { layer2s, cluster_vrf, fabric_vrfs, local_vrfs } = self;
        FabricView { layer2s, cluster_vrf: cluster_vrf.as_ref(), fabric_vrfs, local_vrfs }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }

    /// Adds what another one has and this one has not.
    pub fn extend(&mut self, other: Self) {
        let Self { layer2s, cluster_vrf, fabric_vrfs, local_vrfs } = other;
        for (key, layer2) in layer2s {
            self.layer2s.entry(key).or_insert(layer2);
        }
        for (name, vrf) in fabric_vrfs {
            self.fabric_vrfs.entry(name).or_insert(vrf);
        }
        for (name, vrf) in local_vrfs {
            self.local_vrfs.entry(name).or_insert(vrf);
        }
        match (&mut self.cluster_vrf, cluster_vrf) {
            (Some(own), Some(other)) => own.extend(other),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
    }
}

impl NodeNetworkConfigSpec {
    /// Its fabric part.
    pub fn fabric(&self) -> FabricView<'_> {
        FabricView {
            layer2s: &self.layer2s,
            cluster_vrf: self.cluster_vrf.as_ref(),
            fabric_vrfs: &self.fabric_vrfs,
            local_vrfs: &self.local_vrfs,
        }
    }
}

/// Segments and VRFs of a node, wherever they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FabricView<'a> {
    /// Segments by VLAN.
    pub layer2s: &'a BTreeMap<String, Layer2>,
    /// Routes of the cluster's own VRF.
    pub cluster_vrf: Option<&'a Vrf>,
    /// VRFs that the fabric knows, by name.
    pub fabric_vrfs: &'a BTreeMap<String, FabricVrf>,
    /// VRFs that exist on this node only, by name.
    pub local_vrfs: &'a BTreeMap<String, Vrf>,
}

impl<'a> FabricView<'a> {
    /// Whether nothing is in it.
    pub fn is_empty(self) -> bool {
        let Self { layer2s, cluster_vrf, fabric_vrfs, local_vrfs } = self;
        layer2s.is_empty() && cluster_vrf.is_none() && fabric_vrfs.is_empty() && local_vrfs.is_empty()
    }

    /// Every VRF by name, with the identifier by which the fabric knows it: that of the cluster first.
    pub fn vrfs(self) -> impl Iterator<Item = (&'a str, Option<u32>, &'a Vrf)> {
        let cluster = self.cluster_vrf.into_iter().map(|vrf| (CLUSTER, None, vrf));
        let fabric = self.fabric_vrfs.iter().map(|(name, vrf)| (name.as_str(), Some(vrf.vni), &vrf.vrf));
        cluster.chain(fabric).chain(self.local_vrfs.iter().map(|(name, vrf)| (name.as_str(), None, vrf)))
    }

    /// Every entry. Whoever looks at the fabric part as a whole looks here, so that nobody forgets a list.
    pub fn entries(self) -> impl Iterator<Item = FabricEntry<'a>> {
        let segments = self.layer2s.values().flat_map(|layer2| {
            let own = layer2.node_interface.iter();
            let interface = own.clone().map(|own| FabricEntry::NodeInterface(layer2.vlan, own));
            let routes = own.flat_map(|own| &own.routes).map(|route| FabricEntry::NodeRoute(layer2.vlan, route));
            std::iter::once(FabricEntry::Layer2(layer2)).chain(interface).chain(routes)
        });
        let vrfs = self.vrfs().flat_map(|(name, vni, vrf)| of_vrf(name, vni, vrf));
        let exports = self
            .fabric_vrfs
            .iter()
            .flat_map(|(name, vrf)| vrf.evpn_export_filter.iter().flat_map(move |filter| items(name, "evpn", filter)));
        segments.chain(vrfs).chain(exports)
    }
}

fn of_vrf<'a>(name: &'a str, vni: Option<u32>, vrf: &'a Vrf) -> impl Iterator<Item = FabricEntry<'a>> {
    let head = std::iter::once(FabricEntry::Vrf(name, vni, vrf.origin.as_ref()));
    let imports = vrf.vrf_imports.iter().flat_map(move |import| {
        let all = items(name, &import.from_vrf, &import.filter);
        std::iter::once(FabricEntry::Import(name, import)).chain(all)
    });
    let fixed = vrf.static_routes.iter().map(move |route| FabricEntry::StaticRoute(name, route));
    let chosen = vrf.policy_routes.iter().map(move |route| FabricEntry::PolicyRoute(name, route));
    let peers = vrf.bgp_peers.iter().map(move |peer| FabricEntry::Peer(name, peer));
    head.chain(imports).chain(fixed).chain(chosen).chain(peers)
}

fn items<'a>(vrf: &'a str, of: &'a str, filter: &'a Filter) -> impl Iterator<Item = FabricEntry<'a>> {
    filter.items.iter().map(move |item| FabricEntry::Item(vrf, of, item))
}

impl Vrf {
    /// Adds the entries of another one behind its own; what there is once stays as it is.
    pub fn extend(&mut self, other: Self) {
        let Self {
            loopbacks,
            bgp_peers,
            vrf_imports,
            static_routes,
            policy_routes,
            mirror_acls,
            redistribute,
            gres,
            origin,
        } = other;
        for (name, addresses) in loopbacks {
            self.loopbacks.entry(name).or_insert(addresses);
        }
        for (name, gre) in gres {
            self.gres.entry(name).or_insert(gre);
        }
        self.bgp_peers.extend(bgp_peers);
        self.vrf_imports.extend(vrf_imports);
        self.static_routes.extend(static_routes);
        self.policy_routes.extend(policy_routes);
        self.mirror_acls.extend(mirror_acls);
        if self.redistribute.is_none() {
            self.redistribute = redistribute;
        }
        if self.origin.is_none() {
            self.origin = origin;
        }
    }
}
