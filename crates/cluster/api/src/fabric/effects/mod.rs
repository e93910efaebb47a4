//! Where the fields of the fabric's kinds take effect.
//!
//! What waits for a part of the front end that is not built yet names it.

mod intents;
mod low_level;

pub(crate) use self::{
    intents::{
        BGP_NEIGHBOR, COLLECTOR, DESTINATION, INBOUND, LAYER2_ATTACHMENT, NETWORK, OUTBOUND, POD_NETWORK,
        TRAFFIC_MIRROR, VRF,
    },
    low_level::{BGP_PEERING, LAYER2_CONFIGURATION, MIRROR_SELECTOR, MIRROR_TARGET, VRF_CONFIGURATION},
};
use crate::effects::Effect;

/// A struct whose fields have entries of their own.
pub(crate) const PARTS: &[Effect] = &[Effect::Planned("fabric front end: its fields, one by one")];
/// What the controller will report.
const REPORTED: &[Effect] = &[Effect::Planned("fabric front end: the controller will report it")];
