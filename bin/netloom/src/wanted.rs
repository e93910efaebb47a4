//! The objects that the desired states of nodes are compiled from.

use std::collections::BTreeSet;

use netloom_compile::{Put, Snapshot};
use serde_json::{Map, Value, json};

/// Objects as the compiler reads them, and the kinds of those that it has no use for.
pub(crate) fn snapshot<'a>(objects: impl IntoIterator<Item = &'a Value>) -> (Snapshot, Vec<&'a str>) {
    let mut snapshot = Snapshot::default();
    let mut idle = BTreeSet::new();
    for object in objects {
        match snapshot.put(object) {
            Put::Changed | Put::Same | Put::Unreadable => {}
            Put::Foreign => drop(idle.insert(object["kind"].as_str().unwrap_or_default())),
        }
    }
    (snapshot, idle.into_iter().collect())
}

/// An object where a server would put it: one that names no namespace goes into `default`.
pub(crate) fn placed(object: &Value) -> Value {
    let mut object = object.clone();
    let group =
        object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
    let namespaced = ["nmstate.io", netloom_machine::GROUP].contains(&group);
    let homeless = object["metadata"]["namespace"].as_str().is_none_or(str::is_empty);
    if namespaced && homeless && object["metadata"].is_object() {
        object["metadata"]["namespace"] = json!("default");
    }
    object
}

/// The objects that there would be if the others were applied to the first ones.
pub(crate) fn overlaid(base: &[Value], others: &[Value]) -> Vec<Value> {
    let mut all = base.to_vec();
    for other in others {
        match all.iter_mut().find(|known| is_same(known, other)) {
            Some(known) => *known = applied(known, other),
            None => all.push(other.clone()),
        }
    }
    all
}

/// Whether both are the same object, in whatever version.
fn is_same(one: &Value, other: &Value) -> bool {
    let group = |object: &Value| {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        version.split_once('/').map_or(String::new(), |(group, _)| group.to_owned())
    };
    let same = |pointer: &str| one.pointer(pointer) == other.pointer(pointer);
    group(one) == group(other) && ["/kind", "/metadata/namespace", "/metadata/name"].into_iter().all(same)
}

/// An object with the desired state of another; what its server and its controllers have written stays.
fn applied(known: &Value, desired: &Value) -> Value {
    let mut object = known.clone();
    let fields = desired.as_object().into_iter().flatten();
    for (key, value) in fields.filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status")) {
        object[key] = value.clone();
    }
    for part in ["labels", "annotations"] {
        let given = desired["metadata"][part].as_object().cloned().unwrap_or_default();
        let mut kept = known["metadata"][part].as_object().cloned().unwrap_or_else(Map::new);
        kept.extend(given);
        if !kept.is_empty() {
            object["metadata"][part] = Value::Object(kept);
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_written_stays() {
        let state = |spec: Value, status: Value| {
            json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
                "metadata": {"namespace": "default", "name": "n1", "resourceVersion": "7", "annotations": {"a": "1"}},
                "spec": spec, "status": status,
            })
        };
        let base = [state(json!({"managed": true}), json!({"currentState": {}}))];
        let mut desired = state(json!({"managed": false}), Value::Null);
        desired["metadata"] = json!({"namespace": "default", "name": "n1", "annotations": {"b": "2"}});
        let mut wanted = state(json!({"managed": false}), json!({"currentState": {}}));
        wanted["metadata"]["annotations"]["b"] = json!("2");
        assert_eq!(overlaid(&base, &[desired.clone()]), [wanted]);
        desired["metadata"]["name"] = json!("n2");
        assert_eq!(overlaid(&base, &[desired.clone()]), [base[0].clone(), desired]);
    }
}
