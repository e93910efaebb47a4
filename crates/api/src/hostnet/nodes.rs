//! Which nodes selectors and uplinks mean.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Map, Value, json};

use crate::{
    admission::View,
    dig, foreign,
    hostnet::{BY_CLUSTER_NETWORK, MGMT, VLAN_CONFIG, names},
    selector::{self, label},
};

/// The nodes of the cluster that are not being deleted, read once for a review.
pub(super) struct Nodes(Vec<Arc<Value>>);

impl Nodes {
    pub(super) fn of(view: &dyn View) -> Self {
        let mut nodes = view.list(foreign::NODE);
        nodes.retain(|node| !dig::is_terminating(node));
        Self(nodes)
    }

    /// The names of all nodes.
    pub(super) fn all(&self) -> BTreeSet<&str> {
        self.0.iter().filter_map(|node| name(node)).collect()
    }

    /// The names of the nodes that take uplinks.
    pub(super) fn workers(&self) -> BTreeSet<&str> {
        self.filter(|labels| !is_witness(labels))
    }

    /// The names of the nodes that an uplink's selector means.
    pub(super) fn with_labels(&self, wanted: &BTreeMap<String, String>) -> BTreeSet<&str> {
        self.filter(|labels| !is_witness(labels) && wanted.iter().all(|(key, value)| label(labels, key) == Some(value)))
    }

    /// The names of the nodes that a label selector means; none means every node.
    pub(super) fn selected(&self, selector: Option<&LabelSelector>) -> BTreeSet<&str> {
        self.filter(|labels| selector.is_none_or(|selector| selector::matches(selector, labels)))
    }

    /// The names of the nodes that a cluster network reaches: all for `mgmt`.
    pub(super) fn reached(&self, view: &dyn View, cluster_network: &str) -> BTreeSet<&str> {
        if cluster_network == MGMT {
            return self.all();
        }
        let uplinks = view.lookup(VLAN_CONFIG, BY_CLUSTER_NETWORK, cluster_network);
        uplinks.iter().flat_map(|uplink| self.with_labels(&selector_of(uplink))).collect()
    }

    fn filter(&self, keep: impl Fn(Option<&Map<String, Value>>) -> bool) -> BTreeSet<&str> {
        let kept = self.0.iter().filter(|node| keep(dig::at(node, "metadata.labels").and_then(Value::as_object)));
        kept.filter_map(|node| name(node)).collect()
    }
}

/// The selector of a stored `VlanConfig`.
pub(super) fn selector_of(uplink: &Value) -> BTreeMap<String, String> {
    let selector = dig::at(uplink, "spec.nodeSelector").and_then(Value::as_object);
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    selector.into_iter().flatten().filter_map(text).collect()
}

fn is_witness(labels: Option<&Map<String, Value>>) -> bool {
    label(labels, names::WITNESS).is_some()
}

fn name(node: &Value) -> Option<&str> {
    dig::text(node, "metadata.name")
}

/// Writes the nodes that an object is for into its annotation.
pub(super) fn annotate(object: &mut Value, nodes: &BTreeSet<&str>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(names::MATCHED_NODES.to_owned(), json!(nodes).to_string().into());
    }
}
