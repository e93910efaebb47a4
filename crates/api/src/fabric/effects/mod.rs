//! Where the fields of the fabric's kinds take effect.
//!
//! The front end that compiles intents into node configuration is not built yet, nor is the part of
//! the agent that renders it; both are named for each field that waits for them.

mod intents;
mod low_level;
mod node;

pub(super) use self::{
    intents::{
        BGP_NEIGHBOR, COLLECTOR, DESTINATION, INBOUND, LAYER2_ATTACHMENT, NETWORK, OUTBOUND, POD_NETWORK,
        TRAFFIC_MIRROR, VRF,
    },
    low_level::{
        BGP_PEERING, LAYER2_CONFIGURATION, MIRROR_SELECTOR, MIRROR_TARGET, REVISION, REVISION_PART, VRF_CONFIGURATION,
    },
    node::{NODE_CONFIG, NODE_STATUS},
};
use crate::effects::Effect;

/// A struct whose fields have entries of their own.
const PARTS: &[Effect] = &[Effect::Planned("fabric front end: its fields, one by one")];
/// What the controller will report.
const REPORTED: &[Effect] = &[Effect::Planned("fabric front end: the controller will report it")];
/// What the agent will report.
const BY_AGENT: &[Effect] = &[Effect::Planned("agent: will report it for its node")];
/// What the agent reports.
const TOLD: &[Effect] = &[Effect::Status("agent: reports it for its node")];
/// The same, where it is told on.
const LISTED: &[Effect] =
    &[Effect::Status("agent: reports it for its node"), Effect::FrontEnd("controller: what a LinkMonitor lists")];
