//! Taints that keep work away from a node until its network is in place.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The patch that takes them off; none when there is none of them. It is tied to the version that was looked
/// at: a list is written as a whole, and somebody else may add a taint meanwhile.
pub(crate) fn patch(node: &Value, keys: &BTreeSet<String>) -> Option<Value> {
    let taints = node.pointer("/spec/taints")?.as_array()?;
    let goes = |taint: &&Value| taint.get("key").and_then(Value::as_str).is_some_and(|key| keys.contains(key));
    let (gone, left): (Vec<&Value>, Vec<&Value>) = taints.iter().partition(goes);
    let version = node.pointer("/metadata/resourceVersion");
    (!gone.is_empty()).then(|| json!({"metadata": {"resourceVersion": version}, "spec": {"taints": left}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_taints_go() {
        let node = |taints: Value| json!({"metadata": {"resourceVersion": "7"}, "spec": {"taints": taints}});
        let keys = BTreeSet::from(["netloom.dev/starting".to_owned()]);
        let (ours, other) = (json!({"key": "netloom.dev/starting", "effect": "NoSchedule"}), json!({"key": "x"}));
        let wanted = json!({"metadata": {"resourceVersion": "7"}, "spec": {"taints": [other]}});
        assert_eq!(patch(&node(json!([ours, other])), &keys), Some(wanted));
        assert_eq!(patch(&node(json!([other])), &keys), None);
        assert_eq!(patch(&json!({"spec": {}}), &keys), None);
    }
}
