//! A pod, as far as its networks go.

use std::collections::BTreeMap;

use netloom_api::{GroupKind, dig};
use serde_json::Value;

use crate::{BadAnnotation, Wanted, annotation};

/// The kind.
pub const POD: GroupKind<'static> = GroupKind::new("", "Pod");

/// A pod that the API has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The node that it is bound to; empty before.
    pub node: String,
    /// Its labels, which its interfaces have too.
    pub labels: BTreeMap<String, String>,
    /// The interfaces that it asks for; none: the default network.
    pub wanted: Result<Option<Vec<Wanted>>, BadAnnotation>,
    /// It has ended, or is about to: it needs no further addresses.
    pub ended: bool,
}

impl Pod {
    /// Reads an object; none without a name.
    pub fn read(object: &Value) -> Option<Self> {
        let text = |path: &str| dig::text(object, path).unwrap_or_default().to_owned();
        let texts = |path: &str| -> BTreeMap<String, String> {
            let map = dig::at(object, path).and_then(Value::as_object).into_iter().flatten();
            map.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        };
        let namespace = text("metadata.namespace");
        let wanted = annotation::read(&namespace, &texts("metadata.annotations"));
        let pod = Self {
            namespace,
            name: text("metadata.name"),
            uid: text("metadata.uid"),
            node: text("spec.nodeName"),
            labels: texts("metadata.labels"),
            wanted,
            ended: matches!(text("status.phase").as_str(), "Succeeded" | "Failed") || dig::is_terminating(object),
        };
        (!pod.name.is_empty()).then_some(pod)
    }
}
