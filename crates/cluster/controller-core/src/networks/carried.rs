//! What a cluster network says of itself in annotations: how large packets are and which object says so, and the VLANs
//! that attachments have in it.
//!
//! The packet size of the installer's network is for people to say, so it is left alone there.

use std::collections::BTreeSet;

use netloom_api::hostnet::{MGMT, names};
use netloom_compile::{
    Compiled, ObjectKey,
    hostnet::{Attachment, NetworkReport, VlanConfig},
    sha256,
};
use netloom_object::ObjectRef;
use serde_json::{Map, Value, json};

use super::kinds::UPLINK;
use crate::index::{Index, Mark};

/// The annotations of a cluster network that are not true, as a patch has them; none when all are.
pub(super) fn annotations(
    index: &Index,
    compiled: &Compiled,
    network: &str,
    mark: &Mark,
) -> Option<Map<String, Value>> {
    let mut wanted = vlans(index, network);
    if network != MGMT {
        wanted.extend(size(index, compiled, network));
    }
    let untrue =
        |(name, value): (&'static str, Option<String>)| Some((name.to_owned(), change(mark, name, value.as_ref())?));
    let changes: Map<String, Value> = wanted.into_iter().filter_map(untrue).collect();
    (!changes.is_empty()).then_some(changes)
}

/// What a patch says to make an annotation true; none when it is.
fn change(mark: &Mark, name: &str, wanted: Option<&String>) -> Option<Value> {
    (mark.notes.get(name) != wanted).then(|| wanted.map_or(Value::Null, |wanted| json!(wanted)))
}

/// The VLANs of attachments; nothing is reported where nothing ever was.
fn vlans(index: &Index, network: &str) -> Vec<(&'static str, Option<String>)> {
    let all = index.snapshot().iter::<Attachment>().filter(|(_, attachment)| !attachment.meta.deleted);
    let ours = all.filter(|(_, attachment)| attachment.cluster_network.as_deref() == Some(network));
    let ids: BTreeSet<u16> =
        ours.flat_map(|(_, attachment)| &attachment.vlans).flat_map(|range| range.min..=range.max).collect();
    let text = ids.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    let text = Some(text).filter(|text| !text.is_empty());
    let hash = text.as_deref().map(sha256);
    vec![(names::VLAN_IDS, text), (names::VLAN_IDS_HASH, hash)]
}

/// The packet size of the first uplink by name that is in force; all of a network have the same.
fn size(index: &Index, compiled: &Compiled, network: &str) -> [(&'static str, Option<String>); 2] {
    let in_force = |key: &ObjectKey| {
        let report = compiled.reports.get::<NetworkReport>(&ObjectRef { kind: UPLINK, key: key.clone() });
        report.is_some_and(|report| report.broken.is_none())
    };
    let mut uplinks = index
        .snapshot()
        .iter::<VlanConfig>()
        .filter(|(key, uplink)| uplink.spec.cluster_network == network && !uplink.meta.deleted && in_force(key));
    let first = uplinks.next();
    [
        (names::UPLINK_MTU, first.map(|(_, uplink)| uplink.spec.uplink.mtu().to_string())),
        (names::MTU_SOURCE, first.map(|(key, _)| key.name.clone())),
    ]
}
