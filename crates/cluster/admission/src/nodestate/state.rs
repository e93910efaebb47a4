//! What a `NodeNetworkState` must keep: a document that the node can read, and one object for each node.

use netloom_api::{GroupKind, dig, nodestate::NodeNetworkState};
use serde_json::Value;

use super::document;
use crate::{Admitted, Findings, Index, Write};

/// The index of these objects by the node that they are for.
const BY_NODE: &str = "nodeName";
/// The kind's own names.
const SELF: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetworkState");

impl Admitted for NodeNetworkState {
    const INDEXES: &'static [Index] = &[Index { name: BY_NODE, keys: node_name }];

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        if let Some(document) = &new.spec.desired_state {
            document::check(&document.0, "spec.desiredState", findings);
        }
        let node = &new.spec.node_name;
        if write.review.name != node {
            findings.warn(format!(
                "the object is called {:?} and applies to node {node:?}: spec.nodeName decides",
                write.review.name
            ));
        }
        let mut others = write.others(write.review.view.lookup(SELF, BY_NODE, node));
        if let Some(other) = others.pop() {
            let name = dig::name(&other);
            findings.warn(format!(
                "{name:?} is for node {node:?} too: only the object that is called like the node takes effect"
            ));
        }
    }
}

fn node_name(object: &Value) -> Vec<String> {
    dig::keys(object, "spec.nodeName")
}
