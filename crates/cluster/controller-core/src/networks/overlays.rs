//! The cluster network that carries the tunnels of overlay networks, as labels of their attachments say it.

use netloom_api::hostnet::{MGMT, names};
use netloom_compile::{
    Compiled, ObjectKey,
    hostnet::{Attachment, ClusterNetwork},
};
use netloom_object::{Action, ObjectRef};
use serde_json::json;

use super::kinds::{ATTACHMENT, HOST_NETWORK};
use crate::{index::Index, work::Work};

/// Asks for labels that are not true. Attachments of other people's overlays are left alone: a label of ours would put them
/// under our rules.
pub(super) fn write_statuses(index: &Index, compiled: &Compiled, work: &mut Work) {
    let Some(carrier) = carrier(index, compiled) else { return };
    let all = index.snapshot().iter::<Attachment>();
    let ours = all.filter(|(_, attachment)| attachment.is_overlay && !attachment.meta.deleted);
    for (key, _) in ours.filter(|(_, attachment)| attachment.label.as_deref() != Some(carrier)) {
        let patch = json!({"metadata": {"labels": {names::CLUSTER_NETWORK: carrier}}});
        work.single(ObjectRef { kind: ATTACHMENT, key: key.clone() }, Action::Patch { patch });
    }
}

/// The network of the underlay, else that of the installer; none where there is neither.
fn carrier<'a>(index: &Index, compiled: &'a Compiled) -> Option<&'a str> {
    let mut underlays =
        super::reports(compiled, HOST_NETWORK).filter(|(_, report)| report.underlay && !report.matched.is_empty());
    let underlay = underlays.find_map(|(_, report)| report.cluster_network.as_deref());
    let installed = index.snapshot().get::<ClusterNetwork>(&ObjectKey::global(MGMT)).map(|_| MGMT);
    underlay.or(installed)
}
