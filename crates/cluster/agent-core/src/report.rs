//! What a node reports of itself.
//!
//! This is the one place that turns an observation into `status.currentState`. Between two observations a report
//! is kept as text: as a tree it takes ten times as much.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_model::Observed;
use netloom_nmstate::ReportOptions;
use netloom_types::IfName;
use serde_json::Value;

/// What is heard of neighbours on each link that is listened on.
pub type Heard = BTreeMap<IfName, netloom_nmstate::Heard>;

/// The host as a document that fits into an object; the links that the desired state names are reported in any case.
pub fn current_state(observed: &Observed, heard: &Heard, named: BTreeSet<IfName>) -> Value {
    netloom_nmstate::report(observed, heard, &ReportOptions { keep: named, ..ReportOptions::default() })
}

/// A report as text; equal reports are equal texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportText(Arc<str>);

impl ReportText {
    pub(crate) fn of(report: &Value) -> Self {
        Self(report.to_string().into())
    }

    /// The report itself.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.0).expect("it was written from a value")
    }
}

/// The neighbours that a report tells of, on the links on which it could tell.
pub(crate) fn neighbours(report: &Value) -> BTreeMap<IfName, Vec<Value>> {
    let interfaces = report.get("interfaces").and_then(Value::as_array);
    let on = |interface: &Value| {
        let name = interface.get("name")?.as_str()?.parse().ok()?;
        Some((name, interface.pointer("/lldp/neighbors")?.as_array()?.clone()))
    };
    interfaces.into_iter().flatten().filter_map(on).collect()
}
