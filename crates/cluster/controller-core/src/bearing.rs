//! What of a node bears on the failure of a revision there.
//!
//! The links that the revision names for the node, or that the failure names, as far as somebody else made them: whether
//! they are there, what they are, whether they are up and whose ports. And whether the node is reached at all. What the
//! agent makes itself comes and goes with every attempt and is left out; so are the links of pods.

use std::collections::BTreeSet;

use jiff::Timestamp;
use netloom_compile::{NodeTarget, ObjectKey};
use netloom_rollout::Liveness;
use serde_json::{Value, json};

use crate::{index::Index, status::hash};

/// A short name for all of it; it changes whenever any of it does.
pub(crate) fn of(now: Timestamp, index: &Index, node_target: NodeTarget<'_>, failure: &str) -> String {
    let mut named: BTreeSet<&str> = failure.split(|c: char| c.is_whitespace() || "\"'`,;:()[]".contains(c)).collect();
    let host = node_target.host_config().map(|host| json!(host)).unwrap_or_default();
    texts(&host, &mut named);
    let fabric = node_target.fabric_config().map(|fabric| json!(fabric)).unwrap_or_default();
    texts(&fabric, &mut named);
    if let Some(document) = &node_target.desired.document {
        texts(document, &mut named);
    }
    let state = index.snapshot().states.get(node_target.object);
    let inventory = state.map(|state| &state.inventory.links).into_iter().flatten();
    let links = inventory.filter(|(name, link)| named.contains(name.as_str()) && !link.made);
    let reported: Vec<Value> = links
        .map(|(name, link)| {
            let controller = link
                .controller
                .as_deref()
                .filter(|controller| is_made_by_others(index, node_target.object, controller));
            json!([name, link.kind, link.up, controller])
        })
        .collect();
    let gone = matches!(index.signs().liveness(now, node_target.node), Liveness::Gone { .. });
    format!("{:016x}", hash(&[&json!([reported, gone]).to_string()]))
}

fn is_made_by_others(index: &Index, state: &ObjectKey, link: &str) -> bool {
    let state = index.snapshot().states.get(state);
    state.and_then(|state| state.inventory.links.get(link)).is_some_and(|link| !link.made)
}

/// Every text in a document: among them are the names of all links that it speaks of.
fn texts<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) => {
            found.insert(text);
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
