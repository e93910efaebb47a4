//! Where the fields of the pipeline's kinds take effect.

mod node;
mod revision;

pub(super) use self::{
    node::{NODE_CONFIG, NODE_STATUS},
    revision::{REVISION, REVISION_PART},
};
use crate::{effects::Effect, fabric::effects::PARTS};

/// What the agent reports.
const STATUS_REPORT: &[Effect] = &[Effect::Status("agent: reports it for its node")];
/// The same, where it is passed on.
const LISTED: &[Effect] =
    &[Effect::Status("agent: reports it for its node"), Effect::FrontEnd("controller: what monitors of links list")];
