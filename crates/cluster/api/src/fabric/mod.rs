//! The kinds of the fabric: intents of people, and the low-level objects that they become.
//!
//! ```text
//! VRF <- Destination <~ Layer2Attachment, Inbound, Outbound, PodNetwork -> Network
//! VRF <- Collector <- TrafficMirror -> Layer2Attachment, Inbound, Outbound     Inbound <- BGPNeighbor
//!
//! intents => Layer2NetworkConfiguration, VRFRouteConfiguration, BGPPeering, MirrorTarget, MirrorSelector
//! ```
//!
//! `<-` is a reference by name, `<~` a selection by label. All kinds are cluster-scoped. One file
//! holds the shape of a kind, the file of the same name in the crate of admission what is asked of it.

pub mod bgp_neighbor;
pub mod bgp_peering;
pub mod collector;
mod declared;
pub mod destination;
pub(crate) mod effects;
pub mod inbound;
pub mod layer2_attachment;
pub mod layer2_network_configuration;
pub mod mirror_selector;
pub mod mirror_target;
pub mod network;
pub mod operator;
pub mod outbound;
pub mod pod_network;
pub mod routes;
pub mod selector;
pub mod text;
pub mod traffic_mirror;
pub mod vrf;
pub mod vrf_route_configuration;

pub use self::{
    bgp_neighbor::BGPNeighbor, bgp_peering::BGPPeering, collector::Collector, destination::Destination,
    inbound::Inbound, layer2_attachment::Layer2Attachment, layer2_network_configuration::Layer2NetworkConfiguration,
    mirror_selector::MirrorSelector, mirror_target::MirrorTarget, network::Network, outbound::Outbound,
    pod_network::PodNetwork, traffic_mirror::TrafficMirror, vrf::VRF, vrf_route_configuration::VRFRouteConfiguration,
};

/// The API group of all kinds here.
pub const GROUP: &str = "network.t-caas.telekom.com";
/// The label that names the kind of the intent that an object was generated from.
pub const OWNER_KIND: &str = "network.t-caas.telekom.com/owner-kind";
/// The label that names that intent.
pub const OWNER_NAME: &str = "network.t-caas.telekom.com/owner-name";
/// The label with the uid of that intent.
pub const OWNER_UID: &str = "network.t-caas.telekom.com/owner-uid";

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::GROUP;
    use crate::kinds;

    /// A server takes a definition only when none of its names is that of another in the group.
    #[test]
    fn no_two_kinds_share_a_name() {
        let mut seen = HashSet::new();
        for kind in kinds().iter().filter(|kind| kind.group == GROUP) {
            let crd = kind.crd();
            let names = &crd["spec"]["names"];
            assert_eq!(crd["spec"]["scope"], "Cluster", "{}", kind.kind);
            let short = names["shortNames"].as_array().into_iter().flatten();
            for name in [&names["plural"], &names["singular"]].into_iter().chain(short) {
                assert!(seen.insert(name.as_str().unwrap().to_owned()), "{}: {name}", kind.kind);
            }
        }
        assert_eq!(kinds().iter().filter(|kind| kind.group == GROUP).count(), 19);
    }
}
