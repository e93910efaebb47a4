//! What a node reports of itself.
//!
//! This is the one place that turns an observation into `status.currentState`.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::Observed;
use netloom_nmyaml::ReportOptions;
use netloom_types::IfName;
use serde_json::Value;

/// What is heard of neighbours on each link that is listened on.
pub type Heard = BTreeMap<IfName, netloom_nmyaml::Heard>;

/// The host as a document that fits into an object; the links that the wish names are told in any case.
pub fn current_state(observed: &Observed, heard: &Heard, named: BTreeSet<IfName>) -> Value {
    netloom_nmyaml::report(observed, heard, &ReportOptions { keep: named, ..ReportOptions::default() })
}

/// The neighbours that a node's network state tells of, on the links on which it could tell.
pub(crate) fn neighbours(object: &Value) -> BTreeMap<IfName, Vec<Value>> {
    let interfaces = object.pointer("/status/currentState/interfaces").and_then(Value::as_array);
    let on = |interface: &Value| {
        let name = interface.get("name")?.as_str()?.parse().ok()?;
        Some((name, interface.pointer("/lldp/neighbors")?.as_array()?.clone()))
    };
    interfaces.into_iter().flatten().filter_map(on).collect()
}
