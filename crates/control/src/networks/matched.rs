//! The nodes that an object is for, as its annotation says.

use std::collections::BTreeSet;

use netloom_api::hostnet::names;
use netloom_compile::{
    Compiled, ObjectKey,
    hostnet::{Asking, NetworkReport},
};
use serde_json::{Map, Value, json};

use crate::{
    controller::Work,
    index::{Index, Mark, UPLINK},
    request::{Action, ObjectRef},
};

/// Asks for the annotation of every uplink where it is not true any more: nodes come and go, and so do labels and
/// selectors.
pub(super) fn tell(index: &Index, compiled: &Compiled, work: &mut Work) {
    for ((_, name), report) in compiled.networks.iter().filter(|((asking, _), _)| *asking == Asking::VlanConfig) {
        let key = ObjectKey::global(name);
        let Some(mark) = index.mark(UPLINK, &key) else { continue };
        if let Some(annotations) = annotations(mark, report) {
            let patch = json!({"metadata": {"annotations": annotations, "resourceVersion": mark.resource_version}});
            work.single(ObjectRef { kind: UPLINK, key }, Action::Patch { patch });
        }
    }
}

/// The annotation, where it says something else. An object without effect is for no node, and says so.
pub(super) fn annotations(mark: &Mark, report: &NetworkReport) -> Option<Map<String, Value>> {
    let said: Option<BTreeSet<String>> =
        mark.notes.get(names::MATCHED_NODES).and_then(|text| serde_json::from_str(text).ok());
    if said.as_ref() == Some(&report.matched) {
        return None;
    }
    let wanted = json!(report.matched).to_string();
    Some(Map::from_iter([(names::MATCHED_NODES.to_owned(), wanted.into())]))
}
