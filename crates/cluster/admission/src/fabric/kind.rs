//! The kinds as the view knows them.

use netloom_api::{GroupKind, fabric::GROUP};

const fn of(kind: &'static str) -> GroupKind<'static> {
    GroupKind::new(GROUP, kind)
}

pub(crate) const VRF: GroupKind<'static> = of("VRF");
pub(crate) const NETWORK: GroupKind<'static> = of("Network");
pub(crate) const DESTINATION: GroupKind<'static> = of("Destination");
pub(crate) const LAYER2_ATTACHMENT: GroupKind<'static> = of("Layer2Attachment");
pub(crate) const INBOUND: GroupKind<'static> = of("Inbound");
pub(crate) const OUTBOUND: GroupKind<'static> = of("Outbound");
pub(crate) const BGP_NEIGHBOR: GroupKind<'static> = of("BGPNeighbor");
pub(crate) const POD_NETWORK: GroupKind<'static> = of("PodNetwork");
pub(crate) const COLLECTOR: GroupKind<'static> = of("Collector");
pub(crate) const TRAFFIC_MIRROR: GroupKind<'static> = of("TrafficMirror");
pub(crate) const LAYER2_CONFIGURATION: GroupKind<'static> = of("Layer2NetworkConfiguration");
pub(crate) const VRF_CONFIGURATION: GroupKind<'static> = of("VRFRouteConfiguration");
pub(crate) const BGP_PEERING: GroupKind<'static> = of("BGPPeering");
pub(crate) const MIRROR_TARGET: GroupKind<'static> = of("MirrorTarget");
pub(crate) const MIRROR_SELECTOR: GroupKind<'static> = of("MirrorSelector");

/// The kinds that pick Destinations and refer to a Network.
pub(crate) const CONSUMERS: [GroupKind<'static>; 4] = [LAYER2_ATTACHMENT, INBOUND, OUTBOUND, POD_NETWORK];
