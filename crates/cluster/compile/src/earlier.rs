//! Revisions and parts of the first version, which hold objects in one list for each kind.
//!
//! They are turned into the form of today where they are read, and nowhere else knows of them: nodes return to such a
//! revision, it keeps the last good version of an object, and the names of interfaces that were chosen once. Nothing is
//! written in that form.

use std::borrow::Cow;

use netloom_object::GroupKind;
use serde_json::{Map, Value, json};

/// A list of that version, and the kind of the objects in it.
pub(crate) type List = (&'static str, GroupKind<'static>);

/// A revision or a part with one list of objects.
pub(crate) fn with_objects<'a>(object: &'a Value, lists: &[List]) -> Cow<'a, Value> {
    let is_there = |(name, _): &&List| object["spec"].get(name).is_some();
    if !lists.iter().any(|list| is_there(&list)) {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    let Some(spec) = object["spec"].as_object_mut() else { return Cow::Owned(object) };
    let mut objects = Vec::new();
    for (name, kind) in lists {
        let Some(Value::Array(items)) = spec.remove(*name) else { continue };
        objects.extend(items.into_iter().map(|item| frozen(*kind, item)));
    }
    if let Some(Value::Array(own)) = spec.get_mut("objects") {
        own.append(&mut objects);
    } else {
        spec.insert("objects".to_owned(), objects.into());
    }
    Cow::Owned(object)
}

/// An object of a list. What stood beside its `spec` was chosen for it; one without a `spec` had its content there.
fn frozen(kind: GroupKind<'_>, item: Value) -> Value {
    let Value::Object(mut rest) = item else { return item };
    let mut object = json!({"group": kind.group, "kind": kind.kind});
    for name in ["namespace", "name", "created"] {
        if let Some(value) = rest.remove(name) {
            object[name] = value;
        }
    }
    let (spec, given) = match rest.remove("spec") {
        Some(spec) => (spec, rest),
        None => (rest.into(), Map::new()),
    };
    object["spec"] = spec;
    if !given.is_empty() {
        object["given"] = given.into();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compiler, Snapshot};

    fn cluster(revision: &Value) -> Snapshot {
        let links = json!([{"name": "eth0", "type": "ethernet", "state": "up"}, {"name": "eth1", "type": "ethernet", "state": "up"}]);
        let group = "network.harvesterhci.io/v1beta1";
        let mut snapshot = Snapshot::default();
        for object in [
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}),
            json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"namespace": "default", "name": "n1"},
                "spec": {"managed": true, "nodeName": "n1"}, "status": {"currentState": {"interfaces": links}},
            }),
            json!({"apiVersion": group, "kind": "ClusterNetwork", "metadata": {"name": "cn1"}}),
            json!({
                "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NetworkConfigRevision",
                "metadata": {"name": "aaaaaaaaaa", "uid": "r"}, "spec": revision,
            }),
        ] {
            snapshot.put(&object);
        }
        snapshot
    }

    #[test]
    fn a_revision_of_the_first_version_means_what_it_meant() {
        let revision = |content: Value| {
            let mut spec = json!({"layer2": [], "vrf": [], "bgp": [], "revision": "a".repeat(64)});
            spec.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
            spec
        };
        let created = "2026-01-01T00:00:00Z";
        let policy =
            json!({"matchRules": [{"name": "eth0"}], "desiredState": {"interfaces": [{"name": "eth0", "mtu": 1400}]}});
        let uplink = json!({"clusterNetwork": "cn1", "uplink": {"nics": ["eth1"]}});
        let host = json!({"clusterNetwork": "cn1", "vlanID": 20, "mode": "static", "ips": {"n1": "192.0.2.1/24"}});
        let vlans = json!({"clusterNetwork": "cn1", "vlans": [{"min": 30, "max": 31}]});
        let first = cluster(&revision(json!({
            "nodePolicies": [{"namespace": "default", "name": "p", "created": created, "spec": policy}],
            "vlanConfigs": [{"name": "u", "created": created, "spec": uplink}],
            "hostNetworkConfigs": [{"name": "h", "created": created, "interface": "storage.20", "spec": host}],
            "attachments": [{"namespace": "default", "name": "a", "clusterNetwork": "cn1", "vlans": vlans["vlans"]}],
        })));
        let harvester = "network.harvesterhci.io";
        let today = cluster(&revision(json!({"objects": [
            {"group": "k8s.cni.cncf.io", "kind": "NetworkAttachmentDefinition", "namespace": "default", "name": "a", "spec": vlans},
            {"group": harvester, "kind": "HostNetworkConfig", "name": "h", "created": created, "given": {"interface": "storage.20"}, "spec": host},
            {"group": harvester, "kind": "VlanConfig", "name": "u", "created": created, "spec": uplink},
            {"group": "nmstate.io", "kind": "NodeNetConfPolicy", "namespace": "default", "name": "p", "created": created, "spec": policy},
        ]})));
        let of = |snapshot: &Snapshot| {
            let (_, revision) = snapshot.revisions.iter().next().unwrap();
            let node_targets = Compiler::default().node_targets(snapshot, revision).unwrap();
            let target = node_targets.get("n1").unwrap();
            (json!(target.host_config()), target.object(snapshot, "aaaaaaaaaa"))
        };
        let (host, state) = of(&first);
        assert_eq!(host["addresses"][0]["link"], "storage.20", "{host}");
        assert_eq!(host["bridgeVlans"][4]["max"], 31, "{host}");
        assert_eq!(state["spec"]["desiredState"]["interfaces"][0]["mtu"], 1400, "{state}");
        assert_eq!((host, state), of(&today));
    }
}
