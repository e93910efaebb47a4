//! The kinds of the fabric.

use netloom_api::{
    GroupKind,
    fabric::{GROUP, operator},
    foreign,
};

use super::FabricStatus;
use crate::{
    kept::Kept,
    kinds::{Row, StatusPath},
};

/// The only version of this group.
const VERSION: &str = "v1alpha1";

/// Their rows in the table of kinds. A cluster that has no fabric need not have the kinds.
pub(super) const ROWS: &[Row] = &[
    generated("Layer2NetworkConfiguration"),
    generated("VRFRouteConfiguration"),
    generated("BGPPeering"),
    Row { frozen: true, ..reported("Layer2Attachment") },
    Row { held: true, ..reported("Destination") },
    Row { held: true, ..reported("Network") },
    Row { held: true, ..reported("VRF") },
    Row { frozen: true, optional: true, notes: &[operator::REFUSED], ..Row::followed(foreign::CONFIG_MAP, "v1") },
];

/// A low-level object, which people write and the front end generates.
const fn generated(kind: &'static str) -> Row {
    Row { frozen: true, generated: true, ..reported(kind) }
}

const fn reported(kind: &'static str) -> Row {
    Row {
        optional: true,
        reported: Some(StatusPath::Subresource),
        status: Some(Kept::read::<FabricStatus>),
        ..Row::followed(GroupKind::new(GROUP, kind), VERSION)
    }
}
