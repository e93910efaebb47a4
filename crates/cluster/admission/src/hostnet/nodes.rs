//! Which nodes selectors and uplinks mean.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netloom_api::{
    dig,
    hostnet::{MGMT, VLAN_CONFIG, names},
};
use serde_json::{Map, Value, json};

use crate::{
    Review, View, foreign,
    hostnet::BY_CLUSTER_NETWORK,
    selector::{self, label},
};

/// The nodes of the cluster that are not being deleted.
///
/// There are many, and every write about them goes through all: each question is one pass over what rules ask of
/// a node, and answers come in the order of names without being sorted.
pub(super) struct Nodes(Vec<Arc<Value>>);

/// The names of some nodes, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names<'a>(Vec<&'a str>);

type Labels<'a> = Option<&'a Map<String, Value>>;

impl Nodes {
    pub(super) fn of(view: &dyn View) -> Self {
        Self(view.list(foreign::NODE))
    }

    /// The nodes that take uplinks.
    pub(super) fn workers(&self) -> Names<'_> {
        self.filter(|labels| !is_witness(labels))
    }

    /// The nodes that an uplink's selector means.
    pub(super) fn with_labels(&self, wanted: &BTreeMap<String, String>) -> Names<'_> {
        self.filter(|labels| has(labels, wanted))
    }

    /// The nodes that a label selector means; none means every node.
    pub(super) fn selected(&self, selector: Option<&LabelSelector>) -> Names<'_> {
        self.filter(|labels| selector.is_none_or(|selector| selector::matches(selector, labels)))
    }

    /// The nodes that a cluster network reaches.
    pub(super) fn reached(&self, view: &dyn View, cluster_network: &str) -> Names<'_> {
        self.covered(view, cluster_network, None)
    }

    /// The nodes that a cluster network reaches, which is all for `mgmt`, and that a selector means.
    pub(super) fn covered(
        &self,
        view: &dyn View,
        cluster_network: &str,
        selector: Option<&LabelSelector>,
    ) -> Names<'_> {
        let uplinks = view.lookup(VLAN_CONFIG, BY_CLUSTER_NETWORK, cluster_network);
        let staying = uplinks.iter().filter(|uplink| !dig::is_terminating(uplink));
        let uplinks: Vec<_> = staying.map(|uplink| selector_of(uplink)).collect();
        self.filter(|labels| {
            let reached = cluster_network == MGMT || uplinks.iter().any(|wanted| has(labels, wanted));
            reached && selector.is_none_or(|selector| selector::matches(selector, labels))
        })
    }

    fn filter(&self, keep: impl Fn(Labels<'_>) -> bool) -> Names<'_> {
        Names(self.0.iter().filter_map(|node| name_if(node, &keep)).collect())
    }
}

/// The name of a node that stays and has such labels.
fn name_if(node: &Value, keep: impl Fn(Labels<'_>) -> bool) -> Option<&str> {
    let metadata = node.get("metadata")?;
    let going = metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null());
    let kept = !going && keep(metadata.get("labels").and_then(Value::as_object));
    metadata.get("name")?.as_str().filter(|_| kept)
}

impl<'a> Names<'a> {
    /// One node.
    pub(super) fn one(name: &'a str) -> Self {
        Self(vec![name])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.binary_search(&name).is_ok()
    }

    /// Those that are among `others` too.
    pub(super) fn and(&self, others: &Names<'_>) -> impl Iterator<Item = &'a str> {
        self.iter().filter(|name| others.contains(name))
    }

    /// Those that are not among `others`.
    pub(super) fn without(&self, others: &Names<'_>) -> Self {
        Self(self.iter().filter(|name| !others.contains(name)).collect())
    }
}

fn has(labels: Labels<'_>, wanted: &BTreeMap<String, String>) -> bool {
    !is_witness(labels) && wanted.iter().all(|(key, value)| label(labels, key) == Some(value))
}

/// The selector of a stored `VlanConfig`.
pub(super) fn selector_of(uplink: &Value) -> BTreeMap<String, String> {
    let selector = dig::at(uplink, "spec.nodeSelector").and_then(Value::as_object);
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    selector.into_iter().flatten().filter_map(text).collect()
}

fn is_witness(labels: Labels<'_>) -> bool {
    label(labels, names::WITNESS).is_some()
}

/// Whether a write leaves the desired state as it is, and the annotation was made for that.
pub(super) fn is_annotated(review: &Review<'_>, object: &Value) -> bool {
    let same = review.old.is_some_and(|old| old.get("spec") == object.get("spec"));
    let annotations = dig::at(object, "metadata.annotations");
    same && annotations.is_some_and(|all| all.get(names::MATCHED_NODES).is_some())
}

/// Writes the nodes that an object is for into its annotation.
pub(super) fn annotate(object: &mut Value, nodes: &Names<'_>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(names::MATCHED_NODES.to_owned(), json!(nodes.0).to_string().into());
    }
}
