//! What a chapter ends with when nothing goes wrong. A story that expects nothing could pass without anything having
//! happened in it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    Cluster,
    ending::reported,
    story::{Named, target},
};

/// What is so in the end of a chapter. What is not specified may be as it likes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// Links of nodes, as a node would report them; `state: absent` for one that is not there.
    #[serde(default)]
    hosts: BTreeMap<usize, Vec<Value>>,
    /// Parts of objects.
    #[serde(default)]
    objects: Vec<Value>,
    /// Objects that are not there.
    #[serde(default)]
    gone: Vec<Named>,
}

impl Expected {
    /// Everything that is otherwise.
    pub(crate) fn unmet(&self, cluster: &Cluster) -> Vec<String> {
        let mut unmet = Vec::new();
        for (number, links) in &self.hosts {
            let report = reported(cluster.host(*number));
            let found = &report["interfaces"];
            let absent = |link: &&Value| link["state"] == "absent";
            for link in links.iter().filter(|link| !absent(link)) {
                if !has(found, &Value::Array(vec![link.clone()])) {
                    unmet.push(format!("node {number}: {link} is not in {found}"));
                }
            }
            for link in links.iter().filter(absent) {
                if found.as_array().into_iter().flatten().any(|there| there["name"] == link["name"]) {
                    unmet.push(format!("node {number}: {} is there", link["name"]));
                }
            }
        }
        for object in &self.objects {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let found = target(text("/kind"), text("/metadata/name")).and_then(|target| cluster.server.get(&target));
            if !found.is_some_and(|found| has(found, object)) {
                unmet.push(format!("{object} is not what is there: {found:?}"));
            }
        }
        for named in &self.gone {
            if target(&named.kind, &named.name).is_some_and(|target| cluster.server.get(&target).is_some()) {
                unmet.push(format!("{} {} is there", named.kind, named.name));
            }
        }
        unmet
    }
}

/// Whether a value has everything that is wanted of it. Items of lists go by name or type where they have one.
fn has(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| match found.get(name) {
            Some(found) => has(found, wanted),
            None => wanted.is_null(),
        }),
        (Value::Array(found), Value::Array(wanted)) => wanted.iter().all(|wanted| {
            let same = |key: &str, item: &Value| wanted.get(key).is_some_and(|name| item.get(key) == Some(name));
            found.iter().any(|item| {
                let named = wanted.get("name").is_some() || wanted.get("type").is_some();
                let is_it = !named || same("name", item) || (wanted.get("name").is_none() && same("type", item));
                is_it && has(item, wanted)
            })
        }),
        (found, wanted) => found == wanted,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_reported_may_be_as_it_likes() {
        let found = json!({"a": 1, "list": [{"name": "x", "mtu": 5}, {"name": "y"}], "conditions": [{"type": "Ready", "status": "True"}]});
        for wanted in [
            json!({}),
            json!({"a": 1, "b": null}),
            json!({"list": [{"name": "x", "mtu": 5}]}),
            json!({"conditions": [{"type": "Ready", "status": "True"}]}),
        ] {
            assert!(has(&found, &wanted), "{wanted}");
        }
        for wanted in [
            json!({"a": 2}),
            json!({"a": null}),
            json!({"b": 1}),
            json!({"list": [{"name": "y", "mtu": 5}]}),
            json!({"conditions": [{"type": "Ready", "status": "False"}]}),
        ] {
            assert!(!has(&found, &wanted), "{wanted}");
        }
    }
}
