//! The nodes that an object is for, as its annotation says.

use std::collections::BTreeSet;

use netloom_api::hostnet::names;
use netloom_compile::hostnet::NetworkReport;
use serde_json::{Map, Value, json};

use crate::index::Mark;

/// The annotation, where it says something else: nodes come and go, and so do labels and selectors. An object without effect
/// is for no node, and says so.
pub(super) fn annotations(mark: &Mark, report: &NetworkReport) -> Option<Map<String, Value>> {
    let said: Option<BTreeSet<String>> =
        mark.notes.get(names::MATCHED_NODES).and_then(|text| serde_json::from_str(text).ok());
    if said.as_ref() == Some(&report.matched) {
        return None;
    }
    let wanted = json!(report.matched).to_string();
    Some(Map::from_iter([(names::MATCHED_NODES.to_owned(), wanted.into())]))
}
