//! What each kind of the pipeline says of itself beside its type.

use super::{NetworkConfigRevision, NetworkConfigRevisionPart, NodeNetworkConfig, NodeNetworkStatus, effects};
use crate::{
    definition::{Declared, Owner},
    effects::FieldEffect,
};

impl Declared for NetworkConfigRevision {
    const EFFECTS: &'static [FieldEffect] = effects::REVISION;
}

impl Declared for NetworkConfigRevisionPart {
    const STATUS_SUBRESOURCE: bool = false;
    const EDITABLE: bool = false;
    const EFFECTS: &'static [FieldEffect] = effects::REVISION_PART;
}

impl Declared for NodeNetworkConfig {
    const OWNER: Owner = Owner::NODE_OF_NAME;
    const EFFECTS: &'static [FieldEffect] = effects::NODE_CONFIG;
}

impl Declared for NodeNetworkStatus {
    const OWNER: Owner = Owner::NODE_OF_NAME;
    const EFFECTS: &'static [FieldEffect] = effects::NODE_STATUS;
}
