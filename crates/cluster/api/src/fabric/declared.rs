//! What each kind of the fabric says of itself beside its type.

use super::{
    BGPNeighbor, BGPPeering, Collector, Destination, Inbound, Layer2Attachment, Layer2NetworkConfiguration,
    MirrorSelector, MirrorTarget, Network, Outbound, PodNetwork, TrafficMirror, VRF, VRFRouteConfiguration, effects,
};
use crate::{definition::Declared, effects::FieldEffect};

impl Declared for BGPNeighbor {
    const EFFECTS: &'static [FieldEffect] = effects::BGP_NEIGHBOR;
}

impl Declared for BGPPeering {
    const EFFECTS: &'static [FieldEffect] = effects::BGP_PEERING;
}

impl Declared for Collector {
    const EFFECTS: &'static [FieldEffect] = effects::COLLECTOR;
}

impl Declared for Destination {
    const EFFECTS: &'static [FieldEffect] = effects::DESTINATION;
}

impl Declared for Inbound {
    const EFFECTS: &'static [FieldEffect] = effects::INBOUND;
}

impl Declared for Layer2Attachment {
    const EFFECTS: &'static [FieldEffect] = effects::LAYER2_ATTACHMENT;
}

impl Declared for Layer2NetworkConfiguration {
    const EFFECTS: &'static [FieldEffect] = effects::LAYER2_CONFIGURATION;
}

impl Declared for MirrorSelector {
    const EFFECTS: &'static [FieldEffect] = effects::MIRROR_SELECTOR;
}

impl Declared for MirrorTarget {
    const EFFECTS: &'static [FieldEffect] = effects::MIRROR_TARGET;
}

impl Declared for Network {
    const EFFECTS: &'static [FieldEffect] = effects::NETWORK;
}

impl Declared for Outbound {
    const EFFECTS: &'static [FieldEffect] = effects::OUTBOUND;
}

impl Declared for PodNetwork {
    const EFFECTS: &'static [FieldEffect] = effects::POD_NETWORK;
}

impl Declared for TrafficMirror {
    const EFFECTS: &'static [FieldEffect] = effects::TRAFFIC_MIRROR;
}

impl Declared for VRF {
    const EFFECTS: &'static [FieldEffect] = effects::VRF;
}

impl Declared for VRFRouteConfiguration {
    const EFFECTS: &'static [FieldEffect] = effects::VRF_CONFIGURATION;
}
