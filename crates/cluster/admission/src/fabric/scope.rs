//! Who is in charge of a VRF or segment: intents or manually written low-level objects, never both on
//! the same nodes.
//!
//! What the controller generates belongs to the intents and is no party here.

use std::sync::Arc;

use netloom_api::{
    GroupKind,
    fabric::selector::{LabelSelector, nodes_meet},
};
use serde_json::Value;

use super::{generated, index, kind, raw, related};
use crate::{Review, View};

/// The intent that already routes in a VRF on some of these nodes.
pub(crate) fn intent_in_vrf(view: &dyn View, vrf: &str, nodes: Option<&LabelSelector>) -> Option<Arc<Value>> {
    for object in view.lookup(kind::VRF, index::VRF_NAME, vrf) {
        for destination in view.lookup(kind::DESTINATION, index::VRF_REF, raw::name(&object)) {
            let users = related::users_of_destination(view, &destination);
            if let Some(user) = users.into_iter().find(|user| meets(user, nodes)) {
                return Some(user);
            }
        }
    }
    None
}

/// The attachment that already has a segment of that VLAN or VNI on some of these nodes.
pub(crate) fn intent_on_segment(
    view: &dyn View,
    vlan: u16,
    vni: u32,
    nodes: Option<&LabelSelector>,
) -> Option<Arc<Value>> {
    let by_vlan = view.lookup(kind::NETWORK, index::VLAN, &vlan.to_string());
    let by_vni = view.lookup(kind::NETWORK, index::VNI, &vni.to_string());
    for network in by_vlan.iter().chain(&by_vni) {
        let attachments = view.lookup(kind::LAYER2_ATTACHMENT, index::NETWORK, raw::name(network));
        let over_fabric = |object: &Value| raw::at(object, &["spec", "interfaceRef"]).is_none();
        if let Some(found) = attachments.into_iter().find(|object| over_fabric(object) && meets(object, nodes)) {
            return Some(found);
        }
    }
    None
}

/// The manually written object that already speaks of a VRF on some of these nodes.
pub(crate) fn manual_in_vrf(view: &dyn View, vrf: &str, nodes: Option<&LabelSelector>) -> Option<Arc<Value>> {
    manual_object(view, kind::VRF_CONFIGURATION, index::VRF_NAME, vrf, nodes)
}

/// The manually written object that already has a segment of that VLAN or VNI on some of these nodes.
pub(crate) fn manual_on_segment(
    view: &dyn View,
    vlan: Option<u64>,
    vni: Option<u64>,
    nodes: Option<&LabelSelector>,
) -> Option<Arc<Value>> {
    let find = |index, id: u64| manual_object(view, kind::LAYER2_CONFIGURATION, index, &id.to_string(), nodes);
    vlan.and_then(|vlan| find(index::VLAN, vlan)).or_else(|| vni.and_then(|vni| find(index::VNI, vni)))
}

/// Whether a field of the spec is the same before and after the write.
pub(crate) fn keeps(review: &Review<'_>, fields: &[&str]) -> bool {
    let (Some(new), Some(old)) = (review.object, review.old) else { return false };
    fields.iter().all(|field| raw::at(new, &["spec", field]) == raw::at(old, &["spec", field]))
}

fn manual_object(
    view: &dyn View,
    kind: GroupKind<'_>,
    index: &str,
    key: &str,
    nodes: Option<&LabelSelector>,
) -> Option<Arc<Value>> {
    let found = view.lookup(kind, index, key);
    found.into_iter().find(|object| !generated::is_generated(object) && meets(object, nodes))
}

fn meets(object: &Value, nodes: Option<&LabelSelector>) -> bool {
    nodes_meet(raw::selector(object, "nodeSelector").as_ref(), nodes)
}
